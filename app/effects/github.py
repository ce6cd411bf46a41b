"""Purpose: GitHub as the effects and flows see it: `Reader` and `Writer` of ports.py over the room that talks to hosts.

Invariants: only shapes and errors are translated here; limits, repetition and counting are app.github's. A check run
that looks new is looked for by name and external id before it is created, so two workers never make two.
Accepted race: the memo of our own check runs is per process; the look-up before a create makes it harmless.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from app.decide.state import (
    Artifact,
    ChangedFile,
    CheckRunState,
    HeadChange,
    LabelEvent,
    Permission,
    Person,
    PullRef,
    PullState,
    Remark,
    RemarkKind,
    Run,
)
from app.effects import ports
from app.effects.ports import CheckRunPlace, CheckRunText
from app.github import errors as host_errors
from app.github.client import GitHub
from app.github.errors import reason
from app.github.reads import Actor, PullRead, RunRead, Said
from app.github.writes import Annotation as HostAnnotation
from app.github.writes import CheckRunText as HostCheckRunText
from app.policy import SweepPolicy
from app.results.triage import JobEvidence, evidence_of_log
from app.verdict.annotations import Annotation

TRUSTED = (
    ".github/CODEOWNERS",
    ".github/sweepgate.yml",
    "MODELS.md",
    "docs/PR_REVIEW_CHECKLIST.md",
    "utils/evals/thresholds.yaml",
    "inferencex-e2e/docs/MODELS.md",
    "inferencex-e2e/docs/PR_REVIEW_CHECKLIST.md",
    "inferencex-e2e/infx/evals/thresholds.yaml",
)
MEMO = 512


def moment(time: str) -> float:
    """Seconds since 1970 of GitHub's time text."""
    return datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()


@contextmanager
def translated() -> Iterator[None]:
    """Errors of hosts become the errors that the flows tell apart."""
    try:
        yield
    except host_errors.NotThere as error:
        raise ports.NotThere(str(error)) from error
    except host_errors.Unanswered as error:
        raise ports.Unanswered(str(error)) from error
    except host_errors.Limited as error:
        raise ports.Limited(str(error), error.until) from error
    except host_errors.Refused as error:
        raise ports.Refused(str(error)) from error
    except host_errors.HostError as error:
        raise ports.Unavailable(reason(error)) from error


