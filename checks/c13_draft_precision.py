"""Purpose: check 13: the draft runs at the precision its checkpoint ships.

Baseline: the draft as stored, as the pinned image loads it by default. Below that fails; the same or more passes. What
is stored comes from config.json and the safetensors headers; what ran comes from the effective settings, the variables
of every layer, and the load lines of the job logs.

Invariants: missing evidence is "could not be verified", never a pass. A banned variable fails whatever the runner
backend is, as soon as anything drafts. Passing evals, an upstream recipe or a waiver excuse nothing.
Source: rules.md 13; evidence.md 6; verdicts.md, check 13.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from app.facts.base import Facts
from app.facts.outside import DraftCheckpoint, DraftCheckpoints
from app.facts.records import JobLogRecord
from app.facts.repository import HeadTree
from app.facts.safetensors import ShippedPrecision, UnreadableHeader, missing_shards, read_config, shipped
from app.facts.sweep import JobLogs
from app.planner.points import Point
from app.planner.scope import Scope
from app.policy import DraftPolicy
from app.target.recipe import EffectiveRecipe, Speculation
from app.target.source import RejectedInput
from app.target.speculation import speculation_of
from checks.acceptance import rejection
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
    check,
    failed,
    not_applicable,
    passed,
)
from checks.draft_settings import PRECISION_KEY, bits_of, environment, lowering
from checks.launch_evidence import launches_of
from checks.point_evidence import PointFindings, labels, one_log, reason_of, recipe_of, sound_log

RULES = {
    "13.as-shipped": "The draft runs as stored and as the pinned image loads it by default.",
    "13.embedded": "An embedded head is judged by its own tensors: layers behind the hidden ones, or known prefixes.",
    "13.inherited": "A quantization that the draft inherits counts only if the log loads the draft with it.",
    "13.restated": "A setting that restates the default or raises precision is allowed.",
    "13.kv-alike": "A cache type that target and draft share is allowed; `auto` lowers nothing.",
    "13.leads": "The speculative MoE runner and low-precision combine are leads, not outcomes.",
    "13.off": "A banned variable that is unset, 0 or false is fine.",
    "13.no-draft": "A banned variable without any draft is N/A with a note.",
    "13.banned": "SGLANG_NVFP4_CKPT_FP8_NEXTN_MOE switched on in any layer fails, whatever the runner backend.",
    "13.lowering-variable": "SGLANG_GLM_NEXTN_MOE_PTPC switched on fails.",
    "13.draft-quantization": "Quantizing the draft to what it does not ship fails.",
    "13.draft-kv": "A cache type below 16 bits for the draft alone fails.",
    "13.dtype": "A dtype below the stored one fails.",
    "13.override": "An override that changes a dtype or quantization of the checkpoint fails.",
    "13.rewrite": "A script that rewrites dtype, quantization or layers in a model's configuration fails; others may.",
    "13.unread-script": "A setup script that was not read may rewrite precision: it could not be verified.",
    "13.loaded-lower": "A log that loads the draft quantized or below its stored dtype fails.",
    "13.online": "ATOM's online quantization must exclude every module of the draft.",
    "13.online-external": "An external draft under online quantization could not be verified.",
    "13.unclear-variable": "A variable whose effect on the draft is not known could not be verified.",
    "13.no-header": "Without the checkpoint's config and headers the draft could not be verified.",
    "13.no-load": "Without the log's load lines an unquantized draft of a quantized target could not be verified.",
    "13.revision": "Another revision than the one that was read could not be verified.",
}

_PASSES = (
    "13.as-shipped",
    "13.embedded",
    "13.inherited",
    "13.restated",
    "13.kv-alike",
    "13.leads",
    "13.off",
    "13.no-draft",
)

HELP = Help(
    rule="The draft runs at the precision that its checkpoint ships.",
    passes_when=tuple(f"{key}: {RULES[key]}" for key in _PASSES),
    fails_when=tuple(f"{key}: {text}" for key, text in RULES.items() if key not in _PASSES),
    fix="Remove settings that lower the draft, and sweep again with the checkpoint's own draft.",
    source="review rules, check 13; variables: policy draft",
)


PRINTS_LOADS = ("sglang", "vllm")
"""Engines that print one line for each model they load."""


def applies(scope: Scope) -> object | NotApplicable:
    """a point drafts"""
    found = scope.speculative_points
    if found:
        return found
    note = next(iter(_banned_without_draft(scope)), "")
    return found_or(scope, found, f"no affected point uses speculative decoding{note}")


def _banned_without_draft(scope: Scope) -> Iterator[str]:
    policy = DraftPolicy()
    for point in scope.points:
        recipe = point.recipe if isinstance(point.recipe, EffectiveRecipe) else None
        for name, _, where in environment(point, recipe, None, policy.banned_env, policy):
            yield f"; note: {name} is set in {where}, without a draft"


@dataclass
class _Ledger:
    findings: PointFindings = field(default_factory=PointFindings)
    missing: list[Unverified] = field(default_factory=list)
    said: dict[str, dict[str, list[Point]]] = field(default_factory=dict)
    stored: dict[tuple[str, bool], _Stored] = field(default_factory=dict)


@check(
    number=13,
    name="Draft precision",
    applies=applies,
    needs=(Optional(DraftCheckpoints), Optional(JobLogs), Optional(HeadTree)),
    may=(PASS, FAIL, NA),
    help=HELP,
)
def draft_precision(facts: Facts, scope: Scope) -> CheckResult:
    ledger = _Ledger()
    logs = facts.get(JobLogs)
    known = () if logs is None else logs.all
    drafting = list(_drafting(ledger, scope, facts.get(HeadTree)))
    for point, recipe, _ in drafting:
        _variables(ledger, facts.policy.draft, point, recipe, known)
        _rewrites(ledger, facts, point)
    if not ledger.findings.held and drafting:
        for point, recipe, speculation in drafting:
            try:
                _one(ledger, facts, point, recipe, speculation, known)
            except CannotVerify as cannot:
                ledger.missing.extend(cannot.missing)
    findings = ledger.findings.all(scope.speculative_points)
    if findings:
        return failed(reason_of(findings), findings)
    if ledger.missing:
        raise CannotVerify(dict.fromkeys(ledger.missing))
    if not drafting:
        return not_applicable("the affected points draft nothing in effect")
    return passed("; ".join(_sentences(ledger, [point for point, _, _ in drafting])))


def _sentences(ledger: _Ledger, among: list[Point]) -> Iterator[str]:
    """One statement for each draft; where its cache differs between points, the points are named."""
    for text, caches in ledger.said.items():
        known = {cache: points for cache, points in caches.items() if cache}
        if len(known) > 1:
            cache = ", ".join(f"{cache} at {labels(points, among)}" for cache, points in known.items())
        else:
            cache = "".join(known)
        yield f"{text}; draft KV {cache}" if cache else text


def _drafting(
    ledger: _Ledger, scope: Scope, head: HeadTree | None
) -> Iterator[tuple[Point, EffectiveRecipe, Speculation]]:
    for point in scope.speculative_points:
        try:
            recipe = recipe_of(point, head)
            speculation = speculation_of(recipe)
        except RejectedInput as rejected:
            ledger.findings.add(point, rejection(rejected, point))
        except CannotVerify as cannot:
            ledger.missing.extend(cannot.missing)
        else:
            if speculation is not None:
                yield point, recipe, speculation


def _variables(
    ledger: _Ledger, policy: DraftPolicy, point: Point, recipe: EffectiveRecipe, logs: Iterable[JobLogRecord]
) -> None:
    log = one_log(point, logs)
    for name, value, where in environment(point, recipe, log, policy.banned_env, policy):
        found = f"{name}={value} casts the draft below its checkpoint; it is banned ({point.key})"
        ledger.findings.add(point, Finding(where, found, "unset or 0", f"Remove {name} and sweep again."))
    for name, value, where in environment(point, recipe, log, policy.lowering_env, policy):
        found = f"{name}={value} computes the draft in FP8 ({point.key})"
        ledger.findings.add(point, Finding(where, found, "unset or 0", f"Remove {name} and sweep again."))
    for name, value, _ in environment(point, recipe, log, policy.unclear_env, policy):
        ledger.missing.append(Unverified(f"the effect of {name}={value} on the draft", "nothing shows it"))


def _rewrites(ledger: _Ledger, facts: Facts, point: Point) -> None:
    """A setup script may add a key to a model's configuration, but no dtype, quantization or layer key."""
    for launch in launches_of(point, facts):
        ledger.missing.extend(launch.unread)
        for rewrite in launch.rewrites:
            keys = [key for key in rewrite.keys if PRECISION_KEY.search(key) or "layer" in key]
            if keys:
                found = f"{rewrite.script} rewrites {listed(keys)} of a model's configuration ({point.key})"
                step = "Serve the checkpoint's own configuration."
                ledger.findings.add(point, Finding(rewrite.where, found, "no dtype, quantization or layer key", step))


