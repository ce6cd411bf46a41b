"""Purpose: a YAML file as nodes that know their place, and the tree operations that recipes need: plain, merge, zip.

Values and rejections are those of `app.target.yaml_reader`. Here every value carries its own place, because merging
builds new mappings whose values come from several lines and files.

Invariants: nodes are shared between variants (aliases, merges) and never changed after they were built. A node of a
mapping stands at its key, one of a list at the item.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from app.target.source import FileLine, Problem, RejectedInput, reject
from app.target.yaml_faults import check_bytes
from app.target.yaml_reader import Marks, parse


class Node(NamedTuple):
    """A scalar, a dict of nodes or a list of nodes, and where it stands.

    `file` is only set where the node came from another file than the document's own.
    """

    value: Any
    line: int
    column: int
    file: str = ""


class Document(NamedTuple):
    """The root node of a file, and its doubled keys (the last one counts, as the harness reads)."""

    root: Node
    doubled: tuple[Problem, ...]


@lru_cache(maxsize=1024)
def read_whole(path: str, content: bytes, sha: str = "") -> Document:
    """The document with its doubled keys told apart. Raises RejectedInput for everything else that is not readable."""
    check_bytes(content, path, sha)
    built = parse(content, path, sha, 1)
    if built.root is None:
        raise reject(FileLine(path, 1, 0, sha), "The file must hold one mapping.", "nothing", "Write the mapping.", 0)
    marks = Marks(path, sha, 1, built.positions)
    return Document(_noded(built.root, FileLine(path, 1, 1, sha), marks, {}), tuple(built.problems))


def read_document(path: str, content: bytes, sha: str = "") -> Node:
    """The root node. Raises RejectedInput with line and column, for doubled keys too."""
    document = read_whole(path, content, sha)
    if document.doubled:
        raise RejectedInput(list(document.doubled))
    return document.root


def _noded(value: Any, place: FileLine, marks: Marks, known: dict[int, Any]) -> Node:
    """The node of a value; what is reached through several aliases is built once."""
    kind = type(value)
    if kind is dict or kind is list:
        built = known.get(id(value))
        if built is None:
            positions = marks.positions.get(id(value), {})
            pairs = value.items() if kind is dict else enumerate(value)
            nodes = {key: _child(child, positions.get(key), place, marks, known) for key, child in pairs}
            built = known[id(value)] = nodes if kind is dict else list(nodes.values())
        value = built
    return Node(value, place.line, place.column)


def _child(value: Any, packed: int | None, parent: FileLine, marks: Marks, known: dict[int, Any]) -> Node:
    if packed is None:
        return _noded(value, parent, marks, known)
    line, column = marks.first + (packed >> 20), (packed & 0xFFFFF) + 1
    if type(value) is dict or type(value) is list:
        return _noded(value, FileLine(marks.path, line, column, marks.sha), marks, known)
    return Node(value, line, column)


def plain(node: Node) -> Any:
    """The value without places."""
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
    return base._replace(value=result)


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


def mapping_of(path: str, node: Node, what: str, sha: str = "", *, any_keys: bool = False) -> dict[str, Node]:
    """The node's mapping. Raises RejectedInput where it is none or, unless `any_keys`, where a key is no string.

    Null counts as an empty mapping.
    """
    if node.value is None:
        return {}
    where = FileLine(path, node.line, node.column, sha)
    if not isinstance(node.value, dict):
        raise reject(where, f"{what} must be a mapping.", plain(node), "Write key: value pairs below it.", 1)
    found: dict[str, Node] = node.value
    for key, child in found.items() if not any_keys else ():
        if not isinstance(key, str):
            place = FileLine(path, child.line, child.column, sha)
            raise reject(place, "A key must be a string.", key, "Put the key in quotes.", 1)
    return found
