"""Purpose: what a job's result must hold before it leaves the runner (workflows.md 6, evidence.md 2.4 and 3.3).

Pure: rows in, the first broken rule out. A gate never changes a row. Scores are compared as given; `>=` passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.launch.errors import LaunchError
from app.launch.row import LaunchRow
from app.launch.site import Gates
from app.results.eval_files import ResultFile, number
from app.results.identity import plain
from app.target.thresholds import Thresholds

SAME_POINT = "Correct the benchmark script: it must write the row of the point that it was given."


def _count(value: object) -> int:
    found = number(value)
    return 0 if found is None else int(found)


def same_point(row: LaunchRow, result: Mapping[str, Any]) -> LaunchError | None:
    """A result must speak of the planned point: prefix, framework, precision, hardware and concurrency."""
    expected = {
        "infmax_model_prefix": row.text("model-prefix"),
        "framework": row.text("framework"),
        "precision": row.text("precision"),
        "hw": row.hardware,
    }
    for name, wanted in expected.items():
        if plain(result.get(name)).removeprefix("cluster:") != plain(wanted):
            message = f"The result has {name} {result.get(name)!r}, the row has {wanted!r}."
            return LaunchError("result-mismatch", message, SAME_POINT)
    if _count(result.get("conc")) not in row.concurrencies:
        message = f"The result has concurrency {result.get('conc')!r}, the row has {list(row.concurrencies)}."
        return LaunchError("result-mismatch", message, SAME_POINT)
    return None


def agentic_gate(result: Mapping[str, Any], gates: Gates) -> LaunchError | None:
    """Errors over completed requests at most the limit; a result without a completed request fails."""
    accounting = result.get("request_accounting")
    counts = accounting if isinstance(accounting, Mapping) else {}
    completed = _count(result.get("num_requests_successful"))
    errors = _count(counts.get("records_error_dropped"))
    if completed <= 0:
        return LaunchError("result-invalid", "No request was completed.", "Read the client's log for the first error.")
    if errors / completed > gates.agentic_error_rate:
        kinds = counts.get("error_categories") or {}
        message = (
            f"{errors} of {completed} requests failed ({errors / completed:.1%}), "
            f"the limit is {gates.agentic_error_rate:.0%}; kinds: {dict(kinds) or 'not given'}."
        )
        return LaunchError("error-rate", message, "Read the client's log for the first error.")
    return None


def fixed_gate(result: Mapping[str, Any], gates: Gates) -> LaunchError | None:
    """The failure rate of a fixed-sequence result at most the limit, where the result says it."""
    outcome = result.get("benchmark_outcome")
    if not isinstance(outcome, Mapping):
        return None
    requested, failed = _count(outcome.get("requested")), _count(outcome.get("failed"))
    if requested <= 0:
        return LaunchError("result-invalid", "No request was made.", "Read the client's log for the first error.")
    if failed / requested > gates.fixed_failure_rate:
        message = f"{failed} of {requested} requests failed, the limit is {gates.fixed_failure_rate:.0%}."
        return LaunchError("error-rate", message, "Read the client's log for the first error.")
    return None


def eval_gate(
    results: Sequence[ResultFile], row: LaunchRow, thresholds: Thresholds, expected: Sequence[int]
) -> LaunchError | None:
    """Every concurrency has sound scores at or above their thresholds. For batched rows names carry `_conc<N>`."""
    again = "Read the eval's log, then run the job again."
    if not results:
        return LaunchError("eval-missing", "The eval left no result file.", again)
    if len(expected) > 1:
        found = [item.concurrency for item in results]
        if sorted(found, key=str) != sorted(expected, key=str):
            message = f"The eval has results for concurrencies {found}, the row has {list(expected)}."
            return LaunchError("eval-missing", message, again)
    for item in results:
        if item.integration_error is not None:
            message = f"{item.path} reports an integration error: {item.integration_error}."
            return LaunchError("eval-missing", message, again)
        if item.problems:
            return LaunchError("eval-missing", f"{item.path}: {item.problems[0]}.", again)
    prefix = row.text("model-prefix")
    for item in results:
        for score in item.scores:
            least = float(thresholds.lookup(prefix, score.task).value)
            for name, value in ((score.name, score.value), ("em_flexible", score.flexible)):
                if value is not None and value < least:
                    message = f"{score.task} {name} is {value:.4f}, the threshold of {prefix} is {least:g}."
                    fix = "Correct the configuration; running it again does not change quality."
                    return LaunchError("eval-scores", message, fix)
    return None
