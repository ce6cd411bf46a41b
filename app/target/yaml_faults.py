"""Purpose: what makes a YAML file unreadable, told with its place: size, NUL, encoding, and the parser's own faults."""

from __future__ import annotations

from typing import Any, Final

from app.target.source import FileLine, RejectedInput, reject

MAX_BYTES: Final = 8_000_000


def check_bytes(content: bytes, path: str, sha: str) -> None:
    """Size, NUL and UTF-8, before any parsing. Raises RejectedInput."""
    if len(content) > MAX_BYTES:
        fix = "Split the file or remove what does not belong in it."
        raise reject(
            FileLine(path, 1, 0, sha),
            f"A YAML file may have {MAX_BYTES:,} bytes.",
            f"{len(content):,} bytes",
            fix,
            0,
        )
    try:
        content.decode()
    except UnicodeDecodeError as error:
        place = _byte_place(content, error.start, path, sha)
        found = f"byte 0x{content[error.start]:02x}"
        raise reject(place, "The file must be UTF-8.", found, "Save the file as UTF-8.", 0) from None
    if b"\0" in content:
        place = _byte_place(content, content.index(b"\0"), path, sha)
        raise reject(
            place,
            "NUL bytes are not allowed.",
            "\\0",
            "Save the file as plain UTF-8 text.",
            0,
        )


def _byte_place(content: bytes, offset: int, path: str, sha: str) -> FileLine:
    start = content.rfind(b"\n", 0, offset) + 1
    return FileLine(path, content.count(b"\n", 0, offset) + 1, offset - start + 1, sha)


def syntax_fault(error: Any, path: str, sha: str, first: int) -> RejectedInput:
    """A fault of the C parser in our words: its problem, its place and what to look for."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or "unreadable text")
    context = getattr(error, "context", None)
    where = FileLine(path, first, 0, sha)
    if mark is not None:
        where = FileLine(path, first + mark.line, mark.column + 1, sha)
    found = f"{problem} ({context})" if context else problem
    fix = "Use spaces, not tabs, to indent." if "'\\t'" in problem else "Check indentation, quotes and brackets here."
    return reject(where, "The file must be valid YAML.", found, fix, 0)
