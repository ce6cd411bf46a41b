"""Purpose: a create happens once, although a process may die at any point and GitHub shows new objects late.

    look for the result on GitHub -> found: done
    ledger says open or done, and younger than a minute -> wait: GitHub may not show it yet
    write "open" to the ledger -> create -> write "done" with the id

Accepted race: if the ledger is lost within a minute of a create, the create may be repeated; the marker then makes
the second of two comments the one that is never touched again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from app.effects.ports import Entry, Ledger, NotYetVisible


@dataclass(frozen=True, slots=True)
class Created:
    """`known_only`: the ledger names the result, but GitHub does not show it yet. `is_new`: it was made just now."""

    result: str
    known_only: bool = False
    is_new: bool = False


class Once:
    """`visible` is how long GitHub may take to show a new object, in seconds."""

    def __init__(self, ledger: Ledger, *, clock: Callable[[], float], visible: float) -> None:
        self._ledger = ledger
        self._clock = clock
        self._visible = visible

    def create(self, key: str, *, find: Callable[[], str | None], create: Callable[[], str | None]) -> Created:
        """The id of the one result. Raises NotYetVisible while an unanswered create may still show up."""
        found = find()
        if found is not None:
            return Created(found)
        entry = self._ledger.get(key)
        if entry is not None and self._is_young(entry):
            if entry.state == "done" and entry.result:
                return Created(entry.result, known_only=True)
            raise NotYetVisible(f"{key} was asked of GitHub and has not shown up yet")
        self._ledger.open(key, now=self._clock())
        result = create()
        if result is None:
            raise NotYetVisible(f"{key} was accepted by GitHub without an id")
        self._ledger.done(key, result, now=self._clock())
        return Created(result, is_new=True)

    def forget(self, key: str) -> None:
        self._ledger.forget(key)

    def _is_young(self, entry: Entry) -> bool:
        # A clock that was set back far makes an entry old at once, never eternal.
        return abs(self._clock() - entry.changed_at) < self._visible


@dataclass
class MemoryLedger:
    """A ledger for one process (Actions mode has no store)."""

    entries: dict[str, MemoryEntry] = field(default_factory=dict)

    def get(self, key: str) -> MemoryEntry | None:
        return self.entries.get(key)

    def open(self, key: str, *, now: float) -> None:
        self.entries[key] = MemoryEntry("open", None, now)

    def done(self, key: str, result: str, *, now: float) -> None:
        self.entries[key] = MemoryEntry("done", result, now)

    def forget(self, key: str) -> None:
        self.entries.pop(key, None)

    def recent(self, prefix: str, *, since: float) -> list[tuple[str, str]]:
        return [
            (key, entry.result or "")
            for key, entry in self.entries.items()
            if key.startswith(prefix) and entry.state == "done" and entry.changed_at > since
        ]


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    state: str
    result: str | None
    changed_at: float
