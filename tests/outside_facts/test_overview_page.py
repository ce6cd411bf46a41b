"""Purpose: tables of the overview page, in Markdown and in HTML."""

from __future__ import annotations

import pytest

from app.facts.overview_page import column_of, table_with, tables

MARKDOWN = b"""# Recipes

## Framework Recipes

| Model | SGLang | vLLM |
|---|:---:|---|
| **Model-A** | [yes](https://a.example/sglang "title") | |
| Model-B | \xe2\x9d\x8c | soon \\| later |

## Dynamo Disaggregated Recipes

| Model | Dynamo + SGLang |
|---|---|
| Model-A | [ok](https://a.example/dynamo) |

No table | here
"""
HTML = b"""<h2>Framework <em>Recipes</em></h2><table><thead><tr><th>Model</th><th>SGLang</th></tr></thead>
<tbody><tr><td>Model-A</td><td><a href="https://a.example/sglang">&#9989;</a></td></tr>
<tr><td>Model-B</td><td> </td></tr></tbody></table>"""


@pytest.mark.parametrize("page", [MARKDOWN, HTML], ids=["Markdown", "HTML"])
def test_cells_are_found_by_row_and_column(page: bytes) -> None:
    table = table_with(tables(page), "sglang")
    assert table is not None
    assert table.heading == "Framework Recipes"
    row = table.row(["model a"])
    assert row is not None
    cell = table.rows[row][column_of(table, "SGLANG") or ""]
    assert cell.links == ("https://a.example/sglang",)
    assert cell.populated
    other = table.rows[table.row(["Model-B"]) or ""]["SGLang"]
    assert not other.populated


def test_the_dynamo_table_has_columns_of_its_own() -> None:
    table = table_with(tables(MARKDOWN), "Dynamo + SGLang")
    assert table is not None
    assert table.heading == "Dynamo Disaggregated Recipes"
    assert table.lines["Model-A"] == 14


def test_a_word_without_a_link_is_populated_but_has_no_link() -> None:
    table = table_with(tables(MARKDOWN), "vLLM")
    assert table is not None
    cell = table.rows["Model-B"]["vLLM"]
    assert (cell.text, cell.links, cell.populated) == ("soon | later", (), True)


@pytest.mark.parametrize(
    "page",
    [b"", b"text", b"| a |\n| b |\n", b"<table></table>", b"\xff\xfe"],
    ids=["empty", "text", "no separator", "empty table", "bytes"],
)
def test_a_page_without_tables_has_none(page: bytes) -> None:
    assert tables(page) == ()
