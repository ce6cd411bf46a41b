"""Purpose: the running service: store, inbox writer, pump, queue and reconciler, started and stopped in order.

Start: migrate -> queue -> rescue -> pump -> writer takes deliveries. Stop: writer first, so that nothing acknowledged
is lost, then pump, then queue; whatever still runs is run again at the next start.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import structlog

from app.decide.state import Callback, LabelApproval, Person, PullRef
from app.flows.failures import classify
from app.flows.gather import Extras
from app.flows.meters import PrometheusMeters
from app.flows.ports import Clock
from app.flows.pump import Pump
from app.flows.reconcile import Reconciler
from app.flows.runtime import QueueSettings, Runtime
from app.store import inbox, pulls, records
from app.store.database import Database
from app.store.inbox import InboxRow, InboxWriter, Reading
from app.store.pulls import Due
from app.store.records import Ledger, Memos

LOG = structlog.get_logger("sweepgate.service")


class StoreRecords:
    """The store as a reconcile sees it (app.flows.reconcile.Records)."""

    def __init__(self, database: Database, *, clock: Clock, meters: PrometheusMeters) -> None:
        self._database = database
        self._clock = clock
        self._meters = meters
        self.ledger = Ledger(database)
        self.memos = Memos(database, clock=clock)

    def journal(self, ref: PullRef) -> StoreJournal:
        return StoreJournal(self._database, ref, self._clock, self._meters)

    def extras(self, ref: PullRef) -> Extras:
        payloads = records.label_payloads(self._database, ref.repository, ref.number)
        messages = records.callbacks(self._database, ref.repository, ref.number)
        return Extras(
            tuple(
                LabelApproval(row["label"], row["head_sha"], Person(row["actor_id"], row["actor"]), row["at"])
                for row in payloads
            ),
            tuple(Callback(row["kind"], row["payload"], row["at"]) for row in messages),
        )

    @contextmanager
    def lock(self, ref: PullRef) -> Iterator[None]:
        with self._database.lock(f"pull:{ref}"):
            yield


@dataclass(frozen=True)
class StoreJournal:
    """Writes the verdict index and the audit trail of one pull request."""

    database: Database
    ref: PullRef
    clock: Clock
    meters: PrometheusMeters

    def verdict(self, row: Mapping[str, Any]) -> None:
        place = {"repository": self.ref.repository, "number": self.ref.number, "published_at": self.clock()}
        records.record_verdict(self.database, {**row, **place})
        self.meters.count("verdicts", {"header": str(row["header"])})
        statuses = row["payload"].get("statuses")
        for check, status in statuses.items() if isinstance(statuses, Mapping) else ():
            self.meters.count("rows", {"check": str(check), "status": str(status)})

    def audit(self, actor: str, what: str, detail: Mapping[str, Any]) -> None:
        records.record_audit(
            self.database,
            at=self.clock(),
            repository=self.ref.repository,
            number=self.ref.number,
            entries=[(actor, what, detail)],
        )


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

    def start(self) -> None:
        """Migrate, launch the queue, rescue what a crash left, begin to pump."""
        settings = self._settings
        self.database.migrate()
        queue = QueueSettings(
            settings.queue_url,
            settings.application_version,
            "local" if self.database.is_sqlite else settings.executor or f"worker-{uuid.uuid4().hex[:12]}",
            settings.workers,
            settings.queue_poll_seconds,
        )
        self.runtime = Runtime(queue, self._store_id(), self.work)
        self.runtime.start()
        self.pump = Pump(
            self.database,
            self.runtime,
            self._read,
            clock=self._clock,
            gather_seconds=settings.gather_seconds,
            poll_seconds=settings.pump_seconds,
            in_flight=settings.workers * 4,
            per_repository=settings.per_repository,
        )
        self.pump.rescue(older_than=0)
        self.pump.start()
        self.writer = InboxWriter(self.database, on_commit=self.pump.wake)
        self.pump.wake()

    def stop(self) -> None:
        if self.writer is not None:
            self.writer.close()
        if self.pump is not None:
            self.pump.stop()
        if self.runtime is not None:
            self.runtime.stop()
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
