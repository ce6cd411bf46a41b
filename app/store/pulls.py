"""Purpose: which pull requests have work: generations that coalesce many events into few reconciles.

    requested  raised by every batch of events, by the periodic round and by a due retry
    enqueued   the generation of the one workflow that waits; unset while none waits
    running    the generation under whose name the running workflow was enqueued
    begun      what the newest workflow saw when it began: everything requested up to then is covered by it
    finished   the newest generation whose workflow ended

Invariants: at most one workflow waits for a pull request. An event during a reconcile raises `requested` above
`begun`, which schedules exactly one more. Nothing here is the only copy: a full round would find the same work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, case, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from app.store.database import Database
from app.store.tables import INBOX, PULLS


@dataclass(frozen=True, slots=True)
class Due:
    """A pull request whose next reconcile may be enqueued now under `generation`."""

    repository: str
    number: int
    generation: int


@dataclass(frozen=True, slots=True)
class Begun:
    """What a reconcile covers. `received_at` is the receipt time of its oldest delivery, if it has any."""

    generation: int
    attempts: int
    received_at: float | None
    guids: tuple[str, ...]


def raise_generation(connection: Connection, repository: str, number: int) -> int:
    """Request one more reconcile inside the caller's transaction and return its generation."""
    insert = sqlite.insert(PULLS) if connection.dialect.name == "sqlite" else postgresql.insert(PULLS)
    statement = (
        insert.values(repository=repository, number=number, requested=1)
        .on_conflict_do_update(
            index_elements=[PULLS.c.repository, PULLS.c.number],
            set_={"requested": PULLS.c.requested + 1, "retry_at": None},
        )
        .returning(PULLS.c.requested)
    )
    return int(connection.execute(statement).scalar_one())


def request(database: Database, pulls: Sequence[tuple[str, int]]) -> None:
    """Request a reconcile of each pull request (the periodic round, a hand)."""
    with database.write("pulls.request") as connection:
        for repository, number in pulls:
            raise_generation(connection, repository, number)


def due(database: Database, *, now: float, limit: int, per_repository: int) -> list[Due]:
    """Pull requests to enqueue, taking turns between repositories, each with at most `per_repository` in flight."""
    idle = PULLS.c.begun == PULLS.c.finished
    wanted = or_(PULLS.c.requested > PULLS.c.begun, and_(idle, PULLS.c.retry_at.is_not(None)))
    ready = or_(PULLS.c.retry_at.is_(None), PULLS.c.retry_at <= now)
    place = func.row_number().over(
        partition_by=PULLS.c.repository, order_by=(PULLS.c.requested - PULLS.c.begun, PULLS.c.number)
    )
    found = (
        select(PULLS.c.repository, PULLS.c.number, PULLS.c.requested, PULLS.c.begun, place.label("place"))
        .where(PULLS.c.enqueued.is_(None), wanted, ready)
        .subquery()
    )
    in_flight = (
        select(PULLS.c.repository, func.count())
        .where(or_(PULLS.c.enqueued.is_not(None), PULLS.c.begun > PULLS.c.finished))
        .group_by(PULLS.c.repository)
    )
    with database.read() as connection:
        rows = connection.execute(
            select(found)
            .where(found.c.place <= per_repository)
            .order_by(found.c.place, found.c.repository)
            .limit(limit + per_repository)
        ).all()
        busy = {str(repository): int(number) for repository, number in connection.execute(in_flight).all()}
    free = [row for row in rows if row.place <= per_repository - busy.get(row.repository, 0)]
    return [Due(row.repository, row.number, max(row.requested, row.begun + 1)) for row in free[:limit]]


def mark_enqueued(database: Database, item: Due, *, now: float) -> bool:
    """Claim the place of the waiting workflow. False if another worker was first."""
    with database.write("pulls.enqueue") as connection:
        result = connection.execute(
            update(PULLS)
            .where(PULLS.c.repository == item.repository, PULLS.c.number == item.number, PULLS.c.enqueued.is_(None))
            .values(enqueued=item.generation, enqueued_at=now, requested=_greatest(item.generation))
        )
    return result.rowcount == 1


def _greatest(generation: int) -> Any:
    return case((PULLS.c.requested < generation, generation), else_=PULLS.c.requested)


