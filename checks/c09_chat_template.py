"""Purpose: check 9: speculative configs are measured through the model's chat template.

AgentX: the requests that the server's access log counts; where the server writes none, the endpoint of the shared
client, which a recipe may not override. Fixed sequences: what the client was told (USE_CHAT_TEMPLATE, sa-bench's
`use_chat_template`, `--use-chat-template`, `--dsv4`, the `openai-chat` backend).

Invariants: an explicit false on a speculative config fails, whatever else says true; a client whose templating nobody
states is "could not be verified". Source: rules.md 9; evidence.md 7; verdicts.md, check 9.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.facts.base import Facts
from app.facts.records import JobLogRecord
from app.facts.sweep import JobLogs
from app.facts.values import FALSE, TRUE, text_of
from app.planner.points import AGENTIC, Point
from app.planner.scope import Scope
from app.target.recipe import EffectiveRecipe
from checks.applying import found_or
from checks.contract import (
    FAIL,
    NA,
    PASS,
    CannotVerify,
    CheckResult,
    Finding,
    Help,
    Job,
    LogSpan,
    NotApplicable,
    Optional,
    Unverified,
    Where,
    check,
    failed,
    passed,
)
from checks.point_evidence import PointFindings, one_log, reason_of, recipe_of, told

RULES = {
    "9.chat-endpoint": "AgentX requests go to /v1/chat/completions alone, as the server's access log counts them.",
    "9.raw-endpoint": "AgentX requests to /v1/completions or /generate fail.",
    "9.endpoint-override": "A recipe that points the AgentX client at another endpoint fails.",
    "9.no-access-log": "Without an access log the shared AgentX client's own endpoint decides; it is templated.",
    "9.client-template": "USE_CHAT_TEMPLATE true, --use-chat-template, or the openai-chat backend templates.",
    "9.dsv4": "--dsv4 implies the chat template.",
    "9.sa-bench": "sa-bench templates unless it is told not to.",
    "9.explicit-false": "An explicit false on a speculative config fails.",
    "9.raw-client": "A client that sends bare prompts to /v1/completions fails.",
    "9.no-speculation": "A config without speculative decoding is N/A.",
}

HELP = Help(
    rule="Speculative decoding is measured on templated chat prompts.",
    passes_when=tuple(
        f"{key}: {RULES[key]}"
        for key in (
            "9.chat-endpoint",
            "9.no-access-log",
            "9.client-template",
            "9.dsv4",
            "9.sa-bench",
            "9.no-speculation",
        )
    ),
    fails_when=tuple(
        f"{key}: {RULES[key]}" for key in ("9.raw-endpoint", "9.endpoint-override", "9.explicit-false", "9.raw-client")
    ),
    fix="Use the shared client, or pass --use-chat-template (USE_CHAT_TEMPLATE: 'true'), and sweep again.",
    source="review rules, check 9",
)

CHAT = "POST /v1/chat/completions"
RAW = ("POST /v1/completions", "POST /generate")
_AGENTIC_CLIENT = re.compile(r"\b(?:srt_agentic|agentic_srt)\.sh\b")
_OTHER_ENDPOINT = re.compile(r"/v1/completions\b|/generate\b|\A(?:completions|generate)\Z")
_TEMPLATED = re.compile(r"--use-chat-template\b|--dsv4\b|\bopenai-chat\b")
_RAW_CLIENT = re.compile(r"\bbenchmark_serving\b|/v1/completions\b")


def applies(scope: Scope) -> object | NotApplicable:
    """a point drafts"""
    return found_or(scope, scope.speculative_points, "no affected point uses speculative decoding")


@dataclass(frozen=True)
class _Judged:
    """How one point is templated (`said`), what is wrong, or what could not be seen."""

    said: str = ""
    finding: Finding | None = None
    missing: Unverified | None = None


@check(
    number=9,
    name="Spec-decode chat template",
    applies=applies,
    needs=(Optional(JobLogs),),
    may=(PASS, FAIL, NA),
    help=HELP,
)
def chat_template(facts: Facts, scope: Scope) -> CheckResult:
    logs = facts.get(JobLogs)
    said: dict[str, list[Point]] = {}
    judged: list[_Judged] = []
    found = PointFindings()
    for point in scope.speculative_points:
        log = one_log(point, () if logs is None else logs.all)
        one = _agentic(point, log) if point.scenario == AGENTIC else _fixed(point, log)
        judged.append(one)
        if one.finding is not None:
            found.add(point, one.finding)
        if one.said:
            said.setdefault(one.said, []).append(point)
    findings = found.all(scope.speculative_points)
    if findings:
        return failed(reason_of(findings), findings)
    missing = [one.missing for one in judged if one.missing is not None]
    if missing:
        raise CannotVerify(missing)
    return passed(told(said, scope.speculative_points))


def _agentic(point: Point, log: JobLogRecord | None) -> _Judged:
    override = _endpoint_override(point)
    if override is not None:
        return _Judged(finding=override)
    if log is None:
        return _Judged(missing=Unverified(f"the job log of {point.label}", "no log of its job was gathered"))
    raw = {kind: log.requests.get(kind, 0) for kind in RAW if log.requests.get(kind, 0)}
    if raw:
        kind, count = next(iter(raw.items()))
        return _Judged(
            finding=Finding(
                Job(log.run_id, log.job_name),
                f"the {point.label} job sent {count} requests to {kind.removeprefix('POST ')}",
                "requests to /v1/chat/completions alone",
                "Replay through the chat endpoint and sweep again.",
            )
        )
    if log.requests.get(CHAT, 0):
        return _Judged(said="agentic replay uses /v1/chat/completions only")
    recipe = point.recipe
    command = recipe.benchmark.get("command") if isinstance(recipe, EffectiveRecipe) else None
    if command is not None and _AGENTIC_CLIENT.search(str(command.value)):
        return _Judged(
            said="the shared AgentX client replays through /v1/chat/completions; the server logs no requests"
        )
    return _Judged(missing=Unverified(f"the requests of {point.label}", "its job log counts none"))


def _endpoint_override(point: Point) -> Finding | None:
    recipe = point.recipe
    if not isinstance(recipe, EffectiveRecipe):
        return None
    for name, setting in recipe.benchmark_env.items():
        if "ENDPOINT" in name.upper() and _OTHER_ENDPOINT.search(str(setting.value)):
            return Finding(
                setting.where,
                f"{name} points the AgentX client at {setting.value} ({{at}})",
                "the client's own endpoint, /v1/chat/completions",
                f"Remove {name} and sweep again.",
            )
    return None


def _fixed(point: Point, log: JobLogRecord | None) -> _Judged:
    recipe = recipe_of(point)
    told = list(_told(recipe, log))
    off = next(((where, name) for truth, where, name in told if truth is False), None)
    if off is not None:
        where, name = off
        return _Judged(
            finding=Finding(
                where,
                f"{name} is false on the speculative config {point.key} ({{at}})",
                "templated prompts on a speculative config",
                f"Set {name} to true and sweep again.",
            )
        )
    on = next((name for truth, _, name in told if truth), "")
    if on:
        return _Judged(said=f"prompts are templated by {on}")
    kind = recipe.benchmark.get("type")
    if kind is not None and str(kind.value) == "sa-bench":
        return _Judged(said="prompts are templated by sa-bench, whose default is true")
    if log is not None and log.requests.get(CHAT, 0) and not any(log.requests.get(raw, 0) for raw in RAW):
        return _Judged(said="the job's requests go to /v1/chat/completions only")
    return _raw_or_unknown(point, recipe)


def _raw_or_unknown(point: Point, recipe: EffectiveRecipe) -> _Judged:
    command = recipe.benchmark.get("command")
    if command is not None and _RAW_CLIENT.search(str(command.value)):
        return _Judged(
            finding=Finding(
                command.where,
                f"the client of {point.key} ({{at}}) sends bare prompts to /v1/completions",
                "--use-chat-template on a speculative config",
                "Add --use-chat-template to the client's command.",
            )
        )
    return _Judged(
        missing=Unverified(f"the client of {point.label}", "neither recipe nor job log says if it templates")
    )


def _told(recipe: EffectiveRecipe, log: JobLogRecord | None) -> Iterator[tuple[bool, Where, str]]:
    """Every statement on templating: (true or false, where, by what)."""
    if log is not None and "USE_CHAT_TEMPLATE" in log.env:
        value = log.env["USE_CHAT_TEMPLATE"]
        yield (text_of(value.value) == TRUE, LogSpan(log.job_name, value.line), "USE_CHAT_TEMPLATE")
    setting = recipe.benchmark_env.get("USE_CHAT_TEMPLATE")
    if setting is not None:
        yield text_of(setting.value) == TRUE, setting.where, "USE_CHAT_TEMPLATE"
    setting = recipe.benchmark.get("use_chat_template")
    if setting is not None:
        yield text_of(setting.value) != FALSE, setting.where, "use_chat_template"
    for name in ("command", "args", "extra_args", "backend"):
        setting = recipe.benchmark.get(name)
        found = None if setting is None else _TEMPLATED.search(str(setting.value))
        if setting is not None and found is not None:
            yield True, setting.where, found[0]
