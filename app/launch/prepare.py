"""Purpose: everything that must be right before a job is submitted, and the files that the submission needs.

Order: runner's lock and disk, checkout, cluster and policy, staged model, recipe variant, golden acceptance, files.
Trust (design.md 5): curves and thresholds come from `trusted` (the target branch); a curve of the measured checkout
counts only where the target has none.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from app.checkout.revisions import DirectoryFiles, directory_tree
from app.launch.acceptance import Acceptance, golden, with_acceptance
from app.launch.errors import LaunchError
from app.launch.row import LaunchRow
from app.launch.schedulers import Job, Local, Scheduler, Slurm, sbatch, srtctl
from app.launch.script import PORT_MARK, Body, flags_of, render
from app.launch.site import Cluster, LaunchPolicy, Site, cluster_of, read_policy
from app.launch.workspace import check_checkout, check_disk
from app.target.recipe import EffectiveRecipe, Unbound
from app.target.recipes import effective, recipe_reference
from app.target.runners import read_runners
from app.target.source import RejectedInput
from app.target.tree import Tree

RESULTS = "results"
_RECIPE_FIX = "Correct the recipe or the master config and push."


@dataclass(frozen=True)
class Options:
    """What `sweepgate launch` was told. `trusted` is a checkout of the target branch, None: the measured one."""

    row_file: Path
    policy_file: Path
    checkout: Path
    out: Path
    work: Path
    state: Path
    sha: str = ""
    trusted: Path | None = None
    runner: str = "local"
    runner_given: bool = False
    run_id: str = ""
    attempt: int = 1
    thinking: str = "thinking_on"
    keep: Path | None = None
    fast: bool = False


@dataclass(frozen=True)
class Ready:
    """A launch that may be submitted."""

    row: LaunchRow
    sha: str
    cluster: Cluster
    site: Site
    scheduler: Scheduler
    job: Job
    recipe: EffectiveRecipe
    acceptance: Acceptance | None
    trusted: Tree


def load_yaml(text: str | bytes, path: str, kind: str) -> Any:
    """Parsed YAML. Raises LaunchError `kind` where it is none."""
    try:
        return YAML(typ="safe", pure=False).load(text)
    except Exception as error:  # ruamel's C reader raises several unrelated types
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise LaunchError(kind, f"{path} is no valid YAML: {first}.", "Correct the file.") from None


def read_policy_file(path: Path) -> LaunchPolicy:
    """The launch policy. Raises LaunchError `bad-policy` where it cannot be read."""
    try:
        text = path.read_text()
    except OSError as error:
        message = f"The launch policy {path} cannot be read: {error.strerror}."
        raise LaunchError("bad-policy", message, "Correct SWEEPGATE_LAUNCH_POLICY on this runner.") from None
    return read_policy(load_yaml(text, str(path), "bad-policy") or {}, str(path))


def find_site(row: LaunchRow, tree: Tree, policy: LaunchPolicy, options: Options) -> tuple[Cluster, Site]:
    """The cluster of the row and how its operator uses it."""
    try:
        runners = read_runners(tree)
    except RejectedInput as rejected:
        raise LaunchError("unknown-cluster", str(rejected.problems[0]), "Correct the file and push.") from None
    name = options.runner if options.runner_given else ""
    cluster = cluster_of(row.text("runner"), runners, name)
    return cluster, policy.site(cluster.name)


def find_recipe(row: LaunchRow, tree: Tree) -> EffectiveRecipe:
    """The one recipe variant that serves the row, with what the harness writes into it."""
    reference = recipe_reference(tree.layout, row.data, evaluation=row.eval_only)
    if reference is None:
        message = f"The row of {row.text('exp-name')} names no recipe."
        raise LaunchError(
            "unsupported", message, "Add srt-recipe to the search-space row; shell rows are not launched."
        )
    path, selector = reference
    try:
        recipe = effective(tree, path, selector, row.data)
    except RejectedInput as rejected:
        raise LaunchError("bad-recipe", str(rejected.problems[0]), _RECIPE_FIX) from None
    if not isinstance(recipe, Unbound):
        return recipe
    kind = "ambiguous-variant" if "variants serve" in recipe.reason else "no-variant"
    message = f"{path}: {recipe.reason.rstrip('.')}."
    raise LaunchError(kind, message, _RECIPE_FIX)


def trusted_tree(options: Options, tree: Tree, sha: str) -> Tree:
    """Curves and thresholds of the target branch, with new curves of the measured checkout below them."""
    if options.trusted is None:
        return tree
    files = _Over(DirectoryFiles(str(options.trusted)), tree.files, tree.layout.golden_curves)
    return Tree(sha, files, complete=True, forced_layout=tree.layout)


@dataclass(frozen=True)
class _Over(Mapping[str, bytes]):
    """`first`, and below `prefix` what only `second` has."""

    first: Mapping[str, bytes]
    second: Mapping[str, bytes]
    prefix: str

    def __getitem__(self, path: str) -> bytes:
        if path.startswith(self.prefix) and path not in self.first:
            return self.second[path]
        return self.first[path]

    def __contains__(self, path: object) -> bool:
        try:
            self[str(path)]
        except KeyError:
            return False
        return True

    def __iter__(self) -> Any:
        return iter(self.first)

    def __len__(self) -> int:
        return len(self.first)


def environment_of(
    row: LaunchRow, recipe: EffectiveRecipe, cluster: Cluster, model: str, options: Options
) -> dict[str, str]:
    """The client's environment: the row's facts, the cluster's, then the recipe's own `benchmark.env` over them."""
    facts = {
        "MODEL": model,
        "MODEL_NAME": row.text("model"),
        "MODEL_PREFIX": row.text("model-prefix"),
        "IMAGE": row.text("image"),
        "FRAMEWORK": row.text("framework"),
        "PRECISION": row.text("precision"),
        "RUNNER_TYPE": row.hardware,
        "SPEC_DECODING": row.text("spec-decoding", "none"),
        "DISAGG": str(row.data.get("disagg") is True).lower(),
        "IS_MULTINODE": str(row.multinode).lower(),
        "IS_AGENTIC": "1" if row.agentic else "0",
        "RUN_EVAL": str(row.runs_eval).lower(),
        "EVAL_ONLY": str(row.eval_only).lower(),
        "EVAL_SUITE": row.text("eval-suite"),
        "EVAL_FRAMEWORK": row.text("eval-framework"),
        "THINKING_MODE": options.thinking,
        "CONC": str(row.concurrencies[0]),
        "CONC_LIST": " ".join(map(str, row.concurrencies)),
        "RESULT_DIR": str(options.work / RESULTS),
        "RESULT_FILENAME": row.result_name,
        "RECIPE_FINGERPRINT": row.text("recipe-fingerprint"),
        "GITHUB_RUN_ID": options.run_id,
        "AGENTX_FAST": str(options.fast).lower(),
    }
    names = {
        "TP": "tp", "EP_SIZE": "ep", "PP": "pp", "DCP_SIZE": "dcp-size", "PCP_SIZE": "pcp-size", "ISL": "isl",
        "OSL": "osl", "MAX_MODEL_LEN": "max-model-len", "DURATION": "duration", "KV_OFFLOADING": "kv-offloading",
        "TOTAL_CPU_DRAM_GB": "total-cpu-dram-gb",
    }  # fmt: skip
    facts |= {variable: row.text(name) for variable, name in names.items() if row.data.get(name) is not None}
    facts["DP_ATTENTION"] = str(row.data.get("dp-attn") is True).lower()
    own = {name: str(setting.value) for name, setting in recipe.benchmark_env.items()}
    return {**facts, **(cluster.env or {}), **own}


def _role_mappings(
    raw: Mapping[str, Any], recipe: EffectiveRecipe, role: str
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    if recipe.schema == 2:
        block = raw["roles"][role]
        return block.get("args") or {}, block.get("env") or {}
    backend = raw["backend"]
    name = "aggregated" if role == "agg" else role
    return backend[f"{recipe.engine}_config"].get(name) or {}, backend.get(f"{name}_environment") or {}


def render_script(
    raw: Mapping[str, Any],
    recipe: EffectiveRecipe,
    policy: LaunchPolicy,
    site: Site,
    env: Mapping[str, str],
    options: Options,
) -> str:
    """The batch script of an aggregated recipe. Raises LaunchError `unsupported` for other shapes and engines."""
    if set(recipe.roles) != {"agg"}:
        roles = ", ".join(recipe.roles)
        message = f"{recipe.path} has the roles {roles}; the sbatch and local ways run agg only."
        raise LaunchError("unsupported", message, "Set `submit: srtctl` for this cluster in the launch policy.")
    engine = policy.engines.get(recipe.engine)
    if engine is None:
        known = ", ".join(sorted(policy.engines)) or "none"
        message = f"The launch policy has no server command for {recipe.engine}; it knows {known}."
        raise LaunchError("bad-policy", message, f"Add engines.{recipe.engine} to the launch policy.")
    command = recipe.benchmark.get("command")
    if command is None or not str(command.value).strip():
        raise LaunchError("bad-recipe", f"{recipe.path} has no benchmark.command.", "State the client's command.")
    args, server_env = _role_mappings(raw, recipe, "agg")
    patterns = {"model": env["MODEL"], "port": PORT_MARK, "image": env["IMAGE"]}
    server = [part.format_map(patterns) for part in engine.command] + flags_of(args)
    container = [part.format_map({**patterns, "workspace": str(options.checkout)}) for part in site.container]
    exported = {**env, **{str(name): str(value) for name, value in server_env.items()}}
    exported |= {str(name): str(value) for name, value in (raw.get("environment") or {}).items()}
    body = Body(
        folder=str(options.work),
        environment=exported,
        server=[*container, *server],
        server_log=str(options.work / "server.log"),
        ready_path=engine.ready,
        ready_seconds=int(site.limits.ready_minutes * 60),
        benchmark=" ".join([*container, str(command.value).replace(site.workspace, str(options.checkout))]),
    )
    return render(body)


def _scheduler(site: Site, options: Options) -> Scheduler:
    limits = site.limits
    if site.submit == "local":
        return Local(limits.cancel_seconds)
    names = tuple(name.format(runner=options.runner) for name in site.job_names)
    submitter = sbatch if site.submit == "sbatch" else srtctl(site.srtctl)
    return Slurm(names, submitter, limits.cancel_seconds, limits.poll_seconds)


def _job(row: LaunchRow, cluster: Cluster, site: Site, env: Mapping[str, str], options: Options) -> Job:
    arguments = list(site.sbatch_arguments)
    if cluster.partition:
        arguments.append(f"--partition={cluster.partition}")
    if cluster.account:
        arguments.append(f"--account={cluster.account}")
    if cluster.exclusive:
        arguments.append("--exclusive")
    if cluster.gres:
        arguments.append(f"--gres={cluster.gres}")
    nodes = row.data.get("node-count") or row.data.get("num-nodes") or 1
    return Job(
        folder=options.work,
        script=options.work / "job.sh",
        recipe=options.work / "recipe.yaml",
        name=site.job_names[0].format(runner=options.runner),
        minutes=site.run_minutes(row.multinode, row.agentic),
        nodes=int(nodes),
        arguments=tuple(arguments),
        environment=env,
    )


def prepare(row: LaunchRow, policy: LaunchPolicy, options: Options) -> Ready:
    """Check everything and write the files of the job. Raises LaunchError with the first thing that is wrong."""
    sha = check_checkout(options.checkout, options.sha)
    tree = replace(directory_tree(str(options.checkout)), revision=sha)
    cluster, site = find_site(row, tree, policy, options)
    check_disk(options.work, site.least_free_gib)
    model = cluster.staged(row.text("model"), row.text("model-prefix"), row.text("precision"))
    recipe = find_recipe(row, tree)
    trusted = trusted_tree(options, tree, sha)
    acceptance = golden(trusted, row, recipe, options.thinking)
    raw = with_acceptance(recipe, acceptance)
    env = environment_of(row, recipe, cluster, model, options)
    job = _job(row, cluster, site, env, options)
    if site.submit == "srtctl":
        # srtctl names the Slurm job after the recipe; jobs of this runner are found, and cleaned up, by their name.
        raw["name"] = job.name
    (options.work / RESULTS).mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    YAML(typ="safe").dump(raw, text)
    job.recipe.write_text(text.getvalue())
    if site.submit != "srtctl":
        job.script.write_text(render_script(raw, recipe, policy, site, env, options))
    return Ready(row, sha, cluster, site, _scheduler(site, options), job, recipe, acceptance, trusted)


__all__ = ["Options", "Ready", "find_recipe", "load_yaml", "prepare", "read_policy_file"]
