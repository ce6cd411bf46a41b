"""Purpose: the Markdown summary of a run, from a folder of its artifacts: points, frontier, evals, failures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.launch.artifact_folder import read_artifacts
from app.launch.evidence import jobs_of_folder
from app.launch.why import read_shipped_rules, report
from app.results.artifacts import BENCHMARKS, EVALS, read_rows
from app.results.curves import Curve, curves_of
from app.results.frontier import as_json, read_curves
from app.words import sweep as words

RULES = Path(__file__).resolve().parents[2] / "configs" / "triage.yaml"


def rows_of(folder: Path, place: tuple[str, str]) -> list[Mapping[str, Any]]:
    """Rows of an aggregate artifact, none where it is not there."""
    artifact, member = place
    path = folder / artifact / member
    return read_rows(f"{artifact}/{member}", path.read_bytes()) if path.is_file() else []


def _curves(curves: tuple[Curve, ...]) -> str:
    told = as_json(read_curves([{"key": curve.key, "points": list(curve.points)} for curve in curves]))
    points: list[tuple[str, str, float, float, bool]] = []
    for curve, result in zip(curves, told, strict=True):
        best = {(point["x"], point["y"]) for point in result["frontier"]}
        for point in curve.points:
            x, y = point["x"], point["y"]
            if isinstance(x, (int, float)) and isinstance(y, (int, float)):
                points.append((curve.percentile, str(point.get("label", "")), x, y, (x, y) in best))
    return words.curves_table(told) + "\n" + words.points_table(points)


def summary(folder: Path) -> str:
    """The summary. Raises UnreadableFolder where `folder` is none."""
    read_artifacts(folder, lambda _artifact, _member: False)
    rows, evals = rows_of(folder, BENCHMARKS), rows_of(folder, EVALS)
    parts = ["## Sweep\n"]
    parts.append(_curves(curves_of(rows)) if rows else words.NOTHING + "\n")
    if evals:
        parts.append(words.evals_table(evals))
    told = report(jobs_of_folder(folder), read_shipped_rules(RULES), 1)
    if told["failed"]:
        parts.append("### Failed jobs\n\n" + "".join(words.failure(item) for item in told["failed"]))
        parts.append(words.retry(told["retry"]))
    return "\n".join(parts)
