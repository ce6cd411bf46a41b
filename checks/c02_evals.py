"""Purpose: check 2: every planned eval has a row above its bar, complete, and from the image that is submitted.

The bar is the target branch's: the model's own value, else the task's default, else 0.85; the head may raise it. The
aggregate row has no image, so the image comes from the eval job's log, else from the benchmark rows of the run.

Invariants: a collector's green proves nothing, only rows do. A vendor suite with bar 0.0 is diagnostic: only its
completion counts. An eval recipe may differ from the throughput recipe in name and acceptance settings alone.
Source: rules.md 2; evidence.md 2; verdicts.md, check 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from app.facts.base import Facts, Missing
from app.facts.evidence_run import NO_RUN
from app.facts.repository import EvalThresholds, HeadTree
from app.facts.sweep import BenchmarkRows, EvalRows, EvidenceRun, JobLogs, PlanRows
from app.planner.plan import PlannedRow
from app.planner.points import FIXED
from app.planner.scope import Scope
from checks.applying import NOTHING_AFFECTED, found_or, listed, removal_only
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
    Row,
    Unverified,
    check,
    failed,
    not_applicable,
    passed,
)
from checks.coverage import label_of
from checks.eval_images import ImageEvidence
from checks.eval_recipes import eval_recipe_faults
from checks.eval_scores import Score, eval_rows_of, score_of

RULES = {
    "2.above": "Every planned eval has a row whose scores reach their bar (strict and flexible alike).",
    "2.bar": "The bar is the model's own, else the task's default, else 0.85, by exact prefix; its origin is told.",
    "2.raised": "The head may raise a bar or add one; it may not lower one.",
    "2.vendor": "A vendor suite with bar 0.0 is diagnostic: its completion counts.",
    "2.batched": "A batched eval has a row for each of its concurrencies.",
    "2.no-eval": "Where no eval is planned (other lengths than 8k1k, concurrencies below 16, append-only) it is N/A.",
    "2.image": "The eval ran the submitted image, by its job log or the benchmark rows of the run.",
    "2.missing": "A planned eval has no row: skipped, empty, or never run.",
    "2.below": "A score is below its bar.",
    "2.infrastructure": "The row says that the harness failed (infrastructure_success, integration_error).",
    "2.no-score": "The primary score is no number from 0 to 1.",
    "2.no-answers": "The effective number of answers is missing or 0.",
    "2.partial": "The eval covers only a part of the task.",
    "2.other-image": "The eval ran another image than the submitted one.",
    "2.ambiguous-image": "Master and recipe name different images.",
    "2.no-evals-entry": "The changelog entry sets no-evals: the run is throughput evidence only.",
    "2.eval-recipe": "The eval recipe differs from the throughput recipe in more than name and acceptance settings.",
    "2.lowered-bar": "An edit of the pull request that lowers a bar does not count.",
}

_PASSES = ("2.above", "2.bar", "2.raised", "2.vendor", "2.batched", "2.no-eval", "2.image")

HELP = Help(
    rule="Every planned eval of the evidence run is complete, above its bar, and of the submitted image.",
    passes_when=tuple(f"{key}: {RULES[key]}" for key in _PASSES),
    fails_when=tuple(f"{key}: {text}" for key, text in RULES.items() if key not in _PASSES),
    fix="Let the eval run again on the submitted image; do not lower the bar.",
    source="review rules, check 2",
)


def applies(scope: Scope) -> object | NotApplicable:
    """a benchmark point is affected, not only by removals and not by append-only entries alone"""
    if scope.entries and all(entry.append_only for entry in scope.entries):
        return NotApplicable("append-only: no eval is planned")
    return found_or(scope, [key for key in scope.keys if not removal_only(key)], NOTHING_AFFECTED)


@check(
    number=2,
    name="Evals",
    applies=applies,
    needs=(
        Required(EvalThresholds),
        Required(PlanRows),
        Required(HeadTree),
        Optional(EvidenceRun),
        Optional(EvalRows),
        Optional(BenchmarkRows),
        Optional(JobLogs),
    ),
    may=(PASS, FAIL, NA),
    help=HELP,
)
def evals(facts: Facts, scope: Scope) -> CheckResult:
    """Row by row of the plan's evals."""
    skipping = [entry for entry in scope.entries if entry.no_evals]
    if skipping:
        step = "Take no-evals out of the entry and let the evals run."
        reason = "the changelog entry sets no-evals: this run is throughput evidence only"
        return failed(
            reason, [Finding(entry.where, "no-evals: true", "evals of the change", step) for entry in skipping]
        )
    planned = [row for row in facts[PlanRows].plan.rows if row.is_eval]
    if not planned:
        return not_applicable(_why_none(scope))
    run = _run(facts)
    if isinstance(run, CheckResult):
        return run
    scores, faults = _scores(planned, facts, run)
    faults += list(_recipe_faults(planned, facts))
    images = ImageEvidence(scope, facts.get(JobLogs), facts.get(BenchmarkRows), facts.policy.engines.image_aliases, run)
    faults += images.faults(planned)
    notes = _lowered(facts[EvalThresholds], scores)
    if faults:
        more = f"; and {len(faults) - 1} more" if len(faults) > 1 else ""
        return failed(f"{faults[0].found} on run {run}{more}", [*faults, *notes])
    unseen = images.unseen(planned)
    if unseen:
        raise CannotVerify(unseen, notes)
    return passed(f"{'; '.join(_told(scores))} on run {run}{images.told}", notes)


