"""Purpose: typed facts of the sweep: the evidence run, its jobs, its result rows, its logs, and the planned rows.

Invariants: rows are the artifact's own JSON (evidence.md 2 and 3) with the artifact and index they came from; identity
is never parsed from artifact names. `EvidenceRun` says which run was chosen and why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from app.facts.base import Fact
from app.facts.records import ArtifactRecord, JobLogRecord, JobRecord, RunRecord

if TYPE_CHECKING:
    from app.planner.plan import Plan


@dataclass(frozen=True)
class EvidenceRun(Fact):
    """The run that counts as evidence. `pinned_by` is the comment id of the live pin, 0 where none.

    `candidates` are the other runs of this pull request that were looked at, newest first, each with the reason why
    it was not chosen.
    """

    title: ClassVar[str] = "the evidence run"
    sources: ClassVar[tuple[str, ...]] = ("runs",)
    run: RunRecord
    pinned_by: int
    candidates: tuple[tuple[RunRecord, str], ...]


@dataclass(frozen=True)
class Jobs(Fact):
    """Jobs of the evidence run's attempts, complete."""

    title: ClassVar[str] = "the jobs of the evidence run"
    sources: ClassVar[tuple[str, ...]] = ("jobs",)
    all: tuple[JobRecord, ...]

    def of_run(self, run_id: int) -> tuple[JobRecord, ...]:
        return tuple(job for job in self.all if job.run_id == run_id)


@dataclass(frozen=True)
class Artifacts(Fact):
    title: ClassVar[str] = "the artifacts of the evidence run"
    sources: ClassVar[tuple[str, ...]] = ("artifacts",)
    all: tuple[ArtifactRecord, ...]


@dataclass(frozen=True)
class ResultRow:
    """One row of a result artifact: `artifact` its name, `member` the file, `index` the position in an array."""

    artifact: str
    member: str
    index: int
    data: Mapping[str, Any]

    @property
    def agentic(self) -> bool:
        return self.data.get("scenario_type") == "agentic-coding"

    @property
    def concurrency(self) -> int:
        """The row's concurrency; 0, which no point has, where it is not a number."""
        try:
            return int(self.data.get("conc", 0))
        except (TypeError, ValueError, OverflowError):
            return 0


@dataclass(frozen=True)
class BenchmarkRows(Fact):
    """Benchmark rows of the evidence run, each point once. `problems` are rows or files that could not be read."""

    title: ClassVar[str] = "the benchmark result rows"
    sources: ClassVar[tuple[str, ...]] = ("artifacts",)
    rows: tuple[ResultRow, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class EvalRows(Fact):
    """Rows of `agg_eval_all.json`."""

    title: ClassVar[str] = "the eval result rows"
    sources: ClassVar[tuple[str, ...]] = ("artifacts",)
    rows: tuple[ResultRow, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class ChangelogMetadata(Fact):
    """The `changelog-metadata` artifact of the evidence run."""

    title: ClassVar[str] = "the changelog-metadata artifact"
    sources: ClassVar[tuple[str, ...]] = ("artifacts",)
    data: Mapping[str, Any]


@dataclass(frozen=True)
class JobLogs(Fact):
    """Facts extracted from the job logs of the evidence run."""

    title: ClassVar[str] = "the job logs of the evidence run"
    sources: ClassVar[tuple[str, ...]] = ("job_logs",)
    all: tuple[JobLogRecord, ...]

    def of_job(self, job_id: int) -> JobLogRecord | None:
        return next((log for log in self.all if log.job_id == job_id), None)


@dataclass(frozen=True)
class PlanRows(Fact):
    """What the planner makes of the appended changelog entries at the head: throughput points and evals."""

    title: ClassVar[str] = "the sweep plan of the head"
    sources: ClassVar[tuple[str, ...]] = ("tree_head", "tree_merge_base")
    plan: Plan
