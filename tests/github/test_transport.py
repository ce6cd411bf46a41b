"""Purpose: what is repeated and what is not, what is counted, what is kept, and that no secret is ever shown."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
from pydantic import SecretStr

from app.github.apps import with_token
from app.github.auth import TokenAuth
from app.github.client import GitHub
from app.github.counter import CallCounter
from app.github.errors import (
    BadCredentials,
    HostError,
    Limited,
    NotThere,
    Refused,
    Treatment,
    Unanswered,
    Unavailable,
    Unreadable,
    reason,
    treat,
)
from app.github.hosts import Hosts
from app.github.transport import next_page
from app.sandbox import Server, World
from app.sandbox.faults import Fault, Faults
from app.sandbox.pull import PullRequest
from app.sandbox.repository import Repository
from tests.github.conftest import START, Connect, FakeTime, R

Plant = Callable[[Faults], Fault]


@pytest.mark.parametrize(
    "plant",
    [
        pytest.param(lambda faults: faults.error(times=1), id="a 502"),
        pytest.param(lambda faults: faults.error(status=500, times=3), id="three 500 in a row"),
        pytest.param(lambda faults: faults.dropped(), id="a broken connection"),
        pytest.param(lambda faults: faults.silence(), id="no answer in time"),
        pytest.param(lambda faults: faults.too_many(retry_after=2), id="429 with a short wait"),
    ],
)
def test_a_read_is_repeated_after(plant: Plant, world: World, pull: PullRequest, connect: Connect) -> None:
    github = connect(timeout=0.2)
    plant(world.faults)
    assert github.head(R, 7) == pull.head_sha


@pytest.mark.parametrize(
    ("plant", "error"),
    [
        pytest.param(lambda faults: faults.error(times=0), Unavailable, id="5xx for good"),
        pytest.param(lambda faults: faults.secondary(times=0), Limited, id="the limit on speed, older text"),
        pytest.param(
            lambda faults: faults.secondary(times=0, newer=True), Limited, id="the limit on speed, newer text"
        ),
        pytest.param(lambda faults: faults.too_many(times=0), Limited, id="429 without a header"),
        pytest.param(lambda faults: faults.add(Fault(status=403, message="No", times=0)), Refused, id="a refusal"),
        pytest.param(lambda faults: faults.add(Fault(status=410, times=0)), NotThere, id="gone"),
    ],
)
def test_a_read_ends_in(plant: Plant, error: type[HostError], world: World, pull: PullRequest, github: GitHub) -> None:
    plant(world.faults)
    with pytest.raises(error):
        github.head(R, 7)


@pytest.mark.parametrize(
    "plant",
    [
        pytest.param(lambda faults: faults.error(method="POST", after=True), id="502 after acting"),
        pytest.param(lambda faults: faults.error(method="POST"), id="502 without acting"),
        pytest.param(lambda faults: faults.dropped(method="POST", after=True), id="a broken connection"),
        pytest.param(lambda faults: faults.silence(method="POST", after=True), id="no answer in time"),
    ],
)
def test_an_unanswered_create_is_not_repeated(plant: Plant, world: World, pull: PullRequest, connect: Connect) -> None:
    plant(world.faults)
    with pytest.raises(Unanswered):
        connect(timeout=0.2).writes.create_comment(R, 7, "hello")
    assert len(pull.comments) <= 1
    assert sum(1 for each in world.requests if each.method == "POST") == 1


def test_an_unanswered_edit_is_repeated(world: World, pull: PullRequest, github: GitHub) -> None:
    comment = pull.comment("sweepgate[bot]", "before")
    world.faults.error(method="PATCH", after=True)
    github.writes.edit_comment(R, comment.id, "after")
    assert comment.body == "after"
    assert sum(1 for each in world.requests if each.method == "PATCH") == 2


def test_a_create_refused_by_a_short_limit_is_sent_again(world: World, pull: PullRequest, github: GitHub) -> None:
    world.faults.too_many(method="POST", retry_after=1)
    github.writes.create_comment(R, 7, "hello")
    assert [each.body for each in pull.comments] == ["hello"]


def test_a_host_that_cannot_be_reached_is_unavailable_even_for_a_create(clock: FakeTime) -> None:
    github = with_token(Hosts(api="http://127.0.0.1:9"), SecretStr("x"), clock.time)
    with pytest.raises(Unavailable):
        github.writes.create_comment(R, 7, "hello")


def test_the_primary_limit_tells_the_reset(world: World, pull: PullRequest, github: GitHub) -> None:
    held = world.budget("bot-token")
    held.used = held.limit
    with pytest.raises(Limited) as told:
        github.head(R, 7)
    assert told.value.until == held.resets_at + 1
    assert not told.value.secondary


def test_a_limited_installation_does_not_ask_again_before_the_time(
    world: World, pull: PullRequest, github: GitHub, clock: FakeTime
) -> None:
    world.faults.secondary()
    with pytest.raises(Limited):
        github.head(R, 7)
    asked = len(world.requests)
    with pytest.raises(Limited):
        github.head(R, 7)
    assert len(world.requests) == asked
    clock.at += 61
    assert github.head(R, 7) == pull.head_sha


def test_an_unchanged_answer_costs_no_budget(world: World, pull: PullRequest, github: GitHub) -> None:
    first = github.head(R, 7)
    used = world.budget("bot-token").used
    assert github.head(R, 7) == first
    assert world.budget("bot-token").used == used
    assert world.requests[-1].status == 304
    assert github.counter.not_modified == 1


def test_a_changed_answer_is_read_anew(repo: Repository, pull: PullRequest, github: GitHub) -> None:
    first = github.head(R, 7)
    repo.push("feature", {"README.md": "changed\n"}, "author")
    assert github.head(R, 7) == pull.head_sha != first


def test_two_tokens_do_not_share_what_they_were_told(world: World, pull: PullRequest, connect: Connect) -> None:
    world.token("other-token", "reviewer")
    connect().head(R, 7)
    connect("other-token").head(R, 7)
    assert world.requests[-1].status == 200


def test_a_verification_counts_its_own_requests(pull: PullRequest, github: GitHub) -> None:
    mine, other = CallCounter(), CallCounter()
    github.counted(mine).head(R, 7)
    github.counted(mine).permission(R, "reviewer")
    github.counted(other).head(R, 7)
    assert (mine.requests, other.requests, github.counter.requests) == (2, 1, 0)
    assert mine.asked == ["GET /repos/acme/bench/pulls/7", "GET /repos/acme/bench/collaborators/reviewer/permission"]


def test_a_repeated_request_counts_again(world: World, pull: PullRequest, github: GitHub) -> None:
    world.faults.error(times=2)
    github.head(R, 7)
    assert github.counter.requests == 3 == world.counted()


def test_an_enterprise_server_is_reached_below_its_own_path(
    server: Server, pull: PullRequest, connect: Connect
) -> None:
    github = connect(api=f"{server.url}/api/v3", graphql="")
    assert github.transport.hosts.graphql_url == f"{server.url}/api/graphql"
    assert github.head(R, 7) == pull.head_sha
    assert github.pull_request(R, 7).head_sha == pull.head_sha
    github.writes.create_comment(R, 7, "hello")
    assert pull.comments[-1].body == "hello"


@pytest.mark.parametrize(
    ("api", "graphql"),
    [
        pytest.param("https://api.github.com", "https://api.github.com/graphql", id="github.com"),
        pytest.param("https://ghe.example/api/v3", "https://ghe.example/api/graphql", id="an enterprise server"),
    ],
)
def test_the_graphql_address_follows_from_the_api(api: str, graphql: str) -> None:
    assert Hosts(api=api).graphql_url == graphql


def test_a_wrong_token_is_told_as_wrong_credentials(pull: PullRequest, connect: Connect) -> None:
    with pytest.raises(BadCredentials):
        connect("no-such-token").head(R, 7)


def test_the_token_is_in_no_repr_message_or_log(
    world: World, pull: PullRequest, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "ghs_verysecrettoken"
    caplog.set_level(logging.DEBUG)
    github = connect(secret, timeout=0.2)
    shown = [repr(github.transport.auth), repr(vars(github.transport)), repr(TokenAuth(SecretStr(secret)))]
    world.tokens[secret] = world.tokens["bot-token"]
    for plant in (world.faults.error, world.faults.dropped, world.faults.secondary, world.faults.silence):
        world.faults.clear()
        plant(times=0)
        with pytest.raises(HostError) as told:
            github.writes.create_comment(R, 7, "hello")
        shown += [str(told.value), repr(told.value), reason(told.value), repr(told.value.__cause__)]
    assert all(secret not in text for text in [*shown, caplog.text])


def test_a_list_too_long_to_read_is_an_error_and_not_a_short_list(repo: Repository, github: GitHub) -> None:
    for number in range(201):
        repo.label(f"label-{number:03d}")
    with pytest.raises(Unreadable):
        github.transport.pages(f"/repos/{R}/labels", most=2)
    assert sum(len(page) for page in github.transport.pages(f"/repos/{R}/labels")) == 201


@pytest.mark.parametrize(
    ("link", "following"),
    [
        pytest.param("", "", id="no header"),
        pytest.param(
            '<https://x/y?page=2>; rel="next", <https://x/y?page=9>; rel="last"', "https://x/y?page=2", id="next"
        ),
        pytest.param('<https://x/y?page=1>; rel="prev"', "", id="the last page"),
    ],
)
def test_the_next_page_is_read_from_the_link_header(link: str, following: str) -> None:
    assert next_page(link) == following


@pytest.mark.parametrize(
    ("error", "how", "at"),
    [
        pytest.param(NotThere("x"), Treatment.IGNORE, None, id="gone"),
        pytest.param(Refused("x", 422, "no"), Treatment.TELL_USER, None, id="refused"),
        pytest.param(Unreadable("x"), Treatment.TELL_USER, None, id="unreadable"),
        pytest.param(Unavailable("x"), Treatment.RETRY_PULL, None, id="unavailable"),
        pytest.param(Unanswered("x"), Treatment.RETRY_PULL, None, id="unanswered"),
        pytest.param(Limited("x", 99.0, True), Treatment.RETRY_INSTALLATION, 99.0, id="limited"),
        pytest.param(BadCredentials("x"), Treatment.RETRY_INSTALLATION, START + 600, id="credentials"),
        pytest.param(KeyError("x"), Treatment.BUG, None, id="a fault of ours"),
    ],
)
def test_an_error_is_treated(error: Exception, how: Treatment, at: float | None) -> None:
    treated = treat(error, START)
    assert (treated.how, treated.at) == (how, at)


def test_a_fault_of_ours_is_not_told_in_detail() -> None:
    assert reason(ValueError("internal path /srv/x")) == "internal error (ValueError)"
