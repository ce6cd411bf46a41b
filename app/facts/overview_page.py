"""Purpose: the tables of the NVIDIA overview page: which model has a linked recipe for which engine.

Source: evidence.md 9.2. The page is Markdown (`overview.md`) or HTML; a table belongs to the last heading before it.

Invariants: nothing is assumed of row or column order; a page without tables gives no tables (the caller says so).
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser

_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*\s*$")
_SEPARATOR = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$")
_LINK = re.compile(r"\[([^\]]*)\]\(\s*<?([^)\s>]+)>?[^)]*\)")
_EMPTY = frozenset({"", "-", "–", "—", "n/a", "❌", "✗", "tbd", "coming soon"})


@dataclass(frozen=True)
class Cell:
    """Visible text and link targets of a table cell."""

    text: str
    links: tuple[str, ...]

    @property
    def populated(self) -> bool:
        return bool(self.links) or self.text.casefold() not in _EMPTY


@dataclass(frozen=True)
class Table:
    """A table below a heading: column names, and rows by the text of their first cell."""

    heading: str
    columns: tuple[str, ...]
    rows: Mapping[str, Mapping[str, Cell]]
    lines: Mapping[str, int]

    def row(self, names: Sequence[str]) -> str | None:
        """The row whose name is one of `names`, compared without case, spaces and punctuation."""
        wanted = {_folded(name) for name in names}
        return next((name for name in self.rows if _folded(name) in wanted), None)


def _folded(name: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", name.casefold())


def tables(content: bytes) -> tuple[Table, ...]:
    """Every table of the page, in order."""
    text = content.decode("utf-8", "replace")
    if "<table" in text.lower():
        return tuple(_html_tables(text))
    return tuple(_markdown_tables(text))


def table_with(found: Sequence[Table], column: str) -> Table | None:
    """The first table that has a column of that name."""
    wanted = _folded(column)
    return next((table for table in found if any(_folded(name) == wanted for name in table.columns)), None)


def column_of(table: Table, column: str) -> str | None:
    wanted = _folded(column)
    return next((name for name in table.columns if _folded(name) == wanted), None)


def _markdown_tables(text: str) -> Iterator[Table]:
    heading = ""
    lines = text.splitlines()
    position = 0
    while position < len(lines):
        match = _HEADING.match(lines[position])
        if match:
            heading = match[1]
        elif "|" in lines[position] and position + 1 < len(lines) and _SEPARATOR.match(lines[position + 1]):
            columns = [_markdown_cell(cell).text for cell in _split(lines[position])]
            rows: list[tuple[int, list[Cell]]] = []
            position += 2
            while position < len(lines) and "|" in lines[position]:
                rows.append((position + 1, [_markdown_cell(cell) for cell in _split(lines[position])]))
                position += 1
            yield _table(heading, columns, rows)
            continue
        position += 1


def _split(line: str) -> list[str]:
    body = line.strip().removeprefix("|").removesuffix("|")
    return [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", body)]


def _markdown_cell(text: str) -> Cell:
    links = tuple(target for _, target in _LINK.findall(text))
    shown = _LINK.sub(lambda match: match[1], text)
    return Cell(html.unescape(re.sub(r"[*_`]", "", shown)).strip(), links)


def _table(heading: str, columns: Sequence[str], rows: Sequence[tuple[int, Sequence[Cell]]]) -> Table:
    named: dict[str, Mapping[str, Cell]] = {}
    lines: dict[str, int] = {}
    for line, cells in rows:
        if not cells or not cells[0].text or cells[0].text in named:
            continue
        named[cells[0].text] = dict(zip(columns, cells, strict=False))
        lines[cells[0].text] = line
    return Table(heading, tuple(columns), named, lines)


class _Reader(HTMLParser):
    """Collects headings and tables; nested tables are read as part of the outer cell's text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, list[tuple[int, list[Cell]]]]] = []
        self._heading = ""
        self._in_heading = False
        self._rows: list[tuple[int, list[Cell]]] | None = None
        self._text: list[str] | None = None
        self._links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if re.fullmatch(r"h[1-6]", tag):
            self._in_heading, self._heading = True, ""
        elif tag == "table" and self._rows is None:
            self._rows = []
        elif tag == "tr" and self._rows is not None:
            self._rows.append((self.getpos()[0], []))
        elif tag in ("td", "th") and self._rows:
            self._text, self._links = [], []
        elif tag == "a" and self._text is not None:
            self._links += [value for name, value in attrs if name == "href" and value]

    def handle_endtag(self, tag: str) -> None:
        if re.fullmatch(r"h[1-6]", tag):
            self._in_heading = False
        elif tag in ("td", "th") and self._rows and self._text is not None:
            self._rows[-1][1].append(Cell(" ".join("".join(self._text).split()), tuple(self._links)))
            self._text = None
        elif tag == "table" and self._rows is not None:
            self.found.append((self._heading.strip(), self._rows))
            self._rows = None

    def handle_data(self, data: str) -> None:
        if self._in_heading:
            self._heading += data
        if self._text is not None:
            self._text.append(data)


def _html_tables(text: str) -> Iterator[Table]:
    reader = _Reader()
    reader.feed(text)
    reader.close()
    for heading, rows in reader.found:
        filled = [row for row in rows if row[1]]
        if len(filled) > 1:
            yield _table(heading, [cell.text for cell in filled[0][1]], filled[1:])
