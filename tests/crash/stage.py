"""Purpose: the stand-in in this process, the service in another one, which may die and is started again.

Deliveries that fail while the service is down are lost, as on GitHub: the periodic round has to find what they told.
Only staging callbacks are delivered again, because a delivery is the only thing that carries them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.demo.stage import APP_ID, APP_SLUG, key_pair
from app.sandbox import Server, World
from app.sandbox.clock import WallClock
from app.sandbox.model import Dispatch
from app.sandbox.repository import Repository

REPOSITORY = "example/inference"
TARGET = "example/app"
BOT = f"{APP_SLUG}[bot]"
ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = """name: Run Sweep
run-name: "Sweep #${{ inputs.pr }} @ ${{ inputs.short_sha }} [${{ inputs.sweep_key }}]"
on:
  workflow_dispatch:
    inputs:
      pr:
        required: true
      head_sha:
        required: true
      short_sha:
        required: true
      base_sha:
        required: true
      sweep_key:
        required: true
      label:
        required: true
      modifiers:
        required: false
"""
POLICY = f"""name: example
sweep:
  mode: service
staging:
  repository: {TARGET}
  site: https://staging.example
"""
FILES = {
    "perf-changelog.yaml": "- config-keys:\n    - one\n",
    "configs/nvidia-master.yaml": "one: 1\n",
    ".github/workflows/run-sweep.yml": WORKFLOW,
    ".github/sweepgate.yml": POLICY,
}
KEYS = key_pair()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_for(ready: Callable[[], Any], what: str, seconds: float = 90.0) -> Any:
    """The first true value; fails with its name."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        found = ready()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what} did not happen within {seconds:.0f} s")


