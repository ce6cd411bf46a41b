"""Purpose: a signed webhook leads to one comment, whatever is delivered twice, late or in a burst."""

from __future__ import annotations

import threading
import uuid

import pytest

from app.decide.state import PullRef, PullState
from tests.flows.conftest import Harness
from tests.flows.fake_github import SIGN_OFF


def verdicts(harness: Harness) -> list[str]:
    return [body for body in harness.github.bot_comments(7) if "sweepgate:verdict" in body]


def test_a_sign_off_gets_a_reaction_and_one_verdict(harness: Harness) -> None:
    harness.github.open_pull()
    remark = harness.github.say(7, "reviewer", SIGN_OFF)
    assert harness.commented().status_code == 202
    harness.idle()
    assert len(verdicts(harness)) == 1
    assert verdicts(harness)[0].splitlines()[1] == "## ✅✅✅ **Verdict: PASS** ✅✅✅"
    assert harness.github.pulls[7].remarks[remark].reactions == {"eyes"}


def test_a_redelivery_and_a_second_event_change_nothing(harness: Harness) -> None:
    harness.github.open_pull()
    harness.github.say(7, "reviewer", SIGN_OFF)
    guid = str(uuid.uuid4())
    harness.commented(guid=guid)
    harness.idle()
    before = harness.github.bot_comments(7)
    harness.github.calls.clear()
    harness.commented(guid=guid)
    harness.idle()
    assert harness.github.calls == []
    harness.commented()
    harness.idle()
    assert harness.github.bot_comments(7) == before
    assert harness.github.calls == ["pull", "runs"]


def test_welcome_is_posted_once(harness: Harness) -> None:
    harness.github.open_pull()
    for _ in range(3):
        harness.deliver("pull_request", {"action": "opened", "pull_request": {"number": 7}})
        harness.idle()
    assert sum("sweepgate:welcome" in body for body in harness.github.bot_comments(7)) == 1


def test_a_burst_of_a_hundred_events_is_at_most_two_reconciles(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.github.open_pull()
    arrived, read = threading.Event(), harness.github.pull

    def held(ref: PullRef) -> PullState:
        """The first read lasts until the burst is over, however slow the machine is."""
        arrived.wait(60)
        return read(ref)

    monkeypatch.setattr(harness.github, "pull", held)
    for _ in range(100):
        harness.commented()
    arrived.set()
    harness.idle()
    assert harness.github.calls.count("pull") <= 4
