"""Purpose: an engine patch with its waiver: complete, of this pull request, for this key, image and script, linked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.bundles import Editor
from tests.support.shapes.build import build
from tests.support.shapes.engine_patch import FILE, IMAGE, KEY, RECIPE, WAIVER, story
from tests.support.shapes.story import Row, Story, frontier
from tests.support.shapes.verdicts import assert_rows, assert_turned, passing, rows_of

EXPECTED = passing(na=(6, 11, 12, 17))


def test_the_good_story_passes() -> None:
    assert_rows(story(), EXPECTED)
    assert build(story()).verdict().header == "PASS"


def test_the_row_names_the_waiver_and_what_it_covers() -> None:
    reason = rows_of(story())[10][1]
    assert WAIVER in reason
    assert RECIPE in reason


def waiver(old: str, new: str) -> Story:
    return story().edited(WAIVER, old, new)


def without_waiver() -> Story:
    made = story()
    return replace(made, head={path: text for path, text in made.head.items() if path != WAIVER})


def of_another_number() -> Story:
    made = story()
    other = WAIVER.replace(str(made.number), "4001")
    head = {other if path == WAIVER else path: text for path, text in made.head.items()}
    return replace(made, head=head, details=(f"Waiver: {other}",))


def thin(row: Row, conc: int) -> tuple[float, float]:
    return (60.0, 1000.0) if conc == 64 else frontier(row, conc)


BAD: dict[str, tuple[Callable[[], Story | Editor], dict[int, str], str]] = {
    "10 no waiver": (without_waiver, {10: "FAIL"}, f"mounts a file over {FILE}"),
    "10 the waiver is another pull request's": (of_another_number, {10: "FAIL"}, "there is no waiver"),
    "10 the waiver names another key": (lambda: waiver(KEY, "qwen3.5-fp8-b200-vllm"), {10: "FAIL"}, KEY),
    "10 the waiver names the image before this one": (
        lambda: waiver(IMAGE, "vllm/vllm-openai:v0.29.0"),
        {10: "FAIL"},
        IMAGE,
    ),
    "10 the waiver says no removal plan": (
        lambda: waiver("## Removal plan\nWith v0.31.0, which has the change.\n", ""),
        {10: "FAIL"},
        "removal plan",
    ),
    "10 the sign-off does not link the waiver": (
        lambda: replace(story(), details=()),
        {10: "FAIL"},
        "not linked in the sign-off",
    ),
    "14 one point is off the frontier": (
        lambda: replace(story(), measured=thin),
        {14: "WARN"},
        "4 of 5 points",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_one_change_turns_its_row(name: str) -> None:
    make, turned, words = BAD[name]
    assert_turned(story, make(), turned, words)