class Memory:
    """What one process remembers of heads: their changed files, and our own check runs on them. Bounded."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._known: OrderedDict[tuple[str, ...], Any] = OrderedDict()

    def get(self, key: tuple[str, ...]) -> Any:
        with self._guard:
            return self._known.get(key)

    def put(self, key: tuple[str, ...], value: Any) -> None:
        with self._guard:
            self._known[key] = value
            self._known.move_to_end(key)
            while len(self._known) > MEMO:
                self._known.popitem(last=False)


class GitHubReader:
    """`ports.Reader` for one repository's installation."""

    def __init__(self, github: GitHub, bot: Person, memory: Memory, sweep: SweepPolicy) -> None:
        self._github, self._bot, self._memory, self._sweep = github, bot, memory, sweep

    def pull(self, ref: PullRef) -> PullState:
        with translated():
            trusted = tuple(f"HEAD:{path}" for path in TRUSTED)
            pull = self._github.pull_request(ref.repository, ref.number, beside=trusted)
            files = self._files(ref, pull)
            check_runs = self._check_runs(ref.repository, pull.head_sha)
        return _state(ref, pull, files, check_runs, self._bot)

    def _files(self, ref: PullRef, pull: PullRead) -> tuple[ChangedFile, ...]:
        """Changed files of a head against a base: a pair that was read once is not read again."""
        key = ("files", ref.repository, pull.head_sha, pull.target_sha)
        known: tuple[ChangedFile, ...] | None = self._memory.get(key)
        if known is None:
            found = self._github.changed_files(ref.repository, ref.number)
            known = tuple(ChangedFile(one.path, one.previous_path or None) for one in found)
            self._memory.put(key, known)
        return known

    def _check_runs(self, repository: str, sha: str) -> tuple[CheckRunState, ...]:
        key = ("check runs", repository, sha)
        known: tuple[CheckRunState, ...] | None = self._memory.get(key)
        if known is None:
            slug = self._bot.login.removesuffix("[bot]")
            found = self._github.check_runs(repository, sha)
            known = tuple(
                CheckRunState(one.id, one.name, one.external_id, one.status, one.conclusion)
                for one in found
                if one.app == slug
            )
            self._memory.put(key, known)
        return known

    def remarks(self, ref: PullRef) -> Sequence[Remark]:
        with translated():
            pull = self._github.pull_request(ref.repository, ref.number)
        return tuple(_remark(said) for said in pull.said if said.kind == "issue_comment")

    def head(self, ref: PullRef) -> str:
        with translated():
            return self._github.head(ref.repository, ref.number)

    def merge_base(self, repository: str, base_sha: str, head_sha: str) -> str:
        with translated():
            return self._github.compare(repository, base_sha, head_sha)[0]

    def permission(self, repository: str, login: str) -> Permission:
        with translated():
            found = self._github.permission(repository, login)
        return Permission(found.permission, found.role_name)

    def run(self, repository: str, run_id: int) -> Run:
        with translated():
            return _run(self._github.run(repository, run_id))

    def runs(self, ref: PullRef, *, head_branch: str, head_sha: str) -> Sequence[Run]:  # noqa: ARG002
        """Runs of the branch; in service mode those that we dispatched for this pull request (the title names it)."""
        with translated():
            if self._sweep.mode == "service":
                listed = self._github.runs(ref.repository, self._sweep.workflow, event="workflow_dispatch")
                found = [run for run in listed if f"#{ref.number} " in f"{run.title} "]
            else:
                found = self._github.runs(ref.repository, self._sweep.workflow, branch=head_branch)
        return tuple(_run(run) for run in sorted(found, key=lambda run: -run.id))

    def executed(self, repository: str, run_id: int) -> bool:
        from app.facts.evidence_run import is_family

        with translated():
            run = self._github.run(repository, run_id)
            jobs = self._github.jobs(repository, run_id, run.attempt)
        return any(is_family(job.name) and job.steps > 0 and job.runner_name for job in jobs)

    def artifacts(self, repository: str, run_id: int) -> Sequence[Artifact]:
        with translated():
            return tuple(Artifact(one.name, one.expired) for one in self._github.artifacts(repository, run_id))

    def job_evidence(self, repository: str, run_id: int) -> Sequence[JobEvidence]:
        with translated():
            run = self._github.run(repository, run_id)
            jobs = [job for job in self._github.jobs(repository, run_id, run.attempt) if job.conclusion != "skipped"]
            logs = self._github.run_logs(repository, run_id, run.attempt, jobs)
        return [
            evidence_of_log(job.name, job.conclusion or "", logs.get(job.id, b"").decode(errors="replace"), job.id)
            for job in jobs
        ]

    def history(self, repository: str, branch: str) -> Sequence[HeadChange]:
        with translated():
            moves = self._github.activity(repository, branch)
        return tuple(HeadChange(moment(one.at), one.after) for one in moves)


