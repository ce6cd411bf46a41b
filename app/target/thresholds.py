"""Purpose: the eval bars of a target revision (evidence.md 2.3): by model prefix, by task, by default.

Look-up: the model's own value, else the task's default, else 0.85. A flat mapping (an old form) counts as defaults.

Invariants: prefixes match exactly (glm5.2 does not inherit from glm5). Values are decimals of the file's text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum

from app.target.recipe_document import Node, mapping_of, read_document
from app.target.source import FileLine, reject

FALLBACK = Decimal("0.85")


class Origin(Enum):
    """Which rule gave a threshold."""

    EXACT = "exact"
    DEFAULT = "default"
    FALLBACK = "fallback"


@dataclass(frozen=True, slots=True)
class Threshold:
    """The least score that passes (`>=`), which rule gave it and where it stands."""

    value: Decimal
    origin: Origin
    where: FileLine


@dataclass(frozen=True)
class Thresholds:
    """One thresholds file."""

    path: str
    defaults: Mapping[str, Threshold]
    models: Mapping[str, Mapping[str, Threshold]]
    where: FileLine

    @classmethod
    def parse(cls, path: str, content: bytes, sha: str = "") -> Thresholds:
        """Raises RejectedInput for an unreadable file and for a bar that is no number from 0 to 1."""
        root = read_document(path, content, sha)
        top = mapping_of(path, root, "Eval thresholds", sha)
        if "default" in top or "models" in top:
            defaults = _block(path, top.get("default"), "default", Origin.DEFAULT, sha)
            models = mapping_of(path, top["models"], "models", sha) if "models" in top else {}
        else:
            defaults, models = _block(path, root, "Eval thresholds", Origin.DEFAULT, sha), {}
        exact = {prefix: _block(path, node, prefix, Origin.EXACT, sha) for prefix, node in models.items()}
        return cls(path, defaults, exact, FileLine(path, 1, 0, sha))

    def lookup(self, prefix: str, task: str) -> Threshold:
        """The bar for a model prefix and a task."""
        found = self.models.get(prefix, {}).get(task) or self.defaults.get(task)
        return found or Threshold(FALLBACK, Origin.FALLBACK, self.where)


def _block(path: str, block: Node | None, name: str, origin: Origin, sha: str) -> dict[str, Threshold]:
    if block is None:
        return {}
    return {task: _bar(path, node, origin, sha) for task, node in mapping_of(path, block, name, sha).items()}


def _bar(path: str, node: Node, origin: Origin, sha: str) -> Threshold:
    where = FileLine(path, node.line, node.column, sha)
    try:
        value = Decimal(str(node.value))
    except InvalidOperation:
        value = Decimal("NaN")
    if isinstance(node.value, bool) or not value.is_finite() or not 0 <= value <= 1:
        raise reject(where, "A threshold must be a number from 0 to 1.", node.value, "Correct the value.")
    return Threshold(value, origin, where)
