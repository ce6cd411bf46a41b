"""Purpose: the outcome of the other checks, for the one check that may forgive paperwork (5: an open checklist item
whose content another check has verified is a note).

Invariants: made by the engine after all other checks have run; a check that reads it is run last and is not in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from app.facts.base import Fact


@dataclass(frozen=True)
class OtherRows(Fact):
    """Status by check number: "PASS", "FAIL", "WARN" or "N/A". Never gathered, so never missing from a bundle."""

    title: ClassVar[str] = "the other rows"
    sources: ClassVar[tuple[str, ...]] = ()
    statuses: Mapping[int, str]

    def settled(self, number: int) -> bool:
        """True where the check found its subject in order, or found nothing to look at."""
        return self.statuses.get(number) in ("PASS", "N/A")
