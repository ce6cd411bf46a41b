"""Purpose: runners.yaml (formats.md 6): labels with their runner names, and the memory and GPUs of a label's nodes.

Two forms: August has `hardware.<label>`, October `clusters.<id>` for the label `cluster:<id>`. Source: formats.md 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from app.target.source import FileLine, Problem, RejectedInput
from app.target.tree import Tree
from app.target.yaml_blocks import Block, read_blocks

CLUSTER: Final = "cluster:"
_CLUSTER_FIELDS: Final = frozenset(
    ("gpus-per-node", "available-cpu-dram-mib", "arch", "env", "models", "scheduler", "slurm")
)
_SLURM_FIELDS: Final = frozenset(
    ("partition", "account", "exclusive", "gres", "volumes", "squash", "srt-slurm", "partitions")
)
_HARDWARE_FIELDS: Final = frozenset(("available-cpu-dram-mib", "gpus-per-node"))


@dataclass(frozen=True, slots=True)
class Hardware:
    """One node of a label: GPUs, and MiB of memory that may be used (None where the record does not say)."""

    gpus_per_node: int
    available_dram_mib: int | None


@dataclass(frozen=True)
class Runners:
    """`labels`: runner names by label. `hardware`: node facts by label. `clusters`: the records of October by id."""

    path: str
    labels: Mapping[str, tuple[str, ...]]
    hardware: Mapping[str, Hardware]
    clusters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def label_of(self, runner: str) -> str | None:
        """The one `cluster:` label that holds a physical runner; None where there is none."""
        for label, names in self.labels.items():
            if label.startswith(CLUSTER) and runner in names:
                return label
        return None


def read_runners(tree: Tree) -> Runners:
    """The inventory at one revision; an absent file is an empty inventory. Raises RejectedInput, NotRecorded."""
    path = tree.layout.runners
    content = tree.read(path)
    if content is None:
        return Runners(path, {}, {})
    blocks = {block.key: block for block in read_blocks(content, path, tree.revision)}
    check = _Check(tree.revision, path)
    for key, block in blocks.items():
        if key not in ("labels", "hardware", "clusters"):
            check.add(block, (), "runners.yaml has `labels` and `hardware` or `clusters` only.", key, "Remove it.")
    if "labels" not in blocks:
        check.problems.append(Problem(FileLine(path, 1, 0, tree.revision), "`labels` is needed.", "none", "Add it.", 1))
    labels = check.labels(blocks.get("labels"))
    hardware = check.hardware(blocks.get("hardware"), "", _HARDWARE_FIELDS)
    hardware.update(check.hardware(blocks.get("clusters"), CLUSTER, _CLUSTER_FIELDS))
    if "clusters" in blocks:
        check.fleets(blocks.get("labels"), labels, hardware)
    if check.problems:
        raise RejectedInput(check.problems)
    clusters = dict(blocks["clusters"].value) if "clusters" in blocks else {}
    return Runners(path, labels, hardware, clusters)


class _Check:
    """Reads the parts and collects what is wrong with them."""

    def __init__(self, sha: str, path: str) -> None:
        self.sha, self.path = sha, path
        self.problems: list[Problem] = []

    def add(self, block: Block, steps: tuple[Any, ...], rule: str, found: object, fix: str) -> None:
        where = block.marks.where(block.value, steps, block.where)
        self.problems.append(Problem(where, rule, f"{found}"[:120], fix))

    def mapping(self, block: Block | None) -> dict[Any, Any]:
        if block is None:
            return {}
        if not isinstance(block.value, dict):
            self.add(block, (), f"`{block.key}` must be a mapping.", block.value, "Write `label: ...` lines.")
            return {}
        return block.value

    def labels(self, block: Block | None) -> dict[str, tuple[str, ...]]:
        labels: dict[str, tuple[str, ...]] = {}
        for label, names in self.mapping(block).items():
            if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
                assert block is not None  # noqa: S101  (a label was read from it)
                self.add(block, (label,), "A label needs a list of runner names.", names, "List at least one runner.")
            else:
                labels[str(label)] = tuple(names)
        return labels

    def hardware(self, block: Block | None, prefix: str, known: frozenset[str]) -> dict[str, Hardware]:
        found: dict[str, Hardware] = {}
        for label, record in self.mapping(block).items():
            assert block is not None  # noqa: S101  (a label was read from it)
            if not isinstance(record, dict):
                self.add(block, (label,), "A record must be a mapping.", record, "Write its fields.")
                continue
            before = len(self.problems)
            self._unknown(block, (label,), record, known)
            slurm = record.get("slurm")
            if isinstance(slurm, dict):
                self._unknown(block, (label, "slurm"), slurm, _SLURM_FIELDS)
            gpus, memory = record.get("gpus-per-node"), record.get("available-cpu-dram-mib")
            if not _positive(gpus):
                fix = "Write a whole number above 0."
                self.add(block, (label, "gpus-per-node"), "`gpus-per-node` must be above 0.", gpus, fix)
            if not _positive(memory) and not (memory is None and prefix):
                fix = "Write a whole number of MiB."
                rule = "`available-cpu-dram-mib` must be above 0."
                self.add(block, (label, "available-cpu-dram-mib"), rule, memory, fix)
            if len(self.problems) == before:
                found[f"{prefix}{label}"] = Hardware(record["gpus-per-node"], memory)
        return found

    def _unknown(self, block: Block, steps: tuple[Any, ...], record: dict[Any, Any], known: frozenset[str]) -> None:
        for name in record:
            if name not in known:
                rule = f"A record may have {', '.join(sorted(known))} only."
                self.add(block, (*steps, name), rule, name, "Remove it or correct the name.")

    def fleets(
        self, block: Block | None, labels: Mapping[str, tuple[str, ...]], hardware: Mapping[str, Hardware]
    ) -> None:
        """October: every `cluster:` label has a record, and a runner is in exactly one such label."""
        if block is None:
            return
        owner: dict[str, str] = {}
        for label, names in labels.items():
            if not label.startswith(CLUSTER):
                continue
            if label not in hardware:
                fix = f"Add clusters.{label.removeprefix(CLUSTER)}."
                self.add(block, (label,), "Every `cluster:` label needs a record below `clusters`.", label, fix)
            for name in names:
                if owner.setdefault(name, label) != label:
                    rule = "A runner may be in one `cluster:` label only."
                    self.add(block, (label,), rule, f"{name}, also in {owner[name]}", "Remove it from one of them.")
        for label, names in labels.items():
            for name in names:
                if name not in owner:
                    rule = "Every runner must be in a `cluster:` label."
                    self.add(block, (label,), rule, name, "Add it to its fleet's label.")
                    owner[name] = label


def _positive(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
