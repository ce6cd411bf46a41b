"""Purpose: workflow runs of the stand-in: started by a label, a push or a dispatch, filled and finished by the story.

Invariants: jobs belong to one attempt; a rerun keeps the run's id and raises the attempt. What a runner executed has a
runner name and steps; a skipped job has neither. Artifacts belong to the run, not to the attempt.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.sandbox.locking import locked
from app.sandbox.model import Artifact, Job, Step

if TYPE_CHECKING:
    from threading import RLock

    from app.sandbox.repository import Repository


@dataclass
class Run:
    """One workflow run. `path` is the workflow file; `head_repo` differs from `repo` for a fork's pull request."""

    repo: Repository
    id: int
    number: int
    path: str
    event: str
    head_sha: str
    head_branch: str
    actor: str
    title: str
    created_at: float
    visible_at: float = 0.0
    updated_at: float = 0.0
    attempt: int = 1
    status: str = "queued"
    conclusion: str | None = None
    triggering_actor: str = ""
    head_repo: str = ""
    inputs: dict[str, str] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    artifacts: list[Artifact] = field(default_factory=list)

    @property
    def lock(self) -> RLock:
        return self.repo.world.lock

    @property
    def name(self) -> str:
        return self.repo.workflow_name(self.path)

    @locked
    def start(self) -> Run:
        """A runner took the run: it is in progress."""
        self.status, self.updated_at = "in_progress", self.repo.world.clock.tick()
        self._tell("in_progress")
        return self

    @locked
    def job(
        self,
        name: str,
        conclusion: str | None = "success",
        log: bytes | str = b"",
        runner: str = "runner-1",
        steps: tuple[str, ...] = ("Set up job", "Run", "Complete job"),
        labels: tuple[str, ...] = (),
        id: int | None = None,  # noqa: A002  (GitHub's own name)
    ) -> Job:
        """Add a job. `conclusion=None` is a job in progress; "skipped" has neither runner nor steps."""
        now = self.repo.world.clock.tick()
        skipped = conclusion == "skipped"
        made = Job(
            id=id or self.repo.world.next_id(),
            name=name,
            attempt=self.attempt,
            status="in_progress" if conclusion is None else "completed",
            conclusion=conclusion,
            runner="" if skipped else runner,
            labels=labels or ("ubuntu-latest",),
            steps=[] if skipped else [Step(step, n, conclusion or "", now, now) for n, step in enumerate(steps, 1)],
            log=log.encode() if isinstance(log, str) else log,
            started_at=now,
            completed_at=None if conclusion is None else now,
        )
        self.jobs.append(made)
        return made

    @locked
    def artifact(
        self,
        name: str,
        files: Mapping[str, bytes | str] | None = None,
        zipped: bytes | None = None,
        id: int | None = None,  # noqa: A002
        expired: bool = False,
        declared_size: int | None = None,
    ) -> Artifact:
        """Upload an artifact from its files, or from raw bytes that need not be a zip."""
        archive = zipped if zipped is not None else zip_files(files or {})
        now = self.repo.world.clock.tick()
        made = Artifact(id or self.repo.world.next_id(), name, archive, now, expired, declared_size)
        self.artifacts.append(made)
        return made

    @locked
    def finish(self, conclusion: str = "success") -> Run:
        """The run is completed; the webhook `workflow_run` completed goes out."""
        now = self.repo.world.clock.tick()
        for job in self.jobs:
            if job.completed_at is None and job.attempt == self.attempt:
                job.status, job.conclusion, job.completed_at = "completed", conclusion, now
        self.status, self.conclusion, self.updated_at = "completed", conclusion, now
        self._tell("completed")
        return self

    @locked
    def rerun(self, actor: str, failed_only: bool = False) -> Run:
        """A new attempt. With `failed_only` the jobs that succeeded are carried over, as GitHub shows them."""
        last = self.latest_jobs()
        self.attempt += 1
        self.status, self.conclusion, self.triggering_actor = "queued", None, actor
        self.updated_at = self.repo.world.clock.tick()
        if failed_only:
            for job in last:
                if job.conclusion in ("success", "skipped"):
                    self.jobs.append(_carried(job, self.repo.world.next_id(), self.attempt))
        self._tell("requested")
        return self

    def latest_jobs(self, attempt: int | None = None) -> list[Job]:
        """Jobs of an attempt, by default the newest."""
        return [job for job in self.jobs if job.attempt == (attempt or self.attempt)]

    def logs(self, attempt: int | None = None) -> bytes:
        """The log archive: one text a job at the top, named "<n>_<job>.txt" with the characters that a file name bars
        left out, as GitHub does."""
        jobs = [job for job in self.latest_jobs(attempt) if job.runner]
        return zip_files({f"{n}_{log_name(job.name)}.txt": job.log for n, job in enumerate(jobs)})

    def _tell(self, action: str) -> None:
        self.repo.world.emit(self.repo, "workflow_run", action, self.triggering_actor or self.actor, run=self)


def _carried(job: Job, new_id: int, attempt: int) -> Job:
    made = Job(new_id, job.name, attempt, job.status, job.conclusion, job.runner, job.labels, job.steps, job.log)
    made.started_at, made.completed_at = job.started_at, job.completed_at
    return made


def log_name(job: str) -> str:
    """A job's name as the log archive spells it: no slashes, colons, bars and the like, at most 90 characters."""
    return re.sub(r'[/\\:*?"<>|]', "", job)[:90].strip()


def zip_files(files: Mapping[str, bytes | str]) -> bytes:
    """A zip with fixed times, so that the same files give the same bytes."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, (2026, 10, 21, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return target.getvalue()
