"""Purpose: points are only taken away: no run, no eval and no reuse command is asked for, and each row says why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.bundles import Editor
from tests.support.shapes import append_only, ground
from tests.support.shapes.build import build
from tests.support.shapes.removals import KEY, RECIPE, story
from tests.support.shapes.story import Story
from tests.support.shapes.verdicts import assert_rows, assert_turned, passing, rows_of

EXPECTED = passing(na=(1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17))


def test_the_good_story_passes_without_a_run() -> None:
    assert_rows(story(), EXPECTED)
    assert build(story()).verdict().header == "PASS"


def test_the_rows_say_that_nothing_is_submitted() -> None:
    rows = rows_of(story())
    said = {number for number, (_, reason) in rows.items() if reason.startswith("removals only")}
    assert said == {number for number, status in EXPECTED.items() if status == "N/A"} - {12}


def outsider() -> Editor:
    """Someone without write permission signs."""
    return build(story()).set_record("permissions", {ground.REVIEWER: {"permission": "read", "role_name": "read"}})


def opened(item: str) -> Story:
    """One item of the checklist stays open, without a word."""
    return replace(story(), answers={item: f"- [ ] {item}"})


def resubmitting() -> Story:
    """One point that stays gets another setting: it has to be measured, and there is no run."""
    return story().edited(RECIPE, "max-running-requests: 12 }", "max-running-requests: 24 }")


BAD: dict[str, tuple[Callable[[], Story | Editor], dict[int, str], str]] = {
    "0 the signer has no write permission": (outsider, {0: "FAIL"}, "reviewer"),
    "5 an item of the checklist is open": (
        lambda: opened("Read the whole change and found its code quality no worse than what it replaces."),
        {5: "FAIL"},
        "is open without an explanation",
    ),
    "15 the points are said to stay": (
        lambda: replace(story(), body=f"## Description\n\nTidies `{KEY}`. Concurrency 20 and 44 stay as they are.\n"),
        {15: "WARN"},
        "c20 is removed",
    ),
    "15 another point is said to go": (
        lambda: replace(story(), body=f"## Description\n\nRemoves concurrency 28 and 44 of `{KEY}`.\n"),
        {15: "WARN"},
        "c28 is not removed",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_one_change_turns_its_row(name: str) -> None:
    make, turned, words = BAD[name]
    assert_turned(story, make(), turned, words)


def test_a_point_that_stays_and_changes_is_submitted() -> None:
    rows = rows_of(resubmitting())
    assert {number for number in (1, 2, 3, 9, 11, 13) if rows[number][0] == "FAIL"} == {1, 2, 3, 9, 11, 13}
    assert append_only.KEY == KEY
    assert rows[4][0] == "WARN"
