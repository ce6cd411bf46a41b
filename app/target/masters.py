"""Purpose: master configs (formats.md 1) as typed entries with lines. Owner room: app.target.

Every entry of every master is checked, not only the selected ones: a broken unrelated entry is an error, as upstream.
An entry whose text is unchanged is parsed and checked once per process (see yaml_blocks).

Invariants: `MasterEntry.data` is shared and must not be changed. Keys keep file order, AMD before NVIDIA.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.target.master_rules import problems_of
from app.target.source import FileLine, Problem, RejectedInput, reject
from app.target.tree import Tree
from app.target.yaml_blocks import Block, read_blocks
from app.target.yaml_reader import Marks


@dataclass(frozen=True)
class MasterEntry:
    """One config key. `data` is the entry as written (kebab-case keys), after validation; `where` is the key's line.

    `line_of(*path)` gives the line of a nested node, e.g. line_of("scenarios", "agentic-coding", 0, "search-space", 1).
    """

    key: str
    data: Mapping[str, Any]
    where: FileLine
    marks: Marks | None = field(default=None, compare=False, repr=False)
    memo: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """What the planner derived from `data` alone; lives as long as the entry's text is cached."""

    def line_of(self, *path: Any) -> FileLine:
        """The place of the node reached by keys and indices; the deepest step that exists."""
        return self.where if self.marks is None else self.marks.where(self.data, path, self.where)

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

    @property
    def disagg(self) -> bool:
        return bool(self.data.get("disagg", False))

    @property
    def scenarios(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.data["scenarios"]
        return found


def read_masters(tree: Tree) -> dict[str, MasterEntry]:
    """All entries of both masters by key, AMD first. A master that is absent counts as empty; both absent is an error.

    Raises RejectedInput with every broken rule of every entry, NotRecorded where a master was not gathered.
    """
    problems: list[Problem] = []
    entries: dict[str, MasterEntry] = {}
    found = [(path, content) for path in tree.layout.masters if (content := tree.read(path)) is not None]
    if not found:
        where = FileLine(tree.layout.masters[1], 1, 0, tree.revision)
        raise reject(where, "The repository must have a master config.", "no file", "Run in the right directory.", 0)
    for path, content in found:
        try:
            blocks = read_blocks(content, path, tree.revision)
        except RejectedInput as rejected:
            problems.extend(rejected.problems)
            continue
        for block in blocks:
            entry = _entry(block, problems)
            earlier = entries.setdefault(entry.key, entry)
            if earlier is not entry:
                found_text = f"`{entry.key}`, also at {earlier.where}"
                fix = "Rename or remove one of the two."
                problems.append(Problem(entry.where, "A config key may stand in one master only.", found_text, fix, 1))
    if problems:
        raise RejectedInput(problems)
    return entries


def _entry(block: Block, problems: list[Problem]) -> MasterEntry:
    memo = block.content.memo
    if "valid" not in memo:
        found = problems_of(block)
        if found:
            problems.extend(found)
            return MasterEntry(str(block.key), {}, block.where)
        memo["valid"] = True
    return MasterEntry(block.key, block.value, block.where, block.marks, memo)
