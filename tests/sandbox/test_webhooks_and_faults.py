"""Purpose: webhooks are signed, logged and redelivered, and go wrong on demand; so do answers."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from app.sandbox import Server, World
from app.sandbox.pull import PullRequest
from app.sandbox.webhooks import Webhooks
from tests.sandbox.conftest import Story

R = "/repos/acme/bench"
SECRET = "shared"


class Receiver:
    """An endpoint that keeps what it was sent."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.status = 202
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(receiver.status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/webhooks/github"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def events(self) -> list[tuple[str, str]]:
        return [(headers["x-github-event"], json.loads(body).get("action", "")) for headers, body in self.got]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def pull(receiver: Receiver) -> PullRequest:
    world = World()
    repo = world.repository("acme/bench", {"README.md": "one\n"})
    world.webhooks.outbox.clear()
    world.webhooks.point_at(receiver.url, SECRET, auto=False)
    repo.push("feature", {"README.md": "two\n"}, "author")
    return repo.pull_request("feature", "author", number=7)


def test_a_webhook_is_signed_over_its_raw_body(pull: PullRequest, receiver: Receiver) -> None:
    pull.comment("reviewer", "/verify")
    pull.repo.world.webhooks.deliver()
    headers, body = receiver.got[-1]
    assert headers["x-hub-signature-256"] == "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    assert len(headers["x-github-delivery"]) == 36
    payload = json.loads(body)
    assert payload["comment"]["body"] == "/verify"
    assert payload["issue"]["pull_request"]["url"].endswith("/pulls/7")
    assert (payload["repository"]["full_name"], payload["sender"]["login"]) == ("acme/bench", "reviewer")


def test_every_change_sends_its_event(pull: PullRequest, receiver: Receiver) -> None:
    comment = pull.comment("reviewer", "a")
    pull.edit_comment(comment, "b")
    pull.delete_comment(comment)
    pull.review("reviewer", "fine")
    pull.review_comment("reviewer", "x", "README.md")
    pull.apply_label("maintainer", "full-sweep-enabled")
    pull.remove_label("maintainer", "full-sweep-enabled")
    pull.repo.push("feature", {"README.md": "three\n"}, "author")
    pull.set_draft(True)
    pull.set_draft(False)
    pull.edit("author", body="new")
    pull.repo.start_run("run-sweep.yml", "push", "author").start().finish()
    pull.close("author")
    pull.reopen("author")
    pull.merge("maintainer")
    pull.repo.world.webhooks.deliver()
    assert receiver.events == [
        ("push", ""),
        ("pull_request", "opened"),
        ("issue_comment", "created"),
        ("issue_comment", "edited"),
        ("issue_comment", "deleted"),
        ("pull_request_review", "submitted"),
        ("pull_request_review_comment", "created"),
        ("pull_request", "labeled"),
        ("pull_request", "unlabeled"),
        ("push", ""),
        ("pull_request", "synchronize"),
        ("pull_request", "converted_to_draft"),
        ("pull_request", "ready_for_review"),
        ("pull_request", "edited"),
        ("workflow_run", "requested"),
        ("workflow_run", "in_progress"),
        ("workflow_run", "completed"),
        ("pull_request", "closed"),
        ("pull_request", "reopened"),
        ("push", ""),
        ("pull_request", "closed"),
    ]


def test_an_edit_tells_the_old_text(pull: PullRequest, receiver: Receiver) -> None:
    pull.edit_comment(pull.comment("reviewer", "before"), "after", editor="maintainer")
    pull.repo.world.webhooks.deliver()
    payload = json.loads(receiver.got[-1][1])
    assert payload["changes"] == {"body": {"from": "before"}}
    assert payload["sender"]["login"] == "maintainer"


def test_a_redelivery_keeps_its_guid_and_body(pull: PullRequest, receiver: Receiver) -> None:
    hooks = pull.repo.world.webhooks
    hooks.deliver()
    pull.edit("author", title="changed since")
    hooks.outbox.clear()
    hooks.redeliver(hooks.log[1].guid)
    hooks.deliver()
    first, again = receiver.got[1], receiver.got[-1]
    assert first[0]["x-github-delivery"] == again[0]["x-github-delivery"]
    assert first[1] == again[1]
    assert hooks.log[1].attempts == 2
    with pytest.raises(KeyError):
        hooks.redeliver("none")


@pytest.mark.parametrize(
    ("status", "told"),
    [
        pytest.param(202, 202, id="accepted"),
        pytest.param(503, 503, id="refused"),
        pytest.param(401, 401, id="wrong signature"),
    ],
)
def test_the_log_holds_the_receivers_answer(status: int, told: int, pull: PullRequest, receiver: Receiver) -> None:
    receiver.status = status
    hooks = pull.repo.world.webhooks
    hooks.deliver()
    assert {each.status for each in hooks.log if each.attempts} == {told}


def test_a_receiver_that_is_down_is_noted(pull: PullRequest) -> None:
    hooks = pull.repo.world.webhooks
    hooks.url = "http://127.0.0.1:9/none"
    hooks.deliver()
    assert hooks.log[-1].status == 599


def test_deliveries_are_lost_doubled_and_shuffled_the_same_way_each_time() -> None:
    def story() -> tuple[list[int], int]:
        hooks = Webhooks(lose=0.2, double=0.1, shuffle=4, seed=7)
        for number in range(200):
            hooks.emit(number, "push", "", "o/r", {"n": number})
        order = []
        while (taken := hooks._take()) is not None:
            order.append(taken.id)
        return order, sum(each.lost for each in hooks.log)

    order, lost = story()
    assert (order, lost) == story()
    assert 20 <= lost <= 60
    assert len(order) > len(set(order))
    assert len(set(order)) == 200 - lost
    assert order != sorted(order)


def test_the_thread_delivers_by_itself(receiver: Receiver) -> None:
    world = World()
    repo = world.repository("acme/bench", {"README.md": "one\n"})
    world.webhooks.point_at(receiver.url, SECRET)
    repo.push("feature", {"README.md": "two\n"}, "author")
    assert world.webhooks.settle()
    world.webhooks.close()
    assert receiver.events == [("push", "")]


# faults ------------------------------------------------------------------------------------------------------


def test_a_fault_before_acting_changes_nothing_and_one_after_acting_does(story: Story, api: httpx.Client) -> None:
    before = len(story.pull.comments)
    story.world.faults.error("comments", "POST")
    assert api.post(f"{R}/issues/7/comments", json={"body": "a"}).status_code == 502
    assert len(story.pull.comments) == before
    story.world.faults.error("comments", "POST", after=True)
    assert api.post(f"{R}/issues/7/comments", json={"body": "b"}).status_code == 502
    assert len(story.pull.comments) == before + 1


@pytest.mark.parametrize("newer", [pytest.param(False, id="the older text"), pytest.param(True, id="the newer text")])
def test_the_secondary_limit_has_no_header(newer: bool, story: Story, api: httpx.Client) -> None:
    story.world.faults.secondary(newer=newer)
    answer = api.get(f"{R}/pulls/7")
    assert answer.status_code == 403
    assert "secondary rate limit" in answer.json()["message"]
    assert "Retry-After" not in answer.headers


def test_a_fault_can_wait_for_a_later_request_and_is_used_up(story: Story, api: httpx.Client) -> None:
    story.world.faults.error("pulls", times=1).skip = 1
    assert [api.get(f"{R}/pulls/7").status_code for _ in range(3)] == [200, 502, 200]


def test_silence_and_a_dropped_connection(story: Story, server: Server) -> None:
    headers = {"Authorization": "Bearer bot-token"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=0.2, trust_env=False) as client:
        story.world.faults.silence("pulls")
        with pytest.raises(httpx.ReadTimeout):
            client.get(f"{R}/pulls/7")
        story.world.faults.dropped("pulls")
        with pytest.raises(httpx.HTTPError):
            client.get(f"{R}/pulls/7")
        assert client.get(f"{R}/pulls/7").status_code == 200


def test_what_was_asked_is_logged_and_counted(story: Story, api: httpx.Client) -> None:
    api.get(f"{R}/pulls/7")
    location = api.get(f"{R}/actions/artifacts/6001/zip").headers["Location"]
    httpx.get(location, trust_env=False)
    logged = [(each.host, each.actor, each.counted) for each in story.world.requests]
    assert logged == [("github", "sweepgate[bot]", True), ("github", "sweepgate[bot]", True), ("files", "", False)]
    assert story.world.counted() == 2
