"""Purpose: "Changed since the last verdict": what differs from the verdict whose marker still stands.

The only source is that marker's payload (assessed SHA, row statuses, bundle digest). Same verdict: no line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.decide.state import Measurement
from app.verdict.engine import Verdict

MAX_ROWS = 6
MAX_FILES = 3


def statuses(verdict: Verdict) -> dict[str, str]:
    """Row statuses as the marker keeps them."""
    return {str(row.number): row.status.value for row in verdict.rows}


def changed_line(verdict: Verdict, previous: Mapping[str, Any] | None, commits: str = "") -> str:
    """One line, or an empty text where nothing changed or there was no verdict. `commits` tells of the head's moves."""
    if not previous:
        return ""
    before = previous.get("statuses")
    rows = _row_changes(verdict, before) if isinstance(before, Mapping) else []
    shown = rows[:MAX_ROWS]
    if len(rows) > MAX_ROWS:
        shown.append(f"and {len(rows) - MAX_ROWS} more rows")
    old_head = str(previous.get("assessed", ""))
    if old_head and old_head != verdict.assessed_commit:
        shown.append(commits or f"head {old_head[:7]} → {verdict.assessed_commit[:7]}")
    if not shown and previous.get("bundle_digest") not in (None, verdict.bundle_digest):
        shown.append("the evidence, with the same outcome in every row")
    return "; ".join(shown)


def moved_line(measurement: Measurement, before: str, commits: Sequence[str]) -> str:
    """How the head moved since an assessed commit: "3 commits since bdfb83f, same measurement".

    `commits` are the pull request's, oldest first; a commit that is no longer among them was rewritten.
    """
    if before in commits:
        count = len(commits) - 1 - commits.index(before)
        moved = f"{count} {'commit' if count == 1 else 'commits'} since {before[:7]}"
    else:
        moved = f"the branch was rewritten since {before[:7]}"
    shown = ", ".join(path.rsplit("/", 1)[-1] for path in measurement.files[:MAX_FILES])
    more = f" and {len(measurement.files) - MAX_FILES} more" if len(measurement.files) > MAX_FILES else ""
    if measurement.same:
        return f"{moved}, same measurement"
    if measurement.same is None:
        return f"{moved}, whether it is the same measurement could not be verified"
    return f"{moved}, another measurement ({shown}{more})" if shown else f"{moved}, another measurement"


def _row_changes(verdict: Verdict, before: Mapping[str, Any]) -> list[str]:
    lines = []
    for row in verdict.rows:
        old = before.get(str(row.number))
        if old is not None and old != row.status.value:
            lines.append(f"{row.name} ({row.number}) {old} → {row.status.value}")
        elif old is None:
            lines.append(f"{row.name} ({row.number}) is new: {row.status.value}")
    return lines