class CrashStage:
    """A context manager. `fault` is the SWEEPGATE_FAULT of the first process only."""

    def __init__(self, database_url: str = "", *, fault: str = "", **settings: str) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="sweepgate-crash-")
        self.world = World(clock=WallClock())
        self.sandbox = Server(self.world)
        self.port = free_port()
        self.database_url = database_url or f"sqlite:///{self.folder.name}/sweepgate.sqlite"
        self.fault = fault
        self.struck = False
        self.starts = 0
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._others: list[subprocess.Popen[bytes]] = []
        self._secret = secrets.token_hex(8)
        self._closing = threading.Event()
        self._held = threading.Event()
        self._log = Path(self.folder.name) / "service.log"
        self._watcher = threading.Thread(target=self._watch, name="watcher", daemon=True)

    def __enter__(self) -> CrashStage:
        self._prepare()
        self.sandbox.start()
        self.start(self.fault)
        self.world.webhooks.point_at(f"http://127.0.0.1:{self.port}/webhooks/github", self._secret)
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._watcher.join(10)
        self.world.webhooks.close()
        self.kill()
        for other in self._others:
            other.kill()
            other.wait(20)
        self.sandbox.stop()
        self.folder.cleanup()

    def _prepare(self) -> None:
        world = self.world
        world.repository(TARGET, {"README.md": "app\n"})
        self.repository: Repository = world.repository(REPOSITORY, dict(FILES))
        self.repository.collaborator("maintainer", "admin", "admin", "MEMBER")
        self.repository.collaborator("reviewer", "write", "write", "COLLABORATOR")
        for label in ("full-sweep-enabled", "full-sweep-fail-fast", "all-evals"):
            self.repository.label(label)
        world.install(world.app(APP_ID, APP_SLUG, KEYS[1]), "example")
        world.lag.comments, world.lag.runs = 0.3, 0.6
        world.on_repository_dispatch.append(self._staged)

    def _staged(self, repository: Repository, made: Dispatch) -> None:
        """The staging target: answers a hand-over with its two callbacks."""
        if made.event_type != "stage-results":
            return
        told = made.client_payload
        back = {
            "source-repository": TARGET,
            "pr-number": told["pr-number"],
            "run-id": told["run-id"],
            "comment-id": told["comment-id"],
            "app-run-id": 77,
            "run-date": told["run-date"],
        }
        for kind, more in (("stage-results-started", {}), ("stage-results-completed", {"stage-succeeded": "true"})):
            self.world.emit(
                self.repository, "repository_dispatch", kind, "sweepgate-app[bot]", client_payload={**back, **more}
            )

    def start(self, fault: str = "") -> None:
        """Start the service and wait until it answers, or until the fault has struck."""
        self._process = self._launch(self.port, fault)
        self.starts += 1
        wait_for(lambda: self.answers("/healthz") or self.died(), "the service to start", 60)

    def start_another(self) -> int:
        """Start one more worker on the same database, which nobody kills or starts again; its port."""
        port = free_port()
        self._others.append(self._launch(port))
        wait_for(lambda: self.answers("/healthz", port), "the other worker to start", 60)
        return port

    def deliver_to(self, port: int) -> None:
        """Send later webhooks to the worker at this port; those before it are sent first."""
        assert self.world.webhooks.settle(), "the webhooks before were sent"
        self.world.webhooks.point_at(f"http://127.0.0.1:{port}/webhooks/github", self._secret)

    def _launch(self, port: int, fault: str = "") -> subprocess.Popen[bytes]:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SWEEPGATE_")},
            "SWEEPGATE_FAULT": fault,
            "SWEEPGATE_WEBHOOK_SECRETS": self._secret,
            "SWEEPGATE_MARKER_KEY": "marker key",
            "SWEEPGATE_APP_ID": str(APP_ID),
            "SWEEPGATE_APP_PRIVATE_KEY": KEYS[0],
            "SWEEPGATE_GITHUB_URL": self.sandbox.url,
            "SWEEPGATE_DATABASE_URL": self.database_url,
            "SWEEPGATE_REPOSITORIES": REPOSITORY,
            "SWEEPGATE_GATHER_SECONDS": "0.05",
            "SWEEPGATE_PUMP_SECONDS": "0.2",
            "SWEEPGATE_QUEUE_POLL_SECONDS": "0.05",
            "SWEEPGATE_ROUND_SECONDS": "1",
            "SWEEPGATE_HEARTBEAT_SECONDS": "0.3",
            "SWEEPGATE_DEAD_AFTER_SECONDS": "1.5",
            "SWEEPGATE_VISIBLE_SECONDS": "3",
            "SWEEPGATE_PERMISSION_SECONDS": "1",
            "CRASH_HOSTS": json.dumps(self.sandbox.addresses()),
            **{f"SWEEPGATE_{name.upper()}": value for name, value in self._settings.items()},
        }
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tests.crash.process", str(port)],
                env=environment,
                cwd=ROOT,
                stdout=log,
                stderr=log,
            )

    def died(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def answers(self, path: str, port: int = 0) -> bool:
        """Whether the service (or the worker at another port) answers 200."""
        address = f"http://127.0.0.1:{port or self.port}{path}"
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=2) as answer:
            return bool(answer.status == 200)
        return False

    def kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait(20)

    def hold(self) -> None:
        """Do not start the service again by itself for now."""
        self._held.set()

    def resume(self, fault: str = "") -> None:
        """Start again under a fault, and watch again."""
        self.start(fault)
        self._held.clear()

    def _watch(self) -> None:
        """Starts the service again when the fault has killed it, and delivers lost callbacks again."""
        while not self._closing.wait(0.1):
            if self.died() and not self._closing.is_set() and not self._held.is_set():
                self.struck = True
                self.start()
                for delivery in list(self.world.webhooks.log):
                    if delivery.event == "repository_dispatch" and delivery.status not in (0, 202):
                        self.world.webhooks.redeliver(delivery.guid)

    def log(self) -> str:
        return self._log.read_text(errors="replace")[-6000:]

    # What the world shows ----------------------------------------------------------------------------------------
    def bot_comments(self, number: int) -> list[str]:
        with self.world.lock:
            return [one.body for one in self.repository.pulls[number].comments if one.author == BOT]

    def has(self, number: int, part: str) -> bool:
        return any(part in body for body in self.bot_comments(number))

    def final_state(self) -> dict[str, Any]:
        """All comment bodies, reactions, runs, check runs and dispatches, with ids and times masked."""
        with self.world.lock:
            repository = self.repository
            return {
                "comments": {
                    number: sorted(_masked(one.body) for one in pull.comments if one.author == BOT)
                    for number, pull in sorted(repository.pulls.items())
                },
                "reactions": {
                    number: sorted(
                        (_masked(one.body), sorted(told.content for told in one.reactions if told.user == BOT))
                        for one in pull.comments
                        if one.author != BOT
                    )
                    for number, pull in sorted(repository.pulls.items())
                },
                "runs": sorted(
                    (_masked(run.title), run.status, str(run.conclusion), run.attempt) for run in repository.runs
                ),
                "check_runs": sorted(
                    (one.name, one.status, str(one.conclusion), one.external_id.partition("-")[0])
                    for one in repository.check_runs
                ),
                "staged": sorted(
                    {
                        json.dumps(
                            {**told.client_payload, "comment-id": 0, "run-id": 0, "run-date": ""}, sort_keys=True
                        )
                        for told in self.world.repositories[TARGET].dispatches
                    }
                ),
            }


def _masked(text: str) -> str:
    """A body without its marker's payload, ids, times and commits."""
    text = re.sub(r"<!-- sweepgate:([a-z-]+):.*? -->", r"<!-- \1 -->", text)
    text = re.sub(r"\b[0-9a-f]{40}\b|\b[0-9a-f]{24}\b|\b[0-9a-f]{12}\b", "<hex>", text)
    return re.sub(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}|(?<![0-9])[0-9]{6,}(?![0-9])", "<id>", text)
