"""Purpose: the stand-in's clock: cranked by hand by default, so that no story has to wait.

Invariants: a hand clock moves only through `tick`, `advance` and `set`; `tick` is what every change of the world does,
so that no two changes of a story share a second unless the step is 0. Times are seconds since 1970, UTC.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol

START = "2026-10-21T00:00:00Z"


def iso(at: float) -> str:
    """GitHub's spelling of a moment: whole seconds, UTC, such as 2026-10-21T05:22:39Z."""
    return datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str) -> float:
    """Seconds since 1970 of an ISO 8601 text. Raises ValueError for anything else."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Clock(Protocol):
    """What the world needs to know of time."""

    def now(self) -> float: ...

    def tick(self) -> float: ...


class HandClock:
    """Stands still unless told to move. `step` seconds pass with every change of the world."""

    def __init__(self, start: str = START, step: float = 1.0) -> None:
        self._now = moment(start)
        self.step = step

    def now(self) -> float:
        return self._now

    def tick(self) -> float:
        self._now += self.step
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += seconds

    def set(self, text: str) -> None:
        """Move to an ISO 8601 moment, backwards too: a story may tell an earlier event."""
        self._now = moment(text)


class WallClock:
    """The machine's own time, for a stand-in that people play with."""

    def now(self) -> float:
        return time.time()

    def tick(self) -> float:
        return time.time()
