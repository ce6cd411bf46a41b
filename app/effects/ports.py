"""Purpose: what effects need of GitHub, in the narrowest form, and the errors that they tell apart.

error            meaning                                              what the flow does
NotThere         404 or 410: gone                                     ignore, or create anew
Unanswered       a write without an answer: it may have happened      look for the result, then repeat
Unavailable      a read failed, or GitHub answers 5xx                 retry this pull request with back-off
Limited          primary or secondary rate limit, until a time        retry the installation then
Refused          403 or 422: GitHub will not, with its reason         say so, do not repeat
NotYetVisible    our own create is known but not shown yet            retry this pull request soon
anything else    a bug                                                log it, fail the deliveries
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from app.decide.state import Artifact, HeadChange, Permission, PullRef, PullState, Remark, RemarkKind, Run
from app.results.triage import JobEvidence
from app.verdict.annotations import Annotation


class EffectError(Exception):
    """Base of the errors that the flow tells apart."""


class NotThere(EffectError):  # noqa: N818
    pass


class Unanswered(EffectError):  # noqa: N818
    pass


class Unavailable(EffectError):  # noqa: N818
    pass


class Refused(EffectError):  # noqa: N818
    pass


class Limited(EffectError):  # noqa: N818
    """`until` is in seconds since 1970."""

    def __init__(self, message: str, until: float) -> None:
        self.until = until
        super().__init__(message)


class NotYetVisible(EffectError):  # noqa: N818
    def __init__(self, message: str, after: float = 2.0) -> None:
        self.after = after
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class CheckRunText:
    """A check run of ours. `conclusion` is set when `status` is completed. `text` may hold 65,535 characters."""

    name: str
    external_id: str
    status: str
    conclusion: str | None
    title: str
    summary: str
    text: str = ""
    details_url: str = ""
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckRunPlace:
    id: int
    url: str


class Reader(Protocol):
    """Reads of one installation. All raise Unavailable, Limited, NotThere or Refused."""

    def pull(self, ref: PullRef) -> PullState:
        """The state of a pull request without own comments and look-ups; few requests, one of them GraphQL."""

    def remarks(self, ref: PullRef) -> Sequence[Remark]:
        """Conversation comments, fresh, with editors."""

    def head(self, ref: PullRef) -> str:
        """The head SHA now."""

    def merge_base(self, repository: str, base_sha: str, head_sha: str) -> str: ...

    def permission(self, repository: str, login: str) -> Permission:
        """Raises Unavailable if a field is missing: that is an error, never "no"."""

    def run(self, repository: str, run_id: int) -> Run: ...

    def runs(self, ref: PullRef, *, head_branch: str, head_sha: str) -> Sequence[Run]:
        """Runs of the sweep workflow that may belong to the pull request, newest first."""

    def executed(self, repository: str, run_id: int) -> bool:
        """Whether a matrix job of the run started."""

    def artifacts(self, repository: str, run_id: int) -> Sequence[Artifact]: ...

    def job_evidence(self, repository: str, run_id: int) -> Sequence[JobEvidence]:
        """Jobs of a run's newest attempt with their logs, for triage."""

    def history(self, repository: str, branch: str) -> Sequence[HeadChange]:
        """The branch's activity in GitHub's own time."""


class Writer(Protocol):
    """Writes of one installation, serial. Creates raise Unanswered when nobody knows whether they happened."""

    def create_comment(self, ref: PullRef, body: str) -> int: ...

    def edit_comment(self, ref: PullRef, comment_id: int, body: str) -> None: ...

    def add_reaction(self, ref: PullRef, kind: RemarkKind, remark_id: int, content: str) -> None: ...

    def remove_reaction(self, ref: PullRef, kind: RemarkKind, remark_id: int, content: str) -> None: ...

    def put_check_run(
        self, repository: str, head_sha: str, text: CheckRunText, check_run_id: int | None
    ) -> CheckRunPlace: ...

    def dispatch_workflow(self, repository: str, workflow: str, branch: str, inputs: Mapping[str, str]) -> int | None:
        """The id of the new run, if GitHub told it."""

    def cancel_run(self, repository: str, run_id: int) -> None: ...

    def rerun_failed(self, repository: str, run_id: int) -> None: ...

    def repository_dispatch(self, repository: str, event_type: str, payload: Mapping[str, Any]) -> None: ...


class Ledger(Protocol):
    """Creates by key: open before the request, done after its answer is on disk."""

    def get(self, key: str) -> Entry | None: ...

    def open(self, key: str, *, now: float) -> None: ...

    def done(self, key: str, result: str, *, now: float) -> None: ...

    def forget(self, key: str) -> None: ...

    def recent(self, prefix: str, *, since: float) -> Sequence[tuple[str, str]]:
        """Key and result of everything done under a prefix since then."""


class Entry(Protocol):
    @property
    def state(self) -> str: ...

    @property
    def result(self) -> str | None: ...

    @property
    def changed_at(self) -> float: ...
