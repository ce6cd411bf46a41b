"""Purpose: two points more on an existing curve of GLM-5.2, append-only: only they are judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.bundles import Editor
from tests.support.shapes import ground, outside
from tests.support.shapes.append_only import KEY, RECIPE, story
from tests.support.shapes.build import build
from tests.support.shapes.story import Story
from tests.support.shapes.verdicts import assert_rows, assert_turned, passing

EXPECTED = passing(na=(2, 17), row14="WARN")
CLIENT = f"{ground.ROOT}infx/bench/agentic.py"


def test_the_good_story_passes_with_a_thin_run() -> None:
    assert_rows(story(), EXPECTED)


def test_the_thin_curve_says_what_was_not_run_again() -> None:
    row = next(row for row in build(story()).verdict().rows if row.number == 14)
    assert "2 in this run; 3 more in the series were not re-run" in [finding.found for finding in row.result.findings]


def head(path: str, old: str, new: str) -> Editor:
    """A later edit of the head alone: the run stays as it is."""
    return build(story()).replace(path, old, new)


def labelled() -> Editor:
    editor = build(story())
    editor.sources["pull_request"]["labels"].append("all-evals")
    later = {"id": "EV_2", "label": "all-evals", "created_at": ground.USED}
    editor.sources["labels"].append({**editor.sources["labels"][0], **later})
    return editor


def harness_edit() -> Story:
    """The shared client changes beside the new points."""
    made = story()
    return replace(made, files={**made.files, CLIENT: "WARM_UP = 1\n"}, head={**made.head, CLIENT: "WARM_UP = 2\n"})


def failed_job() -> Editor:
    editor = build(story())
    with editor.record("jobs") as jobs:
        next(job for job in jobs if job["name"].endswith("c44"))["conclusion"] = "failure"
    return editor


def mixed() -> Editor:
    more = f'\n- config-keys:\n    - {KEY}\n  description:\n    - "And once more."\n  pr-link: XXX\n'
    return build(story()).write(ground.CHANGELOG, story().at_head(ground.CHANGELOG) + more)


BAD: dict[str, tuple[Callable[[], Story | Editor], dict[int, str], str]] = {
    "12 an existing point's variant changes": (
        lambda: story().edited(RECIPE, "max-running-requests: 12 }", "max-running-requests: 24 }"),
        {12: "FAIL", 15: "WARN"},
        "existing points change",
    ),
    "12 the base settings of all points change": (
        lambda: (
            story()
            .edited(RECIPE, "mem-fraction-static: 0.85", "mem-fraction-static: 0.86")
            .serving(lambda one: one.with_args(mem_fraction_static=0.86))
            .with_page(lambda text: text.replace('"0.85"', '"0.86"'))
        ),
        {12: "FAIL", 15: "WARN"},
        "existing points change",
    ),
    "12 and 1 an existing point is gone": (
        lambda: head(ground.NVIDIA, "[4, 12, 20", "[12, 20"),
        {12: "FAIL", 1: "FAIL", 15: "WARN"},
        "at concurrency 4",
    ),
    "12 the harness changes too": (harness_edit, {12: "FAIL"}, "could not be verified: …/bench/agentic.py"),
    "12 and 1 an evals modifier is on": (labelled, {12: "FAIL", 1: "FAIL"}, "all-evals"),
    "12 another entry is not append-only, so that every point is wanted": (
        mixed,
        {12: "FAIL", 1: "FAIL", 2: "FAIL", 9: "FAIL", 11: "FAIL", 13: "FAIL"},
        "cannot be mixed",
    ),
    "1 a new point's job failed": (failed_job, {1: "FAIL"}, "c44: its job ended with failure"),
    "3 the page has no c44": (
        lambda: story().with_page(outside.edit_cells(lambda cell: cell["points"].pop())),
        {3: "FAIL"},
        "(c44)",
    ),
    "11 a new point drafted for real": (
        lambda: replace(story(), simulated={20: ""}),
        {11: "FAIL"},
        "the c20 job drafted with real acceptance",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_one_change_turns_its_row(name: str) -> None:
    make, turned, words = BAD[name]
    assert_turned(story, make(), turned, words)
