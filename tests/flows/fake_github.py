"""Purpose: a small GitHub in memory behind the Reader and Writer Protocols, for tests of decisions in motion.

It can hide new comments and runs for a while, lose answers after acting, and count requests.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from app.decide.state import (
    Artifact,
    ChangedFile,
    CheckRunState,
    HeadChange,
    LabelEvent,
    Measurement,
    Permission,
    Person,
    PullRef,
    PullState,
    Remark,
    Run,
)
from app.effects.ports import CheckRunPlace, CheckRunText, NotThere, Unanswered, Unavailable
from app.effects.rounds import ListedPull, ListedRun
from app.effects.verify import VerdictText, VerifyRequest
from app.policy import Policy
from app.results.triage import JobEvidence

BOT = Person(9000, "sweepgate[bot]", bot=True)
WRITER = Permission("write", "write")
ADMIN = Permission("admin", "admin")
READER = Permission("read", "read")
PEOPLE = {
    "author": (Person(1, "author"), READER, "CONTRIBUTOR"),
    "reviewer": (Person(2, "reviewer"), WRITER, "COLLABORATOR"),
    "maintainer": (Person(3, "maintainer"), ADMIN, "MEMBER"),
    "outsider": (Person(4, "outsider"), READER, "NONE"),
    "triager": (Person(5, "triager"), Permission("read", "triage"), "COLLABORATOR"),
}
REPOSITORY = "example/inference"
HEAD = "a" * 40
SIGN_OFF = "As a PR reviewer and CODEOWNER, I have reviewed this and have\n- [x] looked"


@dataclass
class FakePull:
    state: PullState
    remarks: dict[int, Remark] = field(default_factory=dict)
    shown_at: dict[int, float] = field(default_factory=dict)
    runs: dict[int, Run] = field(default_factory=dict)
    check_runs: dict[int, tuple[str, CheckRunText]] = field(default_factory=dict)
    history: list[HeadChange] = field(default_factory=list)
    updated_at: str = "2026-11-30T00:00:00Z"


@dataclass
class FakeGitHub:
    """One repository. `lag` hides new comments for that many seconds; `faults` maps a method to errors to raise."""

    clock: Callable[[], float] = time.time
    lag: float = 0.0
    pulls: dict[int, FakePull] = field(default_factory=dict)
    permissions: dict[str, Permission] = field(default_factory=lambda: {n: p[1] for n, p in PEOPLE.items()})
    calls: list[str] = field(default_factory=list)
    trusted: str = "trusted"
    dispatches: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    cancelled: list[int] = field(default_factory=list)
    rerun: list[int] = field(default_factory=list)
    evidence: list[JobEvidence] = field(default_factory=list)
    before: dict[str, list[Exception]] = field(default_factory=dict)
    after: dict[str, list[Exception]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._ids = itertools.count(1001)
        self._guard = threading.RLock()

    # The people's side -------------------------------------------------------------------------------------------
    def open_pull(self, number: int = 7, **fields: Any) -> FakePull:
        values: dict[str, Any] = {
            "ref": PullRef(REPOSITORY, number),
            "title": "Retune",
            "state": "open",
            "merged": False,
            "draft": False,
            "author": PEOPLE["author"][0],
            "head_sha": HEAD,
            "head_ref": f"branch-{number}",
            "head_repository": REPOSITORY,
            "base_ref": "main",
            "base_sha": "b" * 40,
            "default_branch": "main",
            "body": "",
            "bot": BOT,
            "mergeable": True,
            "commits": (HEAD,),
            "files": (ChangedFile("perf-changelog.yaml"),),
        }
        pull = FakePull(PullState(**{**values, **fields}))
        pull.history.append(HeadChange(self.clock() - 1000, pull.state.head_sha))
        self.pulls[number] = pull
        return pull

    def say(self, number: int, who: str, body: str, *, kind: str = "issue_comment", at: float | None = None) -> int:
        person, _, association = PEOPLE[who]
        with self._guard:
            remark = Remark(
                kind=kind,  # type: ignore[arg-type]
                id=next(self._ids),
                author=person,
                body=body,
                created_at=self.clock() if at is None else at,
                association=association,
            )
            self.pulls[number].remarks[remark.id] = remark
        return remark.id

    def edit(self, number: int, remark_id: int, body: str, *, by: str | None = None) -> None:
        with self._guard:
            remark = self.pulls[number].remarks[remark_id]
            editor = PEOPLE[by][0] if by else remark.author
            edited = replace(remark, body=body, edited_at=self.clock(), editor=editor)
            self.pulls[number].remarks[remark_id] = edited

    def label(
        self, number: int, label: str, *, added: bool = True, by: str = "maintainer", at: float | None = None
    ) -> None:
        pull = self.pulls[number]
        labels = pull.state.labels | {label} if added else pull.state.labels - {label}
        moment = self.clock() if at is None else at
        event = LabelEvent(f"LE_{next(self._ids)}", label, added, PEOPLE[by][0], moment)
        pull.state = replace(pull.state, labels=frozenset(labels), label_events=(*pull.state.label_events, event))

    def push(self, number: int, sha: str, message: str = "") -> None:
        pull = self.pulls[number]
        pull.state = replace(pull.state, head_sha=sha, commits=(*pull.state.commits, sha), head_message=message)
        pull.history.append(HeadChange(self.clock(), sha))

    def add_run(self, number: int, run: Run) -> None:
        self.pulls[number].runs[run.id] = run

    def bot_comments(self, number: int) -> list[str]:
        return [remark.body for remark in self.pulls[number].remarks.values() if remark.author.id == BOT.id]

    # Reader ------------------------------------------------------------------------------------------------------
    def _call(self, name: str) -> None:
        self.calls.append(name)
        errors = self.before.get(name)
        if errors:
            raise errors.pop(0)

    def _answered(self, name: str) -> None:
        errors = self.after.get(name)
        if errors:
            raise errors.pop(0)

    def _pull(self, number: int) -> FakePull:
        if number not in self.pulls:
            raise NotThere(f"pull request {number}")
        return self.pulls[number]

    def pull(self, ref: PullRef) -> PullState:
        self._call("pull")
        pull = self._pull(ref.number)
        check_runs = tuple(
            CheckRunState(run_id, text.name, text.external_id, text.status, text.conclusion)
            for run_id, (sha, text) in pull.check_runs.items()
            if sha == pull.state.head_sha
        )
        return replace(pull.state, remarks=self._shown(pull), check_runs=check_runs)

    def _shown(self, pull: FakePull) -> tuple[Remark, ...]:
        now = self.clock()
        with self._guard:
            return tuple(one for one in pull.remarks.values() if pull.shown_at.get(one.id, 0) <= now)

    def remarks(self, ref: PullRef) -> Sequence[Remark]:
        self._call("remarks")
        return self._shown(self._pull(ref.number))

    def head(self, ref: PullRef) -> str:
        self._call("head")
        return self._pull(ref.number).state.head_sha

    def merge_base(self, repository: str, base_sha: str, head_sha: str) -> str:
        self._call("merge_base")
        return "c" * 40

    def permission(self, repository: str, login: str) -> Permission:
        self._call("permission")
        return self.permissions.get(login, Permission("none", "none"))

    def run(self, repository: str, run_id: int) -> Run:
        self._call("run")
        for pull in self.pulls.values():
            if run_id in pull.runs:
                return pull.runs[run_id]
        raise NotThere(f"run {run_id}")

    def runs(self, ref: PullRef, *, head_branch: str, head_sha: str) -> Sequence[Run]:
        self._call("runs")
        pull = self._pull(ref.number)
        now = self.clock()
        shown = [run for run in pull.runs.values() if pull.shown_at.get(run.id, 0) <= now]
        return [replace(run, executed=None, artifacts=None) for run in sorted(shown, key=lambda run: -run.id)]

    def executed(self, repository: str, run_id: int) -> bool:
        self._call("executed")
        return bool(self._any_run(run_id).executed)

    def artifacts(self, repository: str, run_id: int) -> Sequence[Artifact]:
        self._call("artifacts")
        return self._any_run(run_id).artifacts or ()

    def _any_run(self, run_id: int) -> Run:
        return next(pull.runs[run_id] for pull in self.pulls.values() if run_id in pull.runs)

    def history(self, repository: str, branch: str) -> Sequence[HeadChange]:
        self._call("history")
        return next(pull.history for pull in self.pulls.values() if pull.state.head_ref == branch)

    # Writer ------------------------------------------------------------------------------------------------------
    def create_comment(self, ref: PullRef, body: str) -> int:
        self._call("create_comment")
        pull = self._pull(ref.number)
        with self._guard:
            remark = Remark("issue_comment", next(self._ids), BOT, body, self.clock())
            pull.remarks[remark.id] = remark
            pull.shown_at[remark.id] = self.clock() + self.lag
        self._answered("create_comment")
        return remark.id

    def edit_comment(self, ref: PullRef, comment_id: int, body: str) -> None:
        self._call("edit_comment")
        pull = self._pull(ref.number)
        if comment_id not in pull.remarks:
            raise NotThere(f"comment {comment_id}")
        pull.remarks[comment_id] = replace(pull.remarks[comment_id], body=body, edited_at=self.clock(), editor=BOT)
        self._answered("edit_comment")

    def add_reaction(self, ref: PullRef, kind: str, remark_id: int, content: str) -> None:
        self._call("add_reaction")
        self._react(ref, remark_id, lambda known: known | {content})

    def remove_reaction(self, ref: PullRef, kind: str, remark_id: int, content: str) -> None:
        self._call("remove_reaction")
        self._react(ref, remark_id, lambda known: known - {content})

    def _react(self, ref: PullRef, remark_id: int, change: Callable[[frozenset[str]], frozenset[str]]) -> None:
        with self._guard:
            remarks = self._pull(ref.number).remarks
            if remark_id not in remarks:
                raise NotThere(f"remark {remark_id}")
            remarks[remark_id] = replace(remarks[remark_id], reactions=frozenset(change(remarks[remark_id].reactions)))

    def put_check_run(
        self, repository: str, head_sha: str, text: CheckRunText, check_run_id: int | None
    ) -> CheckRunPlace:
        self._call("put_check_run")
        number = check_run_id or next(self._ids)
        for pull in self.pulls.values():
            if head_sha in pull.state.commits:
                pull.check_runs[number] = (head_sha, text)
        return CheckRunPlace(number, f"https://github.example/runs/{number}")

    def dispatch_workflow(self, repository: str, workflow: str, branch: str, inputs: Mapping[str, str]) -> int | None:
        self._call("dispatch_workflow")
        self.dispatches.append((workflow, dict(inputs)))
        number = int(inputs["pr"])
        run = Run(
            id=next(self._ids),
            attempt=1,
            event="workflow_dispatch",
            path=workflow,
            head_sha="b" * 40,
            head_branch=branch,
            status="queued",
            conclusion=None,
            title=f"Sweep #{number} @ {inputs['head_sha'][:12]} [{inputs['sweep_key']}]",
            actor=BOT,
            created_at=self.clock(),
        )
        self.pulls[number].runs[run.id] = run
        self.pulls[number].shown_at[run.id] = self.clock() + self.lag
        self._answered("dispatch_workflow")
        return run.id

    def cancel_run(self, repository: str, run_id: int) -> None:
        self._call("cancel_run")
        self.cancelled.append(run_id)
        for pull in self.pulls.values():
            if run_id in pull.runs:
                pull.runs[run_id] = replace(pull.runs[run_id], status="completed", conclusion="cancelled")

    def job_evidence(self, repository: str, run_id: int) -> list[JobEvidence]:
        self._call("job_evidence")
        return self.evidence

    def rerun_failed(self, repository: str, run_id: int) -> None:
        self._call("rerun_failed")
        self.rerun.append(run_id)

    def repository_dispatch(self, repository: str, event_type: str, payload: Mapping[str, Any]) -> None:
        self._call("repository_dispatch")
        self.dispatches.append((event_type, dict(payload)))


class FakeRounds:
    """The round's reads of the same fake; `updated` maps a number to GitHub's time text."""

    def __init__(self, github: FakeGitHub) -> None:
        self._github = github

    def pulls(self, repository: str) -> Iterator[Sequence[ListedPull]]:
        rows = [
            ListedPull(number, pull.state.state == "open", pull.updated_at, pull.state.head_sha, pull.state.head_ref)
            for number, pull in self._github.pulls.items()
        ]
        rows.sort(key=lambda row: row.updated_at, reverse=True)
        for start in range(0, max(1, len(rows)), 100):
            self._github.calls.append("round pulls")
            yield rows[start : start + 100]

    def runs(self, repository: str) -> Sequence[ListedRun]:
        self._github.calls.append("round runs")
        return [
            ListedRun(
                run.id, f"{run.attempt}:{run.status}:{run.conclusion}", (), run.title, run.head_sha, run.head_branch
            )
            for pull in self._github.pulls.values()
            for run in pull.runs.values()
        ]

    def trusted(self, repository: str) -> str:
        self._github.calls.append("round trusted")
        return self._github.trusted


class FakeAccess:
    """Gives the same fake to every repository."""

    def __init__(self, github: FakeGitHub, policy: Policy | None = None) -> None:
        self.github = github
        self._policy = policy or Policy(name="test")
        self.problem = ""

    def policy_problem(self, repository: str) -> str:
        return self.problem

    def reader(self, repository: str) -> FakeGitHub:
        return self.github

    def writer(self, repository: str) -> FakeGitHub:
        return self.github

    def rounds(self, repository: str) -> FakeRounds:
        return FakeRounds(self.github)

    def policy(self, repository: str) -> Policy:
        return self._policy

    def bot(self, repository: str) -> Person:
        return BOT

    def usage(self) -> dict[str, tuple[int, int | None]]:
        return {"installation-1": (len(self.github.calls), 4_321), "installation-2": (0, None)}


def verify_ok(request: VerifyRequest) -> VerdictText:
    """A verdict that says PASS."""
    body = f"## ✅✅✅ **Verdict: PASS** ✅✅✅\n\nAssessed commit: `{request.head_sha}`.\n"
    return VerdictText("PASS", body, {"statuses": {"0": "PASS"}, "recheck_on": None}, "Verdict: PASS", body)


def same_measurement(state: PullState, sha: str) -> Measurement:
    return Measurement(True)


__all__ = [
    "ADMIN",
    "BOT",
    "HEAD",
    "PEOPLE",
    "REPOSITORY",
    "SIGN_OFF",
    "FakeAccess",
    "FakeGitHub",
    "Unanswered",
    "Unavailable",
    "same_measurement",
    "verify_ok",
]
