"""Purpose: eval rows of a planned eval, and what a row's scores say against its bar (check 2).

Source: evidence.md 2.2 to 2.4. Primary score: strict, then accuracy, then flexible, without a fallback where it is not
a number. For tasks with a strict and a flexible score both must reach the bar.

Invariants: numbers are compared as the decimals that they are written as; `>=` passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from app.facts.repository import EvalThresholds
from app.facts.sweep import ResultRow
from app.planner.plan import PlannedRow
from app.results.identity import plain
from app.results.rows import (
    DEFAULT_EVAL_TASK,
    EVAL_SIZES,
    concurrency,
    eval_concurrencies,
    eval_differing,
    planned_fields,
    real,
)
from app.target.thresholds import Threshold

PRIMARY = ("em_strict", "accuracy", "em_flexible")
GATED = ("em_strict", "em_flexible")


@dataclass(frozen=True)
class Score:
    """One eval row, judged. `faults` are (what is wrong, next step)."""

    prefix: str
    task: str
    conc: int
    name: str
    value: object
    error: float | None
    answers: float | None
    bar: Threshold
    raised: bool
    faults: tuple[tuple[str, str], ...]

    @property
    def key(self) -> str:
        return f"{self.task} c{self.conc}"

    @property
    def expected(self) -> str:
        return f"{self.name} >= {bar_text(self.bar)} ({self.bar.origin.value})"

    @property
    def told(self) -> str:
        """`gsm8k em_strict 0.9757 (±0.0042, n=1319) >= 0.90 (default) at c32`."""
        error = f"±{self.error:g}, " if self.error is not None else ""
        answers = f"n={int(self.answers)}" if self.answers is not None else "n unknown"
        origin = f"{self.bar.origin.value}, raised by this pull request" if self.raised else self.bar.origin.value
        diagnostic = ", diagnostic" if self.bar.value == 0 else ""
        shown = f"{self.task} {self.name} {self.value} ({error}{answers})"
        return f"{shown} >= {bar_text(self.bar)} ({origin}{diagnostic}) at c{self.conc}"


def bar_text(bar: Threshold) -> str:
    """At least two decimals, as people write accuracies: 0.90."""
    return f"{bar.value:.2f}" if -int(bar.value.as_tuple().exponent) < 2 else str(bar.value)


def eval_rows_of(row: PlannedRow, measured: Iterable[ResultRow]) -> Iterator[tuple[int, list[ResultRow]]]:
    """(concurrency, its rows) of a planned eval; a plain eval is GSM8K, a vendor suite is known by its name."""
    fields = planned_fields(row.row)
    suite = plain(row.row.get("eval-suite"))
    mine = [one for one in measured if not eval_differing(fields, one.data) and _of_suite(one, suite)]
    for conc in eval_concurrencies(row.row):
        yield conc, [one for one in mine if concurrency(one.data) == conc]


def _of_suite(one: ResultRow, suite: str) -> bool:
    task, named = plain(one.data.get("task")), plain(one.data.get("eval_suite"))
    if suite:
        return suite in (named, task)
    return task == DEFAULT_EVAL_TASK and not named


def score_of(row: PlannedRow, one: ResultRow, bars: EvalThresholds) -> Score:
    """Judge one row."""
    data = one.data
    prefix, task = str(row.row["model-prefix"]), str(data.get("task"))
    bar, raised = bar_for(bars, prefix, task)
    name = next((field for field in PRIMARY if data.get(field) is not None), str(data.get("score_name") or "score"))
    value = data.get(name, data.get("score"))
    error = real(data.get(f"{name}_se", data.get("score_se")))
    answers = real(data.get("n_eff"))
    faults = [*_health(one), *_score_faults(one, name, value, bar), *_answer_faults(task, answers)]
    return Score(prefix, task, concurrency(data) or 0, name, value, error, answers, bar, raised, tuple(faults))


def bar_for(bars: EvalThresholds, prefix: str, task: str) -> tuple[Threshold, bool]:
    """(the bar, whether the head raised it): the target's, unless the head's is higher."""
    mine = bars.target.lookup(prefix, task)
    theirs = bars.head.lookup(prefix, task) if bars.head is not None else mine
    return (theirs, True) if theirs.value > mine.value else (mine, False)


def _health(one: ResultRow) -> Iterator[tuple[str, str]]:
    step = "Read the eval job's log, mend the cause and run it again."
    if one.data.get("integration_error") is not None:
        yield "the harness reports an integration error", step
    elif one.data.get("infrastructure_success") is not True:
        yield "the harness reports a failed run (infrastructure_success)", step


def _score_faults(one: ResultRow, name: str, value: object, bar: Threshold) -> Iterator[tuple[str, str]]:
    number = real(value)
    if number is None or not 0 <= number <= 1:
        yield f"{name} is {value!r}, no number from 0 to 1", "Run the eval again."
        return
    for field in dict.fromkeys((name, *(gated for gated in GATED if one.data.get(gated) is not None))):
        gated = real(one.data.get(field, value))
        if gated is not None and Decimal(str(gated)) < bar.value:
            told = f"{field} {gated:g} < {bar_text(bar)} ({bar.origin.value})"
            yield told, "Find what lowers the accuracy; the bar stays."


def _answer_faults(task: str, answers: float | None) -> Iterator[tuple[str, str]]:
    if answers is None or answers <= 0:
        yield "no effective answers (n_eff)", "Run the eval again."
        return
    complete = EVAL_SIZES.get(task)
    if complete is not None and answers < complete:
        yield f"n={int(answers)} of {complete}: only a part of the task", "Run the whole task."
