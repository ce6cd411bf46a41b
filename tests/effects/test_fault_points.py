"""Purpose: every write and every commit has its two fault points, and a point strikes when it is told to."""

from __future__ import annotations

import pytest

from app.effects.faults import POINTS, WRITE_METHODS, Faults, PointedWriter
from app.effects.github import GitHubWriter
from app.store.database import COMMITS
from tests.flows.fake_github import FakeGitHub


def test_their_number_follows_from_the_protocol_and_the_commits() -> None:
    assert len(POINTS) == 2 * (len(WRITE_METHODS) + len(COMMITS)) == len(set(POINTS))
    assert WRITE_METHODS == (
        "add_reaction",
        "cancel_run",
        "create_comment",
        "dispatch_workflow",
        "edit_comment",
        "put_check_run",
        "remove_reaction",
        "repository_dispatch",
        "rerun_failed",
    )


def test_the_real_writer_has_no_write_that_the_protocol_does_not_know() -> None:
    assert {name for name in vars(GitHubWriter) if not name.startswith("_")} == set(WRITE_METHODS)


def test_a_point_strikes_at_the_time_it_is_told() -> None:
    struck: list[str] = []
    faults = Faults("store.effects.open.after:2", struck.append)
    for _ in range(3):
        faults("store.effects.open.before")
        faults("store.effects.open.after")
    assert struck == ["store.effects.open.after"]


def test_without_a_choice_nothing_strikes() -> None:
    faults = Faults("", pytest.fail)
    for point in POINTS:
        faults(point)


def test_an_unknown_point_is_refused() -> None:
    with pytest.raises(ValueError, match="no such fault point"):
        Faults("store.nowhere.before")


def test_a_pointed_writer_passes_before_and_after() -> None:
    seen: list[str] = []
    github = FakeGitHub()
    PointedWriter(github, seen.append).cancel_run("example/inference", 5)
    assert seen == ["github.cancel_run.before", "github.cancel_run.after"]
    assert github.cancelled == [5]
