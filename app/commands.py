"""Purpose: the one grammar of comments: which commands a text holds, with line numbers and problems.

A command is a line of a top-level Markdown paragraph that begins with a known word. Quotes, lists, headings, code,
HTML comments, links and HTML quotes are never read (`compat=True` reads code as well, as the incumbent does).

Invariants:
- Never raises, whatever the text.
- What a reader sees is what counts: CRLF, tabs, non-breaking spaces and zero-width characters change nothing; direction
  marks and digits outside ASCII are a problem, never a number.
- A malformed command is returned with a `Problem`, so that it can be answered; it never acts.
- Lower-case words only. `/use123`, `/user 1` and `/USE 1` are somebody else's text and are not seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from typing import Any, Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

Kind = Literal["issue_comment", "review", "review_comment"]

MAX_RUN_ID = 2**63 - 1
MAX_REASON = 500
MANY_BRACKETS = 2_000
MANY_CELLS = 5_000

_MARK_OPEN, _MARK_CLOSE = "\ue000", "\ue001"
_ZERO_WIDTH = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad\u180e"), None)
_DIRECTION = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")
_CANDIDATE = re.compile(
    r"^([^\S\n]*)(?=[\u200b-\u200f\u2060\ufeff\u00ad\u180e\u061c\u202a-\u202e\u2066-\u2069]*/)", re.M
)
_MARKED = re.compile(f"{_MARK_OPEN}([0-9]+){_MARK_CLOSE}")
# Always finds an end, if only that of the text: a tag that never closes must not be searched for again and again.
_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<(/?)([a-z][a-z0-9-]*)(?:\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z)|[^>\"'])*+(?:>|\Z)",
    re.I | re.S,
)
_QUOTING = frozenset(("blockquote", "code", "pre", "a"))
_DELIMITER_ROW = re.compile(r"[ \t>]*[|:-][ \t|:-]*")
_ID_SHAPE = re.compile(r"[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a command is malformed. `code` picks the sentence in other languages; `text` is the English one."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a comment.

    `line` counts from 1. `whole` tells that the comment holds nothing else. With a `problem` the values are unset.
    """

    name: str
    line: int
    run_id: int | None = None
    check: int | None = None
    reason: str | None = None
    until: date | None = None
    whole: bool = False
    problem: Problem | None = None

    @property
    def digest(self) -> str:
        """Identity of what is asked, independent of the text around it (16 hexadecimal digits)."""
        values = (self.name, self.run_id, self.check, self.reason, self.until, self.whole, self.problem)
        return sha256(repr(values).encode()).hexdigest()[:16]


PROBLEMS: dict[str, str] = {
    "run-id-missing": "The run ID is missing; type `{usage}`.",
    "run-id-next-line": "The run ID belongs on the same line; type `{usage}`.",
    "run-id-invalid": "`{found}` is not a run ID; type `{usage}`.",
    "run-id-digits": "The run ID must be typed with the digits 0-9; type `{usage}`.",
    "extra-text": "There is text after the command; type `{usage}` alone on its line.",
    "check-missing": "The check number is missing; type `{usage}`.",
    "check-invalid": "`{found}` is not a check number; type `{usage}`.",
    "reason-missing": "The reason is missing; type `{usage}`.",
    "reason-long": "The reason is longer than 500 characters; shorten it and type `{usage}`.",
    "date-invalid": "`{found}` is not a date; type `{usage}`.",
    "direction-marks": "The line holds invisible direction marks; type `{usage}` by hand.",
    "unknown": "There is no such command; type `/sweepgate help` to see all of them.",
    "did-you-mean": "There is no such command; did you mean `{usage}`?",
}

USAGE: dict[str, str] = {
    "use": "/use 123456789",
    "reuse-sweep-run": "/reuse-sweep-run [123456789]",
    "stage-results": "/stage-results [123456789]",
    "verify": "/verify",
    "except": "/except 14 the reason [until 2026-12-31]",
    "retry-failed": "/retry-failed",
    "merge": "/merge",
    "help": "/sweepgate help",
}


class _Malformed(Exception):  # noqa: N818
    def __init__(self, code: str, found: str = "") -> None:
        self.code, self.found = code, found
        super().__init__(code)


def parse(text: str, *, kind: Kind = "issue_comment", compat: bool = False) -> tuple[Command, ...]:
    """Every command of a comment or review body, in order. Inline review comments hold none."""
    if kind == "review_comment" or "/" not in text:
        return ()
    lines = _plain(text).split("\n")
    whole = sum(1 for line in lines if _tidy(line)) == 1
    found = []
    for number in _command_lines("\n".join(lines), compat):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        command = _read(lines[number], following, number + 1, whole)
        if command is not None:
            found.append(command)
    return tuple(found)


