"""Purpose: where a row runs: the cluster record of runners.yaml and the launch policy of its operator.

runners.yaml (formats.md 6) belongs to the target repository and is read with its lines; the launch policy
(configs/launch.yaml) belongs to whoever runs the runners. Both refuse what they do not understand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.launch.errors import LaunchError
from app.target.runners import CLUSTER, Runners


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Limits(Part):
    """Time limits. Minutes run from submission (queue) or from the job's start (the others)."""

    queue_minutes: float = Field(default=1440, gt=0)
    single_node_minutes: float = Field(default=480, gt=0)
    multi_node_minutes: float = Field(default=480, gt=0)
    multi_node_agentic_minutes: float = Field(default=780, gt=0)
    log_minutes: float = Field(default=15, gt=0)
    ready_minutes: float = Field(default=60, gt=0)
    unknown_seconds: float = Field(default=60, gt=0)
    cancel_seconds: float = Field(default=60, gt=0)
    poll_seconds: float = Field(default=5, gt=0)


class Gates(Part):
    """What a result must hold before it is uploaded (workflows.md 6). Rates are shares of all requests."""

    agentic_error_rate: float = Field(default=0.10, ge=0, le=1)
    fixed_failure_rate: float = Field(default=0.05, ge=0, le=1)
    result_wait_seconds: float = Field(default=10, ge=0)


class Site(Part):
    """How one cluster is used."""

    submit: Literal["srtctl", "sbatch", "local"] = "srtctl"
    srtctl: tuple[str, ...] = ("srtctl", "apply", "--no-preflight", "-f", "{recipe}")
    container: tuple[str, ...] = ()
    workspace: str = "/infmax-workspace"
    sbatch_arguments: tuple[str, ...] = ()
    limits: Limits = Limits()
    job_names: tuple[str, ...] = ("inferencex-{runner}", "{runner}")
    least_free_gib: float = Field(default=5, ge=0)
    gates: Gates = Gates()

    def run_minutes(self, multinode: bool, agentic: bool) -> float:
        if not multinode:
            return self.limits.single_node_minutes
        return self.limits.multi_node_agentic_minutes if agentic else self.limits.multi_node_minutes


class Engine(Part):
    """How one engine's server is started and known to be ready (an HTTP path that answers 200)."""

    command: tuple[str, ...] = Field(min_length=1)
    ready: str = "/health"


class LaunchPolicy(Part):
    """The whole launch policy. `clusters` override single keys of `default`."""

    default: Site = Site()
    engines: Mapping[str, Engine] = {}
    clusters: Mapping[str, Mapping[str, Any]] = {}

    def site(self, cluster: str) -> Site:
        own = self.clusters.get(cluster, {})
        return Site.model_validate(_over(self.default.model_dump(), own))


def _over(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in own.items():
        old = merged.get(key)
        merged[key] = _over(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def read_policy(value: object, path: str) -> LaunchPolicy:
    """The typed policy. Raises LaunchError `bad-policy` that names every wrong key."""
    try:
        policy = LaunchPolicy.model_validate(value)
        for cluster in policy.clusters:
            policy.site(cluster)
    except ValidationError as errors:
        found = "; ".join(f"{'.'.join(map(str, error['loc'])) or 'file'}: {error['msg']}" for error in errors.errors())
        raise LaunchError("bad-policy", f"{path} is no launch policy: {found}.", "See docs/sweeps.md.") from None
    return policy


@dataclass(frozen=True)
class Cluster:
    """A cluster of runners.yaml as far as a launch needs it. `models` maps a model (prefix, name) to a staged path."""

    name: str
    gpus_per_node: int
    partition: str = ""
    account: str = ""
    exclusive: bool = False
    gres: str = ""
    env: Mapping[str, str] | None = None
    models: Mapping[str, str] | None = None

    def staged(self, model: str, prefix: str, precision: str) -> str:
        """The path of a staged model. A cluster without a `models` table serves models by their repository name.

        Raises LaunchError `unknown-model` where the table has no entry.
        """
        if self.models is None:
            return model
        for name in (model, f"{prefix}-{precision}", prefix):
            if name in self.models:
                return self.models[name]
        known = ", ".join(sorted(self.models)) or "none"
        message = f"Cluster {self.name} has no staged path for {model} ({prefix}-{precision}); it knows {known}."
        raise LaunchError("unknown-model", message, f"Stage the model and add it to clusters.{self.name}.models.")


def cluster_of(label: str, runners: Runners, runner_name: str) -> Cluster:
    """The cluster of a row's runner label, checked against the physical runner that took the job.

    `runner_name` is RUNNER_NAME, "" outside Actions. August files have no cluster records, only hardware facts.
    Raises LaunchError `unknown-cluster`.
    """
    path = runners.path
    fix = f"Correct the runner in the master config, or add the cluster to {path}."
    if label not in runners.labels:
        family = label.split("-", maxsplit=1)[0]
        near = ", ".join(sorted(name for name in runners.labels if name.startswith(family))) or "none"
        raise LaunchError("unknown-cluster", f"{path} has no label {label}; near it: {near}.", fix)
    if runner_name and runner_name not in runners.labels[label]:
        message = f"Runner {runner_name} is not listed under {label} in {path}."
        raise LaunchError("unknown-cluster", message, "Give the job to a runner of that label, or list the runner.")
    owner = label if label.startswith(CLUSTER) else runners.label_of(runner_name) or label
    name = owner.removeprefix(CLUSTER)
    hardware = runners.hardware.get(owner) or runners.hardware.get(label)
    if hardware is None and name not in runners.clusters:
        raise LaunchError("unknown-cluster", f"{path} has no record of cluster {name}.", fix)
    return _cluster(name, runners.clusters.get(name, {}), hardware.gpus_per_node if hardware else 1)


def _cluster(name: str, record: Mapping[str, Any], gpus_per_node: int) -> Cluster:
    slurm = record.get("slurm") or {}
    env, models = record.get("env"), record.get("models")
    return Cluster(
        name=name,
        gpus_per_node=gpus_per_node,
        partition=str(slurm.get("partition") or ""),
        account=str(slurm.get("account") or ""),
        exclusive=bool(slurm.get("exclusive")),
        gres=str(slurm.get("gres") or ""),
        env={str(key): str(value) for key, value in env.items()} if isinstance(env, Mapping) else None,
        models={str(key): str(value) for key, value in models.items()} if isinstance(models, Mapping) else None,
    )
