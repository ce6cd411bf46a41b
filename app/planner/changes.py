"""Purpose: which config keys a change affects, and by which points: `sweepgate changed` and the core of the scope.

Source: formats.md 4.4. Points are compared by (fingerprint, concurrency); both sides by the same rules. Comments, key
order, a concurrency moved between equal rows, a recipe's name and runner lists do not count.

Invariant: a key is skipped without generating its points only if its entry's text, its node facts and every recipe it
names are equal at both revisions: then its points are equal by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from app.planner.points import Point, Rules, points_of
from app.planner.rows import recipe_fields
from app.target.masters import MasterEntry, read_masters
from app.target.runners import Runners, read_runners
from app.target.source import Problem, RejectedInput
from app.target.tree import Tree


@dataclass(frozen=True, slots=True)
class Changed:
    """How a key's points differ; both orders are those of their master rows."""

    added: tuple[Point, ...]
    removed: tuple[Point, ...]
    base: tuple[Point, ...]
    head: tuple[Point, ...]


@dataclass(frozen=True)
class Side:
    """The inventory of one revision."""

    tree: Tree
    entries: Mapping[str, MasterEntry]
    runners: Runners

    @classmethod
    def of(cls, tree: Tree) -> Side:
        """Raises RejectedInput, NotRecorded."""
        return cls(tree, read_masters(tree), read_runners(tree))

    def points(self, key: str, rules: Rules) -> tuple[Point, ...]:
        entry = self.entries.get(key)
        return () if entry is None else points_of(entry, self.runners, self.tree, rules)

    def recipes(self, key: str) -> frozenset[str]:
        """Paths of the recipes and shared fragments that the key's rows name."""
        from app.target.recipes import fragment_path, recipe_reference

        entry = self.entries.get(key)
        if entry is None:
            return frozenset()
        layout = self.tree.layout
        memo_key = ("recipes", layout)
        if memo_key not in entry.memo:
            found = {""}
            for scenario, fields in recipe_fields(entry):
                for evaluation in (False, True):
                    reference = recipe_reference(layout, fields, evaluation=evaluation)
                    if reference:
                        found |= {reference[0], fragment_path(layout, reference[0], scenario)}
            entry.memo[memo_key] = frozenset(found - {""})
        known: frozenset[str] = entry.memo[memo_key]
        return known


def changed(base: Tree, head: Tree, rules: Rules | None = None) -> dict[str, Changed]:
    """Keys of which any point was added or removed, in head's master order, keys that head lost last.

    A new key is listed with all its points, a deleted one with all removed. Raises RejectedInput with the problems of
    both revisions' masters (base first) or of any changed key.
    """
    rules = rules or Rules.of(head.layout)
    before, after = Side.of(base), Side.of(head)
    return differing(before, after, rules, lambda paths: any(not same_file(base, head, path) for path in paths))


def same_file(base: Tree, head: Tree, path: str) -> bool:
    """Equal content, or absent at both."""
    return base.identity(path) == head.identity(path)


def differing(before: Side, after: Side, rules: Rules, touched: Callable[[Iterable[str]], bool]) -> dict[str, Changed]:
    """As `changed`, with `touched` saying whether any of some recipe paths differs between the two."""
    found: dict[str, Changed] = {}
    problems: list[Problem] = []
    for key in [*after.entries, *(key for key in before.entries if key not in after.entries)]:
        if _equal(before, after, key) and not touched(after.recipes(key)):
            continue
        try:
            old, new = before.points(key, rules), after.points(key, rules)
        except RejectedInput as rejected:
            problems.extend(rejected.problems)
            continue
        change = compared(old, new)
        if change.added or change.removed or not (key in before.entries and key in after.entries):
            found[key] = change
    if problems:
        raise RejectedInput(problems)
    return found


def compared(old: tuple[Point, ...], new: tuple[Point, ...]) -> Changed:
    """Two point sets by identity."""
    had, has = {point.identity for point in old}, {point.identity for point in new}
    added = tuple(point for point in new if point.identity not in had)
    removed = tuple(point for point in old if point.identity not in has)
    return Changed(added, removed, old, new)


def _equal(before: Side, after: Side, key: str) -> bool:
    old, new = before.entries.get(key), after.entries.get(key)
    if old is None or new is None or (old.data is not new.data and old.data != new.data):
        return False
    return before.runners.hardware.get(old.runner) == after.runners.hardware.get(new.runner)
