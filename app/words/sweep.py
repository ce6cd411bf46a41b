"""Purpose: the words of a sweep run's own summary: what was measured, which jobs failed and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.words.escape import code

NOTHING = "Nothing was measured. Read the first failed job, or add the label again."


def curves_table(curves: Sequence[Mapping[str, Any]]) -> str:
    """A table of curves: key, measured points, points on the frontier."""
    lines = ["| Curve | Measured | On the frontier |", "|---|---|---|"]
    lines += [f"| {code(curve['key'])} | {curve['measured_points']} | {curve['frontier_points']} |" for curve in curves]
    return "\n".join(lines) + "\n"


def points_table(points: Iterable[tuple[str, str, float, float, bool]]) -> str:
    """A table of points: (curve, label, seconds, tokens/s per GPU, on the frontier)."""
    lines = ["| Point | E2EL s | tokens/s/GPU | Frontier |", "|---|---|---|---|"]
    for curve, label, seconds, rate, best in points:
        lines.append(f"| {code(f'{curve} {label}')} | {seconds:.3f} | {rate:.1f} | {'yes' if best else ''} |")
    return "\n".join(lines) + "\n"


def evals_table(rows: Iterable[Mapping[str, Any]]) -> str:
    """A table of eval rows: task, concurrency, score, samples."""
    lines = ["| Eval | Concurrency | Score | n |", "|---|---|---|---|"]
    for row in rows:
        score = row.get("score")
        shown = f"{score:.4f}" if isinstance(score, float) else "none"
        lines.append(f"| {code(str(row.get('task')))} | {row.get('conc')} | {shown} | {row.get('n_eff')} |")
    return "\n".join(lines) + "\n"


def failure(told: Mapping[str, Any]) -> str:
    """One failed job: layer, quoted line, remedy."""
    where = told["where"]
    place = f"{where['log']}:{where['line']}" if where["line"] else str(where["log"] or "no log")
    quoted = f" {code(told['quoted'])}" if told["quoted"] else ""
    return f"- {code(told['job'])} failed in layer **{told['layer']}** ({code(place)}):{quoted} {told['remedy']}\n"


def retry(told: Mapping[str, Any]) -> str:
    """What `/retry-failed` would do."""
    if told["problem"]:
        return f"{told['problem']}\n"
    return f"Comment `/retry-failed` to run {len(told['again'])} failed jobs again.\n"


def plan_title(points: int, evals: int, gpus: int, hours: float, labels: Sequence[str]) -> tuple[str, str]:
    """Title and summary of a plan that is shown before it runs."""
    count = f"{points} point{'' if points == 1 else 's'} and {evals} eval{'' if evals == 1 else 's'}"
    title = f"{count}, about {hours:.0f} GPU-hours"
    asked = " + ".join(code(label) for label in labels)
    summary = f"Asked for by {asked}. The largest job takes {gpus} GPUs. Remove the label to stop the sweep."
    return title, summary


def plan_refused(problems: Sequence[str]) -> tuple[str, str]:
    """Title and summary where no matrix can be planned."""
    shown = "\n".join(f"- {code(problem)}" for problem in problems[:20])
    return "No sweep can be planned", f"{shown}\n\nCorrect the files and push; the plan is made again."


def plan_table(rows: Iterable[tuple[str, str, Sequence[int], int, int, float]]) -> str:
    """A table of jobs: (family, config key, concurrencies, points, GPUs, estimated GPU-hours)."""
    lines = ["| Jobs | Config key | Concurrency | Points | GPUs | GPU-hours (estimate) |", "|---|---|---|---|---|---|"]
    for bucket, key, concurrencies, points, gpus, hours in rows:
        shown = ", ".join(map(str, concurrencies))
        lines.append(f"| {bucket} | {code(key)} | {shown} | {points} | {gpus} | {hours:.1f} |")
    return "\n".join(lines) + "\n"
