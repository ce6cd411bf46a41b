"""Purpose: check 11: speculative AgentX points run at the golden acceptance length of their curve, and nothing else
simulates acceptance.

Under the policy `acceptance: injected` (October) the launcher sets the value and the job log of every speculative
point must show it; recipe and master must not carry one. Under `pinned` (August) it stands in the recipe, the master
row or the launch script.

Invariants: the draft length is read from settings of the generation role, never from a name; the target branch's
curve decides, and an edit of it by the pull request is a finding of its own. Evals always draft for real.
Source: rules.md 11; evidence.md 1; verdicts.md, check 11.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from app.facts.base import Facts
from app.facts.effective import eval_logs_of, logs_of
from app.facts.records import JobLogRecord
from app.facts.repository import GoldenCurves, HeadTree
from app.facts.sign_off import SignOff
from app.facts.sweep import JobLogs
from app.facts.values import same_number
from app.planner.points import AGENTIC, Point
from app.planner.scope import Scope
from app.target.recipe import EffectiveRecipe
from app.target.recipes import read_recipe, recipe_reference
from app.target.source import RejectedInput
from app.target.speculation import pinned_acceptance, speculation_of
from app.target.tree import Layout, NotRecorded
from checks.acceptance import (
    Golden,
    Refused,
    drafting_roles,
    golden_of,
    hard_coded,
    injection_in,
    pins_of,
    rejection,
    simulation_in,
)
from checks.applying import found_or, listed
from checks.contract import (
    FAIL,
    NA,
    PASS,
    CannotVerify,
    CheckResult,
    Finding,
    Help,
    Job,
    NotApplicable,
    Optional,
    Required,
    Unverified,
    check,
    failed,
    not_applicable,
    passed,
)
from checks.point_evidence import PointFindings, one_log, reason_of, recipe_of
from checks.script_launch import undecided

RULES = {
    "11.injected": "The job log of every speculative AgentX point shows the injected golden value (October).",
    "11.curve": "The curve follows model, method and sampler; NEXTN and EAGLE are MTP or EAGLE3.",
    "11.length": "The draft length is the generation role's; DFLASH counts one less than its draft tokens.",
    "11.minus-one": "TensorRT-LLM is given the golden value minus the bonus token.",
    "11.rounding": "Values compare after rounding to two decimals; logs print 3.00 as 3.",
    "11.thinking": "The thinking mode is the job's THINKING_MODE, else the policy's.",
    "11.zero": "A point that drafts nothing is left out.",
    "11.wrong-value": "Another value than the curve's fails.",
    "11.real-acceptance": "A speculative AgentX point without simulated acceptance fails.",
    "11.hard-coded": "A value in recipe, master or launcher fails where it is injected (October).",
    "11.fixed-simulated": "Simulated acceptance on a config that is not agentic fails, also from master or log alone.",
    "11.eval-real": "Eval jobs draft for real; a simulated one fails.",
    "11.no-curve": "Without a committed curve the sign-off must state the source of the value.",
    "11.unmeasured": "A draft length or thinking mode that the curve does not have fails.",
    "11.edited-curve": "The target branch's curve decides; an edit of it by the pull request is a finding.",
    "11.new-curve": "A curve that only the pull request has counts and is named: it is part of the review.",
    "11.pinned": "The recipe, the master row or the script pins the golden value (August).",
    "11.pinned-sources": "Role env, vLLM JSON and additional settings of prefill, decode and worker all count as pins.",
    "11.pins-differ": "Pins that differ from each other fail.",
    "11.eval-config": "A recipe for evals is unpinned (August).",
    "11.no-log": "A speculative AgentX point whose job log is missing or incomplete could not be verified.",
}

_FAILS = (
    "11.wrong-value",
    "11.real-acceptance",
    "11.hard-coded",
    "11.fixed-simulated",
    "11.eval-real",
    "11.no-curve",
    "11.unmeasured",
    "11.pins-differ",
    "11.eval-config",
    "11.no-log",
)

HELP = Help(
    rule="Speculative AgentX points run at the golden acceptance length of their curve; nothing else is simulated.",
    passes_when=tuple(f"{key}: {text}" for key, text in RULES.items() if key not in _FAILS),
    fails_when=tuple(f"{key}: {RULES[key]}" for key in _FAILS),
    fix="Launch through the shared launcher, which injects the value, and remove values written by hand.",
    source="review rules, check 11; golden acceptance-length curves of the target branch",
)


_VALUE = re.compile(r"(?:acceptance length|\bAL\b).*\d", re.IGNORECASE)
_SOURCE = re.compile(r"https?://|\bsource\b|\bmeasured\b", re.IGNORECASE)


def applies(scope: Scope) -> object | NotApplicable:
    """a point drafts"""
    return found_or(scope, scope.speculative_points, "no affected point uses speculative decoding")


@dataclass
class _Ledger:
    """What was found over all points."""

    findings: PointFindings = field(default_factory=PointFindings)
    missing: list[Unverified] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    said: dict[str, int] = field(default_factory=dict)
    stated: dict[str, None] = field(default_factory=dict)


@check(
    number=11,
    name="Agentic golden AL",
    applies=applies,
    needs=(Required(GoldenCurves), Optional(JobLogs), Optional(SignOff), Optional(HeadTree)),
    may=(PASS, FAIL, NA),
    help=HELP,
)
def golden_al(facts: Facts, scope: Scope) -> CheckResult:
    ledger = _Ledger()
    logs = facts.get(JobLogs)
    for point in scope.speculative_points:
        try:
            if point.scenario == AGENTIC:
                _agentic(ledger, facts, point, () if logs is None else logs.all)
            else:
                _fixed(ledger, point, () if logs is None else logs.all)
        except Refused as refused:
            _without_curve(ledger, facts, point, refused.finding)
        except RejectedInput as rejected:
            ledger.findings.add(point, rejection(rejected, point))
        except CannotVerify as cannot:
            ledger.missing.extend(cannot.missing)
        except NotRecorded as unseen:
            ledger.missing.append(Unverified("files of the pull request", str(unseen)))
    _curve_notes(ledger, facts[GoldenCurves])
    return _settle(ledger, facts, scope)


def _settle(ledger: _Ledger, facts: Facts, scope: Scope) -> CheckResult:
    findings = ledger.findings.all(scope.speculative_points)
    if findings:
        return failed(reason_of(findings), [*findings, *dict.fromkeys(ledger.notes)])
    if ledger.missing:
        raise CannotVerify(dict.fromkeys(ledger.missing))
    if ledger.said or ledger.stated:
        how = (
            "pinned in all {} points" if facts.policy.acceptance == "pinned" else "injected in all {} agentic job logs"
        )
        said = [f"{text}, {how.format(count)}" for text, count in ledger.said.items()]
        return passed("; ".join([*said, *ledger.stated]), dict.fromkeys(ledger.notes))
    if not scope.agentic_speculative_points:
        return not_applicable("no agentic speculative point is affected, and nothing simulates acceptance")
    return not_applicable("the agentic points draft nothing in effect")


def _agentic(ledger: _Ledger, facts: Facts, point: Point, logs: Iterable[JobLogRecord]) -> None:
    recipe = recipe_of(point, facts.get(HeadTree))
    open_ = undecided(recipe, *DECISIVE)
    if open_:
        raise CannotVerify([Unverified(f"the draft of {point.key} {point.label}", open_)])
    speculation = speculation_of(recipe)
    if speculation is None:
        return
    log = one_log(point, logs)
    mode = None if log is None else log.env.get("THINKING_MODE")
    thinking = facts.policy.thinking_mode if mode is None else mode.value
    if facts.policy.acceptance == "pinned":
        golden = golden_of(point, recipe.engine, speculation, facts[GoldenCurves], thinking)
        _pinned(ledger, point, recipe, golden)
        _eval_recipe(ledger, facts, point)
        return
    for name, value, where in hard_coded(point, recipe):
        found = f"{point.key} {{at}} hard-codes {name}={value}"
        step = f"Remove {name}; the launcher injects the golden value."
        ledger.findings.add(point, Finding(where, found, "no acceptance length in recipe or master", step))
    golden = golden_of(point, recipe.engine, speculation, facts[GoldenCurves], thinking)
    _evals(ledger, point, logs)
    _injected(ledger, point, golden, drafting_roles(recipe), logs)


DECISIVE = (
    "speculative-algorithm",
    "speculative-num-steps",
    "speculative-num-draft-tokens",
    "speculative-dspark-block-size",
    "method",
    "num-speculative-tokens",
    "SGLANG_SIMULATE_ACC_LEN",
    "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS",
    "spec-decode-acceptance-length",
    "spec-decode-acceptance-rate",
)
"""Settings of a launch script without which draft and acceptance are not known."""


def _injected(
    ledger: _Ledger, point: Point, golden: Golden, roles: tuple[str, ...], logs: Iterable[JobLogRecord]
) -> None:
    own = logs_of(point, logs)
    if not own:
        ledger.missing.append(Unverified(f"the job log of {point.label}", "no log of its job was gathered"))
    for log in own:
        if log.problem:
            ledger.missing.append(Unverified(f"the job log of {point.label}", log.problem))
            continue
        shown = injection_in(log, golden, roles)
        for found, expected in shown.wrong:
            text = f"the {point.label} job ran with {found.name}={found.value}; {golden.expected}"
            step = "Sweep again through the launcher that injects the golden value."
            ledger.findings.add(point, Finding(found.where, text, f"{found.name}={expected}", step))
        if shown.absent and not shown.wrong:
            _absent(ledger, point, log, shown.absent, golden)
        elif shown.unseen:
            reason = f"the log has no server arguments of {listed(shown.unseen)}"
            ledger.missing.append(Unverified(f"the injected value of {point.label}", reason))
    text = f"{golden.drafted}; {golden.expected}"
    ledger.said[text] = ledger.said.get(text, 0) + len(own)


def _absent(ledger: _Ledger, point: Point, log: JobLogRecord, names: tuple[str, ...], golden: Golden) -> None:
    """Nothing simulated in the log: real acceptance, unless the log is not whole."""
    if "server arguments" in log.missing:
        reason = f"the log has no {listed(log.missing)}"
        ledger.missing.append(Unverified(f"the injected value of {point.label}", reason))
        return
    found = f"the {point.label} job drafted with real acceptance: its log has no {listed(names)}"
    step = "Sweep again through the launcher that injects the golden value."
    ledger.findings.add(point, Finding(Job(log.run_id, log.job_name), found, golden.expected, step))


def _evals(ledger: _Ledger, point: Point, logs: Iterable[JobLogRecord]) -> None:
    for log in eval_logs_of(point, logs):
        for shown in simulation_in(log):
            found = f"the eval job of {point.label} ran with simulated acceptance: {shown.name}={shown.value}"
            step = "Run the eval with real verification."
            ledger.findings.add(point, Finding(shown.where, found, "real acceptance in evals", step))


def _fixed(ledger: _Ledger, point: Point, logs: Iterable[JobLogRecord]) -> None:
    recipe = point.recipe
    set_by = hard_coded(point, recipe) if isinstance(recipe, EffectiveRecipe) else iter(())
    expected, step = ("real acceptance on a config that is not agentic", "Remove it and sweep again.")
    for name, value, where in set_by:
        found = f"{point.key} {{at}} is not agentic and simulates acceptance: {name}={value}"
        ledger.findings.add(point, Finding(where, found, expected, step))
    for log in logs_of(point, logs):
        for shown in simulation_in(log):
            found = f"the {point.label} job is not agentic and simulated acceptance: {shown.name}={shown.value}"
            ledger.findings.add(point, Finding(shown.where, found, expected, step))


def _pinned(ledger: _Ledger, point: Point, recipe: EffectiveRecipe, golden: Golden) -> None:
    pins = pins_of(point, recipe)
    if not pins:
        found = f"{point.key} {{at}} drafts with real acceptance: nothing pins {golden.expected}"
        step = "Pin the golden value for the decoding role."
        ledger.findings.add(point, Finding(golden.speculation.decided_by.where, found, golden.expected, step))
        return
    for pin in pins:
        if not same_number(pin.acceptance_length, golden.value, 2):
            counted = "" if same_number(pin.value, pin.acceptance_length, 2) else f", that is {pin.acceptance_length}"
            found = f"{point.key} {{at}} pins {pin.variable}={pin.value}{counted}; {golden.expected}"
            step = f"Pin {golden.value} for {golden.drafted}."
            ledger.findings.add(point, Finding(pin.where, found, golden.expected, step))
    if len({pin.acceptance_length for pin in pins}) > 1:
        values = listed([f"{pin.acceptance_length} ({pin.variable})" for pin in pins])
        found = f"{point.key} {{at}} pins several acceptance lengths: {values}"
        ledger.findings.add(point, Finding(pins[0].where, found, "one value", "Keep the golden value only."))
    text = f"{golden.drafted}; {golden.expected}"
    ledger.said[text] = ledger.said.get(text, 0) + 1


def _eval_recipe(ledger: _Ledger, facts: Facts, point: Point) -> None:
    """An eval recipe of its own must draft for real."""
    head = facts.get(HeadTree)
    if head is None:
        return
    layout = head.tree.layout
    reference = recipe_reference(layout, point.row, evaluation=True)
    if reference is None or reference == recipe_reference(layout, point.row):
        return
    if layout is Layout.AUGUST and head.tree.read(reference[0]) is None:
        reason = f"{reference[0]} is not in the repository: it comes from outside"
        ledger.missing.append(Unverified(f"the eval recipe of {point.key}", reason))
        return
    for candidate in read_recipe(head.tree, *reference):
        for pin in pinned_acceptance(candidate):
            found = f"the eval recipe of {point.key} pins {pin.variable}={pin.value}"
            ledger.findings.add(point, Finding(pin.where, found, "an unpinned eval recipe", f"Remove {pin.variable}."))


def _without_curve(ledger: _Ledger, facts: Facts, point: Point, finding: Finding) -> None:
    """A sign-off that states the source of the value stands in for a curve that is not committed."""
    signed = facts.get(SignOff)
    if "no committed golden curve" in finding.found and signed is not None:
        for line in signed.signed.checklist.detail:
            if _VALUE.search(line.text) and _SOURCE.search(line.text):
                stated = f"no committed curve; the sign-off (line {line.line}) states the source of the value"
                ledger.stated[stated] = None
                ledger.notes.append(finding)
                return
    ledger.findings.add(point, finding)


def _curve_notes(ledger: _Ledger, curves: GoldenCurves) -> None:
    for name in sorted(curves.edited):
        curve = curves.curves[name]
        found = f"the pull request edits the golden curve {name}; the target branch's values decide"
        ledger.notes.append(Finding(curve.where, found, "curves changed on their own", "Land the curve first."))
    for name in _used_from_head(ledger, curves):
        curve = curves.curves[name]
        found = f"the curve {name} is new in this pull request"
        ledger.notes.append(Finding(curve.where, found, "a reviewed curve", "Review the curve's source run as well."))


def _used_from_head(ledger: _Ledger, curves: GoldenCurves) -> Iterator[str]:
    for name in sorted(curves.from_head):
        if any(f"; {name} " in text for text in ledger.said):
            yield name
