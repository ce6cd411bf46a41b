"""Purpose: shell scripts and fragments as syntax trees (tree-sitter-bash), with the place of every node.

Invariants: parsing is cached by content; nothing is run. A fragment (the text of an `eval`, a default value) keeps the
place of the node that it came from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from app.target.shell_text import stripped_of_marks
from app.target.source import FileLine


@lru_cache(maxsize=1)
def _parser() -> Any:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


@lru_cache(maxsize=512)
def _tree(source: bytes) -> Any:
    return _parser().parse(source)


@dataclass(frozen=True)
class Script:
    """One script: its path, its bytes, and the line before its first (for fragments of another script)."""

    path: str
    source: bytes
    sha: str = ""
    before: int = 0

    @classmethod
    def of(cls, path: str, content: bytes, sha: str = "") -> Script:
        return cls(path, stripped_of_marks(content), sha)

    @property
    def root(self) -> Any:
        return _tree(self.source).root_node

    def text(self, node: Any) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", errors="replace")

    def between(self, start: int, end: int) -> str:
        return self.source[start:end].decode("utf-8", errors="replace")

    def place(self, node: Any) -> FileLine:
        if self.before:
            return FileLine(self.path, self.before, 0, self.sha)
        return FileLine(self.path, node.start_point[0] + 1, node.start_point[1] + 1, self.sha)

    def fragment(self, text: str, node: Any) -> Script:
        """A piece of shell text that stands at `node`."""
        return Script(self.path, text.encode(), self.sha, self.place(node).line)


def named(node: Any) -> Iterator[Any]:
    """The named children of a node, comments left out."""
    return (child for child in node.named_children if child.type != "comment")


def errors(script: Script) -> tuple[FileLine, ...]:
    """Places that could not be parsed."""
    if not script.root.has_error:
        return ()
    found: list[FileLine] = []
    pending = [script.root]
    while pending and len(found) < 20:
        node = pending.pop()
        if node.type == "ERROR" or node.is_missing:
            found.append(script.place(node))
        elif node.has_error:
            pending.extend(node.children)
    return tuple(sorted(found))
