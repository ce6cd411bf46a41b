"""Purpose: the inbox table: accept deliveries durably in groups, hand them out, close them.

One writer thread drains what is queued into one transaction: a group of requests shares one fsync, and each caller
learns of its commit only after it happened.

Bodies are stored compressed (deflate, level 1): less to write costs less than the compression.

Invariants: a row is never handed out before it is committed. A delivery id that is already there is left alone, except
that a failed row becomes new again (a redelivery of a done row is a no-op, of a failed one runs).
"""

from __future__ import annotations

import queue
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import Connection, bindparam, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from app.store.database import Database
from app.store.pulls import raise_generation
from app.store.tables import CALLBACKS, INBOX, LABEL_PAYLOADS

MAX_GROUP = 256
# Senders answer an acknowledgement with their next delivery: a writer that flushes for the first of them alone makes
# all the others wait for two flushes. It waits so long at most, and only right after a group.
GATHER_SECONDS = 0.002


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery whose signature held. `guid` names the event; a redelivery repeats it."""

    guid: str
    event: str
    body: bytes
    received_at: float


@dataclass(frozen=True, slots=True)
class InboxRow:
    id: int
    guid: str
    event: str
    body: bytes
    received_at: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What the pump read in a row: the pull request it touches, or why it is done or failed at once."""

    row: int
    status: str
    reason: str | None = None
    repository: str | None = None
    number: int | None = None
    label_payload: Mapping[str, object] | None = None
    callback: Mapping[str, object] | None = None


class Receipt(Protocol):
    """Told once about the commit: `None`, or the error that prevented it. Called on the writer's thread."""

    def __call__(self, error: Exception | None, /) -> None: ...


class InboxWriter:
    """The one writer. `accept` returns at once; the receipts of a group are called after its commit."""

    def __init__(self, database: Database, *, on_commit: Callable[[], None] | None = None) -> None:
        self._database = database
        self._on_commit = on_commit or (lambda: None)
        self._queue: queue.SimpleQueue[tuple[Delivery, Receipt] | None] = queue.SimpleQueue()
        self._statement = _accept_statement(database)
        self._thread = threading.Thread(target=self._run, name="inbox-writer", daemon=True)
        self._thread.start()

    def accept(self, delivery: Delivery, receipt: Receipt) -> None:
        self._queue.put((delivery, receipt))

    def stop(self) -> None:
        """Write what is queued, then stop."""
        self._queue.put(None)
        self._thread.join(timeout=30)

    def _run(self) -> None:
        closing, expected, ended = False, 0, float("-inf")
        while not closing:
            group, closing = self._group(expected, ended + GATHER_SECONDS)
            if not group:
                continue
            error: Exception | None = None
            try:
                self._commit([row for row, _ in group])
            except Exception as problem:  # every error belongs to the callers of this group
                error = problem
            for _, receipt in group:
                receipt(error)
            if error is None:
                self._on_commit()
            expected, ended = len(group), time.monotonic()

    def _group(self, expected: int, until: float) -> tuple[list[tuple[_Row, Receipt]], bool]:
        """What is queued, and what of `expected` deliveries still comes until that moment, compressed meanwhile."""
        first = self._queue.get()
        if first is None:
            return [], True
        group = [(_row(first[0]), first[1])]
        while len(group) < MAX_GROUP:
            left = until - time.monotonic() if len(group) < expected else 0.0
            try:
                following = self._queue.get(timeout=left) if left > 0 else self._queue.get_nowait()
            except queue.Empty:
                break
            if following is None:
                return group, True
            group.append((_row(following[0]), following[1]))
        return group, False

    def _commit(self, group: Sequence[_Row]) -> None:
        rows = {row[0]: row for row in group}
        with self._database.write("inbox.accept") as connection:
            connection.exec_driver_sql(self._statement, list(rows.values()))


_Row = tuple[str, str, bytes, float]


def _row(delivery: Delivery) -> _Row:
    """Delivery id, event, compressed body, receipt time, as the table has them."""
    return delivery.guid, delivery.event, zlib.compress(delivery.body, 1), delivery.received_at


def _accept_statement(database: Database) -> str:
    """In the driver's own words: this one statement is on the path whose speed is a promise."""
    mark = "?" if database.is_sqlite else "%s"
    return (
        f"INSERT INTO inbox (guid, event, body, received_at) VALUES ({mark}, {mark}, {mark}, {mark}) "  # noqa: S608
        "ON CONFLICT (guid) DO UPDATE SET status = 'new', reason = NULL, received_at = excluded.received_at "
        "WHERE inbox.status = 'failed'"
    )


