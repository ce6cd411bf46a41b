"""Purpose: check 17: Dynamo TRT-LLM publishes iteration and KV-cache metrics.

Settings are those in effect: the worker's command line and generated engine configuration in the log, then the
variables, then the recipe, then the default of the pinned srt-slurm (policy). An explicit false of the combined
events-and-metrics switch in any layer is prohibited, whatever another layer says.

Invariants: the Dynamo version comes from the recipe's wheel, version or hash, else from the container; never from the
image tag. What neither a layer nor a known default decides is "could not be verified", with the pin or version named.
Source: rules.md 17; verdicts.md, check 17 (table); evidence.md 9.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from app.facts.base import Facts
from app.facts.effective import engine_of, through_dynamo
from app.facts.records import JobLogRecord
from app.facts.sweep import JobLogs
from app.facts.values import FALSE, TRUE, text_of
from app.planner.points import Point
from app.planner.scope import Scope
from app.policy import MetricsPolicy, SrtSlurmDefaults
from app.target.recipe import EffectiveRecipe
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
from checks.point_evidence import PointFindings, one_log, reason_of, recipe_of, told

RULES = {
    "17.combined-on": "The combined events-and-metrics switch is on, and iteration statistics are on.",
    "17.metrics-on": "Metrics alone are published by a Dynamo that has the switch, and iteration statistics are on.",
    "17.combined-false": "`publish_events_and_metrics: false` in any effective layer fails.",
    "17.metrics-false": "`publish_metrics: false` without the combined switch fails.",
    "17.iteration-off": "Iteration statistics switched off for a serving role fail.",
    "17.environment": "DYN_TRTLLM_PUBLISH_METRICS and DYN_TRTLLM_PUBLISH_EVENTS_AND_METRICS count as their switches.",
    "17.no-flag": "`--no-publish-metrics` and `--no-publish-events-and-metrics` of the worker command count as false.",
    "17.kv-events": "KV events may be off: DYN_TRTLLM_PUBLISH_KV_EVENTS and event buffers of size 0 decide nothing.",
    "17.perf-metrics": "`return_perf_metrics` decides nothing.",
    "17.log-first": "The worker's command line and engine configuration in the log stand above the recipe.",
    "17.default": "An omitted switch has the default of the pinned srt-slurm; an unknown pin could not be verified.",
    "17.version": "The Dynamo version is the wheel, then the version, then the hash, then the container's own.",
    "17.unknown-version": "Metrics alone on a Dynamo of unknown age could not be verified.",
    "17.direct": "A server without Dynamo, or another engine, is N/A.",
}

HELP = Help(
    rule="Affected Dynamo TRT-LLM benchmarks collect and publish iteration and KV-cache metrics.",
    passes_when=tuple(
        f"{key}: {RULES[key]}"
        for key in (
            "17.combined-on",
            "17.metrics-on",
            "17.environment",
            "17.kv-events",
            "17.perf-metrics",
            "17.log-first",
            "17.version",
            "17.direct",
        )
    ),
    fails_when=tuple(
        f"{key}: {RULES[key]}"
        for key in (
            "17.combined-false",
            "17.metrics-false",
            "17.iteration-off",
            "17.no-flag",
            "17.default",
            "17.unknown-version",
        )
    ),
    fix="Set publish_events_and_metrics or publish_metrics to true, and enable_iter_perf_stats: true for each role.",
    source="review rules, check 17; defaults by srt-slurm pin: policy metrics.srt_slurm",
)

_COMBINED = ("publish_events_and_metrics", "DYN_TRTLLM_PUBLISH_EVENTS_AND_METRICS")
_METRICS = ("publish_metrics", "DYN_TRTLLM_PUBLISH_METRICS")
_ITERATION = "enable_iter_perf_stats"


def applies(scope: Scope) -> object | NotApplicable:
    """a point serves TensorRT-LLM through Dynamo"""
    found = [point for point in scope.points if engine_of(point) == "trtllm" and through_dynamo(point)]
    return found_or(scope, found, "no affected point serves TensorRT-LLM through Dynamo")


@check(
    number=17, name="Metrics publication", applies=applies, needs=(Optional(JobLogs),), may=(PASS, FAIL, NA), help=HELP
)
def metrics_publication(facts: Facts, scope: Scope) -> CheckResult:
    logs = facts.get(JobLogs)
    found = PointFindings()
    unverified: list[Unverified] = []
    said: dict[str, list[Point]] = {}
    for point in scope.points:
        if engine_of(point) != "trtllm" or not through_dynamo(point):
            continue
        recipe = recipe_of(point)
        log = one_log(point, () if logs is None else logs.all)
        judged = _judge(_Layers(recipe, log, facts.policy.metrics), point)
        for finding in judged.findings:
            found.add(point, finding)
        unverified += judged.unverified
        if judged.said:
            said.setdefault(judged.said, []).append(point)
    findings = found.all(scope.points)
    if findings:
        return failed(reason_of(findings), findings)
    if unverified:
        raise CannotVerify(dict.fromkeys(unverified))
    return passed(told(said, scope.points))


@dataclass(frozen=True)
class _Switch:
    """A switch in effect: True, False or None (nobody says), and where that stands."""

    value: bool | None
    where: Where | None = None
    source: str = ""


@dataclass(frozen=True)
class _Layers:
    """The layers of one point's settings."""

    recipe: EffectiveRecipe
    log: JobLogRecord | None
    policy: MetricsPolicy

    def switch(self, names: tuple[str, str]) -> _Switch:
        """What the log says, else what the recipe says; an explicit false among them first."""
        said = list(self._said(*names))
        effective = [switch for switch in said if switch.source != "recipe"] or said
        off = next((switch for switch in effective if switch.value is False), None)
        return off or next(iter(effective), _Switch(None))

    def _said(self, flag: str, variable: str) -> Iterator[_Switch]:
        if self.log is not None:
            for role, printed in self.log.server_args.items():
                yield from _printed(self.log, printed, flag, role)
            if variable in self.log.env:
                logged = self.log.env[variable]
                yield _Switch(_truth(logged.value), LogSpan(self.log.job_name, logged.line), "log's environment")
        for role in self.recipe.roles:
            setting = self.recipe.effective_env(role).get(variable)
            if setting is not None:
                yield _Switch(_truth(setting.value), setting.where, "recipe")
        setting = self.recipe.backend.get(flag)
        if setting is not None and text_of(setting.value) in (TRUE, FALSE):
            yield _Switch(_truth(setting.value), setting.where, "recipe")

    def iteration(self) -> Mapping[str, _Switch]:
        """Iteration statistics of each serving role; a role that nobody speaks of has the pin's default."""
        found: dict[str, _Switch] = {}
        for role in self.recipe.roles.values():
            logged = None if self.log is None else self.log.server_args.get(role.name, {}).get(_ITERATION)
            setting = role.args.get(_ITERATION)
            if self.log is not None and logged is not None:
                found[role.name] = _Switch(_truth(logged.value), LogSpan(self.log.job_name, logged.line), "log")
            elif setting is not None:
                found[role.name] = _Switch(_truth(setting.value), setting.where, "recipe")
            else:
                default = self.defaults()
                found[role.name] = _Switch(None if default is None else default.iteration_stats, None, "default")
        return found

    def pin(self) -> str:
        ref = None if self.log is None else self.log.refs.get("srt-slurm")
        return "" if ref is None else ref.value

    def defaults(self) -> SrtSlurmDefaults | None:
        pin = self.pin()
        if not pin:
            return None
        for entry in self.policy.srt_slurm:
            if any(fnmatchcase(pin, pattern) for pattern in entry.refs):
                return entry
        return None

    def dynamo(self) -> str:
        """The installed Dynamo, "" where nothing tells it: wheel, version, hash, then what the log shows."""
        installs = text_of(self.recipe.dynamo["install"].value) != FALSE if "install" in self.recipe.dynamo else True
        for name in ("wheel", "version", "hash") if installs else ():
            if name in self.recipe.dynamo:
                return str(self.recipe.dynamo[name].value)
        logged = {} if self.log is None else self.log.versions
        version = logged.get("ai-dynamo") or logged.get("ai-dynamo-runtime") or logged.get("dynamo")
        return "" if version is None else version.value


