"""Purpose: the full state of a pull request as GitHub tells it, in plain values. The only input of a decision.

Invariants: times are seconds since 1970; identities are numeric ids, logins are for display and permission look-ups;
what was not looked up yet is absent (a missing permission, `None` for artifacts), never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from app.results.triage import RetryPlan

RemarkKind = Literal["issue_comment", "review", "review_comment"]

WRITE_ROLES = frozenset({"write", "maintain", "admin"})


@dataclass(frozen=True, slots=True)
class PullRef:
    """A pull request by name: `owner/name` and number."""

    repository: str
    number: int

    def __str__(self) -> str:
        return f"{self.repository}#{self.number}"


@dataclass(frozen=True, slots=True)
class Person:
    """`id` is GitHub's numeric id; 0 stands for a deleted account, which counts for nothing."""

    id: int
    login: str
    bot: bool = False


@dataclass(frozen=True, slots=True)
class Permission:
    """The two fields of the collaborator API. Both must suffice; custom roles never do."""

    permission: str
    role_name: str

    @property
    def writer(self) -> bool:
        return self.permission in WRITE_ROLES and self.role_name in WRITE_ROLES

    @property
    def admin(self) -> bool:
        return self.permission == "admin" and self.role_name == "admin"


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment, a review body or an inline review comment.

    `editor` is who edited the body last, `None` when it was never edited. `reactions` are those of our own bot.
    """

    kind: RemarkKind
    id: int
    author: Person
    body: str
    created_at: float
    association: str = "NONE"
    edited_at: float | None = None
    editor: Person | None = None
    reactions: frozenset[str] = frozenset()
    url: str = ""

    @property
    def edited_by_another(self) -> bool:
        return self.editor is not None and self.editor.id != self.author.id


@dataclass(frozen=True, slots=True)
class OwnComment:
    """A comment of ours whose marker holds. `key` tells comments of one kind apart (a sign-off, a staged run)."""

    kind: str
    key: str
    id: int
    payload: Mapping[str, Any]
    body: str = ""


@dataclass(frozen=True, slots=True)
class LabelEvent:
    """One entry of the label timeline; `id` is the event's node id."""

    id: str
    label: str
    added: bool
    actor: Person
    at: float


@dataclass(frozen=True, slots=True)
class LabelApproval:
    """A `labeled` delivery with a valid signature: the head it was given for (forks are bound to it)."""

    label: str
    head_sha: str
    actor: Person
    at: float


@dataclass(frozen=True, slots=True)
class Artifact:
    name: str
    expired: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """A workflow run of the sweep workflow.

    `executed` tells whether a matrix job started; `artifacts` lists what it left; `retry` says which of its failures
    may run again. All are `None` until looked up.
    `measures_head` tells whether its commit is the same measurement as head, `None` where that is undecidable.
    """

    id: int
    attempt: int
    event: str
    path: str
    head_sha: str
    head_branch: str
    status: str
    conclusion: str | None
    title: str
    actor: Person
    created_at: float
    pull_requests: tuple[int, ...] = ()
    executed: bool | None = None
    artifacts: tuple[Artifact, ...] | None = None
    retry: RetryPlan | None = None

    @property
    def active(self) -> bool:
        return self.status != "completed"


@dataclass(frozen=True, slots=True)
class CheckRunState:
    """A check run of ours on the head."""

    id: int
    name: str
    external_id: str
    status: str
    conclusion: str | None


@dataclass(frozen=True, slots=True)
class ChangedFile:
    path: str
    previous_path: str | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """Whether a commit is the same measurement as head; `files` name what differs. `None`: undecidable."""

    same: bool | None
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HeadChange:
    """The head of the branch from that second on, in GitHub's own time."""

    at: float
    sha: str


@dataclass(frozen=True, slots=True)
class Callback:
    """A message of the staging target, as it came: nothing in it is checked yet."""

    kind: str
    payload: Mapping[str, Any]
    at: float


@dataclass(frozen=True)
class PullState:
    """Everything that a decision may read. `bot` is our own identity on this repository.

    `tampered` are comments of ours that somebody edited: written over, never believed. `refresh` asks for fresh
    verdicts because outside sources may have changed behind them. `unseen`: GitHub does not list every comment yet that
    we made or were told of; ours count already. `done_commands` are the keys of one-shot commands that were just done,
    `started_retries` the attempt from which a retry command that has no known answer yet went out.
    """

    ref: PullRef
    title: str
    state: Literal["open", "closed"]
    merged: bool
    draft: bool
    author: Person
    head_sha: str
    head_ref: str
    head_repository: str
    base_ref: str
    base_sha: str
    default_branch: str
    body: str
    bot: Person
    mergeable: bool | None = None
    merge_base: str = ""
    labels: frozenset[str] = frozenset()
    commits: tuple[str, ...] = ()
    head_message: str = ""
    files: tuple[ChangedFile, ...] = ()
    files_complete: bool = True
    remarks: tuple[Remark, ...] = ()
    label_events: tuple[LabelEvent, ...] = ()
    runs: tuple[Run, ...] = ()
    own: tuple[OwnComment, ...] = ()
    tampered: tuple[OwnComment, ...] = ()
    check_runs: tuple[CheckRunState, ...] = ()
    approvals: tuple[LabelApproval, ...] = ()
    callbacks: tuple[Callback, ...] = ()
    permissions: Mapping[str, Permission] = field(default_factory=dict)
    permission_errors: Mapping[str, str] = field(default_factory=dict)
    absent_runs: frozenset[int] = frozenset()
    measurements: Mapping[str, Measurement] = field(default_factory=dict)
    history: tuple[HeadChange, ...] | None = None
    refresh: bool = False
    unseen: bool = False
    done_commands: frozenset[str] = frozenset()
    started_retries: Mapping[str, int] = field(default_factory=dict)
    trusted_digest: str = ""
    policy_digest: str = ""
    review_date: str = ""

    @property
    def fork(self) -> bool:
        return self.head_repository.lower() != self.ref.repository.lower()

    @property
    def paths(self) -> frozenset[str]:
        """New and old paths of every changed file."""
        both = [path for file in self.files for path in (file.path, file.previous_path)]
        return frozenset(path for path in both if path)

    def run(self, number: int) -> Run | None:
        return next((run for run in self.runs if run.id == number), None)

    def own_comment(self, kind: str, key: str = "") -> OwnComment | None:
        """The oldest trusted comment of ours of this kind and key."""
        found = [comment for comment in self.own if comment.kind == kind and comment.key == key]
        return min(found, key=lambda comment: comment.id) if found else None
