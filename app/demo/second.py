"""Purpose: plays the second pull request before a person: the service plans, dispatches once, refuses, and accepts.

label -> plan as a check run -> one dispatch -> the run -> results comment -> /use -> sign-off -> REJECTED with its next
step -> fix pushed -> PASS with "Changed since the last verdict".
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from rich.console import Console
from rich.markup import escape

from app.demo.second_story import SecondStory
from app.demo.stage import wait_for
from app.sandbox.model import CheckRun, Comment

BOT = "sweepgate[bot]"
SWEEP_CHECK = "Sweepgate sweep"
CHANGED = "Changed since the last verdict"


@dataclass
class Second:
    """What came of it: steps with the bot's answer and seconds, and the two verdicts as published."""

    steps: list[tuple[str, str, float]] = field(default_factory=list)
    rejected: str = ""
    passed: str = ""
    dispatches: int = 0
    plan: str = ""


def perform_second(story: SecondStory, progress: Callable[[str], None] = lambda _text: None) -> Second:
    """Tell the story; each step waits for the bot's answer. Raises TooLate."""
    done = Second()

    def step(what: str, tell: Callable[[], object], ready: Callable[[], str | None], say: Callable[[str], str]) -> str:
        progress(what)
        begun = time.monotonic()
        tell()
        answer = wait_for(ready, what)
        done.steps.append((what, say(answer), time.monotonic() - begun))
        return answer

    story.prepare()
    step("the author opens a second pull request", story.open, _said(story, "CODEOWNER"), lambda _: "welcome comment")
    done.plan = step("a maintainer labels it", story.label, lambda: _plan(story), lambda title: f"plan: {title}")
    wait_for(story.dispatched, "the dispatch")
    step("a runner takes the dispatched run", story.measure, lambda: _mirrored(story, "in_progress"), _as_check)
    step("the run ends", story.finish, _said(story, "View unofficial run"), lambda _: "one comment with two links")
    used: list[Comment] = []
    step(
        "the code owner comments /use",
        lambda: used.append(story.use()),
        lambda: "+1" if any(one.content == "+1" and one.user == BOT for one in used[0].reactions) else None,
        lambda _: "reaction",
    )
    done.rejected = step("the code owner signs off", story.sign_off, _said(story, "**REJECTED**"), reason_of)
    done.passed = step("the author pushes the fix", story.fix, _said(story, "Verdict: PASS"), changed_line)
    done.dispatches = sum(run.event == "workflow_dispatch" for run in story.repository.runs)
    return done


def show_second(done: Second, out: Console) -> int:
    """Print the story briefly. 0 where everything was as told, 1 with a line for what was not."""
    out.rule("a second pull request, its sweeps started by the service")
    for what, answer, seconds in done.steps:
        out.print(f"[bold]{what}[/bold] → {escape(answer)}  [dim]{seconds:.2f} s[/dim]", highlight=False)
    wrong = []
    if done.dispatches != 1:
        wrong.append(f"{done.dispatches} runs were dispatched, not 1")
    if CHANGED not in done.passed:
        wrong.append("the second verdict does not say what changed")
    for line in wrong:
        out.print(f"Not as expected: {line}", style="red")
    return 1 if wrong else 0


def reason_of(body: str) -> str:
    """Header, first failing row and its next step of a published verdict, for one line of the demo."""
    lines = [line.strip() for line in body.splitlines() if line.strip()]
    first = next((n for n, line in enumerate(lines) if "): FAIL" in line), len(lines))
    following = next((line for line in lines[first:] if line.startswith("↳ Next:")), "")
    return "\n    ".join(line for line in ("REJECTED", *lines[first : first + 1], following) if line)


def changed_line(body: str) -> str:
    """Header and the line that says what changed."""
    told = next((line.strip() for line in body.splitlines() if CHANGED in line), "")
    return f"PASS\n    {told}" if told else "PASS"


def _said(story: SecondStory, part: str) -> Callable[[], str | None]:
    def ready() -> str | None:
        with story.world.lock:
            return next((one.body for one in story.pull.comments if one.author == BOT and part in one.body), None)

    return ready


def _check(story: SecondStory) -> CheckRun | None:
    with story.world.lock:
        return next((run for run in story.repository.check_runs if run.name == SWEEP_CHECK), None)


def _plan(story: SecondStory) -> str | None:
    found = _check(story)
    return found.title if found is not None else None


def _mirrored(story: SecondStory, status: str) -> str | None:
    found = _check(story)
    return found.title if found is not None and found.status == status else None


def _as_check(title: str) -> str:
    return f"check run: {title}"
