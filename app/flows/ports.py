"""Purpose: what the flows need of the rooms below them, in the narrowest form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from app.decide.state import Measurement, Person, PullState
from app.effects.ports import Reader, Writer
from app.effects.rounds import RoundReader
from app.policy import Policy


class Access(Protocol):
    """Everything per repository: its installation's reader and writer, and its policy from the default branch."""

    def reader(self, repository: str) -> Reader: ...

    def writer(self, repository: str) -> Writer: ...

    def rounds(self, repository: str) -> RoundReader: ...

    def policy(self, repository: str) -> Policy: ...

    def policy_problem(self, repository: str) -> str:
        """Why the file of the default branch is not in force; empty where it is."""

    def bot(self, repository: str) -> Person: ...

    def usage(self) -> Mapping[str, tuple[int, int | None]]:
        """Requests made so far and the hour's remaining budget (None before GitHub told it), by installation."""


class Memos(Protocol):
    """Look-ups that can never change."""

    def get(self, key: str) -> Any: ...

    def put(self, key: str, value: Any) -> None: ...


class SameMeasurement(Protocol):
    """Is another commit the same measurement as the head of this state (design.md 5)?"""

    def __call__(self, state: PullState, sha: str) -> Measurement: ...


class Meters(Protocol):
    """Counters and timings; see app.flows.meters for their names."""

    def observe(self, name: str, seconds: float) -> None: ...

    def count(self, name: str, labels: Mapping[str, str]) -> None: ...


Clock = Callable[[], float]
