"""Purpose: gates that hold, as act runs of actions mode with real parts: labels in conflict, a fork, a failing canary,
a reused run.

Each drill starts one run of the pull request's own event and compares the jobs that ran with what table A says.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from app.demo.stage import TooLate
from app.sandbox import Server, World
from app.sandbox.pull import PullRequest
from app.sandbox.runs import Run
from proof import act, slurm, target_repository
from proof.parts import Parts
from proof.runner import Runner
from proof.story import Transcript, must
from proof.target_repository import NAME, RECIPE, Target, more_points

Build = Callable[[Path, Target, Parts, slurm.Cluster, str], act.Workspace]
LABEL = "full-sweep-enabled"


def play(folder: Path, found: Parts, told: Transcript, workspace: Build) -> None:
    """All drills, one after another. Raises Broken where a gate does not hold."""
    world = World()
    target = target_repository.build(folder, world, "actions", found.model)
    for login, permission in (("maintainer", "write"), ("reviewer", "write"), ("author", "read")):
        target.remote.collaborator(login, permission)
    world.token("proof-token", "github-actions[bot]")
    with slurm.cluster(folder / "slurm") as cluster, Server(world) as server:
        runner = Runner(folder, target, workspace(folder, target, found, cluster, server.url))
        target.commit("points", more_points(target, (2,)), "Measure concurrency 2")
        pull = target.remote.pull_request("points", author="author", number=8)
        told.say("drills: actions mode, one pull request, act runs of its events")
        conflict(pull, runner, told)
        fork(pull, runner, told)
        failing_canary(pull, runner, cluster, told)
        reuse(pull, target, runner, told)
        must(cluster.jobs() == [], "no Slurm job is left", cluster.jobs())


def event(pull: PullRequest, action: str, labels: list[str], head_repository: str = NAME) -> dict[str, Any]:
    return {
        "action": action,
        "label": {"name": labels[-1]} if action == "labeled" else None,
        "number": pull.number,
        "pull_request": {
            "number": pull.number,
            "labels": [{"name": name} for name in labels],
            "head": {"sha": pull.head_sha, "ref": pull.head_branch, "repo": {"full_name": head_repository}},
            "base": {"sha": pull.base_sha, "ref": "main", "repo": {"full_name": NAME}},
        },
        "repository": {"full_name": NAME, "default_branch": "main"},
    }


def run_event(pull: PullRequest, runner: Runner, payload: Mapping[str, Any]) -> tuple[Run, dict[str, str]]:
    """One run of the pull request's event; the conclusions of the jobs that act ran."""
    inputs = {"payload": json.dumps(payload)}
    repo = pull.repo
    run = repo.start_run("run-sweep.yml", "pull_request", "maintainer", pull.head_sha, pull.head_branch, inputs=inputs)
    runner.run(run)
    result = runner.done.get((run.id, 1))
    if result is None:
        raise TooLate(f"run {run.id} left no result")
    must(not result.fatal, f"act went through the whole workflow of run {run.id}", result.fatal)
    return run, result.conclusions()


def log_has(runner: Runner, run: Run, text: str) -> bool:
    return any(text in line for job in runner.done[run.id, 1].jobs.values() for line in job.log)


def conflict(pull: PullRequest, runner: Runner, told: Transcript) -> None:
    run, jobs = run_event(pull, runner, event(pull, "labeled", [LABEL, "full-sweep-fail-fast"]))
    must(jobs == {"check-changelog": "failure"}, "check-changelog fails and nothing else runs", jobs)
    must(log_has(runner, run, "multiple conflicting sweep labels"), "the log names the conflict")
    told.say("conflict of labels: check-changelog failed, nothing else ran")


def fork(pull: PullRequest, runner: Runner, told: Transcript) -> None:
    _, jobs = run_event(pull, runner, event(pull, "labeled", [LABEL], head_repository="outsider/inference-bench"))
    must(jobs == {}, "every job is skipped for a fork", jobs)
    told.say("fork: no job ran (a fork's sweep is dispatched by the service, never by its own event)")


def failing_canary(pull: PullRequest, runner: Runner, cluster: slurm.Cluster, told: Transcript) -> None:
    cluster.run("scontrol", "update", "PartitionName=proof", "State=DRAIN")
    run, jobs = run_event(pull, runner, event(pull, "labeled", [LABEL]))
    cluster.run("scontrol", "update", "PartitionName=proof", "State=UP")
    canaries = {name: result for name, result in jobs.items() if name.startswith("canary /")}
    must(list(canaries.values()) == ["failure"], "the canary fails", jobs)
    families = [name for name in jobs if name.startswith(("agentic /", "agentic eval /"))]
    must(not families, "no family runs after a failed canary", families)
    must(jobs.get("upload-changelog-metadata") == "success", "the metadata is published all the same", jobs)
    told.say("canary failure: sbatch refused a drained partition, every family was skipped, metadata was published")
    told.block("\n".join(f"{result:10} {name}" for name, result in jobs.items()))
    must(log_has(runner, run, "slurm-refused"), "the launcher says what Slurm refused")


def reuse(pull: PullRequest, target: Target, runner: Runner, told: Transcript) -> None:
    pull.apply_label("maintainer", LABEL)
    source, jobs = run_event(pull, runner, event(pull, "labeled", [LABEL]))
    must(set(jobs.values()) == {"success"}, "the source run passes", jobs)
    pull.comment("maintainer", f"/use {source.id}")
    text = target.text(RECIPE)
    target.commit("points", {RECIPE: text + "# a comment changes no measurement\n"}, "Say why")
    before = len(submitted(runner))
    _, jobs = run_event(pull, runner, event(pull, "synchronize", [LABEL]))
    must(jobs.get("reuse-sweep-gate") == "success", "the gate accepts the pinned run", jobs)
    must(set(jobs) == {"check-changelog", "reuse-sweep-gate"}, "nothing is planned under /use", jobs)
    must(len(submitted(runner)) == before, "no row is submitted under /use")
    told.say(f"reuse gate: /use {source.id} is valid, the push planned and submitted nothing")


def submitted(runner: Runner) -> list[str]:
    return [
        line
        for result in runner.done.values()
        for job in result.jobs.values()
        for line in job.log
        if "submitted job" in line
    ]
