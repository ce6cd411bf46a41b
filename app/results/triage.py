"""Purpose: why a job failed: its first failing layer, the line that shows it, the remedy, and whether to run it again.

The rules stand in configs/triage.yaml: a job passes through layers in order, and of all rules that fire the one of the
earliest layer decides (within a layer the earliest line). The launcher's own error type counts like a line of the log.

Invariants: pure; a rule never hides evidence: the diagnosis quotes the line with its number. A job that no rule
explains is layer "unknown" and is not retriable. Accepted: a harmless line of an earlier layer can win over the real
cause; the quoted line lets the reader see it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.target.source import FileLine, Problem, RejectedInput

MOST_RETRIES = 2
UNKNOWN = "unknown"
QUOTED = 200
EVENT_MARK = "job_event "


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `match` is None where only error types fire it."""

    id: str
    layer: str
    match: re.Pattern[str] | None
    errors: frozenset[str]
    retriable: bool
    remedy: str
    remedy_zh: str


@dataclass(frozen=True)
class Rules:
    """All rules with the order of layers."""

    layers: tuple[str, ...]
    rules: tuple[Rule, ...]

    def by_error(self, error: str) -> Rule | None:
        return next((rule for rule in self.rules if error in rule.errors), None)


@dataclass(frozen=True, slots=True)
class Log:
    """The text of one log. `name` is what a reader calls it, such as "job log" or "server.log"."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class JobEvidence:
    """What is known of one failed job. `event` is its job_event.json, empty where there is none."""

    job: str
    conclusion: str
    logs: tuple[Log, ...] = ()
    event: Mapping[str, Any] | None = None
    job_id: int = 0

    @property
    def error(self) -> Mapping[str, Any]:
        error = (self.event or {}).get("error")
        return error if isinstance(error, Mapping) else {}


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why one job failed. `line` is 0 where the launcher's event, not a log line, decided."""

    job: str
    layer: str
    rule: str
    source: str
    line: int
    quoted: str
    remedy: str
    remedy_zh: str
    retriable: bool
    job_id: int = 0


@dataclass(frozen=True, slots=True)
class RetryPlan:
    """What `/retry-failed` does. `problem` is a code of app.words.denial that says why nothing is run again, with its
    `values`. GitHub re-runs the failed jobs of a run together, so one failure that a rerun cannot mend holds all.
    """

    again: tuple[Diagnosis, ...]
    refused: tuple[Diagnosis, ...] = ()
    problem: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)


def _rule(number: int, value: object, layers: Sequence[str], path: str) -> Rule | Problem:
    def broken(what: str, found: object) -> Problem:
        return Problem(
            FileLine(path), f"Rule {number}: {what}", str(found)[:120], "Correct it as docs/sweeps.md shows."
        )

    if not isinstance(value, Mapping):
        return broken("a rule is a mapping.", value)
    known = {"id", "layer", "match", "errors", "retriable", "remedy", "remedy_zh"}
    if extra := sorted(set(value) - known):
        return broken(f"known keys are {', '.join(sorted(known))}.", ", ".join(extra))
    if value.get("layer") not in layers:
        return broken(f"layer is one of {', '.join(layers)}.", value.get("layer"))
    if not isinstance(value.get("retriable"), bool):
        return broken("retriable is true or false.", value.get("retriable"))
    texts = {name: value.get(name) for name in ("id", "remedy", "remedy_zh")}
    if missing := [name for name, text in texts.items() if not isinstance(text, str) or not text.strip()]:
        return broken(f"{missing[0]} is a text.", value.get(missing[0]))
    try:
        match = re.compile(str(value["match"]), re.IGNORECASE) if "match" in value else None
    except re.error as error:
        return broken("match is a regular expression.", error)
    errors = frozenset(str(item) for item in value.get("errors", ()))
    if match is None and not errors:
        return broken("match or errors must be there.", value["id"])
    return Rule(
        str(value["id"]),
        str(value["layer"]),
        match,
        errors,
        bool(value["retriable"]),
        str(value["remedy"]),
        str(value["remedy_zh"]),
    )


