"""Purpose: a pull request on the reference repository with the sweep that its plan asks for: jobs, rows, evals.

Everything is made in process from the plan of the two trees, for any key; a test changes one part and asks one check.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from app.facts.base import Context, Fact, Facts, Missing
from app.facts.github import BranchActivity, ChangedFiles, Comments, LabelTimeline, Permissions, PullRequest
from app.facts.records import (
    Account,
    ActivityRecord,
    ArtifactRecord,
    CommentRecord,
    CommitRecord,
    FileRecord,
    JobLogRecord,
    JobRecord,
    LabelEventRecord,
    LogValue,
    PermissionRecord,
    PullRequestRecord,
    RunRecord,
)
from app.facts.repository import EvalThresholds, HeadTree, MergeBaseTree, Models, OtherTrees
from app.facts.sweep import (
    Artifacts,
    BenchmarkRows,
    ChangelogMetadata,
    EvalRows,
    EvidenceRun,
    JobLogs,
    Jobs,
    PlanRows,
    ResultRow,
)
from app.planner.job_names import check_run_name
from app.planner.plan import Plan, PlannedRow, PlanOptions, plan
from app.planner.scope import Scope, compute_scope
from app.policy import Policy
from app.sandbox.reference_parts.tree import files
from app.target.models_md import ModelsTable
from app.target.source import RejectedInput
from app.target.thresholds import Thresholds
from app.target.tree import Tree
from app.verdict.engine import _row
from app.verdict.policies import shipped
from checks import all_checks
from checks.contract import CheckResult

ROOT = "inferencex-e2e/"
NVIDIA, AMD = f"{ROOT}configs/nvidia-master.yaml", f"{ROOT}configs/amd-master.yaml"
CHANGELOG = f"{ROOT}perf-changelog.yaml"
THRESHOLDS = f"{ROOT}infx/evals/thresholds.yaml"
MODELS_MD = f"{ROOT}docs/MODELS.md"
BASE, HEAD, EARLIER = "b" * 40, "a" * 40, "e" * 40
REPOSITORY, NUMBER, RUN = "SemiAnalysisAI/InferenceX", 77, 4001
SWEEP = ".github/workflows/run-sweep.yml"


def account(login: str, kind: str = "User") -> Account:
    return Account(login=login, id=1, type=kind)


def comment(number: int, login: str, body: str, time: str, **changes: Any) -> CommentRecord:
    values: dict[str, Any] = {
        "kind": "issue_comment",
        "id": number,
        "author": account(login),
        "association": "COLLABORATOR",
        "body": body,
        "created_at": time,
        "updated_at": time,
    }
    return CommentRecord(**{**values, **changes})


def a_run(number: int = RUN, sha: str = HEAD, **changes: Any) -> RunRecord:
    values: dict[str, Any] = {
        "id": number,
        "event": "pull_request",
        "status": "completed",
        "conclusion": "success",
        "path": SWEEP,
        "head_sha": sha,
        "head_branch": "topic",
        "actor": account("maintainer"),
        "created_at": "2026-10-20T10:00:00Z",
        "repository": REPOSITORY,
    }
    return RunRecord(**{**values, **changes})


def labeled(name: str) -> LabelEventRecord:
    """A label of today, put on after every run was made, so that it says nothing of the run."""
    time = "2026-10-20T11:00:00Z"
    return LabelEventRecord(id=name, action="labeled", label=name, actor="maintainer", created_at=time)


@dataclass
class Sweep:
    """A pull request and its run. `trees` are further revisions by SHA."""

    base: dict[str, bytes] = field(default_factory=lambda: dict(files("base")))
    head: dict[str, bytes] = field(default_factory=lambda: dict(files("base")))
    changed: list[str] = field(default_factory=lambda: [CHANGELOG])
    run: RunRecord = field(default_factory=a_run)
    commits: list[CommitRecord] = field(default_factory=lambda: [CommitRecord(sha=HEAD, parents=(BASE,))])
    trees: dict[str, dict[str, bytes]] = field(default_factory=dict)
    labels: tuple[str, ...] = ("full-sweep-enabled",)
    label_events: list[LabelEventRecord] = field(default_factory=list)
    comments: list[CommentRecord] = field(default_factory=list)
    permissions: dict[str, PermissionRecord] = field(default_factory=dict)
    permission_problems: dict[str, str] = field(default_factory=dict)
    candidates: tuple[tuple[RunRecord, str], ...] = ()
    pull: dict[str, Any] = field(default_factory=dict)
    policy: Policy = field(default_factory=lambda: shipped("inferencex"))
    day: date = date(2026, 10, 21)
    jobs: list[JobRecord] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    evals: list[dict[str, Any]] = field(default_factory=list)
    logs: list[JobLogRecord] = field(default_factory=list)
    artifacts: list[ArtifactRecord] = field(default_factory=list)
    metadata: dict[str, Any] | None = None
    missing: dict[type[Fact], str] = field(default_factory=dict)

    @classmethod
    def of(cls, *keys: str, entry: str = "", **changes: Any) -> Sweep:
        """A pull request that only names existing keys again: all of their points are measured, evals included."""
        made = cls(**changes)
        return made.names(*keys, entry=entry).measure()

    def names(self, *keys: str, entry: str = "") -> Sweep:
        listed = "".join(f"    - {key}\n" for key in keys)
        self.head[CHANGELOG] += (
            f"\n- config-keys:\n{listed}{entry}  description:\n    - Again.\n  pr-link: XXX\n".encode()
        )
        return self

    def edit(self, path: str, old: str, new: str, count: int = -1, both: bool = False) -> Sweep:
        """Replace text of a file at the head (or at head and base alike)."""
        for tree in (self.head, self.base) if both else (self.head,):
            before = tree[path].decode()
            assert old in before, f"{old!r} is not in {path}"
            tree[path] = before.replace(old, new, count).encode()
        if path not in self.changed and not both:
            self.changed.append(path)
        return self

    @property
    def base_tree(self) -> Tree:
        return Tree(BASE, self.base, complete=True)

    @property
    def head_tree(self) -> Tree:
        return Tree(HEAD, self.head, complete=True)

    def plan(self) -> Plan:
        options = PlanOptions(all_evals="all-evals" in self.labels, evals_only="evals-only" in self.labels)
        return plan(self.base_tree, self.head_tree, options)

    def measure(self) -> Sweep:
        """Jobs, result rows, evals and log facts of every planned row: all green."""
        self.jobs, self.rows, self.evals, self.logs = [], [], [], []
        for number, row in enumerate(self.plan().rows):
            name = check_run_name(row.bucket, row.row, 3.5)
            self.jobs.append(a_job(number, name))
            image = str(row.row["image"]).replace("#", "/")
            self.logs.append(a_log(number, name, image))
            if row.is_eval:
                self.evals += eval_rows(row)
            else:
                self.rows += [result_row(row, conc) for conc in row.concurrencies]
        names = ["eval_results_all", *(f"bmk_agentic_{number}" for number in range(len(self.rows)))]
        self.artifacts = [ArtifactRecord(id=n, run_id=self.run.id, name=name) for n, name in enumerate(names)]
        return self

    @property
    def scope(self) -> Scope:
        return compute_scope(self.base_tree, self.head_tree, self.changed)

    @property
    def facts(self) -> Facts:
        values: list[Any] = [value for value in self._values() if type(value) not in self.missing]
        values += [(kind, Missing(kind.title, reason)) for kind, reason in self.missing.items()]
        return Facts.of(*values, context=Context(self.policy, self.day, REPOSITORY, NUMBER, HEAD))

    def _values(self) -> Iterable[Any]:
        pull: dict[str, Any] = {
            "repository": REPOSITORY,
            "number": NUMBER,
            "title": "Again",
            "body": "",
            "author": account("author"),
            "association": "CONTRIBUTOR",
            "state": "open",
            "head_sha": HEAD,
            "head_ref": "topic",
            "head_repository": REPOSITORY,
            "base_ref": "main",
            "labels": self.labels,
        }
        yield PullRequest(PullRequestRecord(**{**pull, **self.pull}), tuple(self.commits))
        yield ChangedFiles(tuple(FileRecord(path=path, status="modified") for path in self.changed))
        yield HeadTree(self.head_tree)
        yield MergeBaseTree(self.base_tree)
        yield OtherTrees({sha: Tree(sha, tree, complete=True) for sha, tree in self.trees.items()})
        yield EvidenceRun(self.run, 0, self.candidates)
        yield Jobs(tuple(self.jobs))
        yield Artifacts(tuple(self.artifacts))
        yield BenchmarkRows(tuple(ResultRow(f"bmk_{n}", "r.json", 0, row) for n, row in enumerate(self.rows)), ())
        yield EvalRows(tuple(ResultRow("eval_results_all", "e.json", n, row) for n, row in enumerate(self.evals)), ())
        yield JobLogs(tuple(self.logs))
        events = [*self.label_events, *map(labeled, self.labels)]
        yield LabelTimeline(tuple(sorted(events, key=lambda event: event.created_at)))
        yield Comments(tuple(self.comments))
        yield Permissions(self.permissions, self.permission_problems)
        updated = ActivityRecord(
            id=1,
            before="0" * 40,
            after=HEAD,
            ref="topic",
            timestamp="2026-10-20T09:00:00Z",
            actor="author",
            kind="push",
        )
        yield BranchActivity((updated,))
        yield ChangelogMetadata({"head_ref": HEAD, "entries": []} if self.metadata is None else self.metadata)
        yield self._thresholds()
        yield self._models()
        try:
            yield PlanRows(self.plan())
        except RejectedInput as rejected:
            self.missing.setdefault(PlanRows, f"the planner rejects it: {rejected.problems[0]}")

    def _thresholds(self) -> EvalThresholds:
        mine, theirs = self.base[THRESHOLDS], self.head[THRESHOLDS]
        head = None if mine == theirs else Thresholds.parse(THRESHOLDS, theirs)
        return EvalThresholds(Thresholds.parse(THRESHOLDS, mine), head)

    def _models(self) -> Models:
        mine, theirs = self.base[MODELS_MD], self.head[MODELS_MD]
        return Models(
            ModelsTable.parse(MODELS_MD, mine), None if mine == theirs else ModelsTable.parse(MODELS_MD, theirs)
        )

    def row(self, number: int) -> CheckResult:
        """The row of one check, as the engine gives it."""
        check = next(check for check in all_checks() if check.number == number)
        errors: list[str] = []
        result = _row(check, self.facts, self.scope, errors)
        assert not errors, errors[0]
        return result

    def job(self, part: str, **changes: Any) -> Sweep:
        """Change the jobs whose name contains a text."""
        assert any(part in job.name for job in self.jobs), part
        self.jobs = [job.model_copy(update=changes) if part in job.name else job for job in self.jobs]
        return self

    def lose(self, kind: type[Fact], reason: str = "HTTP 503") -> Sweep:
        self.missing[kind] = reason
        return self


def a_job(number: int, name: str, **changes: Any) -> JobRecord:
    values: dict[str, Any] = {
        "id": 500 + number,
        "run_id": RUN,
        "name": name,
        "status": "completed",
        "conclusion": "success",
        "runner_name": "runner_00",
        "steps": 6,
    }
    return JobRecord(**{**values, **changes})


def a_log(number: int, name: str, image: str) -> JobLogRecord:
    found = LogValue(value=image, line=12)
    return JobLogRecord(job_id=500 + number, run_id=RUN, job_name=name, extractor="test", lines=100, images=(found,))


def result_row(row: PlannedRow, conc: int) -> dict[str, Any]:
    """The artifact row of one concurrency of a planned row."""
    planned = row.row
    backend = planned.get("kv-offload-backend")
    made: dict[str, Any] = {
        "hw": str(planned["runner"]).removeprefix("cluster:"),
        "conc": conc,
        "image": planned["image"],
        "infmax_model_prefix": planned["model-prefix"],
        "framework": planned["framework"],
        "precision": planned["precision"],
        "spec_decoding": planned["spec-decoding"],
        "is_multinode": "prefill" in planned,
    }
    if "isl" in planned:
        made |= {"isl": planned["isl"], "osl": planned["osl"], "median_e2el": 10.0 + conc, "tput_per_gpu": 100.0 * conc}
    else:
        latency = {"p90": 10.0 + conc, "p75": 8.0 + conc}
        made |= {
            "scenario_type": "agentic-coding",
            "kv_offloading": planned["kv-offloading"],
            "kv_offload_backend": backend,
            "allocated_cpu_dram_gb": planned["total-cpu-dram-gb"],
            "num_requests_total": 10,
            "num_requests_successful": 10,
            "request_metrics": {
                "latency": {"e2el": latency},
                "throughput": {"per_gpu": {"total_tput_tps": 100.0 * conc}},
            },
        }
    return made | _sizes(planned)


def _sizes(planned: Any) -> dict[str, Any]:
    if "prefill" not in planned:
        return _worker(planned, "")
    sizes = {}
    for pool in ("prefill", "decode"):
        sizes |= _worker(planned[pool], f"{pool}_") | {f"{pool}_num_workers": planned[pool]["num-worker"]}
    return sizes


def _worker(worker: Any, prefix: str) -> dict[str, Any]:
    names = {"tp": "tp", "pp": "pp", "dcp-size": "dcp_size", "pcp-size": "pcp_size", "ep": "ep"}
    sizes = {f"{prefix}{field}": worker.get(name, 1) for name, field in names.items()}
    return sizes | {f"{prefix}dp_attention": "true" if worker.get("dp-attn") else "false"}


def eval_rows(row: PlannedRow) -> list[dict[str, Any]]:
    """Aggregate eval rows of a planned eval."""
    planned = row.row
    suite = planned.get("eval-suite") or ""
    concs = [planned["eval-conc"]] if "eval-conc" in planned else list(row.concurrencies)
    made = []
    for conc in concs:
        values: dict[str, Any] = {
            "is_multinode": "prefill" in planned,
            "model_prefix": planned["model-prefix"],
            "hw": str(planned["runner"]).removeprefix("cluster:").upper(),
            "framework": planned["framework"],
            "precision": planned["precision"],
            "spec_decoding": planned["spec-decoding"],
            "isl": planned.get("isl", 0),
            "osl": planned.get("osl", 0),
            "conc": conc,
            "task": suite or "gsm8k",
            "n_eff": {"kimi_tool_call_schema_full": 408, "minimax_m3_full": 102}.get(suite, 1319),
            "infrastructure_success": True,
            "integration_error": None,
        }
        score = {"accuracy": 0.97, "accuracy_se": 0.01, "eval_suite": suite} if suite else {}
        strict = {"em_strict": 0.9757, "em_strict_se": 0.0042, "em_flexible": 0.975, "em_flexible_se": 0.0043}
        made.append({**values, **(score or strict), **_sizes(planned)})
    return made
