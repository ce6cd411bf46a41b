"""Purpose: the periodic round: what changed on GitHub that no webhook told, as requests to reconcile.

    pull requests by their last change, until a known one -> those that changed
    the newest runs of the sweep workflow                  -> the pull requests of those that changed
    the trusted files at the tip                           -> every pull request with a verdict, if they changed
    review dates that have come                            -> the verdicts that named them
    every half hour                                        -> open verdicts that are not PASS, because their outside
                                                              sources may have changed

Invariants: the memory of a round is written after its requests are, so a crash repeats a round and never skips one.
An unchanged repository costs three requests, whatever the number of its pull requests.
GitHub's times are whole seconds and its lists lag: what changed just before a round is looked at once more by the next
one, so that a second change in the same second, or one that was not shown yet, is not missed.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

import structlog

from app.effects.context import utc_date
from app.effects.ports import EffectError, Limited
from app.effects.rounds import ListedPull, ListedRun, RoundReader
from app.flows.ports import Clock, Meters
from app.store import pulls, records
from app.store.database import Database

LOG = structlog.get_logger("sweepgate.round")

MAX_OUTSIDE = 20
# Seconds by which a list may lag behind, by GitHub's own times.
LAG = 5.0
_NUMBER = re.compile(r"#([1-9][0-9]{0,9})\b")


class Rounds:
    """One thread a process. On several workers each makes its own rounds: asking twice changes nothing."""

    def __init__(
        self,
        database: Database,
        reader_of: Callable[[str], RoundReader],
        repositories: Callable[[], Iterable[str]],
        *,
        clock: Clock,
        meters: Meters,
        seconds: float,
        outside_seconds: float,
        wake: Callable[[], None],
        prune: Callable[[], None],
    ) -> None:
        self._database = database
        self._reader_of = reader_of
        self._repositories = repositories
        self._clock = clock
        self._meters = meters
        self._seconds = seconds
        self._outside_seconds = outside_seconds
        self._wake = wake
        self._prune = prune
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rounds", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    def _run(self) -> None:
        # The first round at once: it finds what happened while the service was down.
        while not self._stopped.is_set():
            started = time.monotonic()
            for repository in sorted(set(self._repositories())):
                if self._stopped.is_set():
                    return
                self._one(repository)
            self._meters.observe("round", time.monotonic() - started)
            self._tidy()
            self._stopped.wait(self._seconds)

    def _tidy(self) -> None:
        try:
            self._prune()
        except Exception:
            LOG.exception("pruning failed")

    def _one(self, repository: str) -> None:
        try:
            found = self.round(repository)
        except Limited as error:
            LOG.warning("round waits for the rate limit", repository=repository, until=error.until)
        except EffectError as error:
            LOG.warning("round failed", repository=repository, reason=str(error))
        except Exception:
            LOG.exception("round failed", repository=repository)
        else:
            if found:
                LOG.info("round", repository=repository, changed=sorted(found))
                self._wake()

    def round(self, repository: str) -> set[int]:
        """One round over a repository. Returns the numbers of the pull requests to reconcile."""
        reader = self._reader_of(repository)
        before = records.round_state(self._database, repository)
        after: dict[str, Any] = dict(before)
        listed = _changed_pulls(reader.pulls(repository), before, after)
        found = {pull.number for pull in listed if pull.is_open or before} | set(before.get("again", ()))
        found |= _changed_runs(reader.runs(repository), before, after, listed)
        trusted = reader.trusted(repository)
        if before.get("trusted", trusted) != trusted:
            found |= {number for number, _ in records.newest_verdicts(self._database, repository)}
        after["trusted"] = trusted
        found |= self._due(repository, after)
        if found:
            pulls.request(self._database, [(repository, number) for number in sorted(found)])
        if after != before:
            records.put_round_state(self._database, repository, after)
        return found

    def _due(self, repository: str, after: dict[str, Any]) -> set[int]:
        """Review dates that have come, and every half hour the verdicts that are not PASS."""
        today, found = utc_date(self._clock()), set()
        newest = records.newest_verdicts(self._database, repository)
        for number, verdict in newest:
            recheck, reviewed = str(verdict.get("recheck_on") or ""), str(verdict.get("reviewed_on") or "")
            if recheck and today >= recheck > reviewed:
                found.add(number)
        now = self._clock()
        if abs(now - float(after.get("outside_at", 0))) >= self._outside_seconds:
            behind = [number for number, verdict in newest if verdict.get("header") != "PASS"][-MAX_OUTSIDE:]
            for number in behind:
                records.put_memo(self._database, f"refresh:{repository}#{number}", now, now=now)
            found |= set(behind)
            after["outside_at"] = now
        return found


def _changed_pulls(
    pages: Iterable[Sequence[ListedPull]], before: dict[str, Any], after: dict[str, Any]
) -> list[ListedPull]:
    """Pull requests that changed since the last round. Reads pages only until a known one."""
    seen, at_seen = str(before.get("seen", "")), set(before.get("at_seen", ()))
    changed: list[ListedPull] = []
    after["again"] = []
    for page in pages:
        fresh = [
            pull for pull in page if pull.updated_at > seen or (pull.updated_at == seen and pull.number not in at_seen)
        ]
        changed += fresh
        if len(fresh) < len(page):
            break
    if changed:
        newest = max(pull.updated_at for pull in changed)
        after["again"] = sorted(pull.number for pull in changed if _seconds(newest) - _seconds(pull.updated_at) <= LAG)
        kept = at_seen if newest == seen else set()
        after["seen"] = newest
        after["at_seen"] = sorted(kept | {pull.number for pull in changed if pull.updated_at == newest})
        heads = dict(before.get("heads", {}))
        for pull in changed:
            heads.pop(str(pull.number), None)
            if pull.is_open:
                heads[str(pull.number)] = [pull.head_sha, pull.head_ref]
        after["heads"] = heads
    return changed


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def _changed_runs(
    runs: Sequence[ListedRun], before: dict[str, Any], after: dict[str, Any], listed: Sequence[ListedPull]
) -> set[int]:
    """Pull requests of the runs that changed: by GitHub's association, our title, or the branch's head."""
    known = before.get("runs", {})
    after["runs"] = {str(run.id): run.state for run in runs}
    by_head = {tuple(head): int(number) for number, head in after.get("heads", {}).items()}
    found: set[int] = set()
    for run in runs:
        if known.get(str(run.id)) == run.state:
            continue
        title = _NUMBER.search(run.title)
        number = by_head.get((run.head_sha, run.head_branch))
        found |= set(run.pull_requests)
        found |= {int(title.group(1))} if title else set()
        found |= {number} if number is not None else set()
    # The first round knows no runs: every open pull request is looked at anyway.
    return found if known or not listed else set()