def _one(
    ledger: _Ledger,
    facts: Facts,
    point: Point,
    recipe: EffectiveRecipe,
    speculation: Speculation,
    logs: Iterable[JobLogRecord],
) -> None:
    repository = speculation.draft_model or str(point.row.get("model", ""))
    wanted = (repository.removeprefix("hf:"), speculation.draft_model is not None)
    if wanted not in ledger.stored:
        ledger.stored[wanted] = _stored(facts, wanted[0], standalone=wanted[1])
    stored = ledger.stored[wanted]
    for lowered in lowering(recipe, one_log(point, logs), stored.precision):
        if lowered.unclear:
            ledger.missing.append(Unverified(lowered.found, f"{point.key} {point.label}"))
        else:
            step = "Remove the setting and sweep again."
            ledger.findings.add(point, Finding(lowered.where, f"{lowered.found} ({point.key})", str(stored), step))
    log = sound_log(point, logs)
    _revision(ledger, recipe, stored)
    loaded = _loaded(ledger, point, log, recipe.engine, stored)
    caches = ledger.said.setdefault(f"draft {stored}; {loaded}", {})
    caches.setdefault(_cache(log), []).append(point)


@dataclass(frozen=True)
class _Stored:
    """A checkpoint and the precision of its draft."""

    checkpoint: DraftCheckpoint
    precision: ShippedPrecision

    def __str__(self) -> str:
        record, precision = self.checkpoint.record, self.precision
        quantized = precision.quantization or "no quantization config"
        named = f"{record.repository}@{record.sha[:8]}" if record.sha else record.repository
        return f"{named} ships {precision}, {quantized}"


