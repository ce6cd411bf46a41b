"""Purpose: what a decision may ask for. Plain values; app.effects performs each of them once.

Invariants: an action names everything that its precondition needs, so that it can be refused when the world moved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.decide.state import RemarkKind


@dataclass(frozen=True, slots=True)
class SetReaction:
    """Our one reaction on a remark: "+1", "-1", "eyes", or None for none. `remove` are ours to take away."""

    kind: RemarkKind
    id: int
    content: str | None
    remove: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PostWelcome:
    """Once a pull request, never edited."""


@dataclass(frozen=True, slots=True)
class PostResults:
    """The one comment with the links of a finished run; a lower run never overwrites a higher one."""

    run_id: int


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the status comment: `code` picks the sentence in app.words.status, `values` fill it."""

    code: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SetStatus:
    """The one status comment: its lines and the command record of its marker. No lines and no record: no comment."""

    lines: tuple[Line, ...]
    record: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pin:
    """The effective reuse pin: the run and the remark that asked for it."""

    run_id: int
    remark_id: int
    body_hash: str


@dataclass(frozen=True, slots=True)
class Exempt:
    """A live `/except` of somebody with permission admin and role admin."""

    remark_id: int
    check: int
    reason: str
    until: str | None
    login: str
    body_hash: str


@dataclass(frozen=True, slots=True)
class Verify:
    """Collect, judge and publish one verdict. `sign_off` is "<kind>-<id>", or "by-hand" where there is none.

    `asked` are the keys of the `/verify` commands that this verdict answers.
    """

    sign_off: str
    head_sha: str
    verify_key: str
    pin: Pin | None = None
    exceptions: tuple[Exempt, ...] = ()
    asked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DispatchSweep:
    """Start the sweep of a head by `workflow_dispatch` on the default branch."""

    sweep_key: str
    head_sha: str
    base_sha: str
    label: str
    modifiers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CancelRun:
    run_id: int
    reason: str


@dataclass(frozen=True, slots=True)
class ShowPlan:
    """The check run that shows the planned matrix, then the progress of the run with this key, on the head."""

    sweep_key: str
    head_sha: str
    label: str
    modifiers: tuple[str, ...]
    run_id: int | None
    status: str
    conclusion: str | None


@dataclass(frozen=True, slots=True)
class RetryFailed:
    """`/retry-failed`: rerun the failed jobs of a run."""

    command: str
    run_id: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Stage:
    """Hand a run to the staging target. `command` is the key of the asking command."""

    command: str
    run_id: int
    attempt: int
    run_date: str
    requester: str


@dataclass(frozen=True, slots=True)
class FinishStaging:
    """A callback of the staging target: edit the comment of that staged run."""

    comment_key: str
    state: str
    link: str


Action = (
    SetReaction
    | PostWelcome
    | PostResults
    | SetStatus
    | Verify
    | DispatchSweep
    | CancelRun
    | ShowPlan
    | RetryFailed
    | Stage
    | FinishStaging
)


@dataclass(frozen=True, slots=True)
class Needs:
    """Look-ups without which a decision is not final: look them up, then decide again."""

    permissions: frozenset[str] = frozenset()
    runs: frozenset[int] = frozenset()
    executed: frozenset[int] = frozenset()
    artifacts: frozenset[int] = frozenset()
    measurements: frozenset[str] = frozenset()
    history: bool = False
    retries: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        runs = self.runs or self.executed or self.artifacts or self.retries
        return bool(self.permissions or runs or self.measurements or self.history)


@dataclass(frozen=True, slots=True)
class Decision:
    """Actions in the order in which they are performed. With `needs`, nothing may be performed yet.

    `lines` is what the status comment says; pages and `sweepgate queue` show the same. `retry` asks for another look
    soon, because GitHub had not made up its mind (mergeability).
    """

    actions: tuple[Action, ...]
    lines: tuple[Line, ...] = ()
    needs: Needs = Needs()
    retry: bool = False
