"""Purpose: the running service: store, inbox writer, pump, queue and reconciler, started and stopped in order.

Start: migrate -> queue -> rescue -> pump -> writer takes deliveries. Stop: writer first, so that nothing acknowledged
is lost, then pump, then queue; whatever still runs is run again at the next start.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from app.decide.state import PullRef
from app.flows.failures import classify
from app.flows.heartbeat import Heartbeat
from app.flows.meters import PrometheusMeters
from app.flows.ports import Clock
from app.flows.pump import Pump
from app.flows.reconcile import Reconciler
from app.flows.rounds import Rounds
from app.flows.runtime import QueueSettings, Runtime
from app.store import inbox, pulls
from app.store.database import Database
from app.store.inbox import InboxRow, InboxWriter, Reading
from app.store.pulls import Due
from app.store.records import Ledger, Memos

LOG = structlog.get_logger("sweepgate.service")


@dataclass(frozen=True)
class FlowSettings:
    """The part of the settings that the flows use; times in seconds."""

    queue_url: str
    application_version: str
    executor: str
    workers: int
    per_repository: int
    gather_seconds: float
    pump_seconds: float
    queue_poll_seconds: float
    heartbeat_seconds: float
    dead_after_seconds: float
    round_seconds: float
    outside_seconds: float
    keep_days: float
    repositories: Sequence[str]


class Service:
    """One process of the service."""

    def __init__(
        self,
        database: Database,
        reconciler: Reconciler,
        settings: FlowSettings,
        *,
        read: Callable[[InboxRow], Reading],
        meters: PrometheusMeters,
        clock: Clock,
    ) -> None:
        self._read = read
        self.database = database
        self.reconciler = reconciler
        self.meters = meters
        self._clock = clock
        self._settings = settings
        self.runtime: Runtime | None = None
        self.pump: Pump | None = None
        self.writer: InboxWriter | None = None
        self.heartbeat: Heartbeat | None = None
        self.rounds: Rounds | None = None

    def start(self) -> None:
        """Migrate, launch the queue, rescue what a crash left, begin to pump."""
        self.database.migrate()
        executor = "local" if self.database.is_sqlite else self._settings.executor or f"worker-{uuid.uuid4().hex[:12]}"
        self.runtime = Runtime(
            QueueSettings(
                self._settings.queue_url,
                self._settings.application_version,
                executor,
                self._settings.workers,
                self._settings.queue_poll_seconds,
            ),
            self._store_id(),
            self.work,
        )
        self.runtime.start()
        self.pump = self._new_pump(self.runtime)
        self.pump.rescue(older_than=0)
        self.pump.start()
        self.heartbeat = self._new_heartbeat(self.runtime, executor)
        self.rounds = self._new_rounds(self.pump)
        self.writer = InboxWriter(self.database, on_commit=self.pump.wake)
        self.pump.wake()

    def _new_pump(self, runtime: Runtime) -> Pump:
        return Pump(
            self.database,
            runtime,
            self._read,
            clock=self._clock,
            gather_seconds=self._settings.gather_seconds,
            poll_seconds=self._settings.pump_seconds,
            in_flight=self._settings.workers * 4,
            per_repository=self._settings.per_repository,
        )

    def _new_heartbeat(self, runtime: Runtime, executor: str) -> Heartbeat | None:
        """SQLite has one process, whose work the queue recovers at launch: nobody has to watch it."""
        if self.database.is_sqlite:
            return None
        heartbeat = Heartbeat(
            self.database,
            runtime,
            executor,
            clock=self._clock,
            seconds=self._settings.heartbeat_seconds,
            dead_after=self._settings.dead_after_seconds,
        )
        heartbeat.start()
        return heartbeat

    def _new_rounds(self, pump: Pump) -> Rounds:
        rounds = Rounds(
            self.database,
            self.reconciler.access.rounds,
            self._repositories,
            clock=self._clock,
            meters=self.meters,
            seconds=self._settings.round_seconds,
            outside_seconds=self._settings.outside_seconds,
            wake=pump.wake,
            prune=self.prune,
        )
        rounds.start()
        return rounds

    def _repositories(self) -> set[str]:
        """Those of the settings, and every one that ever sent a delivery."""
        return {*self._settings.repositories, *pulls.repositories(self.database)}

    def stop(self) -> None:
        """Deliveries first, so that nothing acknowledged is lost; then everything that makes work; the queue last."""
        for part in (self.writer, self.rounds, self.pump, self.heartbeat, self.runtime):
            if part is not None:
                part.stop()
        self.database.close()

    def work(self, item: Due) -> None:
        """The body of a workflow: reconcile, then say how it ended."""
        begun = pulls.begin(self.database, item.repository, item.number, item.generation)
        ref = PullRef(item.repository, item.number)
        started = self._clock()
        structlog.contextvars.bind_contextvars(pull=str(ref), deliveries=list(begun.guids), workflow=item.generation)
        try:
            outcome = self.reconciler(ref, received_at=begun.received_at)
        except Exception as error:
            self._failed(item, begun, error)
        else:
            after = outcome.retry_after
            pulls.finish(
                self.database,
                item.repository,
                item.number,
                begun.generation,
                retry_at=None if after is None else self._clock() + after,
                summary=outcome.summary(),
            )
        finally:
            structlog.contextvars.clear_contextvars()
            self.meters.observe("reconcile", self._clock() - started)
            if self.pump is not None:
                self.pump.wake()

    def _failed(self, item: Due, begun: pulls.Begun, error: Exception) -> None:
        failure = classify(error, now=self._clock(), attempts=begun.attempts)
        self.meters.count("failures", {"kind": failure.kind})
        if failure.kind == "bug":
            LOG.exception("reconcile failed", reason=failure.reason)
        else:
            LOG.warning("reconcile will be repeated", kind=failure.kind, reason=failure.reason)
        pulls.finish(
            self.database,
            item.repository,
            item.number,
            begun.generation,
            failure=None if failure.kind == "ignore" else failure.reason,
            retry_at=failure.retry_at,
        )

    def _store_id(self) -> str:
        """Names this store in workflow ids, so that a fresh store never meets the workflows of an older one."""
        memos = Memos(self.database, clock=self._clock)
        with self.database.lock("store-id"):
            known = memos.get("store-id")
            if known is None:
                known = uuid.uuid4().hex[:12]
                memos.put("store-id", known)
        return str(known)

    def prune(self) -> None:
        """Forget deliveries and workflows that are done for long."""
        seconds = self._settings.keep_days * 86_400
        inbox.prune(self.database, older_than=seconds)
        Ledger(self.database).prune(before=self._clock() - seconds)
        if self.runtime is not None:
            self.runtime.prune(older_than=seconds)

    def counts(self) -> tuple[dict[str, int], int]:
        """Rows of the inbox by status, and the number of pull requests with work."""
        waiting = sum(1 for row in pulls.overview(self.database) if row["requested"] > row["finished"])
        return inbox.counts(self.database), waiting

    def open_rows(self, at_most: int) -> int:
        """Rows of the inbox that are not done yet, counted up to `at_most`."""
        return inbox.open_rows(self.database, at_most=at_most)

    def missing(self) -> list[str]:
        """What keeps this process from working, each with the next step."""
        wrong = []
        if self.runtime is None or self.writer is None:
            wrong.append("the queue is not launched; look at the log")
        try:
            pragmas = self.database.pragmas()
        except Exception as error:
            return [*wrong, f"the database does not answer ({type(error).__name__}); check SWEEPGATE_DATABASE_URL"]
        if pragmas.get("synchronous", "2") != "2" or pragmas.get("journal_mode", "wal") != "wal":
            wrong.append(f"SQLite runs with {pragmas}; put the file on a local disk")
        return wrong
