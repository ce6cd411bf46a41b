"""Purpose: the launch closure of a config key (rules.md, "Across checks"): every repository file that a launch reads.

August: the launcher of each runner pool of the key, evaluated as the workflow starts it, with the scripts that it
enters and the files that its commands name. Both layouts: the rows' recipes, shared fragments, setup scripts and the
benchmark client's scripts. October: the launcher's own modules, which every launch runs.

Invariants: what depends on the point (concurrency, parallelism, eval or not) is not known to the evaluation, so every
branch that any point may take counts. A script that may be of the repository and cannot be named is said in `unknown`,
and so is a file that was not gathered (`unread`): gathering it and asking again may name more.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.target.launch_env import point_environment
from app.target.masters import MasterEntry
from app.target.recipe import EffectiveRecipe
from app.target.recipes import AGENTIC, fragment_path, read_recipe, recipe_reference
from app.target.runners import read_runners
from app.target.shell import evaluate
from app.target.shell_record import Evaluated
from app.target.shell_text import is_known, known_part, shown
from app.target.source import RejectedInput
from app.target.tree import Layout, NotRecorded, Tree

_PER_POINT = (
    *("CONC", "CONC_LIST", "TOTAL_CPU_DRAM_GB", "TP", "PP_SIZE", "DCP_SIZE", "PCP_SIZE", "EP_SIZE", "GPU_COUNT"),
    *("RUN_EVAL", "EVAL_ONLY", "CONFIG_FILE", "EVAL_CONFIG_FILE", "RESULT_FILENAME"),
)
_PER_WORKER = ("TP", "EP", "PP_SIZE", "DCP_SIZE", "PCP_SIZE", "NUM_WORKERS", "NODES")
_LAUNCHER_MODULES = ("infx/launch", "infx/srt")


@dataclass(frozen=True, slots=True)
class ClosureResult:
    """Repository files that launching a key reads; `undecided` says why there may be more."""

    paths: frozenset[str]
    undecided: tuple[str, ...] = ()
    unread: frozenset[str] = frozenset()

    @property
    def unknown(self) -> str:
        """The reasons in one text, "" where these are all files."""
        unread = f"{', '.join(sorted(self.unread)[:3])} was not gathered" if self.unread else ""
        return "; ".join((*self.undecided, *([unread] if unread else ())))


@dataclass
class LaunchClosure:
    """Computes closures; what was evaluated is kept while this object and its trees live."""

    _trees: dict[int, Tree] = field(default_factory=dict)
    _done: dict[tuple[int, str], ClosureResult] = field(default_factory=dict)
    _evaluated: dict[tuple[int, str], list[tuple[dict[str, str | None], Evaluated]]] = field(default_factory=dict)

    def __call__(self, entry: MasterEntry, tree: Tree) -> ClosureResult:
        self._trees[id(tree)] = tree
        known = self._done.get((id(tree), entry.key))
        if known is None:
            known = self._done[id(tree), entry.key] = self._closure(entry, tree)
        return known

    def unread(self) -> tuple[str, ...]:
        """Files that closures so far asked for and that were not gathered."""
        return tuple(sorted({path for result in self._done.values() for path in result.unread}))

    def _closure(self, entry: MasterEntry, tree: Tree) -> ClosureResult:
        found = _Found()
        for row in _rows(entry):
            found.add_recipes(self, tree, row)
            if tree.layout is Layout.AUGUST:
                for launcher, runner in _launchers(entry, tree, found):
                    found.add(self.evaluated(tree, launcher, {**_any_point(row), "RUNNER_NAME": runner}, found))
        if tree.layout is Layout.OCTOBER:
            for folder in launcher_folders(tree.layout):
                found.paths.update(tree.below(f"{folder}/"))
                if not tree.lists(folder):
                    found.undecided.append(f"{folder} was not read")
        return ClosureResult(frozenset(found.paths), tuple(dict.fromkeys(found.undecided)), frozenset(found.unread))

    def evaluated(self, tree: Tree, script: str, env: Mapping[str, str | None], found: _Found) -> Evaluated | None:
        """The evaluation of a script; one for all environments that agree in what the script reads."""
        earlier = self._evaluated.setdefault((id(tree), script), [])
        for given, result in earlier:
            if all(env.get(name) == given.get(name) for name in result.read if name in env or name in given):
                return result
        try:
            result = evaluate(tree, script, env)
        except NotRecorded as unseen:
            found.unread.add(unseen.path)
            return None
        except RejectedInput:
            found.undecided.append(f"{script} is not in the repository: the entry cannot be launched")
            return None
        earlier.append((dict(env), result))
        return result


@dataclass
class _Found:
    """What the rows of one key reach."""

    paths: set[str] = field(default_factory=set)
    undecided: list[str] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)

    def add(self, evaluated: Evaluated | None) -> None:
        if evaluated is None:
            return
        self.paths.update(evaluated.scripts)
        self.paths.update(evaluated.files)
        self.unread.update(evaluated.unread)
        if not evaluated.finished:
            self.undecided.append(f"{evaluated.script} is larger than what is evaluated")
        names = {posixpath.basename(path) for path in evaluated.scripts}
        for item in evaluated.undecided:
            if item.entering and _may_be_ours(item.entering, names):
                self.undecided.append(f"{item.where} enters {shown(item.entering)}, which is not known")

    def add_recipes(self, closure: LaunchClosure, tree: Tree, row: Mapping[str, Any]) -> None:
        """The recipes of a row with fragments, setup scripts and client scripts."""
        for evaluation in (False, True):
            reference = recipe_reference(tree.layout, row, evaluation=evaluation)
            if reference is None:
                continue
            path, selector = reference
            self.paths.add(path)
            scenario = str(row["scenario-type"])
            fragment = fragment_path(tree.layout, path, scenario)
            if fragment:
                self.paths.add(fragment)
            for recipe in self._recipes(tree, path, selector, scenario):
                self._add_scripts(closure, tree, recipe)

    def _recipes(self, tree: Tree, path: str, selector: str, scenario: str) -> tuple[EffectiveRecipe, ...]:
        """The row's variants; none where the recipe cannot be read, which others report."""
        try:
            return read_recipe(tree, path, selector, scenario, lenient=True)
        except NotRecorded as unseen:
            self.unread.add(unseen.path)
        except RejectedInput:
            pass
        return ()

    def _add_scripts(self, closure: LaunchClosure, tree: Tree, recipe: EffectiveRecipe) -> None:
        for script in recipe.setup_scripts:
            for path in setup_paths(tree, recipe.path, str(script.value)):
                self._add_file(tree, path)
        command = recipe.benchmark.get("command")
        if command is None:
            return
        for word in _split(str(command.value)):
            inside = word.removeprefix("/infmax-workspace/").removeprefix("/workspace/")
            path = tree.layout.root + inside
            if inside.endswith(".sh") and not inside.startswith("/") and self._add_file(tree, path):
                env = {name: str(setting.value) for name, setting in recipe.benchmark_env.items()}
                self.add(closure.evaluated(tree, path, {**env, **dict.fromkeys(("CONC", "EVAL_ONLY"))}, self))

    def _add_file(self, tree: Tree, path: str) -> bool:
        """True where the file is in the repository. One that nobody looked for is unread."""
        if not tree.knows(path):
            self.unread.add(path)
            return False
        if path in tree.files:
            self.paths.add(path)
        return path in tree.files


