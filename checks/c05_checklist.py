"""Purpose: check 5: the sign-off answers the review checklist as it stood when it was signed, for this measurement.

Compared with the template at sign-off time; what the tip of the target branch added since, and open items whose
content another check has settled, are notes. A head that is not the same measurement as the signed commit is a FAIL
that names the files; any other push is a note.

Invariants: the signed commit is the branch head at the signing, from the server's activity list. Where it cannot be
established, the row is "could not be verified".
Source: rules.md 5; design.md 3 and 5; verdicts.md, check 5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.facts.base import Facts
from app.facts.github import PullRequest
from app.facts.other_rows import OtherRows
from app.facts.repository import ChecklistTemplates, HeadTree, OtherTrees
from app.facts.sign_off import SignedComment, SignOff
from app.planner.scope import Scope
from app.target.checklist import Answer, Comparison, Item, compare
from checks.contract import (
    FAIL,
    PASS,
    REGISTER,
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
    failed,
    passed,
)
from checks.sameness import compared, files_of, findings, undecided

NUMBER = 5

RULES = {
    "5.complete": "Every item of the template at sign-off time is ticked, or has its value or a reason.",
    "5.explained": 'An open item is explained in the additional detail section, or begins with "Doesn\'t apply".',
    "5.last-item": "The conditional last item may stay open.",
    "5.newer-item": "An item that the template got after the sign-off is a note.",
    "5.not-applicable": "An open item whose check does not apply is a note.",
    "5.verified": "An open item whose content another check has verified is a note.",
    "5.other-push": "A later push of the same measurement, such as a merge of main or a formatting commit, is a note.",
    "5.missing": "An item of the template at sign-off time is missing, as in an abridged copy.",
    "5.open": "An item is open without an explanation; a malformed box such as `[]` is open.",
    "5.new-head": "The head is not the same measurement as the signed commit.",
    "5.signed-head": "Which commit was signed cannot be established, or somebody else edited the sign-off.",
    "5.template": "The template cannot be read; a template without items is never satisfied.",
}

_PASSES = (
    "5.complete",
    "5.explained",
    "5.last-item",
    "5.newer-item",
    "5.not-applicable",
    "5.verified",
    "5.other-push",
)

HELP = Help(
    rule="The sign-off is a complete copy of the checklist at sign-off time and speaks of the measured head.",
    passes_when=tuple(f"{key}: {RULES[key]}" for key in _PASSES),
    fails_when=tuple(f"{key}: {text}" for key, text in RULES.items() if key not in _PASSES),
    fix="Edit the sign-off comment: copy the current template, tick or explain each item. An edit signs anew.",
    source="review rules, check 5",
)

SUBJECTS: tuple[tuple[int, str], ...] = (
    (12, r"append only"),
    (17, r"dynamo trt|trt llm benchmarks|kv cache metrics|metrics are collected"),
    (14, r"pareto|frontier"),
    (13, r"precision at which|draft precision|nextn_moe|draft (?:model|weights).*precision"),
    (11, r"golden|acceptance length|synthetic acceptance|simulated acceptance"),
    (9, r"chat template"),
    (7, r"models md|deprecated model"),
    (10, r"patch"),
    (8, r"architecture"),
    (3, r"cookbook|recipes? (?:pr|repo)|upstream (?:recipe|pr)|linked the (?:corresponding )?upstream"),
    (6, r"upstream .*(?:image|docker)|docker repo|before (?:those of )?(?:additional|other) frameworks|frameworks"),
    (2, r"evals"),
    (1, r"sweep passed|passed pr validation|passed a sweep"),
    (5, r"latest version of (?:this checklist|pr_review_checklist)|this is the latest version"),
)
"""Which check looks at what an item says, by the words of the item; the first that fits."""

_COMPILED = tuple((number, re.compile(pattern)) for number, pattern in SUBJECTS)


def subject_of(item: Item) -> int | None:
    """The check that an item's words are about, None for items that only a person can answer."""
    return next((number for number, pattern in _COMPILED if pattern.search(item.key)), None)


def applies(_scope: Scope) -> object:
    """always"""
    return True


@check(
    number=NUMBER,
    name="Latest checklist",
    applies=applies,
    needs=(
        Required(SignOff),
        Required(ChecklistTemplates),
        Required(PullRequest),
        Required(HeadTree),
        Optional(OtherTrees),
        Optional(OtherRows),
    ),
    may=(PASS, FAIL),
    help=HELP,
)
def checklist(facts: Facts, scope: Scope) -> CheckResult:
    """Items first, then the commit that was signed."""
    signed = facts[SignOff].signed
    review = _Review.of(signed, facts, scope)
    faults = list(review.faults())
    notes = list(review.notes())
    if signed.signed_head is None:
        missing = Unverified("which commit was signed", f"{signed.why_not}; sign again")
        raise CannotVerify([missing], [*faults, *notes])
    comparison = compared(facts, scope, signed.signed_head, [key.key for key in scope.keys])
    if comparison.differences or comparison.dropped:
        step = "Look at the change and sign again (edit the sign-off), or take the change back."
        signs = f"the head is not the measurement that was signed at {signed.signed_head[:7]}"
        reason = f"{signs}: {files_of(comparison)}"
        return failed(_with_items(reason, faults), [*findings(comparison, step), *faults, *notes])
    if comparison.undecided:
        raise CannotVerify(undecided(comparison), [*faults, *notes])
    if faults:
        return failed(_with_items("", faults), [*faults, *notes])
    pushed = "" if signed.signed_head == facts.head_sha else _pushed(facts, signed.signed_head, comparison.told)
    return passed(f"{review.praise()}{pushed}", notes)


