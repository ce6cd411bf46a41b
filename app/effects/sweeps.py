"""Purpose: sweeps: dispatched exactly once for a key, cancelled, retried, mirrored as a check run.

Invariants: before a dispatch the head is read again and the runs are searched for the key; after an unanswered one the
run is looked for by its title for a minute; the workflow itself ends a second run with the same key.
"""

from __future__ import annotations

from app.decide.actions import CancelRun, DispatchSweep, RetryFailed, ShowPlan
from app.decide.runs import dispatched_key
from app.decide.state import PullState
from app.effects.context import Context, PlanText
from app.effects.ports import CheckRunText, NotThere, Refused

SWEEP_CHECK = "Sweepgate sweep"
SUPERSEDED = PlanText("Superseded", "A newer label or push counts; no action is needed.", "")


def dispatch(action: DispatchSweep, context: Context) -> None:
    state = context.state
    if context.reader.head(state.ref) != action.head_sha:
        return  # a push came between: its own reconcile decides anew
    inputs = {
        "pr": str(state.ref.number),
        "head_sha": action.head_sha,
        "short_sha": action.head_sha[:12],
        "base_sha": action.base_sha,
        "sweep_key": action.sweep_key,
        "label": action.label,
        "modifiers": " ".join(action.modifiers),
    }

    def find() -> str | None:
        runs = context.reader.runs(state.ref, head_branch=state.head_ref, head_sha=state.head_sha)
        found = [run.id for run in runs if dispatched_key(state, run) == action.sweep_key]
        return str(min(found)) if found else None

    def create() -> str | None:
        workflow = context.policy.sweep.workflow.rpartition("/")[2]
        run_id = context.writer.dispatch_workflow(state.ref.repository, workflow, state.default_branch, inputs)
        return None if run_id is None else str(run_id)

    created = context.once.create(f"{state.ref}:sweep:{action.sweep_key}", find=find, create=create)
    if not created.is_new:
        return
    detail = {"run": created.result, "commit": action.head_sha, "label": action.label, "key": action.sweep_key}
    context.journal.audit(_labelled_by(context, action.label), "dispatch", detail)


def _labelled_by(context: Context, label: str) -> str:
    events = [event for event in context.state.label_events if event.label == label and event.added]
    return max(events, key=lambda event: event.at).actor.login if events else "unknown"


def cancel(action: CancelRun, context: Context) -> None:
    try:
        context.writer.cancel_run(context.state.ref.repository, action.run_id)
    except (NotThere, Refused):
        return  # it ended meanwhile
    context.journal.audit("sweepgate", "cancel", {"run": action.run_id, "reason": action.reason})


def retry_failed(action: RetryFailed, context: Context) -> None:
    repository = context.state.ref.repository

    def find() -> str | None:
        attempt = context.reader.run(repository, action.run_id).attempt
        return str(attempt) if attempt > action.attempt else None

    def create() -> str:
        context.writer.rerun_failed(repository, action.run_id)
        return str(action.attempt + 1)

    context.once.create(f"{context.state.ref}:retry:{action.command}@{action.attempt}", find=find, create=create)
    context.journal.audit("sweepgate", "retry-failed", {"run": action.run_id, "command": action.command})


def show_plan(action: ShowPlan, context: Context) -> None:
    """Plan while nothing runs, then the run's progress. The plan's text stays with it."""
    key = f"sweep-{action.sweep_key}"
    known = next((run for run in context.state.check_runs if run.external_id == key), None)
    plan = context.plan(context.state, action.label, action.modifiers) if action.label else SUPERSEDED
    title = plan.title if action.run_id is None else f"{plan.title}: run {action.run_id} is {_said(action)}"
    context.writer.put_check_run(
        context.state.ref.repository,
        action.head_sha,
        CheckRunText(
            name=SWEEP_CHECK,
            external_id=key,
            status=action.status,
            conclusion=action.conclusion,
            title=title[:255],
            summary=plan.summary,
            text=plan.text,
            details_url=context.run_url(action.run_id) if action.run_id else "",
        ),
        known.id if known else None,
    )


def _said(action: ShowPlan) -> str:
    return (action.conclusion or action.status).replace("_", " ")


def no_plan(state: PullState, label: str, modifiers: tuple[str, ...]) -> PlanText:
    """A planner for processes that have none: the labels stand for the plan."""
    shown = " + ".join((label, *modifiers))
    return PlanText(f"Sweep of {state.head_sha[:7]} ({shown})", "The plan stands in the run's summary.", "")
