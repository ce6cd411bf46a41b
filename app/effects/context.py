"""Purpose: what effects work with, for one pull request of one installation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from app.decide.state import PullState
from app.effects.comments import CommentEffects
from app.effects.markers import Markers
from app.effects.once import Once
from app.effects.ports import Ledger, Reader, Writer
from app.effects.verify import Verify
from app.policy import Policy


class Journal(Protocol):
    """What is worth keeping beside GitHub: the verdict index and the audit trail."""

    def verdict(self, row: Mapping[str, Any]) -> None: ...

    def audit(self, actor: str, what: str, detail: Mapping[str, Any]) -> None: ...


@dataclass(frozen=True, slots=True)
class PlanText:
    """A planned sweep in words. `ok` is False where no matrix can be planned; the title then says why."""

    title: str
    summary: str
    text: str
    ok: bool = True


class Planner(Protocol):
    """The matrix of a head as a table of points, GPUs and estimated GPU-hours."""

    def __call__(self, state: PullState, label: str, modifiers: tuple[str, ...]) -> PlanText: ...


@dataclass(frozen=True)
class Links:
    """Addresses that comments point at."""

    web: str = "https://github.com"
    results_site: str = "https://inferencex.semianalysis.com"
    checklist: str = "docs/PR_REVIEW_CHECKLIST.md"
    docs: str = "docs"


@dataclass
class Context:
    """`state` was read at the beginning of this reconcile; effects re-read what they depend on."""

    state: PullState
    policy: Policy
    reader: Reader
    writer: Writer
    markers: Markers
    ledger: Ledger
    journal: Journal
    verify: Verify
    plan: Planner
    clock: Callable[[], float]
    visible_seconds: float = 60.0
    links: Links = field(default_factory=Links)
    once: Once = field(init=False)
    comments: CommentEffects = field(init=False)

    def __post_init__(self) -> None:
        self.once = Once(self.ledger, clock=self.clock, visible=self.visible_seconds)
        self.comments = CommentEffects(
            self.state.ref,
            self.state.bot,
            self.state.own,
            self.state.tampered,
            reader=self.reader,
            writer=self.writer,
            markers=self.markers,
            once=self.once,
        )

    def run_url(self, run_id: int) -> str:
        return f"{self.links.web}/{self.state.ref.repository}/actions/runs/{run_id}"


def utc_date(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).date().isoformat()
