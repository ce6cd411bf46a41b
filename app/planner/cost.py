"""Purpose: how many GPU-hours a plan will hold, as an estimate for people and for queues.

The figures are assumptions, not measurements: an agentic point runs its profile (an hour unless shortened), a
fixed-sequence point and an evaluation a fraction of one; every job loads its model first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from app.planner.plan import PlannedRow
from app.planner.rows import row_gpus

LOADING_HOURS: Final = 0.5
FIXED_POINT_HOURS: Final = 0.25
EVAL_HOURS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Cost:
    """Sums over rows: measured points, the largest job's GPUs, estimated GPU-hours of all jobs."""

    points: int
    gpus: int
    gpu_hours: float


def row_cost(row: PlannedRow) -> Cost:
    """One job: its points, its GPUs, and loading plus running time on all of them."""
    gpus = row_gpus(row.row)
    points = 1 if row.is_eval else len(row.concurrencies)
    if row.is_eval:
        running = EVAL_HOURS * (len(row.concurrencies) if row.row.get("eval-all-concs") else 1)
    elif "duration" in row.row:
        running = points * float(row.row["duration"]) / 3600
    else:
        running = points * FIXED_POINT_HOURS
    return Cost(points, gpus, gpus * (LOADING_HOURS + running))


def total_cost(rows: Iterable[PlannedRow]) -> Cost:
    """The sum over a plan."""
    costs = [row_cost(row) for row in rows]
    return Cost(
        sum(cost.points for cost in costs),
        max((cost.gpus for cost in costs), default=0),
        sum(cost.gpu_hours for cost in costs),
    )
