"""Purpose: the durable side: one DBOS queue, partitioned by pull request, one workflow per reconcile.

    queue "pull-requests"        partition = owner/name#n, concurrency 1 in a partition, `workers` in a process
    workflow "reconcile"         id = <store>:<owner/name#n>:<generation>, so enqueueing twice is enqueueing once

A killed worker's workflow is run again from its beginning: a reconcile is level-triggered, so it needs no steps.
SQLite has one process and a fixed executor id: DBOS recovers its workflows at launch. On PostgreSQL each process has an
id of its own, and the reaper of any living process resumes what a dead one left, always naming the queue.

Accepted race: a worker that was slow and not dead may run a reconcile beside its resumed twin; the advisory lock of the
pull request keeps them apart, and the second finds nothing to do.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import structlog
from dbos import DBOS, DBOSConfig, SetEnqueueOptions, SetWorkflowID

from app.store.database import sqlite_path
from app.store.pulls import Due

LOG = structlog.get_logger("sweepgate.runtime")

QUEUE = "pull-requests"
WORKFLOW = "sweepgate.reconcile"
LIVE = ("ENQUEUED", "PENDING", "DELAYED")

Work = Callable[[Due], None]


@dataclass(frozen=True)
class QueueSettings:
    """`executor` is empty on SQLite, where one process owns everything."""

    database_url: str
    application_version: str
    executor: str
    workers: int
    poll_seconds: float


class Runtime:
    """DBOS is one per process, and so is this."""

    _current: Runtime | None = None
    _guard = threading.Lock()

    def __init__(self, settings: QueueSettings, store_id: str, work: Work) -> None:
        self._settings = settings
        self._store_id = store_id
        self._work = work
        self._running: set[str] = set()

    def start(self) -> None:
        with Runtime._guard:
            if Runtime._current is not None:
                raise RuntimeError("a runtime is already started in this process")
            Runtime._current = self
        _prepare_sqlite(self._settings.database_url)
        config: DBOSConfig = {
            "name": "sweepgate",
            "system_database_url": self._settings.database_url,
            "application_version": self._settings.application_version,
            "executor_id": self._settings.executor or "local",
            "max_executor_threads": self._settings.workers + 4,
            "log_level": "WARNING",
        }
        DBOS(config=config)
        DBOS.launch()
        DBOS.register_queue(
            QUEUE,
            worker_concurrency=self._settings.workers,
            partition_concurrency=1,
            polling_interval_sec=self._settings.poll_seconds,
            on_conflict="always_update",
        )

    def stop(self) -> None:
        DBOS.destroy(workflow_completion_timeout_sec=0)
        with Runtime._guard:
            Runtime._current = None

    def enqueue(self, item: Due) -> None:
        """Put a reconcile into the queue. The same generation twice is one workflow."""
        partition = f"{item.repository}#{item.number}"
        with SetWorkflowID(self.workflow_id(item)), SetEnqueueOptions(queue_partition_key=partition):
            DBOS.enqueue_workflow(QUEUE, _reconcile, item.repository, item.number, item.generation)

    def workflow_id(self, item: Due) -> str:
        return f"{self._store_id}:{item.repository}#{item.number}:{item.generation}"

    def is_live(self, item: Due) -> bool:
        """Whether the workflow of this generation waits or runs somewhere.

        One that this process began and lost, because the database went away under it, is handed back to the queue.
        """
        workflow_id = self.workflow_id(item)
        status = DBOS.get_workflow_status(workflow_id)
        if status is None or status.status not in LIVE:
            return False
        mine = status.executor_id == (self._settings.executor or "local")
        if status.status == "PENDING" and mine and workflow_id not in self._running:
            LOG.warning("a workflow was lost and is run again", workflow=workflow_id)
            self.resume(workflow_id)
        return True

    def live_of(self, executor: str) -> list[str]:
        """Workflows that an executor had begun and not ended."""
        return [
            status.workflow_id
            for status in DBOS.list_workflows(
                status="PENDING", executor_id=executor, load_input=False, load_output=False
            )
        ]

    def resume(self, workflow_id: str) -> None:
        """Hand a dead worker's workflow back to the queue. Without the queue's name serialisation would be lost."""
        DBOS.resume_workflow(workflow_id, queue_name=QUEUE)

    def prune(self, *, older_than: float, limit: int = 500) -> int:
        """Delete ended workflows that are older than so many seconds; returns how many."""
        before = datetime.fromtimestamp(time.time() - older_than, UTC).isoformat()
        ended = DBOS.list_workflows(
            status=["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"],
            end_time=before,
            limit=limit,
            load_input=False,
            load_output=False,
        )
        if ended:
            DBOS.delete_workflows([status.workflow_id for status in ended])
        return len(ended)

    def run(self, item: Due) -> None:
        workflow_id = self.workflow_id(item)
        self._running.add(workflow_id)
        try:
            self._work(item)
        finally:
            self._running.discard(workflow_id)


@DBOS.workflow(name=WORKFLOW)
def _reconcile(repository: str, number: int, generation: int) -> None:
    runtime = Runtime._current
    if runtime is None:
        raise RuntimeError("the runtime has stopped")
    runtime.run(Due(repository, number, generation))


def _prepare_sqlite(url: str) -> None:
    """DBOS leaves SQLite in its slow journal mode; WAL is set once and persists."""
    path = sqlite_path(url)
    if path is None:
        return
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
    connection.close()


def queue_counts() -> dict[str, Any]:
    """How many reconciles wait and run, for metrics."""
    waiting = DBOS.list_queued_workflows(queue_name=QUEUE, load_input=False)
    counts: dict[str, int] = {}
    for status in waiting:
        counts[status.status] = counts.get(status.status, 0) + 1
    return counts