def _printed(log: JobLogRecord, printed: Mapping[str, object], flag: str, role: str) -> Iterator[_Switch]:
    for name, inverted in ((f"no_{flag}", True), (flag, False)):
        value = log.server_args[role].get(name)
        if name in printed and value is not None:
            yield _Switch(_truth(value.value) != inverted, LogSpan(log.job_name, value.line), "log")


def _truth(value: object) -> bool:
    return text_of(value) not in (FALSE, "0", "none", "no", "off", "")


@dataclass(frozen=True)
class _Judged:
    findings: tuple[Finding, ...] = ()
    unverified: tuple[Unverified, ...] = ()
    said: str = ""


def _judge(layers: _Layers, point: Point) -> _Judged:
    combined, metrics = layers.switch(_COMBINED), layers.switch(_METRICS)
    iteration = layers.iteration()
    findings = list(_off(layers, combined, metrics, iteration, point))
    if findings:
        return _Judged(findings=tuple(findings))
    default = layers.defaults()
    if combined.value is None and default is not None:
        combined = _Switch(default.combined, None, "default")
    if metrics.value is None and default is not None:
        metrics = _Switch(default.publish_metrics, None, "default")
    if combined.value is False and metrics.value is False:
        return _Judged(findings=(_both_off(layers, point),))
    unknown = _unknown(layers, combined, metrics, iteration)
    if unknown is not None:
        return _Judged(unverified=(unknown,))
    return _Judged(said=_sentence(layers, combined, metrics, iteration))


