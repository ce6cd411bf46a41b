"""Purpose: the measured points of config keys, at one revision: what a sweep of that key would run.

Source: formats.md 2 and 2.5. A point is one concurrency of one generated row; its identity is (fingerprint,
concurrency). Rules `october` bind the recipe into the fingerprint; rules `august` hash the row alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from app.target.recipe import EffectiveRecipe, Unbound
from app.target.source import FileLine

AGENTIC = "agentic-coding"
FIXED = "fixed-seq-len"


class Rules(Enum):
    """Which generation of planning rules applies; chosen by layout, forced by `--rules`."""

    AUGUST = "august"
    OCTOBER = "october"


@dataclass(frozen=True)
class Point:
    """One concurrency of one throughput row. `row` is the generator's row (incumbent field names, no fingerprint).

    `master` is the line of the search-space row. `recipe` is the bound recipe; None where the row names none (August
    single-node scripts), `Unbound` where the named one cannot be bound.
    """

    key: str
    scenario: str
    multinode: bool
    concurrency: int
    fingerprint: str
    row: Mapping[str, Any]
    master: FileLine
    recipe: EffectiveRecipe | Unbound | None

    @property
    def identity(self) -> tuple[str, int]:
        return (self.fingerprint, self.concurrency)

    @property
    def speculative(self) -> bool:
        """The master's label; the real method stands in the recipe."""
        return str(self.row.get("spec-decoding", "none")) != "none"

    @property
    def label(self) -> str:
        """Short name in verdicts: c10, with 8k1k in front for fixed-sequence points."""
        if self.scenario == AGENTIC:
            return f"c{self.concurrency}"
        isl, osl = int(self.row["isl"]), int(self.row["osl"])
        short = {(1024, 1024): "1k1k", (8192, 1024): "8k1k"}.get((isl, osl), f"{isl}_{osl}")
        return f"{short} c{self.concurrency}"
