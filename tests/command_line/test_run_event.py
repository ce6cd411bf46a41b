"""Actions mode: recorded event payloads of the reference story, one job each, no store; the service's own answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.demo.play import ACCOUNT, REVIEW_DAY
from app.demo.stage import APP_ID, APP_SLUG, key_pair
from app.github.hosts import Hosts
from app.run_event import run_event
from app.sandbox import Server, World
from app.sandbox.reference_story import ReferenceStory
from app.settings import Settings
from app.verdict.assess import assess
from tests.support.bundles import good

BOT = f"{APP_SLUG}[bot]"


class Jobs:
    """A stand-in whose webhooks become jobs: each payload is recorded in a file, as GitHub gives it to a runner."""

    def __init__(self, world: World, server: Server, folder: Path) -> None:
        private, public = key_pair()
        world.install(world.app(APP_ID, APP_SLUG, public), ACCOUNT)
        self.world, self.folder, self.seen = world, folder, 0
        self.hosts = Hosts(**server.addresses())
        self.settings = Settings(app_id=APP_ID, app_private_key=private, marker_key="kept in the environment")
        self.story = ReferenceStory(world)

    def run(self, event: str, payload: bytes) -> int:
        path = self.folder / "event.json"
        path.write_bytes(payload)
        env = {
            "GITHUB_REPOSITORY": self.story.repository.full_name,
            "GITHUB_EVENT_NAME": "pull_request_target" if event == "pull_request" else event,
            "GITHUB_EVENT_PATH": str(path),
        }
        return run_event(env, self.settings, self.hosts, lambda _seconds: None, review_day=lambda: REVIEW_DAY)

    def pending(self) -> None:
        """One job for each event since the last call; the bot's own comments start jobs too, as on GitHub."""
        while self.seen < len(self.world.webhooks.log):
            delivery = self.world.webhooks.log[self.seen]
            self.seen += 1
            if delivery.event in ("pull_request", "issue_comment", "workflow_run"):
                assert self.run(delivery.event, delivery.body) == 0

    def comments(self) -> dict[str, str]:
        """Kind -> visible text of the bot's comments; a kind that stands twice is a failure."""
        found: dict[str, str] = {}
        for comment in self.story.pull.comments:
            if comment.author == BOT:
                match = re.match(r"<!-- sweepgate:([a-z-]+):.*?-->\n", comment.body)
                assert match is not None and match[1] not in found
                found[match[1]] = comment.body[match.end() :]
        return found


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    world = World()
    with Server(world) as server:
        made = Jobs(world, server, tmp_path)
        made.story.prepare()
        made.seen = len(world.webhooks.log)
        yield made


def test_the_reference_story_ends_as_in_service_mode(jobs: Jobs) -> None:
    jobs.story.open_pull_request()
    jobs.pending()
    assert "welcome" in jobs.comments()
    jobs.story.play("use")
    jobs.pending()
    use = next(one for one in jobs.story.pull.comments if one.body.startswith("/use"))
    assert "+1" in [one.content for one in use.reactions if one.user == BOT]
    jobs.story.sign_off()
    jobs.pending()
    assert jobs.comments()["verdict"] == assess(good().bundle).comment
    before = [(one.id, one.body) for one in jobs.story.pull.comments]
    for delivery in list(jobs.world.webhooks.log)[-3:]:
        assert jobs.run(delivery.event, delivery.body) == 0
    assert [(one.id, one.body) for one in jobs.story.pull.comments] == before


def test_the_schedule_looks_at_every_open_pull_request(jobs: Jobs, capsys: pytest.CaptureFixture[str]) -> None:
    jobs.story.open_pull_request()
    assert jobs.run("schedule", b'{"schedule": "*/10 * * * *"}') == 0
    assert list(jobs.comments()) == ["welcome"]
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    assert any(line.get("actions") for line in told)


def test_a_review_ping_of_a_fork_is_found_by_its_head(jobs: Jobs) -> None:
    pull = jobs.story.open_pull_request()
    payload = {
        "action": "completed",
        "repository": {"full_name": jobs.story.repository.full_name},
        "workflow_run": {"pull_requests": [], "display_title": "Review Ping", "head_sha": pull.head_sha},
    }
    assert jobs.run("workflow_run", json.dumps(payload).encode()) == 0
    assert list(jobs.comments()) == ["welcome"]


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        pytest.param("issue_comment", {"action": "created", "issue": {"number": 4343}}, id="a comment on an issue"),
        pytest.param("push", {"ref": "refs/heads/main"}, id="an event that is none of ours"),
    ],
)
def test_what_touches_no_pull_request_does_nothing(jobs: Jobs, event: str, payload: dict[str, object]) -> None:
    jobs.story.open_pull_request()
    told = {"repository": {"full_name": jobs.story.repository.full_name}, **payload}
    assert jobs.run(event, json.dumps(told).encode()) == 0
    assert jobs.comments() == {}


@pytest.mark.parametrize(
    ("event", "payload", "code", "said"),
    [
        pytest.param("issue_comment", b"{", 2, "unreadable", id="a payload that is no JSON"),
        pytest.param("issue_comment", b"[]", 2, "unreadable", id="a payload that is a list"),
    ],
)
def test_a_bad_payload_is_told(jobs, capsys, event, payload, code, said) -> None:
    assert jobs.run(event, payload) == code
    assert said in capsys.readouterr().err


def test_what_is_missing_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_event({}, Settings()) == 2
    told = capsys.readouterr().err
    assert "GITHUB_EVENT_PATH" in told
    assert "SWEEPGATE_MARKER_KEY" in told
    assert "WEBHOOK" not in told


def test_a_refusing_github_fails_the_job_with_the_next_step(jobs: Jobs, capsys: pytest.CaptureFixture[str]) -> None:
    jobs.story.open_pull_request()
    jobs.world.installations.clear()
    assert jobs.run("schedule", b"{}") == 1
    assert "sweepgate doctor" in capsys.readouterr().err
