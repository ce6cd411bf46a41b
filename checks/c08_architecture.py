"""Purpose: check 8: nothing lowers the work of the model: no skipped layers, indexers or experts.

Overrides of the checkpoint's configuration (hf-overrides, json-model-override-args, ...) are parsed recursively,
wherever the JSON stands: a string, a mapping, a string in a mapping. Every other structured setting is searched for
the same keys.

Invariants: a forbidden key passes only where it equals the checkpoint's own configuration, and that was read; an
unknown key of an override is "could not be verified". Comments, changelog prose and removed lines are never read:
only effective settings are. Source: rules.md 8; verdicts.md, check 8.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from app.facts.base import Facts
from app.facts.effective import logged_arg
from app.facts.outside import DraftCheckpoints
from app.facts.records import JobLogRecord
from app.facts.repository import HeadTree
from app.facts.safetensors import UnreadableHeader, lookup, read_config
from app.facts.sweep import JobLogs
from app.facts.values import parsed, text_of
from app.planner.points import Point
from app.planner.scope import Scope
from app.policy import ArchitecturePolicy
from checks.applying import found_or, listed
from checks.contract import (
    FAIL,
    NA,
    PASS,
    CannotVerify,
    CheckResult,
    Finding,
    Help,
    LogSpan,
    NotApplicable,
    Optional,
    Unverified,
    Where,
    check,
    failed,
    passed,
)
from checks.launch_evidence import Launch, launches_of
from checks.point_evidence import PointFindings, one_log, reason_of

RULES = {
    "8.none": "No effective setting overrides the model's configuration.",
    "8.own-value": "A key that equals the checkpoint's own configuration is allowed.",
    "8.neutral": "Neutral keys (heuristic top-k algorithms, context length) are allowed.",
    "8.prose": "Comments, changelog prose and removed lines never count.",
    "8.forbidden": "index_topk*, use_index_cache, num_hidden_layers, experts per token and their like fail.",
    "8.nested": "Override JSON is parsed recursively: escaped strings, bash arrays, printf-built, YAML tables.",
    "8.engine-table": "The same keys in an engine's own tables fail too.",
    "8.environment": "A variable that skips layers or indexers fails.",
    "8.log": "An override that only the job log shows fails as well.",
    "8.model-file": "A launch script that rewrites such a key in the model's configuration fails.",
    "8.other-model": "A recipe, script or log that names another checkpoint than the master config fails.",
    "8.unread-script": "A setup script that was not read may rewrite the configuration: it could not be verified.",
    "8.unknown-key": "An override with a key that the policy does not know could not be verified.",
}

_MODEL_ARGS = ("model", "model-path")
_CHECKPOINT = re.compile(r"(?:hf:)?([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)", re.ASCII)
"""The name of a checkpoint; folders such as `/model/` are the launcher's own."""

_PASSES = ("8.none", "8.own-value", "8.neutral", "8.prose")

HELP = Help(
    rule="The served model does all the work of its checkpoint: no override skips layers, indexers or experts.",
    passes_when=tuple(f"{key}: {RULES[key]}" for key in _PASSES),
    fails_when=tuple(f"{key}: {text}" for key, text in RULES.items() if key not in _PASSES),
    fix="Remove the override and sweep again with the checkpoint's own configuration.",
    source="review rules, check 8; keys: policy architecture",
)


def applies(scope: Scope) -> object | NotApplicable:
    """a config is affected"""
    return found_or(scope, scope.points, "no config is affected")


@dataclass
class _Ledger:
    policy: ArchitecturePolicy
    config: Mapping[str, Any] | None
    findings: PointFindings
    missing: list[Unverified] = field(default_factory=list)


@check(
    number=8,
    name="No architecture hacks",
    applies=applies,
    needs=(Optional(JobLogs), Optional(DraftCheckpoints), Optional(HeadTree)),
    may=(PASS, FAIL, NA),
    help=HELP,
)
def no_architecture_hacks(facts: Facts, scope: Scope) -> CheckResult:
    logs = facts.get(JobLogs)
    known = () if logs is None else logs.all
    found = PointFindings()
    missing: list[Unverified] = []
    seen = 0
    sources: dict[str, None] = {}
    for point in scope.points:
        ledger = _Ledger(facts.policy.architecture, _config(facts, point), found)
        log = one_log(point, known)
        seen += log is not None
        try:
            for launch in launches_of(point, facts):
                _judge(ledger, point, launch, log)
                sources[launch.source] = None
        except CannotVerify as cannot:
            ledger.missing.extend(cannot.missing)
        missing += ledger.missing
    findings = found.all(scope.points)
    if findings:
        return failed(reason_of(findings), findings)
    if missing:
        raise CannotVerify(dict.fromkeys(missing))
    count = len(scope.points)
    source = listed([*sources, "job log"] if seen == count else list(sources))
    points = f"all {count} points" if count > 1 else scope.points[0].label
    return passed(f"no setting overrides the model's configuration ({source} of {points})")


def _config(facts: Facts, point: Point) -> Mapping[str, Any] | None:
    """config.json of the served checkpoint, None where it was not gathered."""
    checkpoints = facts.get(DraftCheckpoints)
    found = None if checkpoints is None else checkpoints.by_repository.get(str(point.row.get("model", "")))
    if found is None or "config.json" not in found.files:
        return None
    try:
        return read_config(found.files["config.json"])
    except UnreadableHeader:
        return None