def _with_items(reason: str, faults: list[Finding]) -> str:
    if not faults:
        return reason
    more = f"; and {len(faults) - 1} more" if len(faults) > 1 else ""
    return "; ".join(part for part in (reason, f"{faults[0].found}{more}") if part)


def _pushed(facts: Facts, signed_head: str, told: str) -> str:
    """`; 3 commits since bdfb83f, same measurement (11 points equal)`."""
    shas = [commit.sha for commit in facts[PullRequest].commits]
    count = len(shas) - shas.index(signed_head) - 1 if signed_head in shas else 0
    pushed = f"{count} {'commit' if count == 1 else 'commits'} since" if count else "pushed since"
    return f"; {pushed} {signed_head[:7]}, same measurement ({told})"


@dataclass(frozen=True)
class _Review:
    """The sign-off against the template at sign-off time (`then`) and against the tip (`now`, for notes)."""

    signed: SignedComment
    facts: Facts
    scope: Scope
    then: Comparison
    now: Comparison

    @classmethod
    def of(cls, signed: SignedComment, facts: Facts, scope: Scope) -> _Review:
        templates = facts[ChecklistTemplates]
        then, now = (compare(one, signed.checklist) for one in (templates.at_sign_off, templates.at_tip))
        return cls(signed, facts, scope, then, now)

    def faults(self) -> Iterator[Finding]:
        current = {item.key for item in self.facts[ChecklistTemplates].at_tip.items}
        for item in self.then.missing:
            if not item.conditional and item.key in current and not self._settled(item):
                where = Comment(self.signed.comment.id, self.signed.checklist.trigger_line or 1)
                step = "Edit the sign-off: copy this item from the template and answer it."
                yield Finding(where, f"the item {_quoted(item)} is missing", "every item of the template", step)
        for answer in self.then.unticked:
            if not self._settled(answer.wanted):
                yield self._open(answer)

    def _open(self, answer: Answer) -> Finding:
        box = " (the box is malformed)" if answer.given.malformed else ""
        found = f"the item {_quoted(answer.wanted)} is open without an explanation{box}"
        step = "Edit the sign-off: tick the item, or give the reason in the additional detail section."
        return Finding(Comment(self.signed.comment.id, answer.given.line), found, "a tick or a reason", step)

    def _left_open(self) -> list[Item]:
        """Items without an answer that are settled otherwise."""
        left = (*self.then.missing, *(answer.wanted for answer in self.then.unticked))
        return [item for item in left if not item.conditional and self._settled(item)]

    def notes(self) -> Iterator[Finding]:
        at_signing = {item.key for item in self.facts[ChecklistTemplates].at_sign_off.items}
        for item in self._left_open():
            number = subject_of(item)
            why = "does not apply here" if number is not None and self._inapplicable(number) else "has verified it"
            yield self._note(f"{_quoted(item)} is left open; check {number} {why}")
        for item in self.now.missing:
            if item.key not in at_signing:
                yield self._note(f"{_quoted(item)} was added to the template after the sign-off")
        signed_by = self.signed.checklist.signed_by
        if signed_by is not None and signed_by.lower() != self.signed.login.lower():
            yield self._note(f"signed as {signed_by}, posted by {self.signed.login}")

    def _note(self, found: str) -> Finding:
        where = Comment(self.signed.comment.id, self.signed.checklist.trigger_line or 1)
        return Finding(where, found, "nothing: this is a note", "Nothing to do.")

    def _settled(self, item: Item) -> bool:
        """True where the item's subject does not apply here, or its check has found it in order."""
        number = subject_of(item)
        if number is None or number == NUMBER:
            return number == NUMBER
        rows = self.facts.get(OtherRows)
        return self._inapplicable(number) or (rows is not None and rows.settled(number))

    def _inapplicable(self, number: int) -> bool:
        registered = REGISTER.by_number().get(number)
        if registered is None:
            return False
        try:
            answer = registered.applies(self.scope)
        except CannotVerify:
            return False
        return isinstance(answer, NotApplicable) or not answer

    def praise(self) -> str:
        ticked = sum(1 for answer in self.then.answered if answer.given.ticked)
        total = len(self.then.answered) + len(self.then.missing)
        parts = [f"{len(self.then.explained)} explained"] if self.then.explained else []
        if any(answer.wanted.conditional and not answer.given.ticked for answer in self.then.answered):
            parts.append("the conditional one open")
        noted = len(self._left_open())
        parts += [f"{noted} noted"] if noted else []
        detail = f" ({', '.join(parts)})" if parts else ""
        return f"@{self.signed.login}: {ticked} of {total} items ticked{detail}"


def _quoted(item: Item) -> str:
    words = item.text if len(item.text) <= 60 else item.text[:59] + "…"
    return f'"{words}"'
