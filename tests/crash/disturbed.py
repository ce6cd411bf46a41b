"""Purpose: a story of many pull requests, once undisturbed and once with lost, doubled and shuffled deliveries.

The final states (comments, reactions, runs, check runs, hand-overs; times and ids masked) have to be equal. Every
pull request has one of five stories, all of them step by step, because only what GitHub still shows can be found
again: a label that is set and removed before anybody looked leaves nothing to do.

Left out: staging callbacks and labels on forks. Both count only as a signed delivery; GitHub delivers them again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from app.sandbox.pull import PullRequest
from app.sandbox.runs import Run
from app.sandbox.webhooks import Delivery
from tests.crash import story
from tests.crash.matrix import difference, new_stage, settled
from tests.crash.stage import BOT, CrashStage, wait_for

LOST, DOUBLED, SHUFFLED = 0.2, 0.1, 12
KINDS = ("signed", "swept", "mistyped", "cancelled", "signed twice")
PATIENCE = 240.0


@dataclass(frozen=True)
class Compared:
    """`deliveries` are those of the disturbed story."""

    pulls: int
    database: str
    deliveries: int
    lost: int
    doubled: int
    seconds: float
    differences: str

    @property
    def ok(self) -> bool:
        return not self.differences

    def line(self) -> str:
        told = (
            f"{self.database}: story of {self.pulls} pull requests, {self.deliveries} deliveries, {self.lost} lost, "
            f"{self.doubled} doubled, shuffled among {SHUFFLED}: final state "
            f"{'equal' if self.ok else 'DIFFERS'}  {self.seconds:.0f} s"
        )
        return told if self.ok else f"{told}\n{self.differences}"


def compare(pulls: int, database: str = "sqlite") -> Compared:
    """Tell the story twice, side by side, and compare the ends."""
    started = time.monotonic()
    with ThreadPoolExecutor(2) as both:
        calm = both.submit(_told, pulls, database, disturb=False)
        rough = both.submit(_told, pulls, database, disturb=True)
    (expected, _, wrong), (found, log, lacking) = calm.result(), rough.result()
    return Compared(
        pulls,
        database,
        len(log),
        sum(one.lost for one in log),
        sum(one.attempts > 1 for one in log),
        time.monotonic() - started,
        wrong or lacking or difference(expected, found),
    )


def _told(pulls: int, database: str, *, disturb: bool) -> tuple[dict[str, Any], list[Delivery], str]:
    """The final state, the deliveries, and what did not happen."""
    with new_stage(database) as stage:
        webhooks = stage.world.webhooks
        if disturb:
            webhooks.lose, webhooks.double, webhooks.shuffle = LOST, DOUBLED, SHUFFLED
        try:
            tell(stage, pulls)
        except AssertionError as error:
            return {}, list(webhooks.log), f"{error}\n{stage.log()}"
        return settled(stage), list(webhooks.log), ""


def tell(stage: CrashStage, count: int) -> None:
    """All stories side by side, one step after the other."""
    stage.world.core_limit = 1_000_000
    opened = [story.propose(stage, number) for number in range(1, count + 1)]
    _all(opened, lambda pull: stage.has(pull.number, "sweepgate:welcome"), "the welcomes")
    by_kind = {kind: opened[place :: len(KINDS)] for place, kind in enumerate(KINDS)}
    _signed(stage, [*by_kind["signed"], *by_kind["signed twice"]])
    _labelled(stage, [*by_kind["swept"], *by_kind["cancelled"]])
    _mistyped(stage, by_kind["mistyped"])
    _cancelled(stage, by_kind["cancelled"])
    _swept(stage, by_kind["swept"])
    _signed_twice(stage, by_kind["signed twice"])


def _all(pulls: list[PullRequest], ready: Callable[[PullRequest], Any], what: str) -> None:
    """Wait until it is so for every pull request; names the first that lacks it."""
    for pull in pulls:
        wait_for(lambda pull=pull: ready(pull), f"{what} (#{pull.number})", PATIENCE)  # type: ignore[misc]


def _signed(stage: CrashStage, pulls: list[PullRequest]) -> None:
    for pull in pulls:
        pull.comment("reviewer", story.SIGN_OFF)
    _all(pulls, lambda pull: _count(pull, "sweepgate:verdict") == 1, "the verdicts")


def _signed_twice(stage: CrashStage, pulls: list[PullRequest]) -> None:
    """Another person signs too, and the head moves: both verdicts are made anew."""
    for pull in pulls:
        pull.comment("maintainer", story.SIGN_OFF)
    _all(pulls, lambda pull: _count(pull, "sweepgate:verdict") == 2, "the second verdicts")
    for pull in pulls:
        entry = f"- config-keys:\n    - one\n- config-keys:\n    - three-{pull.number}\n"
        stage.repository.push(f"branch-{pull.number}", {"perf-changelog.yaml": entry}, "author", "Another key")
    _all(pulls, lambda pull: _count(pull, f"Assessed commit: `{pull.head_sha}`") == 2, "both verdicts at the new head")


def _labelled(stage: CrashStage, pulls: list[PullRequest]) -> None:
    for pull in pulls:
        pull.apply_label("maintainer", "full-sweep-enabled")
    _all(pulls, lambda pull: _run(stage, pull) is not None, "the dispatches")


def _cancelled(stage: CrashStage, pulls: list[PullRequest]) -> None:
    for pull in pulls:
        pull.remove_label("maintainer", "full-sweep-enabled")
    _all(pulls, lambda pull: _ended(stage, pull), "the cancellations")


def _swept(stage: CrashStage, pulls: list[PullRequest]) -> None:
    for pull in pulls:
        run = _run(stage, pull)
        assert run is not None
        story.measured(run, "success")
    _all(pulls, lambda pull: stage.has(pull.number, "ended with `success`"), "the links")
    for pull in pulls:
        run = _run(stage, pull)
        assert run is not None
        pull.comment("reviewer", f"good\n/use {run.id}")
    _all(pulls, lambda pull: _reacted(pull, "+1"), "the thumbs for the reuse")


def _mistyped(stage: CrashStage, pulls: list[PullRequest]) -> None:
    """A mistyped command is answered; mended, the answer goes. An outsider's command is denied."""
    comments = {pull.number: pull.comment("reviewer", "/use") for pull in pulls}
    _all(pulls, lambda pull: stage.has(pull.number, "The run ID is missing"), "the answers")
    for pull in pulls:
        pull.edit_comment(comments[pull.number], "never mind", "reviewer")
    _all(pulls, lambda pull: not stage.has(pull.number, "The run ID is missing"), "the answers to go")
    for pull in pulls:
        pull.comment("outsider", "/verify")
    _all(pulls, lambda pull: _reacted(pull, "-1"), "the denials")


def _run(stage: CrashStage, pull: PullRequest) -> Run | None:
    with stage.world.lock:
        return next((run for run in stage.repository.runs if f"#{pull.number} @" in run.title), None)


def _ended(stage: CrashStage, pull: PullRequest) -> bool:
    run = _run(stage, pull)
    return run is not None and run.status == "completed"


def _count(pull: PullRequest, part: str) -> int:
    with pull.lock:
        return sum(one.author == BOT and part in one.body for one in pull.comments)


def _reacted(pull: PullRequest, content: str) -> bool:
    with pull.lock:
        return any(told.user == BOT and told.content == content for one in pull.comments for told in one.reactions)