def _judge(ledger: _Ledger, point: Point, launch: Launch, log: JobLogRecord | None) -> None:
    for role, args in launch.args.items():
        for name, setting in args.items():
            _setting(ledger, point, name, setting.value, setting.where)
        _model(ledger, point, [(name, args[name].value, args[name].where) for name in _MODEL_ARGS if name in args])
        if log is not None:
            told = [(name, logged_arg(role, name, log)) for name in _MODEL_ARGS]
            shown = [(name, one.text, LogSpan(log.job_name, one.line)) for name, one in told if one is not None]
            _model(ledger, point, shown)
        for name in ledger.policy.override_args:
            printed = logged_arg(role, name, log)
            if printed is not None and name not in args and log is not None:
                _setting(ledger, point, name, printed.text, LogSpan(log.job_name, printed.line))
    for name, value, where in _variables(launch, log):
        if any(fnmatchcase(name, pattern) for pattern in ledger.policy.forbidden_env) and _on(value):
            _forbidden(ledger, point, name, value, where)
    for note in launch.undecided:
        name = note.split(":", 1)[0].split(".", 1)[0]
        if name.replace("_", "-") in {known.replace("_", "-") for known in ledger.policy.override_args}:
            ledger.missing.append(Unverified(f"{name} of {point.key}", note.split(": ", 1)[-1]))
    ledger.missing.extend(launch.unread)
    for rewrite in launch.rewrites:
        keys = [key for key in rewrite.keys if _any(key, ledger.policy.forbidden_keys)]
        keys = [key for key in keys if not _any(key, ledger.policy.neutral_keys)]
        if keys:
            found = f"{rewrite.script} rewrites {listed(keys)} in the model's configuration ({point.key} {{at}})"
            ledger.findings.add(point, Finding(rewrite.where, found, "the checkpoint's files as published", HELP.fix))


def _model(ledger: _Ledger, point: Point, named: Iterable[tuple[str, object, Where]]) -> None:
    """Another checkpoint than the entry's, smaller perhaps, served under the entry's name."""
    wanted = str(point.row.get("model", ""))
    for name, value, where in named:
        match = _CHECKPOINT.fullmatch(str(value).strip())
        if match and wanted and match[1].casefold() != wanted.casefold():
            found = f"{name} serves {match[1]}, not {wanted} ({point.key} {{at}})"
            step = f"Remove {name}, or name the model in the master config, and sweep again."
            ledger.findings.add(point, Finding(where, found, f"the model of the master config, {wanted}", step))


def _variables(launch: Launch, log: JobLogRecord | None) -> Iterator[tuple[str, object, Where]]:
    for env in launch.env.values():
        for name, setting in env.items():
            yield name, setting.value, setting.where
    for name, value in ({} if log is None else log.env).items():
        yield (name, value.value, LogSpan("" if log is None else log.job_name, value.line))


def _setting(ledger: _Ledger, point: Point, name: str, value: Any, where: Where) -> None:
    inside = parsed(value)
    override = name.replace("_", "-") in {known.replace("_", "-") for known in ledger.policy.override_args}
    if override and isinstance(inside, str) and inside.strip() and text_of(inside) != "none":
        _unknown(ledger, point, name, "is not JSON")
        return
    own = name.replace("-", "_")
    if _any(own, ledger.policy.forbidden_keys) and not _any(own, ledger.policy.neutral_keys) and not override:
        _compare(ledger, point, own, value, where, name)
    for path, key, leaf in _leaves(inside):
        if _any(key, ledger.policy.neutral_keys) or _any(path, ledger.policy.neutral_keys):
            continue
        if _any(key, ledger.policy.forbidden_keys):
            _compare(ledger, point, key, leaf, where, name)
        elif override and not _equal_to_own(ledger, key, leaf):
            _unknown(ledger, point, name, f"has the key {path}, which the policy does not know")


def _leaves(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str, Any]]:
    """(dotted path, key, value) of everything in nested mappings, JSON strings inside them included."""
    if depth > 20 or not isinstance(value, Mapping):
        return
    for key, item in value.items():
        here = f"{path}.{key}" if path else str(key)
        inside = parsed(item)
        if isinstance(inside, Mapping):
            yield from _leaves(inside, here, depth + 1)
        elif isinstance(inside, list) and any(isinstance(part, Mapping) for part in inside):
            for part in inside:
                yield from _leaves(part, here, depth + 1)
        else:
            yield here, str(key), item


def _compare(ledger: _Ledger, point: Point, key: str, value: Any, where: Where, name: str) -> None:
    if not _on(value) or _equal_to_own(ledger, key, value):
        return
    _forbidden(ledger, point, f"{name} {key}" if name.replace("-", "_") != key else name, value, where)


def _equal_to_own(ledger: _Ledger, key: str, value: Any) -> bool:
    if ledger.config is None:
        return False
    own = lookup(ledger.config, key)
    return own is not None and text_of(own) == text_of(value)


def _forbidden(ledger: _Ledger, point: Point, name: str, value: object, where: Where) -> None:
    known = "" if ledger.config is not None else "; its configuration was not read"
    found = f"{name} = {text_of(value)} lowers the work of the model ({point.key} {{at}})"
    ledger.findings.add(point, Finding(where, found, f"the checkpoint's own value{known}", HELP.fix))


def _unknown(ledger: _Ledger, point: Point, name: str, reason: str) -> None:
    ledger.missing.append(Unverified(f"{name} of {point.key}", f"it {reason}"))


def _on(value: object) -> bool:
    return text_of(value) not in ("false", "none", "", "0")


def _any(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
