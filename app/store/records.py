"""Purpose: the ledger of effects, the verdict index, the audit trail, heartbeats, memos and the round's memory.

The ledger is what makes a create happen once although GitHub shows new objects late: a key is `open` from before the
request until its answer is on disk. Losing the ledger is safe after a minute: markers on GitHub say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Insert, Table, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from app.store.database import Database
from app.store.tables import AUDIT, CALLBACKS, EFFECTS, LABEL_PAYLOADS, MEMOS, ROUNDS, VERDICTS, WORKERS


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """`state` is open (answer unknown) or done; `result` is the id that GitHub gave."""

    state: str
    result: str | None
    changed_at: float


class Ledger:
    """Creates by key. See app.effects.once for the protocol that uses it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, key: str) -> LedgerEntry | None:
        with self._database.read() as connection:
            row = connection.execute(
                select(EFFECTS.c.state, EFFECTS.c.result, EFFECTS.c.changed_at).where(EFFECTS.c.key == key)
            ).first()
        return LedgerEntry(row.state, row.result, float(row.changed_at)) if row else None

    def open(self, key: str, *, now: float) -> None:
        self._put("effects.open", {"key": key, "state": "open", "result": None, "changed_at": now})

    def done(self, key: str, result: str, *, now: float) -> None:
        self._put("effects.done", {"key": key, "state": "done", "result": result, "changed_at": now})

    def forget(self, key: str) -> None:
        with self._database.write("effects.forget") as connection:
            connection.execute(delete(EFFECTS).where(EFFECTS.c.key == key))

    def recent(self, prefix: str, *, since: float) -> list[tuple[str, str]]:
        """Key and result of everything that was done under a prefix since then, oldest first."""
        with self._database.read() as connection:
            rows = connection.execute(
                select(EFFECTS.c.key, EFFECTS.c.result)
                .where(EFFECTS.c.key >= prefix, EFFECTS.c.key < prefix + "\U0010ffff")
                .where(EFFECTS.c.state == "done", EFFECTS.c.changed_at > since)
                .order_by(EFFECTS.c.changed_at)
            )
            return [(str(row.key), str(row.result)) for row in rows]

    def opened(self, prefix: str) -> list[str]:
        """Keys under a prefix whose answer is not known."""
        with self._database.read() as connection:
            found = select(EFFECTS.c.key).where(EFFECTS.c.key >= prefix, EFFECTS.c.key < prefix + "\U0010ffff")
            return [str(key) for key in connection.execute(found.where(EFFECTS.c.state == "open")).scalars()]

    def prune(self, *, before: float) -> int:
        """Forget what is old: the ledger matters only while GitHub may not show something yet."""
        with self._database.write("effects.forget") as connection:
            return connection.execute(delete(EFFECTS).where(EFFECTS.c.changed_at < before)).rowcount

    def _put(self, commit: str, row: dict[str, Any]) -> None:
        with self._database.write(commit) as connection:
            connection.execute(upsert(self._database, EFFECTS, row, ["key"]))


def upsert(database: Database, table: Table, row: Mapping[str, Any], keys: Sequence[str]) -> Insert:
    """Insert a row or overwrite its other columns where the keys are already there."""
    insert = sqlite.insert(table) if database.is_sqlite else postgresql.insert(table)
    statement = insert.values(dict(row))
    others = {name: statement.excluded[name] for name in row if name not in keys}
    return statement.on_conflict_do_update(index_elements=list(keys), set_=others)


def record_verdict(database: Database, row: Mapping[str, Any]) -> None:
    """Index a published verdict; the same sign-off under the same key is overwritten."""
    with database.write("verdicts.record") as connection:
        connection.execute(upsert(database, VERDICTS, row, ["repository", "number", "sign_off", "verify_key"]))


def verdicts(database: Database, repository: str, number: int) -> list[dict[str, Any]]:
    """Published verdicts of a pull request, oldest first."""
    with database.read() as connection:
        rows = connection.execute(
            select(VERDICTS)
            .where(VERDICTS.c.repository == repository, VERDICTS.c.number == number)
            .order_by(VERDICTS.c.published_at)
        )
        return [dict(row) for row in rows.mappings()]