def _stored(facts: Facts, repository: str, *, standalone: bool) -> _Stored:
    """What a checkpoint ships. Raises MissingFact or CannotVerify."""
    source = f"the draft checkpoint {repository}"
    found = facts[DraftCheckpoints].by_repository.get(repository)
    if found is None:
        raise CannotVerify([Unverified(source, "it was not gathered")])
    if found.record.problem:
        raise CannotVerify([Unverified(source, found.record.problem)])
    if "config.json" not in found.files or not found.headers:
        lacking = "config.json" if "config.json" not in found.files else "no safetensors header"
        raise CannotVerify([Unverified(source, f"{lacking} was not gathered" if "config" in lacking else lacking)])
    try:
        config = read_config(found.files["config.json"])
        index = found.files.get("model.safetensors.index.json")
        absent = missing_shards(index, found.headers, config, standalone=standalone) if index else []
        precision = shipped(config, found.headers, standalone=standalone)
    except UnreadableHeader as fault:
        raise CannotVerify([Unverified(source, str(fault))]) from None
    if absent:
        raise CannotVerify([Unverified(source, f"no header of {listed(absent)}")])
    if not precision.tensors:
        raise CannotVerify([Unverified(source, "none of its tensors is a draft's")])
    return _Stored(found, precision)


def _revision(ledger: _Ledger, recipe: EffectiveRecipe, stored: _Stored) -> None:
    """A pinned draft revision must be the one that was read."""
    record = stored.checkpoint.record
    names = ("speculative-draft-model-revision", "draft-model-revision")
    for role in recipe.roles.values():
        for name in names if stored.precision.standalone else ("revision",):
            wanted = role.arg(name)
            if (
                wanted is not None
                and str(wanted) not in (record.revision, record.sha)
                and not record.sha.startswith(str(wanted))
            ):
                reason = f"{record.revision or record.sha[:8]} was read"
                ledger.missing.append(Unverified(f"revision {wanted} of {record.repository}", reason))


def _loaded(ledger: _Ledger, point: Point, log: JobLogRecord, engine: str, stored: _Stored) -> str:
    """What the log says of the draft's load. An embedded head carries its target's tag, which proves nothing."""
    drafts = [value for value in log.loads if "role=draft" in value.value.split()]
    plain = stored.precision.standalone and not stored.precision.quantization
    for value in drafts:
        pairs = dict(part.split("=", 1) for part in value.value.split() if "=" in part)
        if plain and pairs.get("quant", "None").casefold() not in ("none", ""):
            found = f"the {point.label} job loaded the draft with quant={pairs['quant']}"
            ledger.findings.add(point, _load_finding(log, value.line, found, stored))
        bits = bits_of(pairs.get("dtype", ""))
        if bits and not stored.precision.quantized and bits < stored.precision.bits:
            found = f"the {point.label} job loaded the draft as {pairs['dtype']}"
            ledger.findings.add(point, _load_finding(log, value.line, found, stored))
    if drafts:
        return "logs load it without quantization" if plain else "logs load it as stored"
    if engine in PRINTS_LOADS or not log.server_args:
        reason = "its job log has no load line of the draft" if log.server_args else "its job log shows no server"
        ledger.missing.append(Unverified(f"the draft's load of {point.label}", reason))
    return "no effective setting changes it"


def _load_finding(log: JobLogRecord, line: int, found: str, stored: _Stored) -> Finding:
    step = "Find the setting that quantizes the draft, remove it and sweep again."
    return Finding(LogSpan(log.job_name, line), f"{found}; draft {stored}", "the draft as shipped", step)


def _cache(log: JobLogRecord) -> str:
    """The draft's cache type as the log prints it, "" where it does not."""
    found = [value.value for value in log.kv_caches if "role=draft" in value.value.split()]
    if not found:
        return ""
    return found[0].rpartition("dtype=")[2].removeprefix("torch.")
