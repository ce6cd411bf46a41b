"""Purpose: reading by blocks gives what reading whole gives, whatever was read before."""

from __future__ import annotations

import re

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from app.target.source import RejectedInput
from app.target.yaml_blocks import forget_blocks, read_blocks, read_difference
from tests.support import made_masters as made


@pytest.fixture(autouse=True)
def _cold() -> None:
    forget_blocks()


def values(text: str, *, items: bool = False) -> object:
    blocks = read_blocks(text.encode(), "f.yaml", items=items)
    return [block.value for block in blocks] if items else {block.key: block.value for block in blocks}


TEXTS = [
    pytest.param("a: 1\nb:\n- x\n- y\n# c\nc: {d: 1}\n", id="plain blocks"),
    pytest.param("a: |\n  b: 1\n\n  c: 2\nd: 3\n", id="keys inside a block text"),
    pytest.param('a: "x\n  y"\nb: 1\n', id="a quoted text over two lines"),
    pytest.param('a: "x\nb: y"\nc: 1\n', id="a quoted text that continues at the first column"),
    pytest.param("a: [\n1,\n2]\nb: 1\n", id="a list that continues at the first column"),
    pytest.param("a: &x 1\nb: *x\n", id="an alias across blocks"),
    pytest.param("{a: 1, b: 2}\n", id="a flow mapping"),
    pytest.param("---\na: 1\nb: 2\n...\n", id="document markers"),
    pytest.param("? a\n: 1\nb: 2\n", id="an explicit key"),
    pytest.param("'a': 1\n\"b\": 2\n", id="quoted keys"),
    pytest.param("\ufeffa: 1\nb: 2\n", id="a byte order mark"),
    pytest.param("a: 1\r\nb:\r\n  c: 2\r\n", id="carriage returns"),
    pytest.param("  a: 1\n  b: 2\n", id="an indented root"),
    pytest.param("a: 1\n\n\n# tail\n", id="comments at the end"),
    pytest.param("a:\nb:\n", id="empty values"),
    pytest.param("<<: {a: 1}\n", id="one merge key at the root"),
]


@pytest.mark.parametrize("text", TEXTS)
def test_equals_pyyaml_cold_and_warm(text: str) -> None:
    wanted = yaml.safe_load(text)
    assert values(text) == wanted
    assert values(text) == wanted


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 400), min_size=1, max_size=4), st.randoms())
def test_an_edited_master_reads_equal_to_pyyaml_after_its_first_version(cuts: list[int], random: object) -> None:
    text = made.master(6)
    values(text)
    for cut in cuts:
        place = cut * len(text) // 401
        text = text[:place] + "# note\n"[: cut % 8] + text[place + cut % 3 :]
    try:
        wanted = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        with pytest.raises(RejectedInput):
            values(text)
        return
    try:
        found = values(text)
    except RejectedInput as rejected:
        assert re.search("once|mapping of keys|no field", str(rejected)), "only what PyYAML lets pass silently"
        return
    assert found == wanted


def test_only_changed_blocks_are_parsed_again() -> None:
    before = {block.key: block.content for block in read_blocks(made.master(8).encode(), "f.yaml")}
    edited = made.master(8).replace("example/model-3", "example/other-3")
    after = {block.key: block.content for block in read_blocks(edited.encode(), "f.yaml")}
    changed = [key for key in after if after[key] is not before[key]]
    assert changed == [made.key(3, "agentic-disagg")]


def test_a_cached_block_tells_the_lines_of_the_file_it_stands_in_now() -> None:
    read_blocks(b"a:\n  x: 1\nb:\n  y: 2\n", "first.yaml")
    moved = read_blocks(b"# head\n# more\nb:\n  y: 2\n", "second.yaml")
    assert str(moved[0].where) == "second.yaml:3:1"
    assert str(moved[0].marks.where(moved[0].value, ("y",), moved[0].where)) == "second.yaml:4:3"


def test_a_key_repeated_in_a_cached_block_is_refused() -> None:
    read_blocks(b"a: 1\nb: 2\n", "f.yaml")
    with pytest.raises(RejectedInput, match="first at line 1"):
        read_blocks(b"a: 1\nb: 2\na: 3\n", "f.yaml")


@pytest.mark.parametrize(("text", "items"), [("- a\n", False), ("a: 1\n", True), ("just text\n", False)])
def test_a_root_of_another_kind_is_refused(text: str, items: bool) -> None:
    with pytest.raises(RejectedInput, match="The file must be a"):
        values(text, items=items)


def difference(before: str, after: str) -> tuple[list[object], list[object]] | None:
    found = read_difference((before.encode(), "a.yaml", ""), (after.encode(), "b.yaml", ""))
    return None if found is None else ([b.value for b in found[0]], [b.value for b in found[1]])


def test_the_difference_of_lists_is_by_text_and_counts_repeats() -> None:
    assert difference("- a\n- b\n- a\n", "- a\n- b\n- a\n- a\n- c\n") == ([], ["a", "c"])
    assert difference("- a\n- b\n", "- b\n") == (["a"], [])
    assert difference("- a\n", "- a\n") == ([], [])


def test_new_items_know_their_lines() -> None:
    before, after = b"- a\n- b\n", b"- a\n# x\n- n\n- b\n"
    found = read_difference((before, "a.yaml", ""), (after, "b.yaml", ""))
    assert found is not None
    assert [str(block.where) for block in found[1] if block.value == "n"] == ["b.yaml:3:3"]


@pytest.mark.parametrize(
    "after",
    [
        pytest.param("- a\n  more: 1\n", id="a continuation that does not fit"),
        pytest.param('- a\n- "x\n', id="an open quote"),
        pytest.param("a: 1\n", id="another root"),
    ],
)
def test_a_difference_that_cannot_be_split_asks_for_the_whole(after: str) -> None:
    assert difference("- a\n", after) is None
