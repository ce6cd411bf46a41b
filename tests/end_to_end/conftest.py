"""Purpose: one telling of the reference story for the whole session: starting stand-in and service costs seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.demo.play import ACCOUNT, REVIEW_DAY
from app.demo.stage import Stage
from app.sandbox import World
from app.sandbox.reference_story import ReferenceStory
from tests.end_to_end.told import Told, tell


@pytest.fixture(scope="session")
def told() -> Iterator[Told]:
    world = World()
    with Stage(world, review_day=REVIEW_DAY, account=ACCOUNT) as stage:
        yield tell(ReferenceStory(world), stage)
