"""Purpose: one text for a value, whatever file or log it comes from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.facts.values import parsed, same_number, text_of


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param(True, "True", id="a Python truth and a YAML one"),
        pytest.param(True, "true", id="a bare flag and true"),
        pytest.param(None, "None", id="None of a log and null"),
        pytest.param(0.7, "0.70", id="trailing zeros"),
        pytest.param("'900'", 900, id="quotes around a number"),
        pytest.param("1e3", 1000, id="an exponent"),
        pytest.param("-0.0", 0, id="minus zero"),
        pytest.param([1, 2, 4], "1 2 4", id="a list and repeated words"),
        pytest.param("[1,2,4]", [1, 2, 4], id="JSON text of a list"),
        pytest.param('{"b": 1, "a": [1.0]}', {"a": [1], "b": 1}, id="JSON with another key order"),
        pytest.param("fp8_e4m3", '"fp8_e4m3"', id="a quoted word"),
    ],
)
def test_the_same_value_has_the_same_text(left: object, right: object) -> None:
    assert text_of(left) == text_of(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param(0.9, 0.09, id="two numbers"),
        pytest.param("EAGLE", "NEXTN", id="two words"),
        pytest.param({"a": 1}, {"a": 2}, id="two mappings"),
        pytest.param("2026-10-15", 2001, id="a date is no subtraction"),
        pytest.param("1.5.0", 1.5, id="a version is no number"),
    ],
)
def test_different_values_stay_different(left: object, right: object) -> None:
    assert text_of(left) != text_of(right)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=5))
def test_the_text_of_anything_is_stable(value: object) -> None:
    once = text_of(value)
    assert text_of(once) in (once, once.strip()) or text_of(text_of(once)) == text_of(once)


def test_broken_json_keeps_its_text() -> None:
    assert parsed("{not json") == "{not json"
    assert text_of("{not json") == "{not json"


@pytest.mark.parametrize(
    ("left", "right", "places", "same"),
    [
        pytest.param("3", "3.00", 2, True, id="a log prints 3 for 3.00"),
        pytest.param("4.049", "4.05", 2, True, id="rounded to two decimals"),
        pytest.param("4.04", "4.05", 2, False, id="one hundredth off"),
        pytest.param("word", "4.05", 2, False, id="no number"),
    ],
)
def test_numbers_compare_after_rounding(left: str, right: str, places: int, same: bool) -> None:
    assert same_number(left, right, places) is same
