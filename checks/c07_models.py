"""Purpose: check 7: no retired model, deprecated scenario, precision or arm is submitted, by MODELS.md.

Dates: a notice's date is the last allowed day, so the review date decides; a coming deadline is told. Cells speak of
arms ("non-DSpark"), so the effective draft of each point counts, not the master's label.

Invariants: MODELS.md of the target branch decides; the head counts only for a prefix without a row there (a new
model). Prose that names a scenario neither as active nor as deprecated is for a person: "could not be verified".
Source: rules.md 7; formats.md 8; evidence.md 11.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from app.facts.base import Facts
from app.facts.repository import Models
from app.planner.points import Point
from app.planner.scope import AffectedKey, Scope
from app.target.models_md import ModelsTable, ModelStatus, scenario_key
from app.target.recipe import EffectiveRecipe
from app.target.source import FileLine, RejectedInput
from app.target.speculation import speculation_of
from checks.applying import found_or, listed
from checks.contract import (
    FAIL,
    NA,
    PASS,
    CannotVerify,
    CheckResult,
    Finding,
    Help,
    NotApplicable,
    Required,
    Unverified,
    check,
    failed,
    passed,
)

RULES = {
    "7.active": "The model's row names the scenario as active on the review date.",
    "7.deadline": "A deprecation whose last allowed day has not passed is told, not failed.",
    "7.pending": "What is announced but not yet enacted, or an arm that another one replaces later, bans nothing.",
    "7.new-model": "A prefix without a row at the target may bring its row in the same pull request.",
    "7.arm": "A cell that names an arm, such as non-DSpark, bans only points without that draft.",
    "7.retired": "A retired model is submitted.",
    "7.scenario": "A scenario that is deprecated for all models, or for this one, is submitted.",
    "7.precision": "A precision that is deprecated for the model is submitted.",
    "7.day-zero": "An arm that is deprecated from day 0 is submitted.",
    "7.in-effect": "A point whose effective draft length is 0 is the arm without a draft, whatever its label says.",
    "7.no-row": "The prefix has no row and the pull request adds none.",
    "7.own-edit": "An edit of an existing row in the pull request does not count.",
}

DRAFTS = ("mtp", "eagle3", "dspark", "dflash")
"""Methods that MODELS.md tells apart; a point whose draft is unknown may use any of them."""

_PASSES = ("7.active", "7.deadline", "7.pending", "7.new-model", "7.arm")

HELP = Help(
    rule="Every added, changed or re-enabled point is active by MODELS.md of the target branch on the review date.",
    passes_when=tuple(f"{key}: {RULES[key]}" for key in _PASSES),
    fails_when=tuple(f"{key}: {text}" for key, text in RULES.items() if key not in _PASSES),
    fix="Submit an active scenario, or ask a core maintainer to change MODELS.md first.",
    source="review rules, check 7",
)


def applies(scope: Scope) -> object | NotApplicable:
    """a benchmark point is added, changed or re-enabled"""
    return found_or(scope, [key for key in scope.keys if _judged(key)], "no benchmark point is added or changed")


def _judged(key: AffectedKey) -> tuple[Point, ...]:
    """Points that the pull request submits."""
    return key.submitted


@check(
    number=7,
    name="Deprecated models",
    applies=applies,
    needs=(Required(Models),),
    may=(PASS, FAIL, NA),
    help=HELP,
)
def deprecated_models(facts: Facts, scope: Scope) -> CheckResult:
    """One judgement for each model, scenario, precision and draft."""
    judgements = [_judge(case, facts[Models], facts.review_date) for case in _cases(scope)]
    notes = _own_edits(facts[Models], {case.prefix for case in _cases(scope)})
    bad = [judged for judged in judgements if judged.status.allowed is False]
    if bad:
        reason = "; ".join(dict.fromkeys(judged.status.reason for judged in bad))
        return failed(f"{reason} (reviewed {facts.review_date})", [*(_finding(judged) for judged in bad), *notes])
    unread = [judged for judged in judgements if judged.status.allowed is None]
    if unread:
        missing = [Unverified(str(judged.status.where), judged.status.reason) for judged in unread]
        raise CannotVerify(dict.fromkeys(missing), notes)
    return passed(f"{_praise(judgements, facts.review_date)}", notes)


@dataclass(frozen=True)
class _Case:
    """Points of one key that MODELS.md cannot tell apart. `drafting` None: not known from the recipe."""

    prefix: str
    scenario: str
    precision: str
    drafting: bool | None
    method: str | None
    points: tuple[Point, ...]

    @property
    def label(self) -> str:
        return f"{self.points[0].key} {listed([point.label for point in self.points], 4)}"


@dataclass(frozen=True)
class _Judged:
    case: _Case
    status: ModelStatus
    from_head: bool = False


def _cases(scope: Scope) -> list[_Case]:
    groups: dict[tuple[str, str, str, str, bool | None, str | None], list[Point]] = {}
    for key in scope.keys:
        for point in _judged(key):
            drafting, method = _draft_of(point)
            row = point.row
            scenario = scenario_key(point.scenario, row.get("isl"), row.get("osl"))
            name = (key.key, str(row["model-prefix"]), scenario, str(row["precision"]), drafting, method)
            groups.setdefault(name, []).append(point)
    return [_Case(*name[1:], tuple(points)) for name, points in groups.items()]


def _draft_of(point: Point) -> tuple[bool | None, str | None]:
    """(drafting, method) of a point by its recipe; unknown where no recipe is bound, unless the label says none."""
    if isinstance(point.recipe, EffectiveRecipe):
        try:
            speculation = speculation_of(point.recipe)
        except RejectedInput:
            return None, None
        return speculation is not None, speculation.method if speculation else None
    return (None, None) if point.speculative else (False, None)


def _judge(case: _Case, models: Models, day: date) -> _Judged:
    if models.target.row(case.prefix) is not None or models.head is None:
        return _Judged(case, _status(models.target, case, day))
    everywhere = _deprecated_for_all(models.target, case.scenario, day)
    if everywhere is not None:
        return _Judged(case, everywhere)
    return _Judged(case, _status(models.head, case, day), from_head=True)


def _status(table: ModelsTable, case: _Case, day: date) -> ModelStatus:
    """The table's answer; where the draft is unknown, the answers for every draft and for none must agree."""

    def ask(drafting: bool, method: str | None) -> ModelStatus:
        return table.status(
            case.prefix, case.scenario, precision=case.precision, drafting=drafting, method=method, date=day
        )

    if case.drafting is not None:
        answer = ask(case.drafting, case.method)
    else:
        answers = [*(ask(True, method) for method in DRAFTS), ask(False, None)]
        answer = answers[0]
        if any(other.allowed is not answer.allowed for other in answers):
            reason = f"{case.label}: the effective draft is not known, and MODELS.md tells the arms apart"
            return ModelStatus(None, reason, answer.where)
    if not answer.found:
        return ModelStatus(False, answer.reason, answer.where, found=False)
    return answer


