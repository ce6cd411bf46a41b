"""Purpose: one telling of the reference story for the whole session: starting stand-in and service costs seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.demo.play import ACCOUNT, REVIEW_DAY
from app.demo.stage import Stage
from app.sandbox import World
from app.sandbox.reference_story import ReferenceStory
from tests.end_to_end.gathered import Gathered, Rows, gathered, rows
from tests.end_to_end.told import Told, tell


@pytest.fixture(scope="module")
def told() -> Iterator[Told]:
    world = World()
    with Stage(world, review_day=REVIEW_DAY, account=ACCOUNT) as stage:
        yield tell(ReferenceStory(world), stage)


@pytest.fixture(scope="session")
def played() -> Iterator[Gathered]:
    with gathered() as world:
        yield world


@pytest.fixture
def reference(played: Gathered) -> Iterator[Gathered]:
    """The played story with nothing planted, before and after."""
    played.world.faults.clear()
    yield played
    played.world.faults.clear()


@pytest.fixture(scope="session")
def good_rows(played: Gathered) -> Rows:
    return rows(played.verdict())
