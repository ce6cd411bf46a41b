"""An invalid policy file is told once on each head, and taken back when the file is valid again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.effects.context import Links
from app.effects.ports import CheckRunText
from app.main import Rooms, create_app
from tests.flows.conftest import Harness, quick_settings
from tests.flows.fake_github import FakeAccess, FakeGitHub, same_measurement, verify_ok

PROBLEM = ".github/sweepgate.yml: sweep.mode: Input should be 'service' or 'actions'. Correct the key."


@pytest.fixture
def access(github: FakeGitHub) -> FakeAccess:
    github.open_pull()
    return FakeAccess(github)


@pytest.fixture
def harness(access: FakeAccess, tmp_path: Path) -> Iterator[Harness]:
    rooms = Rooms(access, verify_ok, same_measurement, Links())
    with TestClient(create_app(quick_settings(tmp_path), rooms)) as client:
        yield Harness(access.github, client)


def told(harness: Harness) -> list[CheckRunText]:
    harness.commented()
    harness.idle()
    runs = harness.github.pulls[7].check_runs.values()
    return [text for _, text in runs if text.name == "Sweepgate policy"]


def test_a_valid_policy_is_not_told(harness: Harness) -> None:
    assert told(harness) == []


def test_a_problem_is_told_once_with_the_key_and_the_next_step(harness: Harness, access: FakeAccess) -> None:
    access.problem = PROBLEM
    [text] = told(harness)
    assert text.conclusion == "failure"
    assert "sweep.mode" in text.summary
    assert "correct the file on the default branch" in text.summary
    harness.github.calls.clear()
    assert told(harness) == [text]
    assert "put_check_run" not in harness.github.calls


def test_another_problem_replaces_the_first(harness: Harness, access: FakeAccess) -> None:
    access.problem = PROBLEM
    told(harness)
    access.problem = PROBLEM.replace("mode", "bot")
    [text] = told(harness)
    assert "sweep.bot" in text.summary


def test_a_mended_policy_turns_the_check_green(harness: Harness, access: FakeAccess) -> None:
    access.problem = PROBLEM
    told(harness)
    access.problem = ""
    [text] = told(harness)
    assert text.conclusion == "success"
