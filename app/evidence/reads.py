"""Purpose: what the collector asks of GitHub and other hosts: one Protocol, in the collector's own words.

`app.github` implements it over HTTP. Records come back as plain JSON in the shapes of `app.facts.records`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


class PullRequestGone(Exception):  # noqa: N818
    """The pull request does not exist or cannot be seen with this token."""


class NotVisible(Exception):  # noqa: N818
    """The token may not see this (403 or 404 on a membership)."""


@dataclass(frozen=True)
class State:
    """One read of the pull request: records of `pull_request`, `commits`, `comments`, `labels`.

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


@dataclass(frozen=True)
class Comparison:
    """Merge base and changed files (records of `changed_files`, complete) of two commits."""

    merge_base: str
    files: list[dict[str, Any]]


@dataclass(frozen=True)
class FilesAnswer:
    """Files by revision and path (None: absent). `history_*`: the newest version of one path not after a time."""

    files: Mapping[str, Mapping[str, bytes | None]]
    history_sha: str = ""
    history_content: bytes = b""


@dataclass(frozen=True)
class UpstreamState:
    """An upstream pull request. `contained`: its default branch holds the merge; `files` at that branch's tip."""

    state: str
    merged_at: str
    merge_sha: str
    contained: bool | None
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class CheckpointFiles:
    """Config files (raw) and safetensors headers (raw JSON) of one revision of a checkpoint."""

    sha: str
    files: Mapping[str, bytes]
    headers: Mapping[str, bytes]


class Reads(Protocol):
    """Reads of one verification. Every method may raise; `reason` turns what it raised into a few words."""

    def pull_request_state(self, repository: str, number: int) -> State: ...
    def compare(self, repository: str, base: str, head: str) -> Comparison: ...
    def branch_activity(self, repository: str, branch: str) -> list[dict[str, Any]]: ...
    def permission(self, repository: str, login: str) -> dict[str, str]: ...
    def team_members(self, name: str) -> Sequence[str]: ...
    def files(
        self,
        repository: str,
        wishes: Mapping[str, tuple[Sequence[str], Sequence[str]]],
        history: tuple[str, str, str] | None = None,
    ) -> FilesAnswer:
        """Files and whole folders by revision: {sha: (paths, folders)}; `history` = (sha, path, not after)."""
        ...

    def workflow_runs(
        self, repository: str, branch: str, workflow: str, ids: Sequence[int]
    ) -> list[dict[str, Any]]: ...
    def jobs(self, repository: str, run_id: int, attempt: int) -> list[dict[str, Any]]: ...
    def artifacts(self, repository: str, run_id: int) -> list[dict[str, Any]]: ...
    def artifact_members(self, repository: str, artifact_id: int, size: int) -> Mapping[str, bytes]: ...
    def run_logs(self, repository: str, run_id: int, attempt: int) -> Mapping[str, str]: ...
    def upstream_pull_request(self, repository: str, number: int) -> UpstreamState: ...
    def checkpoint(self, repository: str, revision: str) -> CheckpointFiles: ...
    def page(self, url: str) -> bytes: ...
    def reason(self, error: Exception) -> str: ...
