"""Purpose: the measured points of config keys, at one revision: what a sweep of that key would run.

Source: formats.md 2 and 2.5. A point is one concurrency of one generated row; its identity is (fingerprint,
concurrency). Rules `october` bind the recipe into the fingerprint; rules `august` hash the row alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from app.target.source import FileLine, RejectedInput
from app.target.tree import Layout, NotRecorded, Tree

if TYPE_CHECKING:
    from app.planner.rows import Generated
    from app.target.masters import MasterEntry
    from app.target.recipe import EffectiveRecipe, Unbound
    from app.target.runners import Runners

AGENTIC = "agentic-coding"
FIXED = "fixed-seq-len"


class Rules(Enum):
    """Which generation of planning rules applies; chosen by layout, forced by `--rules`."""

    AUGUST = "august"
    OCTOBER = "october"

    @classmethod
    def of(cls, layout: Layout) -> Rules:
        return cls.OCTOBER if layout is Layout.OCTOBER else cls.AUGUST


@dataclass(frozen=True)
class Point:
    """One concurrency of one throughput row. `row` is the generator's row (incumbent field names, no fingerprint).

    `master` is the line of the search-space row. `recipe` is the bound recipe; None where the row names none (August
    single-node scripts), `Unbound` where the named one cannot be bound.
    """

    key: str
    scenario: str
    multinode: bool
    concurrency: int
    fingerprint: str
    row: Mapping[str, Any]
    master: FileLine
    recipe: EffectiveRecipe | Unbound | None

    @property
    def identity(self) -> tuple[str, int]:
        return (self.fingerprint, self.concurrency)

    @property
    def speculative(self) -> bool:
        """The master's label; the real method stands in the recipe."""
        return str(self.row.get("spec-decoding", "none")) != "none"

    @property
    def label(self) -> str:
        """Short name in verdicts: c10, with 8k1k in front for fixed-sequence points."""
        if self.scenario == AGENTIC:
            return f"c{self.concurrency}"
        isl, osl = int(self.row["isl"]), int(self.row["osl"])
        short = {(1024, 1024): "1k1k", (8192, 1024): "8k1k"}.get((isl, osl), f"{isl}_{osl}")
        return f"{short} c{self.concurrency}"


def points(tree: Tree, rules: Rules, keys: Iterable[str] | None = None) -> dict[str, tuple[Point, ...]]:
    """All throughput points (no evals) of config keys at one revision, by key in master order.

    Recipes are bound where a row names one; one that cannot be read or bound is an `Unbound` in its point. Raises
    RejectedInput for a broken master or runners file, NotRecorded where one was not gathered.
    """
    from app.target.masters import read_masters
    from app.target.runners import read_runners

    entries, runners = read_masters(tree), read_runners(tree)
    wanted = entries.keys() if keys is None else set(keys)
    return {key: points_of(entry, runners, tree, rules) for key, entry in entries.items() if key in wanted}


def points_of(entry: MasterEntry, runners: Runners, tree: Tree, rules: Rules) -> tuple[Point, ...]:
    """The points of one entry; see `points`."""
    from app.planner.rows import generate

    return tuple(point for made in generate(entry, runners, rules) for point in _points(made, tree, rules))


def _points(made: Generated, tree: Tree, rules: Rules) -> Iterator[Point]:
    from app.planner.fingerprint import row_fingerprint

    plain, master = row_fingerprint(made.fields), made.master
    for index in range(len(made.rows)):
        row = made.row(index)
        for concurrency in row["conc"] if isinstance(row["conc"], list) else [row["conc"]]:
            own: Mapping[str, Any] = {**row, "conc": [concurrency] if made.multinode else concurrency}
            recipe = _bound_or_said(tree, own, master)
            own = with_nodes(own, recipe, rules)
            fingerprint = fingerprint_of(own, recipe, rules, plain)
            yield Point(made.key, made.scenario, made.multinode, concurrency, fingerprint, own, master, recipe)


def with_nodes(row: Mapping[str, Any], recipe: EffectiveRecipe | Unbound | None, rules: Rules) -> Mapping[str, Any]:
    """October: the node count of a multi-node row is its recipe's, where that says it for every role."""
    from app.target.recipe import EffectiveRecipe

    if rules is Rules.AUGUST or "prefill" not in row or not isinstance(recipe, EffectiveRecipe):
        return row
    counts = [role.nodes for role in recipe.roles.values()]
    if not counts or None in counts:
        return row
    return {**row, "node-count": sum(count for count in counts if count is not None)}


def fingerprint_of(row: Mapping[str, Any], recipe: EffectiveRecipe | Unbound | None, rules: Rules, plain: str) -> str:
    """October binds the recipe of a row with `srt-recipe` into the hash; else `plain`, the hash of the row."""
    if rules is Rules.OCTOBER and "srt-recipe" in row:
        from app.planner.fingerprint import bound_fingerprint
        from app.target.recipe import EffectiveRecipe

        return bound_fingerprint(row, recipe) if isinstance(recipe, EffectiveRecipe) else plain
    return plain


def bound_recipe(tree: Tree, row: Mapping[str, Any], master: FileLine) -> EffectiveRecipe | Unbound | None:
    """The recipe that serves a generated row; None where the row names none.

    Raises RejectedInput for a broken recipe file and NotRecorded for one that was not gathered.
    """
    from app.target.recipes import effective, recipe_reference

    reference = recipe_reference(tree.layout, row)
    return None if reference is None else effective(tree, *reference, row, origin=master)


def _bound_or_said(tree: Tree, row: Mapping[str, Any], master: FileLine) -> EffectiveRecipe | Unbound | None:
    """As `bound_recipe`; a recipe that cannot be read is an `Unbound` that says why, so that other points are known."""
    from app.target.recipe import Unbound

    try:
        return bound_recipe(tree, row, master)
    except NotRecorded as unseen:
        return Unbound(unseen.path, str(unseen), outside_repository=True)
    except RejectedInput as rejected:
        return Unbound(rejected.problems[0].where.path, str(rejected.problems[0]))
