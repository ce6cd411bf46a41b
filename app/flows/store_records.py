"""Purpose: the store as a reconcile sees it: ledger, memos, journal, lock, and what deliveries told beside GitHub."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from app.decide.state import Callback, LabelApproval, Person, PullRef
from app.flows.gather import Extras
from app.flows.ports import Clock, Meters
from app.store import inbox, records
from app.store.database import Database
from app.store.records import Ledger, Memos

# Seconds for which GitHub may not show a comment that a delivery told of; after that it is taken to be gone.
TOLD_SECONDS = 15.0


class StoreRecords:
    """The store as a reconcile sees it (app.flows.reconcile.Records)."""

    def __init__(self, database: Database, *, clock: Clock, meters: Meters, visible: float) -> None:
        self._visible = visible
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
            self._refresh(ref),
            self._recent(ref),
            frozenset(_retry(key)[0] for key, _ in self._done(f"{ref}:retry:")),
            dict(_retry(key) for key in self.ledger.opened(f"{ref}:retry:")),
            self._told(ref),
        )

    def _told(self, ref: PullRef) -> frozenset[int]:
        """Comments that deliveries of the last seconds told of and none of them told as deleted."""
        bodies = inbox.recent(
            self._database, ref.repository, ref.number, event="issue_comment", since=self._clock() - TOLD_SECONDS
        )
        payloads = [json.loads(body) for body in bodies]
        ids: dict[str, set[int]] = {"created": set(), "deleted": set()}
        for payload in payloads:
            action, comment = str(payload.get("action")), payload.get("comment")
            if action in ids and isinstance(comment, dict) and isinstance(comment.get("id"), int):
                ids[action].add(comment["id"])
        return frozenset(ids["created"] - ids["deleted"])

    def _done(self, prefix: str) -> list[tuple[str, str]]:
        return self.ledger.recent(prefix, since=self._clock() - self._visible)

    def _recent(self, ref: PullRef) -> tuple[tuple[int, str], ...]:
        """Comments that we made within the time that GitHub may take to show them."""
        made = [result.partition("\n") for _, result in self._done(f"{ref}:comment:")]
        return tuple((int(number), body) for number, _, body in made if body)

    def _refresh(self, ref: PullRef) -> bool:
        """A round asked for fresh verdicts after the newest one was published."""
        asked = self.memos.get(f"refresh:{ref}")
        if asked is None:
            return False
        published = [float(row["published_at"]) for row in records.verdicts(self._database, ref.repository, ref.number)]
        return bool(published) and float(asked) > max(published)

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
    meters: Meters

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


def _retry(key: str) -> tuple[str, int]:
    """Command and attempt of a retry's key in the ledger (app.effects.sweeps)."""
    command, _, attempt = key.rpartition(":")[2].partition("@")
    return command, int(attempt or 0)
