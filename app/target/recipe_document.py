"""Purpose: YAML text as nodes that know their line, and the three tree operations that recipes need: plain, merge, zip.

Scalars read as YAML 1.1 (formats.md 11: the incumbent's readers are PyYAML), so `on` is true, `010` is 8 and `1e3`
is a string. The parser is libyaml's event stream; nodes are built with an explicit stack, so depth cannot overflow.

Invariants: nodes are shared between variants (aliases, merges) and never changed after they were built. Bounds: size,
depth and the expanded number of nodes are limited, so an alias bomb is refused before anything walks it. The packaged
libyaml refuses a colon inside a plain scalar of a flow mapping (`{container: host/image:tag}`), which the incumbent's
accepts: such a file is read once more with the slower parser in Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from app.target.source import FileLine, RejectedInput, reject

MAX_BYTES = 10 * 1024 * 1024
MAX_DEPTH = 100
MAX_NODES = 200_000
MAX_SLOW_BYTES = 256 * 1024


class Node(NamedTuple):
    """A scalar (str, int, float, bool, None, date), a dict of nodes or a list of nodes, and where it starts.

    `text` is what a plain scalar looks like in the file; None for quoted scalars and collections. `size` counts the
    nodes below, each alias anew. `file` is only set where the node came from another file than the document's own.
    """

    value: Any
    line: int
    column: int
    text: str | None = None
    size: int = 1
    file: str = ""


_BOOLEANS = {
    word: truth
    for truth, words in ((True, ("yes", "true", "on")), (False, ("no", "false", "off")))
    for plain in words
    for word in (plain, plain.capitalize(), plain.upper())
}
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_INTEGER = re.compile(
    r"[-+]?(?:(?P<binary>0b[0-1_]+)|(?P<octal>0[0-7_]+)|(?P<hexadecimal>0x[0-9a-fA-F_]+)"
    r"|(?P<sexagesimal>[1-9][0-9_]*(?::[0-5]?[0-9])+)|(?P<decimal>0|[1-9][0-9_]*))\Z"
)
_FLOAT = re.compile(
    r"(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
    r"|(?P<sexagesimal>[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*)|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?"
    r"(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?\Z"
)
_MAYBE_NUMBER = frozenset("-+.0123456789")


def scalar(text: str) -> Any:
    """The YAML 1.1 value of a plain scalar. Raises ValueError for a date that is none and for a timestamp."""
    if text in _NULLS:
        return None
    truth = _BOOLEANS.get(text)
    if truth is not None:
        return truth
    if text[0] not in _MAYBE_NUMBER:
        return text
    if match := _INTEGER.match(text):
        return _integer(text, str(match.lastgroup))
    if match := _FLOAT.match(text):
        return _float(text, match.lastgroup == "sexagesimal")
    if _DATE.match(text):
        return date.fromisoformat(text)
    if _TIMESTAMP.match(text):
        return datetime.fromisoformat(text.replace(" ", "T", 1))
    return text


def _integer(text: str, form: str) -> int:
    digits = text.replace("_", "")
    if form == "sexagesimal":
        return _sign(digits) * int(_base60(digits.lstrip("+-")))
    base = {"binary": 2, "octal": 8, "hexadecimal": 16}.get(form, 10)
    return int(digits, base)


def _float(text: str, base60: bool) -> float:
    digits = text.replace("_", "").lower()
    if base60:
        return _sign(digits) * _base60(digits.lstrip("+-"))
    return float(digits.replace(".inf", "inf").replace(".nan", "nan"))


def _sign(digits: str) -> int:
    return -1 if digits.startswith("-") else 1


def _base60(digits: str) -> float:
    total = 0.0
    for part in digits.split(":"):
        total = total * 60 + float(part)
    return total


@lru_cache(maxsize=1024)
def _composed(content: bytes, any_keys: bool) -> Node:
    text = _decoded(content)
    try:
        return _Builder(any_keys).root(_fast_events(text))
    except _Unreadable as fault:
        if fault.found != _COLON_IN_FLOW or len(text) > MAX_SLOW_BYTES:
            raise
        return _Builder(any_keys).root(_slow_events(text))


def read_document(path: str, content: bytes, sha: str = "", any_keys: bool = False) -> Node:
    """The one document of a YAML file; `any_keys` allows keys that are no strings.

    Raises RejectedInput with line and column for anything that is not readable.
    """
    try:
        return _composed(content, any_keys)
    except _Unreadable as fault:
        raise reject(FileLine(path, fault.line, fault.column, sha), fault.rule, fault.found, fault.fix, 0) from None


class _Unreadable(Exception):  # noqa: N818
    """A fault without its file: composed documents are cached by content, whatever their path."""

    def __init__(self, line: int, column: int, rule: str, found: str, fix: str) -> None:
        super().__init__(rule)
        self.line, self.column, self.rule, self.found, self.fix = line, column, rule, found, fix


class _Open:
    """A collection that is being filled."""

    __slots__ = ("anchor", "column", "key", "line", "merges", "size", "value")

    def __init__(self, value: Any, anchor: str | None, mark: Any) -> None:
        self.value, self.anchor = value, anchor
        self.line, self.column = mark.line + 1, mark.column + 1
        self.key: Node | None = None
        self.merges: list[Node] = []
        self.size = 1


_COLON_IN_FLOW = "found unexpected ':'"


def _fast_events(text: str) -> Iterator[Any]:
    from ruamel.yaml.cyaml import CSafeLoader

    loader = CSafeLoader(text)
    try:
        while loader.check_event():
            yield loader.get_event()
    finally:
        loader.dispose()


def _slow_events(text: str) -> Iterator[Any]:
    from ruamel.yaml import YAML

    reader = YAML(typ="safe", pure=True)
    reader.version = (1, 1)
    yield from reader.parse(text)


def _decoded(content: bytes) -> str:
    if len(content) > MAX_BYTES:
        found = f"{len(content)} bytes"
        raise _Unreadable(1, 1, f"A file may have at most {MAX_BYTES} bytes.", found, "Make the file smaller.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = content.count(b"\n", 0, fault.start) + 1
        raise _Unreadable(line, 1, "The file must be UTF-8.", fault.reason, "Save the file as UTF-8.") from None


class _Builder:
    """Builds nodes from parser events."""

    def __init__(self, any_keys: bool) -> None:
        self._any_keys = any_keys
        self._anchors: dict[str, Node] = {}
        self._stack: list[_Open] = []
        self._root: Node | None = None

    def root(self, events: Iterator[Any]) -> Node:
        from ruamel.yaml.error import MarkedYAMLError, YAMLError

        try:
            for event in events:
                self._take(event)
        except MarkedYAMLError as fault:
            mark = fault.problem_mark or fault.context_mark
            line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            raise _Unreadable(line, column, "The file is no YAML.", str(fault.problem), "Correct the syntax.") from None
        except YAMLError as fault:
            found = str(fault).split("\n", maxsplit=1)[0]
            raise _Unreadable(1, 1, "The file is no YAML.", found, "Remove the character.") from None
        if self._root is None:
            raise _Unreadable(1, 1, "The file must hold one mapping.", "an empty file", "Write the mapping.")
        return self._root

    def _take(self, event: Any) -> None:
        kind = type(event).__name__
        if kind == "ScalarEvent":
            self._add(self._scalar(event), event.anchor)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            if len(self._stack) >= MAX_DEPTH:
                raise self._fault(event.start_mark, f"Nesting may be {MAX_DEPTH} deep.", "deeper", "Flatten the file.")
            self._stack.append(_Open({} if kind[0] == "M" else [], event.anchor, event.start_mark))
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            done = self._stack.pop()
            self._add(self._closed(done), done.anchor)
        elif kind == "AliasEvent":
            if event.anchor not in self._anchors:
                found = f"*{event.anchor}"
                raise self._fault(event.start_mark, "An alias needs an anchor before it.", found, "Name the anchor.")
            self._add(self._anchors[event.anchor], None)

    def _scalar(self, event: Any) -> Node:
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        text = str(event.value)
        if not event.implicit[0] or event.style not in (None, ""):
            return Node(text, line, column)
        try:
            return Node(scalar(text), line, column, text)
        except ValueError:
            raise _Unreadable(line, column, "A date must exist.", text, "Correct it or put it in quotes.") from None

    def _closed(self, done: _Open) -> Node:
        if done.merges:
            inherited: dict[str, Node] = {}
            for node in reversed(done.merges):
                inherited.update(node.value)
            done.value = {**inherited, **done.value}
        return Node(done.value, done.line, done.column, None, done.size)

    def _add(self, node: Node, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = node
        if not self._stack:
            if self._root is not None:
                raise _Unreadable(node.line, 1, "A file holds one document.", "a second one", "Keep one document.")
            self._root = node
            return
        parent = self._stack[-1]
        parent.size += node.size
        if parent.size > MAX_NODES:
            found = f"more than {MAX_NODES} values"
            raise _Unreadable(parent.line, parent.column, "Aliases may not multiply.", found, "Write fewer aliases.")
        if isinstance(parent.value, list):
            parent.value.append(node)
        elif parent.key is None:
            parent.key = node
        else:
            self._pair(parent, parent.key, node)
            parent.key = None

    def _pair(self, parent: _Open, key: Node, node: Node) -> None:
        name = key.value
        if name == "<<" and key.text is not None:
            sources = node.value if isinstance(node.value, list) else [node]
            for source in sources:
                if not isinstance(source.value, dict):
                    raise _Unreadable(
                        node.line, node.column, "<< takes mappings.", str(source.value), "Name a mapping."
                    )
            parent.merges.extend(sources)
            return
        if not isinstance(name, str) and not (self._any_keys and key.text is not None):
            found = key.text if key.text is not None else type(name).__name__
            raise _Unreadable(key.line, key.column, "A key must be a string.", found, "Put the key in quotes.")
        if name in parent.value:
            first = parent.value[name].line
            found = f"{name} (already given near line {first})"
            raise _Unreadable(key.line, key.column, "A key may stand once in a mapping.", found, "Remove one of them.")
        parent.value[name] = node

    @staticmethod
    def _fault(mark: Any, rule: str, found: str, fix: str) -> _Unreadable:
        return _Unreadable(mark.line + 1, mark.column + 1, rule, found, fix)


def plain(node: Node) -> Any:
    """The value without lines."""
    value = node.value
    if isinstance(value, dict):
        return {key: plain(child) for key, child in value.items()}
    if isinstance(value, list):
        return [plain(child) for child in value]
    return value


def merged(base: Node, over: Node) -> Node:
    """`over` merged onto `base`: mappings merge, lists and scalars replace, null deletes the key (formats.md 3.1)."""
    if not isinstance(base.value, dict) or not isinstance(over.value, dict):
        return over
    result = dict(base.value)
    for key, node in over.value.items():
        if node.value is None:
            result.pop(key, None)
        elif key in result:
            result[key] = merged(result[key], node)
        else:
            result[key] = node
    return Node(result, base.line, base.column, None, base.size + over.size)


def of_file(node: Node, file: str) -> Node:
    """The node and all below it, marked as coming from `file`."""
    value = node.value
    if isinstance(value, dict):
        value = {key: of_file(child, file) for key, child in value.items()}
    elif isinstance(value, list):
        value = [of_file(child, file) for child in value]
    return node._replace(value=value, file=file)


def without_nulls(node: Node) -> Node:
    """The node without null-valued keys, at every depth of its mappings."""
    if not isinstance(node.value, dict):
        return node
    kept = {key: without_nulls(child) for key, child in node.value.items() if child.value is not None}
    return node._replace(value=kept)


def zipped(path: str, block: Node, sha: str = "") -> list[Node]:
    """The variants of a `zip_override_*` block: its lists side by side, lists of one and scalars for all of them.

    Raises RejectedInput for an empty list and for lists of different lengths.
    """
    lists: list[Node] = []
    pending = [block]
    while pending:
        node = pending.pop()
        if isinstance(node.value, list):
            lists.append(node)
        elif isinstance(node.value, dict):
            pending.extend(node.value.values())
    lists.sort(key=lambda node: node.line)
    count = max((len(node.value) for node in lists), default=1)
    widest = next((node for node in lists if len(node.value) == count), block)
    for node in lists:
        where = FileLine(path, node.line, node.column, sha)
        if not node.value:
            raise reject(where, "A zipped list may not be empty.", "[]", "Give one value for each variant.")
        if len(node.value) not in (1, count):
            found = f"{len(node.value)} values, and {count} in line {widest.line}"
            raise reject(where, "Zipped lists have the same length, or one value for all.", found, "Align the lists.")
    return [_picked(block, index) for index in range(count)]


def _picked(node: Node, index: int) -> Node:
    value = node.value
    if isinstance(value, list):
        chosen: Node = value[index if len(value) > 1 else 0]
        return chosen
    if isinstance(value, dict):
        return node._replace(value={key: _picked(child, index) for key, child in value.items()})
    return node


def mapping_of(path: str, node: Node, what: str, sha: str = "") -> dict[str, Node]:
    """The node's mapping. Raises RejectedInput where it is none; null counts as an empty mapping."""
    if node.value is None:
        return {}
    if not isinstance(node.value, dict):
        where = FileLine(path, node.line, node.column, sha)
        raise reject(where, f"{what} must be a mapping.", node.value, "Write key: value pairs below it.", 1)
    found: dict[str, Node] = node.value
    return found


__all__ = [
    "Node",
    "RejectedInput",
    "mapping_of",
    "merged",
    "of_file",
    "plain",
    "read_document",
    "scalar",
    "without_nulls",
    "zipped",
]
