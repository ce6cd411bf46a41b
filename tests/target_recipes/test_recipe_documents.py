"""Purpose: the YAML under recipes: values as YAML 1.1, lines, aliases, merges, and every kind of unreadable file."""

from __future__ import annotations

import pytest

from app.target.recipe_document import MAX_DEPTH, plain, read_document
from app.target.source import RejectedInput


def read(text: str | bytes) -> object:
    return plain(read_document("r.yaml", text.encode() if isinstance(text, str) else text))


VALUES = [
    ("on is true", "on", True),
    ("No is false", "No", False),
    ("010 is eight", "010", 8),
    ("1e3 is text", "1e3", "1e3"),
    ("1.5e+3 is a number", "1.5e+3", 1500.0),
    ("1_000 is a thousand", "1_000", 1000),
    ("a quoted number is text", "'8'", "8"),
    ("tilde is null", "~", None),
    ("a colon inside a word stays", "lmsysorg/sglang:v1", "lmsysorg/sglang:v1"),
]


@pytest.mark.parametrize(("text", "value"), [row[1:] for row in VALUES], ids=[row[0] for row in VALUES])
def test_a_scalar_reads_as_in_yaml_1_1(text: str, value: object) -> None:
    found = read(f"a: {text}\n")
    assert found == {"a": value}
    assert type(found["a"]) is type(value)  # type: ignore[index]


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


def test_a_node_knows_its_line_and_column() -> None:
    node = read_document("r.yaml", b"a:\n  b: 1\n  c: [1,\n      2]\n")
    assert (node.value["a"].value["b"].line, node.value["a"].value["b"].column) == (2, 6)
    assert node.value["a"].value["c"].value[1].line == 4


BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + place)}: &{chr(98 + place)} [{','.join(['*' + chr(97 + place)] * 10)}]\n" for place in range(8)
)
UNREADABLE = [
    ("broken syntax", "a: b: c\n", "r.yaml:1:5", "no YAML"),
    ("a tab as indentation", "a:\n\tb: 1\n", "r.yaml:2:", ""),
    ("a NUL byte", "a: b\0c\n", "r.yaml:1", ""),
    ("bytes that are no UTF-8", b"a: 1\nb: \xff\n", "r.yaml:2", "UTF-8"),
    ("an empty file", "", "r.yaml:1", ""),
    ("two documents", "a: 1\n---\nb: 2\n", "r.yaml", "one document"),
    ("a duplicate key names both lines", "a: 1\nb: 2\na: 3\n", "r.yaml:3:1", "line 1"),
    ("a key that is no string", "on: 1\n", "r.yaml:1:1", "string"),
    ("a list as key", "? [a]\n: 1\n", "r.yaml:1", ""),
    ("an alias without an anchor", "a: *b\n", "r.yaml:1:4", "anchor"),
    ("an alias inside its own anchor", "a: &a [*a]\n", "r.yaml:1:8", "*a"),
    ("an alias bomb", BOMB, "r.yaml", "Alias"),
    ("nesting a thousand deep", "[" * 1000 + "]" * 1000, "r.yaml:1", str(MAX_DEPTH)),
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
