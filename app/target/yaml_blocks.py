"""Purpose: a YAML file as the blocks of its root (keys of a mapping, items of a list), each parsed once per process.

A master has 200 keys of which a pull request edits two: unchanged blocks are known by their bytes, so that a second
revision costs only what differs. Uncached neighbours are parsed together, in one pass.

Why this is exact: a block starts at column 0 and its text is cached only if, in a pass that read it together with its
neighbours, the parser saw a root key or item at exactly the lines where blocks start, the root was in block style and
no anchor was used. At such a line the parser's state is always the same (no open quote, bracket or indent), so a
block's value depends on its own bytes alone. Files that do not split like that are parsed whole and not cached.

Accepted race: two threads may parse the same block at once; both get equal values and one is kept.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from app.target.source import FileLine, RejectedInput, reject
from app.target.yaml_faults import check_bytes
from app.target.yaml_reader import Builder, Marks, Positions, parse, raise_problems

CACHED_BLOCKS: Final = 8192
CACHED_BYTES: Final = 24_000_000

_KEY_START = re.compile(rb"\n[A-Za-z0-9_\"']")
_KEY_ODD = re.compile(rb"\n(?:[^A-Za-z0-9_\"' #\r\n-]|---)")
_ITEM_START = re.compile(rb"\n- ")
_ITEM_ODD = re.compile(rb"\n(?:[^- #\r\n]|-[^ ])")
_CONTENT = re.compile(rb"\n[ \t]*[^ \t#\r\n]")


Split = list[tuple[bytes, int]]
"""(text, line from 1) of each block."""


@dataclass(slots=True)
class Content:
    """What a block's bytes mean, wherever they stand. `line` is the block's line within its positions.

    `memo` holds what readers derived from the value alone, such as "valid"; it lives as long as the block is cached.
    """

    key: Any
    value: Any
    positions: Positions
    line: int
    column: int
    memo: dict[Any, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Block:
    """A block at its place in one file. `text` is its bytes up to the next block (empty if the file did not split)."""

    content: Content
    where: FileLine
    text: bytes

    @property
    def key(self) -> Any:
        return self.content.key

    @property
    def value(self) -> Any:
        return self.content.value

    @property
    def marks(self) -> Marks:
        return Marks(self.where.path, self.where.sha, self.where.line - self.content.line, self.content.positions)


class _Cache:
    """Blocks by their bytes, oldest out first; bounded in number and in bytes of text."""

    def __init__(self) -> None:
        self._known: dict[tuple[bool, bytes], Content] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, items: bool, text: bytes) -> Content | None:
        return self._known.get((items, text))

    def put(self, items: bool, text: bytes, content: Content) -> None:
        with self._lock:
            if (items, text) not in self._known:
                self._known[(items, text)] = content
                self._bytes += len(text)
            while len(self._known) > CACHED_BLOCKS or self._bytes > CACHED_BYTES:
                oldest = next(iter(self._known))
                del self._known[oldest]
                self._bytes -= len(oldest[1])

    def clear(self) -> None:
        with self._lock:
            self._known.clear()
            self._bytes = 0


_CACHE = _Cache()


def forget_blocks() -> None:
    """Empties the cache: for benches and tests of cold reading."""
    _CACHE.clear()


def read_blocks(content: bytes, path: str, sha: str = "", *, items: bool = False) -> tuple[Block, ...]:
    """The blocks of a mapping (`items` False) or of a list, in file order; an empty file has none.

    Raises RejectedInput for everything that `yaml_reader` rejects and for a root of another kind.
    """
    check_bytes(content, path, sha)
    split = _texts(content, items)
    blocks = _read_split(split, path, sha, items) if split else None
    if blocks is None:
        blocks = _read_whole(content, path, sha, items)
    if not items:
        _refuse_repeated(blocks)
    return blocks


def read_difference(
    first: tuple[bytes, str, str], second: tuple[bytes, str, str]
) -> tuple[tuple[Block, ...], tuple[Block, ...]] | None:
    """Of two lists, each given as (content, path, sha): the items whose text the other does not have as often.

    What both share is not parsed: it cannot be what one of them changed. None where the texts do not split or the
    rest is not well-formed on its own; then both must be read whole. Raises RejectedInput for unreadable bytes.
    """
    for content, path, sha in (first, second):
        check_bytes(content, path, sha)
    before, after = first[0], second[0]
    start = before.rfind(b"\n- ", 0, _shared(before, after)) + 1
    line = before.count(b"\n", 0, start) + 1
    old, new = _texts(before[start:], True, line), _texts(after[start:], True, line)
    if (before[start:] and not old) or (after[start:] and not new):
        return None
    try:
        gone = _read_split(_beyond(old, new), first[1], first[2], True)
        added = _read_split(_beyond(new, old), second[1], second[2], True)
    except RejectedInput:
        return None
    return None if gone is None or added is None else (gone, added)


def _shared(first: bytes, second: bytes) -> int:
    """Length of the common prefix, by halving: comparing slices is fast."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _beyond(left: Split, right: Split) -> Split:
    """Multiset difference by text. Empty lines behind an item do not count, unless a text in it may keep them."""
    counts = Counter(_trimmed(text) for text, _ in right)
    found = []
    for text, line in left:
        counts[_trimmed(text)] -= 1
        if counts[_trimmed(text)] < 0:
            found.append((text, line))
    return found