def take_new(database: Database, read: Callable[[InboxRow], Reading], limit: int = 100) -> list[Reading]:
    """Read new rows in order, then close or take them in one short transaction with the raised generations.

    `read` is pure and runs outside the transaction, so that deliveries never wait for it. Rows that touch a pull
    request become `taken` under its next generation; the others are closed. Two workers may read the same row; its
    status changes once, and the second only requests one more reconcile.
    """
    with database.read() as connection:
        found = connection.execute(
            select(INBOX.c.id, INBOX.c.guid, INBOX.c.event, INBOX.c.body, INBOX.c.received_at)
            .where(INBOX.c.status == "new")
            .order_by(INBOX.c.id)
            .limit(limit)
        ).all()
    readings = [read(InboxRow(row.id, row.guid, row.event, _unpacked(row.body), row.received_at)) for row in found]
    if readings:
        with database.write("inbox.take") as connection:
            _take(database, connection, readings)
    return readings


def _unpacked(body: bytes) -> bytes:
    return zlib.decompress(body)


def _take(database: Database, connection: Connection, readings: Sequence[Reading]) -> None:
    pulls = {
        (reading.repository, reading.number)
        for reading in readings
        if reading.repository is not None and reading.number is not None
    }
    generations = {pull: raise_generation(connection, *pull) for pull in sorted(pulls)}
    connection.execute(_CLOSE, [_closed(reading, generations) for reading in readings])
    for table, rows in (
        (LABEL_PAYLOADS, [dict(reading.label_payload) for reading in readings if reading.label_payload]),
        (CALLBACKS, [dict(reading.callback) for reading in readings if reading.callback]),
    ):
        if rows:
            insert = sqlite.insert(table) if database.is_sqlite else postgresql.insert(table)
            connection.execute(insert.on_conflict_do_nothing(), rows)


def _closed(reading: Reading, generations: dict[tuple[str, int], int]) -> dict[str, object]:
    pull = (reading.repository or "", reading.number or 0)
    return {
        "row": reading.row,
        "new_status": reading.status,
        "new_reason": reading.reason,
        "new_repository": reading.repository,
        "new_number": reading.number,
        "new_generation": generations.get(pull),
    }


_CLOSE = (
    update(INBOX)
    .where(INBOX.c.id == bindparam("row"), INBOX.c.status == "new")
    .values(
        status=bindparam("new_status"),
        reason=bindparam("new_reason"),
        repository=bindparam("new_repository"),
        number=bindparam("new_number"),
        generation=bindparam("new_generation"),
    )
)


def counts(database: Database) -> dict[str, int]:
    """How many rows stand in each status."""
    with database.read() as connection:
        rows = connection.execute(select(INBOX.c.status, func.count()).group_by(INBOX.c.status)).all()
    return {str(status): int(number) for status, number in rows}


def open_rows(database: Database, *, at_most: int) -> int:
    """Rows that are new or taken, counted up to `at_most`."""
    some = select(INBOX.c.id).where(INBOX.c.status.in_(("new", "taken"))).limit(at_most).subquery()
    with database.read() as connection:
        return int(connection.execute(select(func.count()).select_from(some)).scalar_one())


def oldest_unfinished(database: Database) -> float | None:
    """Receipt time of the oldest row that is new or taken."""
    with database.read() as connection:
        found = connection.execute(
            select(func.min(INBOX.c.received_at)).where(INBOX.c.status.in_(("new", "taken")))
        ).scalar()
    return None if found is None else float(found)


def prune(database: Database, *, older_than: float, limit: int = 1000) -> int:
    """Delete done rows received more than `older_than` seconds ago. GitHub redelivers for three days at most."""
    old = (
        select(INBOX.c.id)
        .where(INBOX.c.status == "done", INBOX.c.received_at < time.time() - older_than)
        .limit(limit)
        .scalar_subquery()
    )
    with database.write("inbox.prune") as connection:
        return connection.execute(delete(INBOX).where(INBOX.c.id.in_(old))).rowcount


def recent(
    database: Database, repository: str, number: int, *, event: str, since: float, limit: int = 20
) -> list[bytes]:
    """Bodies of the newest deliveries of one kind about a pull request that were received since then."""
    mine = (INBOX.c.repository == repository, INBOX.c.number == number, INBOX.c.event == event)
    with database.read() as connection:
        rows = connection.execute(
            select(INBOX.c.body)
            .where(*mine, INBOX.c.received_at > since)
            .order_by(INBOX.c.received_at.desc())
            .limit(limit)
        )
        return [_unpacked(body) for body in rows.scalars()]
