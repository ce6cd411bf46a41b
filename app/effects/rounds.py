"""Purpose: the narrow reader of the periodic round, and its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ListedPull:
    """`updated_at` is GitHub's own text, which sorts by time."""

    number: int
    is_open: bool
    updated_at: str
    head_sha: str
    head_ref: str


@dataclass(frozen=True, slots=True)
class ListedRun:
    """`state` changes whenever the run does."""

    id: int
    state: str
    pull_requests: tuple[int, ...]
    title: str
    head_sha: str
    head_branch: str


class RoundReader(Protocol):
    """Raises the errors of app.effects.ports."""

    def pulls(self, repository: str) -> Iterator[Sequence[ListedPull]]:
        """Pages, the last changed first, read only as far as the caller iterates."""

    def runs(self, repository: str) -> Sequence[ListedRun]: ...

    def trusted(self, repository: str) -> str: ...
