"""Purpose: what goes wrong on demand: errors before or after acting, limits, silence, latency, late lists.

Invariants: faults are matched in the order in which they were added; one with `times` is used up after that many
requests. Nothing here sleeps: latency and silence are carried out by the server.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

SECONDARY = (
    "You have exceeded a secondary rate limit and have been temporarily blocked from content creation. "
    "Please retry your request again later."
)
SECONDARY_NEWER = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."


@dataclass
class Fault:
    """One thing that goes wrong. `path` is a regular expression over the path; `after` acts first and then answers
    wrongly; `silent` never answers; `drop` closes the connection; `times=0` is for good."""

    path: str = ""
    method: str = ""
    status: int = 500
    message: str = "Server Error"
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 1
    after: bool = False
    silent: bool = False
    drop: bool = False
    skip: int = 0
    used: int = 0

    def matches(self, method: str, path: str) -> bool:
        return (not self.method or self.method == method) and re.search(self.path, path) is not None

    def body(self) -> dict[str, Any]:
        return {"message": self.message, "documentation_url": "https://docs.github.com/rest"}


class Faults:
    """The faults that are planted, and the makers of the usual ones."""

    def __init__(self) -> None:
        self.planted: list[Fault] = []

    def add(self, fault: Fault) -> Fault:
        self.planted.append(fault)
        return fault

    def clear(self) -> None:
        self.planted.clear()

    def error(self, path: str = "", method: str = "", status: int = 502, times: int = 1, after: bool = False) -> Fault:
        """A server error; `after=True`: GitHub acted, the answer got lost."""
        return self.add(Fault(path, method, status, times=times, after=after))

    def secondary(self, path: str = "", method: str = "", times: int = 1, newer: bool = False) -> Fault:
        """403 for the secondary limit, in either of its two texts, without a Retry-After header."""
        return self.add(Fault(path, method, 403, SECONDARY_NEWER if newer else SECONDARY, times=times))

    def too_many(self, path: str = "", method: str = "", times: int = 1, retry_after: int | None = None) -> Fault:
        """429, with Retry-After where given."""
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        return self.add(Fault(path, method, 429, "Too many requests", headers, times))

    def silence(self, path: str = "", method: str = "", times: int = 1, after: bool = False) -> Fault:
        """No answer until the client gives up."""
        return self.add(Fault(path, method, 504, times=times, silent=True, after=after))

    def dropped(self, path: str = "", method: str = "", times: int = 1, after: bool = False) -> Fault:
        """The connection ends without an answer."""
        return self.add(Fault(path, method, 502, times=times, drop=True, after=after))

    def take(self, method: str, path: str) -> Fault | None:
        """The fault of this request, used up by one."""
        for fault in self.planted:
            if not fault.matches(method, path) or (fault.times and fault.used >= fault.times):
                continue
            if fault.skip > 0:
                fault.skip -= 1
                continue
            fault.used += 1
            return fault
        return None


@dataclass
class Lag:
    """How many seconds (of the world's clock) lists show new things late."""

    runs: float = 0.0
    comments: float = 0.0
