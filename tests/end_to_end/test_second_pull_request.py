"""The demo's second pull request in service mode: planned, dispatched once, refused with a next step, then accepted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from rich.console import Console

from app.demo.play import ACCOUNT, REVIEW_DAY
from app.demo.second import Second, perform_second, show_second
from app.demo.second_story import SecondStory
from app.demo.stage import Stage
from app.sandbox import World
from app.sandbox.reference_story import ReferenceStory
from tests.end_to_end.told import quiet


@dataclass
class Told:
    story: SecondStory
    done: Second
    reference: ReferenceStory


@pytest.fixture(scope="module")
def told() -> Iterator[Told]:
    """Told once; then everything is quiet, so that what came late would show."""
    world = World()
    reference = ReferenceStory(world)
    reference.prepare()
    reference.merge_upstream()
    with Stage(world, review_day=REVIEW_DAY, account=ACCOUNT) as stage:
        story = SecondStory(world)
        done = perform_second(story)
        quiet(stage)
        yield Told(story, done, reference)


def comments(told: Told, part: str) -> list[str]:
    return [one.body for one in told.story.pull.comments if one.author == "sweepgate[bot]" and part in one.body]


def test_the_label_shows_a_plan_of_the_points_that_are_then_measured(told: Told) -> None:
    assert told.done.plan.startswith("11 points and 1 eval, about ")
    [check] = [run for run in told.story.repository.check_runs if run.external_id.startswith("sweep-")]
    assert "musespark-fp4-gb200-sglang-agentic-dflash" in check.text
    assert "single_node.agentic" in check.text
    assert (check.sha, check.status, check.conclusion) == (told.story.measured, "completed", "success")
    assert str(told.story.run.id) in check.title


def test_one_run_is_dispatched_on_the_default_branch_for_the_labelled_commit(told: Told) -> None:
    [run] = told.story.repository.runs
    assert (run.event, run.head_branch, run.actor) == ("workflow_dispatch", "main", "sweepgate[bot]")
    assert run.inputs["head_sha"] == told.story.measured
    assert run.inputs["sweep_key"] in run.title


def test_the_fix_starts_no_second_sweep(told: Told) -> None:
    assert told.story.pull.head_sha != told.story.measured
    assert told.done.dispatches == len(told.story.repository.runs) == 1


def test_the_planted_fault_is_the_only_failing_row_and_has_its_next_step(told: Told) -> None:
    failing = [line for line in told.done.rejected.splitlines() if "): FAIL" in line]
    assert len(failing) == 1
    assert failing[0].startswith("❌ Check 7 ")
    assert "Add a row for the prefix to MODELS.md in this pull request." in told.done.rejected
    assert told.story.measured in told.done.rejected


def test_the_fixed_head_passes_and_says_what_changed(told: Told) -> None:
    [line] = [line for line in told.done.passed.splitlines() if "Changed since the last verdict" in line]
    assert "7" in line
    assert told.story.pull.head_sha in told.done.passed
    assert "): FAIL" not in told.done.passed


def test_each_kind_of_comment_stands_once(told: Told) -> None:
    for kind in ("welcome", "results", "verdict"):
        assert len(comments(told, f"<!-- sweepgate:{kind}:")) == 1, kind


def test_the_welcome_links_files_that_are_there(told: Told) -> None:
    [body] = comments(told, "<!-- sweepgate:welcome:")
    paths = set(re.findall(r"/blob/main/([^)\s]+)\)", body))
    there = told.story.repository.git.commits[told.story.repository.branches["main"]].tree
    assert paths
    assert [path for path in paths if not any(f"{one}/".startswith(f"{path}/") for one in there)] == []


def test_one_failing_row_blocks(told: Told) -> None:
    assert "check 7 blocks this pull request" in told.done.rejected


def test_the_reference_repository_is_left_alone(told: Told) -> None:
    assert told.reference.repository.runs == []
    assert told.reference.repository.pulls == {}


def test_the_printed_story_shows_both_verdicts(told: Told) -> None:
    out = Console(record=True, width=200)
    assert show_second(told.done, out) == 0
    shown = out.export_text()
    assert "REJECTED" in shown
    assert "Next: Add a row" in shown
    assert "Changed since the last verdict" in shown
    assert show_second(Second(dispatches=2), Console(quiet=True)) == 1