def _trimmed(text: bytes) -> bytes:
    return text if b"+\n" in text else text.rstrip(b"\n")


def _texts(content: bytes, items: bool, line: int = 1) -> Split:
    """The blocks' texts; `line` is that of the content's first line. Empty where the content does not split."""
    starts = _split(content, items)
    found: Split = []
    before = 0
    for start, end in zip(starts, [*starts[1:], len(content)], strict=False):
        line += content.count(b"\n", before, start)
        found.append((content[start:end], line))
        before = start
    return found


def _split(content: bytes, items: bool) -> list[int]:
    """Offsets at which blocks start; empty where the text is not regular."""
    text = b"\n" + content  # so that every line start is a newline away: searching for it is fast
    if (_ITEM_ODD if items else _KEY_ODD).search(text):
        return []
    starts = [found.start() for found in (_ITEM_START if items else _KEY_START).finditer(text)]
    if starts and _CONTENT.search(text, 0, starts[0]):
        return []
    return starts


def _read_split(split: Split, path: str, sha: str, items: bool) -> tuple[Block, ...] | None:
    known: list[Content | None] = [_CACHE.get(items, text) for text, _ in split]
    index = 0
    while index < len(split):
        if known[index] is not None:
            index += 1
            continue
        end = index + 1
        while end < len(split) and known[end] is None and _neighbours(split[end - 1], split[end]):
            end += 1
        run = _read_run(split[index:end], path, sha, items)
        if run is None:
            return None
        for offset, block in enumerate(run):
            known[index + offset] = block
            _CACHE.put(items, split[index + offset][0], block)
        index = end
    return tuple(
        Block(block, FileLine(path, line, block.column, sha), text)
        for block, (text, line) in zip(known, split, strict=True)
        if block is not None
    )


def _neighbours(first: tuple[bytes, int], second: tuple[bytes, int]) -> bool:
    return first[1] + first[0].count(b"\n") == second[1]


def _read_run(run: Split, path: str, sha: str, items: bool) -> list[Content] | None:
    """Neighbouring blocks in one pass; None where the parser's root children are not exactly these blocks."""
    first = run[0][1]
    built = parse(b"".join(text for text, _ in run), path, sha, first, sectioned=True)
    raise_problems(built)
    if built.uses_anchors or not built.block_root or not isinstance(built.root, list if items else dict):
        return None
    if [line for line, _ in built.sections] != [line - first for _, line in run]:
        return None
    return _contents(built)


def _contents(built: Builder) -> list[Content]:
    root = built.root
    pairs = list(root.items()) if isinstance(root, dict) else [(None, item) for item in root]
    column = 1 if isinstance(root, dict) else 3
    return [
        Content(key, value, positions, line, column)
        for (key, value), (line, positions) in zip(pairs, built.sections, strict=True)
    ]


def _read_whole(content: bytes, path: str, sha: str, items: bool) -> tuple[Block, ...]:
    built = parse(content, path, sha, 1, sectioned=True)
    raise_problems(built)
    if built.root is None:
        return ()
    if not isinstance(built.root, list if items else dict):
        wanted = "a list of entries" if items else "a mapping of keys to entries"
        found = f"a {type(built.root).__name__}"
        raise reject(
            FileLine(path, 1, 0, sha), f"The file must be {wanted}.", found, "Start every entry at column 1.", 1
        )
    if len(built.sections) != len(built.root):
        where = FileLine(path, 1, 0, sha)
        raise reject(where, "Merge keys are not allowed at the root.", "<<", "Write the keys out.", 1)
    return tuple(Block(block, FileLine(path, block.line + 1, block.column, sha), b"") for block in _contents(built))


def _refuse_repeated(blocks: tuple[Block, ...]) -> None:
    """A repeated key that stands in two separately parsed runs: the parser itself did not see both."""
    seen: dict[Any, Block] = {}
    for block in blocks:
        earlier = seen.setdefault(block.key, block)
        if earlier is not block:
            found = f"`{block.key}`, first at line {earlier.where.line}"
            raise reject(block.where, "A key may stand once in a mapping.", found, "Remove one of the two.", 1)
