"""Purpose: how a point is launched, whatever describes it: settings of each role, and what its scripts edit.

A recipe gives settings; its setup scripts, and the launch scripts of points without a recipe, come from the launch
closure. Source: rules.md, "Shell is evaluated per point" and 10.

Invariants: nothing is run. A script that is named and cannot be read, and a command that cannot be decided, raise or
carry `undecided`; they are never left out.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from app.facts.repository import HeadTree
from app.target.recipe import EffectiveRecipe, Setting
from app.target.source import FileLine, RejectedInput
from app.target.tree import NotRecorded, Tree
from checks.contract import Unverified
from checks.point_evidence import recipe_of
from checks.script_edits import ConfigRewrite, Edit, config_rewrites, edits_of, protected
from checks.script_launch import SCRIPT
from checks.script_launch import evaluated as evaluated_script

if TYPE_CHECKING:
    from app.facts.base import Facts
    from app.planner.points import Point
    from app.policy import PatchPolicy
    from app.target.shell_record import Evaluated


@dataclass(frozen=True)
class Launch:
    """One way in which a point is launched. `undecided` are settings of a script that are not known: `name: reason`.

    `unread` are scripts of the launch that were not read to their end: what they rewrite is not known.
    """

    engine: str
    args: Mapping[str, Mapping[str, Setting]]
    env: Mapping[str, Mapping[str, Setting]]
    edits: tuple[Edit, ...] = field(default_factory=tuple)
    rewrites: tuple[ConfigRewrite, ...] = field(default_factory=tuple)
    undecided: tuple[str, ...] = field(default_factory=tuple)
    unread: tuple[Unverified, ...] = field(default_factory=tuple)
    source: str = "recipe"


def launches_of(point: Point, facts: Facts) -> tuple[Launch, ...]:
    """Every launch of a point. Raises CannotVerify where its recipe or script cannot be read."""
    head = facts.get(HeadTree)
    recipe = recipe_of(point, head)
    edits = list(recipe_edits(recipe, facts.policy.patches))
    rewrites: list[ConfigRewrite] = []
    unread: list[Unverified] = []
    scripts: list[Evaluated] = []
    for setup in recipe.setup_scripts:
        evaluated = _setup_script(facts, recipe, setup)
        if isinstance(evaluated, Edit):
            edits.append(evaluated)
            unread.append(Unverified(f"the setup script {setup.value}", evaluated.undecided))
        else:
            scripts.append(evaluated)
    if recipe.schema == SCRIPT and head is not None:
        scripts.append(evaluated_script(head.tree, point))
    for found in scripts:
        edits += edits_of(found, facts.policy.patches)
        rewrites += config_rewrites(found)
        if not found.finished:
            unread.append(Unverified(f"the script {found.script}", "it is larger than what is evaluated"))
    return (
        Launch(
            engine=recipe.engine,
            args={name: role.args for name, role in recipe.roles.items()},
            env={name: recipe.effective_env(name) for name in recipe.roles},
            edits=tuple(edits),
            rewrites=tuple(rewrites),
            undecided=tuple(recipe.notes) if recipe.schema == SCRIPT else (),
            unread=tuple(unread),
            source="launch script" if recipe.schema == SCRIPT else "recipe",
        ),
    )


def _setup_script(facts: Facts, recipe: EffectiveRecipe, setup: Setting) -> Evaluated | Edit:
    """A setup script of this repository, evaluated; an undecided edit where it comes from outside or is unreadable."""
    from app.target.shell import evaluate

    head = facts.get(HeadTree)
    name = str(setup.value)
    unseen = Edit(f"runs the setup script {name}", name, name, setup.where, "the script was not gathered")
    if head is None:
        return unseen
    for path in setup_paths(head.tree, recipe.path, name):
        if path in head.tree.files:
            env = {key: str(value.value) for role in recipe.roles for key, value in recipe.effective_env(role).items()}
            try:
                return evaluate(head.tree, path, env)
            except RejectedInput as rejected:
                return replace(unseen, undecided=str(rejected.problems[0]))
            except NotRecorded as missing:
                return replace(unseen, undecided=str(missing))
    return replace(unseen, undecided="it is not in this repository: it comes from srt-slurm at the pinned revision")


def setup_paths(tree: Tree, recipe: str, name: str) -> tuple[str, ...]:
    """Places in the repository where a setup script of a recipe may stand."""
    folder = "multi_node" if "/multi_node/" in recipe else "single_node"
    shared = f"{tree.layout.recipes}{folder}/srt-slurm-recipes/configs/{name}"
    return (shared, f"{posixpath.dirname(recipe)}/{name}", name)


def recipe_edits(recipe: EffectiveRecipe, policy: PatchPolicy) -> Iterator[Edit]:
    """What the recipe itself changes in the image: mounts over engine files, hooks by environment, setup scripts."""
    for target, where in _mounts(recipe):
        if protected(target, policy):
            yield Edit(f"mounts a file over {target}", target, recipe.path, where)
    for role in recipe.roles.values():
        for name in ("PYTHONPATH", "LD_PRELOAD", "PYTHONSTARTUP"):
            setting = role.env.get(name) or recipe.environment.get(name)
            if setting is not None and str(setting.value).strip():
                what = f"{name}={setting.value} can replace modules of the engine"
                reason = "what lies there is not known"
                yield Edit(what, str(setting.value), recipe.path, setting.where, undecided=reason)


def _mounts(recipe: EffectiveRecipe) -> Iterator[tuple[str, FileLine]]:
    """(target inside the container, place) of every mount."""
    start = FileLine(recipe.path, 1)
    for key in ("container_mounts", "extra_mount", "extra_mounts", "mounts"):
        for table in (recipe.raw, recipe.raw.get("srun_options"), recipe.raw.get("slurm"), recipe.raw.get("backend")):
            value = table.get(key) if isinstance(table, Mapping) else None
            yield from ((target, start) for target in _targets(value))


def _targets(value: Any) -> Iterator[str]:
    """`host:target[:flags]` of a list or text, or the values of a mapping host -> target."""
    if isinstance(value, Mapping):
        yield from (str(target) for target in value.values())
        return
    items = value if isinstance(value, list) else str(value).split(",") if value else []
    for item in items:
        parts = str(item).split(":")
        if len(parts) > 1:
            yield parts[1]
