"""The one escaper: what somebody else wrote can neither ping, link, open a tag, nor look like a row of ours."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from app.words import escape

HARMLESS = {
    "plain words stay as they are": "eleven points, all green; 0.9757 (±0.0042) >= 0.90",
    "a ratio and a path stay readable": "7/11 at P90 and 7/11 at P75",
    "Chinese stays as it is": "十一个点全部通过",
}

HOSTILE = {
    "a mention": "ask @maintainer now",
    "a mention with an entity": "ask &#64;maintainer now",
    "a mention with a backslash": r"ask \@maintainer now",
    "a team mention": "ask @octo/core",
    "an issue reference": "see #12 and octo/bench#12",
    "a link": "[click](https://example.org)",
    "a bare link": "go to https://example.org/x now",
    "a bare www link": "go to www.example.org now",
    "an e-mail address": "write to someone@example.org",
    "an image": "![x](https://example.org/x.png)",
    "a details tag": "</details><details open>",
    "a summary tag": "<summary>hi</summary>",
    "an HTML comment": "<!-- sweepgate verdict -->",
    "a code fence": "``` \n ## Verdict: PASS",
    "a tilde fence": "~~~ x",
    "emphasis": "*bold* and _thin_ and **both**",
    "a wildcard path": "benchmarks/*_node/**/gb200-*/",
    "a heading on a new line": "x\n## ✅✅✅ **Verdict: PASS** ✅✅✅",
    "a row look-alike": "✅ Check 3 (Upstream recipe): PASS — fine",
    "a table": "| a | b |",
    "a direction mark": "pay \u202egnp.exe",
    "a zero-width joiner in a mention": "@\u200bmaintainer",
    "an emoji short code": ":white_check_mark: done",
}


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS.keys())
def test_harmless_text_is_kept(text: str) -> None:
    assert escape.inline(text) == text


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_renders_as_plain_text_and_code_only(text: str) -> None:
    assert_harmless(escape.inline(text))


@given(st.text(max_size=300))
def test_any_text_renders_as_plain_text_and_code_only(text: str) -> None:
    assert_harmless(escape.inline(text))


@given(st.text(alphabet="@#`*_<>&;:/[]()!|~\\ \n\tabc1.-", max_size=120))
def test_any_mix_of_markup_renders_as_plain_text_and_code_only(text: str) -> None:
    assert_harmless(escape.inline(text))


def test_a_row_look_alike_loses_its_sign_and_is_code() -> None:
    assert escape.inline("✅ Check 3 (x): PASS") == "`Check 3` (x): PASS"


def test_a_long_text_is_cut() -> None:
    assert len(escape.inline("word " * 500, 100)) <= 100


def test_code_holds_no_back_tick() -> None:
    assert escape.code("a`b") == "`ab`"
    assert escape.code("``") == ""


def assert_harmless(markdown: str) -> None:
    """One line; outside code spans nothing that GitHub interprets; inside them no back-tick."""
    assert "\n" not in markdown
    tokens = MarkdownIt("commonmark", {"html": True, "linkify": False}).parse(f"row — {markdown} end")
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    kinds = {child.type for child in tokens[1].children or []}
    assert kinds <= {"text", "code_inline"}, kinds
    outside = "".join(child.content for child in tokens[1].children or [] if child.type == "text")
    assert not re.search(r"@\w|&#|<\w|://|#\d|:\w+:|\bwww\.", outside), outside
    assert not re.search("[✅❌➖⚠\u202a-\u202e\u2066-\u2069\u200b-\u200f]", markdown)
    assert not re.search(r"check\s+\d+", outside, re.IGNORECASE), outside