class GitHubWriter:
    """`ports.Writer` for one repository's installation."""

    def __init__(self, github: GitHub, bot: Person, memory: Memory) -> None:
        self._github, self._bot, self._memory = github, bot, memory

    def create_comment(self, ref: PullRef, body: str) -> int:
        with translated():
            return self._github.writes.create_comment(ref.repository, ref.number, body)

    def edit_comment(self, ref: PullRef, comment_id: int, body: str) -> None:
        with translated():
            self._github.writes.edit_comment(ref.repository, comment_id, body)

    def add_reaction(self, ref: PullRef, kind: RemarkKind, remark_id: int, content: str) -> None:
        with translated():
            self._github.writes.react(ref.repository, kind, remark_id, content)

    def remove_reaction(self, ref: PullRef, kind: RemarkKind, remark_id: int, content: str) -> None:
        with translated():
            self._github.writes.unreact(ref.repository, kind, remark_id, content, self._bot.login)

    def put_check_run(
        self, repository: str, head_sha: str, text: CheckRunText, check_run_id: int | None
    ) -> CheckRunPlace:
        with translated():
            number = check_run_id or self._known_check_run(repository, head_sha, text)
            told = HostCheckRunText(
                text.name,
                text.external_id,
                text.status,
                text.conclusion,
                text.title,
                text.summary,
                text.text,
                text.details_url,
            )
            notes = () if number is not None else tuple(_host_annotation(note) for note in text.annotations)
            place = self._github.writes.put_check_run(repository, head_sha, told, number, notes)
        self._remember(repository, head_sha, place.id, text)
        return CheckRunPlace(place.id, place.url)

    def _known_check_run(self, repository: str, head_sha: str, text: CheckRunText) -> int | None:
        slug = self._bot.login.removesuffix("[bot]")
        for one in self._github.check_runs(repository, head_sha, name=text.name):
            if one.app == slug and one.external_id == text.external_id:
                return one.id
        return None

    def _remember(self, repository: str, head_sha: str, number: int, text: CheckRunText) -> None:
        key = ("check runs", repository, head_sha)
        known: tuple[CheckRunState, ...] = self._memory.get(key) or ()
        mine = CheckRunState(number, text.name, text.external_id, text.status, text.conclusion)
        self._memory.put(key, (*(one for one in known if one.id != number), mine))

    def dispatch_workflow(self, repository: str, workflow: str, branch: str, inputs: Mapping[str, str]) -> int | None:
        with translated():
            return self._github.writes.dispatch(repository, workflow, branch, inputs)

    def cancel_run(self, repository: str, run_id: int) -> None:
        with translated():
            self._github.writes.cancel_run(repository, run_id)

    def rerun_failed(self, repository: str, run_id: int) -> None:
        with translated():
            self._github.writes.rerun_failed(repository, run_id)

    def repository_dispatch(self, repository: str, event_type: str, payload: Mapping[str, Any]) -> None:
        with translated():
            self._github.writes.repository_dispatch(repository, event_type, payload)


def _host_annotation(note: Annotation) -> HostAnnotation:
    return HostAnnotation(note.path, note.line, note.line, note.level, note.message, note.title)


def person(actor: Actor) -> Person:
    return Person(actor.id, actor.login, actor.kind != "User")


def _remark(said: Said) -> Remark:
    kind: RemarkKind = said.kind  # type: ignore[assignment]
    return Remark(
        kind=kind,
        id=said.id,
        author=person(said.author),
        body=said.body,
        created_at=moment(said.created_at),
        association=said.association,
        edited_at=moment(said.edited_at) if said.edited_at else None,
        editor=person(said.editor) if said.editor else None,
        reactions=said.reacted,
        url=said.url,
    )


def _run(run: RunRead) -> Run:
    return Run(
        id=run.id,
        attempt=run.attempt,
        event=run.event,
        path=run.path,
        head_sha=run.head_sha,
        head_branch=run.head_branch,
        status=run.status,
        conclusion=run.conclusion,
        title=run.title,
        actor=person(run.actor),
        created_at=moment(run.created_at),
        pull_requests=run.pull_requests,
    )


def _state(
    ref: PullRef, pull: PullRead, files: tuple[ChangedFile, ...], check_runs: tuple[CheckRunState, ...], bot: Person
) -> PullState:
    labels = [one for one in pull.timeline if one.kind in ("labeled", "unlabeled")]
    return PullState(
        ref=ref,
        title=pull.title,
        state="open" if pull.state == "open" else "closed",
        merged=pull.merged,
        draft=pull.draft,
        author=person(pull.author),
        head_sha=pull.head_sha,
        head_ref=pull.head_ref,
        head_repository=pull.head_repository,
        base_ref=pull.base_ref,
        base_sha=pull.target_sha,
        default_branch=pull.default_branch,
        body=pull.body,
        bot=bot,
        mergeable=pull.mergeable,
        labels=frozenset(pull.labels),
        commits=tuple(one.sha for one in pull.commits),
        head_message=pull.commits[-1].message if pull.commits else "",
        files=files,
        files_complete=len(files) >= pull.changed_files,
        remarks=tuple(_remark(said) for said in pull.said),
        label_events=tuple(
            LabelEvent(one.id, one.label, one.kind == "labeled", person(one.actor), moment(one.at)) for one in labels
        ),
        check_runs=check_runs,
        trusted_digest=_trusted_digest(pull),
    )


def _trusted_digest(pull: PullRead) -> str:
    """One digest of the trusted files at the tip: a change of any of them asks for a new verdict."""
    hasher = hashlib.sha256()
    for name in sorted(pull.found):
        content = pull.found[name]
        hasher.update(name.encode() + b"\0" + (b"-" if content is None else hashlib.sha256(content).digest()))
    return hasher.hexdigest()
