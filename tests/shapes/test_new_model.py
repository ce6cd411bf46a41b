"""Purpose: a model unknown to the repository: its MODELS.md row and golden curve come in the same change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.bundles import Editor
from tests.support.shapes import ground, outside
from tests.support.shapes.build import build
from tests.support.shapes.new_model import ANCHOR, CURVE, ROW, story
from tests.support.shapes.story import Loads, Story
from tests.support.shapes.verdicts import assert_rows, assert_turned, passing

EXPECTED = passing(na=(12, 17))
OTHER = "| Cedar-1 | `cedar1` | 2026-10-20 | Agentic coding | None |\n"


def test_the_good_story_passes() -> None:
    assert_rows(story(), EXPECTED)
    assert build(story()).verdict().header == "PASS"


def test_the_verdict_says_what_of_the_change_decided() -> None:
    rows = {row.number: row.result for row in build(story()).verdict().rows}
    assert "row added by this pull request" in rows[7].reason
    assert any("cedar2_mtp" in finding.found for finding in rows[11].findings), rows[11].findings


def at_target(path: str, text: str) -> Story:
    """The target branch has its own version of a file."""
    made = story()
    return replace(made, target={**made.files, path: text})


def retired_at_target() -> Story:
    """Meanwhile the target branch has a row for the prefix that ends it."""
    retired = ROW.replace("| Agentic coding |", "| None (fully retired 2026-10-19) |")
    table = story().files[ground.MODELS].replace(ANCHOR, f"{retired}{ANCHOR}")
    return at_target(ground.MODELS, table)


def without_a_curve() -> Story:
    made = story()
    return replace(made, head={path: text for path, text in made.head.items() if path != CURVE})


BAD: dict[str, tuple[Callable[[], Story | Editor], dict[int, str], str]] = {
    "7 no row for the prefix": (
        lambda: story().edited(ground.MODELS, ROW, OTHER),
        {7: "FAIL"},
        "cedar2",
    ),
    "7 the row came with another scenario alone": (
        lambda: story().edited(ground.MODELS, ROW, ROW.replace("Agentic coding", "Single-turn 8k1k")),
        {7: "FAIL"},
        "cedar2",
    ),
    "7 the target branch has ended the prefix": (retired_at_target, {7: "FAIL"}, "retired"),
    "11 no golden curve": (without_a_curve, {11: "FAIL"}, "no committed golden curve cedar2_mtp"),
    "11 the curve gives another value than was injected": (
        lambda: story().edited(CURVE, "3: 2.91", "3: 2.95"),
        {3: "FAIL", 11: "FAIL"},
        "2.91",
    ),
    "11 the target branch has the curve, with another value": (
        lambda: at_target(CURVE, story().at_head(CURVE).replace("3: 2.91", "3: 2.95")),
        {3: "FAIL", 11: "FAIL"},
        "2.91",
    ),
    "13 no log shows how the draft was loaded": (
        lambda: replace(story(), loads=Loads("CedarForCausalLM", "modelopt_fp4", "torch.float8_e4m3fn")),
        {13: "FAIL"},
        "could not be verified",
    ),
    "16 the overview page does not list the model": (
        lambda: replace(story(), overview=outside.overview([("GLM-5.2", "https://docs.sglang.io/x", "", "")], [])),
        {16: "FAIL"},
        "Cedar-2",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_one_change_turns_its_row(name: str) -> None:
    make, turned, words = BAD[name]
    assert_turned(story, make(), turned, words)
