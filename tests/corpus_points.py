"""Purpose: the shared recipe corpus as submissions: each recipe file with the points that it would be measured at.

The August tree has masters: a recipe that a search-space row names, for throughput or for its eval, is submitted with
that row's points. A recipe that no row names, and the October recipes (which came without masters), get one made point
for each variant: model, SKU and concurrency are read from the recipe and its path, and the row says so (`made`).

Invariants: read only. A recipe that cannot be read or bound is a submission with its reason, never left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.checkout.revisions import directory_tree
from app.planner.changes import Side
from app.planner.points import AGENTIC, FIXED, Point, Rules
from app.planner.scope import AffectedKey, Scope
from app.target.flags import canonical_image
from app.target.recipe import EffectiveRecipe
from app.target.recipes import read_recipe, recipe_reference, scenario_of_path
from app.target.source import FileLine, RejectedInput
from app.target.speculation import speculation_of
from app.target.tree import OCTOBER_ROOT, Layout, Tree

SHARED = Path(__file__).resolve().parents[1] / "../shared"
CORPUS = SHARED / "inferencex"
_LENGTHS = re.compile(r"(?:\A|[^0-9a-z])(?:isl)?(\d+)k_?(?:osl)?(\d+)k", re.IGNORECASE)
_SKU = re.compile(r"(?:\A|[^a-z0-9])(gb200|gb300|b200|b300|h100|h200)(?:[^a-z0-9]|\Z)", re.IGNORECASE)
_LABELS = {"sglang": "dynamo-sglang", "vllm": "dynamo-vllm", "trtllm": "dynamo-trt"}


@dataclass(frozen=True)
class Submission:
    """One recipe file as if a pull request submitted it. `problem` says why it has no points."""

    path: str
    points: tuple[Point, ...]
    made: bool
    problem: str = ""

    def scope(self, layout: Layout) -> Scope:
        """The scope of a pull request that changes this recipe and nothing else."""
        keys = {point.key: tuple(other for other in self.points if other.key == point.key) for point in self.points}
        affected = tuple(
            AffectedKey(key, ("recipe",), None, None, points, points, (), ()) for key, points in keys.items()
        )
        return Scope(layout, Rules.of(layout), affected, (), (self.path,))


def august_tree(folder: Path = CORPUS) -> Tree:
    """The tree of 22 August: masters, recipes and curves; the October part of the folder is left out."""
    files = directory_tree(str(folder)).files
    return Tree("", _Part(files, "", "october/"), complete=True, forced_layout=Layout.AUGUST)


def october_tree(folder: Path = CORPUS) -> Tree:
    """The October recipes, with August's curves at their October place."""
    files = directory_tree(str(folder)).files
    held = {path.removeprefix("october/"): files[path] for path in files if path.startswith("october/")}
    curves = Layout.AUGUST.golden_curves
    for path in [path for path in files if path.startswith(curves)]:
        held[f"{Layout.OCTOBER.golden_curves}{path.removeprefix(curves)}"] = files[path]
    return Tree("", held, complete=True, forced_layout=Layout.OCTOBER)


