"""Purpose: patterns of an evaluated shell, matched in bounded time: `case`, `[[ == ]]`, `${x#p}`, `${x/p/r}`, `=~`.

A shell pattern becomes a regular expression of literals, `.`, classes and `.*`. Before it is used, every `.*` but the
last is tied to the first place where what follows it stands (`(?>.*?x)`): for such patterns that finds the same longest
match, and nothing is tried twice.

Invariants: pure. Pattern and text may both come from a pull request: a pattern that is not understood and a match that
could cost more than `MAX_COST` steps give None or a hole, never an exception and never a long wait.
"""

from __future__ import annotations

import re
from functools import lru_cache

from app.target.shell_text import hole, is_known, pieces, shown

MAX_PATTERN = 2_000
MAX_STARRED = 2_000
MAX_COST = 2_000_000

_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\.\*|.", re.DOTALL)
_CLASSES = {
    "space": r"\s",
    "digit": "0-9",
    "alpha": "a-zA-Z",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
}


def glob_regex(pattern: str) -> str:
    """A shell pattern (`*`, `?`, `[...]`, `\\x`) as a regular expression without anchors."""
    if len(pattern) > MAX_PATTERN:
        return hole("a pattern", "it is too long")
    result, place = "", 0
    while place < len(pattern):
        character = pattern[place]
        place += 1
        if character == "*":
            result += ".*"
        elif character == "?":
            result += "."
        elif character == "\\" and place < len(pattern):
            result += re.escape(pattern[place])
            place += 1
        elif character == "[" and (end := _class_end(pattern, place)) > 0:
            result += f"[{_class(pattern[place:end])}]"
            place = end + 1
        else:
            result += re.escape(character)
    return result


def _class_end(pattern: str, start: int) -> int:
    """The place of the `]` that closes a class which opened before `start`; -1 where none does."""
    inner = re.match(r"[!^]?\]?(?:\[:\w+:\]|[^\]])*", pattern[start:])
    end = start + (inner.end() if inner else 0)
    return end if end < len(pattern) and pattern[end] == "]" else -1


def _class(inner: str) -> str:
    """The inside of a class as a regular expression has it."""
    negated = inner[:1] in ("!", "^")
    inner = _posix_classes(inner[negated:].replace("\\", "\\\\"))
    inner = re.sub(r"([\[&~|])", r"\\\1", inner)
    return f"^{inner}" if negated else inner


def _posix_classes(inner: str) -> str:
    return re.sub(r"\[:(\w+):\]", lambda match: _CLASSES.get(match[1], ""), inner)


@lru_cache(maxsize=1024)
def _compiled(regex: str, longest: bool, backwards: bool) -> re.Pattern[str] | None:
    """The bounded form of a pattern; `backwards` for texts that are read from their end. None where it is none."""
    tokens: list[str] = _TOKEN.findall(regex)
    parts: list[list[str]] = [[]]
    for item in reversed(tokens) if backwards else tokens:
        if item == ".*":
            parts.append([])
        else:
            parts[-1].append(item)
    first, *rest = ("".join(part) for part in parts)
    bounded = first + "".join(f"(?>.*?{part})" for part in rest[:-1])
    if rest:
        bounded += f".*{rest[-1]}" if longest else f"(?>.*?{rest[-1]})" if rest[-1] else ""
    try:
        return re.compile(bounded, re.DOTALL)
    except (re.error, OverflowError, RecursionError):
        return None


def matches(regex: str, text: str) -> bool | None:
    """Whether a whole text matches; None where a hole decides. `regex` may itself hold holes."""
    if regex in (".*", ".*.*"):
        return True
    if not is_known(regex) or not is_known(text):
        return None
    pattern = _compiled(regex, True, False)
    return None if pattern is None else pattern.fullmatch(text) is not None


def trimmed(text: str, regex: str, *, front: bool, longest: bool) -> str:
    """`${x#p}`, `##`, `%`, `%%`: the text without the shortest or longest match at its front or end."""
    length = _length_at(text, regex, front=front, longest=longest)
    if length is None:
        return hole(shown(text), "trimmed by a pattern")
    return text[length:] if front else text[: len(text) - length]


def _length_at(text: str, regex: str, *, front: bool, longest: bool) -> int | None:
    """How much of a text's front or end matches, 0 where nothing does; None where that is not known."""
    pattern = _compiled(regex, longest, not front) if is_known(text) and is_known(regex) else None
    if pattern is None:
        return None
    found = pattern.match(text if front else text[::-1])
    return found.end() if found else 0


def replaced(text: str, regex: str, by: str, *, everywhere: bool, at: str = "") -> str:
    """`${x/p/r}` and `//`; `at` is "#" or "%" for a match at the front or the end.

    In a text with holes a literal is replaced everywhere between them, where no match can reach into a hole.
    """
    if not regex:
        return text
    if not is_known(text) and is_known(regex) and everywhere and _literal(regex):
        found = list(pieces(text))
        if not any(_reaches_out(piece, _unquoted(regex)) for piece in found if is_known(piece)):
            return "".join(piece.replace(_unquoted(regex), by) if is_known(piece) else piece for piece in found)
    pattern = _compiled(regex, True, at == "%") if is_known(text) and is_known(regex) else None
    if pattern is None or (".*" in regex and len(text) > MAX_STARRED):
        return hole(shown(text), "replaced by a pattern")
    if at:
        match = pattern.match(text if at == "#" else text[::-1])
        if match is None:
            return text
        return by + text[match.end() :] if at == "#" else text[: len(text) - match.end()] + by
    return pattern.sub(lambda _: by, text, count=0 if everywhere else 1)


def _unquoted(regex: str) -> str:
    return re.sub(r"\\(.)", r"\1", regex, flags=re.DOTALL)


def _literal(regex: str) -> bool:
    return re.escape(_unquoted(regex)) == regex


def _reaches_out(piece: str, literal: str) -> bool:
    """True where a match could begin in the piece and end in the hole after it, or the other way round."""
    return any(piece.endswith(literal[:n]) or piece.startswith(literal[-n:]) for n in range(1, len(literal)))


_COSTLY = re.compile(r"\)[*+{]|\(\?|\\[1-9]|[*+}?][*+]")


def searched(regex: str, text: str) -> bool | None:
    """`[[ text =~ regex ]]`; None where a hole decides, or the search is not understood or could cost too much."""
    if not is_known(text) or not is_known(regex) or len(regex) > MAX_PATTERN:
        return None
    plain = re.sub(r"\\.|\[\^?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\]", "x", regex, flags=re.DOTALL)
    if _COSTLY.search(plain) or re.search(r"\\[1-9]", regex):
        return None
    repeated = sum(plain.count(mark) for mark in "*+{") + (not plain.startswith("^"))
    doubled = plain.count("?") + plain.count("|")
    if doubled > 20 or max(len(text), 1) ** repeated * 2**doubled > MAX_COST:
        return None
    try:
        return re.search(_posix_classes(regex), text) is not None
    except (re.error, OverflowError, RecursionError):
        return None
