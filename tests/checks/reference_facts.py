"""Purpose: the reference story as typed facts, made in process: trees, logs, checkpoint, upstream recipe, overview.

A test changes one part (a file, a log, a record) and asks one check. Nothing is read from a recorded bundle.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from app.facts.base import Context, Fact, Facts, Missing
from app.facts.log_facts import extract
from app.facts.outside import DraftCheckpoint, DraftCheckpoints, OverviewPage, UpstreamRecipe, UpstreamRecipes
from app.facts.records import Account, CheckpointRecord, CommentRecord, JobLogRecord, LogValue, UpstreamRecord
from app.facts.repository import GoldenCurves, HeadTree, MergeBaseTree, TargetTree
from app.facts.sign_off import SignedComment, SignOff
from app.facts.sweep import JobLogs
from app.planner.scope import Scope, compute_scope
from app.policy import Policy
from app.sandbox import reference_story as story
from app.sandbox.reference_parts import checkpoint, logs, names, upstream
from app.sandbox.reference_parts.settings import CONCURRENCIES
from app.sandbox.reference_parts.tree import files, text
from app.target.checklist import parse_signoff
from app.target.golden import read_curve
from app.target.tree import Tree
from app.verdict.engine import _row
from app.verdict.policies import shipped
from checks import all_checks
from checks.contract import CheckResult

RECIPE = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/musespark/sglang/gb200-fp4-mtp/agentic.yaml"
MASTER = "inferencex-e2e/configs/nvidia-master.yaml"
CHANGELOG = "inferencex-e2e/perf-changelog.yaml"
CURVE = "inferencex-e2e/infx/golden_al_distribution/musespark_dflash.yaml"
JSX = names.SNIPPET


@functools.cache
def reference_logs() -> tuple[JobLogRecord, ...]:
    """Facts of the eleven measuring jobs and the eval job."""
    found = [
        extract(
            logs.agentic_log(concurrency, "gb200-nv_00", names.STARTED),
            job_id=names.FIRST_JOB_ID + number,
            run_id=names.RUN_ID,
            job_name=story.job_name(concurrency),
        )
        for number, concurrency in enumerate(CONCURRENCIES)
    ]
    evaluated = extract(
        logs.eval_log(32, "gb200-nv_01", names.STARTED),
        job_id=story.EVAL_JOB_ID,
        run_id=names.RUN_ID,
        job_name=story.eval_job_name(),
    )
    return (*found, evaluated)


@dataclass
class Story:
    """The parts of the reference story, each to be changed by a test."""

    base: dict[str, bytes] = field(default_factory=lambda: dict(files("base")))
    head: dict[str, bytes] = field(default_factory=lambda: {**files("base"), **files("head")})
    changed: tuple[str, ...] = field(default_factory=lambda: tuple(files("head")))
    logs: tuple[JobLogRecord, ...] = field(default_factory=reference_logs)
    pages: dict[str, str] = field(default_factory=lambda: dict(upstream.upstream_files(merged=True)))
    overview: str = field(default_factory=upstream.overview_page)
    overview_url: str = names.OVERVIEW_URL
    sign_off: str = field(default_factory=lambda: text("sign_off.md"))
    checkpoint_files: dict[str, bytes] = field(default_factory=checkpoint.files)
    checkpoint_name: str = names.DRAFT
    checkpoint_problem: str = ""
    policy: Policy = field(default_factory=lambda: shipped("inferencex"))
    link: dict[str, Any] = field(default_factory=dict)
    extra_links: list[UpstreamRecord] = field(default_factory=list)
    no_upstream: bool = False
    missing: dict[type[Fact], str] = field(default_factory=dict)

    def edit(self, path: str, old: str, new: str, count: int = -1, base: bool = False) -> Story:
        """Replace text in a file of the head (and of the base)."""
        for tree in (self.head, self.base) if base else (self.head,):
            before = tree[path].decode()
            assert old in before, f"{old!r} is not in {path}"
            tree[path] = before.replace(old, new, count).encode()
        return self

    def page(self, old: str, new: str, count: int = -1, path: str = JSX) -> Story:
        assert old in self.pages[path], f"{old!r} is not in {path}"
        self.pages[path] = self.pages[path].replace(old, new, count)
        return self

    def log(self, job: str, **changes: Any) -> Story:
        """Replace fields of every log whose job name ends with or contains `job`."""
        assert any(_named(log, job) for log in self.logs), job
        self.logs = tuple(log.model_copy(update=changes) if _named(log, job) else log for log in self.logs)
        return self

    def each_log(self, change: Callable[[JobLogRecord], JobLogRecord]) -> Story:
        self.logs = tuple(change(log) for log in self.logs)
        return self

    def lose(self, kind: type[Fact], reason: str = "HTTP 503") -> Story:
        self.missing[kind] = reason
        return self

    def with_policy(self, **changes: Any) -> Story:
        self.policy = self.policy.model_copy(update=changes)
        return self

    @classmethod
    def of(cls, key: str) -> Story:
        """A story in which the only change is an appended changelog entry that names another key of the repository."""
        story_ = cls(head=dict(files("base")), changed=(CHANGELOG,), logs=(), pages={}, checkpoint_files={})
        entry = f"\n- config-keys:\n    - {key}\n  description:\n    - Again.\n  pr-link: XXX\n"
        story_.head[CHANGELOG] += entry.encode()
        return story_

    def both(self, path: str, old: str, new: str, count: int = -1) -> Story:
        """Replace text at head and base alike: a fact of old, not a change."""
        return self.edit(path, old, new, count, base=True)

    def add_log(self, name: str, **parts: Any) -> Story:
        """A log of a job; plain texts become values in line 7."""
        texts = {key: _values(value) for key, value in parts.items() if key in ("env", "versions", "refs")}
        args = {role: _values(flags) for role, flags in parts.get("server_args", {}).items()}
        listed = {key: tuple(map(_value, parts[key])) for key in ("loads", "images", "kv_caches") if key in parts}
        plain = {key: parts[key] for key in ("requests", "missing", "problem") if key in parts}
        record = JobLogRecord(
            job_id=9_000 + len(self.logs),
            run_id=names.RUN_ID,
            job_name=name,
            extractor="test",
            lines=100,
            **texts,
            server_args=args,
            **listed,
            **plain,
        )
        self.logs = (*self.logs, record)
        return self

    @property
    def scope(self) -> Scope:
        base = Tree(names.BASE_SHA, self.base, complete=True)
        head = Tree(names.HEAD_SHA, self.head, complete=True)
        return compute_scope(base, head, self.changed)

    @property
    def facts(self) -> Facts:
        made = list(self._facts())
        values: list[Any] = [value for value in made if type(value) not in self.missing]
        values += [(kind, Missing(kind.title, reason)) for kind, reason in self.missing.items()]
        context = Context(self.policy, date(2026, 10, 21), names.REPOSITORY, names.NUMBER, names.HEAD_SHA)
        return Facts.of(*values, context=context)

    def _facts(self) -> Iterable[Fact]:
        comment = CommentRecord(
            kind="issue_comment",
            id=names.SIGN_OFF_ID,
            author=Account(login=names.SIGNER, id=1),
            body=self.sign_off,
            created_at=names.SIGNED,
            updated_at=names.SIGNED,
        )
        yield SignOff(SignedComment(comment, parse_signoff(self.sign_off), names.SIGNED, names.HEAD_SHA))
        yield JobLogs(self.logs)
        yield HeadTree(Tree(names.HEAD_SHA, self.head, complete=True))
        yield MergeBaseTree(Tree(names.BASE_SHA, self.base, complete=True))
        yield TargetTree(Tree(names.BASE_SHA, self.base, complete=True))
        yield self._curves()
        yield UpstreamRecipes(tuple(self._upstream()))
        record = CheckpointRecord(
            repository=self.checkpoint_name, revision="main", sha=names.DRAFT_SHA, problem=self.checkpoint_problem
        )
        headers = {name: raw for name, raw in self.checkpoint_files.items() if name.endswith(".safetensors")}
        others = {name: raw for name, raw in self.checkpoint_files.items() if name not in headers}
        yield DraftCheckpoints({self.checkpoint_name: DraftCheckpoint(record, others, headers)})
        yield OverviewPage(self.overview_url, self.overview.encode())

    def _curves(self) -> GoldenCurves:
        folder = "inferencex-e2e/infx/golden_al_distribution/"
        ours = {path: raw for path, raw in self.base.items() if path.startswith(folder)}
        theirs = {path: raw for path, raw in self.head.items() if path.startswith(folder)}

        def stem(path: str) -> str:
            return path.rsplit("/", 1)[-1].removesuffix(".yaml")

        return GoldenCurves(
            {stem(path): read_curve(path, raw) for path, raw in {**theirs, **ours}.items()},
            frozenset(stem(path) for path in theirs if path not in ours),
            frozenset(stem(path) for path, raw in theirs.items() if path in ours and ours[path] != raw),
        )

    def _upstream(self) -> Iterable[UpstreamRecipe]:
        if self.no_upstream:
            return
        pull: dict[str, Any] = {
            "link": f"https://github.com/{names.UPSTREAM}/pull/{names.UPSTREAM_NUMBER}",
            "comment_id": names.SIGN_OFF_ID,
            "line": 23,
            "kind": "pull_request",
            "repository": names.UPSTREAM,
            "number": names.UPSTREAM_NUMBER,
            "state": "MERGED",
            "merged_at": "2026-10-21T05:22:39Z",
            "merge_sha": names.UPSTREAM_MERGE_SHA,
            "contained": True,
        }
        contents = {path: content.encode() for path, content in self.pages.items()}
        yield UpstreamRecipe(UpstreamRecord(**{**pull, **self.link}), contents)
        for record in self.extra_links:
            yield UpstreamRecipe(record, contents if record.kind == "page" else {})

    def row(self, number: int) -> CheckResult:
        """The row of one check, as the engine gives it."""
        check = next(check for check in all_checks() if check.number == number)
        errors: list[str] = []
        result = _row(check, self.facts, self.scope, errors)
        assert not errors, errors[0]
        return result


def _value(text: str) -> LogValue:
    return LogValue(value=text, line=7)


def _values(texts: dict[str, str]) -> dict[str, LogValue]:
    return {name: _value(text) for name, text in texts.items()}


def _named(log: JobLogRecord, job: str) -> bool:
    return log.job_name.endswith(job) or job in log.job_name.split(" / ", maxsplit=1)[0].split("|")