class _Part(Mapping[str, bytes]):
    """Files below a folder, without those below another one."""

    def __init__(self, files: Mapping[str, bytes], inside: str, without: str) -> None:
        self._files = files
        self._paths = [path for path in files if path.startswith(inside) and not path.startswith(without)]
        self._known = frozenset(self._paths)

    def __getitem__(self, path: str) -> bytes:
        if path not in self._known:
            raise KeyError(path)
        return self._files[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def recipe_files(tree: Tree) -> list[str]:
    """Recipe files and shared fragments, sorted."""
    paths = [*tree.below(tree.layout.recipes), *tree.below(tree.layout.fragments)]
    return [path for path in paths if path.endswith((".yaml", ".yml"))]


def master_points(tree: Tree) -> dict[str, list[Point]]:
    """Config key -> points; a key that is rejected raises RejectedInput."""
    side = Side.of(tree)
    rules = Rules.of(tree.layout)
    return {key: list(side.points(key, rules)) for key in side.entries}


def submissions(tree: Tree) -> list[Submission]:
    """Every recipe file of a tree."""
    named: dict[str, list[Point]] = {}
    prefixes = {"dsr1", "dsv4", "dsv41flash", "glm5", "kimik2.5", "kimik2.6"}
    if tree.layout is Layout.AUGUST:
        for points in master_points(tree).values():
            for point in points:
                prefixes.add(str(point.row["model-prefix"]))
                references = (recipe_reference(tree.layout, point.row, evaluation=which) for which in (False, True))
                for path in {reference[0] for reference in references if reference is not None}:
                    named.setdefault(path, []).append(point)
    found = []
    for path in recipe_files(tree):
        if path.startswith(tree.layout.fragments):
            found.append(Submission(path, (), True, "a shared fragment: it is judged through the recipes above it"))
        else:
            found.append(
                Submission(path, tuple(named[path]), False) if path in named else unnamed(tree, path, prefixes)
            )
    return found


def unnamed(tree: Tree, path: str, prefixes: set[str]) -> Submission:
    """A recipe that no master row names, with one made point for each variant."""
    try:
        candidates = read_recipe(tree, path, scenario=scenario_of_path(path), lenient=True)
    except RejectedInput as rejected:
        return Submission(path, (), True, str(rejected.problems[0]))
    points = tuple(_made_point(path, recipe, prefixes) for recipe in candidates)
    return Submission(path, points, True, "" if points else "it holds no variant")


def _made_point(path: str, recipe: EffectiveRecipe, prefixes: set[str]) -> Point:
    scenario = scenario_of_path(path) or FIXED
    multinode = "/multi_node/" in path
    concurrency = _concurrency(recipe)
    row: dict[str, Any] = {
        "model-prefix": _prefix(path, prefixes),
        "model": str(recipe.model.value).removeprefix("hf:") if recipe.model else "",
        "image": canonical_image(str(recipe.image.value)) if recipe.image else "",
        "framework": _LABELS.get(recipe.engine, recipe.engine) if recipe.frontend == "dynamo" else recipe.engine,
        "precision": str(recipe.precision.value) if recipe.precision else "",
        "runner": _sku(path, recipe),
        "spec-decoding": "mtp" if _drafts(recipe) else "none",
        "conc": [concurrency] if multinode else concurrency,
        "exp-name": recipe.name,
    }
    lengths = _LENGTHS.search(path)
    if scenario == FIXED:
        row |= {"isl": 1024 * int(lengths[1] if lengths else 8), "osl": 1024 * int(lengths[2] if lengths else 1)}
    if multinode:
        row |= {"prefill": {}, "decode": {}}
    key = f"{path.removeprefix(OCTOBER_ROOT).rsplit('/', 1)[-1].removesuffix('.yaml')}:{recipe.variant or 'base'}"
    return Point(key, scenario, multinode, concurrency, "", row, FileLine(path, 1), recipe)


def _drafts(recipe: EffectiveRecipe) -> bool:
    try:
        return speculation_of(recipe) is not None
    except RejectedInput:
        return True


def _concurrency(recipe: EffectiveRecipe) -> int:
    for settings, name in ((recipe.benchmark_env, "CONC"), (recipe.benchmark, "concurrencies")):
        found = re.search(r"\d+", str(settings[name].value)) if name in settings else None
        if found:
            return int(found[0])
    named = re.search(r"(?:\A|[^a-z0-9])c(\d+)(?:[^0-9]|\Z)", f"{recipe.variant} {recipe.name}")
    return int(named[1]) if named else 1


def _prefix(path: str, prefixes: set[str]) -> str:
    parts = [part.replace("-", "").replace("deepseek", "ds").casefold() for part in path.split("/")]
    known = sorted((prefix for prefix in prefixes if any(p.startswith(prefix) for p in parts)), key=len)
    return known[-1] if known else "unknown"


def _sku(path: str, recipe: EffectiveRecipe) -> str:
    named = recipe.resources.get("gpu_type")
    if named is not None:
        return str(named.value)
    found = _SKU.search(path)
    return found[1].lower() if found else "unknown"


__all__ = [
    "AGENTIC",
    "CORPUS",
    "SHARED",
    "Submission",
    "august_tree",
    "master_points",
    "october_tree",
    "submissions",
    "unnamed",
]
