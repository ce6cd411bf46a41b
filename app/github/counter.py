"""Purpose: how many requests one piece of work (a verification, a round) made of GitHub.

Invariants: a request counts once however it ends; repetitions count; redirect hops, other hosts and token exchanges
do not. Thread-safe.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass
class CallCounter:
    """`asked` lists "METHOD path" of each request (the newest 500); `not_modified` of them cost no budget."""

    requests: int = 0
    not_modified: int = 0
    asked: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def count(self, method: str, path: str, status: int) -> None:
        with self._lock:
            self.requests += 1
            self.not_modified += status == 304
            self.asked.append(f"{method} {path}")
            del self.asked[:-500]