def _deprecated_for_all(table: ModelsTable, scenario: str, day: date) -> ModelStatus | None:
    for row in table.scenarios:
        if row.key == scenario and row.deprecated and (row.since is None or day >= row.since):
            since = f" since {row.since}" if row.since else ""
            return ModelStatus(False, f"{row.name} is deprecated for all models{since}", row.where)
    return None


def _finding(judged: _Judged) -> Finding:
    case, status = judged.case, judged.status
    found = f"{case.label} submits {case.prefix} {case.scenario} {case.precision}, draft {case.method or 'none'}"
    if not status.found:
        step = "Add a row for the prefix to MODELS.md in this pull request."
        return Finding(status.where, found, "a row that names the prefix", step)
    step = "Take these points out, or ask a core maintainer to change MODELS.md on the target branch."
    return Finding(status.where, f"{found}; {status.reason}", "an active scenario on the review date", step)


def _own_edits(models: Models, prefixes: set[str]) -> list[Finding]:
    """Rows that the head changes although the target has them: the target's version decided."""
    if models.head is None:
        return []
    notes = []
    for prefix in sorted(prefixes):
        mine, theirs = models.target.row(prefix), models.head.row(prefix)
        if mine is None or theirs is None:
            continue
        if (mine.active, mine.deprecated) != (theirs.active, theirs.deprecated):
            step = "Have this edit reviewed by core; it counts after it is merged."
            found = f"the pull request edits the row of {prefix}"
            notes.append(Finding(theirs.where, found, "the row at the target branch decides", step))
    return notes


def _praise(judgements: list[_Judged], day: date) -> str:
    parts = []
    for judged in judgements:
        status, case = judged.status, judged.case
        text = f"{case.prefix} {case.scenario} is active on {day}"
        if status.deadline is not None:
            left = (status.deadline - day).days
            text += f", last allowed day {status.deadline} ({left} {'day' if left == 1 else 'days'} left)"
        place = "row added by this pull request" if judged.from_head else f"{_place(status.where)}"
        parts.append(f"{text} ({place})")
    return "; ".join(dict.fromkeys(parts))


def _place(where: FileLine) -> str:
    return f"{where.path.rsplit('/', 1)[-1]}:{where.line}"


def deadlines(facts: Facts, scope: Scope) -> tuple[tuple[date, str], ...]:
    """(last allowed day, model and scenario) that lie ahead, soonest first; on the day after, the row may turn."""
    models = facts.get(Models)
    if models is None:
        return ()
    found: set[tuple[date, str]] = set()
    for case in _cases(scope):
        deadline = _judge(case, models, facts.review_date).status.deadline
        if deadline is not None and deadline >= facts.review_date:
            found.add((deadline, f"{case.prefix} {case.scenario}"))
    return tuple(sorted(found))
