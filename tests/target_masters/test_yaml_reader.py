"""Purpose: YAML becomes plain values with places, and what would be misread is refused with line, column and fix."""

from __future__ import annotations

import time
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from app.target.source import RejectedInput
from app.target.yaml_faults import MAX_BYTES
from app.target.yaml_reader import MAX_DEPTH, read_yaml


def rejected(text: str | bytes) -> RejectedInput:
    content = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(RejectedInput) as caught:
        read_yaml(content, "configs/file.yaml", "a" * 40)
    return caught.value


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 10)
)

BAD = [
    pytest.param("a: 1\nb: 2\na: 3\n", "3:1", "A key may stand once", "first at line 1", id="a duplicate key"),
    pytest.param("a:\n  b: 1\n  b: 2\n", "3:3", "A key may stand once", "first at line 2", id="a nested duplicate"),
    pytest.param("a: 1\n\tb: 2\n", "2:1", "valid YAML", "tab", id="a tab as indentation"),
    pytest.param("a: [1, 2\n", "2:1", "valid YAML", "flow sequence", id="an open bracket"),
    pytest.param('a: "x\n', "2:1", "valid YAML", "end of stream", id="an open quote"),
    pytest.param(b"a: 1\nb: \xff\n", "2:4", "must be UTF-8", "0xff", id="invalid UTF-8"),
    pytest.param("ä: 1\n".encode("utf-16"), "1:1", "must be UTF-8", "0xff", id="UTF-16"),
    pytest.param(b"a: 1\nb: \0\n", "2:4", "NUL", "\\0", id="a NUL byte"),
    pytest.param("a: 1\n---\nb: 2\n", "2:1", "one document", "---", id="a second document"),
    pytest.param("a: !!python/name:os.system x\n", "1:4", "plain YAML types", "python", id="a language tag"),
    pytest.param("a: !!binary aGk=\n", "1:4", "plain YAML types", "binary", id="a binary tag"),
    pytest.param('a: !!int "x"\n', "1:4", "fit its tag", "x", id="a tag that does not fit"),
    pytest.param("? [a]\n: b\n", "1:5", "single value", "list", id="a list as key"),
    pytest.param("{a: 1}: b\n", "1:6", "single value", "list or mapping", id="a mapping as key"),
    pytest.param("a: *b\n", "1:4", "anchor before it", "*b", id="an alias without an anchor"),
    pytest.param("a: &a [*a]\n", "1:8", "inside its own anchor", "*a", id="a recursive alias"),
    pytest.param("a: {<<: 1}\n", "1:5", "takes a mapping", "1", id="a merge of a number"),
    pytest.param("a: 2026-13-01\n", "1:4", "cannot be read", "2026-13-01", id="a date that does not exist"),
    pytest.param("[" * 1000, f"1:{MAX_DEPTH + 1}", "levels deep", "deeper", id="a thousand open lists"),
    pytest.param(BOMB, "6:25", "nodes", "aliases expanded", id="a bomb of aliases"),
    pytest.param("- a\n" * 600_000, "500000:3", "nodes", "more", id="too many nodes"),
    pytest.param(b"#" * (MAX_BYTES + 1), "1", "bytes", "8,000,001", id="a file too large"),
]


@pytest.mark.parametrize(("text", "place", "rule", "found"), BAD)
def test_is_refused_with_place_and_reason(text: str | bytes, place: str, rule: str, found: str) -> None:
    started = time.monotonic()
    problem = rejected(text).problems[0]
    assert time.monotonic() - started < 2, "a refusal may take two seconds at most"
    assert str(problem.where) == f"configs/file.yaml:{place}"
    assert rule in problem.rule
    assert found in problem.found
    assert problem.fix.endswith(".")
    assert problem.where.sha == "a" * 40


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{" + "a," * 400_000, id="a wide flow mapping"),
        pytest.param('"' * 1_000_000, id="quotes"),
        pytest.param("&a " * 1_000_000, id="anchors"),
        pytest.param("- - " * 1_000_000, id="nested dashes"),
        pytest.param("? " * 1_000_000, id="nested question marks"),
        pytest.param("a: " * 1_000_000, id="nested colons"),
        pytest.param('a: "' + "x" * 7_000_000, id="a huge open text"),
    ],
)
def test_hostile_text_is_refused_in_bounded_time(text: str) -> None:
    started = time.monotonic()
    rejected(text)
    assert time.monotonic() - started < 2


def test_all_duplicates_are_reported_together_at_most_twenty_and_a_count() -> None:
    text = "".join(f"k{number}: 1\nk{number}: 2\n" for number in range(30))
    told = str(rejected(text)).splitlines()
    assert len(told) == 21
    assert told[-1] == "... and 10 more"


@pytest.mark.parametrize(
    ("content", "value"),
    [
        pytest.param(b"a: 1\r\nb: 2\r\n", {"a": 1, "b": 2}, id="carriage returns"),
        pytest.param(b"\xef\xbb\xbfa: 1\n", {"a": 1}, id="a byte order mark"),
        pytest.param(b"", None, id="an empty file"),
        pytest.param(b"# only a comment\n", None, id="a comment"),
        pytest.param(b"x: &x {a: 1, b: 2}\ny: {<<: *x, b: 3}\n", None, id="a merge key"),
        pytest.param(b"- &x {a: 1}\n- &y {a: 2, c: 3}\n- {<<: [*x, *y]}\n", None, id="a merge of a list"),
        pytest.param(b"a: !!str 12\nb: !!int '12'\nc: ! 12\n", None, id="tags of plain types"),
        pytest.param(b"a: |\n  x\n   y\nb: >-\n  z\n", None, id="block texts"),
        pytest.param(b"2: one\n1.5: more\nyes: sure\n", None, id="keys that are no text"),
        pytest.param(b"%YAML 1.1\n---\na: 1\n...\n", None, id="a directive"),
    ],
)
def test_reads_the_value_that_pyyaml_reads(content: bytes, value: Any) -> None:
    found = read_yaml(content, "f.yaml").value
    assert found == yaml.safe_load(content)
    if value is not None:
        assert found == value


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=12),
    st.dates(),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=150, deadline=None)
@given(VALUES, st.booleans())
def test_any_document_that_pyyaml_writes_is_read_back_equal(value: Any, flow: bool) -> None:
    text = yaml.safe_dump(value, default_flow_style=flow, allow_unicode=True).encode()
    assert read_yaml(text, "f.yaml").value == yaml.safe_load(text)


def test_every_node_knows_its_line() -> None:
    document = read_yaml(b"a:\n  - b: 1\n    c: [2, 3]\n  - d\n", "f.yaml")
    assert str(document.where("a")) == "f.yaml:1:1"
    assert str(document.where("a", 0)) == "f.yaml:2:5"
    assert str(document.where("a", 0, "c", 1)) == "f.yaml:3:12"
    assert str(document.where("a", 1)) == "f.yaml:4:5"


def test_the_place_of_a_node_that_is_not_there_is_that_of_the_deepest_that_is() -> None:
    document = read_yaml(b"a:\n  b: 1\n", "f.yaml")
    assert str(document.where("a", "x", "y")) == "f.yaml:1:1"
