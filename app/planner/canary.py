"""Purpose: which one row runs first and alone, so that a broken setup costs one job and not a sweep.

Source: workflows.md 1.5. August: the lowest concurrency of the single-node 1k1k, then 8k1k rows. October: single-node
agentic rows too, and where none of these exists multi-node agentic rows by their first concurrency. First on ties.

Invariant: evaluations are never a canary; a plan without candidates has none, and that is normal.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from app.planner.plan import Plan, PlannedRow
from app.planner.points import Rules

_AUGUST: Final = ("single_node.1k1k", "single_node.8k1k")
_OCTOBER: Final = (*_AUGUST, "single_node.agentic")
_FALLBACK: Final = "multi_node.agentic"


def canary(plan: Plan) -> PlannedRow | None:
    """The row that goes first, None where the rules know no candidate."""
    if plan.rules is Rules.AUGUST:
        return _lowest(plan, _AUGUST)
    return _lowest(plan, _OCTOBER) or _lowest(plan, (_FALLBACK,))


def without(plan: Plan, chosen: PlannedRow | None) -> Plan:
    """The plan that remains once the canary has succeeded."""
    return replace(plan, rows=tuple(row for row in plan.rows if row is not chosen))


def _lowest(plan: Plan, buckets: tuple[str, ...]) -> PlannedRow | None:
    found = [
        row for bucket in buckets for row in plan.rows if row.bucket == bucket and row.row.get("run-eval") is not True
    ]
    return min(found, key=lambda row: row.concurrencies[0], default=None)
