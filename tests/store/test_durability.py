"""Purpose: what is acknowledged is on disk, in order, once; and what a full disk does."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import select

from app.store import inbox, pulls, records
from app.store.database import COMMITS, Database, StoreFull
from app.store.inbox import Delivery, InboxRow, InboxWriter, Reading
from app.store.tables import INBOX


def delivery(guid: str, body: bytes = b"{}") -> Delivery:
    return Delivery(guid, "issue_comment", body, 1.0)


def accept(database: Database, *deliveries: Delivery) -> list[Exception | None]:
    """Write through the real writer and wait for every receipt."""
    writer = InboxWriter(database)
    answers: list[Exception | None] = []
    done = threading.Event()

    def receipt(error: Exception | None) -> None:
        answers.append(error)
        if len(answers) == len(deliveries):
            done.set()

    for one in deliveries:
        writer.accept(one, receipt)
    assert done.wait(20)
    writer.stop()
    return answers


def statuses(database: Database) -> dict[str, str]:
    with database.read() as connection:
        return {row.guid: row.status for row in connection.execute(select(INBOX.c.guid, INBOX.c.status))}


def to_seven(row: InboxRow) -> Reading:
    return Reading(row.id, "taken", None, "example/inference", 7)


def test_sqlite_runs_wal_and_full_on_the_live_connection(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/a.sqlite")
    with database.write("inbox.accept") as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
    assert database.pragmas() == {"journal_mode": "wal", "synchronous": "2", "busy_timeout": "30000"}


def test_every_receipt_follows_its_commit(database: Database) -> None:
    answers = accept(database, *(delivery(f"guid-{number}", b"x" * 1000) for number in range(300)))
    assert answers == [None] * 300
    assert len(statuses(database)) == 300


def test_a_body_comes_back_as_it_was(database: Database) -> None:
    body = bytes(range(256)) * 10
    accept(database, delivery("a", body))
    seen: list[bytes] = []

    def read(row: InboxRow) -> Reading:
        seen.append(row.body)
        return to_seven(row)

    inbox.take_new(database, read)
    assert seen == [body]


def test_the_same_delivery_twice_is_one_row_and_a_done_one_stays_done(database: Database) -> None:
    accept(database, delivery("a"), delivery("a"))
    inbox.take_new(database, to_seven)
    begun = pulls.begin(database, "example/inference", 7, 1)
    pulls.finish(database, "example/inference", 7, begun.generation)
    accept(database, delivery("a"))
    assert statuses(database) == {"a": "done"}
    assert inbox.take_new(database, to_seven) == []


def test_a_redelivery_of_a_failed_one_runs(database: Database) -> None:
    accept(database, delivery("a"))
    inbox.take_new(database, to_seven)
    begun = pulls.begin(database, "example/inference", 7, 1)
    pulls.finish(database, "example/inference", 7, begun.generation, failure="bug: KeyError")
    assert statuses(database) == {"a": "failed"}
    accept(database, delivery("a"))
    assert statuses(database) == {"a": "new"}


def test_rows_wait_while_a_retry_is_due(database: Database) -> None:
    accept(database, delivery("a"))
    inbox.take_new(database, to_seven)
    begun = pulls.begin(database, "example/inference", 7, 1)
    pulls.finish(database, "example/inference", 7, begun.generation, failure="502", retry_at=50.0)
    assert statuses(database) == {"a": "taken"}
    assert pulls.due(database, now=49.0, limit=10, per_repository=5) == []
    (item,) = pulls.due(database, now=50.0, limit=10, per_repository=5)
    assert item.generation == 2


def test_events_during_a_reconcile_cause_exactly_one_more(database: Database) -> None:
    accept(database, delivery("a"))
    inbox.take_new(database, to_seven)
    (first,) = pulls.due(database, now=0, limit=10, per_repository=5)
    assert pulls.mark_enqueued(database, first, now=0)
    accept(database, *(delivery(f"before-{number}") for number in range(5)))
    inbox.take_new(database, to_seven)
    assert pulls.due(database, now=0, limit=10, per_repository=5) == []
    begun = pulls.begin(database, "example/inference", 7, first.generation)
    assert len(begun.guids) == 6
    accept(database, *(delivery(f"during-{number}") for number in range(5)))
    inbox.take_new(database, to_seven)
    (second,) = pulls.due(database, now=0, limit=10, per_repository=5)
    assert pulls.mark_enqueued(database, second, now=0)
    assert not pulls.mark_enqueued(database, second, now=0)
    pulls.finish(database, "example/inference", 7, begun.generation)
    assert sorted(set(statuses(database).values())) == ["done", "taken"]


def test_repositories_take_turns_and_one_cannot_take_all_places(database: Database) -> None:
    pulls.request(database, [("big/one", number) for number in range(50)] + [("small/one", 1), ("small/two", 1)])
    found = pulls.due(database, now=0, limit=10, per_repository=4)
    assert [item.repository for item in found[:3]] == ["big/one", "small/one", "small/two"]
    assert sum(item.repository == "big/one" for item in found) == 4


def test_an_unreadable_row_is_failed_with_its_reason_and_the_others_go_on(database: Database) -> None:
    accept(database, delivery("a"), delivery("b"))
    inbox.take_new(database, lambda row: Reading(row.id, "failed", "no JSON") if row.guid == "a" else to_seven(row))
    assert statuses(database) == {"a": "failed", "b": "taken"}


def test_a_full_disk_is_told_to_every_caller_and_nothing_is_half_written(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/a.sqlite")
    database.migrate()

    def limit(raw: sqlite3.Connection) -> None:
        raw.execute("PRAGMA max_page_count=80")

    with database.engine.connect() as connection:
        limit(connection.connection.driver_connection)  # type: ignore[arg-type]
    database.engine.dispose()
    from sqlalchemy import event

    event.listen(database.engine, "connect", lambda raw, _: limit(raw))
    import os

    big = [delivery(f"guid-{number}", os.urandom(60_000)) for number in range(8)]
    answers = accept(database, *big)
    stored = len(statuses(database))
    assert any(isinstance(answer, StoreFull) for answer in answers)
    assert stored == sum(answer is None for answer in answers)


def test_unknown_commit_names_are_refused(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/a.sqlite")
    with pytest.raises(ValueError, match="COMMITS"), database.write("somewhere"):
        pass


def test_every_commit_calls_its_two_fault_points(tmp_path: Path) -> None:
    seen: list[str] = []
    database = Database(f"sqlite:///{tmp_path}/a.sqlite", hook=seen.append)
    database.migrate()
    for name in COMMITS:
        with database.write(name):
            pass
    assert seen == [f"store.{name}.{side}" for name in COMMITS for side in ("before", "after")]


def test_a_lock_keeps_two_threads_apart(database: Database) -> None:
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(5):
            with database.lock("pull:example/inference#7"):
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_the_audit_trail_and_the_verdict_index_come_back(database: Database) -> None:
    place = {"repository": "example/inference", "number": 7}
    records.record_audit(database, at=1.0, **place, entries=[("reviewer", "verdict", {"header": "PASS"})])  # type: ignore[arg-type]
    row = {
        **place,
        "sign_off": "issue_comment-1",
        "head_sha": "a",
        "verify_key": "k",
        "header": "PASS",
        "payload": {"recheck_on": None},
        "text": "text",
        "comment_id": 5,
        "published_at": 2.0,
    }
    records.record_verdict(database, row)
    records.record_verdict(database, {**row, "header": "REJECTED", "published_at": 3.0})
    assert [entry["what"] for entry in records.audit(database, "example/inference", 7)] == ["verdict"]
    assert [verdict["header"] for verdict in records.verdicts(database, "example/inference", 7)] == ["REJECTED"]
    assert records.newest_verdicts(database, "example/inference")[0][0] == 7
