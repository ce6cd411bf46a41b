"""Purpose: from one recipe file to its launch variants: plain files, bundles, overrides, zipped overrides, selectors.

Source: formats.md 3.1. A plain file has one variant without a name and takes no selector. A bundle's candidates without
a selector are its `override_*` in key order, then its `zip_override_*` in key order; `base` alone only when selected.

Invariants: nothing here knows the engine or the schema beyond its number; nodes are shared, never changed.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from app.target.recipe_document import Node, mapping_of, merged, without_nulls, zipped
from app.target.source import FileLine, reject

_SELECTOR = re.compile(r"(?P<block>base|override_[^\[\]:]+|zip_override_[^\[\]:]+?)(?:\[(?P<index>\d+)\])?\Z")
_OVERRIDE = "override_"
_ZIP = "zip_override_"


class Variant(NamedTuple):
    """One launch variant: its selector ("" for a plain file) and its merged recipe."""

    selector: str
    node: Node


class _File(NamedTuple):
    path: str
    sha: str
    root: dict[str, Node]

    def at(self, node: Node) -> FileLine:
        return FileLine(self.path, node.line, node.column, self.sha)

    @property
    def start(self) -> FileLine:
        return FileLine(self.path, 1, 0, self.sha)


def is_bundle(document: Node) -> bool:
    """True where the file has `base`, `override_*` or `zip_override_*` at its top level."""
    return isinstance(document.value, dict) and any(
        key == "base" or key.startswith((_OVERRIDE, _ZIP)) for key in document.value
    )


def variants(path: str, document: Node, selector: str, sha: str = "") -> tuple[Variant, ...]:
    """The variants that `selector` names, all candidates where it is "".

    Raises RejectedInput for a selector on a plain file, an unknown block or index, and a malformed bundle.
    """
    file = _File(path, sha, mapping_of(path, document, "A recipe", sha))
    if not is_bundle(document):
        if selector:
            rule = "A plain recipe file takes no selector."
            raise reject(file.start, rule, f":{selector}", f"Write {path} without it, or add base and overrides.")
        return (Variant("", document),)
    base = _base(file)
    if not selector:
        return _candidates(file, base)
    return _selected(file, base, selector)


def _base(file: _File) -> Node:
    """`base` with the schema inherited from the top level."""
    base = file.root.get("base")
    if base is None:
        raise reject(file.start, "A bundle needs base.", ", ".join(file.root), "Add base with the common settings.", 1)
    common = dict(mapping_of(file.path, base, "base", file.sha))
    for key, node in file.root.items():
        if key == "schema":
            common.setdefault("schema", node)
        elif key != "base" and not key.startswith((_OVERRIDE, _ZIP)):
            rule = "A bundle holds schema, base, override_* and zip_override_* only."
            raise reject(file.at(node), rule, key, f"Move {key} into base.", 1)
        elif not isinstance(node.value, dict) and node.value is not None:
            raise reject(file.at(node), f"{key} must be a mapping.", node.value, "Write the settings below it.", 1)
    return base._replace(value=common)


def _candidates(file: _File, base: Node) -> tuple[Variant, ...]:
    found: list[Variant] = []
    for key in sorted(key for key in file.root if key.startswith(_OVERRIDE)):
        found.append(_overridden(file, base, key))
    for key in sorted(key for key in file.root if key.startswith(_ZIP)):
        found.extend(_zip(file, base, key))
    if not found:
        rule = "A bundle needs at least one override."
        raise reject(file.start, rule, "base alone", "Add override_<name>, or move base's keys to the top level.", 1)
    return tuple(found)


def _selected(file: _File, base: Node, selector: str) -> tuple[Variant, ...]:
    match = _SELECTOR.match(selector)
    if match is None:
        fix = "Write base, override_<name> or zip_override_<name>[<index>]."
        raise reject(file.start, "The selector names no variant.", selector, fix)
    block, index = match["block"], match["index"]
    if block not in file.root:
        known = ", ".join(key for key in file.root if key.startswith((_OVERRIDE, _ZIP)))
        raise reject(file.start, "The selected block is not in the file.", selector, f"Choose one of: {known}.")
    if not block.startswith(_ZIP):
        if index is not None:
            fix = f"Write {block}."
            raise reject(file.at(file.root[block]), "Only zip_override_* blocks take an index.", selector, fix)
        return (Variant("base", base) if block == "base" else _overridden(file, base, block),)
    zipped_variants = _zip(file, base, block)
    if index is None:
        return zipped_variants
    if int(index) >= len(zipped_variants):
        fix = f"Choose an index from 0 to {len(zipped_variants) - 1}."
        raise reject(file.at(file.root[block]), f"{block} has {len(zipped_variants)} variants.", selector, fix)
    return (zipped_variants[int(index)],)


def _overridden(file: _File, base: Node, key: str) -> Variant:
    over = file.root[key]
    over = over._replace(value=mapping_of(file.path, over, key, file.sha))
    return Variant(key, _named(base, over, merged(base, over), key.removeprefix(_OVERRIDE)))


def _zip(file: _File, base: Node, key: str) -> tuple[Variant, ...]:
    block = file.root[key]
    block = block._replace(value=mapping_of(file.path, block, key, file.sha))
    suffix = key.removeprefix(_ZIP)
    return tuple(
        Variant(f"{key}[{index}]", _named(base, over, without_nulls(merged(base, over)), f"{suffix}_{index}"))
        for index, over in enumerate(zipped(file.path, block, file.sha))
    )


def _named(base: Node, over: Node, result: Node, suffix: str) -> Node:
    """The name rule: unless the override sets `name`, the base's name and the suffix."""
    if "name" in over.value:
        return result
    stem = base.value.get("name")
    name = f"{stem.value}_{suffix}" if stem is not None and stem.value else suffix
    origin = stem or over
    return result._replace(value={**result.value, "name": Node(name, origin.line, origin.column)})
