"""Purpose: `make run`: plays the reference pull request and shows what each side does, then the verdict as it reads.

Then a second one, briefly, whose sweep the service itself starts, with a fault that is found and mended (second.py).

Exit 0 where the verdict equals expected_verdict.json, its bundle has the digest of examples/pr-4343, and the second
story went as told, else 1.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import structlog
from rich.console import Console
from rich.markdown import Markdown

from app.demo.second import perform_second, show_second
from app.demo.second_story import SecondStory
from app.demo.stage import Stage, TooLate, wait_for
from app.evidence.bundle import read_bundle
from app.sandbox import World
from app.sandbox.model import Comment
from app.sandbox.reference_story import ReferenceStory

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "pr-4343"
EXPECTED = Path(__file__).resolve().parent / "expected_verdict.json"
REVIEW_DAY = date(2026, 10, 21)
ACCOUNT = "SemiAnalysisAI"
BOT = "sweepgate[bot]"


@dataclass
class Told:
    """One step as it is shown: what happened, what the bot answered, and after how many seconds."""

    what: str
    answer: str
    seconds: float


@dataclass
class Performance:
    """What came of a story."""

    told: list[Told] = field(default_factory=list)
    verdict: str = ""
    digests: list[str] = field(default_factory=list)
    requests: int = 0


def play(stay: bool = False) -> int:
    """Play the story. `stay` leaves stand-in and service running and prints their addresses."""
    quieten()
    errors = Console(stderr=True)
    world = World()
    story = ReferenceStory(world)
    started = time.monotonic()
    try:
        with Stage(world, review_day=REVIEW_DAY, account=ACCOUNT) as stage:
            with errors.status("the reference pull request") as status:
                done = perform(story, stage, status.update)
            code = show(done, time.monotonic() - started)
            second = SecondStory(world)
            with errors.status("a second pull request") as status:
                told = perform_second(second, status.update)
            code = show_second(told, Console()) or code
            if stay:
                errors.print(f"stand-in {stage.sandbox.url}   service {stage.url}   Ctrl-C ends both")
                threading.Event().wait()
    except TooLate as late:
        print(f"The story stopped: {late}. Run it again; set SWEEPGATE_DEBUG=1 to see the log.", file=sys.stderr)
        return 1
    return code


def quieten() -> None:
    """No log lines between the story's: they are for operators."""
    if os.environ.get("SWEEPGATE_DEBUG"):
        return
    logging.disable(logging.CRITICAL)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


def perform(story: ReferenceStory, stage: Stage, progress: Callable[[str], None] = lambda _text: None) -> Performance:
    """Tell the story step by step; each step waits for the bot's answer to the one before."""
    done = Performance()

    def step(what: str, tell: Callable[[], object], ready: Callable[[], str | None], answer: str) -> None:
        progress(what)
        begun = time.monotonic()
        tell()
        wait_for(ready, answer)
        done.told.append(Told(what, answer, time.monotonic() - begun))

    def said(part: str) -> Callable[[], str | None]:
        return lambda: next((comment.body for comment in bot_comments(story) if part in comment.body), None)

    story.prepare()
    step(
        "the author opens the pull request",
        story.open_pull_request,
        said("CODEOWNER"),
        "welcome comment, English and Chinese",
    )
    story.apply_label()
    story.start_run()
    step(
        "a maintainer labels it; run 39404635036 runs and ends",
        story.finish_run,
        said("View unofficial run (performance)"),
        "one comment with two links",
    )
    story.merge_upstream()
    used: list[Comment] = []
    step(
        "the code owner comments /use 39404635036",
        lambda: used.append(story.use()),
        lambda: "+1" if any(one.content == "+1" and one.user == BOT for one in used[0].reactions) else None,
        "reaction",
    )
    step("the code owner signs off", story.sign_off, said("Assessed commit:"), "verdict comment")
    wait_for(lambda: check_run(story, "Sweepgate verdict"), "the check run")
    done.verdict = said("Assessed commit:")() or ""
    done.digests = sorted(folder.name for folder in stage.records.iterdir())
    done.requests = stage.counters[-1].requests if stage.counters else 0
    return done


def check_run(story: ReferenceStory, name: str) -> bool:
    """Whether the bot's check run of this name is there."""
    with story.world.lock:
        return any(run.name == name for run in story.repository.check_runs)


def bot_comments(story: ReferenceStory) -> list[Comment]:
    """The bot's comments on the pull request."""
    with story.world.lock:
        return [comment for comment in story.pull.comments if comment.author == BOT]


def show(done: Performance, seconds: float) -> int:
    """Print the story, the verdict and the comparison."""
    out = Console()
    for told in done.told:
        out.print(f"[bold]{told.what}[/bold] → {told.answer}  [dim]{told.seconds:.2f} s[/dim]", highlight=False)
    visible = "\n".join(line for line in done.verdict.splitlines() if not line.startswith("<!--"))
    out.rule("the verdict as it reads on GitHub")
    out.print(
        Markdown(
            visible.replace("<summary>", "**")
            .replace("</summary>", "**")
            .replace("<details>", "")
            .replace("</details>", "")
        )
    )
    out.rule()
    differences = compare(done)
    out.print(f"{done.requests} GitHub requests for the verification, {seconds:.1f} s in all", highlight=False)
    if differences:
        for line in differences:
            print(f"Not as expected: {line}", file=sys.stderr)
        return 1
    out.print("Verdict as expected; bundle digest as in examples/pr-4343.", highlight=False)
    return 0


def compare(done: Performance) -> list[str]:
    """How the published verdict differs from the expected one; empty where it does not."""
    from app.verdict.engine import judge
    from app.verdict.render import markdown, to_json

    expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
    bundle = read_bundle(EXAMPLE)
    verdict = judge(bundle)
    found = to_json(verdict)
    lines = [] if found["header"] == expected["header"] else [f"header {found['header']}, not {expected['header']}"]
    rows = {str(row["number"]): row for row in found["checks"]}
    for number, (status, name) in expected["rows"].items():
        row = rows.pop(number, {"status": "missing", "name": "", "reason": ""})
        if (row["status"], row["name"]) != (status, name):
            lines.append(f"check {number} ({row['name']}) is {row['status']}, not {status}: {row['reason']}")
    lines += [f"check {number} is not expected" for number in rows]
    if markdown(verdict).strip() not in done.verdict:
        lines.append("the published comment is not the text that the recorded bundle gives")
    if done.digests != [bundle.digest]:
        lines.append(f"the service judged bundle {', '.join(done.digests) or 'none'}, not {bundle.digest}")
    return lines
