"""Purpose: Markdown files of the target repository as blocks with lines: headings, paragraphs, tables, fences, items.

Invariants: lines count from 1. Inline text stays as written; `without_markup` turns links into their text and drops
emphasis. Text in code, quotes and HTML comments is never seen as prose (`visible_lines`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading, its level from 1 to 6."""

    level: int
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph outside tables (list items included)."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class TableRow:
    """One body row: its cells as written."""

    cells: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its header cells."""

    header: tuple[str, ...]
    rows: tuple[TableRow, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Fence:
    """A code fence. `line` is the first line of its content."""

    content: str
    line: int


Block = Heading | Paragraph | Table | Fence


@lru_cache(maxsize=2)
def _parser(tables: bool) -> Any:
    """Blocks only: inline text stays as written, and parsing it takes quadratic time where somebody wants it to."""
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark").disable("inline")
    return markdown.enable("table") if tables else markdown


def blocks(text: str) -> tuple[Block, ...]:
    """The blocks of a Markdown text, in order. Tables too large to lay out are read as paragraphs."""
    from app.commands import large_tables

    return tuple(_blocks(_parser(tables=not large_tables(text.splitlines())).parse(text)))


def _blocks(tokens: list[Any]) -> Iterator[Block]:
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.type == "heading_open":
            yield Heading(int(token.tag[1:]), tokens[position + 1].content, token.map[0] + 1)
            position += 2
        elif token.type == "paragraph_open":
            yield Paragraph(tokens[position + 1].content, token.map[0] + 1)
            position += 2
        elif token.type == "fence":
            yield Fence(token.content, token.map[0] + 2)
        elif token.type == "table_open":
            end = next(at for at in range(position, len(tokens)) if tokens[at].type == "table_close")
            yield _table(tokens[position:end])
            position = end
        position += 1


def _table(tokens: list[Any]) -> Table:
    rows: list[TableRow] = []
    cells: list[str] = []
    line = tokens[0].map[0] + 1
    for before, token in pairwise(tokens):
        if token.type == "tr_open":
            cells, line = [], (token.map or tokens[0].map)[0] + 1
        elif token.type == "inline" and before.type in ("th_open", "td_open"):
            cells.append(token.content.strip())
        elif token.type == "tr_close":
            rows.append(TableRow(tuple(cells), line))
    header, body = (rows[0], rows[1:]) if rows else (TableRow((), line), [])
    return Table(header.cells, tuple(body), tokens[0].map[0] + 1)


_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_NOT_NEWLINE = re.compile(r"[^\n]")


def visible_lines(text: str) -> list[str]:
    """The lines of a text, blank where they are code, quotes or HTML comments. As many lines as the text has."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    for token in _parser(tables=False).parse(text):
        if token.type in ("fence", "code_block", "blockquote_open") and token.map:
            for number in range(token.map[0], min(token.map[1], len(lines))):
                lines[number] = ""
    shown = _COMMENT.sub(lambda match: _NOT_NEWLINE.sub(" ", match.group()), "\n".join(lines))
    return shown.split("\n")


# Bounded, so that a text of brackets costs no quadratic time.
_IMAGE = re.compile(r"!\[[^\]]{0,300}\]\([^)]{0,1000}\)")
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]{0,300}\]){0,300})\]\([^)\s]{0,1000}(?:\s[^)]{0,300})?\)")
_URL = re.compile(r"https?://[^\s)>\]]+")


def without_markup(text: str) -> str:
    """Plain text: links as their text, no emphasis, no code marks, single spaces."""
    text = _LINK.sub(r"\1", _IMAGE.sub("", text))
    text = re.sub(r"[*`]|(?<!\w)_+|_+(?!\w)", "", text)
    return " ".join(text.split())


def urls(text: str) -> tuple[str, ...]:
    """Addresses in a text, in order, without the punctuation that ends a sentence."""
    return tuple(match.group().rstrip(".,;:!?*`'\"") for match in _URL.finditer(text))


def without_urls(text: str) -> str:
    return _URL.sub(" ", text)
