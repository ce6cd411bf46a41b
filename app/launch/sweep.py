"""Purpose: what the jobs of run-sweep.yml decide: may this sweep run, which rows in which matrix, which canary.

Pure: plans and labels in, JSON for the workflow's outputs out. Job names and scores are the planner's
(app.planner.job_names, app.planner.priority); one matrix element is one row on one runner.

Invariants: a matrix has at most 256 elements (GitHub's limit); the rest of a family goes in further groups. A row
stands in exactly one place: canary, family or further group.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.launch.install import CANARIES, FAMILIES
from app.launch.row import LaunchRow
from app.planner.canary import canary
from app.planner.job_names import callee_name, caller_name
from app.planner.plan import Plan, PlannedRow
from app.planner.priority import Weights, priority
from app.policy import SweepPolicy

MOST_JOBS = 256
MOST_OUTPUT = 900_000
MINUTES = {"single": 500, "multi": 500, "multi-agentic": 800}

_BUCKETS = {family.bucket: family for family in FAMILIES}


class SweepProblem(Exception):  # noqa: N818
    """Why this sweep does not run; one short sentence and the next step."""


@dataclass(frozen=True, slots=True)
class Labels:
    """The sweep labels of a pull request: the one primary ("" where none) and the modifiers."""

    primary: str
    modifiers: tuple[str, ...]
    way: str

    @property
    def wants_canary(self) -> bool:
        return self.way in ("canary", "canary-fail-fast")

    @property
    def fail_fast(self) -> bool:
        return self.way.endswith("fail-fast")

    @property
    def trim(self) -> bool:
        return self.way == "trim"


def read_labels(words: Iterable[str], policy: SweepPolicy) -> Labels:
    """The sweep labels among all labels. Raises SweepProblem for several primaries."""
    present = set(words)
    primaries = sorted(present & set(policy.primaries))
    if len(primaries) > 1:
        shown = ", ".join(primaries)
        raise SweepProblem(f"There are multiple conflicting sweep labels: {shown}. Keep exactly one primary label.")
    primary = primaries[0] if primaries else ""
    modifiers = tuple(sorted(present & set(policy.modifiers)))
    return Labels(primary, modifiers, policy.primaries[primary] if primary else "")


def older_run(runs: Sequence[Mapping[str, Any]], key: str, own: int) -> int | None:
    """The oldest earlier run whose title carries the same sweep key; None where this run is the first."""
    same = [int(run["id"]) for run in runs if f"[{key}]" in str(run.get("display_title", "")) and int(run["id"]) < own]
    return min(same, default=None)


@dataclass(frozen=True, slots=True)
class Scheduling:
    """How a job finds its runner. With `on` an outside tracker grants runners by one-shot labels (docs/sweeps.md)."""

    on: bool
    run_id: str
    attempt: int

    def labels(self, row: Mapping[str, Any], score: float, path: str) -> list[str]:
        """`runs-on` of one row. The token binds a grant to this run, attempt and row."""
        runner = str(row["runner"])
        if not self.on:
            return [runner]
        text = f"{self.run_id}:{self.attempt}{path}{json.dumps(row, sort_keys=True)}"
        token = hashlib.sha256(text.encode()).hexdigest()[:32]
        nodes = [f"nodes:{row['node-count']}"] if "node-count" in row else []
        return ["self-hosted", runner, *nodes, f"ci-job-{score:.3f}-{token}", f"ci-attempt-{self.attempt}"]


def job_of(planned: PlannedRow, score: float, scheduling: Scheduling) -> dict[str, Any]:
    """One matrix element: the row as text, the job's shown name, artifact name, runner labels and time limit."""
    row = {**planned.row, "config-key": planned.config_key}
    launch = LaunchRow(row)
    size = "single" if not launch.multinode else "multi-agentic" if launch.agentic else "multi"
    return {
        "row": json.dumps(row, sort_keys=True, separators=(",", ":")),
        "name": callee_name(planned.row, score),
        "result": launch.result_name,
        "kind": launch.kind,
        "runs_on": json.dumps(scheduling.labels(planned.row, score, planned.bucket)),
        "minutes": MINUTES[size],
    }


@dataclass(frozen=True)
class Sweep:
    """All jobs of a sweep: by bucket, in plan order; `canary` is (bucket, index) of the row that may go first."""

    jobs: Mapping[str, Sequence[Mapping[str, Any]]]
    canary: tuple[str, int] | None

    def text(self) -> str:
        """JSON for the job output; `read_sweep` reads it back."""
        return json.dumps({"jobs": self.jobs, "canary": self.canary}, separators=(",", ":"))


def sweep_of(plan: Plan, weights: Weights, labels: Collection[str], scheduling: Scheduling) -> Sweep:
    """The jobs of a plan. Raises SweepProblem for an empty plan and for one that no workflow output can hold."""
    jobs: dict[str, list[Mapping[str, Any]]] = {}
    chosen = canary(plan)
    place: tuple[str, int] | None = None
    for planned in plan.rows:
        score = priority(planned.row, weights, labels=labels)
        bucket = jobs.setdefault(planned.bucket, [])
        if planned is chosen:
            place = (planned.bucket, len(bucket))
        bucket.append(job_of(planned, score, scheduling))
    if not jobs:
        raise SweepProblem("The changelog entry selects nothing to run. Name keys whose points or evals shall run.")
    found = Sweep(jobs, place)
    if len(found.text()) > MOST_OUTPUT:
        count = sum(map(len, jobs.values()))
        raise SweepProblem(f"{count} jobs are too many for one run. Split the entries over several pull requests.")
    return found


def read_sweep(text: str) -> Sweep:
    """The sweep in a job output."""
    value = json.loads(text)
    place = value["canary"]
    return Sweep(value["jobs"], None if place is None else (place[0], place[1]))


def _groups(family_name: str, multi_node: bool, jobs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"name": family_name, "multi_node": multi_node, "rows": json.dumps(jobs[start : start + MOST_JOBS])}
        for start in range(0, len(jobs), MOST_JOBS)
    ]


def selection(sweep: Sweep, *, with_canary: bool) -> dict[str, str]:
    """The outputs of canary-select: one matrix (a JSON list) for each canary, each family, and further groups."""
    outputs = {family.output: "[]" for family in (*CANARIES, *FAMILIES)}
    place = sweep.canary if with_canary else None
    more: list[dict[str, Any]] = []
    for bucket, jobs in sweep.jobs.items():
        rest = list(jobs)
        multi_node = bucket.startswith("multi")
        if place is not None and place[0] == bucket:
            outputs[CANARIES[1 if multi_node else 0].output] = json.dumps([rest.pop(place[1])])
        family = _BUCKETS.get(bucket)
        if family is None:
            more.extend(_groups(caller_name(bucket), multi_node, rest))
            continue
        outputs[family.output] = json.dumps(rest[:MOST_JOBS])
        more.extend(_groups(family.name, multi_node, rest[MOST_JOBS:]))
    return {**outputs, "more": json.dumps(more)}
