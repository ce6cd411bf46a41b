"""Purpose: a model that is retired: everything is measured and signed, and check 7 alone rejects it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.bundles import Editor
from tests.support.shapes import ground, outside
from tests.support.shapes.build import build
from tests.support.shapes.retired_model import RECIPE, story
from tests.support.shapes.story import Story
from tests.support.shapes.verdicts import assert_rows, assert_turned, passing

EXPECTED = passing(na=(6, 9, 11, 12, 13, 17), row7="FAIL")
NOTICE = "- `glm5` and `glm5.1` are fully retired. Enacted on 2026-10-01 in"
ACTIVE = "| GLM-5 | `glm5` | 2026-03-02 | Single-turn 8k1k | Single-turn 1k1k |"
ROW = "| GLM-5, GLM-5.1 |"


def test_the_story_is_rejected_by_check_7_alone() -> None:
    assert_rows(story(), EXPECTED)
    assert build(story()).verdict().header == "REJECTED"


def test_the_finding_gives_the_last_day_and_the_next_step() -> None:
    row = next(row for row in build(story()).verdict().rows if row.number == 7)
    assert "last allowed day 2026-09-30" in row.result.reason
    assert row.result.findings[0].next_step.startswith("Take these points out")


def before_the_end() -> Story:
    """Reviewed on the last allowed day."""
    return replace(story(), day="2026-09-30")


def own_edit() -> Story:
    """The pull request gives the model its scenario back: the target's table decides."""
    made = story()
    lines = [ACTIVE if ROW in line else line for line in made.files[ground.MODELS].splitlines()]
    table = "\n".join(lines).replace(NOTICE, "- Nothing in")
    return replace(made, head={**made.head, ground.MODELS: table})


def revived() -> Story:
    """The target branch gave it back meanwhile."""
    made = own_edit()
    head = {path: text for path, text in made.head.items() if path != ground.MODELS}
    table = made.head[ground.MODELS]
    assert table is not None
    return replace(made, head=head, target={**made.files, ground.MODELS: table})


TURNS: dict[str, tuple[Callable[[], Story | Editor], dict[int, str], str]] = {
    "7 the last allowed day": (before_the_end, {7: "PASS"}, "2026-09-30"),
    "7 the target branch has the model back": (revived, {7: "PASS"}, "glm5 8k1k is active"),
    "3 the page gives another chunk size": (
        lambda: story().with_page(lambda text: text.replace('"16384"', '"8192"')),
        {3: "FAIL"},
        "chunked-prefill-size",
    ),
    "2 the eval is below the bar": (lambda: replace(story(), score=0.5), {2: "FAIL"}, "0.5"),
    "8 the model is cut": (
        lambda: (
            story()
            .edited(
                RECIPE,
                "      mem-fraction-static: 0.85\n",
                "      mem-fraction-static: 0.85\n      json-model-override-args: '{\"num_hidden_layers\": 40}'\n",
                of_old=True,
            )
            .serving(lambda one: one.with_args(json_model_override_args='{"num_hidden_layers": 40}'))
            .with_page(
                outside.edit_cells(
                    lambda cell: cell["routers"]["sglang"]["blocks"][0]["args"].append(
                        ["--json-model-override-args", '{"num_hidden_layers": 40}']
                    )
                )
            )
        ),
        {8: "FAIL"},
        "num_hidden_layers",
    ),
    "16 the page does not list the model": (
        lambda: replace(story(), overview=outside.overview([("Other", "https://docs.sglang.io/x", "", "")], [])),
        {16: "FAIL"},
        "GLM-5",
    ),
}


@pytest.mark.parametrize("name", TURNS)
def test_one_change_turns_its_row(name: str) -> None:
    make, turned, words = TURNS[name]
    assert_turned(story, make(), turned, words)


def test_its_own_edit_of_the_table_changes_nothing_and_is_a_finding() -> None:
    row = next(row for row in build(own_edit()).verdict().rows if row.number == 7)
    assert row.status.value == "FAIL"
    assert len(row.result.findings) > 1
