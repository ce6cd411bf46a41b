"""Purpose: tables of Markdown texts: read where they are small, paragraphs where their layout would take long."""

from __future__ import annotations

from app.target.markdown_blocks import Paragraph, Table, blocks, visible_lines


def table(columns: int, rows: int) -> str:
    return f"{'|a' * columns}|\n{'|-' * columns}|\n" + "|b\n" * rows


def test_a_small_table_is_a_table() -> None:
    (found,) = blocks(table(3, 2))
    assert isinstance(found, Table)
    assert (len(found.header), len(found.rows)) == (3, 2)


def test_many_tables_whose_empty_cells_would_take_a_minute_are_paragraphs() -> None:
    found = blocks(f"{table(200, 200)}\n" * 30)
    assert len(found) == 30
    assert all(isinstance(block, Paragraph) for block in found)


def test_the_lines_of_a_table_stay_visible_lines() -> None:
    text = f"{table(3, 2)}\n> quoted\n"
    assert visible_lines(text) == ["|a|a|a|", "|-|-|-|", "|b", "|b", "", "", ""]
