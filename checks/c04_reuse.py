"""Purpose: check 4 (advisory): a reuse command pins a run whose results a merge can publish.

The newest authorised command by creation counts; who signs and who commands may differ. It may WARN and never FAIL: a
command that comes after the sign-off is as good, and the verdict is made anew when it comes.

Invariants: a run under a modifier that blocks reuse, an expired or foreign run is told. The pinned source must be the
same measurement as the head; where it is not, the row says which files it does not cover.
Source: workflows.md 3.2 and its last section; verdicts.md, check 4.
"""

from __future__ import annotations

from app.facts.base import Facts, Missing
from app.facts.evidence_run import NO_RUN, measured_commit
from app.facts.github import Comments, LabelTimeline, Permissions, PullRequest
from app.facts.pins import NoPin, Pin, Pins, reuse_pins
from app.facts.repository import HeadTree, OtherTrees
from app.facts.sweep import Artifacts, ChangelogMetadata, EvidenceRun
from app.planner.scope import Scope
from checks.applying import NOTHING_AFFECTED, found_or, listed, removal_only
from checks.contract import (
    NA,
    PASS,
    WARN,
    CannotVerify,
    CheckResult,
    Comment,
    Finding,
    Help,
    NotApplicable,
    Optional,
    Required,
    Unverified,
    check,
    passed,
    warned,
)
from checks.run_labels import blocking_labels
from checks.sameness import compared, files_of, undecided

PUBLISHED = ("results_bmk", "eval_results_all")

RULES = {
    "4.pinned": "An authorised `/use <run id>` pins a run that can be published.",
    "4.bare": "An authorised `/reuse-sweep-run` without a number takes the newest successful run.",
    "4.newest": "The newest command wins, across both names; the older ones are superseded.",
    "4.other-person": "Signer and commander may be different people.",
    "4.none": "No reuse command is posted.",
    "4.denied": "The command's author is not authorised.",
    "4.malformed": "The command is malformed, such as a bare `/use` or text after the number.",
    "4.source": "The pinned run is not a run of this pull request that can be evidence.",
    "4.running": "The pinned run has not ended.",
    "4.modifier": "A modifier that blocks reuse is on the pull request, or was when the run was made.",
    "4.expired": "The run has no result artifact that is still there.",
    "4.other-measurement": "The pinned run is not the same measurement as the head.",
}

_PASSES = ("4.pinned", "4.bare", "4.newest", "4.other-person")

HELP = Help(
    rule="A reuse command by an authorised person names the run whose results the merge publishes (advisory).",
    passes_when=tuple(f"{key}: {RULES[key]}" for key in _PASSES),
    fails_when=tuple(f"{key}: {text}" for key, text in RULES.items() if key not in _PASSES),
    fix="Comment `/use <run id>` on a line of its own.",
    source="review rules, check 4",
)


def applies(scope: Scope) -> object | NotApplicable:
    """a benchmark point is affected, and not only by removals"""
    return found_or(scope, [key for key in scope.keys if not removal_only(key)], NOTHING_AFFECTED)


@check(
    number=4,
    name="Reuse command",
    applies=applies,
    needs=(
        Required(Comments),
        Required(Permissions),
        Required(PullRequest),
        Optional(EvidenceRun),
        Optional(LabelTimeline),
        Optional(Artifacts),
        Optional(ChangelogMetadata),
        Optional(HeadTree),
        Optional(OtherTrees),
    ),
    may=(PASS, WARN, NA),
    help=HELP,
)
def reuse(facts: Facts, scope: Scope) -> CheckResult:
    """The live pin and what speaks against its run."""
    pins = reuse_pins(facts[Comments].all, facts[Permissions], facts.policy.commands)
    if pins.undecided:
        missing = [Unverified(f"comment {one.comment.id}", one.reason) for one in pins.undecided]
        raise CannotVerify(missing)
    if pins.live is None:
        return _no_pin(pins)
    problem = _problem(pins.live, facts, scope)
    where = Comment(pins.live.comment.id, pins.live.line)
    if problem:
        found, step = problem
        reason = f"{pins.live.text} by @{pins.live.comment.author.login}: {found}"
        return warned(reason, [Finding(where, found, "a run that the merge can publish", step)])
    return passed(_praise(pins, facts), [_ignored(one) for one in pins.refused])


