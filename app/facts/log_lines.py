"""Purpose: a job log of any size as numbered, bounded, clean lines.

Invariants: memory is bounded by one chunk and one line (`MAX_LINE` characters; the rest of a longer line is dropped,
and it still counts as one line). GitHub's timestamp, ANSI sequences, control and
direction characters are gone. Nothing raises.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

MAX_LINE = 131_072
HIDDEN = "***"

_TIMESTAMP = re.compile(r"\A\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z ?")
_ESCAPES = re.compile(r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]|\x1b\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)|\x1b[@-_]?")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_CREDENTIAL = (
    r"(?:api|access|auth|admin|private)[-_]?(?:key|token)|(?:hf|github|gh|ngc)[-_]?token|password|passwd|secret"
)
_NAMED_SECRET = re.compile(
    rf"(?i)\b([\w-]{{0,40}}(?:{_CREDENTIAL})[\w-]{{0,40}}['\"]?(?:\s*[=:]\s*|\s+))(?!None\b)['\"]?[^\s'\",)]+"
)
_SHAPED_SECRET = re.compile(
    r"\b(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|hf_[A-Za-z0-9]{16,}|nvapi-[\w-]{16,})|(?i:Bearer) [\w.~+/-]{8,}"
)


def redacted(text: str) -> str:
    """Text without what looks like a credential: GitHub masks only what it was told to mask."""
    return _SHAPED_SECRET.sub(HIDDEN, _NAMED_SECRET.sub(rf"\g<1>{HIDDEN}", text))


def secret_name(flag: str) -> bool:
    """True for a flag or variable that holds a credential."""
    return re.search(rf"(?i)\A(?:[\w-]*[-_])?(?:{_CREDENTIAL})(?:[-_][\w-]*)?\Z", flag) is not None


def numbered_lines(text: str | Iterable[str]) -> Iterator[tuple[int, str]]:
    """(line number from 1, clean line) of a log given whole or in chunks. A trailing newline ends the last line."""
    lines = _cut_lines((text,) if isinstance(text, str) else text)
    return ((number, clean(line)) for number, line in enumerate(lines, 1))


def clean(line: str) -> str:
    """One line without timestamp, colours and control characters; tabs become spaces."""
    bare = _TIMESTAMP.sub("", line, count=1)
    if "\x1b" in bare:
        bare = _ESCAPES.sub("", bare)
    if not bare.isprintable():
        bare = _CONTROL.sub("", bare.replace("\t", " "))
    return bare.rstrip()


def _cut_lines(chunks: Iterable[str]) -> Iterator[str]:
    held, length, open_line = [], 0, False
    for chunk in chunks:
        start = 0
        while start < len(chunk):
            end = chunk.find("\n", start)
            stop = len(chunk) if end < 0 else end
            room = MAX_LINE - length
            if room > 0:
                piece = chunk[start : min(stop, start + room)]
                held.append(piece)
                length += len(piece)
            open_line = True
            if end < 0:
                break
            yield "".join(held)
            held, length, open_line = [], 0, False
            start = end + 1
    if open_line:
        yield "".join(held)
