"""Purpose: the one table from an error to what follows: ignore, retry this pull request, retry at T, or a bug.

NotThere        ignore: the pull request or its repository is gone
Limited         retry when the limit ends (all of the installation sees the same limit)
NotYetVisible   retry soon, as often as it takes
Unanswered      retry soon: the result is looked for first
Unavailable     retry with back-off, 5 s doubling up to 10 minutes
StoreFull       retry in a minute
Refused         no retry: GitHub said no, and says why; the next event or round tries again
anything else   a bug: no retry, the deliveries are failed, the trace is logged
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from app.effects.ports import Limited, NotThere, NotYetVisible, Refused, Unanswered, Unavailable
from app.store.database import StoreFull

MAX_ATTEMPTS = 12

Kind = Literal["ignore", "retry", "retry-at", "refused", "bug"]


@dataclass(frozen=True, slots=True)
class Failure:
    """`retry_at` is in seconds since 1970, or None for no retry."""

    kind: Kind
    reason: str
    retry_at: float | None


def classify(error: BaseException, *, now: float, attempts: int) -> Failure:
    """What follows from an error of a reconcile that already failed `attempts` times in a row."""
    reason = f"{type(error).__name__}: {error}"
    if isinstance(error, NotThere):
        return Failure("ignore", reason, None)
    if isinstance(error, Limited):
        return Failure("retry-at", reason, max(now + 1, error.until))
    if isinstance(error, NotYetVisible):
        return Failure("retry", reason, now + error.after)
    if isinstance(error, StoreFull):
        return Failure("retry", reason, now + 60)
    if isinstance(error, Unanswered | Unavailable):
        return Failure("retry", reason, _back_off(error, now, attempts))
    if isinstance(error, Refused):
        return Failure("refused", reason, None)
    return Failure("bug", reason, None)


def _back_off(error: Unanswered | Unavailable, now: float, attempts: int) -> float | None:
    if attempts >= MAX_ATTEMPTS:
        return None
    first = 2.0 if isinstance(error, Unanswered) else 5.0
    return float(now + min(600.0, first * 2**attempts))
