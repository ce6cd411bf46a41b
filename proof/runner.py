"""Purpose: GitHub's Actions service of the proof: takes queued runs of the stand-in, runs them with act, reports back.

Jobs appear in the stand-in while act works on them, artifacts when they are kept, the conclusion at the end. A second
attempt ("re-run failed jobs") runs the whole workflow again; rows that finished in the first attempt are kept results
(SWEEPGATE_KEEP) and submit nothing, and the stand-in carries their jobs over, as GitHub does.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.launch.install import CANARIES, FAMILIES
from app.sandbox.model import Job
from app.sandbox.model import Step as ShownStep
from app.sandbox.runs import Run
from proof import act
from proof.parts import CANCEL_MARK, CANCELLED, FAIL_FAST
from proof.target_repository import NAME, Target

OUTCOMES = {
    "success": "success",
    "failure": "failure",
    "cancelled": "cancelled",
    "skipped": "skipped",
}
RUNNER = "cpu-proof_0"


@dataclass
class Runner:
    """One runner: runs of the stand-in one after another, in a thread of its own."""

    folder: Path
    target: Target
    workspace: act.Workspace
    done: dict[tuple[int, int], act.ActResult] = field(default_factory=dict)
    running: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Runner:
        self._thread = threading.Thread(target=self._serve, name="runner", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for process in list(self.running.values()):
            act.interrupt(process)
        if self._thread is not None:
            self._thread.join(60)

    def _serve(self) -> None:
        while not self._ended.is_set():
            queued = [run for run in self.target.remote.runs if run.status == "queued"]
            for run in queued:
                self.run(run)
            time.sleep(0.1)

    def run(self, run: Run) -> None:
        """Execute one attempt and report it."""
        attempt = run.attempt
        event_file = self.folder / f"event-{run.id}.json"
        event_file.write_text(json.dumps(self.event_of(run)))
        told = act.command(self.workspace, run.event, event_file, run.id, attempt, NAME)
        run.start()
        tools = Path(self.workspace.environment["SWEEPGATE_TOOLS"])
        (tools / CANCELLED).unlink(missing_ok=True)
        (tools / FAIL_FAST).unlink(missing_ok=True)
        if "fail-fast" in run.inputs.get("label", ""):
            (tools / FAIL_FAST).touch()
        reporter = _Reporter(run)
        reader = act.Reader(act.shown_name, reporter.changed)
        log = self.folder / f"act-{run.id}-{attempt}.jsonl"
        clone = self.target.clone(self.folder / "default-branch")
        result = act.run(
            told,
            clone,
            log,
            reader,
            lambda process: self.running.__setitem__(run.id, process),
        )
        self.running.pop(run.id, None)
        reporter.add_skipped()
        self._report_artifacts(run)
        self.done[run.id, attempt] = result
        run.finish("success" if result.exit_code == 0 else "failure")

    def event_of(self, run: Run) -> Mapping[str, Any]:
        """The event payload: inputs of a dispatch, or the pull request's."""
        if run.event == "workflow_dispatch":
            return {"inputs": run.inputs}
        payload: Mapping[str, Any] = json.loads(run.inputs["payload"])
        return payload

    def _report_artifacts(self, run: Run) -> None:
        root = self.workspace.artifacts / str(run.id)
        known = {artifact.name for artifact in run.artifacts}
        for folder in sorted(root.iterdir()) if root.is_dir() else []:
            if folder.name in known:
                run.artifacts[:] = [one for one in run.artifacts if one.name != folder.name]
            files = {
                path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
            }
            run.artifact(folder.name, files)


class _Reporter:
    """Mirrors act's jobs as the stand-in's jobs. Jobs carried over from an earlier attempt are not shown twice."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._shown: dict[str, Job] = {}
        self._carried = {job.name for job in run.latest_jobs() if job.attempt == run.attempt}

    def changed(self, job: act.ActJob) -> None:
        if job.name in self._carried:
            return
        shown = self._shown.get(job.key)
        if shown is None:
            labels = ("cluster:cpu-proof",) if " | " in job.name else ("ubuntu-latest",)
            self._shown[job.key] = self._run.job(
                job.name, conclusion=None, runner=RUNNER, labels=labels, steps=("Run",)
            )
            return
        with self._run.lock:
            now = self._run.repo.world.clock.tick()
            shown.status, shown.completed_at = "completed", now
            stopped = any(CANCEL_MARK in line for line in job.log)
            shown.conclusion = "cancelled" if stopped else OUTCOMES.get(job.conclusion, "failure")
            shown.log = "\n".join(job.log).encode()
            shown.steps = [ShownStep(name, n, result, now, now) for n, (name, result) in enumerate(job.steps, 1)]

    def add_skipped(self) -> None:
        """Families that did not run yield one skipped job with the caller's name."""
        seen = {job.name for job in self._run.latest_jobs()}
        for family in (*CANARIES, *FAMILIES):
            if not any(name.startswith(f"{family.name} / ") for name in seen) and family.name not in seen:
                self._run.job(family.name, conclusion="skipped")
