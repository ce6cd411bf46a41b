"""Purpose: the client over the stand-in, with a clock that nobody waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import SecretStr

from app.github.apps import with_token
from app.github.client import GitHub
from app.github.hosts import Hosts
from app.github.limits import Time
from app.sandbox import Server, World
from app.sandbox.pull import PullRequest
from app.sandbox.repository import Repository

R = "acme/bench"
START = 1_800_000_000.0


@dataclass
class FakeTime:
    """A clock that moves only when somebody sleeps; what was slept is listed."""

    at: float = START
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds

    @property
    def time(self) -> Time:
        return Time(self.now, self.sleep)


@pytest.fixture
def clock() -> FakeTime:
    return FakeTime()


@pytest.fixture
def world(clock: FakeTime) -> World:
    made = World(wall=clock.now)
    made.organization("acme", ("core",))
    made.token("bot-token", "sweepgate[bot]")
    return made


@pytest.fixture
def repo(world: World) -> Repository:
    made = world.repository(R, {"README.md": "one\ntwo\nthree\n", "configs/a.yaml": "a: 1\n"})
    made.collaborator("maintainer", "admin")
    made.collaborator("reviewer", "write", "maintain", association="COLLABORATOR")
    return made


@pytest.fixture
def pull(repo: Repository) -> PullRequest:
    repo.push("feature", {"README.md": "one\n2\nthree\n"}, "author", "Change two")
    return repo.pull_request("feature", "author", "Change", "What it does", number=7)


@pytest.fixture
def server(world: World) -> Iterator[Server]:
    with Server(world) as running:
        yield running


Connect = Callable[..., GitHub]


@pytest.fixture
def connect(server: Server, clock: FakeTime) -> Connect:
    """Make a client: token and hosts may be changed."""

    def make(token: str = "bot-token", timeout: float = 5.0, **hosts: Any) -> GitHub:
        addresses = server.addresses() | hosts
        return with_token(Hosts(**addresses), SecretStr(token), clock.time, timeout=timeout)

    return make


@pytest.fixture
def github(connect: Connect) -> GitHub:
    return connect()
