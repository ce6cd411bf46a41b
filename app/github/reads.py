"""Purpose: what reads of GitHub give back: plain frozen values, the same whether REST or GraphQL told them.

Shapes: times are GitHub's own text ("2026-10-21T05:22:39Z"), which sorts by time. Logins are REST's (a bot's ends with
"[bot]"); a deleted account is `GHOST`. Event ids are node ids, the same text in REST (`node_id`) and GraphQL (`id`).
Nothing here does I/O or imports more than the standard library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class PullRequestGone(Exception):  # noqa: N818
    """The pull request does not exist or cannot be seen with this token."""


class NotVisible(Exception):  # noqa: N818
    """The token may not see this (403 or 404 on a membership)."""


@dataclass(frozen=True, slots=True)
class Actor:
    """`kind` is User, Bot, Organization or Mannequin; `id` is GitHub's number (0: a deleted account)."""

    login: str
    id: int
    kind: str = "User"


GHOST = Actor("ghost", 0, "User")


@dataclass(frozen=True, slots=True)
class Said:
    """A conversation comment, a review's body or an inline comment.

    `kind`: issue_comment, review or review_comment. `editor` is who edited the body last, None if nobody did.
    `reacted` holds the reactions of our own account in REST's spelling ("+1"). `state` and `commit_sha` are a
    review's; `path` and `line` an inline comment's.
    """

    kind: str
    id: int
    author: Actor
    association: str
    body: str
    created_at: str
    updated_at: str
    edited_at: str | None
    editor: Actor | None
    url: str
    reacted: frozenset[str] = frozenset()
    state: str = ""
    commit_sha: str = ""
    path: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Happened:
    """An entry of the timeline. `kind`: labeled, unlabeled, head_ref_force_pushed, ready_for_review,
    convert_to_draft, closed, reopened or merged. `before` and `after` are commits of a forced push."""

    id: str
    kind: str
    at: str
    actor: Actor
    label: str = ""
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class CommitRead:
    sha: str
    parents: tuple[str, ...]
    message: str
    author: Actor
    authored_at: str
    committed_at: str


@dataclass(frozen=True, slots=True)
class PullRead:
    """A pull request's whole state by one GraphQL read (more only where a list has over 100 entries).

    `state`: open or closed. `mergeable`: None while GitHub computes it. `target_sha` is the target branch's tip,
    `base_sha` what GitHub recorded as base. `commits` are oldest first, at most 250 as GitHub keeps. `said` holds all
    three kinds by creation. `found` tells for each asked-for "revision:path" the bytes, None where absent; `folders`
    whether an asked-for folder exists.
    """

    repository: str
    number: int
    node_id: str
    url: str
    title: str
    body: str
    author: Actor
    association: str
    state: str
    merged: bool
    draft: bool
    mergeable: bool | None
    created_at: str
    updated_at: str
    body_edited_at: str | None
    body_editor: Actor | None
    head_sha: str
    head_ref: str
    head_repository: str
    cross_repository: bool
    base_ref: str
    base_sha: str
    target_sha: str
    default_branch: str
    default_sha: str
    merge_sha: str
    merged_at: str
    labels: tuple[str, ...]
    commits: tuple[CommitRead, ...]
    changed_files: int
    said: tuple[Said, ...]
    timeline: tuple[Happened, ...]
    found: Mapping[str, bytes | None] = field(default_factory=dict)
    folders: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileRead:
    """A changed file. `status`: added, removed, modified, renamed, copied, changed. `patch` is None where GitHub
    gives none (binary or large)."""

    path: str
    status: str
    previous_path: str
    additions: int
    deletions: int
    patch: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Merge base and changed files (records of `changed_files`: path, status, previous_path; complete)."""

    merge_base: str
    files: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class PermissionRead:
    permission: str
    role_name: str


@dataclass(frozen=True, slots=True)
class MovedRef:
    """An entry of a branch's activity, in GitHub's own time. `kind`: push, force_push, branch_creation,
    branch_deletion, pr_merge or merge_queue_merge. `before` is forty zeros for a new branch."""

    id: int
    kind: str
    ref: str
    before: str
    after: str
    at: str
    actor: Actor


@dataclass(frozen=True, slots=True)
class RunRead:
    """A workflow run. `path` is the workflow file without a "@ref"; `pull_requests` are numbers (none for forks)."""

    id: int
    attempt: int
    number: int
    event: str
    status: str
    conclusion: str | None
    path: str
    name: str
    title: str
    head_sha: str
    head_branch: str
    head_repository: str
    actor: Actor
    triggering_actor: Actor
    created_at: str
    updated_at: str
    url: str
    pull_requests: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JobRead:
    """A job of a run attempt. One that was skipped has no `runner_name` and no `steps`."""

    id: int
    run_id: int
    attempt: int
    name: str
    status: str
    conclusion: str | None
    runner_name: str
    steps: int
    head_sha: str
    started_at: str
    completed_at: str


@dataclass(frozen=True, slots=True)
class ArtifactRead:
    id: int
    run_id: int
    name: str
    size: int
    expired: bool
    created_at: str


@dataclass(frozen=True, slots=True)
class CheckRunRead:
    """A check run. `app` is the slug of the App that owns it, `output` title and summary."""

    id: int
    name: str
    external_id: str
    head_sha: str
    status: str
    conclusion: str | None
    app: str
    url: str
    title: str
    summary: str


@dataclass(frozen=True, slots=True)
class PullListed:
    """An entry of the list of pull requests: enough to see whether a full read is needed."""

    number: int
    state: str
    draft: bool
    updated_at: str
    head_sha: str
    head_ref: str
    head_repository: str
    base_ref: str
    author: Actor
    labels: tuple[str, ...]
    merged_at: str


@dataclass(frozen=True, slots=True)
class State:
    """One read of the pull request as evidence: records of `pull_request`, `commits`, `comments`, `labels`.

    `target_sha` is the target branch tip; `october` tells whether `inferencex-e2e/` exists at the head; `policy_file`
    is `.github/sweepgate.yml` of the default branch.
    """

    pull_request: dict[str, Any]
    commits: list[dict[str, Any]]
    comments: list[dict[str, Any]]
    labels: list[dict[str, Any]]
    target_sha: str
    october: bool
    policy_file: bytes | None = None


@dataclass(frozen=True, slots=True)
class FilesAnswer:
    """Files by revision and path (None: absent). `history_*`: the newest version of one path not after a time."""

    files: Mapping[str, Mapping[str, bytes | None]]
    history_sha: str = ""
    history_content: bytes = b""


@dataclass(frozen=True, slots=True)
class UpstreamState:
    """An upstream pull request. `state`: OPEN, CLOSED or MERGED. `contained`: its default branch holds the merge
    (None where it was not merged); `files` are the files it changed, at that branch's tip."""

    state: str
    merged_at: str
    merge_sha: str
    contained: bool | None
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckpointFiles:
    """Config files (raw) and safetensors headers (raw JSON) of one revision of a checkpoint."""

    sha: str
    files: Mapping[str, bytes]
    headers: Mapping[str, bytes]
