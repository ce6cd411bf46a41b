"""Purpose: answers kept with their ETag: asking again costs a request but no budget, and no bytes.

Invariants: bounded by entries and bytes, oldest use out first. Keys hold a fingerprint of who asked, so one
installation never sees what another was told. Any mutable mapping can hold the entries (a store's table, a dict).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import MutableMapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Kept:
    """An answer: its ETag, lower-case headers, body."""

    etag: str
    headers: dict[str, str]
    content: bytes


@dataclass
class EtagCache:
    """`entries` holds the answers. At most `most_entries`, `most_bytes` in all, `largest` bytes each."""

    entries: MutableMapping[str, Kept] = field(default_factory=dict)
    most_entries: int = 2000
    most_bytes: int = 64_000_000
    largest: int = 8_000_000

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._sizes: OrderedDict[str, int] = OrderedDict((key, len(kept.content)) for key, kept in self.entries.items())
        self._bytes = sum(self._sizes.values())

    def get(self, key: str) -> Kept | None:
        with self._lock:
            kept = self.entries.get(key)
            if kept is not None and key in self._sizes:
                self._sizes.move_to_end(key)
            return kept

    def put(self, key: str, kept: Kept) -> None:
        """Keep an answer, and drop what has not been used for longest."""
        size = len(kept.content)
        if size > self.largest:
            return
        with self._lock:
            self._bytes += size - self._sizes.pop(key, 0)
            self.entries[key] = kept
            self._sizes[key] = size
            while self._bytes > self.most_bytes or len(self._sizes) > self.most_entries:
                oldest, freed = self._sizes.popitem(last=False)
                self.entries.pop(oldest, None)
                self._bytes -= freed
