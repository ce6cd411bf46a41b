"""Purpose: the one-shot commands (/verify, /retry-failed, /merge, /except, help) and the answers to all commands.

Answers are lines of the one status comment: short, the newest three, gone when the comment is mended or a later
command of the same name is accepted. Nothing is answered twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from app.decide.actions import Exempt, Line, RetryFailed, SetReaction
from app.decide.asks import Ask, Outcome
from app.decide.keys import body_hash
from app.decide.runs import is_sweep_run, measured_sha
from app.decide.state import PullState, Remark, Run
from app.decide.view import View

MAX_ANSWERS = 3
VOTES = ("+1", "-1")


@dataclass
class OneShots:
    """What the one-shot commands ask for. `done` are commands whose effect shows already: recorded, not repeated."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    forced: list[str] = field(default_factory=list)
    retries: list[RetryFailed] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    exceptions: list[Exempt] = field(default_factory=list)


def one_shots(view: View, asks: Iterable[Ask], record: Mapping[str, Mapping[str, object]]) -> OneShots:
    """Judge every one-shot command. `record` are the commands that the status comment knows as done."""
    found = OneShots()
    judges = {"verify": _verify, "retry-failed": _retry, "merge": _merge, "except": _except, "help": _help}
    for ask in asks:
        judge = judges.get(ask.command.name)
        if judge is None:
            continue
        if ask.command.problem is not None:
            problem = ask.command.problem
            found.outcomes[ask.key] = Outcome(False, problem.code, {"english": problem.text})
        elif ask.key in record:
            found.outcomes[ask.key] = Outcome(True)
        else:
            judge(view, ask, found)
    return found


def _writer(view: View, ask: Ask, found: OneShots) -> bool:
    allowed = view.is_writer(ask.remark)
    if allowed is False:
        found.outcomes[ask.key] = Outcome(False, "needs-write")
    return bool(allowed)


def _verify(view: View, ask: Ask, found: OneShots) -> None:
    if any(ask.key in comment.payload.get("asked", ()) for comment in view.state.own if comment.kind == "verdict"):
        found.outcomes[ask.key] = Outcome(True)
    elif _writer(view, ask, found):
        found.outcomes[ask.key] = Outcome(True)
        if view.state.state == "open":
            found.forced.append(ask.key)


def _retry(view: View, ask: Ask, found: OneShots) -> None:
    if not _writer(view, ask, found):
        return
    run = _newest_of_head(view.state)
    if run is None:
        found.outcomes[ask.key] = Outcome(False, "retry-none")
    elif (run.active and run.attempt > 1) or run.attempt > view.state.started_retries.get(ask.key, run.attempt):
        found.outcomes[ask.key] = Outcome(True)
        found.done.append(ask.key)
    elif run.active:
        found.outcomes[ask.key] = Outcome(False, "retry-running", {"run": run.id})
    elif run.conclusion != "failure":
        found.outcomes[ask.key] = Outcome(False, "retry-conclusion", {"run": run.id, "conclusion": run.conclusion})
    elif (plan := view.retry_plan(run)) is not None:
        if plan.problem:
            found.outcomes[ask.key] = Outcome(False, plan.problem, dict(plan.values))
            return
        found.outcomes[ask.key] = Outcome(True)
        found.retries.append(RetryFailed(ask.key, run.id, run.attempt))


def _newest_of_head(state: PullState) -> Run | None:
    known = [run for run in state.runs if is_sweep_run(state, run) and measured_sha(state, run) == state.head_sha]
    return max(known, key=lambda run: run.id, default=None)


def _merge(view: View, ask: Ask, found: OneShots) -> None:
    if _writer(view, ask, found):
        found.outcomes[ask.key] = Outcome(False, "merge-by-hand", {"pull": str(view.state.ref)})


def _help(_view: View, ask: Ask, found: OneShots) -> None:
    found.outcomes[ask.key] = Outcome(True, "help")


def _except(view: View, ask: Ask, found: OneShots) -> None:
    """In force for the head on which it was said, until its date; by admin permission and admin role only."""
    allowed = view.is_admin(ask.remark)
    if allowed is None:
        return
    if not allowed:
        found.outcomes[ask.key] = Outcome(False, "needs-admin")
        return
    command, remark = ask.command, ask.remark
    said_at = remark.edited_at or remark.created_at
    head = view.head_at(said_at)
    if view.state.history is None:
        return
    if command.until is not None and view.state.review_date > command.until.isoformat():
        found.outcomes[ask.key] = Outcome(False, "except-expired", {"check": command.check})
    elif head != view.state.head_sha:
        found.outcomes[ask.key] = Outcome(False, "except-other-head", {"check": command.check})
    else:
        found.outcomes[ask.key] = Outcome(True)
        until = command.until.isoformat() if command.until else None
        found.exceptions.append(
            Exempt(
                remark.id, command.check or 0, command.reason or "", until, remark.author.login, body_hash(remark.body)
            )
        )


def answers(asks: Iterable[Ask], outcomes: Mapping[str, Outcome]) -> tuple[Line, ...]:
    """The answers to show, newest first."""
    shown: list[Line] = []
    settled: set[str] = set()
    for ask in sorted(asks, key=lambda one: (one.remark.created_at, one.remark.id, one.command.line), reverse=True):
        outcome = outcomes.get(ask.key)
        if outcome is None or (ask.command.name in settled and outcome.code != "reuse-superseded"):
            continue
        if outcome.accepted:
            settled.add(ask.command.name)
        if outcome.code and len(shown) < MAX_ANSWERS:
            told = {"command": ask.command.name, "login": ask.remark.author.login, "url": ask.remark.url}
            shown.append(Line(outcome.code, {**told, **(outcome.values or {})}))
    return tuple(shown)


def votes(state: PullState, by_remark: Mapping[int, Outcome]) -> list[SetReaction]:
    """Thumbs that have to change. A remark without a command keeps none of ours."""
    changes = []
    for remark in state.remarks:
        ours = [content for content in VOTES if content in remark.reactions]
        outcome = by_remark.get(remark.id)
        if outcome is not None and outcome.accepted is None:
            continue
        wanted = None if outcome is None else "+1" if outcome.accepted else "-1"
        stale = tuple(content for content in ours if content != wanted)
        missing = wanted if wanted is not None and wanted not in ours else None
        if stale or missing:
            changes.append(SetReaction(remark.kind, remark.id, missing, stale))
    return changes


def remark_outcomes(
    remarks: Iterable[Remark], asks: Iterable[Ask], outcomes: Mapping[str, Outcome]
) -> dict[int, Outcome]:
    """One outcome a remark: refused if any of its commands was, accepted if all were."""
    known = {remark.id for remark in remarks}
    found: dict[int, Outcome] = {}
    for ask in asks:
        outcome = outcomes.get(ask.key, Outcome(None))
        before = found.get(ask.remark.id)
        if ask.remark.id in known and (before is None or _rank(outcome) < _rank(before)):
            found[ask.remark.id] = outcome
    return found


def _rank(outcome: Outcome) -> int:
    return {False: 0, None: 1, True: 2}[outcome.accepted]
