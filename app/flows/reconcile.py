"""Purpose: reconcile one pull request: read its state, decide, perform the due actions, end.

Invariants: a reconcile never waits for something outside; it ends, and the next webhook, round or retry looks again.
Repeating one at any point is harmless (app.effects.perform). One at a time for a pull request, by queue and by lock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

import structlog

from app.decide.actions import Action, Decision, SetReaction, Verify
from app.decide.state import PullRef, PullState
from app.effects.context import Context, Journal, Links, Planner, utc_date
from app.effects.faults import PointedWriter
from app.effects.markers import Markers
from app.effects.perform import perform
from app.effects.policy_notice import tell_policy
from app.effects.ports import Ledger, Refused
from app.effects.sweeps import no_plan
from app.effects.verify import Verify as Verifier
from app.flows.gather import Extras, Gatherer, PermissionCache
from app.flows.ports import Access, Clock, Memos, Meters, SameMeasurement

LOG = structlog.get_logger("sweepgate.reconcile")

# Seconds until the next look where GitHub had not made up its mind, and where it did not show everything yet.
LOOK_AGAIN = 5.0
LOOK_AGAIN_UNSEEN = 1.0


class Records(Protocol):
    """What the store gives a reconcile (Actions mode gives a small one in memory)."""

    @property
    def ledger(self) -> Ledger: ...

    @property
    def memos(self) -> Memos: ...

    def journal(self, ref: PullRef) -> Journal: ...

    def extras(self, ref: PullRef) -> Extras: ...

    def lock(self, ref: PullRef) -> AbstractContextManager[None]: ...


@dataclass(frozen=True)
class Outcome:
    """What a reconcile did: action names in order, and the lines that say why nothing more happens."""

    actions: tuple[str, ...]
    lines: tuple[Mapping[str, Any], ...]
    retry_after: float | None = None

    def summary(self) -> dict[str, Any]:
        return {"actions": list(self.actions), "lines": [dict(line) for line in self.lines]}


@dataclass
class Reconciler:
    """Everything a reconcile needs, wired once."""

    access: Access
    records: Records
    markers: Markers
    verify: Verifier
    same_measurement: SameMeasurement
    permissions: PermissionCache
    meters: Meters
    faults: Callable[[str], None]
    clock: Clock = time.time
    plan: Planner = no_plan
    visible_seconds: float = 60.0
    links: Links = field(default_factory=Links)

    def __call__(self, ref: PullRef, *, received_at: float | None = None) -> Outcome:
        """Raises the errors of app.effects.ports; see app.flows.failures for what follows from each."""
        with self.records.lock(ref):
            policy = self.access.policy(ref.repository)
            reader = self.access.reader(ref.repository)
            gatherer = Gatherer(
                reader, self.markers, self.records.memos, self.permissions, self.same_measurement, self.clock
            )
            extras = self.records.extras(ref)
            state, decision = gatherer.decide(ref, policy, extras, review_date=utc_date(self.clock()))
            context = Context(
                state=state,
                policy=policy,
                reader=reader,
                writer=PointedWriter(self.access.writer(ref.repository), self.faults),
                markers=self.markers,
                ledger=self.records.ledger,
                journal=self.records.journal(ref),
                verify=self.verify,
                plan=self.plan,
                clock=self.clock,
                visible_seconds=self.visible_seconds,
                links=self.links,
            )
            tell_policy(self.access.policy_problem(ref.repository), context)
            return self._perform(decision, state, context, received_at)

    def _perform(self, decision: Decision, state: PullState, context: Context, received_at: float | None) -> Outcome:
        done: list[str] = []
        refused: Refused | None = None
        for action in decision.actions:
            try:
                perform(action, context)
            except Refused as error:
                # One action that GitHub will not do must not keep the others from being done.
                refused = error
                LOG.warning("refused", pull=str(state.ref), action=type(action).__name__, reason=str(error))
                continue
            done.append(type(action).__name__)
            self._measure(action, received_at)
        if refused is not None:
            raise refused
        lines = tuple({"code": line.code, **line.values} for line in decision.lines)
        LOG.info("reconciled", pull=str(state.ref), head=state.head_sha, actions=done)
        soon = LOOK_AGAIN_UNSEEN if state.unseen else LOOK_AGAIN if decision.retry else None
        return Outcome(tuple(done), lines, soon)

    def _measure(self, action: Action, received_at: float | None) -> None:
        self.meters.count("actions", {"action": type(action).__name__})
        if received_at is None:
            return
        if isinstance(action, SetReaction):
            self.meters.observe("reaction", self.clock() - received_at)
        elif isinstance(action, Verify):
            self.meters.observe("verdict", self.clock() - received_at)
