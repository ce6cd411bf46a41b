"""Purpose: reads the target repository's YAML fast, with the place of every node, and rejects what would be misread.

Values are those of PyYAML's safe loader (YAML 1.1); see yaml_scalars. The C parser of PyYAML gives events; this
module builds plain dicts and lists from them and keeps, beside each container, the position of every key or item.

Rejected with place and fix: syntax errors, duplicate keys, several documents, tags beyond the plain types, containers
as keys, recursive aliases, more than MAX_DEPTH levels, MAX_NODES nodes (aliases expanded) or MAX_BYTES bytes, NUL
bytes and invalid UTF-8.

Invariants: returned values are shared (aliases, caches) and must not be changed by callers. Nothing here does I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from app.target.source import FileLine, Problem, RejectedInput, reject
from app.target.yaml_faults import check_bytes, syntax_fault
from app.target.yaml_scalars import BadScalar, plain_value

MAX_NODES: Final = 500_000
MAX_DEPTH: Final = 100
MAX_SLOW_BYTES: Final = 384 * 1024

_COLUMNS: Final = 1 << 20
_NO_KEY: Final = object()
_COLON_IN_FLOW: Final = "found unexpected ':'"
_PLAIN_TAGS: Final = ("tag:yaml.org,2002:str", "!")
_TAG_OF: Final[dict[type, str]] = {
    kind: f"tag:yaml.org,2002:{name}"
    for kind, name in (
        (int, "int"),
        (float, "float"),
        (bool, "bool"),
        (type(None), "null"),
    )
}
_SCALAR_TAGS: Final = frozenset(_TAG_OF.values())
MAX_DUPLICATES: Final = 200
_CONTAINER_TAGS: Final = (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")

Positions = dict[int, dict[Any, int]]
"""For each container by identity: key or index -> packed place (line * 2**20 + column, both from 0)."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Where the nodes below one value stand. `first` is the line (from 1) of the text's first line in its file."""

    path: str
    sha: str
    first: int
    positions: Positions

    def place(self, container: object, key: Any) -> FileLine | None:
        """The place of a key of a mapping or an item of a sequence; None where the container is not of this text."""
        packed = self.positions.get(id(container), {}).get(key)
        if packed is None:
            return None
        return FileLine(self.path, self.first + packed // _COLUMNS, packed % _COLUMNS + 1, self.sha)

    def where(self, value: Any, steps: Sequence[Any], default: FileLine) -> FileLine:
        """The place reached from `value` by keys and indices: the deepest step that exists, else `default`."""
        found = default
        for step in steps:
            place = self.place(value, step)
            if place is None:
                return found
            found, value = place, value[step]
        return found


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML file as plain values. `where("a", 0, "b")` is the place of that node (of its key, in a mapping)."""

    value: Any
    marks: Marks

    def where(self, *steps: Any) -> FileLine:
        return self.marks.where(
            self.value,
            steps,
            FileLine(self.marks.path, self.marks.first, 0, self.marks.sha),
        )


def read_yaml(content: bytes, path: str, sha: str = "") -> Document:
    """A whole file. An empty file gives None. Raises RejectedInput: every duplicate key, or the first other fault."""
    check_bytes(content, path, sha)
    builder = parse(content, path, sha, 1)
    raise_problems(builder)
    return Document(builder.root, Marks(path, sha, 1, builder.positions))


def raise_problems(builder: Builder) -> None:
    if builder.problems:
        raise RejectedInput(builder.problems)


@dataclass(slots=True)
class Builder:
    """What one pass over a text gave: the root value, positions by container, problems, and facts about the text.

    `sections` is filled on request: for each child of the root its line (from 0) and the positions below it.
    """

    root: Any = None
    positions: Positions = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    sections: list[tuple[int, Positions]] = field(default_factory=list)
    block_root: bool = False
    uses_anchors: bool = False


def parse(content: bytes, path: str, sha: str, first: int, *, sectioned: bool = False) -> Builder:
    """Builds values from one text whose first line is line `first` of the file. Raises RejectedInput on a fault."""
    from yaml.error import YAMLError

    try:
        from yaml._yaml import CParser

        return _Assembly(path, sha, first).run(CParser(content).get_event, sectioned)
    except YAMLError as error:
        if getattr(error, "problem", None) != _COLON_IN_FLOW or len(content) > MAX_SLOW_BYTES:
            raise syntax_fault(error, path, sha, first) from None
    try:
        return _Assembly(path, sha, first).run(_slow_events(content), sectioned)
    except YAMLError as error:
        raise syntax_fault(error, path, sha, first) from None


def _slow_events(content: bytes) -> Callable[[], Any]:
    """The events of the parser in Python: it reads `{ep:, tp: 4}`, which libyaml refuses and the incumbent does not."""
    from yaml import SafeLoader

    events: Callable[[], Any] = SafeLoader(content).get_event
    return events


class _Assembly:
    """The event loop. Kept flat and free of calls on the common path: it sees 25,000 events for a large master.

    It stays longer than other functions on purpose: splitting it into calls doubles its time.
    """

    def __init__(self, path: str, sha: str, first: int) -> None:
        self.path, self.sha, self.first = path, sha, first
        self.out = Builder()
        self.anchors: dict[str, tuple[Any, int] | None] = {}

    def run(self, get_event: Callable[[], Any], sectioned: bool) -> Builder:  # noqa: C901, PLR0912, PLR0915
        from yaml.events import (
            AliasEvent,
            DocumentStartEvent,
            MappingEndEvent,
            MappingStartEvent,
            ScalarEvent,
            SequenceEndEvent,
            SequenceStartEvent,
            StreamEndEvent,
        )

        out, positions = self.out, self.out.positions
        plain: dict[str, Any] = {}
        stack: list[tuple[Any, dict[Any, int], Any, Any, int]] = []
        container: Any = None
        marks: dict[Any, int] = {}
        key: Any = _NO_KEY
        is_map = False
        nodes, documents = 0, 0
        anchor: str | None = None
        opened = 0
        while True:
            event = get_event()
            kind = event.__class__
            if kind is ScalarEvent:
                nodes += 1
                value: Any = event.value
                if event.implicit[0]:
                    if value in plain:
                        value = plain[value]
                    elif is_map and key is _NO_KEY and value == "<<":
                        value = _MERGE
                    else:
                        plain[value] = value = self._scalar(event, None)
                elif event.tag is not None and event.tag not in _PLAIN_TAGS:
                    value = self._scalar(event, event.tag)
                if event.anchor is not None:
                    self._remember(event.anchor, value, 1)
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                value, closed_anchor, closed_at = container, anchor, opened
                if is_map and _MERGE in container:
                    self._merge(container, marks)
                container, marks, key, anchor, opened = stack.pop()
                is_map = container.__class__ is dict
                if closed_anchor is not None:
                    self._remember(closed_anchor, value, nodes - closed_at)
                if container is None:
                    out.root = value
                    continue
                if is_map:
                    if key is _NO_KEY:
                        raise self._fault(
                            event,
                            "A key must be a single value.",
                            "a list or mapping as key",
                            "Use text.",
                        )
                    container[key] = value
                    key = _NO_KEY
                else:
                    container.append(value)
                continue
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                nodes += 1
                if len(stack) >= MAX_DEPTH or nodes > MAX_NODES or event.tag not in _CONTAINER_TAGS:
                    raise self._refused(event, len(stack), nodes)
                if container is not None and not is_map:
                    mark = event.start_mark
                    marks[len(container)] = mark.line * _COLUMNS + mark.column
                    if sectioned and len(stack) == 1:
                        positions = {}
                        out.sections.append((mark.line, positions))
                stack.append((container, marks, key, anchor, opened))
                is_map = kind is MappingStartEvent
                container = {} if is_map else []
                marks = positions[id(container)] = {}
                key, anchor, opened = _NO_KEY, event.anchor, nodes - 1
                if anchor is not None:
                    self.anchors[anchor] = None
                    out.uses_anchors = True
                if len(stack) == 1:
                    out.block_root = event.flow_style is False
                continue
            elif kind is AliasEvent:
                value, weight = self._alias(event)
                nodes += weight
                out.uses_anchors = True
            elif kind is StreamEndEvent:
                break
            elif kind is DocumentStartEvent:
                documents += 1
                if documents > 1:
                    raise self._fault(
                        event,
                        "The file must hold one document.",
                        "a second `---`",
                        "Remove it.",
                    )
                continue
            else:
                continue
            if nodes > MAX_NODES:
                raise self._refused(event, 0, nodes)
            if is_map:
                if key is _NO_KEY:
                    try:
                        known = value in marks
                    except TypeError:
                        raise self._fault(
                            event,
                            "A key must be a single value.",
                            "a list or mapping",
                            "Use text.",
                        ) from None
                    mark = event.start_mark
                    if known:
                        self._duplicate(event, value, marks[value])
                    marks[value] = mark.line * _COLUMNS + mark.column
                    key = value
                    if sectioned and len(stack) == 1:
                        positions = {}
                        out.sections.append((mark.line, positions))
                else:
                    container[key] = value
                    key = _NO_KEY
            elif container is None:
                out.root = value
            else:
                mark = event.start_mark
                marks[len(container)] = mark.line * _COLUMNS + mark.column
                if sectioned and len(stack) == 1:
                    out.sections.append((mark.line, {}))
                container.append(value)
        return out

    def _place(self, event: Any) -> FileLine:
        return FileLine(
            self.path,
            self.first + event.start_mark.line,
            event.start_mark.column + 1,
            self.sha,
        )

    def _fault(self, event: Any, rule: str, found: object, fix: str) -> RejectedInput:
        return reject(self._place(event), rule, found, fix, 1)

    def _refused(self, event: Any, depth: int, nodes: int) -> RejectedInput:
        if nodes > MAX_NODES:
            return self._fault(
                event,
                f"A file may have {MAX_NODES:,} nodes.",
                "more, aliases expanded",
                "Shorten it.",
            )
        if depth >= MAX_DEPTH:
            return self._fault(
                event,
                f"Nesting may be {MAX_DEPTH} levels deep.",
                "deeper nesting",
                "Flatten the value.",
            )
        return self._fault(
            event,
            "Only plain YAML types are allowed.",
            f"tag {event.tag}",
            "Remove the tag.",
        )

    def _scalar(self, event: Any, tag: str | None) -> Any:
        if tag is not None and tag not in _SCALAR_TAGS:
            raise self._fault(
                event,
                "Only plain YAML types are allowed.",
                f"tag {tag}",
                "Remove the tag.",
            )
        try:
            value = plain_value(event.value)
        except BadScalar as error:
            raise self._fault(event, "The value cannot be read.", error, "Quote it.") from None
        if tag is not None and _TAG_OF.get(type(value)) != tag:
            raise self._fault(
                event,
                f"The value must fit its tag {tag}.",
                event.value,
                "Remove the tag.",
            )
        return value

    def _duplicate(self, event: Any, key: Any, earlier: int) -> None:
        if len(self.out.problems) >= MAX_DUPLICATES:
            return
        line = self.first + earlier // _COLUMNS
        shown = "<<" if key is _MERGE else key
        problem = self._fault(
            event,
            "A key may stand once in a mapping.",
            f"`{shown}`, first at line {line}",
            "Remove one of the two.",
        )
        self.out.problems.extend(problem.problems)

    def _remember(self, anchor: str, value: Any, weight: int) -> None:
        self.anchors[anchor] = (value, weight)
        self.out.uses_anchors = True

    def _alias(self, event: Any) -> tuple[Any, int]:
        known = self.anchors.get(event.anchor, _NO_KEY)
        if known is _NO_KEY:
            raise self._fault(
                event,
                "An alias needs an anchor before it.",
                f"*{event.anchor}",
                "Write the value out.",
            )
        if known is None:
            raise self._fault(
                event,
                "An alias may not stand inside its own anchor.",
                f"*{event.anchor}",
                "Write it out.",
            )
        return known  # type: ignore[return-value]

    def _merge(self, container: dict[Any, Any], marks: dict[Any, int]) -> None:
        """`<<`: merged pairs first, own pairs win, earlier merged mappings win over later ones (PyYAML's order)."""
        merged = container.pop(_MERGE)
        place = marks.pop(_MERGE)
        sources = merged if isinstance(merged, list) else [merged]
        if not all(isinstance(source, Mapping) for source in sources):
            where = FileLine(
                self.path,
                self.first + place // _COLUMNS,
                place % _COLUMNS + 1,
                self.sha,
            )
            raise reject(
                where,
                "`<<` takes a mapping or a list of mappings.",
                merged,
                "Write the keys out.",
                1,
            )
        own = dict(container)
        container.clear()
        for source in reversed(sources):
            container.update(source)
        container.update(own)
        for name in container:
            marks.setdefault(name, place)


class _MergeKey:
    """Stands for a plain `<<` while a mapping is being built."""


_MERGE: Final = _MergeKey()
