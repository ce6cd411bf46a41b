"""Purpose: which runs are to be staged, and what became of the staged ones.

`/stage-results [run]` on its own line, or `/use <run>` as a whole comment. Only never-edited conversation comments act.
The result of the command is the staging comment, whose marker names the command: while it is there, the command is
done. Callbacks of the staging target are validated here, because anyone with write access could send one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from app.decide.actions import Action, FinishStaging, Line, Stage
from app.decide.asks import Ask, Outcome
from app.decide.reuse import PINNED_CONCLUSIONS, has_results
from app.decide.runs import is_sweep_run, labels_at, measured_sha
from app.decide.state import Callback, OwnComment, Run
from app.decide.view import View

STAGING = "staging"
_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38}|\[bot\])*")
_DATE = re.compile(r"20[0-9]{2}-[01][0-9]-[0-3][0-9]", re.ASCII)
_NUMBER = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)
_RANK = {"asked": 0, "sent": 1, "started": 2, "succeeded": 3, "failed": 3}


@dataclass
class Staging:
    actions: list[Action] = field(default_factory=list)
    outcomes: dict[str, Outcome] = field(default_factory=dict)


def staging(view: View, asks: Iterable[Ask]) -> Staging:
    """What to stage now. `outcomes` are by the key of the ask."""
    found = Staging()
    for ask in asks:
        if not _is_request(view, ask):
            continue
        shown = view.state.own_comment(STAGING, ask.key)
        if shown is not None and shown.payload.get("state") != "asked":
            found.outcomes[ask.key] = Outcome(True)
            found.actions += _callbacks(view, shown)
            continue
        outcome, run = _judge(view, ask)
        if outcome is not None:
            found.outcomes[ask.key] = outcome
        if outcome is not None and outcome.accepted and run is not None:
            day = datetime.fromtimestamp(run.created_at, UTC).date().isoformat()
            found.actions.append(Stage(ask.key, run.id, run.attempt, day, ask.remark.author.login))
    return found


def _is_request(view: View, ask: Ask) -> bool:
    """`/stage-results` in any form; `/use` only as a whole, well-formed comment and where staging is set up."""
    if ask.remark.kind != "issue_comment":
        return False
    if ask.command.name == "stage-results":
        return True
    is_set_up = bool(view.policy.staging.repository)
    never_edited = ask.remark.edited_at is None
    return ask.command.name == "use" and ask.command.whole and not ask.command.problem and is_set_up and never_edited


def _judge(view: View, ask: Ask) -> tuple[Outcome | None, Run | None]:
    """Outcome and run; no outcome while a look-up is missing. Order: syntax, permission, label, run."""
    problem = ask.command.problem
    if problem is not None:
        return Outcome(False, problem.code, {"english": problem.text}), None
    if not view.policy.staging.repository:
        return Outcome(False, "staging-not-set-up"), None
    if ask.remark.edited_at is not None:
        return Outcome(False, "staging-edited"), None
    writer = view.is_writer(ask.remark)
    if writer is None:
        return None, None
    if not writer:
        permission = view.permission(ask.remark.author.login)
        named = {"permission": permission.permission, "role": permission.role_name} if permission else {}
        return Outcome(False, "staging-denied", named), None
    full = {name for name, kind in view.policy.sweep.primaries.items() if kind != "trim"}
    if not view.state.labels & full:
        return Outcome(False, "staging-no-label"), None
    return _run(view, ask.command.run_id)


def _run(view: View, run_id: int | None) -> tuple[Outcome | None, Run | None]:
    if run_id is None:
        return _newest(view)
    run = view.run(run_id)
    if run is None:
        return (Outcome(False, "reuse-no-run", {"run": run_id}), None) if view.is_absent(run_id) else (None, None)
    reason = _problem(view, run, pinned=True)
    if reason is not None:
        return Outcome(False, reason.code, reason.values), None
    artifacts = view.artifacts(run)
    if artifacts is None:
        return None, None
    reason = _artifact_problem(run)
    return (Outcome(False, reason.code, reason.values), None) if reason else (Outcome(True), run)


def _newest(view: View) -> tuple[Outcome | None, Run | None]:
    """The newest run that can be staged: no-op runs without results are passed over."""
    for run in sorted(view.state.runs, key=lambda run: -run.id):
        if _problem(view, run, pinned=False) is not None:
            continue
        if view.artifacts(run) is None:
            return None, None
        if _artifact_problem(run) is None:
            return Outcome(True), run
    return Outcome(False, "staging-none-found"), None


def _problem(view: View, run: Run, *, pinned: bool) -> Line | None:
    state, sweep, values = view.state, view.policy.sweep, {"run": run.id}
    if not is_sweep_run(state, run) or (run.path and run.path.partition("@")[0] != sweep.workflow):
        return Line("staging-workflow", values)
    linked = pinned and state.ref.number in run.pull_requests
    if measured_sha(state, run) not in state.commits and not linked:
        return Line("staging-not-in-commits", values)
    full = {name for name, kind in sweep.primaries.items() if kind != "trim"}
    if not labels_at(state, run.created_at) & full:
        return Line("staging-label-then", values)
    if run.status != "completed" or run.conclusion not in PINNED_CONCLUSIONS:
        return Line("staging-state", {**values, "status": run.status, "conclusion": run.conclusion or "none"})
    return None


def _artifact_problem(run: Run) -> Line | None:
    live = {artifact.name for artifact in run.artifacts or () if not artifact.expired}
    if "changelog-metadata" not in live:
        return Line("staging-no-metadata", {"run": run.id})
    return None if has_results(run) else Line("reuse-no-artifacts", {"run": run.id})


def _callbacks(view: View, shown: OwnComment) -> list[Action]:
    """The furthest valid message about this staged run, if the comment does not show it yet."""
    best = str(shown.payload.get("state", "asked"))
    link = ""
    for callback in sorted(view.state.callbacks, key=lambda one: one.at):
        state = _callback_state(view, callback, shown)
        if state is not None and _RANK[state] > _RANK.get(best, 0):
            best, link = state, str(callback.payload["app-run-id"])
    if best == shown.payload.get("state", "asked"):
        return []
    return [FinishStaging(shown.key, best, link)]


def _callback_state(view: View, callback: Callback, shown: OwnComment) -> str | None:
    """started, succeeded or failed; None for a message that is malformed or about something else."""
    told = callback.payload
    numbers = ("run-id", "pr-number", "app-run-id", *(("comment-id",) if told.get("comment-id") else ()))
    if str(told.get("source-repository", "")).lower() != view.policy.staging.repository.lower():
        return None
    if not all(_NUMBER.fullmatch(str(told.get(name, ""))) for name in numbers):
        return None
    if told.get("run-date") and not _DATE.fullmatch(str(told["run-date"])):
        return None
    if told.get("requested-by") and not _LOGIN.fullmatch(str(told["requested-by"])):
        return None
    if int(told["run-id"]) != shown.payload.get("run") or int(told["pr-number"]) != view.state.ref.number:
        return None
    if told.get("comment-id") and int(told["comment-id"]) != shown.id:
        return None
    if callback.kind == "stage-results-started":
        return "started"
    done = str(told.get("stage-succeeded", "")).lower()
    if callback.kind == "stage-results-completed" and done in ("true", "false"):
        return "succeeded" if done == "true" else "failed"
    return None
