"""Purpose: the normalised records of a bundle's `sources/*.json`: what GitHub and other hosts said, reduced to what
checks read. The JSON Schema of the bundle (docs/schemas/bundle.schema.json) is generated from these models.

Invariants: unknown fields are refused. Times are RFC 3339 UTC strings as GitHub gives them. A `blob` is the SHA-256 of
raw bytes in `blobs/`. Nothing volatile (call counts, ETags, hosts' ports, tokens) has a field here, so the digest of a
bundle depends on content only.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """Base: frozen, unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Account(Record):
    login: str
    id: int = 0
    type: str = "User"

    @property
    def is_bot(self) -> bool:
        return self.type != "User" or self.login.endswith("[bot]")


class PullRequestRecord(Record):
    """The pull request as it stood when gathering began."""

    repository: str
    number: int
    title: str
    body: str
    author: Account
    association: str
    state: Literal["open", "closed"]
    draft: bool = False
    merged: bool = False
    head_sha: str
    head_ref: str
    head_repository: str
    base_ref: str
    labels: tuple[str, ...] = ()
    default_branch: str = "main"


class CommitRecord(Record):
    sha: str
    parents: tuple[str, ...] = ()
    message: str = ""


class FileRecord(Record):
    """A changed file against the merge base. `previous_path` is set for renames."""

    path: str
    status: Literal["added", "modified", "removed", "renamed", "copied", "changed", "unchanged"]
    previous_path: str = ""


class CommentRecord(Record):
    """A comment, review or review comment. `editor` is the login of the last editor (GraphQL), None if never edited."""

    kind: Literal["issue_comment", "review", "review_comment"]
    id: int
    author: Account
    association: str = "NONE"
    body: str
    created_at: str
    updated_at: str
    editor: str | None = None
    url: str = ""
    state: str = ""
    commit_sha: str = ""


class PermissionRecord(Record):
    permission: str
    role_name: str

    @property
    def can_write(self) -> bool:
        return self.permission in ("write", "admin") and self.role_name in ("write", "maintain", "admin")

    @property
    def is_admin(self) -> bool:
        return self.permission == "admin" and self.role_name == "admin"


class TeamRecord(Record):
    """Members of a team. `visible` False: the token cannot see the membership (`members` is then empty)."""

    visible: bool
    members: tuple[str, ...] = ()


class LabelEventRecord(Record):
    """`id` is the event's node id: the one that GraphQL and REST both tell."""

    id: str
    action: Literal["labeled", "unlabeled"]
    label: str
    actor: str
    created_at: str


class ActivityRecord(Record):
    """One ref update of the head branch, server time (GET /repos/{o}/{r}/activity)."""

    id: int
    before: str
    after: str
    ref: str
    timestamp: str
    actor: str
    kind: str


class RunRecord(Record):
    id: int
    attempt: int = 1
    event: str
    status: str
    conclusion: str | None
    path: str
    head_sha: str
    head_branch: str
    actor: Account
    title: str = ""
    created_at: str
    repository: str = ""
    url: str = ""


class JobRecord(Record):
    """A job of one attempt. `executed` = it ran on a runner and has steps (workflows.md 6)."""

    id: int
    run_id: int
    attempt: int = 1
    name: str
    status: str
    conclusion: str | None
    runner_name: str = ""
    steps: int = 0
    head_sha: str = ""

    @property
    def executed(self) -> bool:
        return bool(self.runner_name) and self.steps > 0 and self.conclusion not in (None, "skipped")


class ArtifactRecord(Record):
    """An artifact of the evidence run. `files` maps member path to blob; `problem` says why it could not be read."""

    id: int
    run_id: int
    name: str
    expired: bool = False
    size: int = 0
    files: dict[str, str] = {}
    problem: str = ""


class LogValue(Record):
    """A value read from a log, with its line (from 1)."""

    value: str
    line: int


class JobLogRecord(Record):
    """Facts extracted from one job's log (evidence.md): never the log itself, only values, counts and quoted lines.

    env: exported variables that matter. requests: count by "METHOD path". server_args: per role, effective flag ->
    value. loads: one entry a loaded model, as `role=target type=... quant=...` text. kv_caches: cache types as
    `role=draft dtype=torch.bfloat16`. versions: package -> version. images: pulled images.
    `missing` names the markers that a complete log has and this one lacks.
    """

    job_id: int
    run_id: int
    job_name: str
    extractor: str
    lines: int
    env: dict[str, LogValue] = {}
    requests: dict[str, int] = {}
    images: tuple[LogValue, ...] = ()
    server_args: dict[str, dict[str, LogValue]] = {}
    loads: tuple[LogValue, ...] = ()
    kv_caches: tuple[LogValue, ...] = ()
    versions: dict[str, LogValue] = {}
    refs: dict[str, LogValue] = {}
    quoted: tuple[LogValue, ...] = ()
    missing: tuple[str, ...] = ()
    problem: str = ""


class UpstreamRecord(Record):
    """An upstream recipe that the sign-off links: a merged pull request or a published page, and its files.

    `files` maps repository path (or URL for pages) to blob, read at the default branch tip; `contained` says whether
    the default branch contains the merge.
    """

    link: str
    comment_id: int
    line: int
    kind: Literal["pull_request", "page", "other"]
    repository: str = ""
    number: int = 0
    state: str = ""
    merged_at: str = ""
    merge_sha: str = ""
    contained: bool | None = None
    files: dict[str, str] = {}
    problem: str = ""


class CheckpointRecord(Record):
    """A checkpoint's config and safetensors headers. `headers` maps shard name to the blob of its JSON header."""

    repository: str
    revision: str
    sha: str = ""
    files: dict[str, str] = {}
    headers: dict[str, str] = {}
    problem: str = ""


class PageRecord(Record):
    url: str
    blob: str = ""
    problem: str = ""


class TreeRecord(Record):
    """Repository files read at one revision: path -> blob; `absent` were looked for and do not exist.

    `folders` were read whole.
    """

    revision: str
    files: dict[str, str] = {}
    absent: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    problems: dict[str, str] = {}
