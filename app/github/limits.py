"""Purpose: keeps one installation within GitHub's limits, and its repositories fair to each other.

    request -> a slot (round robin over the repositories that wait) -> not blocked? -> write: alone, a second apart

GitHub's own rules: an hourly budget (headers tell what is left), a secondary limit on speed (403 or 429 with one of
several texts, often without any header), writes one after the other and at least a second apart.

Invariants: a wait longer than `longest_wait` is not waited for but told (`Limited`), so that no worker sleeps for an
hour. Time comes from `Time`, so tests do not sleep. When less than a tenth of the hour's budget is left, a repository
that has used more than its equal share is told to come back after the reset, and the others go on.
Accepted race: requests already under way when a limit is met are not called back.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from app.github.errors import Limited

SECONDARY_TEXTS = ("secondary rate limit", "abuse detection", "temporarily blocked from content creation")
SECONDARY_ENDINGS = ("please retry your request again later.", "please wait a few minutes before you try again.")
SECONDARY_WAIT = 60.0
LONGEST_SECONDARY = 900.0
SCARCE = 0.1


@dataclass(frozen=True)
class Time:
    """The clock (seconds since 1970) and the way to wait."""

    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


def is_secondary(status: int, message: str) -> bool:
    """Whether an answer is the limit on speed, by any of its texts."""
    told = message.lower().strip()
    return status in (403, 429) and (any(text in told for text in SECONDARY_TEXTS) or told.endswith(SECONDARY_ENDINGS))


class Limiter:
    """Shared by all clients of one installation or token."""

    def __init__(
        self, at: Time | None = None, longest_wait: float = 30.0, slots: int = 16, write_gap: float = 1.0
    ) -> None:
        self.time = at or Time()
        self.longest_wait = longest_wait
        self.remaining: int | None = None
        self.limit: int | None = None
        self.requests = 0
        self.resets_at = 0.0
        self._slots = slots
        self._write_gap = write_gap
        self._blocked_until = 0.0
        self._secondary = False
        self._secondary_in_a_row = 0
        self._state = threading.Condition()
        self._writing = threading.Lock()
        self._last_write = float("-inf")
        self._waiting: OrderedDict[str, int] = OrderedDict()
        self._used: Counter[str] = Counter()

    @contextmanager
    def turn(self, repository: str = "", write: bool = False) -> Iterator[None]:
        """Hold while one request is made. Raises Limited where the wait would be too long."""
        self._take_slot(repository)
        try:
            self._wait_until_allowed(repository)
            with self._state:
                self.requests += 1
            if not write:
                yield
                return
            with self._writing:
                gap = self._last_write + self._write_gap - self.time.now()
                if gap > 0:
                    self.time.sleep(gap)
                try:
                    yield
                finally:
                    self._last_write = self.time.now()
        finally:
            with self._state:
                self._slots += 1
                self._state.notify_all()

    def note(self, status: int, headers: Mapping[str, str], message: str = "") -> Limited | None:
        """Learn from an answer's headers (lower-case names). The limit that it told of, if it did."""
        with self._state:
            self._note_budget(headers)
            limited = self._limit_of(status, headers, message)
            if limited is None:
                if status < 400:
                    self._secondary_in_a_row = 0
                return None
            self._blocked_until = max(self._blocked_until, limited.until)
            self._secondary = limited.secondary
            return limited

    def _note_budget(self, headers: Mapping[str, str]) -> None:
        told = headers.get("x-ratelimit-remaining", "")
        if not told.isdigit() or headers.get("x-ratelimit-resource", "core") != "core":
            return
        self.remaining = int(told)
        limit, resets = headers.get("x-ratelimit-limit", ""), headers.get("x-ratelimit-reset", "")
        self.limit = int(limit) if limit.isdigit() else None
        resets_at = float(resets) if resets.isdigit() else 0.0
        if resets_at > self.resets_at:
            self.resets_at = resets_at
            self._used.clear()

    def _limit_of(self, status: int, headers: Mapping[str, str], message: str) -> Limited | None:
        if status not in (403, 429):
            return None
        now, after = self.time.now(), headers.get("retry-after", "")
        if headers.get("x-ratelimit-remaining") == "0":
            resets = headers.get("x-ratelimit-reset", "")
            until = float(resets) + 1 if resets.isdigit() else now + SECONDARY_WAIT
            return Limited("the request", until, secondary=False)
        if not is_secondary(status, message) and status != 429 and not after:
            return None
        wait = float(after) if after.isdigit() else 0.0
        if not after:
            wait = min(SECONDARY_WAIT * 2**self._secondary_in_a_row, LONGEST_SECONDARY)
        self._secondary_in_a_row += 1
        return Limited("the request", now + wait, secondary=True)

    def _take_slot(self, repository: str) -> None:
        """Wait for a free slot; repositories that wait are served in turn, however many requests each has."""
        with self._state:
            self._waiting[repository] = self._waiting.get(repository, 0) + 1
            self._state.wait_for(lambda: self._slots > 0 and next(iter(self._waiting)) == repository)
            self._slots -= 1
            left = self._waiting.pop(repository) - 1
            if left:
                self._waiting[repository] = left
            self._state.notify_all()

    def _wait_until_allowed(self, repository: str) -> None:
        with self._state:
            until, secondary = self._blocked_until, self._secondary
            share_spent = self._share_is_spent(repository)
            if share_spent:
                until, secondary = max(until, self.resets_at + 1), False
            self._used[repository] += 1
        wait = until - self.time.now()
        if wait <= 0:
            return
        if wait > self.longest_wait:
            raise Limited(f"requests for {repository or 'GitHub'}", until, secondary)
        self.time.sleep(wait)

    def _share_is_spent(self, repository: str) -> bool:
        if self.remaining is None or self.limit is None or self.remaining >= self.limit * SCARCE:
            return False
        others = len(self._used.keys() - {repository})
        return others > 0 and self._used[repository] > self._used.total() / (others + 1)
