"""Purpose: what an operator asks of the store: `sweepgate queue`, `audit` and `receive`, each one function.

Invariants: `queue` and `audit` only read; `receive` writes one inbox row, as the door does after the signature held.
Nothing is sent to GitHub. The tables are brought up to date first, as the service does at its start.
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.inbox.events import EVENTS, read_row
from app.settings import Settings
from app.store import inbox, pulls, records
from app.store.database import STORE_ERRORS, Database
from app.store.inbox import Delivery, InboxRow, InboxWriter

EXIT_FINE, EXIT_FINDING, EXIT_USAGE = 0, 1, 2
PLACES = ("requested", "enqueued", "running", "finished", "attempts", "retry_at", "reason")


class NoStore(Exception):  # noqa: N818
    """The database cannot be used; the message has the next step."""


@contextmanager
def store(settings: Settings, *, make: bool = False) -> Iterator[Database]:
    """The database of the settings, migrated. `make`: an SQLite file that is not there is made. Raises NoStore."""
    file = settings.database_url.removeprefix("sqlite:///")
    if not make and file != settings.database_url and not Path(file).is_file():
        raise NoStore(f"{file} is not there. Start the service, or check SWEEPGATE_DATABASE_URL.")
    try:
        database = Database(settings.database_url)
        try:
            database.migrate()
            yield database
        finally:
            database.close()
    except STORE_ERRORS as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise NoStore(f"The database does not answer ({reason}). Check SWEEPGATE_DATABASE_URL.") from error


def queue(settings: Settings, output: str, now: Callable[[], float] = time.time) -> int:
    """Print what waits. 1 where a pull request ended in an error that nothing will repeat."""
    with store(settings) as database:
        rows = pulls.overview(database)
        waiting = [_place(row) for row in rows if _is_open(row)]
        told: dict[str, Any] = {
            "inbox": inbox.counts(database),
            "oldest_open_seconds": _age(inbox.oldest_unfinished(database), now()),
            "workers": records.beats(database),
            "pull_requests": waiting,
        }
    if output == "json":
        print(json.dumps(told, ensure_ascii=False))
    else:
        _print_queue(told)
    failed = [row for row in waiting if row["reason"] and row["retry_at"] is None]
    return EXIT_FINDING if failed else EXIT_FINE


def _is_open(row: Mapping[str, Any]) -> bool:
    return row["requested"] > row["finished"] or row["retry_at"] is not None or bool(row["reason"])


def _place(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"pull_request": f"{row['repository']}#{row['number']}", **{name: row[name] for name in PLACES}}


def _age(at: float | None, now: float) -> float | None:
    return None if at is None else round(max(0.0, now - at), 1)


def _print_queue(told: Mapping[str, Any]) -> None:
    counts = ", ".join(f"{number} {status}" for status, number in sorted(told["inbox"].items())) or "empty"
    age = told["oldest_open_seconds"]
    print(f"inbox: {counts}" + (f"; the oldest open delivery is {age} s old" if age is not None else ""))
    if not told["pull_requests"]:
        print("Nothing waits.")
    for row in told["pull_requests"]:
        if row["running"] is not None:
            state = "runs"
        elif row["retry_at"] is not None:
            state = f"tried again at {_when(row['retry_at'])} (attempt {row['attempts']})"
        elif row["requested"] > row["finished"]:
            state = "waits"
        else:
            state = "failed; redeliver the event or use `sweepgate receive` when the cause is gone"
        print(f"{row['pull_request']}: {state}" + (f": {row['reason']}" if row["reason"] else ""))


def audit(settings: Settings, repository: str, number: int, output: str) -> int:
    """Print the trail of a pull request: who asked, what was decided, on what evidence. 1 where there is none."""
    with store(settings) as database:
        entries = records.audit(database, repository, number)
        verdicts = records.verdicts(database, repository, number)
    trail = [_entry(row["at"], row["actor"], row["what"], row["detail"]) for row in entries]
    trail += [_entry(row["published_at"], "sweepgate", "published", _evidence(row)) for row in verdicts]
    trail.sort(key=lambda entry: str(entry["at"]))
    if output == "json":
        print(json.dumps(trail, ensure_ascii=False))
    for entry in trail if output == "text" else ():
        print(f"{entry['at']}  {entry['actor']}  {entry['what']}  {_words(entry['detail'])}")
    if not trail:
        print(f"Nothing is known of {repository}#{number}. Check the name and SWEEPGATE_DATABASE_URL.", file=sys.stderr)
    return EXIT_FINE if trail else EXIT_FINDING


def _entry(at: float, actor: str, what: str, detail: Mapping[str, Any]) -> dict[str, Any]:
    return {"at": _when(at), "actor": actor, "what": what, "detail": dict(detail)}


def _evidence(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a verdict stands on: the commit, the sign-off, the bundle and each row's status."""
    payload: Mapping[str, Any] = row["payload"]
    kept = {name: payload[name] for name in ("bundle_digest", "statuses") if name in payload}
    return {
        "header": row["header"],
        "commit": row["head_sha"],
        "sign_off": row["sign_off"],
        "comment": row["comment_id"],
        **kept,
    }


def _words(detail: Mapping[str, Any]) -> str:
    shown = (
        json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value for value in detail.values()
    )
    return " ".join(f"{name}={value}" for name, value in zip(detail, shown, strict=True))


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def receive(settings: Settings, event: str, payload: bytes, guid: str = "") -> int:
    """Put one delivery into the inbox. The running service, or the next start, works on it."""
    if event not in EVENTS:
        return _refuse(f"--event {event}: not an event of ours. Use one of {', '.join(sorted(EVENTS))}.")
    if len(payload) > settings.max_body_bytes:
        return _refuse(
            f"--payload: {len(payload)} bytes, at most {settings.max_body_bytes}. Give the delivery's own body."
        )
    delivery = Delivery(guid or str(uuid.uuid4()), event, payload, time.time())
    reading = read_row(InboxRow(0, delivery.guid, event, payload, delivery.received_at))
    if reading.status == "failed":
        return _refuse(f"--payload: {reading.reason}")
    if reading.repository is None:
        print("The delivery touches no pull request; nothing is stored.")
        return EXIT_FINE
    with store(settings, make=True) as database:
        _accept(database, delivery)
    print(f"{delivery.guid}: {event} of {reading.repository}#{reading.number} is in the inbox.")
    return EXIT_FINE


def _accept(database: Database, delivery: Delivery) -> None:
    errors: list[Exception | None] = []
    writer = InboxWriter(database)
    writer.accept(delivery, errors.append)
    writer.stop()
    for error in errors:
        if error is not None:
            raise error


def _refuse(message: str) -> int:
    print(message, file=sys.stderr)
    return EXIT_USAGE


def read_payload(given: str) -> bytes:
    """Bytes of a file, or of stdin for "-". Raises OSError."""
    return sys.stdin.buffer.read() if given == "-" else Path(given).read_bytes()
