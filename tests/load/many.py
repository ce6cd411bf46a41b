"""Purpose: periodic rounds over a repository with many open pull requests of which none changes."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass

from pydantic import SecretStr

from app.effects.github_rounds import GitHubRounds
from app.flows.meters import PrometheusMeters
from app.flows.rounds import Rounds
from app.github.apps import with_token
from app.github.hosts import Hosts
from app.policy import SweepPolicy
from app.sandbox import Server, World
from app.sandbox.world import Logged
from app.store.database import Database
from tests.load.pulls import quiet_repository


@dataclass
class Round:
    """What one round asked of GitHub, and the pull requests that it found to look at."""

    asked: list[Logged]
    found: set[int]


def rounds_over(pulls: int, times: int) -> list[Round]:
    """So many rounds, one after the other, over so many open pull requests."""
    world = World()
    repository = quiet_repository(world, pulls)
    world.token("bench", "sweepgate[bot]")
    made = []
    with tempfile.TemporaryDirectory() as folder, Server(world) as server:
        database = Database(f"sqlite:///{folder}/rounds.sqlite")
        database.migrate()
        github = with_token(Hosts(**server.addresses()), SecretStr("bench"))
        rounds = _rounds(database, GitHubRounds(github, SweepPolicy()))
        for _ in range(times):
            before = len(world.requests)
            found = rounds.round(repository.full_name)
            made.append(Round([one for one in world.requests[before:] if one.counted], found))
        database.close()
    return made


def _rounds(database: Database, reader: GitHubRounds) -> Rounds:
    return Rounds(
        database,
        lambda _repository: reader,
        list,
        clock=time.time,
        meters=PrometheusMeters(),
        seconds=120,
        outside_seconds=1800,
        wake=lambda: None,
        prune=lambda: None,
    )
