"""The doctor finds each fault of an installation and says what to do."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from app.demo.stage import APP_ID, APP_SLUG, key_pair
from app.doctor import PERMISSIONS, doctor, findings, of_app
from app.github.app_page import AppPage
from app.github.hosts import Hosts
from app.inbox.events import EVENTS
from app.launch.install import FOLDER, render
from app.policy import SweepPolicy
from app.sandbox import Server, World
from app.settings import Settings

HOOK = {"url": "https://bot.example/webhooks/github", "content_type": "json", "secret": "********", "insecure_ssl": "0"}
FINE = AppPage(APP_SLUG, PERMISSIONS, tuple(EVENTS), HOOK, (202, 401), 1.0)
POLICY = b"extends: minimal\nsweep:\n  mode: service\n"


@pytest.mark.parametrize(
    ("changes", "subject", "said"),
    [
        ({"permissions": {**PERMISSIONS, "checks": "read"}}, "permissions", "checks: write"),
        ({"permissions": {}}, "permissions", "metadata: read"),
        ({"events": ("issue_comment",)}, "events", "pull_request, "),
        ({"hook": {**HOOK, "url": "https://bot.example/hook"}}, "webhook", "/webhooks/github"),
        ({"hook": {**HOOK, "content_type": "form"}}, "webhook", "application/json"),
        ({"hook": {**HOOK, "secret": ""}}, "webhook", "SWEEPGATE_WEBHOOK_SECRETS"),
        ({"hook": {**HOOK, "insecure_ssl": "1"}}, "webhook", "SSL"),
        ({"hook": None}, "webhook", "App's page"),
        ({"deliveries": (401, 202)}, "deliveries", "SWEEPGATE_WEBHOOK_SECRETS"),
        ({"deliveries": (502,)}, "deliveries", "/readyz"),
        ({"deliveries": ()}, "deliveries", "ask again"),
        ({"ahead": 90.0}, "clock", "90 s ahead"),
        ({"ahead": -45.0}, "clock", "45 s behind"),
        ({"ahead": None}, "clock", "synchronised"),
        ({"slug": "other"}, "credentials", "SWEEPGATE_BOT_LOGIN"),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, dict) else "",
)
def test_each_fault_of_the_app_is_one_line(changes: dict[str, Any], subject: str, said: str) -> None:
    page = replace(FINE, **changes)
    [bad] = [one for one in of_app(page, Settings(bot_login=f"{APP_SLUG}[bot]")) if one.ok is not True]
    assert bad.subject == subject
    assert said in bad.said


def test_a_good_app_has_no_fault() -> None:
    assert all(one.ok for one in of_app(FINE, Settings()))


class Place:
    """A stand-in with one repository and an App, as `sweepgate install` and the operations page leave it."""

    def __init__(self, world: World, server: Server) -> None:
        private, public = key_pair()
        self.world, self.hosts = world, Hosts(**server.addresses())
        world.install(world.app(APP_ID, APP_SLUG, public), "acme")
        workflows = {f"{FOLDER}/{name}": text.encode() for name, text in render("service").items()}
        self.repository = world.repository("acme/bench", {".github/sweepgate.yml": POLICY, **workflows})
        for label in (*SweepPolicy().primaries, *SweepPolicy().modifiers):
            self.repository.label(label)
        self.settings = Settings(webhook_secrets="a secret", marker_key="a key", app_id=APP_ID, app_private_key=private)

    def wrong(self, *repositories: str) -> dict[str, str]:
        named = repositories or ("acme/bench",)
        return {one.subject: one.said for one in findings(self.settings, named, self.hosts) if one.ok is False}

    def push(self, changes: dict[str, bytes | None]) -> None:
        self.repository.push("main", changes, "maintainer")


@pytest.fixture
def place() -> Iterator[Place]:
    world = World()
    with Server(world) as server:
        yield Place(world, server)


def test_an_installation_as_documented_has_no_fault_but_what_the_stand_in_does_not_show(place: Place, capsys) -> None:
    assert set(place.wrong()) <= {"events"}
    assert doctor(place.settings, ["acme/bench"], "json", place.hosts) == 1
    told = {one["subject"]: one["ok"] for one in json.loads(capsys.readouterr().out)}
    assert told["acme/bench labels"] is told["acme/bench workflows"] is told["acme/bench policy"] is True
    assert told["permissions"] is told["clock"] is told["credentials"] is True


@pytest.mark.parametrize(
    ("changes", "subject", "said"),
    [
        pytest.param({".github/sweepgate.yml": b"sweep: [\n"}, "policy", ".github/sweepgate.yml", id="a broken policy"),
        pytest.param({".github/sweepgate.yml": None}, "workflows", "sweepgate.yml", id="no policy: actions mode"),
        pytest.param({f"{FOLDER}/run-sweep.yml": None}, "workflows", "run-sweep.yml", id="a workflow is gone"),
        pytest.param({f"{FOLDER}/run-sweep.yml": b"name: x\n"}, "workflows", "not as installed", id="it was edited"),
    ],
)
def test_each_fault_of_a_repository_is_found(place: Place, changes, subject, said) -> None:
    place.push(changes)
    assert said in place.wrong()[f"acme/bench {subject}"]


def test_a_missing_label_is_named(place: Place) -> None:
    del place.repository.labels["all-evals"]
    assert "all-evals" in place.wrong()["acme/bench labels"]


def test_a_repository_without_the_app_is_told(place: Place) -> None:
    assert "Install the App" in place.wrong("other/one")["other/one"]


def test_a_wrong_key_is_told_and_ends_the_look(place: Place) -> None:
    place.settings = place.settings.model_copy(
        update={"app_private_key": Settings(app_private_key=key_pair()[0]).app_private_key}
    )
    assert "Check the App's id and key" in place.wrong()["credentials"]


def test_a_key_that_is_no_key_is_told(place: Place) -> None:
    place.settings = Settings(app_id=APP_ID, app_private_key="no key", marker_key="x", webhook_secrets="s")
    assert "credentials" in place.wrong()


def test_a_clock_that_is_ahead_is_told(place: Place) -> None:
    late = findings(place.settings, [], place.hosts, now=lambda: time.time() + 50)
    assert [one.ok for one in late if one.subject == "clock"] == [False]


def test_missing_settings_are_named_without_asking_github(capsys) -> None:
    assert doctor(Settings(), [], "text") == 1
    told = capsys.readouterr().out
    assert told.count("WRONG") == 3
    assert "SWEEPGATE_MARKER_KEY" in told


def test_a_token_is_named_by_its_login(place: Place, capsys) -> None:
    place.world.token("secret-token", "maintainer")
    settings = Settings(webhook_secrets="s", marker_key="k", github_token="secret-token", bot_login="somebody")
    doctor(settings, ["acme/bench"], "text", place.hosts)
    told = capsys.readouterr()
    assert "the token is maintainer's, not somebody's" in told.out
    assert "secret-token" not in told.out + told.err
