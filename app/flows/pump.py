"""Purpose: inbox -> coalesced reconciles, and the rescue of work that got lost between two commits.

    new rows --read--> taken, generation raised --due, in turns--> place claimed --> workflow enqueued

A burst is one reconcile: rows are gathered for a moment, rows that arrive while a reconcile waits are covered by it,
rows that arrive while it runs cause exactly one more.

Invariants: every step is a commit that the next start finds again. A place claimed without a workflow (a crash between
the two) is found by `rescue`, as is a workflow that ended without a trace.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

import structlog

from app.flows.ports import Clock
from app.store import inbox, pulls
from app.store.database import Database
from app.store.inbox import InboxRow, Reading
from app.store.pulls import Due

LOG = structlog.get_logger("sweepgate.pump")

BATCH = 100
# The pump shares one interpreter with the door: it works at most this part of the time, and less in a flood.
FLOOD = 5
DUTY, DUTY_IN_A_FLOOD = 0.3, 0.05
RESCUE_AFTER = 5.0


class Queue(Protocol):
    def enqueue(self, item: Due) -> None: ...

    def is_live(self, item: Due) -> bool: ...


class Pump:
    """One thread a process. `wake` may be called from anywhere."""

    def __init__(
        self,
        database: Database,
        queue: Queue,
        read: Callable[[InboxRow], Reading],
        *,
        clock: Clock,
        gather_seconds: float,
        poll_seconds: float,
        in_flight: int,
        per_repository: int,
    ) -> None:
        self._database = database
        self._queue = queue
        self._read = read
        self._clock = clock
        self._gather_seconds = gather_seconds
        self._poll_seconds = poll_seconds
        self._in_flight = in_flight
        self._per_repository = per_repository
        self._wake = threading.Event()
        self._wakes = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pump", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        self._wakes += 1
        self._wake.set()

    def stop(self) -> None:
        self._stopped.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    def turn(self) -> int:
        """Take what is new and enqueue what is due. Returns the number of enqueued reconciles."""
        if len(inbox.take_new(self._database, self._read, BATCH)) == BATCH:
            self._wake.set()
        enqueued = 0
        now = self._clock()
        for item in pulls.due(self._database, now=now, limit=self._in_flight, per_repository=self._per_repository):
            if pulls.mark_enqueued(self._database, item, now=now):
                self._queue.enqueue(item)
                enqueued += 1
        return enqueued

    def rescue(self, *, older_than: float = RESCUE_AFTER) -> int:
        """Enqueue again what never reached the queue, and release what ended without a trace."""
        rescued = 0
        for item in pulls.stuck(self._database, before=self._clock() - older_than):
            if not self._queue.is_live(item):
                # Enqueueing is idempotent by workflow id; if that id has ended already, only a new one can run.
                self._queue.enqueue(item)
                if not self._queue.is_live(item):
                    pulls.release(self._database, item)
                rescued += 1
        for item in pulls.unfinished(self._database):
            if not self._queue.is_live(item):
                pulls.release(self._database, item)
                rescued += 1
        return rescued

    def _run(self) -> None:
        last_rescue = float("-inf")
        while not self._stopped.is_set():
            self._wake.wait(self._poll_seconds)
            self._wake.clear()
            if self._stopped.wait(self._gather_seconds):
                return
            try:
                started, wakes = time.perf_counter(), self._wakes
                self.turn()
                duty = DUTY if self._wakes - wakes < FLOOD else DUTY_IN_A_FLOOD
                self._stopped.wait((time.perf_counter() - started) * (1 / duty - 1))
                if abs(self._clock() - last_rescue) > RESCUE_AFTER:
                    last_rescue = self._clock()
                    self.rescue(older_than=RESCUE_AFTER)
            except Exception:
                # The store may be restarting or full; nothing is lost, the next turn starts from its commits.
                LOG.exception("pump turn failed")
                self._stopped.wait(1.0)