def read_rules(value: object, path: str = "configs/triage.yaml") -> Rules:
    """Typed rules of the parsed file. Raises RejectedInput with every problem found."""
    layers = value.get("layers") if isinstance(value, Mapping) else None
    rules = value.get("rules") if isinstance(value, Mapping) else None
    if not isinstance(layers, list) or not isinstance(rules, list):
        rule = "The file has the lists layers and rules."
        raise RejectedInput([Problem(FileLine(path), rule, type(value).__name__, "See docs/sweeps.md.", 1)])
    read = [_rule(number, item, layers, path) for number, item in enumerate(rules, 1)]
    if problems := [item for item in read if isinstance(item, Problem)]:
        raise RejectedInput(problems)
    return Rules(tuple(layers), tuple(item for item in read if isinstance(item, Rule)))


def event_of_log(text: str) -> Mapping[str, Any] | None:
    """The launch record that a job's log carries on one line, None where it has none."""
    start = text.rfind(EVENT_MARK)
    if start < 0:
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(text, start + len(EVENT_MARK))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def evidence_of_log(job: str, conclusion: str, text: str, job_id: int = 0) -> JobEvidence:
    """What one job's log alone tells."""
    return JobEvidence(job, conclusion, (Log("job log", text),), event_of_log(text), job_id)


def _hits(evidence: JobEvidence, rules: Rules) -> Iterable[tuple[tuple[int, int, int], Rule, str, int, str]]:
    """Every rule that fires with its sort key (layer, log, line)."""
    order = {layer: position for position, layer in enumerate(rules.layers)}
    error = str(evidence.error.get("type", ""))
    if (rule := rules.by_error(error)) is not None:
        message = str(evidence.error.get("message", error))
        yield (order[rule.layer], len(evidence.logs), 0), rule, "job_event.json", 0, message
    for log_number, log in enumerate(evidence.logs):
        for rule in rules.rules:
            found = rule.match.search(log.text) if rule.match else None
            if found is None:
                continue
            line = log.text.count("\n", 0, found.start()) + 1
            start = log.text.rfind("\n", 0, found.start()) + 1
            end = log.text.find("\n", found.start())
            quoted = log.text[start : end if end >= 0 else len(log.text)].strip()
            yield (order[rule.layer], log_number, line), rule, log.name, line, quoted


def diagnose(evidence: JobEvidence, rules: Rules) -> Diagnosis:
    """The first failing layer of one job. Never raises; a job that no rule explains is layer "unknown"."""
    hits = sorted(_hits(evidence, rules), key=lambda hit: hit[0])
    if not hits:
        return Diagnosis(
            evidence.job, UNKNOWN, UNKNOWN, "", 0, str(evidence.error.get("message", ""))[:QUOTED],
            "No rule knows this failure. Read the job's log and add a rule to configs/triage.yaml.",
            "没有规则能解释此失败。请阅读作业日志，并在 configs/triage.yaml 中添加规则。",
            False, evidence.job_id,
        )  # fmt: skip
    _, rule, source, line, quoted = hits[0]
    return Diagnosis(
        evidence.job, rule.layer, rule.id, source, line, quoted[:QUOTED],
        rule.remedy, rule.remedy_zh, rule.retriable, evidence.job_id,
    )  # fmt: skip


def diagnose_run(jobs: Iterable[JobEvidence], rules: Rules) -> list[Diagnosis]:
    """The failed jobs of a run, real failures before cancelled siblings, each group in the order given."""
    failed = [job for job in jobs if job.conclusion in ("failure", "timed_out", "startup_failure", "cancelled")]
    failed.sort(key=lambda job: job.conclusion == "cancelled")
    return [diagnose(job, rules) for job in failed]


def retry_plan(diagnoses: Sequence[Diagnosis], cancelled: Iterable[str], attempt: int) -> RetryPlan:
    """What may run again: failures that are all retriable, with the siblings that fail-fast cancelled; at most twice.

    `cancelled` are names of jobs that were cancelled (they did not fail themselves); `attempt` counts from 1.
    """
    stopped = frozenset(cancelled)
    failures = tuple(item for item in diagnoses if item.job not in stopped)
    refused = tuple(item for item in failures if not item.retriable)
    if attempt > MOST_RETRIES:
        return RetryPlan((), failures, "retry-limit", {"times": MOST_RETRIES})
    if not failures:
        return RetryPlan((), (), "retry-nothing")
    if refused:
        first = refused[0]
        told = {"job": first.job, "layer": first.layer, "remedy_en": first.remedy, "remedy_zh": first.remedy_zh}
        return RetryPlan((), refused, "retry-not-retriable", told)
    return RetryPlan(failures)
