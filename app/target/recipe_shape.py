"""Purpose: what both recipe schemas have in common: nodes of one variant turned into settings that know their line.

Invariants: a null is an absent setting. Environment values are text: `'1'` and `1` are both "1"; true and false, which
have no text of their own in YAML, are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.target.flags import canonical
from app.target.recipe import Setting
from app.target.recipe_document import Node, mapping_of, plain
from app.target.source import FileLine, Problem, RejectedInput, reject

ROLES = ("agg", "prefill", "decode")


@dataclass(frozen=True, slots=True)
class Shape:
    """One variant's file and revision, with the readers of its parts."""

    path: str
    sha: str

    def at(self, node: Node) -> FileLine:
        return FileLine(node.file or self.path, node.line, node.column, self.sha)

    def mapping(self, parent: Mapping[str, Node], key: str) -> dict[str, Node]:
        """The mapping below `key`, empty where it is absent or null."""
        node = parent.get(key)
        return {} if node is None else mapping_of(self.path, node, key, self.sha)

    def setting(self, parent: Mapping[str, Node], key: str) -> Setting | None:
        node = parent.get(key)
        if node is None or node.value is None:
            return None
        return Setting(plain(node), self.at(node))

    def settings(self, parent: Mapping[str, Node], without: tuple[str, ...] = ()) -> dict[str, Setting]:
        """Every key of a mapping as a setting, nested values plain."""
        return {
            key: Setting(plain(node), self.at(node))
            for key, node in parent.items()
            if node.value is not None and key not in without
        }

    def text(self, parent: Mapping[str, Node], key: str) -> str:
        """A string, "" where it is absent."""
        node = parent.get(key)
        if node is None or node.value is None:
            return ""
        if isinstance(node.value, (dict, list)):
            raise reject(self.at(node), f"{key} must be a string.", plain(node), f"Write {key}: <text>.")
        return str(node.value)

    def count(self, parent: Mapping[str, Node], key: str, words: Mapping[str, int] | None = None) -> int | None:
        """A whole number >= 0, None where it is absent. `words` are texts that stand for a number."""
        node = parent.get(key)
        if node is None or node.value is None:
            return None
        value = node.value
        if words and value in words:
            return words[value]
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise reject(self.at(node), f"{key} must be a whole number.", value, "Write a number, 0 or more.")
        return value

    def env(self, parent: Mapping[str, Node], key: str) -> dict[str, Setting]:
        """An environment: names to texts."""
        found: dict[str, Setting] = {}
        for name, node in self.mapping(parent, key).items():
            if node.value is None:
                continue
            if isinstance(node.value, (dict, list, bool)):
                rule = "An environment value must be text."
                raise reject(self.at(node), rule, f"{name}: {plain(node)}", "Put the value in quotes.")
            found[name] = Setting(str(node.value), self.at(node))
        return found

    def args(self, engine: str, nodes: Mapping[str, Node]) -> dict[str, Setting]:
        """Server flags under their canonical names. Raises RejectedInput where two spellings disagree."""
        found: dict[str, Setting] = {}
        clashes: list[Problem] = []
        for flag, node in nodes.items():
            if node.value is None:
                continue
            name = canonical(engine, flag)
            new = Setting(plain(node), self.at(node))
            old = found.get(name)
            if old is not None and old.value != new.value:
                rule = f"{name} is set twice, to different values."
                other = f"{old.value} in line {old.where.line}"
                clashes.append(Problem(new.where, rule, f"{flag}: {new.value} and {other}", "Keep one spelling."))
            found[name] = new
        if clashes:
            raise RejectedInput(clashes)
        return found

    def scripts(self, parent: Mapping[str, Node], key: str) -> tuple[Setting, ...]:
        """`setup_script`: one name or a list of names."""
        node = parent.get(key)
        if node is None or node.value is None:
            return ()
        items = node.value if isinstance(node.value, list) else [node]
        for item in items:
            if not isinstance(item.value, str):
                raise reject(self.at(item), f"{key} must be a file name.", plain(item), "Write the script's name.")
        return tuple(Setting(item.value, self.at(item)) for item in items)
