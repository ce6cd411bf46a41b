"""Purpose: a world with one of everything, and the stand-in over it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.sandbox import Server, World
from app.sandbox.model import CheckRun, CommitStatus
from app.sandbox.pull import PullRequest
from app.sandbox.repository import Repository
from app.sandbox.runs import Run

WORKFLOW = """name: Run Sweep
run-name: sweep ${{ inputs.pr }} ${{ inputs.sweep_key }}
on:
  workflow_dispatch:
    inputs:
      pr:
        required: true
      sweep_key:
        required: true
"""
DESCRIPTION = Path(__file__).parent / "openapi" / "github.json"


@dataclass
class Story:
    """The world's main actors."""

    world: World
    repo: Repository
    pull: PullRequest
    run: Run
    check: CheckRun


@pytest.fixture
def story() -> Story:
    world = World()
    world.organization("acme", ("core",))
    world.team("acme/owners", ("reviewer",))
    world.team("acme/hidden", ("reviewer",), visible=False)
    world.token("bot-token", "sweepgate[bot]")
    world.token("reader-token", "outsider")
    files = {"README.md": "one\ntwo\nthree\n", "configs/a.yaml": "a: 1\n", ".github/workflows/run-sweep.yml": WORKFLOW}
    repo = world.repository("acme/bench", files)
    repo.collaborator("maintainer", "admin")
    repo.collaborator("reviewer", "write", "maintain", association="COLLABORATOR")
    repo.push("feature", {"README.md": "one\n2\nthree\n", "new.txt": "new\n"}, "author", "Change two")
    pull = repo.pull_request("feature", "author", "Change", "What it does", number=7)
    comment = pull.comment("reviewer", "/use 4001")
    pull.react("maintainer", "+1", comment)
    pull.review("reviewer", "Looks right", "APPROVED")
    pull.review_comment("reviewer", "here", "README.md", 2)
    pull.apply_label("maintainer", "full-sweep-enabled")
    run = repo.start_run("run-sweep.yml", "pull_request", "maintainer", pull.head_sha, "feature", id=4001).start()
    run.job("agentic / c1", log="line 1\n", runner="gb200_1", id=5001)
    run.job("agentic / c2", conclusion="failure", log="line 2\n", runner="gb200_2", id=5002)
    run.job("canary /", conclusion="skipped", id=5003)
    run.artifact("bmk_agentic_x", {"x.json": "{}"}, id=6001)
    run.artifact("old", {"x.json": "{}"}, id=6002, expired=True)
    run.finish("failure")
    check = CheckRun(7001, "sweep", pull.head_sha, "completed", "success", "sweepgate", world.clock.now())
    repo.check_runs.append(check)
    repo.statuses.append(CommitStatus(7002, pull.head_sha, "ci", "success", "", "", "maintainer", world.clock.now()))
    return Story(world, repo, pull, run, check)


@pytest.fixture
def server(story: Story) -> Iterator[Server]:
    with Server(story.world) as running:
        yield running


@pytest.fixture
def api(server: Server) -> Iterator[httpx.Client]:
    """A bare client that speaks as the bot."""
    headers = {"Authorization": "Bearer bot-token"}
    with httpx.Client(base_url=server.url, headers=headers, trust_env=False) as client:
        yield client


@pytest.fixture(scope="session")
def description() -> dict[str, Any]:
    told: dict[str, Any] = json.loads(DESCRIPTION.read_text())
    return told
