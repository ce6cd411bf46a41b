"""Purpose: the YAML under recipes: places of nodes, aliases, merges, and what an unreadable file is told."""

from __future__ import annotations

import pytest

from app.target.recipe_document import mapping_of, plain, read_document, read_whole
from app.target.source import RejectedInput


def read(text: str | bytes) -> object:
    return plain(read_document("r.yaml", text.encode() if isinstance(text, str) else text))


def test_an_alias_and_a_merge_key_are_resolved_and_own_keys_win() -> None:
    text = "one: &one {a: 1, b: 2}\ntwo: &two {b: 3, c: 4}\nall:\n  <<: [*one, *two]\n  c: 5\nsame: *one\n"
    assert read(text) == {
        "one": {"a": 1, "b": 2},
        "two": {"b": 3, "c": 4},
        "all": {"b": 2, "c": 5, "a": 1},
        "same": {"a": 1, "b": 2},
    }


def test_a_colon_in_a_plain_scalar_of_a_flow_mapping_is_read() -> None:
    assert read("model: { path: x, container: host/image:tag }\n") == {
        "model": {"path": "x", "container": "host/image:tag"}
    }


def test_a_node_of_a_mapping_stands_at_its_key_and_one_of_a_list_at_the_item() -> None:
    node = read_document("r.yaml", b"a:\n  b: 1\n  c: [1,\n      2]\n")
    assert (node.value["a"].value["b"].line, node.value["a"].value["b"].column) == (2, 3)
    assert [item.line for item in node.value["a"].value["c"].value] == [3, 4]


def test_what_an_alias_brings_stands_where_it_was_written() -> None:
    node = read_document("r.yaml", b"one: &one\n  a: 1\ntwo: *one\n")
    assert node.value["two"].line == 3
    assert node.value["two"].value["a"].line == 2


BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + place)}: &{chr(98 + place)} [{','.join(['*' + chr(97 + place)] * 10)}]\n" for place in range(8)
)
UNREADABLE = [
    ("broken syntax", "a: b: c\n", "r.yaml:1:5", "valid YAML"),
    ("a tab as indentation", "a:\n\tb: 1\n", "r.yaml:2:", ""),
    ("a NUL byte", "a: b\0c\n", "r.yaml:1", ""),
    ("bytes that are no UTF-8", b"a: 1\nb: \xff\n", "r.yaml:2", "UTF-8"),
    ("an empty file", "", "r.yaml:1", ""),
    ("two documents", "a: 1\n---\nb: 2\n", "r.yaml", "one document"),
    ("a duplicate key names both lines", "a: 1\nb: 2\na: 3\n", "r.yaml:3:1", "first at line 1"),
    ("a list as key", "? [a]\n: 1\n", "r.yaml:1", ""),
    ("an alias without an anchor", "a: *b\n", "r.yaml:1:4", "anchor"),
    ("an alias inside its own anchor", "a: &a [*a]\n", "r.yaml:1:8", "*a"),
    ("an alias bomb", BOMB, "r.yaml", "nodes"),
    ("nesting a thousand deep", "[" * 1000 + "]" * 1000, "r.yaml:1", "100 levels"),
    ("a date that does not exist", "a: 2026-13-01\n", "r.yaml:1:4", "2026-13-01"),
    ("a merge of a scalar", "<<: 3\n", "r.yaml:1", "mapping"),
]


@pytest.mark.parametrize(
    ("text", "place", "words"), [row[1:] for row in UNREADABLE], ids=[row[0] for row in UNREADABLE]
)
def test_an_unreadable_file_is_told_with_its_place(text: str | bytes, place: str, words: str) -> None:
    with pytest.raises(RejectedInput) as told:
        read(text)
    assert place in str(told.value)
    assert words in str(told.value)


def test_windows_line_ends_and_a_byte_order_mark_do_not_matter() -> None:
    assert read(b"\xef\xbb\xbfa:\r\n  b: 1\r\n") == {"a": {"b": 1}}


def test_doubled_keys_are_told_apart_so_that_old_files_can_still_be_read() -> None:
    document = read_whole("r.yaml", b"a: 1\nb: 2\na: 3\n")
    assert plain(document.root) == {"a": 3, "b": 2}
    assert [problem.where.line for problem in document.doubled] == [3]


def test_keys_are_strings_unless_a_file_is_keyed_by_numbers() -> None:
    node = read_document("r.yaml", b"1: a\n2: b\n")
    assert list(mapping_of("r.yaml", node, "A table", any_keys=True)) == [1, 2]
    with pytest.raises(RejectedInput, match="must be a string"):
        mapping_of("r.yaml", node, "A table")