def begin(database: Database, repository: str, number: int, generation: int) -> Begun:
    """A workflow begins: it covers everything requested until now."""
    mine = and_(PULLS.c.repository == repository, PULLS.c.number == number)
    with database.write("pulls.begin") as connection:
        row = connection.execute(select(PULLS.c.requested, PULLS.c.attempts).where(mine).with_for_update()).one()
        connection.execute(
            update(PULLS)
            .where(mine)
            .values(begun=row.requested, running=generation, enqueued=None, enqueued_at=None, retry_at=None)
        )
        taken = connection.execute(
            select(INBOX.c.guid, INBOX.c.received_at)
            .where(_taken(repository, number, row.requested))
            .order_by(INBOX.c.received_at)
        ).all()
    oldest = min((float(received) for _, received in taken), default=None)
    return Begun(int(row.requested), int(row.attempts), oldest, tuple(str(guid) for guid, _ in taken))


def _taken(repository: str, number: int, generation: int) -> Any:
    return and_(
        INBOX.c.repository == repository,
        INBOX.c.number == number,
        INBOX.c.generation <= generation,
        INBOX.c.status == "taken",
    )


def finish(
    database: Database,
    repository: str,
    number: int,
    generation: int,
    *,
    failure: str | None = None,
    retry_at: float | None = None,
    summary: dict[str, Any] | None = None,
) -> None:
    """A workflow ended.

    With `retry_at` its deliveries stay open for the next try. With a `failure` alone they are failed, and a redelivery
    runs them again. With neither they are done.
    """
    mine = and_(PULLS.c.repository == repository, PULLS.c.number == number)
    values: dict[str, Any] = {
        "finished": generation,
        "running": None,
        "reason": failure,
        "retry_at": retry_at,
        "attempts": 0 if retry_at is None else PULLS.c.attempts + 1,
    }
    if summary is not None:
        values["summary"] = summary
    with database.write("pulls.finish") as connection:
        connection.execute(update(PULLS).where(mine, PULLS.c.finished <= generation).values(values))
        if retry_at is not None:
            return
        connection.execute(
            update(INBOX)
            .where(_taken(repository, number, generation))
            .values(status="failed" if failure else "done", reason=failure)
        )


def stuck(database: Database, *, before: float) -> list[Due]:
    """Enqueued before that time and not begun: the workflow may never have reached the queue."""
    with database.read() as connection:
        rows = connection.execute(
            select(PULLS.c.repository, PULLS.c.number, PULLS.c.enqueued).where(
                PULLS.c.enqueued.is_not(None), PULLS.c.enqueued_at < before
            )
        ).all()
    return [Due(*row) for row in rows]


def unfinished(database: Database) -> list[Due]:
    """Begun and not finished, by anyone, with the generation that names the workflow."""
    with database.read() as connection:
        rows = connection.execute(
            select(PULLS.c.repository, PULLS.c.number, PULLS.c.running).where(PULLS.c.running.is_not(None))
        ).all()
    return [Due(*row) for row in rows]


def release(database: Database, item: Due) -> None:
    """Give up a workflow that ended without a trace: its generation is requested anew."""
    mine = and_(PULLS.c.repository == item.repository, PULLS.c.number == item.number)
    with database.write("inbox.release") as connection:
        raise_generation(connection, item.repository, item.number)
        connection.execute(
            update(PULLS).where(mine, PULLS.c.enqueued == item.generation).values(enqueued=None, enqueued_at=None)
        )
        connection.execute(
            update(PULLS).where(mine, PULLS.c.running == item.generation).values(finished=PULLS.c.begun, running=None)
        )


def overview(database: Database) -> list[dict[str, Any]]:
    """One row a pull request, those with work first: what waits, why, and the last summary."""
    with database.read() as connection:
        rows = connection.execute(select(PULLS).order_by(PULLS.c.repository, PULLS.c.number)).mappings().all()
    return sorted((dict(row) for row in rows), key=lambda row: row["requested"] <= row["finished"])


def repositories(database: Database) -> list[str]:
    """Every repository that ever had work."""
    with database.read() as connection:
        return [str(name) for name in connection.execute(select(PULLS.c.repository).distinct()).scalars()]
