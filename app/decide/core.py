"""Purpose: full state of a pull request in, list of actions out. Pure and level-triggered.

Order: reactions (what a person waits for), sweeps, staging, status, results links, verdicts (the long one) last.
Deciding twice on the same state gives the same actions; performing them leads to a state without actions.

    remarks --commands--> asks --reuse, staging, one-shots--> outcomes --> thumbs and status lines
    labels, timeline, runs, reuse --> sweeps                  sign-offs, verify_key --> verdicts
"""

from __future__ import annotations

from app.decide.actions import Action, Decision, Line, PostResults, PostWelcome, SetReaction, SetStatus
from app.decide.answers import OneShots, answers, one_shots, remark_outcomes, votes
from app.decide.asks import STATUS, Ask, Outcome, asks, record
from app.decide.paths import touches_benchmarks
from app.decide.reuse import COMMANDS as REUSE_COMMANDS
from app.decide.reuse import Reuse, reuse
from app.decide.runs import is_sweep_run
from app.decide.sign_offs import candidates, due, live
from app.decide.staging import staging
from app.decide.state import PullState
from app.decide.sweeps import newest_evidence, sweeps
from app.decide.view import View
from app.policy import Policy

WELCOME, RESULTS = "welcome", "results"


def decide(state: PullState, policy: Policy) -> Decision:
    """What to do now. See `Decision.needs`: while it holds anything, look that up and decide again."""
    if state.base_ref not in policy.branches:
        return Decision(())
    view = View(state, policy)
    all_asks = asks(state, policy)
    known = record(state)
    reused = reuse(view, all_asks)
    staged = staging(view, all_asks)
    shots = one_shots(view, all_asks, known)
    swept = sweeps(view, reused)
    finished = (*shots.done, *(retry.command for retry in shots.retries))
    outcomes = _outcomes(all_asks, reused, {**staged.outcomes, **shots.outcomes})
    lines = (*swept.lines, *answers(all_asks, outcomes), *_sign_off_lines(view), *view.unreadable_lines)
    actions: list[Action] = [
        *_eyes(state),
        *votes(state, remark_outcomes(state.remarks, all_asks, outcomes)),
        *_welcome(state),
        *swept.actions,
        *staged.actions,
        *shots.retries,
        *_status(state, lines, {**known, **{key: {"state": "done"} for key in finished}}),
        *_results(view),
        *_verdicts(view, reused, shots),
    ]
    return Decision(tuple(actions), lines, view.needs, swept.retry or bool(view.unreadable))


def _outcomes(all_asks: tuple[Ask, ...], reused: Reuse, others: dict[str, Outcome]) -> dict[str, Outcome]:
    """One outcome for each ask. A whole `/use` has two sides; the refused one is the one to tell."""
    merged = dict(others)
    for ask in all_asks:
        if ask.command.name not in REUSE_COMMANDS:
            continue
        outcome = reused.outcomes.get(ask.remark.id)
        known = merged.get(ask.key)
        if outcome is not None and (known is None or known.accepted or outcome.accepted is False):
            merged[ask.key] = outcome
    return merged


def _eyes(state: PullState) -> list[Action]:
    """The first sign to a reviewer: the sign-off was seen."""
    if state.state != "open":
        return []
    return [
        SetReaction(remark.kind, remark.id, "eyes") for remark in candidates(state) if "eyes" not in remark.reactions
    ]


def _welcome(state: PullState) -> list[Action]:
    is_new = state.state == "open" and state.own_comment(WELCOME) is None
    return [PostWelcome()] if is_new and touches_benchmarks(state.paths) else []


def _status(state: PullState, lines: tuple[Line, ...], commands: dict[str, dict[str, object]]) -> list[Action]:
    """The status comment, if it has to change: what is shown is compared by the words' own input."""
    payload = {"commands": commands, "lines": [{"code": line.code, **line.values} for line in lines]}
    shown = state.own_comment(STATUS)
    if shown is None:
        return [SetStatus(lines, payload)] if lines or commands else []
    return [] if dict(shown.payload) == payload else [SetStatus(lines, payload)]


def _sign_off_lines(view: View) -> tuple[Line, ...]:
    if view.state.state != "open":
        return ()
    denied = [remark for remark in candidates(view.state) if view.is_writer(remark) is False]
    return tuple(Line("sign-off-denied", {"login": remark.author.login, "url": remark.url}) for remark in denied)


def _results(view: View) -> list[Action]:
    """Links of the newest run that measured something, once it ended."""
    state = view.state
    if state.state != "open" and not state.merged:
        return []
    shown = state.own_comment(RESULTS)
    told = shown.payload if shown else {}
    least = (int(told.get("run", 0)), int(told.get("attempt", 1)))
    ended = [
        run
        for run in state.runs
        if run.status == "completed" and (run.id, run.attempt) > least and is_sweep_run(state, run)
    ]
    for run in sorted(ended, key=lambda run: -run.id):
        executed = view.executed(run)
        if executed is None:
            return []
        if executed:
            return [PostResults(run.id)]
    return []


def _verdicts(view: View, reused: Reuse, shots: OneShots) -> list[Action]:
    return list(
        due(
            view,
            sign_offs=live(view),
            pin=reused.pin,
            evidence=newest_evidence(view.state, reused.run),
            exceptions=tuple(shots.exceptions),
            asked=tuple(shots.forced),
        )
    )
