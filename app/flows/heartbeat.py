"""Purpose: living workers count, and hand the work of dead ones back to the queue (PostgreSQL, several workers).

    every few seconds: my counter + 1; a counter of another worker that has not moved for `dead_after` of my own
    monotonic time -> its begun workflows are resumed on the queue, its row is dropped

Invariants: no wall clock is compared, so a clock that jumps declares nobody dead. Resuming names the queue, so one
pull request still has one reconcile at a time.

Accepted race: a worker that stood still for longer than `dead_after` and goes on may run a reconcile beside its resumed
twin; the advisory lock of the pull request lets them run one after the other, and the second finds nothing to do.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import structlog

from app.flows.ports import Clock
from app.store import records
from app.store.database import Database

LOG = structlog.get_logger("sweepgate.heartbeat")


class Resumer(Protocol):
    def live_of(self, executor: str) -> Sequence[str]: ...

    def resume(self, workflow_id: str) -> None: ...


class Heartbeat:
    """One thread a process. `monotonic` is for tests."""

    def __init__(
        self,
        database: Database,
        resumer: Resumer,
        executor: str,
        *,
        clock: Clock,
        seconds: float,
        dead_after: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._resumer = resumer
        self._executor = executor
        self._started_at = clock()
        self._seconds = seconds
        self._dead_after = dead_after
        self._monotonic = monotonic
        self._beat = 0
        self._seen: dict[str, tuple[int, float]] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        self.turn()
        self._thread.start()

    def stop(self) -> None:
        """Leave in order: nobody has to wait for this worker to be declared dead."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    def turn(self) -> list[str]:
        """Beat once, then reap. Returns the ids of the workflows that were resumed."""
        self._beat += 1
        records.beat(self._database, self._executor, self._beat, started_at=self._started_at)
        resumed: list[str] = []
        now = self._monotonic()
        beats = records.beats(self._database)
        for executor, beat in beats.items():
            known = self._seen.get(executor)
            if executor == self._executor or known is None or known[0] != beat:
                self._seen[executor] = (beat, now)
            elif now - known[1] >= self._dead_after:
                resumed += self._reap(executor)
        for gone in set(self._seen) - set(beats):
            del self._seen[gone]
        return resumed

    def _reap(self, executor: str) -> list[str]:
        workflows = list(self._resumer.live_of(executor))
        for workflow in workflows:
            self._resumer.resume(workflow)
        records.drop_worker(self._database, executor)
        LOG.warning("worker is dead, its work was handed back", executor=executor, workflows=len(workflows))
        return workflows

    def _run(self) -> None:
        while not self._stopped.wait(self._seconds):
            try:
                self.turn()
            except Exception:
                LOG.exception("heartbeat failed")
