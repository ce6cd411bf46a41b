"""Purpose: typed facts that come from GitHub's state of the pull request: itself, its people, its comments.

Invariant: these are values only; what they mean is decided in checks and in `app.decide`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from app.facts.base import Fact
from app.facts.records import (
    ActivityRecord,
    CommentRecord,
    CommitRecord,
    FileRecord,
    LabelEventRecord,
    PermissionRecord,
    PullRequestRecord,
    TeamRecord,
)


@dataclass(frozen=True)
class PullRequest(Fact):
    """The pull request and its commits, oldest first."""

    title: ClassVar[str] = "the pull request"
    sources: ClassVar[tuple[str, ...]] = ("pull_request", "commits")
    record: PullRequestRecord
    commits: tuple[CommitRecord, ...]

    @property
    def commit_shas(self) -> frozenset[str]:
        return frozenset(commit.sha for commit in self.commits)

    @property
    def from_fork(self) -> bool:
        return self.record.head_repository != self.record.repository


@dataclass(frozen=True)
class ChangedFiles(Fact):
    """Changed files against the merge base, complete."""

    title: ClassVar[str] = "the list of changed files"
    sources: ClassVar[tuple[str, ...]] = ("changed_files",)
    files: tuple[FileRecord, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path touched; a rename counts twice."""
        both = [path for file in self.files for path in (file.path, file.previous_path) if path]
        return tuple(dict.fromkeys(both))


@dataclass(frozen=True)
class Comments(Fact):
    """All comments, reviews and review comments, oldest first."""

    title: ClassVar[str] = "the comments"
    sources: ClassVar[tuple[str, ...]] = ("comments",)
    all: tuple[CommentRecord, ...]


@dataclass(frozen=True)
class Permissions(Fact):
    """Collaborator permission by login. A login that was asked for and failed stands in `problems`."""

    title: ClassVar[str] = "repository permissions"
    sources: ClassVar[tuple[str, ...]] = ("permissions",)
    by_login: Mapping[str, PermissionRecord]
    problems: Mapping[str, str]

    def of(self, login: str) -> PermissionRecord | None:
        return self.by_login.get(login.lower())


@dataclass(frozen=True)
class Teams(Fact):
    """Team membership by "org/slug", lower-case."""

    title: ClassVar[str] = "team membership"
    sources: ClassVar[tuple[str, ...]] = ("teams",)
    by_name: Mapping[str, TeamRecord]


@dataclass(frozen=True)
class LabelTimeline(Fact):
    title: ClassVar[str] = "the label timeline"
    sources: ClassVar[tuple[str, ...]] = ("labels",)
    events: tuple[LabelEventRecord, ...]

    def active_at(self, time: str) -> frozenset[str]:
        """Labels on the pull request at an RFC 3339 UTC time."""
        labels: set[str] = set()
        for event in self.events:
            if event.created_at > time:
                break
            if event.action == "labeled":
                labels.add(event.label)
            else:
                labels.discard(event.label)
        return frozenset(labels)


@dataclass(frozen=True)
class BranchActivity(Fact):
    """Updates of the head branch by server time, oldest first."""

    title: ClassVar[str] = "the activity of the head branch"
    sources: ClassVar[tuple[str, ...]] = ("activity",)
    updates: tuple[ActivityRecord, ...]

    def head_at(self, time: str) -> str | None:
        """Branch head at an RFC 3339 UTC time; a push in the same second counts as later. None if not known."""
        heads = [update.after for update in self.updates if update.timestamp[:19] < time[:19]]
        if heads:
            return heads[-1]
        later = [update for update in self.updates if update.timestamp[:19] >= time[:19]]
        before = later[0].before if later else ""
        return before if before.strip("0") else None
