"""Purpose: how a point is launched, whatever describes it: settings of each role, and what its scripts edit.

A recipe gives settings; its setup scripts, and the launch scripts of points without a recipe, come from the launch
closure. Source: rules.md, "Shell is evaluated per point" and 10.

Invariants: nothing is run. A script that is named and cannot be read, and a command that cannot be decided, raise or
carry `undecided`; they are never left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from app.target.recipe import EffectiveRecipe, Setting
from app.target.source import FileLine
from checks.point_evidence import recipe_of

if TYPE_CHECKING:
    from app.facts.base import Facts
    from app.planner.points import Point
    from app.policy import PatchPolicy


@dataclass(frozen=True, slots=True)
class Edit:
    """Something that a launch changes in the image: what, which target, in which script.

    `undecided` says why it could not be told whether the target belongs to the engine; "" where it does.
    """

    what: str
    target: str
    script: str
    where: FileLine
    undecided: str = ""


@dataclass(frozen=True)
class Launch:
    """One way in which a point is launched."""

    engine: str
    args: Mapping[str, Mapping[str, Setting]]
    env: Mapping[str, Mapping[str, Setting]]
    edits: tuple[Edit, ...] = field(default_factory=tuple)
    model_edits: tuple[Edit, ...] = field(default_factory=tuple)


def launches_of(point: Point, facts: Facts) -> tuple[Launch, ...]:
    """Every launch of a point. Raises CannotVerify where its recipe or script cannot be read."""
    recipe = recipe_of(point)
    edits = tuple(recipe_edits(recipe, facts.policy.patches))
    return (
        Launch(
            engine=recipe.engine,
            args={name: role.args for name, role in recipe.roles.items()},
            env={name: recipe.effective_env(name) for name in recipe.roles},
            edits=edits,
        ),
    )


def recipe_edits(recipe: EffectiveRecipe, policy: PatchPolicy) -> Iterator[Edit]:
    """What the recipe itself changes in the image: mounts over engine files, hooks by environment, setup scripts."""
    for target, where in _mounts(recipe):
        if is_protected(target, policy) and not _any(target, policy.harness_mounts):
            yield Edit(f"mounts a file over {target}", target, recipe.path, where)
    for role in recipe.roles.values():
        for name in ("PYTHONPATH", "LD_PRELOAD", "PYTHONSTARTUP"):
            setting = role.env.get(name) or recipe.environment.get(name)
            if setting is not None and str(setting.value).strip():
                what = f"{name}={setting.value} can replace modules of the engine"
                reason = "what lies there is not known"
                yield Edit(what, str(setting.value), recipe.path, setting.where, undecided=reason)
    for setup in recipe.setup_scripts:
        what = f"runs the setup script {setup.value}"
        reason = "the script was not gathered"
        yield Edit(what, str(setup.value), str(setup.value), setup.where, undecided=reason)


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


def is_protected(path: str, policy: PatchPolicy) -> bool:
    """True for a path below a root of engine or transport."""
    return _any(path if path.startswith("/") else f"/{path}", policy.roots)


def _any(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
