"""Purpose: a stage for stories: the GitHub stand-in and the real service, both on loopback, joined by signed webhooks.

The service is the one of production: `create_app`, App authentication, SQLite, the queue. Only the addresses differ.

Invariant: a stage leaves nothing behind: databases live in a temporary folder that goes with it.
"""

from __future__ import annotations

import secrets
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import SecretStr

from app.github.counter import CallCounter
from app.github.hosts import Hosts
from app.main import create_app
from app.sandbox import Server, World
from app.settings import Settings
from app.wiring import rooms_for

if TYPE_CHECKING:
    import uvicorn

APP_ID, APP_SLUG = 4343, "sweepgate"
PATIENCE = 30.0
T = TypeVar("T")


class TooLate(Exception):  # noqa: N818
    """Something that a story waits for did not happen in time."""


class Stage:
    """Stand-in plus service. A context manager; `world` may be filled before and while it runs."""

    def __init__(self, world: World, *, review_day: date, account: str, service_port: int = 0) -> None:
        self.world = world
        self.counters: list[CallCounter] = []
        self._review_day, self._account = review_day, account
        self._folder = tempfile.TemporaryDirectory(prefix="sweepgate-")
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", service_port))
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self.sandbox = Server(world)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Stage:
        import uvicorn

        self.sandbox.start()
        settings = self._settings()
        hosts = Hosts(**self.sandbox.addresses())
        rooms = rooms_for(
            settings, hosts, review_day=lambda: self._review_day, records=self.records, counters=self.counters
        )
        config = uvicorn.Config(create_app(settings, rooms), log_config=None, access_log=False)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), name="service", daemon=True)
        self._thread.start()
        wait_for(lambda: self._server is not None and self._server.started, "the service to start")
        self.world.webhooks.point_at(f"{self.url}/webhooks/github", settings.webhook_secrets[0].get_secret_value())
        return self

    def __exit__(self, *_: object) -> None:
        self.world.webhooks.close()
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(15)
        self.sandbox.stop()
        self._socket.close()
        self._folder.cleanup()

    @property
    def records(self) -> Path:
        """Where the service keeps the bundle of each verdict, by digest."""
        return Path(self._folder.name) / "bundles"

    def _settings(self) -> Settings:
        """App credentials made for this stage; the stand-in knows the public half."""
        private, public = key_pair()
        app = self.world.app(APP_ID, APP_SLUG, public)
        self.world.install(app, self._account)
        return Settings(
            webhook_secrets=(SecretStr(secrets.token_hex(16)),),
            marker_key=SecretStr(secrets.token_hex(32)),
            app_id=APP_ID,
            app_private_key=SecretStr(private),
            github_url=self.sandbox.url,
            database_url=f"sqlite:///{Path(self._folder.name) / 'sweepgate.sqlite'}",
            gather_seconds=0.05,
            pump_seconds=0.05,
            queue_poll_seconds=0.05,
            round_seconds=3600,
        )


def key_pair() -> tuple[str, str]:
    """A fresh RSA key: private and public half as PEM."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private.decode(), public.decode()


def wait_for(ready: Callable[[], T | None], what: str, seconds: float = PATIENCE) -> T:
    """The first true value. Raises TooLate."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        value = ready()
        if value:
            return value
        time.sleep(0.01)
    raise TooLate(f"waited {seconds:.0f} s for {what}")


def serve_sandbox(host: str, port: int) -> int:
    """Run the stand-in with the reference story until it is stopped."""
    import sys

    from app.sandbox.reference_story import ReferenceStory

    world = World()
    story = ReferenceStory(world).play()
    world.token("sandbox-token", "sweepgate[bot]")
    try:
        server = Server(world, host, port)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else "a port is 0-65535"
        print(f"{host}:{port}: {reason}. Choose another --host or --port.", file=sys.stderr)
        return 2
    with server:
        print(f"API {server.url}  token sandbox-token  pull request {story.repository.full_name}#{story.pull.number}")
        print(
            f"Try: SWEEPGATE_GITHUB_URL={server.url} SWEEPGATE_GITHUB_TOKEN=sandbox-token sweepgate doctor", flush=True
        )
        threading.Event().wait()
    return 0
