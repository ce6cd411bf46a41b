"""Purpose: a running service on a fake GitHub, quick enough for tests."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.effects.context import Links
from app.inbox.signature import signature
from app.main import Rooms, create_app
from app.settings import Settings
from tests.flows.fake_github import REPOSITORY, FakeAccess, FakeGitHub, same_measurement, verify_ok

SECRET = "first secret"


def wait_until(condition: Callable[[], Any], *, seconds: float = 20.0, what: str = "the condition") -> Any:
    """Wait for a condition; fails with its name."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what} did not come true in {seconds} s")


class Harness:
    """The real application and a fake GitHub; `deliver` sends a signed webhook."""

    def __init__(self, github: FakeGitHub, client: TestClient) -> None:
        self.github = github
        self.client = client
        self.service = client.app.state.service  # type: ignore[attr-defined]

    def deliver(self, event: str, payload: dict[str, Any], *, guid: str | None = None, secret: str = SECRET) -> Any:
        body = json.dumps({"repository": {"full_name": REPOSITORY}, **payload}).encode()
        headers = {
            "content-type": "application/json",
            "x-github-event": event,
            "x-github-delivery": guid or str(uuid.uuid4()),
            "x-hub-signature-256": signature(secret.encode(), body),
        }
        return self.client.post("/webhooks/github", content=body, headers=headers)

    def commented(self, number: int = 7, **options: Any) -> Any:
        payload = {"action": "created", "issue": {"number": number, "pull_request": {}}}
        return self.deliver("issue_comment", payload, **options)

    def idle(self) -> None:
        """Wait until no pull request has work and no row is open."""

        def quiet() -> bool:
            inbox, waiting = self.service.counts()
            return waiting == 0 and not inbox.get("new") and not inbox.get("taken")

        wait_until(quiet, what="quiet")


def quick_settings(folder: Path, **changes: Any) -> Settings:
    values: dict[str, Any] = {
        "webhook_secrets": (SECRET, "second secret"),
        "marker_key": "marker key",
        "github_token": "token",
        "database_url": f"sqlite:///{folder}/sweepgate.sqlite",
        "gather_seconds": 0.02,
        "pump_seconds": 0.1,
        "queue_poll_seconds": 0.02,
        "visible_seconds": 5.0,
    }
    return Settings(**{**values, **changes})


@pytest.fixture
def github() -> FakeGitHub:
    return FakeGitHub()


@pytest.fixture
def harness(github: FakeGitHub, tmp_path: Path) -> Iterator[Harness]:
    rooms = Rooms(FakeAccess(github), verify_ok, same_measurement, Links())
    with TestClient(create_app(quick_settings(tmp_path), rooms)) as client:
        yield Harness(github, client)