def newest_verdicts(database: Database, repository: str) -> list[tuple[int, dict[str, Any]]]:
    """The newest verdict's marker payload of each pull request with one, oldest first; `header` and `at` included."""
    with database.read() as connection:
        rows = connection.execute(
            select(VERDICTS.c.number, VERDICTS.c.header, VERDICTS.c.payload, VERDICTS.c.published_at)
            .where(VERDICTS.c.repository == repository)
            .order_by(VERDICTS.c.published_at)
        ).all()
    newest = {int(row.number): {**row.payload, "header": row.header, "at": float(row.published_at)} for row in rows}
    return sorted(newest.items(), key=lambda item: float(item[1]["at"]))


def record_audit(
    database: Database,
    *,
    at: float,
    repository: str,
    number: int,
    entries: Sequence[tuple[str, str, Mapping[str, Any]]],
) -> None:
    """Append (actor, what, detail) entries; append-only."""
    if not entries:
        return
    rows = [
        {"at": at, "repository": repository, "number": number, "actor": actor, "what": what, "detail": dict(detail)}
        for actor, what, detail in entries
    ]
    with database.write("audit.record") as connection:
        connection.execute(AUDIT.insert(), rows)


def audit(database: Database, repository: str, number: int, *, limit: int = 1000) -> list[dict[str, Any]]:
    """The trail of a pull request, oldest first."""
    with database.read() as connection:
        rows = connection.execute(
            select(AUDIT.c.at, AUDIT.c.actor, AUDIT.c.what, AUDIT.c.detail)
            .where(AUDIT.c.repository == repository, AUDIT.c.number == number)
            .order_by(AUDIT.c.id)
            .limit(limit)
        )
        return [dict(row) for row in rows.mappings()]


def beat(database: Database, executor: str, number: int, *, started_at: float) -> None:
    row = {"executor": executor, "beat": number, "started_at": started_at}
    with database.write("workers.beat") as connection:
        connection.execute(upsert(database, WORKERS, row, ["executor"]))


def beats(database: Database) -> dict[str, int]:
    """The beat counter of every worker that was not dropped."""
    with database.read() as connection:
        rows = connection.execute(select(WORKERS.c.executor, WORKERS.c.beat)).all()
    return {str(executor): int(number) for executor, number in rows}


def drop_worker(database: Database, executor: str) -> None:
    with database.write("workers.drop") as connection:
        connection.execute(delete(WORKERS).where(WORKERS.c.executor == executor))


class Memos:
    """Look-ups that can never change, kept over restarts."""

    def __init__(self, database: Database, *, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def get(self, key: str) -> Any:
        """The remembered value, or None."""
        with self._database.read() as connection:
            row = connection.execute(select(MEMOS.c.value).where(MEMOS.c.key == key)).first()
        return row.value if row else None

    def put(self, key: str, value: Any) -> None:
        put_memo(self._database, key, value, now=self._clock())


def put_memo(database: Database, key: str, value: Any, *, now: float) -> None:
    with database.write("memos.put") as connection:
        connection.execute(upsert(database, MEMOS, {"key": key, "value": value, "changed_at": now}, ["key"]))


def round_state(database: Database, repository: str) -> dict[str, Any]:
    with database.read() as connection:
        row = connection.execute(select(ROUNDS.c.state).where(ROUNDS.c.repository == repository)).first()
    return dict(row.state) if row else {}


def put_round_state(database: Database, repository: str, state: Mapping[str, Any]) -> None:
    with database.write("rounds.put") as connection:
        connection.execute(upsert(database, ROUNDS, {"repository": repository, "state": dict(state)}, ["repository"]))


def label_payloads(database: Database, repository: str, number: int) -> list[dict[str, Any]]:
    """Signed `labeled` deliveries of a pull request, oldest first."""
    with database.read() as connection:
        rows = connection.execute(
            select(LABEL_PAYLOADS)
            .where(LABEL_PAYLOADS.c.repository == repository, LABEL_PAYLOADS.c.number == number)
            .order_by(LABEL_PAYLOADS.c.at)
        )
        return [dict(row) for row in rows.mappings()]


def callbacks(database: Database, repository: str, number: int) -> list[dict[str, Any]]:
    """Messages of the staging target about a pull request, oldest first."""
    with database.read() as connection:
        rows = connection.execute(
            select(CALLBACKS)
            .where(CALLBACKS.c.repository == repository, CALLBACKS.c.number == number)
            .order_by(CALLBACKS.c.at)
        )
        return [dict(row) for row in rows.mappings()]
