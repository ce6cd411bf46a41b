"""Purpose: everything that can go wrong with a host, and the one table from an error to what is done about it.

    error              meaning                                                  treatment
    NotThere           404 or 410: gone, or not to be seen with this token      ignore
    Refused            403, 405, 409, 422: GitHub says no and why               tell the user
    HostRefused        an address that is not on the list                       tell the user
    TooLarge           more bytes, members or time than allowed                 tell the user
    Unreadable         the answer has not the promised form                     tell the user
    Unavailable        a read without an answer, or 5xx                         retry this pull request
    Unanswered         a write without an answer: it may have happened          retry this pull request (look first)
    Limited            primary or secondary rate limit, until a time            retry the installation then
    BadCredentials     401: the token or the App's key is wrong                 retry the installation in 10 minutes
    anything else      a fault of ours                                          bug

A failed look-up is never an answer: nothing here may be read as "no permission" or "no such file" but NotThere.
Messages name what was asked in words and never hold a token: they are made of paths and GitHub's own sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

CREDENTIALS_AGAIN = 600.0


class HostError(Exception):
    """Base. `str()` is one short line that may be shown to a person."""


class NotThere(HostError):  # noqa: N818
    """404 or 410."""


class Refused(HostError):  # noqa: N818
    """GitHub will not. `status` is 403, 405, 409 or 422, `message` is GitHub's own sentence."""

    def __init__(self, what: str, status: int, message: str) -> None:
        super().__init__(f"{what}: GitHub refused ({status}): {message}")
        self.status, self.message = status, message


class HostRefused(HostError):  # noqa: N818
    """The address is not on the list of hosts that may be read."""


class TooLarge(HostError):  # noqa: N818
    """More bytes, members or redirects than allowed."""


class Unreadable(HostError):  # noqa: N818
    """The answer has not the form that was promised."""


class Unavailable(HostError):  # noqa: N818
    """A read failed: no answer in time, a broken connection, or 5xx."""


class Unanswered(HostError):  # noqa: N818
    """A write was sent and nobody knows whether it happened."""


class BadCredentials(HostError):  # noqa: N818
    """401."""


class Limited(HostError):  # noqa: N818
    """A rate limit. `until` is in seconds since 1970; `secondary` tells the limits of speed from the hourly one."""

    def __init__(self, what: str, until: float, secondary: bool) -> None:
        kind = "secondary" if secondary else "hourly"
        super().__init__(f"{what}: GitHub's {kind} rate limit is reached")
        self.until, self.secondary = until, secondary


class Treatment(Enum):
    IGNORE = "ignore"
    TELL_USER = "tell the user"
    RETRY_PULL = "retry this pull request"
    RETRY_INSTALLATION = "retry the installation"
    BUG = "bug"


@dataclass(frozen=True)
class Treated:
    """What to do. `at` is set for RETRY_INSTALLATION, in seconds since 1970."""

    how: Treatment
    at: float | None = None


TABLE: tuple[tuple[type[HostError], Treatment], ...] = (
    (NotThere, Treatment.IGNORE),
    (Refused, Treatment.TELL_USER),
    (HostRefused, Treatment.TELL_USER),
    (TooLarge, Treatment.TELL_USER),
    (Unreadable, Treatment.TELL_USER),
    (Unavailable, Treatment.RETRY_PULL),
    (Unanswered, Treatment.RETRY_PULL),
    (Limited, Treatment.RETRY_INSTALLATION),
    (BadCredentials, Treatment.RETRY_INSTALLATION),
)


def treat(error: BaseException, now: float) -> Treated:
    """What to do about an error; `now` is in seconds since 1970."""
    if isinstance(error, Limited):
        return Treated(Treatment.RETRY_INSTALLATION, error.until)
    for kind, how in TABLE:
        if isinstance(error, kind):
            return Treated(how, now + CREDENTIALS_AGAIN if how is Treatment.RETRY_INSTALLATION else None)
    return Treated(Treatment.BUG)


def reason(error: BaseException) -> str:
    """An error in one line of at most 300 characters for a person; a fault of ours names its kind only."""
    if isinstance(error, HostError):
        return " ".join(str(error).split())[:300]
    return f"internal error ({type(error).__name__})"
