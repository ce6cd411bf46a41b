"""Purpose: the reference story told once to the real service, and what it left behind, for tests to look at.

Everything that happens is done while telling, in a fixed order, so that tests may run in any order and on any worker.
"""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from app.demo.play import Performance, bot_comments, perform
from app.demo.stage import Stage, wait_for
from app.sandbox.reference_story import ReferenceStory
from app.sandbox.webhooks import Delivery
from app.sandbox.world import Logged

FRESH = "7b0c5a52-0000-4000-8000-00000000000{}"


@dataclass
class Told:
    """What a telling left, by phase: requests to GitHub, answers to webhooks, the bot's comments, metrics."""

    stage: Stage
    story: ReferenceStory
    done: Performance
    requests: dict[str, list[Logged]] = field(default_factory=dict)
    comments: dict[str, list[str]] = field(default_factory=dict)
    statuses: dict[str, list[int]] = field(default_factory=dict)
    metrics: dict[str, str] = field(default_factory=dict)


def tell(story: ReferenceStory, stage: Stage) -> Told:
    """Play the story; then send every webhook twice again; then one more hint that nothing changed."""
    begun: dict[str, int] = {}

    def mark(name: str) -> None:
        begun[name] = len(_counted(stage))

    done = perform(story, stage, mark)
    told = Told(stage, story, done)
    told.requests["verification"] = _counted(stage)[begun["the code owner signs off"] :]
    quiet(stage)

    def phase(name: str, act: Callable[[], list[int]]) -> None:
        before = len(_counted(stage))
        told.statuses[name] = act()
        quiet(stage)
        told.requests[name] = _counted(stage)[before:]
        told.comments[name] = [comment.body for comment in bot_comments(story)]
        told.metrics[name] = get(stage, "/metrics")

    phase("redelivered", lambda: redeliver_all(stage))
    phase(
        "nothing new",
        lambda: [send(stage, replace(last(stage, "issue_comment"), guid=FRESH.format(1)))],
    )
    phase(
        "unknown",
        lambda: [
            send(
                stage,
                replace(last(stage, "issue_comment"), guid=FRESH.format(2), event="star"),
            )
        ],
    )
    phase("vanished", lambda: [send(stage, _of_vanished(last(stage, "issue_comment")))])
    return told


def _of_vanished(delivery: Delivery) -> Delivery:
    body = delivery.body.replace(b'"number": 4343', b'"number": 9999')
    assert body != delivery.body
    return replace(delivery, guid=FRESH.format(3), body=body)


def redeliver_all(stage: Stage) -> list[int]:
    """Every webhook of the story twice, under its own GUID; the answers."""
    everything = list(stage.world.webhooks.log)
    return [send(stage, delivery) for delivery in everything for _ in range(2)]


def last(stage: Stage, event: str) -> Delivery:
    return next(each for each in reversed(stage.world.webhooks.log) if each.event == event)


def send(stage: Stage, delivery: Delivery) -> int:
    """Send one webhook now, signed; the status of the answer."""
    webhooks = stage.world.webhooks
    with webhooks._wake:
        webhooks.outbox.append(delivery)
        webhooks._wake.notify_all()
    assert webhooks.settle(10)
    return delivery.status


def get(stage: Stage, path: str) -> str:
    with urllib.request.urlopen(f"{stage.url}{path}", timeout=10) as answer:
        return bytes(answer.read()).decode()


def metric(text: str, name: str, **labels: str) -> float:
    """One sample of an exposition; 0 where it is not there."""
    for line in text.splitlines():
        if line.startswith((f"{name}{{", f"{name} ")) and all(
            f'{key}="{value}"' in line for key, value in labels.items()
        ):
            return float(line.rsplit(" ", 1)[1])
    return 0.0


def quiet(stage: Stage) -> None:
    """Wait until every webhook was taken, no row is open and no pull request has work, twice in a row."""
    seen: list[Any] = []

    def still() -> bool:
        text = get(stage, "/metrics")
        open_rows = sum(metric(text, "sweepgate_inbox_rows", status=status) for status in ("new", "taken"))
        work = open_rows + metric(text, "sweepgate_pulls_waiting")
        now = (work, len(stage.world.requests))
        seen.append(now)
        time.sleep(0.05)
        return work == 0 and stage.world.webhooks.settle(5) and len(seen) > 1 and seen[-2] == now

    wait_for(still, "quiet")


def _counted(stage: Stage) -> list[Logged]:
    with stage.world.lock:
        return [request for request in stage.world.requests if request.counted]
