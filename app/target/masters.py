"""Purpose: master configs (formats.md 1) as typed entries with lines. Owner room: app.target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.target.source import FileLine


@dataclass(frozen=True)
class MasterEntry:
    """One config key. `data` is the entry as written (kebab-case keys), after validation; `where` is the key's line.

    `line_of(*path)` gives the line of a nested node, e.g. line_of("scenarios", "agentic-coding", 0, "search-space", 1).
    """

    key: str
    data: Mapping[str, Any]
    where: FileLine

    @property
    def image(self) -> str:
        return str(self.data["image"])

    @property
    def model(self) -> str:
        return str(self.data["model"])

    @property
    def model_prefix(self) -> str:
        return str(self.data["model-prefix"])

    @property
    def framework(self) -> str:
        return str(self.data["framework"])

    @property
    def precision(self) -> str:
        return str(self.data["precision"])

    @property
    def runner(self) -> str:
        return str(self.data["runner"])

    @property
    def multinode(self) -> bool:
        return bool(self.data["multinode"])
