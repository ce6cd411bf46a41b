"""Purpose: two workers on one PostgreSQL; one dies of kill -9 mid-way: the other ends its work, each comment once.

The dying worker is alone for the first welcome, so its second comment falls among work that both share. Which of the
two takes a pull request is chance: new ones are proposed until it has struck. Deliveries go to both in turn; those to
the dead one are lost, as on GitHub.
"""

from __future__ import annotations

import itertools

import pytest

from app.sandbox.pull import PullRequest
from tests.crash import matrix, story
from tests.crash.stage import CrashStage, wait_for
from tests.support.postgres import postgres_url

PULLS = 4
MOST_PULLS = 16


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_worker_dies_at_a_comment_and_the_other_ends_its_work_once(side: str) -> None:
    with CrashStage(postgres_url(), fault=f"github.create_comment.{side}:2") as stage:
        stage.hold()
        # Longer than a death takes to be noticed: only the ledger tells the other worker of the comment.
        stage.world.lag.comments = 2.5
        pulls = _proposed_to_both_in_turn(stage, story.open_pull(stage, 1))
        wanted = [(pull.number, f"sweepgate:{kind}") for pull in pulls for kind in ("welcome", "verdict")]
        for number, part in wanted:
            wait_for(lambda number=number, part=part: stage.has(number, part), f"{part} of {number}")  # type: ignore[misc]
        matrix.settled(stage, still=1.5, seconds=10)
        counts = {(number, part): sum(part in body for body in stage.bot_comments(number)) for number, part in wanted}
        assert counts == dict.fromkeys(wanted, 1), stage.log()
        assert stage.died(), "the first worker is dead, and nobody started it again"
        assert stage.starts == 1


def _proposed_to_both_in_turn(stage: CrashStage, first: PullRequest) -> list[PullRequest]:
    """Pull requests with a sign-off each, the first included, until there are enough and the first worker is dead."""
    ports = itertools.cycle((stage.start_another(), stage.port))
    first.comment("reviewer", story.SIGN_OFF)
    pulls = [first]
    while len(pulls) < PULLS or not stage.died():
        number = len(pulls) + 1
        assert number <= MOST_PULLS, "the first worker never came to its second comment"
        stage.deliver_to(next(ports))
        pulls.append(story.propose(stage, number))
        stage.deliver_to(next(ports))
        pulls[-1].comment("reviewer", story.SIGN_OFF)
        if number >= PULLS:
            wait_for(lambda: stage.died() or stage.has(len(pulls), "sweepgate:welcome"), f"work on {number}")
    return pulls
