"""Purpose: settings out of the texts that engines print: Python reprs, dictionaries, command lines, small YAML blocks.

A value is kept as the text that Python's `str` gives (True, None, 0.95, fa4); a list or mapping as compact JSON. A
value that is no literal keeps its own text.

Invariants: text is never executed; `ast.literal_eval` sees only pieces of bounded length and depth. Every scan is one
pass over bounded text without recursion, so nesting in a hostile log costs nothing.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MAX_VALUE = 4_096
MAX_DEPTH = 24
MAX_PAIRS = 2_000
MAX_COMMAND = 32_768

_OPEN, _CLOSE = "([{", ")]}"
_KEYWORD = re.compile(r"\s*(?:([A-Za-z_][\w.-]*)\s*=|(['\"])([^'\"]{1,200})\2\s*:)\s*")
_FLAG = re.compile(r"--?[A-Za-z]")
_STOP_WORDS = frozenset({"|", "||", "&&", "&", ";", ">", ">>", "2>&1", "<", ")"})
_YAML_LINE = re.compile(r"( *)([A-Za-z_][\w.-]*):(?: (.*))?\Z")


@dataclass(frozen=True, slots=True)
class Pairs:
    """Key and raw value of each top-level setting, and whether the closing bracket was found."""

    items: tuple[tuple[str, str], ...]
    closed: bool


def pairs_in(text: str, start: int, *, until_end: bool = False) -> Pairs:
    """Settings of `Name(key=value, ...)` or `{'key': value, ...}` whose bracket opens just before `start`.

    With `until_end` there is no bracket: the settings run to the end of the text.
    """
    items: list[tuple[str, str]] = []
    closed = until_end
    depth, quote, begin, position = 0, "", start, start
    while position < len(text) and len(items) < MAX_PAIRS:
        char = text[position]
        if quote:
            if char == "\\":
                position += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            if depth == 0:
                closed = True
                break
            depth -= 1
        elif char == "," and depth == 0:
            items += _pair(text[begin:position])
            begin = position + 1
        position += 1
    if closed:
        items += _pair(text[begin:position])
    return Pairs(tuple(items), closed)


def _pair(text: str) -> list[tuple[str, str]]:
    found = _KEYWORD.match(text)
    return [] if found is None else [(found[1] or found[3], text[found.end() :].strip())]


def plain(text: str) -> str:
    """The text form of a raw value (see the module's docstring), at most MAX_VALUE characters."""
    if len(text) > MAX_VALUE or _depth(text) > MAX_DEPTH:
        return text[:MAX_VALUE]
    try:
        return shown(ast.literal_eval(text))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def shown(value: Any) -> str:
    """`str` of a scalar, compact JSON of a list or mapping."""
    if isinstance(value, dict | list | tuple):
        try:
            return json.dumps(value, separators=(",", ":"), ensure_ascii=False)[:MAX_VALUE]
        except (TypeError, ValueError):
            return str(value)[:MAX_VALUE]
    return str(value)[:MAX_VALUE]


def _depth(text: str) -> int:
    deepest = depth = 0
    for char in text:
        if char in _OPEN:
            depth += 1
            deepest = max(deepest, depth)
        elif char in _CLOSE:
            depth -= 1
    # A run of signs nests in the parser as brackets do.
    return deepest + text.count("--") + text.count("~") + text.count("++") + text.count("-+")


def command_settings(text: str) -> tuple[tuple[str, str], ...]:
    """Flags of a command line: `--flag value ...`, `--flag=value`, `-f value`; a flag without a value is "True".

    Words before the first flag are left out; a shell operator ends the command. Quotes are the shell's.
    """
    words = list(_words(text[:MAX_COMMAND]))
    found: list[tuple[str, str]] = []
    position = 0
    while position < len(words) and len(found) < MAX_PAIRS:
        word = words[position]
        position += 1
        if not _FLAG.match(word):
            continue
        flag, equals, value = word.partition("=")
        if not equals:
            start = position
            while position < len(words) and not _FLAG.match(words[position]):
                position += 1
            value = " ".join(words[start:position]) or "True"
        found.append((flag.lstrip("-"), value[:MAX_VALUE]))
    return tuple(found)


def _words(text: str) -> Iterator[str]:
    reader = shlex.shlex(text, posix=True, punctuation_chars=False)
    reader.whitespace_split = True
    reader.commenters = ""
    try:
        for word in reader:
            if word in _STOP_WORDS:
                return
            yield word
    except ValueError:
        return


def block_settings(lines: Iterable[str]) -> Mapping[str, Any]:
    """Nested settings of a small YAML block of `key: value` lines; lists and anchors keep their own text."""
    root: dict[str, Any] = {}
    stack: list[tuple[int, dict[str, Any]]] = [(-1, root)]
    for line in lines:
        found = _YAML_LINE.match(line)
        if found is None or len(stack) > MAX_DEPTH:
            continue
        indent, key, value = len(found[1]), found[2], (found[3] or "").strip()
        while stack[-1][0] >= indent:
            stack.pop()
        if value:
            stack[-1][1][key] = _yaml_scalar(value)
        else:
            below: dict[str, Any] = {}
            stack[-1][1][key] = below
            stack.append((indent, below))
    return root


def _yaml_scalar(text: str) -> Any:
    word = {"true": True, "false": False, "null": None}.get(text.lower(), text)
    if word is not text:
        return word
    try:
        return json.loads(text) if len(text) <= MAX_VALUE and _depth(text) <= MAX_DEPTH else text
    except (ValueError, RecursionError):
        return text.strip("'\"")
