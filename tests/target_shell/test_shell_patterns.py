"""Purpose: shell patterns against a plain matcher of all ways, and the forms of `=~` that launch scripts use."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.target import shell_patterns as patterns

TEXTS = st.text("ab.", max_size=8)
PATTERNS = st.text("ab.*?", max_size=7)


def plainly(pattern: str, text: str) -> bool:
    """Whether a pattern of letters, `*` and `?` matches a whole text, by trying every way."""

    @cache
    def tried(at: int, place: int) -> bool:
        if at == len(pattern):
            return place == len(text)
        if pattern[at] == "*":
            return any(tried(at + 1, end) for end in range(place, len(text) + 1))
        return place < len(text) and pattern[at] in ("?", text[place]) and tried(at + 1, place + 1)

    return tried(0, 0)


@settings(max_examples=300, deadline=None)
@given(PATTERNS, TEXTS)
def test_a_whole_text_matches_as_a_plain_matcher_says(pattern: str, text: str) -> None:
    assert patterns.matches(patterns.glob_regex(pattern), text) is plainly(pattern, text)


@settings(max_examples=300, deadline=None)
@given(PATTERNS, TEXTS, st.booleans(), st.booleans())
def test_a_text_is_trimmed_by_the_shortest_or_longest_match(
    pattern: str, text: str, front: bool, longest: bool
) -> None:
    lengths = [n for n in range(len(text) + 1) if plainly(pattern, text[:n] if front else text[len(text) - n :])]
    length = (max(lengths) if longest else min(lengths)) if lengths else 0
    expected = text[length:] if front else text[: len(text) - length]
    assert patterns.trimmed(text, patterns.glob_regex(pattern), front=front, longest=longest) == expected


@settings(max_examples=300, deadline=None)
@given(PATTERNS.filter(bool), TEXTS)
def test_the_first_longest_match_is_replaced(pattern: str, text: str) -> None:
    spans = [
        (start, end)
        for start in range(len(text) + 1)
        for end in range(len(text), start - 1, -1)
        if plainly(pattern, text[start:end])
    ]
    expected = text if not spans else text[: spans[0][0]] + "X" + text[spans[0][1] :]
    assert patterns.replaced(text, patterns.glob_regex(pattern), "X", everywhere=False) == expected


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        pytest.param("[a-c]x", "bx", True, id="a range"),
        pytest.param("[!a]", "b", True, id="a negated class"),
        pytest.param("[!a]", "a", False, id="a negated class and its letter"),
        pytest.param("[]x]", "]", True, id="a bracket in a class"),
        pytest.param("[.*]", "*", True, id="a star in a class is a letter"),
        pytest.param("[[:digit:]]*", "4x", True, id="a named class"),
        pytest.param("[a&&b]", "&", True, id="marks that other matchers read as sets"),
        pytest.param("\\*", "*", True, id="a quoted star is a letter"),
        pytest.param("[x", "[x", True, id="a class that does not close is text"),
        pytest.param("[z-a]", "b", None, id="a range in the wrong order is not decided"),
    ],
)
def test_classes(pattern: str, text: str, expected: bool | None) -> None:
    assert patterns.matches(patterns.glob_regex(pattern), text) is expected


@pytest.mark.parametrize(
    ("regex", "text", "expected"),
    [
        pytest.param("^[1-9][0-9]*$", "120", True, id="a whole number"),
        pytest.param("^[0-9]+$", "1.5", False, id="no whole number"),
        pytest.param(r"^192\.168\.([0-9]+)\.([0-9]+)$", "192.168.0.12", True, id="an address"),
        pytest.param(r"^1\.117\.1([.-]|$)", "1.117.1-post", True, id="a version with its end"),
        pytest.param("mtp|dspark", "fp4-dspark", True, id="one of two names"),
        pytest.param("^[[:space:]]*$", " ", True, id="blanks"),
    ],
)
def test_searches_that_launch_scripts_use(regex: str, text: str, expected: bool) -> None:
    assert patterns.searched(regex, text) is expected
