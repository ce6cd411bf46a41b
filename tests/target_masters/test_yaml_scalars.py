"""Purpose: plain scalars read as PyYAML's safe loader reads them, whatever they look like."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from yaml.nodes import ScalarNode

from app.target.yaml_scalars import LONGEST_NUMBER, BadScalar, plain_value

LOADER = yaml.SafeLoader("")
NO_VALUE = object()
INDICATORS = ("*", "&", "!")


def of_pyyaml(text: str) -> Any:
    tag = LOADER.resolve(ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    try:
        return LOADER.construct_object(ScalarNode(tag, text), deep=True)
    except (ValueError, yaml.YAMLError):
        return NO_VALUE


def ours(text: str) -> Any:
    try:
        return plain_value(text)
    except BadScalar:
        return NO_VALUE


NUMERIC = st.text(alphabet="0123456789_+-.:eExXbaofTZ ", max_size=14)
DATES = st.from_regex(r"\A\d{4}-\d\d?-\d\d?([Tt ]\d\d?:\d\d:\d\d(\.\d{0,7})?( ?(Z|[-+]\d\d?(:\d\d)?))?)?\Z")


@settings(max_examples=400, deadline=None)
@example("0x_")
@example("190:20:30.15")
@example("=")
@given(st.one_of(NUMERIC, DATES, st.text(max_size=8).filter(lambda text: text[:1] not in INDICATORS)))
def test_any_plain_text_has_the_value_that_pyyaml_gives(text: str) -> None:
    theirs, found = of_pyyaml(text), ours(text)
    assert type(theirs) is type(found)
    assert theirs == found or theirs != theirs  # not-a-number differs from itself


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("yes", True, id="yes is true"),
        pytest.param("Off", False, id="Off is false"),
        pytest.param("yEs", "yEs", id="mixed case is text"),
        pytest.param("010", 8, id="a leading zero is octal"),
        pytest.param("08", "08", id="eight is no octal digit"),
        pytest.param("1e3", "1e3", id="an exponent without a point is text"),
        pytest.param("1.0e+3", 1000.0, id="an exponent with a sign is a number"),
        pytest.param("2_063_837", 2063837, id="underscores separate thousands"),
        pytest.param("1:30", 90, id="base sixty"),
        pytest.param("0.80", 0.8, id="a decimal"),
        pytest.param("~", None, id="tilde is null"),
        pytest.param("2026-08-21", datetime.date(2026, 8, 21), id="a date"),
        pytest.param("1.4.0.dev20260807", "1.4.0.dev20260807", id="a version is text"),
    ],
)
def test_values_people_stumble_over(text: str, value: Any) -> None:
    assert plain_value(text) == value
    assert type(plain_value(text)) is type(value)


def test_a_number_too_long_to_print_is_refused_but_text_of_that_length_is_not() -> None:
    with pytest.raises(BadScalar, match="digits"):
        plain_value("9" * (LONGEST_NUMBER + 1))
    assert plain_value("1" + "x" * LONGEST_NUMBER) == "1" + "x" * LONGEST_NUMBER
