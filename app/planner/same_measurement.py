"""Purpose: whether two commits are the same measurement (design.md 5): would a sweep of one measure the other?

They are iff for every key in question the points, their bound recipes (the eval recipe too), images and commands, and
every file of the launch closure are equal. Comments, order, `pr-link`, other keys and plain merges do not count.

Invariants: what cannot be compared (a file that was not gathered, a configuration that is rejected, a launch file of
which nobody knows whom it serves) is `undecided`, never equal. A difference names its file. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.planner.affected import LAUNCH_FOLDERS
from app.planner.changes import Side, same_file
from app.planner.points import Point, Rules
from app.planner.scope import Closure
from app.target.masters import MasterEntry
from app.target.recipe import EffectiveRecipe, Unbound
from app.target.recipes import effective, identity_recipe, recipe_reference
from app.target.source import RejectedInput
from app.target.tree import NotRecorded, Tree

LABELS = frozenset({"kv-offloading", "kv-offload-backend", "total-cpu-dram-gb", "spec-decoding"})
"""Row fields that a master can change while the server runs the same (rules.md 1)."""
LABEL_VARIABLES = frozenset({"KV_OFFLOADING", "TOTAL_CPU_DRAM_GB", "SPEC_DECODING"})


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs for a key: `path` is the file to look at, `what` the points or the file's role.

    `labels_only`: nothing but labels of the rows differs, so the points were relabelled without being measured.
    `is_new`: the point's concurrency has no counterpart in `before`.
    """

    key: str
    path: str
    what: str
    labels_only: bool = False
    is_new: bool = False


@dataclass(frozen=True)
class Comparison:
    """`before` and `after` are revisions; `points` and `files` count what was compared and found equal.

    `dropped` are points that only `before` has: a sweep of it measured them in vain.
    """

    before: str
    after: str
    differences: tuple[Difference, ...] = ()
    undecided: tuple[str, ...] = ()
    points: int = 0
    files: int = 0
    dropped: tuple[Point, ...] = ()

    @property
    def same(self) -> bool:
        return self.covers and not self.dropped

    @property
    def covers(self) -> bool:
        """True where a sweep of `before` measured every point of `after` as it stands there, and perhaps more."""
        return not self.differences and not self.undecided

    @property
    def paths(self) -> tuple[str, ...]:
        """Files that break the sameness, each once."""
        dropped = tuple(point.master.path for point in self.dropped)
        return tuple(dict.fromkeys((*(difference.path for difference in self.differences), *dropped)))

    @property
    def told(self) -> str:
        """`11 points and 3 launch files equal`."""
        counted = f"{self.points} {'point' if self.points == 1 else 'points'}"
        if not self.files:
            return f"{counted} equal"
        return f"{counted} and {self.files} launch {'file' if self.files == 1 else 'files'} equal"


def compare_measurement(
    before: Tree, after: Tree, keys: Iterable[str], rules: Rules | None = None, closure: Closure | None = None
) -> Comparison:
    """Compare keys at two revisions. What a pull request may hold never raises here: it is then undecided.

    Without `closure`, every recorded launch file that differs is undecided.
    """
    if before.revision == after.revision:
        return Comparison(before.revision, after.revision)
    rules = rules or Rules.of(after.layout)
    try:
        old, new = Side.of(before), Side.of(after)
    except (NotRecorded, RejectedInput) as unseen:
        return Comparison(before.revision, after.revision, undecided=(_said(unseen),))
    tally = _Tally(old, new, rules, closure)
    for key in dict.fromkeys(keys):
        try:
            tally.key(key)
        except (NotRecorded, RejectedInput) as unseen:
            tally.undecided[f"{key}: {_said(unseen)}"] = None
    if closure is None:
        tally.unknown_launch_files()
    return tally.result()


def _said(unseen: NotRecorded | RejectedInput) -> str:
    return str(unseen) if isinstance(unseen, NotRecorded) else f"the configuration is rejected: {unseen.problems[0]}"