def launcher_folders(layout: Layout) -> tuple[str, ...]:
    """Folders of the launcher's own modules, which every launch runs. Empty in August, where it is one script."""
    return tuple(layout.root + folder for folder in _LAUNCHER_MODULES) if layout is Layout.OCTOBER else ()


def setup_paths(tree: Tree, recipe: str, name: str) -> tuple[str, ...]:
    """Places in the repository where a recipe's setup script may stand."""
    folder = "multi_node" if "/multi_node/" in recipe else "single_node"
    shared = f"{tree.layout.recipes}{folder}/srt-slurm-recipes/configs/{name}"
    return (shared, f"{posixpath.dirname(recipe)}/{name}")


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _rows(entry: MasterEntry) -> Iterator[dict[str, Any]]:
    """The search-space rows of an entry with the fields that the launch environment reads."""
    common = {name: entry.data.get(name) for name in ("image", "model", "model-prefix", "framework", "precision")}
    common |= {"router": entry.data.get("router"), "kv-p2p-transfer": entry.data.get("kv-p2p-transfer")}
    for scenario, blocks in entry.data["scenarios"].items():
        for block in blocks:
            lengths = {} if scenario == AGENTIC else {"isl": block.get("isl"), "osl": block.get("osl")}
            for row in block["search-space"]:
                workers = {"prefill": row["worker"], "decode": {}} if "worker" in row else {}
                named = {"exp-name": f"{entry.model_prefix}_", "scenario-type": scenario, "duration": 3600}
                yield {
                    **common,
                    **named,
                    "spec-decoding": "none",
                    "disagg": entry.data.get("disagg", False),
                    **lengths,
                    **row,
                    **workers,
                }


def _any_point(row: Mapping[str, Any]) -> dict[str, str | None]:
    """The environment of a row; open is what differs between its points or what a sibling row may change."""
    env: dict[str, str | None] = dict(point_environment(row))
    sides = {f"{side}_{name}" for side in ("PREFILL", "DECODE") for name in _PER_WORKER}
    for name in {*_PER_POINT, *sides} & set(env):
        env[name] = None
    return env


def _launchers(entry: MasterEntry, tree: Tree, found: _Found) -> list[tuple[str, str]]:
    """(launcher script, a runner's name) for every pool that may take the key's jobs."""
    try:
        names = read_runners(tree).labels.get(entry.runner, ())
    except (RejectedInput, NotRecorded) as fault:
        found.undecided.append(f"the runners of {entry.runner} are not known ({fault})")
        return []
    pools = {name.split("_")[0]: name for name in names}
    return [(f"runners/launch_{pool}.sh", name) for pool, name in sorted(pools.items())]


def _may_be_ours(path: str, entered: set[str]) -> bool:
    """False for a path of the machine: absolute, or in a folder of the machine with a file name that is not ours."""
    if is_known(path):
        return False
    name = posixpath.basename(known_part(path))
    return not name or name in entered or name.endswith((".sh", ".slurm"))