def as_json(command: Command) -> dict[str, Any]:
    """The stable JSON form: `{"command": "use", "run_id": 39404635036, "line": 1}`, or `problem` for the values."""
    if command.problem is not None:
        return {"command": command.name, "problem": command.problem.text, "line": command.line}
    values: dict[str, Any] = {}
    if command.name in ("use", "reuse-sweep-run", "stage-results"):
        values["run_id"] = command.run_id
    if command.name == "except":
        until = command.until.isoformat() if command.until else None
        values.update(check=command.check, reason=command.reason, until=until)
    return {"command": command.name, **values, "line": command.line}


def _plain(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    return text.replace(_MARK_OPEN, "\ufffd").replace(_MARK_CLOSE, "\ufffd")


def _tidy(line: str) -> str:
    """The line as a reader sees it: no zero-width characters, every run of white space one space."""
    return " ".join(line.translate(_ZERO_WIDTH).split())


def large_tables(lines: list[str]) -> set[int]:
    """Numbers (from 0) of lines in tables that hold too many cells together: to lay them out would take a minute."""
    cells, end = 0, len(lines)
    starts: dict[int, int] = {}
    for number in range(len(lines) - 1, -1, -1):
        line = lines[number]
        if not line.strip():
            end = number
        elif "|" in line and _DELIMITER_ROW.fullmatch(line):
            cells += (end - number) * (line.count("|") + 1)
            starts[end] = max(0, number - 1)
    if cells <= MANY_CELLS:
        return set()
    return {number for last, first in starts.items() for number in range(first, last)}


def _markdown(text: str, tables: bool) -> MarkdownIt:
    # A line of dashes below a command is a separator to its writer, not a heading: the setext rule is off.
    markdown = MarkdownIt("commonmark", {"maxNesting": 100}).disable("lheading")
    if tables:
        markdown.enable("table")
    # Links among thousands of brackets would take quadratic time to find; no command line begins inside one.
    return markdown.disable(["link", "image"]) if text.count("[") > MANY_BRACKETS else markdown


def _command_lines(text: str, compat: bool) -> Iterator[int]:
    """Line numbers (from 0) whose first visible character is a slash in a top-level paragraph.

    Each such line gets a marker before it is parsed; the marker survives as plain text only where Markdown shows
    plain text, so no second reading of code spans, links and HTML is needed here.
    """
    lines = text.split("\n")
    unread = large_tables(lines)
    marked = "\n".join(
        line if number in unread else _CANDIDATE.sub(rf"\g<1>{_MARK_OPEN}{number}{_MARK_CLOSE}", line, count=1)
        for number, line in enumerate(lines)
    )
    if _MARK_OPEN not in marked:
        return
    quoting: tuple[str, ...] = ()
    for token in _markdown(marked, tables=not unread).parse(marked):
        if token.type == "html_block":
            quoting = _quoting(token.content, quoting)
        elif token.type == "inline" and token.level == 1:
            quoting = yield from _inline_lines(token, quoting)
        elif compat and token.type in ("fence", "code_block") and token.level == 0:
            yield from (int(number) for number in _MARKED.findall(token.content))


def _inline_lines(token: Token, quoting: tuple[str, ...]) -> Generator[int, None, tuple[str, ...]]:
    links = 0
    at_start = True
    for child in token.children or ():
        if child.type == "html_inline":
            quoting = _quoting(child.content, quoting)
        links += {"link_open": 1, "link_close": -1}.get(child.type, 0)
        match = _MARKED.match(child.content) if child.type == "text" and at_start else None
        if match and links == 0 and not quoting:
            yield int(match.group(1))
        at_start = child.type in ("softbreak", "hardbreak")
    return quoting


def _quoting(html: str, inside: tuple[str, ...]) -> tuple[str, ...]:
    """The quoting elements that stand open after `html`. A tag closes only an element of its own name."""
    opened = list(inside)
    for match in _TAG.finditer(html):
        tag = (match[2] or "").lower()
        if tag in _QUOTING and not match[1]:
            opened.append(tag)
        elif tag in opened:
            del opened[len(opened) - 1 - opened[::-1].index(tag) :]
    return tuple(opened)


def _read(raw: str, following: str, line: int, whole: bool) -> Command | None:
    shown = _tidy(_DIRECTION.sub("", raw))
    word, _, rest = shown.partition(" ")
    name = word[1:]
    if name == "sweepgate":
        name = "help"
        rest = "" if rest == "help" else rest or "?"
    if name not in _READERS:
        return _guess(name, rest, line, whole)
    if _DIRECTION.search(raw):
        return Command(name, line, whole=whole, problem=_problem("direction-marks", name))
    try:
        values = _READERS[name](rest, _tidy(following))
    except _Malformed as error:
        return Command(name, line, whole=whole, problem=_problem(error.code, name, error.found))
    return Command(name, line, whole=whole, **values)


def _problem(code: str, name: str, found: str = "") -> Problem:
    shown = found if len(found) <= 40 else found[:39] + "…"
    return Problem(code, PROBLEMS[code].format(usage=USAGE[name], found=shown.replace("`", "'")))


def _required_id(rest: str, following: str) -> dict[str, Any]:
    if not rest:
        raise _Malformed("run-id-next-line" if following and following.isdigit() else "run-id-missing")
    return {"run_id": _run_id(rest)}


def _optional_id(rest: str, following: str) -> dict[str, Any]:
    if not rest and following and following.isdigit():
        raise _Malformed("run-id-next-line")
    return {"run_id": _run_id(rest) if rest else None}


def _run_id(rest: str) -> int:
    first, _, more = rest.partition(" ")
    if not _ID_SHAPE.fullmatch(first):
        foreign = any(character.isdigit() and not character.isascii() for character in first)
        raise _Malformed("run-id-digits" if foreign else "run-id-invalid", first)
    if more:
        raise _Malformed("extra-text")
    number = int(first)
    if not 0 < number <= MAX_RUN_ID:
        raise _Malformed("run-id-invalid", first)
    return number


def _nothing(rest: str, _following: str) -> dict[str, Any]:
    if rest:
        raise _Malformed("extra-text")
    return {}


def _help(rest: str, _following: str) -> dict[str, Any]:
    if rest:
        raise _Malformed("unknown")
    return {}


def _exception(rest: str, _following: str) -> dict[str, Any]:
    if not rest:
        raise _Malformed("check-missing")
    number, _, reason = rest.partition(" ")
    if not re.fullmatch(r"[0-9]{1,3}", number):
        raise _Malformed("check-invalid", number)
    reason, until = _until(reason)
    if not reason:
        raise _Malformed("reason-missing")
    if len(reason) > MAX_REASON:
        raise _Malformed("reason-long")
    return {"check": int(number), "reason": reason, "until": until}


def _until(reason: str) -> tuple[str, date | None]:
    """Split a final "until <date>" off a reason; "until it is fixed" without a digit stays part of the reason."""
    match = re.search(r"(?:^| )until (\S*[0-9]\S*)$", reason)
    if not match:
        return reason, None
    shape = re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", match.group(1), re.ASCII)
    try:
        if not shape:
            raise ValueError
        until = date.fromisoformat(match.group(1))
    except ValueError:
        raise _Malformed("date-invalid", match.group(1)) from None
    return reason[: match.start()], until


_READERS: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "use": _required_id,
    "reuse-sweep-run": _optional_id,
    "stage-results": _optional_id,
    "verify": _nothing,
    "except": _exception,
    "retry-failed": _nothing,
    "merge": _nothing,
    "help": _help,
}

