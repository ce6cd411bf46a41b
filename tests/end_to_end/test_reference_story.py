"""The reference pull request from signed webhooks to one verdict comment, on the real service."""

from __future__ import annotations

import json
import re

import pytest

from app.demo.play import EXPECTED, compare
from app.evidence.bundle import read_bundle
from app.verdict.assess import assess
from app.verdict.render import to_json
from tests.end_to_end.told import Told, metric
from tests.support.bundles import EXAMPLE

VERDICT_BUDGET = 40
OWN_REQUESTS = 18


def visible(body: str) -> str:
    """A comment without its hidden marker."""
    return re.sub(r"\A<!--.*?-->\n", "", body, flags=re.DOTALL)


def kinds(bodies: list[str]) -> list[str]:
    return [match[1] if (match := re.match(r"<!-- sweepgate:([a-z-]+):", body)) else "?" for body in bodies]


def test_rows_and_header_are_the_expected_ones(told: Told) -> None:
    expected = json.loads(EXPECTED.read_text())
    [digest] = told.done.digests
    found = to_json(assess(read_bundle(told.stage.records / digest)).verdict)
    assert found["header"] == expected["header"] == "PASS"
    assert {str(row["number"]): [row["status"], row["name"]] for row in found["checks"]} == expected["rows"]


def test_the_service_gathered_the_recorded_bundle_byte_for_byte(told: Told) -> None:
    recorded = read_bundle(EXAMPLE)
    assert told.done.digests == [recorded.digest]
    gathered = told.stage.records / recorded.digest
    for file in sorted(path.relative_to(EXAMPLE) for path in EXAMPLE.rglob("*") if path.is_file()):
        assert (gathered / file).read_bytes() == (EXAMPLE / file).read_bytes(), file


def test_the_comment_is_the_text_of_the_recorded_bundle(told: Told) -> None:
    assert visible(told.done.verdict) == assess(read_bundle(EXAMPLE)).comment


def test_the_demo_finds_nothing_to_complain_of(told: Told) -> None:
    assert compare(told.done) == []


def test_the_whole_verdict_stands_in_a_check_run_of_the_head(told: Told) -> None:
    with told.story.world.lock:
        [run] = [run for run in told.story.repository.check_runs if run.name == "Sweepgate verdict"]
    assert (run.sha, run.status, run.conclusion) == (
        told.story.pull.head_sha,
        "completed",
        "success",
    )


@pytest.mark.parametrize("phase", ["redelivered", "nothing new", "unknown", "vanished"])
def test_one_welcome_one_results_one_verdict_stay(told: Told, phase: str) -> None:
    assert sorted(kinds(told.comments[phase])) == ["results", "verdict", "welcome"]
    assert told.done.verdict in told.comments[phase]


def test_every_redelivered_webhook_is_acknowledged_and_costs_no_request(
    told: Told,
) -> None:
    assert len(told.statuses["redelivered"]) >= 24
    assert set(told.statuses["redelivered"]) == {202}
    assert told.requests["redelivered"] == []


def test_the_first_verification_keeps_its_budget_of_requests(told: Told) -> None:
    """From the first read to the published comment. The reaction that says "seen" is an effect of its own."""
    whole = told.requests["verification"]
    asked = [one for one in whole if not one.path.endswith("/reactions")]
    archives = [one for one in asked if one.path.endswith("/zip")]
    [published] = [
        number
        for number, one in enumerate(asked)
        if one.method == "POST" and one.path.endswith("/issues/4343/comments")
    ]
    assert len(whole) <= VERDICT_BUDGET
    assert len(archives) == 13, "11 result rows, the eval aggregate and changelog-metadata"
    assert published + 1 <= OWN_REQUESTS + len(archives), [f"{one.method} {one.path}" for one in asked]


def test_the_counter_of_the_verification_and_the_stand_in_agree(told: Told) -> None:
    counter = told.stage.counters[-1]
    reads = [one for one in told.requests["verification"] if one.method == "GET" or one.path == "/graphql"]
    assert counter.requests == len(counter.asked)
    assert told.done.requests == counter.requests <= OWN_REQUESTS + 13
    assert sum(one.endswith("/zip") for one in counter.asked) == sum(one.path.endswith("/zip") for one in reads) == 13


def test_no_request_of_a_host_but_github_carries_a_token(told: Told) -> None:
    with told.story.world.lock:
        others = [one for one in told.story.world.requests if one.host != "github"]
    assert {one.host for one in others} >= {
        "files",
        "checkpoint",
        "docs.sglang.io",
        "docs.nvidia.com",
    }
    assert [one.path for one in others if one.authorization] == []


def test_a_hint_that_nothing_changed_costs_two_requests_and_writes_nothing(
    told: Told,
) -> None:
    assert told.statuses["nothing new"] == [202]
    asked = told.requests["nothing new"]
    assert [one.path.rsplit("/", 1)[-1] for one in asked] == ["graphql", "runs"]
    assert len(told.stage.counters) == 1, "nothing was verified again"


def test_an_unknown_event_is_ignored_and_counted(told: Told) -> None:
    assert told.statuses["unknown"] == [202]
    assert told.requests["unknown"] == []
    before, after = told.metrics["nothing new"], told.metrics["unknown"]
    ignored = ("sweepgate_deliveries_total", "ignored")
    assert metric(after, ignored[0], outcome=ignored[1]) == metric(before, ignored[0], outcome=ignored[1]) + 1


def test_a_pull_request_that_has_vanished_ends_quietly(told: Told) -> None:
    assert told.statuses["vanished"] == [202]
    assert [one.path for one in told.requests["vanished"]] == ["/graphql"]
    before, after = told.metrics["unknown"], told.metrics["vanished"]
    failures = "sweepgate_failures_total"
    assert metric(after, failures, kind="ignore") == metric(before, failures, kind="ignore") + 1
    assert metric(after, failures, kind="bug") == 0
    assert metric(after, "sweepgate_pulls_waiting") == 0


def test_no_secret_is_in_any_byte_of_the_recorded_bundle(told: Told) -> None:
    world = told.stage.world
    secrets = [world.webhooks.secret, *world.tokens]
    assert len(secrets) >= 2
    assert all(len(secret) > 10 for secret in secrets)
    written = [path for path in told.stage.records.rglob("*") if path.is_file()]
    assert len(written) > 50
    for path in written:
        content = path.read_bytes()
        assert not any(secret.encode() in content for secret in secrets), path
        assert b"Bearer " not in content, path
