"""Purpose: named places where the crash tests kill the process: before and after every write and every commit.

The names follow from the Protocols and from `COMMITS`, so a new write method brings its two points by itself, and a
test asserts their number. Without SWEEPGATE_FAULT nothing happens at a point.

SWEEPGATE_FAULT is `<point>` or `<point>:<n>`: kill -9 at the n-th time (1 by default) that the point is reached.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

from app.effects.ports import Writer
from app.store.database import COMMITS

WRITE_METHODS = tuple(sorted(name for name in vars(Writer) if not name.startswith("_")))

POINTS = tuple(
    f"{place}.{side}"
    for place in (*(f"github.{name}" for name in WRITE_METHODS), *(f"store.{name}" for name in COMMITS))
    for side in ("before", "after")
)


class Faults:
    """Calls `strike` when the chosen point is reached for the n-th time; does nothing without a choice."""

    def __init__(self, choice: str = "", strike: Callable[[str], None] | None = None) -> None:
        name, _, times = choice.partition(":")
        if name and name not in POINTS:
            raise ValueError(f"SWEEPGATE_FAULT={name}: there is no such fault point. See app.effects.faults.POINTS.")
        self._name = name
        self._left = int(times or 1)
        self._strike = strike or _kill
        self._guard = threading.Lock()

    @classmethod
    def from_environment(cls) -> Faults:
        return cls(os.environ.get("SWEEPGATE_FAULT", ""))

    def __call__(self, point: str) -> None:
        if point != self._name:
            return
        with self._guard:
            self._left -= 1
            reached = self._left == 0
        if reached:
            self._strike(point)


def _kill(_point: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class PointedWriter:
    """A writer with its two fault points around every method of the `Writer` Protocol."""

    def __init__(self, writer: Writer, faults: Callable[[str], None]) -> None:
        self._writer = writer
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._writer, name)
        if name not in WRITE_METHODS:
            return method

        def pointed(*args: Any, **kwargs: Any) -> Any:
            self._faults(f"github.{name}.before")
            result = method(*args, **kwargs)
            self._faults(f"github.{name}.after")
            return result

        return pointed
