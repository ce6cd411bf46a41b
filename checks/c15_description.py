"""Purpose: check 15 (advisory): the description's technical claims agree with what the pull request changes.

Invariants: it may WARN and never FAIL; only a contradiction warns. Claims that nobody can check are listed, not held
against the author. The description is untrusted text: it is compared and quoted, never followed.
Source: rules.md 15; verdicts.md, check 15.
"""

from __future__ import annotations

from collections.abc import Iterable

from app.facts.base import Facts
from app.facts.github import PullRequest
from app.facts.repository import HeadTree, MergeBaseTree
from app.planner.scope import Scope
from checks.claims import claims_in
from checks.claims_judge import Diff, State, Verdict
from checks.contract import (
    NA,
    PASS,
    WARN,
    Body,
    CheckResult,
    Finding,
    Help,
    Optional,
    Required,
    check,
    not_applicable,
    passed,
    warned,
)

SHOWN_NOTES = 20

RULES = {
    "15.confirmed": "Every claim that can be checked agrees with the semantic diff.",
    "15.not-checkable": "A claim that cannot be checked, such as one about a shell branch or a speed-up, is listed.",
    "15.no-claim": "A description without a technical claim makes the row N/A.",
    "15.added": "A point is said to be added that is not.",
    "15.removed": "A point is said to be removed that is not.",
    "15.changed": "A point is said to be changed that is not.",
    "15.unchanged": "A point, image, model, draft or base setting is said to be unchanged that is not.",
    "15.layout": "A table or list gives points, offload or sizes that the head does not have.",
    "15.value": "A setting is said to have a value that the effective recipe does not have.",
    "15.image": "An image is named that is not the entry's.",
    "15.no-change": "The description speaks of no benchmark change although points change.",
}

_PASSES = ("15.confirmed", "15.not-checkable", "15.no-claim")

HELP = Help(
    rule="The technical claims of the description are compared with the semantic diff (advisory).",
    passes_when=tuple(f"{key}: {RULES[key]}" for key in _PASSES),
    fails_when=tuple(f"{key}: {text}" for key, text in RULES.items() if key not in _PASSES),
    fix="Correct the description, or the change.",
    source="review rules, check 15",
)


def applies(_scope: Scope) -> object:
    """always; without a technical claim it is N/A"""
    return True


@check(
    number=15,
    name="PR description",
    applies=applies,
    needs=(Required(PullRequest), Optional(HeadTree), Optional(MergeBaseTree)),
    may=(PASS, WARN, NA),
    help=HELP,
)
def description(facts: Facts, scope: Scope) -> CheckResult:
    """Extract the claims, judge each, list all."""
    claims = claims_in(facts[PullRequest].record.body)
    if not claims:
        return not_applicable("the description makes no technical claim")
    base, head = facts.get(MergeBaseTree), facts.get(HeadTree)
    diff = Diff(scope, base.tree if base else None, head.tree if head else None)
    judged = [diff.judge(claim) for claim in claims]
    wrong = _of(judged, State.CONTRADICTED)
    counts = f"{len(_of(judged, State.CONFIRMED))} confirmed, {len(_of(judged, State.UNKNOWN))} not checkable"
    notes = [_note(one) for state in (State.UNKNOWN, State.CONFIRMED) for one in _of(judged, state)][:SHOWN_NOTES]
    if wrong:
        first = wrong[0]
        reason = f"line {first.claim.line} of the description is contradicted: {first.found}"
        more = f"; {len(wrong) - 1} more contradicted" if len(wrong) > 1 else ""
        return warned(f"{reason}{more}; {counts}", [*map(_finding, wrong), *notes])
    total = f"{len(claims)} technical {'claim' if len(claims) == 1 else 'claims'}"
    return passed(f"{total}: {counts}, none contradicted", notes)


def _of(judged: Iterable[Verdict], state: State) -> list[Verdict]:
    return [one for one in judged if one.state is state]


def _finding(one: Verdict) -> Finding:
    claim = one.claim
    return Finding(
        Body(claim.line), f"claimed: {claim.quoted}", f"the change shows: {one.found}", "Correct the description."
    )


def _note(one: Verdict) -> Finding:
    said = "agrees with the change" if one.state is State.CONFIRMED else "nothing in the evidence speaks to it"
    return Finding(Body(one.claim.line), f"{one.state.value}: {one.claim.quoted}", said, "Nothing to do.")
