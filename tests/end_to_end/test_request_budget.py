"""Budgets of requests to GitHub: a cold verification, an event after which nothing is to be done, a round."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import count

import pytest

from app.sandbox.world import Logged
from tests.end_to_end.told import Told, last, quiet, send
from tests.load.many import rounds_over

OWN, ARCHIVES = 18, 13
NOTHING_NEW = 2
A_ROUND = 12
PULLS = 1000
GUIDS = count()

# What one cold verification asks, by kind; together 18 beside the archives.
KINDS = {
    "state of the pull request, files, history, upstream": (r"POST /graphql$", 7),
    "the list of runs": (r"GET .*/runs$", 2),
    "who moved the branch": (r"GET .*/activity$", 1),
    "difference to the merge base": (r"GET .*/compare/", 1),
    "permission of the signer": (r"GET .*/permission$", 1),
    "jobs of the attempt": (r"GET .*/jobs$", 1),
    "list of artifacts": (r"GET .*/artifacts$", 1),
    "all logs": (r"GET .*/logs$", 1),
    "check runs of the head": (r"GET .*/check-runs$", 1),
    "the check run": (r"POST .*/check-runs$", 1),
    "the comment": (r"POST .*/comments$", 1),
    "archives": (r"GET .*/zip$", ARCHIVES),
}


def verification(told: Told) -> list[Logged]:
    """From the first read to the published comment; the reaction that says "seen" is an effect of its own."""
    asked = [one for one in told.requests["verification"] if not one.path.endswith("/reactions")]
    published = next(at for at, one in enumerate(asked) if one.method == "POST" and one.path.endswith("/comments"))
    return asked[: published + 1]


def test_a_cold_verification_asks_eighteen_times_beside_its_archives(told: Told) -> None:
    asked = verification(told)
    archives = [one for one in asked if one.path.endswith("/zip")]
    assert len(archives) == ARCHIVES
    assert len(asked) - len(archives) <= OWN, [f"{one.method} {one.path}" for one in asked]


@pytest.mark.parametrize("kind", KINDS)
def test_a_cold_verification_asks_for_each_kind_no_more_often_than_planned(told: Told, kind: str) -> None:
    pattern, most = KINDS[kind]
    asked = [f"{one.method} {one.path}" for one in verification(told)]
    assert 0 < len([each for each in asked if re.match(pattern, each)]) <= most


def test_a_cold_verification_asks_for_nothing_else(told: Told) -> None:
    asked = [f"{one.method} {one.path}" for one in verification(told)]
    assert [each for each in asked if not any(re.match(pattern, each) for pattern, _ in KINDS.values())] == []


def test_no_request_of_a_cold_verification_is_refused_or_repeated(told: Told) -> None:
    asked = verification(told)
    assert [f"{one.status} {one.path}" for one in asked if one.status >= 400] == []
    read = [(one.path, one.query) for one in asked if one.path.endswith(("/zip", "/logs", "/jobs", "/artifacts"))]
    assert len(read) == len(set(read))


@pytest.mark.parametrize("event", ["issue_comment", "pull_request", "workflow_run"])
def test_an_event_after_which_nothing_is_to_be_done_costs_two_requests(told: Told, event: str) -> None:
    world = told.stage.world
    with world.lock:
        before = len(world.requests)
    guid = f"7b0c5a52-0000-4000-8001-{next(GUIDS):012d}"
    assert send(told.stage, replace(last(told.stage, event), guid=guid)) == 202
    quiet(told.stage)
    with world.lock:
        asked = [one for one in world.requests[before:] if one.counted]
    assert 0 < len(asked) <= NOTHING_NEW, [f"{one.method} {one.path}" for one in asked]
    assert [one.path for one in asked if one.method != "GET" and one.path != "/graphql"] == []
    assert len(told.stage.counters) == 1, "nothing was verified again"


def test_a_round_over_a_thousand_unchanged_pull_requests_stays_within_twelve_requests() -> None:
    first, _, third = rounds_over(PULLS, 3)
    assert first.found == set(range(1, PULLS + 1))
    assert third.found == set()
    assert 0 < len(third.asked) <= A_ROUND
    lists = [one for one in third.asked if one.method == "GET"]
    assert [one.path for one in lists if one.status != 304] == [], "unchanged lists cost nothing of the budget"
