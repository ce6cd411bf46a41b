"""kill -9 between collecting and publishing: after a restart there is exactly one verdict comment."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.demo.play import ACCOUNT, BOT
from app.demo.stage import APP_ID, APP_SLUG, key_pair, wait_for
from app.evidence.bundle import read_bundle
from app.sandbox import Server, World
from app.sandbox.reference_story import ReferenceStory
from app.verdict.assess import assess
from tests.support.bundles import EXAMPLE, ROOT

HOOK_SECRET = secrets.token_hex(16)


@dataclass
class Ground:
    """A stand-in with the whole story played silently, and the environment of a service on it."""

    story: ReferenceStory
    environment: dict[str, str]

    @property
    def verdicts(self) -> list[str]:
        with self.story.world.lock:
            said = [comment.body for comment in self.story.pull.comments if comment.author == BOT]
        return [body for body in said if body.startswith("<!-- sweepgate:verdict:")]

    @property
    def checked(self) -> int:
        with self.story.world.lock:
            return sum(run.name == "Sweepgate verdict" for run in self.story.repository.check_runs)

    @contextmanager
    def service(self, fault: str = "") -> Iterator[subprocess.Popen[str]]:
        """A running service that gets the webhooks; a fault kills it when its point is reached."""
        command = [sys.executable, "-m", "tests.end_to_end.service_process"]
        environment = {**self.environment, "SWEEPGATE_FAULT": fault}
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert url, "the service did not start"
            self.story.world.webhooks.point_at(f"{url}/webhooks/github", HOOK_SECRET)
            yield process
        finally:
            process.kill()
            process.wait(10)
            assert process.stdout is not None
            process.stdout.close()


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    world = World()
    private, public = key_pair()
    world.install(world.app(APP_ID, APP_SLUG, public), ACCOUNT)
    world.webhooks.quiet = True
    story = ReferenceStory(world).play("use")
    world.webhooks.quiet = False
    with Server(world) as server:
        yield Ground(
            story,
            {
                **os.environ,
                "SWEEPGATE_WEBHOOK_SECRETS": HOOK_SECRET,
                "SWEEPGATE_MARKER_KEY": secrets.token_hex(32),
                "SWEEPGATE_APP_ID": str(APP_ID),
                "SWEEPGATE_APP_PRIVATE_KEY": private,
                "SWEEPGATE_GITHUB_URL": server.url,
                "SWEEPGATE_DATABASE_URL": f"sqlite:///{tmp_path / 'sweepgate.sqlite'}",
                "SWEEPGATE_GATHER_SECONDS": "0.05",
                "SWEEPGATE_PUMP_SECONDS": "0.05",
                "SWEEPGATE_QUEUE_POLL_SECONDS": "0.05",
                "SWEEPGATE_VISIBLE_SECONDS": "1",
                "TEST_HOSTS": json.dumps(server.addresses()),
                "TEST_RECORDS": str(tmp_path / "bundles"),
            },
        )


def test_killed_before_and_after_the_create_leaves_one_verdict_comment(ground: Ground, tmp_path: Path) -> None:
    """The third comment of the story is the verdict; first nothing of it is on GitHub, then all of it is."""
    with ground.service("github.create_comment.before:3") as service:
        ground.story.sign_off()
        assert service.wait(40) == -signal.SIGKILL
    collected = [folder.name for folder in (tmp_path / "bundles").iterdir()]
    assert collected == [read_bundle(EXAMPLE).digest], "killed after the evidence was collected"
    assert ground.verdicts == []

    with ground.service("github.create_comment.after:1") as service:
        assert service.wait(40) == -signal.SIGKILL
    assert len(ground.verdicts) == 1

    with ground.service():
        wait_for(lambda: ground.checked, "the check run")
    assert ground.checked == 1
    [verdict] = ground.verdicts
    assert re.sub(r"\A<!--.*?-->\n", "", verdict, flags=re.DOTALL) == assess(read_bundle(EXAMPLE)).comment