# "use" is too short to guess at: "/user" and "/used" are ordinary words.
_GUESSED = ("reuse-sweep-run", "stage-results", "verify", "except", "retry-failed", "merge")


def _guess(name: str, rest: str, line: int, whole: bool) -> Command | None:
    """A mistyped command, if the line is one word with at most one argument and close to a name of ours."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z_-]*", name) or " " in rest:
        return None
    typed = name.lower().replace("_", "-")
    if typed == "reuse":
        near: str | None = "reuse-sweep-run"
    else:
        near = next((known for known in _GUESSED if _close(typed, known)), None)
    if near is None:
        return None
    code = "extra-text" if near == "stage-results" and typed.startswith(near) else "did-you-mean"
    return Command(near, line, whole=whole, problem=_problem(code, near))


def _close(typed: str, known: str) -> bool:
    allowed = 2 if len(known) > 8 else 1
    return abs(len(typed) - len(known)) <= allowed and _distance(typed, known) <= allowed


def _distance(left: str, right: str) -> int:
    """Edit distance with swapped neighbours counted once (Damerau, restricted form)."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        current = [i]
        for j, b in enumerate(right, 1):
            cost = min(row[j] + 1, current[j - 1] + 1, row[j - 1] + (a != b))
            if before and i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        before, row = row, current
    return row[-1]
