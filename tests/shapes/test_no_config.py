"""Purpose: a pull request that touches no config: only ownership and the checklist are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.bundles import Editor
from tests.support.shapes import ground
from tests.support.shapes.build import build
from tests.support.shapes.no_config import PAGE, story
from tests.support.shapes.story import Story
from tests.support.shapes.verdicts import assert_rows, assert_turned, passing, rows_of

EXPECTED = passing(na=(1, 2, 3, 4, *range(6, 18)))
CLIENT = f"{ground.ROOT}infx/launch/client.py"


def test_the_good_story_passes_without_a_run() -> None:
    assert_rows(story(), EXPECTED)
    assert build(story()).verdict().header == "PASS"


def other_owner() -> Story:
    """The page's owner at the target branch is someone else."""
    made = story()
    owners = made.files[ground.OWNERS].replace(f"{PAGE.rsplit('/', 1)[-1]} @reviewer", "ADDING_A_MODEL.md @maintainer")
    return replace(made, target={**made.files, ground.OWNERS: owners})


def later_push() -> Editor:
    """The signed commit is not known: the branch's activity is gone."""
    return build(story()).drop("activity")


def launching() -> Story:
    """The change also touches what every launch runs."""
    made = story()
    return replace(made, files={**made.files, CLIENT: "LIMIT = 1\n"}, head={**made.head, CLIENT: "LIMIT = 2\n"})


BAD: dict[str, tuple[Callable[[], Story | Editor], dict[int, str], str]] = {
    "0 another owner at the target branch": (other_owner, {0: "FAIL"}, "ADDING_A_MODEL.md"),
    "5 the signed commit cannot be established": (later_push, {5: "FAIL"}, "could not be verified"),
    "15 the description claims a removal that nothing shows": (
        lambda: replace(story(), body="Removes concurrency 64.\n"),
        {15: "WARN"},
        "c64",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_one_change_turns_its_row(name: str) -> None:
    make, turned, words = BAD[name]
    assert_turned(story, make(), turned, words)


def test_a_launch_file_beside_the_pages_affects_every_config() -> None:
    rows = rows_of(launching())
    assert rows[1][0] == "FAIL"
    assert not {number for number in (2, 3, 9, 13) if rows[number][0] == "N/A"}
