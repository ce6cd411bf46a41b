"""Purpose: how many points each dashboard series has in the master configs, without generating their rows.

Several config keys can share a series (rules.md 14), so the count is over all entries of a revision.

Invariant: counts what the entries say (formats.md 2.1); nothing is bound to a recipe here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from app.planner.points import AGENTIC
from app.planner.rows import concurrencies
from app.results.curves import Series, series_of_planned
from app.target.masters import MasterEntry


def series_sizes(entries: Iterable[MasterEntry]) -> Mapping[Series, int]:
    """Planned points by series over all scenarios of the entries."""
    sizes: Counter[Series] = Counter()
    for entry in entries:
        for row, count in _rows(entry.data):
            sizes[series_of_planned(row)] += count
    return sizes


def _rows(data: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], int]]:
    """(row fields that decide the series, number of points) for each search-space row."""
    for scenario, block in data["scenarios"].items():
        for part in block:
            for row in part["search-space"]:
                fields = {**data, "spec-decoding": row.get("spec-decoding")}
                if scenario != AGENTIC:
                    fields |= {"isl": part["isl"], "osl": part["osl"]}
                yield fields, len(concurrencies(row))
