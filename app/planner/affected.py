"""Purpose: computes the `Scope` of a pull request from two trees and the list of changed files.

Affected keys = keys whose points differ, UNION keys whose effective recipe differs (a recipe edit is invisible to
August's row hashes), UNION keys that appended changelog entries name, UNION keys whose launch closure holds a changed
file. Source: rules.md "Across checks".

Invariants: both sides are generated and hashed by head's rules. Files that are not in `changed_files` are equal at
both revisions. A recipe that was not recorded makes its points' recipe `Unbound`, it never fails the scope.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from app.planner.changes import Changed, Side, compared, differing
from app.planner.points import Point, Rules
from app.planner.scope import AffectedKey, Closure, LaunchFiles, Scope
from app.planner.selection import matching
from app.target.changelog import SCENARIOS, ChangelogEntry, difference
from app.target.recipe import EffectiveRecipe
from app.target.tree import Tree

LAUNCH_FOLDERS: Final = ("benchmarks/", "runners/", "infx/launch", "infx/srt")
_PROSE: Final = (".md", ".txt", ".png", ".svg")


def scope_between(
    base: Tree, head: Tree, changed_files: Iterable[str], rules: Rules | None, closure: Closure | None
) -> Scope:
    """See `app.planner.scope.compute_scope`."""
    files = tuple(sorted(set(changed_files)))
    rules = rules or Rules.of(head.layout)
    before, after = Side.of(base), Side.of(head)
    entries = difference(base, head).added
    touched = frozenset(files)
    changes = differing(before, after, rules, lambda paths: not touched.isdisjoint(paths))
    why = _Reasons(before, after, rules, touched, changes)
    why.named(entries)
    undecided = (*why.recipes(), *why.launches(closure))
    return Scope(
        layout=head.layout,
        rules=rules,
        keys=tuple(why.affected(key) for key in why.ordered()),
        entries=entries,
        changed_files=files,
        head_entries=tuple(after.entries.values()),
        base_entries=tuple(before.entries.values()),
        undecided=undecided,
        closure=closure,
    )


class _Reasons:
    """Collects why each key is affected, and in which scenarios."""

    def __init__(
        self, before: Side, after: Side, rules: Rules, touched: frozenset[str], changes: Mapping[str, Changed]
    ) -> None:
        self.before, self.after, self.rules, self.touched = before, after, rules, touched
        self.changes = dict(changes)
        self.why: dict[str, dict[str, None]] = {}
        self.scenarios: dict[str, set[str]] = {}
        self.append_only: dict[str, bool] = {}
        self.known_recipes: set[str] = set()
        for key, change in changes.items():
            self.add(key, "points", {point.scenario for point in (*change.added, *change.removed)})

    def add(self, key: str, reason: str, scenarios: Iterable[str]) -> None:
        self.why.setdefault(key, {})[reason] = None
        self.scenarios.setdefault(key, set()).update(scenarios)

    def named(self, entries: Iterable[ChangelogEntry]) -> None:
        """Keys that appended entries name; a name that selects nothing is the changelog gate's finding, not ours."""
        keys = list(self.after.entries)
        for entry in entries:
            for name in entry.config_keys:
                for key in matching(name, keys):
                    self.add(key, "changelog", entry.scenarios)
                    self.append_only[key] = self.append_only.get(key, True) and entry.append_only

    def recipes(self) -> list[str]:
        """Keys one of whose named recipes changed, where any point's effective recipe differs.

        Gives the reasons why a changed recipe could not be compared.
        """
        unseen: dict[str, None] = {}
        for key in self.all_keys():
            paths = self.before.recipes(key) | self.after.recipes(key)
            self.known_recipes |= paths
            for path in sorted(self.touched & paths):
                if not (self.before.tree.knows(path) and self.after.tree.knows(path)):
                    unseen[f"{path} changed, but was not recorded at both revisions"] = None
            if not self.touched.isdisjoint(paths):
                scenarios = _recipe_scenarios(self.change(key))
                if scenarios:
                    self.add(key, "recipe", scenarios)
        return list(unseen)

    def all_keys(self) -> list[str]:
        return [*self.after.entries, *(key for key in self.before.entries if key not in self.after.entries)]

    def change(self, key: str) -> Changed:
        if key not in self.changes:
            old, new = self.before.points(key, self.rules), self.after.points(key, self.rules)
            self.changes[key] = compared(old, new)
        return self.changes[key]

    def launches(self, closure: Closure | None) -> tuple[str, ...]:
        """Keys whose launch reads a changed file; gives the reasons why that may not be all."""
        files = [path for path in self.touched if self.is_launch_file(path)]
        if not files:
            return ()
        if closure is None:
            return tuple(f"which config keys {path} serves is not known" for path in sorted(files))
        undecided: dict[str, None] = {}
        for key in self.all_keys():
            for side in (self.after, self.before):
                entry = side.entries.get(key)
                if entry is None:
                    continue
                launch = closure(entry, side.tree)
                if not launch.paths.isdisjoint(files):
                    self.add(entry.key, "launch", entry.scenarios)
                elif launch.unknown:
                    undecided[f"{entry.key}: {launch.unknown}"] = None
                if side is self.after and self._same_launch(key, launch):
                    break
        return tuple(undecided)

    def _same_launch(self, key: str, launch: LaunchFiles) -> bool:
        """True where the merge base launches the key with the same unchanged files: nothing new to be learned there."""
        known = {*launch.paths, self.after.tree.layout.runners}
        return key not in self.changes and not launch.unknown and self.touched.isdisjoint(known)

    def is_launch_file(self, path: str) -> bool:
        root = self.after.tree.layout.root
        inside = path.removeprefix(root)
        if not inside.startswith(LAUNCH_FOLDERS) or inside.endswith(_PROSE) or path in self.known_recipes:
            return False
        return "srt-slurm-recipes/" not in inside or not inside.endswith((".yaml", ".yml"))

    def ordered(self) -> list[str]:
        return [key for key in self.all_keys() if key in self.why]

    def affected(self, key: str) -> AffectedKey:
        change, scenarios = self.change(key), self.scenarios[key] or set(SCENARIOS)

        def chosen(points: tuple[Point, ...]) -> tuple[Point, ...]:
            return tuple(point for point in points if point.scenario in scenarios)

        return AffectedKey(
            key=key,
            why=tuple(self.why[key]),
            base=self.before.entries.get(key),
            head=self.after.entries.get(key),
            points=chosen(change.head),
            base_points=chosen(change.base),
            added=change.added,
            removed=change.removed,
            append_only=self.append_only.get(key, False),
        )


def _recipe_scenarios(change: Changed) -> set[str]:
    """Scenarios with a point of one identity whose effective recipe differs between the revisions."""
    had = {point.identity: point for point in change.base}
    return {
        point.scenario
        for point in change.head
        if point.identity in had and _settings(point) != _settings(had[point.identity])
    }


def _settings(point: Point) -> object:
    from app.target.recipes import identity_recipe

    recipe = point.recipe
    return identity_recipe(recipe) if isinstance(recipe, EffectiveRecipe) else recipe
