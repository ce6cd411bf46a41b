"""Purpose: performs each action of a decision once, in order.

Invariants: every effect can be repeated at any point: it looks for its own result first, re-reads what it depends on
when something slow lay between, and leaves a trace that the next decision reads back from GitHub.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.decide import actions
from app.decide.actions import Action
from app.effects import staging, sweeps, talk, verdicts
from app.effects.context import Context

_EFFECTS: dict[type, Callable[[Any, Context], None]] = {
    actions.SetReaction: talk.react,
    actions.PostWelcome: talk.post_welcome,
    actions.PostResults: talk.post_results,
    actions.SetStatus: talk.set_status,
    actions.DispatchSweep: sweeps.dispatch,
    actions.CancelRun: sweeps.cancel,
    actions.ShowPlan: sweeps.show_plan,
    actions.RetryFailed: sweeps.retry_failed,
    actions.Stage: staging.stage,
    actions.FinishStaging: staging.finish_staging,
    actions.Verify: verdicts.verify,
}


def perform(action: Action, context: Context) -> None:
    """Perform one action. Raises the errors of app.effects.ports."""
    _EFFECTS[type(action)](action, context)