def _both_off(layers: _Layers, point: Point) -> Finding:
    role = layers.recipe.generation_role
    place = next((setting.where for setting in role.args.values()), point.master) if role is not None else point.master
    found = f"{point.key} {{at}} publishes no metrics: both switches are off by default of the pinned srt-slurm"
    step = "Set publish_events_and_metrics: true or publish_metrics: true."
    return Finding(place, found, "one of the two switches on", step)


def _off(
    layers: _Layers, combined: _Switch, metrics: _Switch, iteration: Mapping[str, _Switch], point: Point
) -> Iterator[Finding]:
    """Findings for what is switched off."""
    if combined.value is False and combined.where is not None:
        yield Finding(
            combined.where,
            f"publish_events_and_metrics is false for {point.key} {{at}} (from the {combined.source})",
            "the combined switch on or left out; false is prohibited",
            "Remove publish_events_and_metrics: false; use publish_metrics: true if events are not wanted.",
        )
    if metrics.value is False and metrics.where is not None and combined.value is not True:
        yield Finding(
            metrics.where,
            f"publish_metrics is false for {point.key} {{at}} (from the {metrics.source})",
            "metrics published",
            "Set publish_metrics: true.",
        )
    for role, switch in iteration.items():
        if switch.value is not False:
            continue
        held = layers.recipe.roles[role]
        place = switch.where or next((setting.where for setting in held.args.values()), point.master)
        by = "by default of the pinned srt-slurm" if switch.source == "default" else f"in the {switch.source}"
        yield Finding(
            place,
            f"iteration statistics are off for {role} of {point.key} {{at}} ({by})",
            f"{_ITERATION}: true for every serving role",
            f"Set {_ITERATION}: true for {role}.",
        )


def _unknown(
    layers: _Layers, combined: _Switch, metrics: _Switch, iteration: Mapping[str, _Switch]
) -> Unverified | None:
    """The default or version that the outcome hangs on and nobody knows."""
    pin = layers.pin()
    named = f"defaults of srt-slurm {pin[:12]}" if pin else "the srt-slurm pin"
    why = "the policy does not list this pin" if pin else "no job log names it"
    silent = [role for role, switch in iteration.items() if switch.value is None]
    if silent:
        return Unverified(named, f"{why}, and the recipe leaves {_ITERATION} out for {listed(silent)}")
    if not combined.value and not metrics.value:
        return Unverified(named, f"{why}, and the recipe leaves a metrics switch out")
    if combined.value or metrics.source == "log":
        return None
    version = layers.dynamo()
    since = layers.policy.metrics_flag_from
    if not version:
        return Unverified("the Dynamo version", "neither the recipe nor a job log names it")
    if not since or not _at_least(version, since):
        reason = "the policy does not say which Dynamo has --publish-metrics" if not since else f"older than {since}"
        return Unverified(f"--publish-metrics of Dynamo {version}", reason)
    return None


def _sentence(layers: _Layers, combined: _Switch, metrics: _Switch, iteration: Mapping[str, _Switch]) -> str:
    switch, name = (combined, "publish_events_and_metrics") if combined.value else (metrics, "publish_metrics")
    version = layers.dynamo()
    shown = f"Dynamo {version}" if version else "Dynamo of the container"
    return f"{name} is on ({switch.source}), iteration statistics on for {listed(list(iteration))}; {shown}"


_PART = re.compile(r"\d+")


def _at_least(version: str, since: str) -> bool:
    """Compares dotted versions by their numbers: 1.5.0.dev20260914 < 1.5.0. A hash is never known to be new enough."""
    if re.fullmatch(r"[0-9a-f]{7,40}", version):
        return False
    return _order(version) >= _order(since)


def _order(version: str) -> tuple[tuple[int, ...], int, int]:
    release, _, rest = re.sub(r"[.-]?(dev|rc|post|a|b)", r"|\1", version, count=1).partition("|")
    numbers = [int(part) for part in _PART.findall(release)] + [0, 0, 0]
    stage = -1 if rest.startswith(("dev", "rc", "a", "b")) else int(rest.startswith("post"))
    counted = _PART.search(rest)
    return tuple(numbers[:3]), stage, int(counted[0]) if counted else 0
