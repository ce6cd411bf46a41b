"""Purpose: a second pull request for the demo, in a repository whose sweeps the service itself starts.

The measured configuration, logs and results are those of the reference story, told of another repository, commit and
run. The author forgets the model's row of MODELS.md: the one planted fault. The fix adds the row and touches nothing
that was measured.

Invariant: needs the hosts of the reference story (checkpoint, pages, upstream with its merged recipe) in the same
world, and changes nothing of that story's repository.
"""

from __future__ import annotations

import re

from app.launch.install import FOLDER, render
from app.sandbox.model import Comment
from app.sandbox.pull import PullRequest
from app.sandbox.reference_parts import logs, names, results
from app.sandbox.reference_parts.settings import CONCURRENCIES
from app.sandbox.reference_parts.tree import files, text
from app.sandbox.reference_story import (
    COLLECTORS,
    GATES,
    HOSTED,
    RUNNERS,
    SKIPPED,
    STEPS_OF_A_MEASUREMENT,
    eval_job_name,
    job_name,
)
from app.sandbox.repository import Repository
from app.sandbox.runs import Run
from app.sandbox.world import World

REPOSITORY = "SemiAnalysisAI/InferenceX-service"
BRANCH = "second"
TITLE = "Add Muse Spark Open NVFP4 on GB200 SGLang (AgentX)"
MODELS = "inferencex-e2e/docs/MODELS.md"
POLICY = b"extends: inferencex\nsweep:\n  mode: service\n"
_ROW = re.compile(rb"^\| Muse Spark Open 816B-A42B \|.*\n", re.MULTILINE)
STARTED = "2026-10-21T09:00:00Z"


class SecondStory:
    """The steps, each told once and in this order: prepare, open, label, run, use, sign_off, fix."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.repository: Repository
        self.pull: PullRequest
        self.run: Run

    def prepare(self) -> None:
        """The repository with the installed workflows of service mode, its people and labels."""
        content = files("base")
        workflows = {f"{FOLDER}/{name}": told.encode() for name, told in render("service").items()}
        without_row = {MODELS: _ROW.sub(b"", content[MODELS]), ".github/sweepgate.yml": POLICY}
        self.repository = self.world.repository(REPOSITORY, {**content, **workflows, **without_row})
        self.repository.collaborator(names.SIGNER, "write", "write", "COLLABORATOR")
        self.repository.collaborator(names.MAINTAINER, "admin", "admin", "MEMBER")
        self.repository.collaborator(names.AUTHOR, "read", "read", "CONTRIBUTOR")
        for label in (names.LABEL, "full-sweep-enabled", "full-sweep-fail-fast"):
            self.repository.label(label)

    def open(self) -> None:
        """The author pushes and opens the pull request; the row of MODELS.md is missing."""
        self.repository.push(BRANCH, files("head"), names.AUTHOR, TITLE)
        self.pull = self.repository.pull_request(BRANCH, names.AUTHOR, TITLE, text("pull_request.md"))
        self.measured = self.pull.head_sha

    def label(self) -> None:
        self.pull.apply_label(names.MAINTAINER, names.LABEL)

    def dispatched(self) -> Run | None:
        """The one run that the service started; None where there is none yet."""
        with self.world.lock:
            found = [run for run in self.repository.runs if run.event == "workflow_dispatch"]
        return found[0] if len(found) == 1 else None

    def measure(self) -> None:
        """A runner takes the dispatched run; every job passes and leaves its artifacts."""
        run = self.dispatched()
        if run is None:
            raise LookupError(f"{len(self.repository.runs)} runs were dispatched, not one")
        self.run = run.start()
        for name in (*GATES, *SKIPPED):
            run.job(name, "success" if name in GATES else "skipped", runner=HOSTED)
        for concurrency in CONCURRENCIES:
            log = logs.agentic_log(concurrency, RUNNERS[concurrency], STARTED)
            self._measured(job_name(concurrency), log, RUNNERS[concurrency])
        log = logs.eval_log(results.EVAL_CONCURRENCY, results.EVAL_RUNNER, STARTED)
        self._measured(eval_job_name(), log, results.EVAL_RUNNER)
        for name in COLLECTORS:
            run.job(name, runner=HOSTED)
        for name, members in results.artifacts(RUNNERS).items():
            run.artifact(name, {path: self._told(content) for path, content in members.items()})

    def _measured(self, name: str, log: str, runner: str) -> None:
        labels = ("self-hosted", "cluster:gb200-nv")
        self.run.job(name, log=self._told(log), runner=runner, steps=STEPS_OF_A_MEASUREMENT, labels=labels)

    def finish(self) -> None:
        self.run.finish("success")

    def use(self) -> Comment:
        """The code owner authorises the reuse of the run."""
        return self.pull.comment(names.SIGNER, f"/use {self.run.id}")

    def sign_off(self) -> Comment:
        return self.pull.comment(names.SIGNER, self._told(text("sign_off.md")))

    def fix(self) -> None:
        """The author adds the row."""
        self.repository.push(BRANCH, {MODELS: files("base")[MODELS]}, names.AUTHOR, "Add the row of MODELS.md")

    def _told(self, told: str) -> str:
        """A text of the reference story, told of this repository, commit and run."""
        for old, new in (
            (names.HEAD_SHA, self.measured),
            (names.HEAD_SHA[:8], self.measured[:8]),
            (names.HEAD_SHA[:7], self.measured[:7]),
            (names.BASE_SHA, self.pull.base_sha),
            (f"{names.REPOSITORY}/actions/runs/{names.RUN_ID}", f"{REPOSITORY}/actions/runs/{self.run.id}"),
            (f"{names.REPOSITORY}/blob", f"{REPOSITORY}/blob"),
        ):
            told = told.replace(old, new)
        return told
