"""Purpose: full state of a pull request in, list of actions out. Pure and level-triggered.

Order: reactions (what a person waits for), sweeps, staging, status, results links, verdicts (the long one) last.
Deciding twice on the same state gives the same actions; performing them leads to a state without actions.
"""

from __future__ import annotations

from app.decide.actions import Action, Decision, PostResults, PostWelcome, SetReaction
from app.decide.paths import touches_benchmarks
from app.decide.sign_offs import candidates, due, live
from app.decide.state import PullState, Remark
from app.decide.view import View
from app.policy import Policy

WELCOME, RESULTS = "welcome", "results"


def decide(state: PullState, policy: Policy) -> Decision:
    """What to do now. See `Decision.needs`: while it holds anything, look that up and decide again."""
    view = View(state, policy)
    actions: list[Action] = []
    if state.base_ref in policy.branches:
        actions += _welcome(state)
        sign_offs = live(view)
        actions += [_eyes(remark) for remark in candidates(state) if "eyes" not in remark.reactions]
        actions += _results(view)
        actions += due(view, sign_offs=sign_offs, pin=None, evidence=None, exceptions=(), forced=False)
    return Decision(tuple(actions), view.unreadable_lines, view.needs, bool(view.unreadable))


def _welcome(state: PullState) -> list[Action]:
    is_new = state.state == "open" and state.own_comment(WELCOME) is None
    return [PostWelcome()] if is_new and touches_benchmarks(state.paths) else []


def _eyes(remark: Remark) -> SetReaction:
    return SetReaction(remark.kind, remark.id, "eyes")


def _results(view: View) -> list[Action]:
    """Links of the newest run that measured something, once it ended."""
    ended = [run for run in view.state.runs if run.status == "completed" and view.executed(run)]
    if not ended:
        return []
    newest = max(ended, key=lambda run: run.id)
    shown = view.state.own_comment(RESULTS)
    if shown is not None and int(shown.payload.get("run", 0)) >= newest.id:
        return []
    return [PostResults(newest.id)]
