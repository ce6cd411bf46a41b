"""Purpose: points that a launch script serves (no recipe), in the shape of a recipe, so that every check reads them.

Source: rules.md, "Shell is evaluated per point". The script is found as the launchers find it (model, precision, SKU,
framework, draft), evaluated for the point (app.target.shell), and its one serving command becomes the role `agg`.

Invariants: nothing is run. A script that is missing, serves nothing, or serves in ways that cannot be told apart
raises "could not be verified". Settings that are not decided stand in the recipe's `notes` as `name: reason` and not
among its settings. Staged copies of a model count as the model: the script is read as if none were staged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from app.planner.scope import sku_of
from app.target.recipe import EffectiveRecipe, Role, Setting
from app.target.source import RejectedInput
from app.target.tree import NotRecorded, Tree
from checks.contract import cannot_verify

if TYPE_CHECKING:
    from app.planner.points import Point
    from app.target.shell_record import Evaluated

SCRIPT = 0
"""`schema` of a recipe that was made from a launch script."""

_SUFFIXES = {"trt": "_trt", "atom": "_atom"}


def script_path(tree: Tree, row: Mapping[str, Any]) -> str:
    """The single-node launch script of a row. Raises CannotVerify where no such script is in the repository."""
    agentic = "isl" not in row
    folder = f"{tree.layout.recipes}single_node/{'agentic' if agentic else 'fixed_seq_len'}"
    name = f"{str(row['exp-name']).split('_')[0]}_{row['precision']}_{sku_of(str(row['runner']))}"
    draft = "_mtp" if row.get("spec-decoding") == "mtp" else ""
    framework = str(row["framework"])
    wanted = (f"{folder}/{name}_{framework}{draft}.sh", f"{folder}/{name}{_SUFFIXES.get(framework, '')}{draft}.sh")
    unseen = ""
    for path in wanted:
        if path in tree.files:
            return path
        if not tree.knows(path):
            unseen = path
    if unseen:
        raise cannot_verify(f"the launch script {unseen}", "it was not gathered")
    raise cannot_verify(f"the launch script {wanted[-1]}", "it does not exist: the entry cannot be launched")


@dataclass(frozen=True, eq=False)
class _Held:
    """A tree by identity, for the cache."""

    tree: Tree

    def __hash__(self) -> int:
        return id(self.tree)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and other.tree is self.tree


def evaluated(tree: Tree, point: Point, *, evaluation: bool = False) -> Evaluated:
    """The script of a point, evaluated for it. Raises CannotVerify where it cannot be read."""
    from app.target.launch_env import point_environment

    if point.multinode:
        raise cannot_verify(f"the launch of {point.key} {point.label}", "its multi-node scripts are not evaluated")
    path = script_path(tree, point.row)
    row = {**point.row, "conc": point.concurrency}
    env = {**point_environment(row, evaluation=evaluation), "MODEL_PATH": ""}
    found = _run(_Held(tree), path, tuple(env.items()))
    if not found.finished:
        raise cannot_verify(f"the launch script {path}", "it is larger than what is evaluated")
    return found


@lru_cache(maxsize=256)
def _run(held: _Held, path: str, env: tuple[tuple[str, str], ...]) -> Evaluated:
    """Read without a staged model; where the script then gives up, with one whose place is not known."""
    from app.target.shell import evaluate
    from app.target.shell_servers import servers

    try:
        found = evaluate(held.tree, path, dict(env))
        if not servers(found):
            found = evaluate(held.tree, path, {**dict(env), "MODEL_PATH": None})
    except RejectedInput as rejected:
        raise cannot_verify(f"the launch script {path}", str(rejected.problems[0])) from None
    except NotRecorded as unseen:
        raise cannot_verify(f"the launch script {path}", str(unseen)) from None
    return found


def script_recipe(tree: Tree, point: Point, *, evaluation: bool = False) -> EffectiveRecipe:
    """The serving command of a point's script as a recipe with the one role `agg`."""
    from app.target.shell_servers import servers

    found = evaluated(tree, point, evaluation=evaluation)
    serving = servers(found)
    if not serving:
        raise cannot_verify(f"the launch script {found.script}", f"no serving command was found for {point.label}")
    first = serving[0]
    same = all((dict(other.args), other.engine) == (dict(first.args), first.engine) for other in serving)
    if not same or not first.certain:
        reason = f"which of its serving commands runs is not decided for {point.label}"
        raise cannot_verify(f"the launch script {found.script}", reason)
    return _recipe(found.script, first.engine, first.args, first.env, first.undecided)


def _recipe(
    path: str,
    engine: str,
    args: Mapping[str, Setting],
    env: Mapping[str, Setting],
    undecided: Mapping[str, tuple[str, ...]],
) -> EffectiveRecipe:
    return EffectiveRecipe(
        path=path,
        variant="",
        name=path,
        schema=SCRIPT,
        engine=engine,
        frontend=engine,
        roles={"agg": Role("agg", 1, 1, None, args, env)},
        environment={},
        benchmark={},
        benchmark_env={},
        image=None,
        model=None,
        precision=None,
        setup_scripts=(),
        dynamo={},
        backend={},
        frontend_settings={},
        resources={},
        raw={},
        notes=tuple(f"{name}: {'; '.join(why)}" for name, why in undecided.items() if name),
    )


def undecided(recipe: EffectiveRecipe, *names: str) -> str:
    """The first note on one of these settings (or a part of it), "" where all are decided."""
    for note in recipe.notes if recipe.schema == SCRIPT else ():
        if note.split(":", 1)[0].split(".", 1)[0] in names:
            return note
    return ""
