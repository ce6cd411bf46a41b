"""Purpose: figures of the running service: acknowledgement, reaction, verdict, a burst, a round, memory.

Environment: BENCH_SECONDS (60) is the length of the acknowledgement load on each of the two servers, BENCH_PULLS (20)
the number of pull requests that are signed off one at a time and then at once.
"""

from __future__ import annotations

import math
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from app.demo.play import ACCOUNT, REVIEW_DAY, quieten
from app.demo.stage import Stage, wait_for
from app.sandbox import World
from app.sandbox.model import Comment
from app.sandbox.reference_story import ReferenceStory
from tests.load.many import rounds_over
from tests.load.processes import Load, Loaded
from tests.load.pulls import FIRST, Copy, is_answered, open_copy

SLICES = 5
LATENCY = 0.05
OPEN_PULLS = 1000
DELIVERIES = 10_000
Figure = tuple[str, str, str, str]


def figures() -> list[Figure]:
    """(what, measured, target, held) of every figure."""
    quieten()
    seconds, pulls = float(os.environ.get("BENCH_SECONDS", "60")), int(os.environ.get("BENCH_PULLS", "20"))
    return [*acknowledgement(seconds), *memory(), a_round(), *answers(pulls)]


def acknowledgement(seconds: float) -> list[Figure]:
    """The real service beside a bare HMAC endpoint of the same framework, in turns; `seconds` of each."""
    bare_loads, real_loads = [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        Loaded("bare", Path(folder)) as bare,
        Loaded("real", Path(folder)) as real,
    ):
        for _ in range(SLICES):
            bare_loads.append(_alone(bare, real, seconds / SLICES))
            real_loads.append(_alone(real, bare, seconds / SLICES))
    bare_rate, rate = _rate(bare_loads), _rate(real_loads)
    ratio = statistics.median(r["rate"] / b["rate"] for r, b in zip(real_loads, bare_loads, strict=True))
    p99 = statistics.median(load["p99"] for load in real_loads)
    told = " / ".join(f"{load['p99']:.0f}" for load in real_loads)
    return [
        (
            "acknowledged deliveries, SQLite, 22 KB, 16 connections",
            f"{rate:.0f}/s = {ratio:.2f} of a bare endpoint ({bare_rate:.0f}/s)",
            ">= 0.4",
            _held(ratio >= 0.4, ratio / 0.4),
        ),
        ("the same, p99", f"{p99:.0f} ms ({told})", "< 50 ms", _held(p99 < 50, p99 / 50)),
    ]


def _alone(measured: Loaded, other: Loaded, seconds: float) -> Load:
    other.stand_still()
    try:
        return measured.load(seconds)
    finally:
        other.go_on()


def _rate(loads: Sequence[Load]) -> float:
    return statistics.median(load["rate"] for load in loads)


def memory() -> list[Figure]:
    """Resident memory of the service after so many deliveries and as many again, each time when all are done."""
    with tempfile.TemporaryDirectory() as folder, Loaded("real", Path(folder)) as real:
        real.drain()
        begun = real.megabytes()
        first = _after(real, DELIVERIES)
        second = _after(real, DELIVERIES)
    shown = f"{begun:.0f} MB at the start, {first:.0f} MB, {second:.0f} MB after twice as many"
    return [(f"memory after {DELIVERIES:,} deliveries", shown, "< 300 MB", _held(first < 300, first / 300))]


def _after(server: Loaded, deliveries: int) -> float:
    sent = 0.0
    while sent < deliveries:
        sent += server.load(1.0)["requests"]
    server.drain()
    return server.megabytes()


def a_round() -> Figure:
    """Requests of a round over a repository with 1,000 open pull requests of which none changed.

    The second round looks once more at those of the newest second, so the third is the one that finds nothing.
    """
    first, _, third = rounds_over(OPEN_PULLS, 3)
    shown = f"{len(third.asked)} requests, {len(third.found)} to look at (the first round: {len(first.asked)} requests)"
    what = f"a round over {OPEN_PULLS:,} unchanged open pull requests"
    return what, shown, "<= 12", _held(len(third.asked) <= 12, len(third.asked) / 12)


def answers(pulls: int) -> list[Figure]:
    """Sign-offs on pull requests like the reference one: one at a time, then on as many others at once."""
    world = World()
    story = ReferenceStory(world)
    world.webhooks.quiet = True
    story.play("merge_upstream")
    copies = [open_copy(story, FIRST + number) for number in range(2 * pulls)]
    world.webhooks.quiet = False
    with Stage(world, review_day=REVIEW_DAY, account=ACCOUNT) as stage:
        _settle(stage, [copy.use() for copy in copies])
        world.latency = LATENCY
        single = [_signed([copy])[0] for copy in copies[:pulls]]
        burst = _signed(copies[pulls:])
    what = f"of {pulls}, {LATENCY * 1000:.0f} ms a call"
    return [
        *_answer_rows(f"one at a time, {what}", single, ("p95 < 2 s", 2.0), ("p95 < 5 s", 5.0)),
        *_answer_rows(f"all at once, {what}", burst, None, None),
    ]


def _settle(stage: Stage, pins: Sequence[Comment]) -> None:
    """Wait until every pull request has its welcome, its links and the answer to its pin, and nothing more comes."""
    wait_for(lambda: all(is_answered(pin) for pin in pins), "the pins to be answered", 60 + 10 * len(pins))
    seen = -1
    while seen != len(stage.world.requests):
        seen = len(stage.world.requests)
        time.sleep(2.5)


def _signed(copies: Sequence[Copy]) -> list[tuple[float, float]]:
    """Seconds from each sign-off to its reaction and to its verdict comment."""
    waiting: dict[int, tuple[Copy, Comment, float]] = {}
    for number, copy in enumerate(copies):
        waiting[number] = (copy, copy.sign_off(), time.monotonic())
    reacted: dict[int, float] = {}
    judged: dict[int, float] = {}

    def look() -> bool:
        now = time.monotonic()
        for number, (copy, comment, told) in waiting.items():
            if number not in reacted and is_answered(comment):
                reacted[number] = now - told
            if number not in judged and copy.said("Assessed commit:"):
                judged[number] = now - told
        return len(reacted) == len(judged) == len(waiting)

    wait_for(look, "reactions and verdicts", 30 + 10 * len(copies))
    time.sleep(2.0 if len(copies) == 1 else 0.0)  # the service is idle again, its next write is not held back
    return [(reacted[number], judged[number]) for number in sorted(waiting)]


def _answer_rows(
    what: str,
    seconds: Sequence[tuple[float, float]],
    reaction: tuple[str, float] | None,
    verdict: tuple[str, float] | None,
) -> list[Figure]:
    rows = []
    for name, values, target in (
        ("reaction", [each[0] for each in seconds], reaction),
        ("verdict", [each[1] for each in seconds], verdict),
    ):
        p95 = percentile(values, 0.95)
        shown = f"p50 {statistics.median(values):.2f} s, p95 {p95:.2f} s, longest {max(values):.2f} s"
        told = ("none", "-") if target is None else (target[0], _held(p95 < target[1], p95 / target[1]))
        rows.append((f"{name}, {what}", shown, *told))
    return rows


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


def _held(well: bool, share: float) -> str:
    return f"{'yes' if well else 'NO'} ({share:.2f} of it)"


if __name__ == "__main__":
    for row in figures():
        print("  ".join(row))
