"""Purpose: recipe files of either schema as effective recipes, and the one variant that serves a matrix point.

Source: formats.md 3 and 11. `read_recipe` gives all candidates of a file or of a selector, `bind` (app.target.binding)
picks the one that serves a generated row, `effective` does both and writes what the harness writes.

Invariants: everything is pure; results are cached by content, path, revision and selector and must not be changed.
Settings of a shared fragment stand below those of the recipe and name the fragment's file and line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from app.target.binding import bind, bound
from app.target.recipe import EffectiveRecipe, Unbound
from app.target.recipe_august import read_august
from app.target.recipe_document import Node, merged, of_file, read_document, read_whole
from app.target.recipe_october import read_october
from app.target.recipe_shape import Shape
from app.target.recipe_variants import Variant, is_bundle, variants
from app.target.source import FileLine, RejectedInput, reject
from app.target.tree import Layout, Tree

AGENTIC = "agentic-coding"
FIXED = "fixed-seq-len"

_WORKLOAD_FIXED = re.compile(r"(?:\A|[^0-9a-z])(?:\d+k\d+k|isl\d+k?_?osl\d+k?)(?:[^0-9a-z]|\Z)", re.IGNORECASE)


def scenario_of_path(path: str) -> str:
    """The scenario that a path names by "agentic", "agentx" or lengths such as 8k1k; "" where it names none."""
    if re.search(r"agentic|agentx", path, re.IGNORECASE):
        return AGENTIC
    return FIXED if _WORKLOAD_FIXED.search(path) else ""


def fragment_path(layout: Layout, path: str, scenario: str = "") -> str:
    """The shared fragment below a recipe, "" where none applies (August, or a path that names no scenario)."""
    kind = {AGENTIC: "agentic", FIXED: "fixed-sequence"}.get(scenario or scenario_of_path(path))
    if layout is not Layout.OCTOBER or kind is None:
        return ""
    return f"{layout.fragments}{kind}-{'multi' if '/multi_node/' in path else 'single'}.yaml"


def read_recipe(
    tree: Tree, path: str, selector: str = "", scenario: str = "", *, lenient: bool = False
) -> tuple[EffectiveRecipe, ...]:
    """All candidates of a recipe file, or the variants that `selector` names, each after all merges.

    `scenario` (agentic-coding, fixed-seq-len) chooses the shared fragment; without it the path does. Raises
    RejectedInput with file and line for anything wrong, also for a file that is not there, and NotRecorded for a
    file that was not gathered. `lenient` reads what was launched before anyone checked: a doubled key counts as the
    harness reads it (the last one) and is told in `notes`.
    """
    content = tree.read(path)
    if content is None:
        fix = "Add the recipe file, or correct the name in the master config."
        raise reject(FileLine(path, 1, 0, tree.revision), "The recipe is not in the repository.", path, fix, 0)
    fragment = fragment_path(tree.layout, path, scenario)
    below = tree.read(fragment) if fragment else None
    agentic = (scenario or scenario_of_path(path)) == AGENTIC
    shared = (fragment, below) if below is not None else ("", b"")
    return _read(path, tree.revision, content, selector, shared, agentic, lenient)


@lru_cache(maxsize=1024)
def _read(
    path: str, sha: str, content: bytes, selector: str, fragment: tuple[str, bytes], agentic: bool, lenient: bool
) -> tuple[EffectiveRecipe, ...]:
    document = read_whole(path, content, sha)
    if document.doubled and not lenient:
        raise RejectedInput(list(document.doubled))
    shape = Shape(path, sha)
    _check_keys(shape, document.root)
    found = variants(path, document.root, selector, sha)
    base = document.root.value.get("base") if is_bundle(document.root) else None
    shared = of_file(read_document(fragment[0], fragment[1], sha), fragment[0]) if fragment[0] else None
    notes = tuple(str(problem) for problem in document.doubled)
    recipes = (_effective(shape, variant, base, shared, agentic) for variant in found)
    return tuple(replace(recipe, notes=notes) if notes else recipe for recipe in recipes)


def _check_keys(shape: Shape, root: Node) -> None:
    """Every key of a recipe is a string: flags, variables and names are texts."""
    pending = [root]
    while pending:
        value = pending.pop().value
        if isinstance(value, dict):
            for key, child in value.items():
                if not isinstance(key, str):
                    raise reject(shape.at(child), "A key must be a string.", key, "Put the key in quotes.", 1)
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)


def _effective(
    shape: Shape, variant: Variant, base: Node | None, shared: Node | None, agentic: bool
) -> EffectiveRecipe:
    schema = variant.node.value.get("schema")
    number = 1 if schema is None else schema.value
    if number == 1:
        if schema is None and "roles" in variant.node.value:
            where = shape.at(variant.node.value["roles"])
            raise reject(where, "A recipe with roles needs schema: 2.", "no schema", "Add schema: 2 to base.", 1)
        return read_august(shape, variant)
    if number != 2:
        where = shape.at(schema) if schema is not None else shape.at(variant.node)
        raise reject(where, "The recipe schema must be 1 or 2.", number, "Write schema: 2.", 1)
    single = "/multi_node/" not in shape.path
    if shared is None:
        return read_october(shape, variant, single, agentic, base)
    return read_october(shape, Variant(variant.selector, merged(shared, variant.node)), single, agentic, base)


def effective(
    tree: Tree, path: str, selector: str, row: Mapping[str, Any], *, origin: FileLine | None = None
) -> EffectiveRecipe | Unbound:
    """The recipe that serves one generated row, with the values that the harness writes (CONC, KV_OFFLOADING, ...).

    `row` has the generator's fields; `origin` is the master's line of the row, where bound values are said to come
    from. Raises as `read_recipe` does, except for a file that is not in the tree: that is an Unbound; in August the
    launcher takes such recipes from outside the repository.
    """
    if tree.read(path) is None:
        outside = tree.layout is Layout.AUGUST
        meaning = "it comes from outside" if outside else "the entry cannot be launched"
        return Unbound(path, f"{path} is not in the repository: {meaning}", outside_repository=outside)
    scenario = str(row.get("scenario-type") or (FIXED if "isl" in row else AGENTIC))
    multinode = "prefill" in row
    chosen = bind(read_recipe(tree, path, selector, scenario), row, multinode=multinode)
    if isinstance(chosen, Unbound):
        return chosen
    return bound(chosen, row, multinode=multinode, origin=origin)


def identity_recipe(recipe: EffectiveRecipe) -> dict[str, Any]:
    """The mapping that the bound-recipe fingerprint hashes (formats.md 2.5): without the name, the concurrency and the
    telemetry port, which do not change what is measured."""
    identity = {key: value for key, value in recipe.raw.items() if key != "name"}
    for path in (("benchmark", "concurrencies"), ("benchmark", "env", "CONC"), ("telemetry", "dcgm_exporter", "port")):
        identity = _without(identity, path)
    return identity


def _without(mapping: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    key = path[0]
    copy = dict(mapping)
    if len(path) == 1:
        copy.pop(key, None)
    elif isinstance(copy.get(key), Mapping):
        copy[key] = _without(copy[key], path[1:])
    return copy


def recipe_reference(layout: Layout, row: Mapping[str, Any], *, evaluation: bool = False) -> tuple[str, str] | None:
    """(path, selector) of the recipe that a generated row names, None where it names none.

    Reads `srt-recipe` (October) and `CONFIG_FILE=` in the workers' additional settings (August); with `evaluation`
    `eval-srt-recipe` or `EVAL_CONFIG_FILE=` first. August names start with `recipes/`, which stands for
    `benchmarks/multi_node/srt-slurm-recipes/`.
    """
    reference = _named(row, ("eval-srt-recipe", "EVAL_CONFIG_FILE")) if evaluation else ""
    reference = reference or _named(row, ("srt-recipe", "CONFIG_FILE"))
    if not reference:
        return None
    path, _, selector = reference.partition(":")
    folder = "multi_node" if "prefill" in row else "single_node"
    if path.startswith("recipes/"):
        path = f"{layout.recipes}{folder}/srt-slurm-recipes/{path.removeprefix('recipes/')}"
    elif "/" not in path and row.get("framework") == "llmd-vllm":
        path = f"{layout.recipes}multi_node/llm-d-recipes/{path}"
    elif row.get("srt-recipe-dir"):
        path = f"{layout.recipes}{folder}/srt-slurm-recipes/{row['srt-recipe-dir']}/{path}"
    elif not path.startswith(layout.root):
        path = f"{layout.root}{path}"
    return path, selector


def _named(row: Mapping[str, Any], names: tuple[str, str]) -> str:
    field, variable = names
    if row.get(field):
        return str(row[field])
    for worker in ("prefill", "decode", "worker"):
        block = row.get(worker)
        for setting in (block.get("additional-settings") or ()) if isinstance(block, Mapping) else ():
            if str(setting).startswith(f"{variable}="):
                return str(setting).removeprefix(f"{variable}=")
    return ""


__all__ = [
    "bind",
    "effective",
    "fragment_path",
    "identity_recipe",
    "read_recipe",
    "recipe_reference",
    "scenario_of_path",
]