def _why_none(scope: Scope) -> str:
    if all(point.scenario == FIXED for point in scope.points):
        return "no eval is planned: only 8k1k points of concurrency 16 and more are evaluated"
    return "no eval is planned for the affected points"


def _run(facts: Facts) -> int | CheckResult:
    state = facts.state(EvidenceRun)
    if not isinstance(state, Missing):
        return state.run.id
    if not state.reason.startswith(NO_RUN):
        raise CannotVerify([Unverified(state.source, state.reason)])
    step = "Put one sweep label on the pull request and wait for the run."
    reason = f"no eval ran: {state.reason}"
    return failed(reason, [Finding(Job(0, "eval"), state.reason, "an executed eval job", step)])


def _scores(planned: Iterable[PlannedRow], facts: Facts, run: int) -> tuple[list[Score], list[Finding]]:
    """Scores of every planned eval, and what is wrong with them or missing."""
    measured, bars = facts[EvalRows], facts[EvalThresholds]
    scores: list[Score] = []
    faults: list[Finding] = []
    for row in planned:
        for conc, found in eval_rows_of(row, measured.rows):
            if not found:
                why = f"eval c{conc} of {row.config_key} has no row"
                problem = f" ({measured.problems[0]})" if measured.problems else ""
                step = "Let this eval run again."
                faults.append(Finding(Job(run, label_of(row)), f"{why}{problem}", "an eval row", step))
            for one in found:
                score = score_of(row, one, bars)
                scores.append(score)
                faults += [
                    Finding(Row(one.artifact, score.key), f"{score.key}: {fault}", score.expected, step)
                    for fault, step in score.faults
                ]
    return scores, faults


def _recipe_faults(planned: Iterable[PlannedRow], facts: Facts) -> Iterator[Finding]:
    step = "Let the eval recipe differ from the throughput recipe only in its name and acceptance settings."
    for where, found in eval_recipe_faults(planned, facts[HeadTree].tree):
        yield Finding(where, found, "the throughput recipe's settings", step)


def _lowered(bars: EvalThresholds, scores: Iterable[Score]) -> list[Finding]:
    """Bars that the head would lower: the target's decided."""
    notes = []
    for prefix, task in dict.fromkeys((score.prefix, score.task) for score in scores):
        mine = bars.target.lookup(prefix, task)
        theirs = bars.head.lookup(prefix, task) if bars.head else mine
        if theirs.value < mine.value:
            found = f"the pull request lowers the {task} bar of {prefix} from {mine.value} to {theirs.value}"
            notes.append(Finding(theirs.where, found, "the target's bar decides", "Take the edit of the bar back."))
    return notes


def _told(scores: list[Score]) -> list[str]:
    told = [score.told for score in scores]
    return (
        told if len(told) <= 4 else [*told[:3], f"and {len(told) - 3} more: {listed([s.key for s in scores[3:]], 6)}"]
    )