@dataclass
class _Tally:
    """Collects the comparison key by key."""

    old: Side
    new: Side
    rules: Rules
    closure: Closure | None
    differences: list[Difference] = field(default_factory=list)
    undecided: dict[str, None] = field(default_factory=dict)
    equal_points: int = 0
    equal_files: set[str] = field(default_factory=set)
    dropped: list[Point] = field(default_factory=list)

    def key(self, key: str) -> None:
        had = {_identity(point): point for point in self._points(self.old, key)}
        has = {_identity(point): point for point in self._points(self.new, key)}
        missing = [point for identity, point in has.items() if identity not in had]
        surplus = [point for identity, point in had.items() if identity not in has]
        self.equal_points += len(has) - len(missing)
        for point in missing:
            self.differences.append(self._why(point, surplus))
        measured_otherwise = {point.concurrency for point in missing}
        self.dropped += [point for point in surplus if point.concurrency not in measured_otherwise]
        for point in (point for point in has.values() if _identity(point) in had):
            self._eval_recipe(point, had[_identity(point)])
        self._launch(key)

    def _points(self, side: Side, key: str) -> tuple[Point, ...]:
        """Raises NotRecorded where a recipe of the key was not gathered: two unseen recipes are not equal."""
        points = side.points(key, self.rules)
        for point in points:
            if isinstance(point.recipe, Unbound) and not side.tree.knows(point.recipe.path):
                raise NotRecorded(point.recipe.path, side.tree.revision)
        return points

    def _why(self, point: Point, surplus: Iterable[Point]) -> Difference:
        """The file behind a point that `before` lacks: its recipe, or the master where its row differs."""
        earlier = next((one for one in surplus if one.concurrency == point.concurrency), None)
        label = f"{point.label} differs"
        if earlier is None:
            return Difference(point.key, point.master.path, f"{point.label} is new", is_new=True)
        fields = {name for name in {*earlier.row, *point.row} if earlier.row.get(name) != point.row.get(name)}
        fields -= {"exp-name", "conc"}
        if isinstance(point.recipe, EffectiveRecipe) and not fields:
            return Difference(point.key, point.recipe.path, label)
        labels = bool(fields) and fields <= LABELS and _served(earlier) == _served(point)
        shown = ", ".join(sorted(fields))
        return Difference(point.key, point.master.path, f"{label} in {shown}" if shown else label, labels)

    def _eval_recipe(self, point: Point, earlier: Point) -> None:
        """A recipe that only the evals use: equal as bound, whatever the throughput recipe says."""
        path, settings = _bound_eval(self.new.tree, point)
        if path and settings != _bound_eval(self.old.tree, earlier)[1]:
            self.differences.append(Difference(point.key, path, f"the eval recipe of {point.label} differs"))

    def _launch(self, key: str) -> None:
        if self.closure is None:
            return
        paths: set[str] = set()
        for side in (self.old, self.new):
            entry: MasterEntry | None = side.entries.get(key)
            if entry is not None:
                files = self.closure(entry, side.tree)
                paths |= files.paths
                if files.unknown:
                    self.undecided[f"{key}: {files.unknown}"] = None
        for path in sorted(paths - self.new.recipes(key) - set(self.new.tree.layout.masters)):
            if same_file(self.old.tree, self.new.tree, path):
                self.equal_files.add(path)
            else:
                self.differences.append(Difference(key, path, "a launch file differs"))

    def unknown_launch_files(self) -> None:
        """Launch files that differ although nobody knows which keys they serve."""
        root = self.new.tree.layout.root
        recipes = {path for key in self.new.entries for path in self.new.recipes(key)}
        for folder in LAUNCH_FOLDERS:
            recorded = {*self.old.tree.below(root + folder), *self.new.tree.below(root + folder)}
            for path in sorted(recorded - recipes):
                if "srt-slurm-recipes/" in path and path.endswith((".yaml", ".yml")):
                    continue
                known = self.old.tree.knows(path) and self.new.tree.knows(path)
                if not known or not same_file(self.old.tree, self.new.tree, path):
                    self.undecided[f"which config keys {path} serves is not known, and it differs"] = None
                else:
                    self.equal_files.add(path)

    def result(self) -> Comparison:
        return Comparison(
            before=self.old.tree.revision,
            after=self.new.tree.revision,
            differences=tuple(dict.fromkeys(self.differences)),
            undecided=tuple(self.undecided),
            points=self.equal_points,
            files=len(self.equal_files),
            dropped=tuple(self.dropped),
        )


def _identity(point: Point) -> tuple[str, int, str]:
    """Fingerprint, concurrency, and the recipe's settings (which August's row fingerprint does not hold)."""
    settings = _settings(point)
    told = repr(point.recipe) if settings is None else json.dumps(settings, sort_keys=True, default=str)
    return (point.fingerprint, point.concurrency, told)


def _settings(point: Point) -> Mapping[str, Any] | None:
    return identity_recipe(point.recipe) if isinstance(point.recipe, EffectiveRecipe) else None


def _served(point: Point) -> Mapping[str, Any] | None:
    """What the server runs: the recipe without the client's own copies of the row's labels."""
    settings = _settings(point)
    if settings is None:
        return None
    benchmark = dict(settings.get("benchmark") or {})
    env = {name: value for name, value in (benchmark.get("env") or {}).items() if name not in LABEL_VARIABLES}
    return {**settings, "benchmark": {**benchmark, "env": env}}


def _bound_eval(tree: Tree, point: Point) -> tuple[str, object]:
    """(path, bound settings) of the recipe that only the point's evals use; ("", None) where there is none."""
    reference = recipe_reference(tree.layout, point.row, evaluation=True)
    if reference is None or reference == recipe_reference(tree.layout, point.row):
        return "", None
    recipe = effective(tree, *reference, point.row, origin=point.master)
    return reference[0], identity_recipe(recipe) if isinstance(recipe, EffectiveRecipe) else recipe
