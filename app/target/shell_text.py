"""Purpose: texts of an evaluated shell script: words with their line, and parts that could not be decided.

A part that the evaluator cannot know (a machine's variable, the output of a program) stays in the text as a *hole*
with the name of what is unknown and why. Everything that touches a hole stays undecided instead of being guessed.

Invariants: pure. A hole is written in private-use characters only, so that it stays one piece when a text that holds it
is parsed again (`eval`, `bash -c`). Scripts cannot forge holes: those characters are stripped from every script.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from app.target.source import FileLine

_OPEN, _SPLIT, _CLOSE = "\ue000", "\ue001", "\ue002"
_SHIFT, _LETTERS = 0xE100, 0x700
_HOLE = re.compile(f"{_OPEN}([^{_SPLIT}{_CLOSE}]*){_SPLIT}([^{_CLOSE}]*){_CLOSE}")
_SAFE = re.compile(r"[A-Za-z0-9_@%+=:,./-]+\Z")
_FORMAT = re.compile(r"%(?P<flags>[-0+ #]*)(?P<width>\d{0,9})(?:\.(?P<precision>\d{1,9}))?(?P<kind>[sdiqbfegxXoc%])")
MAX_PRINTED = 200_000
MAX_WIDTH = 1_000
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "\\": "\\",
    "a": "\a",
    "0": "\0",
    '"': '"',
    "'": "'",
    "e": "\x1b",
}


class Word(str):
    """A text with the place where it was decided."""

    __slots__ = ("where",)
    where: FileLine | None

    def __new__(cls, text: str, where: FileLine | None = None) -> Word:
        word = super().__new__(cls, text)
        word.where = where
        return word


def stripped_of_marks(content: bytes) -> bytes:
    """A script without the private characters that mark holes."""
    text = content.decode("utf-8", errors="replace")
    return re.sub(f"[{_OPEN}-{chr(_SHIFT + _LETTERS)}]", "", text).encode()


@lru_cache(maxsize=4096)
def hole(name: str, why: str = "") -> str:
    """A part that is not known: what it is, and why it is not known."""
    return f"{_OPEN}{_hidden(shown(name))}{_SPLIT}{_hidden(shown(why))}{_CLOSE}"


def _hidden(text: str) -> str:
    return "".join(chr(_SHIFT + ord(letter)) if ord(letter) < _LETTERS else chr(_SHIFT + ord("?")) for letter in text)


def _plain(text: str) -> str:
    return "".join(chr(ord(letter) - _SHIFT) for letter in text)


def either(one: str, other: str, name: str, why: str) -> str:
    """A text that is one of two: what they begin and end with alike stays known, the rest is a hole."""
    front = _outside(one, _alike(one, other), -1)
    rest, other_rest = one[front:][::-1], other[front:][::-1]
    back = _alike(rest, other_rest)
    start = _outside(one, len(one) - back, 1) if back else len(one)
    return one[:front] + hole(name, why) + one[start:]


def _alike(one: str, other: str) -> int:
    """How many characters two texts have in common at their front."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _outside(text: str, place: int, step: int) -> int:
    """The nearest place in a direction that is not inside a hole."""
    for match in _HOLE.finditer(text):
        if match.start() < place < match.end():
            return match.start() if step < 0 else match.end()
    return place


def is_known(text: str) -> bool:
    return _OPEN not in text


def reasons(text: str) -> tuple[str, ...]:
    """Why the holes of a text are not known: "NAME: reason", each once."""
    found = (
        f"{_plain(match[1])}: {_plain(match[2])}" if match[2] else _plain(match[1]) for match in _HOLE.finditer(text)
    )
    return tuple(dict.fromkeys(found))


def shown(text: str) -> str:
    """The text for people: holes as ${NAME}."""
    return _HOLE.sub(lambda match: "${" + _plain(match[1]) + "}", text) if _OPEN in text else text


def known_part(text: str) -> str:
    """The text without its holes."""
    return _HOLE.sub("", text)


def quoted(text: str) -> str:
    """`printf %q`: the text so that a shell reads it back."""
    if _SAFE.match(text):
        return text
    return "''" if not text else "".join(c if _SAFE.match(c) or not is_known(c) else f"\\{c}" for c in text)


def unescaped(text: str) -> str:
    """Backslash escapes of `printf` formats and `echo -e`."""
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[0]), text, flags=re.DOTALL)


def printf(form: str, arguments: Sequence[str]) -> str:
    """`printf`: the format is used again until the arguments are spent."""
    form = unescaped(form)
    left = list(arguments)
    left.reverse()
    result = _FORMAT.sub(lambda match: _formatted(match, left), form)
    while left and len(result) <= MAX_PRINTED:
        before = len(left)
        result += _FORMAT.sub(lambda match: _formatted(match, left), form)
        if len(left) == before:
            break
    return result if len(result) <= MAX_PRINTED else hole("printf", "a text that is too long")


def _formatted(match: re.Match[str], left: list[str]) -> str:
    kind = match["kind"]
    if kind == "%":
        return "%"
    value = left.pop() if left else ""
    if not is_known(value):
        return value
    if max(int(match["width"] or 0), int(match["precision"] or 0)) > MAX_WIDTH:
        return hole("printf", "a width that is too large")
    if kind == "q":
        return quoted(value)
    if kind in "sb":
        width = int(match["width"] or 0)
        text = unescaped(value) if kind == "b" else value
        text = text[: int(match["precision"])] if match["precision"] else text
        return text.ljust(width) if "-" in match["flags"] else text.rjust(width)
    try:
        number: float = float(value or 0) if kind in "feg" else int(value or "0", 0)
        return match[0] % number
    except (ValueError, OverflowError):
        return hole("printf", f"{value} is no number")


def split_fields(text: str, separators: str = " \t\n") -> list[str]:
    """Word splitting. A hole is never split: it may hold separators of its own, and stays one field."""
    fields: list[str] = []
    current = ""
    for piece in pieces(text):
        if piece.startswith(_OPEN):
            current += piece
            continue
        for character in piece:
            if character not in separators:
                current += character
            elif current:
                fields.append(current)
                current = ""
    return [*fields, current] if current else fields


def pieces(text: str) -> Iterator[str]:
    """Holes whole, everything between them as it is."""
    last = 0
    for match in _HOLE.finditer(text):
        if match.start() > last:
            yield text[last : match.start()]
        yield match[0]
        last = match.end()
    if last < len(text):
        yield text[last:]


def whole(text: str) -> int | None:
    """A whole number without a sign; None for other texts and for one that no script means."""
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None


def joined(words: Iterable[str], by: str = " ") -> str:
    return by.join(words)
