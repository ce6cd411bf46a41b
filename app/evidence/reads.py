"""Purpose: what the collector asks of GitHub and other hosts: one Protocol, in the collector's own words.

`app.github` implements it over HTTP. Records come back as plain JSON in the shapes of `app.facts.records`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from app.github.reads import (
    CheckpointFiles,
    Comparison,
    FilesAnswer,
    NotVisible,
    PullRequestGone,
    State,
    UpstreamState,
)

__all__ = [
    "CheckpointFiles",
    "Comparison",
    "FilesAnswer",
    "NotVisible",
    "PullRequestGone",
    "Reads",
    "State",
    "UpstreamState",
]


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
