"""Purpose: only the image changes: every point is measured again on it, and the master's entry is what changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.bundles import Editor
from tests.support.shapes.build import build
from tests.support.shapes.image_bump import IMAGE, OLD_IMAGE, RECIPE, story
from tests.support.shapes.story import Story
from tests.support.shapes.verdicts import assert_rows, assert_turned, passing, rows_of

EXPECTED = passing(na=(12, 17))
PRIVATE = "example-org/vllm-openai:v0.31.0-x86_64"


def test_the_good_story_passes() -> None:
    assert_rows(story(), EXPECTED)
    assert build(story()).verdict().header == "PASS"


def test_the_row_of_the_image_names_the_new_one() -> None:
    assert rows_of(story())[6][1].startswith(IMAGE)


def old_image_ran() -> Story:
    """The run still pulled the old image."""
    return replace(story(), image=OLD_IMAGE)


def elsewhere() -> Story:
    """The image comes from an organisation that is not upstream."""
    made = story()
    head = {path: text and text.replace(IMAGE, PRIVATE) for path, text in made.head.items()}
    return replace(made, head=head, image=PRIVATE, body=made.body.replace(IMAGE, PRIVATE))


def run_of_the_base() -> Editor:
    """The run measured the commit before the bump."""
    editor = build(story())
    with editor.record("runs") as runs:
        runs[0]["head_sha"] = "e" * 40
    return editor


def retuned() -> Story:
    """The recipe changes too; run and page follow it."""
    made = story()
    recipe = made.files[RECIPE].replace("gpu-memory-utilization: 0.93", "gpu-memory-utilization: 0.95")
    made = replace(made, head={**made.head, RECIPE: recipe}).with_page(lambda text: text.replace('"0.93"', '"0.95"'))
    return made.serving(lambda one: one.with_args(gpu_memory_utilization=0.95))


BAD: dict[str, tuple[Callable[[], Story | Editor], dict[int, str], str]] = {
    "6 and 2 the run pulled the old image": (old_image_ran, {2: "FAIL", 6: "FAIL"}, "v0.30.2"),
    "6 the image is not upstream's": (elsewhere, {6: "FAIL"}, "example-org"),
    "1 and what needs it: the run is of a commit outside the pull request": (
        run_of_the_base,
        {1: "FAIL", 2: "FAIL", 4: "WARN", 14: "WARN"},
        "eeeeeee",
    ),
    "3 the page gives another draft length": (
        lambda: story().with_page(lambda text: text.replace('tokens":4}', 'tokens":3}')),
        {3: "FAIL"},
        "speculative-config",
    ),
    "11 one point drafted for real": (
        lambda: replace(story(), simulated={16: ""}),
        {11: "FAIL"},
        "the c16 job drafted with real acceptance",
    ),
    "15 the description names another new image": (
        lambda: replace(story(), body=story().body.replace(IMAGE, "vllm/vllm-openai:v0.32.0-x86_64")),
        {15: "WARN"},
        "the image is",
    ),
    "15 the recipe changes too, although settings are said to stay": (
        retuned,
        {15: "WARN"},
        "base block",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_one_change_turns_its_row(name: str) -> None:
    make, turned, words = BAD[name]
    assert_turned(story, make(), turned, words)
