"""Purpose: one verification of the played reference story over HTTP without the service, with things that go wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic import SecretStr

from app.demo.play import REVIEW_DAY
from app.evidence.bundle import Bundle
from app.github.apps import with_token
from app.github.counter import CallCounter
from app.github.evidence import EvidenceReads
from app.github.hosts import Hosts
from app.github.limits import Time
from app.sandbox import Server, World
from app.sandbox.model import Artifact
from app.sandbox.reference_story import ReferenceStory
from app.verdict.assess import assess, gather
from app.verdict.engine import Verdict
from app.verdict.policies import policy_of_default_branch

TOKEN = "ghs_planted0token0that0must0never0be0recorded"
Rows = dict[int, tuple[str, str]]


@dataclass
class Gathered:
    """The stand-in with the played story. Waits of the client pass at once: its clock is moved instead."""

    world: World
    story: ReferenceStory
    server: Server

    def bundle(self, counter: CallCounter | None = None) -> Bundle:
        moved = [0.0]

        def sleep(seconds: float) -> None:
            moved[0] += seconds

        clock = Time(lambda: time.time() + moved[0], sleep)
        github = with_token(Hosts(**self.server.addresses()), SecretStr(TOKEN), clock)
        repository = self.story.repository.full_name
        return gather(
            EvidenceReads(github.counted(counter or CallCounter())),
            repository,
            self.story.pull.number,
            REVIEW_DAY,
            lambda content: policy_of_default_branch(content, repository=repository),
        )

    def verdict(self) -> Verdict:
        return assess(self.bundle()).verdict

    @contextmanager
    def artifact(self, name: str) -> Iterator[Artifact]:
        """The first artifact whose name starts so, to be changed in place; restored afterwards."""
        found = next(each for each in self.story.run.artifacts if each.name.startswith(name))
        kept = (found.zipped, found.declared_size, found.expired)
        try:
            yield found
        finally:
            found.zipped, found.declared_size, found.expired = kept


@contextmanager
def gathered() -> Iterator[Gathered]:
    world = World()
    story = ReferenceStory(world).play()
    world.token(TOKEN, "sweepgate[bot]")
    with Server(world) as server:
        yield Gathered(world, story, server)


def rows(verdict: Verdict) -> Rows:
    """Row number -> (status, reason)."""
    return {row.number: (row.status.value, row.result.reason) for row in verdict.rows}
