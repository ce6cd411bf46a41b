"""Purpose: the score by which queued jobs of a sweep are served, higher first.

Source: workflows.md 8 and the target's `configs/ci-priority.yaml` (base score, adjustments, labels). The incumbent asks
a language model which criteria a diff fulfils; here the planned row alone decides, so that the same plan always gets
the same scores. A label that marks patched engines still sets the score to its value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from app.target.source import FileLine, reject
from app.target.tree import Tree
from app.target.yaml_reader import Document, read_yaml

_MODELS: Final = ("glm5", "glm5.1", "kimik2.5", "dsv4", "minimaxm3", "qwen3.5", "dsr1")
_ENGINES: Final = ("sglang", "vllm", "dynamo-sglang", "dynamo-vllm")


@dataclass(frozen=True)
class Weights:
    """What is added to the base score. `patchwork` labels set the score unless a waiver label is there."""

    base: float = 1.0
    push: float = 2.0
    multi_node: float = 1.25
    extra_node: float = 0.0
    agentic: float = 1.0
    eval_only: float = 0.0
    precision: Mapping[str, float] = field(default_factory=lambda: {"fp4": 0.75})
    spec_decoding: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(("mtp", "eagle", "eagle3"), 0.75))
    framework_prefix: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(_ENGINES, 0.5))
    model_prefix: Mapping[str, float] = field(default_factory=lambda: {"kimik3": 1.5, **dict.fromkeys(_MODELS, 0.75)})
    checklist: float = 0.25
    checklist_labels: tuple[str, ...] = ("ci-checklist-complete",)
    patchwork: float = 0.0
    patchwork_labels: tuple[str, ...] = ("ci-patchwork", "engine-patch")
    waiver_labels: tuple[str, ...] = ("ci-patchwork-waived",)


def read_weights(tree: Tree) -> Weights:
    """The target's weights; the defaults where it has no such file. Raises RejectedInput, NotRecorded."""
    path = f"{tree.layout.root}configs/ci-priority.yaml"
    content = tree.read(path)
    if content is None:
        return Weights()
    document = read_yaml(content, path, tree.revision)
    reader = _Reader(document)
    return Weights(
        base=reader.number(1.0, "base-score"),
        push=reader.number(0.0, "adjustments", "event", "push"),
        multi_node=reader.number(0.0, "adjustments", "multi-node"),
        extra_node=reader.number(0.0, "adjustments", "extra-node"),
        agentic=reader.number(0.0, "adjustments", "agentic"),
        eval_only=reader.number(0.0, "adjustments", "eval-only"),
        precision=reader.table("adjustments", "precision"),
        spec_decoding=reader.table("adjustments", "spec-decoding"),
        framework_prefix=reader.table("adjustments", "framework-prefix"),
        model_prefix=reader.table("adjustments", "model-prefix"),
        checklist=reader.number(0.0, "labels", "checklist-complete", "adjustment"),
        checklist_labels=reader.names("labels", "checklist-complete", "names"),
        patchwork=reader.number(0.0, "labels", "patchwork", "score"),
        patchwork_labels=reader.names("labels", "patchwork", "names"),
        waiver_labels=reader.names("labels", "patchwork", "waived-by"),
    )


class _Reader:
    """Typed access to a mapping of mappings; an absent value is its default, another type is an error."""

    def __init__(self, document: Document) -> None:
        self.document = document

    def _at(self, *steps: str) -> Any:
        value: Any = self.document.value
        for step in steps:
            if not isinstance(value, Mapping):
                return None
            value = value.get(step)
        return value

    def number(self, default: float, *steps: str) -> float:
        value = self._at(*steps)
        if value is None:
            return default
        return self._number(value, *steps)

    def _number(self, value: Any, *steps: str) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._refused("a number", value, *steps)
        return float(value)

    def table(self, *steps: str) -> dict[str, float]:
        value = self._at(*steps) or {}
        if not isinstance(value, Mapping):
            raise self._refused("a mapping", value, *steps)
        return {str(name): self._number(item, *steps, str(name)) for name, item in value.items()}

    def names(self, *steps: str) -> tuple[str, ...]:
        value = self._at(*steps) or []
        if not isinstance(value, list):
            raise self._refused("a list of labels", value, *steps)
        return tuple(str(item) for item in value)

    def _refused(self, wanted: str, found: object, *steps: str) -> Exception:
        where: FileLine = self.document.where(*steps)
        return reject(where, f"`{steps[-1]}` must be {wanted}.", found, f"Write {wanted}.")


def priority(
    row: Mapping[str, Any], weights: Weights, *, labels: Collection[str] = (), event: str = "pull_request"
) -> float:
    """Score of one planned row, to be printed with three decimals."""
    present = frozenset(labels)
    if not present.isdisjoint(weights.patchwork_labels) and present.isdisjoint(weights.waiver_labels):
        return weights.patchwork
    score = weights.base
    score += weights.push if event == "push" else 0.0
    score += weights.multi_node if "prefill" in row else 0.0
    score += weights.extra_node * max(int(row.get("node-count", 1)) - 1, 0)
    score += weights.agentic if "isl" not in row else 0.0
    score += weights.eval_only if row.get("eval-only") else 0.0
    score += weights.precision.get(str(row["precision"]), 0.0)
    score += weights.spec_decoding.get(str(row["spec-decoding"]), 0.0)
    score += _by_prefix(weights.framework_prefix, str(row["framework"]))
    score += weights.model_prefix.get(str(row["model-prefix"]), 0.0)
    score += weights.checklist if not present.isdisjoint(weights.checklist_labels) else 0.0
    return round(score, 3)


def _by_prefix(table: Mapping[str, float], name: str) -> float:
    """The weight of the longest prefix that fits."""
    fitting = [prefix for prefix in table if name.startswith(prefix)]
    return table[max(fitting, key=len)] if fitting else 0.0
