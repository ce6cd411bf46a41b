"""Purpose: what a pull request affects, computed once from the semantic diff and read by every `applies`.

Affected (rules.md, "Across checks") = keys whose points, effective recipe or effective settings differ between merge
base and head, UNION keys named by appended changelog entries, UNION keys whose launch closure holds a changed file.

Invariants: `Scope` is computed from two trees and the list of changed files, never from file names alone. Where a
closure cannot be narrowed, the reason stands in `undecided` and the rows that depend on it are "could not be
verified", never N/A.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from app.planner.points import AGENTIC, FIXED, Point, Rules
from app.target.changelog import ChangelogEntry
from app.target.masters import MasterEntry
from app.target.recipe import EffectiveRecipe
from app.target.tree import Layout, Tree

NVIDIA_SKUS = ("h100", "h200", "b200", "b300", "gb200", "gb300", "rtx6000pro")


def sku_of(runner: str) -> str:
    """`cluster:gb200-nv` -> `gb200` (rules.md 6: without `cluster:`, cut at the first `-`, lower-case)."""
    return runner.removeprefix("cluster:").split("-", 1)[0].lower()


class LaunchFiles(Protocol):
    """What launching a key reads (`app.target.closure.ClosureResult`)."""

    @property
    def paths(self) -> frozenset[str]:
        """Repository files that launching the key reads."""

    @property
    def unknown(self) -> str:
        """Why there may be more, "" if these are all."""


class Closure(Protocol):
    """The launch closure of an entry at one revision: scripts, sourced libraries, setup scripts, launcher branch."""

    def __call__(self, entry: MasterEntry, tree: Tree) -> LaunchFiles: ...


@dataclass(frozen=True)
class AffectedKey:
    """One affected config key. `points` are all head points in the scenarios that the change selects.

    `why` holds "points" (they differ), "recipe" (an effective recipe differs), "changelog" (an appended entry names the
    key) and "launch" (its launch closure holds a changed file). The change selects the scenarios that the naming
    entries select and those in which something differs.

    `append_only`: every entry that names the key is append-only.
    """

    key: str
    why: tuple[str, ...]
    base: MasterEntry | None
    head: MasterEntry | None
    points: tuple[Point, ...]
    base_points: tuple[Point, ...]
    added: tuple[Point, ...]
    removed: tuple[Point, ...]
    append_only: bool = False

    @property
    def named_in_changelog(self) -> bool:
        return "changelog" in self.why

    @property
    def only_removes(self) -> bool:
        """True where the change takes points away and changes nothing else of the key."""
        return bool(self.removed) and not self.added and not {"recipe", "launch"} & set(self.why)

    @property
    def new_points(self) -> tuple[Point, ...]:
        """Points whose row the base does not have, whatever its recipe: what an append-only sweep runs."""
        known = [(point.concurrency, _settings(point)) for point in self.base_points]
        return tuple(point for point in self.added if (point.concurrency, _settings(point)) not in known)

    @property
    def submitted(self) -> tuple[Point, ...]:
        """Points that the pull request wants measured: none that it removes, of an append-only change the new ones."""
        if self.only_removes:
            return ()
        return self.new_points if self.append_only else self.points


def _settings(point: Point) -> Mapping[str, object]:
    """A row without what differs between the points of one search-space row."""
    return {name: value for name, value in point.row.items() if name not in ("conc", "exp-name")}


@dataclass(frozen=True)
class Scope:
    """The semantic diff. `changed_files` are head paths and, for renames and deletions, base paths too."""

    layout: Layout
    rules: Rules
    keys: tuple[AffectedKey, ...]
    entries: tuple[ChangelogEntry, ...]
    changed_files: tuple[str, ...]
    head_entries: tuple[MasterEntry, ...] = ()
    base_entries: tuple[MasterEntry, ...] = ()
    undecided: tuple[str, ...] = field(default_factory=tuple)
    closure: Closure | None = field(default=None, compare=False, repr=False)

    @property
    def points(self) -> tuple[Point, ...]:
        """Submitted points of all affected keys."""
        return tuple(point for key in self.keys for point in key.submitted)

    @property
    def added_points(self) -> tuple[Point, ...]:
        return tuple(point for key in self.keys for point in key.added)

    @property
    def removed_points(self) -> tuple[Point, ...]:
        return tuple(point for key in self.keys for point in key.removed)

    @property
    def speculative_points(self) -> tuple[Point, ...]:
        return tuple(point for point in self.points if point.speculative or drafts(point))

    @property
    def agentic_speculative_points(self) -> tuple[Point, ...]:
        return tuple(point for point in self.speculative_points if point.scenario == AGENTIC)

    @property
    def fixed_points(self) -> tuple[Point, ...]:
        return tuple(point for point in self.points if point.scenario == FIXED)

    @property
    def append_only_entries(self) -> tuple[ChangelogEntry, ...]:
        return tuple(entry for entry in self.entries if entry.append_only)

    def points_of(self, frameworks: Iterable[str]) -> tuple[Point, ...]:
        wanted = frozenset(frameworks)
        return tuple(point for point in self.points if point.row.get("framework") in wanted)

    @property
    def nvidia_points(self) -> tuple[Point, ...]:
        return tuple(point for point in self.points if sku_of(str(point.row["runner"])) in NVIDIA_SKUS)


def drafts(point: Point) -> bool:
    """True where the bound recipe configures speculative decoding, whatever the master's label says."""
    from app.target.speculation import speculation_of

    recipe = point.recipe
    return isinstance(recipe, EffectiveRecipe) and speculation_of(recipe) is not None


def compute_scope(
    base: Tree,
    head: Tree,
    changed_files: Iterable[str],
    rules: Rules | None = None,
    closure: Closure | None = None,
) -> Scope:
    """What the change between two revisions affects.

    `changed_files` is the whole list (for renames both paths): a file that is not in it counts as equal. `rules`
    default to those of head's layout. Without `closure` a changed launch file is `undecided`. Raises RejectedInput
    where a master, runners file or changelog is broken, NotRecorded where one was not gathered.
    """
    from app.planner.affected import scope_between

    return scope_between(base, head, changed_files, rules, closure)