def _no_pin(pins: Pins) -> CheckResult:
    step = "Comment `/use <run id>` on a line of its own, by someone with write permission."
    if not pins.refused:
        return warned("no reuse command is posted; comment `/use <run id>` before the merge")
    first = pins.refused[0]
    reason = f"no reuse command counts: {first.reason}"
    return warned(reason, [Finding(Comment(one.comment.id, one.line), one.reason, step, step) for one in pins.refused])


def _ignored(one: NoPin) -> Finding:
    where = Comment(one.comment.id, one.line)
    return Finding(where, f"a later command does not count: {one.reason}", "an authorised command", "Nothing to do.")


def _problem(pin: Pin, facts: Facts, scope: Scope) -> tuple[str, str] | None:
    """(what is wrong, next step), None where the merge can publish the run."""
    blocking = frozenset(facts.policy.sweep.not_reusable)
    on_it = blocking & frozenset(facts[PullRequest].record.labels)
    if on_it:
        return f"label {listed(sorted(on_it))} blocks reuse", "Remove the label, or let a full sweep run."
    state = facts.state(EvidenceRun)
    if isinstance(state, Missing) and state.reason.startswith(NO_RUN):
        return state.reason, "Let a sweep run, then pin it."
    evidence = facts[EvidenceRun]
    if pin.run_id is not None and pin.run_id != evidence.run.id:
        why = next((reason for run, reason in evidence.candidates if run.id == pin.run_id), "")
        told = why or "it is not among the sweep runs of this pull request"
        return f"run {pin.run_id} cannot be used: {told}", "Pin a completed sweep run of this pull request."
    if pin.run_id is None and evidence.run.conclusion != "success":
        return "no successful run to take", "Let a sweep pass, or pin a run by its number."
    if evidence.run.status != "completed":
        return f"run {evidence.run.id} is {evidence.run.status}", "Wait for its end."
    then = blocking_labels(facts, evidence.run)
    if then:
        return f"run {evidence.run.id} was made under {listed(sorted(then))}", "Pin a full sweep run."
    return _no_artifact(facts, evidence.run.id) or _other_measurement(facts, scope, evidence)


def _no_artifact(facts: Facts, run: int) -> tuple[str, str] | None:
    artifacts = facts.state(Artifacts)
    if isinstance(artifacts, Missing):
        raise CannotVerify([Unverified(f"the artifacts of run {run}", artifacts.reason)])
    live = [
        artifact
        for artifact in artifacts.all
        if artifact.run_id == run
        and not artifact.expired
        and (artifact.name in PUBLISHED or artifact.name.startswith("bmk_agentic_"))
    ]
    return None if live else (f"run {run} has no result artifact that is still there", "Let a new sweep run.")


def _other_measurement(facts: Facts, scope: Scope, evidence: EvidenceRun) -> tuple[str, str] | None:
    metadata = facts.get(ChangelogMetadata)
    sha = measured_commit(evidence.run, metadata.data if metadata else None)
    if sha is None:
        raise CannotVerify([Unverified(f"run {evidence.run.id}", "its changelog-metadata names no commit")])
    comparison = compared(facts, scope, sha, [key.key for key in scope.keys])
    if comparison.differences:
        step = "Remove and re-add the sweep label to measure them, then pin the new run."
        return f"run {evidence.run.id} does not cover {files_of(comparison)}", step
    if comparison.undecided:
        raise CannotVerify(undecided(comparison))
    return None


def _praise(pins: Pins, facts: Facts) -> str:
    pin, run = pins.live, facts[EvidenceRun].run
    if pin is None:
        return ""
    login, association = pin.comment.author.login, pin.comment.association
    permission = facts[Permissions].of(login)
    may = f", {permission.permission}" if permission else ""
    text = f"{pin.text} by @{login} ({association}{may})"
    if pin.run_id is None:
        text += f" takes run {run.id}"
    if pins.superseded:
        text += f", newest of {len(pins.superseded) + 1}"
    return text
