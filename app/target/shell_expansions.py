"""Purpose: the operators of `${...}`: defaults, slices, substrings, trimming, replacement, letter case.

Invariants: what depends on a part that is not known is a hole. Patterns are matched in bounded time
(`app.target.shell_patterns`), and the length of every text that is worked on is charged to the evaluation.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, Protocol

from app.target.shell_patterns import replaced, trimmed
from app.target.shell_state import State
from app.target.shell_syntax import Script
from app.target.shell_text import Word, hole, is_known, joined, known_part, quoted, shown

OPERATOR = re.compile(r":[-=+?]|[-=+?]|##|#|%%|%|//|/#|/%|/|\^\^|\^|,,|,|:|@")


class Part(NamedTuple):
    """A piece of a word. `many` are the elements of an expansion that gives several fields (`"$@"`, `"${A[@]}"`)."""

    text: str
    quoted: bool = True
    many: tuple[Word, ...] | None = None


class Operation(NamedTuple):
    """What stands behind the name in `${name...}`: the operator, the rest of the text, and the syntax node."""

    operator: str
    rest: str
    name: str
    node: Any


class Fragments(Protocol):
    """What operators need of the words that they stand in."""

    def fragment(self, text: str, node: Any) -> str:
        """A piece of shell text, expanded."""
        ...

    def fragment_pattern(self, text: str, node: Any) -> str:
        """A piece of shell text as a pattern."""
        ...

    def number(self, text: str) -> int | None:
        """Arithmetic text."""
        ...


class Owner(Protocol):
    """What operators need of the shell."""

    state: State
    script: Script

    def charge(self, amount: int) -> None:
        """Counts work; raises BoundReached."""
        ...


def operated(words: Fragments, owner: Owner, base: Part, found: bool, operation: Operation) -> Part:
    """`${name operator rest}`: `base` is the variable's value, `found` whether it is set."""
    operator, rest, _, node = operation
    if operator.lstrip(":") in ("-", "=", "+", "?") and operator != ":":
        return _defaulted(words, owner, base, found, operation)
    if base.many is not None and operator == ":":
        return _sliced(words, owner, base, rest, node)
    owner.charge(len(base.text) + sum(map(len, base.many or ())))
    if base.many is not None:
        many = tuple(Word(_changed(words, element, operation), element.where) for element in base.many)
        return base._replace(many=many)
    return base._replace(text=_changed(words, base.text, operation))


def _defaulted(words: Fragments, owner: Owner, base: Part, found: bool, operation: Operation) -> Part:
    operator, rest, name, node = operation
    text = base.text if base.many is None else joined(base.many)
    if operator.startswith(":") and found and text == "":
        found = False
    unknown = operator.startswith(":") and not is_known(text) and not known_part(text)
    kind = operator[-1]
    if kind == "+":
        if unknown:
            return Part(hole(f"{name}:+", "a text that may be empty"), base.quoted)
        return Part(words.fragment(rest, node) if found else "", base.quoted)
    if found or kind == "?":
        return base
    default = Word(words.fragment(rest, node), owner.script.place(node))
    if kind == "=":
        owner.state.variables[name] = default
    return Part(default, base.quoted)


def _sliced(words: Fragments, owner: Owner, base: Part, rest: str, node: Any) -> Part:
    numbers = [words.number(words.fragment(piece, node)) for piece in rest.split(":")]
    many = base.many or ()
    if any(number is None for number in numbers):
        return base._replace(many=(Word(hole("a slice", "an index that is not known")),))
    start = int(numbers[0] or 0)
    if owner.script.text(node).startswith(("${@", "${*")):
        start = max(start - 1, 0)
    length = numbers[1] if len(numbers) > 1 else None
    return base._replace(many=many[start:] if length is None else many[start : start + int(length)])


def _changed(words: Fragments, text: str, operation: Operation) -> str:
    operator, rest, _, node = operation
    if operator in ("#", "##", "%", "%%"):
        regex = words.fragment_pattern(rest, node)
        return trimmed(text, regex, front=operator[0] == "#", longest=len(operator) == 2)
    if operator.startswith("/"):
        before, _, after = _split_slash(rest)
        regex = words.fragment_pattern(before, node)
        at = operator[1:] if operator in ("/#", "/%") else ""
        return replaced(text, regex, words.fragment(after, node), everywhere=operator == "//", at=at)
    if operator == ":":
        return _substring(words, text, rest, node)
    if not is_known(text):
        return hole(shown(text), "changed by an expansion")
    changes = {"^^": text.upper(), ",,": text.lower(), "^": text[:1].upper() + text[1:]}
    changes |= {",": text[:1].lower() + text[1:], "@": quoted(text)}
    return changes[operator]


def _substring(words: Fragments, text: str, rest: str, node: Any) -> str:
    numbers = [words.number(words.fragment(piece, node)) for piece in rest.split(":")]
    if not is_known(text) or any(number is None for number in numbers):
        return hole(shown(text), "a part of a text that is not known")
    start = int(numbers[0] or 0)
    part = text[start:] if start >= 0 else text[max(len(text) + start, 0) :]
    if len(numbers) < 2:
        return part
    length = int(numbers[1] or 0)
    return part[:length] if length >= 0 else part[: len(part) + length]


def _split_slash(text: str) -> tuple[str, str, str]:
    """Pattern and replacement at the first slash that is neither escaped nor in a class, an expansion or quotes."""
    depth, place = 0, 0
    while place < len(text):
        character = text[place]
        if character == "\\":
            place += 1
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        elif character == "/" and depth <= 0:
            return text[:place], "/", text[place + 1 :]
        place += 1
    return text, "", ""
