"""Purpose: retired config entries (formats.md 9), which are never planned: they only make an answer clear.

The generator does not load these files, so their keys do not resolve; a changelog entry that names one is told where it
went. October deleted the folder: then there is nothing to tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.target.source import FileLine, RejectedInput
from app.target.tree import Tree
from app.target.yaml_blocks import read_blocks


@dataclass(frozen=True, slots=True)
class Retired:
    """A retired key: its line, and the file's comment header (reason and date) as one line of text."""

    key: str
    where: FileLine
    reason: str


def read_deprecated(tree: Tree) -> Mapping[str, Retired]:
    """Retired entries by key. A file that cannot be read is left out: nothing depends on it."""
    found: dict[str, Retired] = {}
    for path in tree.below(tree.layout.deprecated):
        content = tree.read(path) if path.endswith((".yaml", ".yml")) else None
        if content is None:
            continue
        try:
            blocks = read_blocks(content, path, tree.revision)
        except RejectedInput:
            continue
        reason = _header(content)
        for block in blocks:
            found.setdefault(str(block.key), Retired(str(block.key), block.where, reason))
    return found


def _header(content: bytes) -> str:
    lines = []
    for line in content.decode(errors="replace").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.strip("# \t"))
    return " ".join(part for part in lines if part)
