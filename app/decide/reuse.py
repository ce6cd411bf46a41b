"""Purpose: which run a pull request reuses: selection, authorisation and source validation, each error its own code.

Selection: newest comment by creation, live body, across both spellings; in one comment the last valid command counts.
Editing an older comment does not promote it, deleting the newest brings the one before back.

Invariants: an unauthorised command is invisible to the selection. An authorised command whose source is not valid
blocks sweeps rather than falling back to an older one (fail closed: no run starts by surprise).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from app.decide.actions import Line, Pin
from app.decide.asks import Ask, Outcome
from app.decide.keys import body_hash
from app.decide.paths import sweep_machinery
from app.decide.runs import is_sweep_run, labels_at, measured_sha
from app.decide.state import Measurement, Remark, Run
from app.decide.view import View

COMMANDS = ("use", "reuse-sweep-run")
PINNED_CONCLUSIONS = ("success", "failure", "cancelled")


@dataclass(frozen=True)
class Reuse:
    """`pin` is set only for an authorised command with a valid source. `covers` tells about the same measurement."""

    remark: Remark | None = None
    pin: Pin | None = None
    run: Run | None = None
    problem: Line | None = None
    covers: Measurement | None = None
    outcomes: Mapping[int, Outcome] = field(default_factory=dict)


def reuse(view: View, asks: Iterable[Ask]) -> Reuse:
    """The effective reuse of a pull request. `outcomes` are by remark id."""
    outcomes: dict[int, Outcome] = {}
    chosen: list[Ask] = []
    for ask in _last_of_each(asks):
        if ask.command.problem is not None:
            outcomes[ask.remark.id] = Outcome(False, ask.command.problem.code, {"english": ask.command.problem.text})
        else:
            chosen.append(ask)
    chosen.sort(key=lambda ask: (ask.remark.created_at, ask.remark.id), reverse=True)
    selected: Ask | None = None
    for ask in chosen:
        if selected is not None:
            outcomes[ask.remark.id] = _older(ask, selected)
            continue
        verdict = _authorised(view, ask.remark)
        if verdict is None:
            return Reuse(outcomes=outcomes)
        if verdict.accepted:
            selected = ask
        else:
            outcomes[ask.remark.id] = verdict
    if selected is None:
        return Reuse(outcomes=outcomes)
    return _validated(view, selected, outcomes)


def _last_of_each(asks: Iterable[Ask]) -> list[Ask]:
    """For each remark its last valid reuse command, or its last malformed one."""
    last: dict[int, Ask] = {}
    for ask in asks:
        if ask.command.name not in COMMANDS:
            continue
        known = last.get(ask.remark.id)
        if known is None or ask.command.problem is None or known.command.problem is not None:
            last[ask.remark.id] = ask
    return list(last.values())


def _authorised(view: View, remark: Remark) -> Outcome | None:
    """None while a permission is unknown."""
    commands = view.policy.commands
    if remark.association not in commands.associations:
        return Outcome(False, "reuse-association", {"association": remark.association})
    if commands.reuse_needs_write or remark.edited_by_another:
        writer = view.is_writer(remark)
        if writer is None:
            return None
        if not writer:
            return Outcome(False, "needs-write", {})
    return Outcome(True)


def _older(ask: Ask, newest: Ask) -> Outcome:
    edited = ask.remark.edited_at is not None and ask.remark.edited_at > newest.remark.created_at
    return Outcome(False, "reuse-superseded", {"url": newest.remark.url}) if edited else Outcome(None)


def _validated(view: View, selected: Ask, outcomes: dict[int, Outcome]) -> Reuse:
    remark, run_id = selected.remark, selected.command.run_id
    if view.state.state != "open":
        outcomes[remark.id] = Outcome(None)
        return Reuse(remark, outcomes=outcomes)
    run, problem = _source(view, run_id)
    if problem is not None:
        outcomes[remark.id] = Outcome(False, problem.code, problem.values)
        return Reuse(remark, problem=problem, outcomes=outcomes)
    if run is None:
        return Reuse(remark, outcomes=outcomes)
    outcomes[remark.id] = Outcome(True)
    covers = view.measurement(measured_sha(view.state, run) or "")
    pin = Pin(run.id, remark.id, body_hash(remark.body))
    return Reuse(remark, pin, run, covers=covers, outcomes=outcomes)


def _source(view: View, run_id: int | None) -> tuple[Run | None, Line | None]:
    """The source run, or why there is none; neither while a look-up is missing."""
    state = view.state
    blocking = sorted(state.labels & frozenset(view.policy.sweep.not_reusable))
    if blocking:
        return None, Line("reuse-labels", {"labels": blocking})
    if state.fork:
        return None, Line("reuse-fork")
    changed = sweep_machinery(state.paths)
    if changed:
        return None, Line("reuse-workflow-change", {"files": list(changed)})
    if run_id is None:
        return _newest(view)
    run = view.run(run_id)
    if run is None:
        return None, Line("reuse-no-run", {"run": run_id}) if view.is_absent(run_id) else None
    problem = source_problem(view, run, pinned=True)
    if problem is not None or view.artifacts(run) is None:
        return None, problem
    return run, None


def _newest(view: View) -> tuple[Run | None, Line | None]:
    """Without an id: the newest successful run of a commit of this pull request that left results."""
    for run in sorted(view.state.runs, key=lambda run: -run.id):
        if source_problem(view, run, pinned=False, with_artifacts=False) is not None:
            continue
        artifacts = view.artifacts(run)
        if artifacts is None:
            return None, None
        if has_results(run):
            return run, None
    return None, Line("reuse-none-found", {"commits": len(view.state.commits)})


def source_problem(view: View, run: Run, *, pinned: bool, with_artifacts: bool = True) -> Line | None:
    """The first reason why a run cannot be reused (workflows.md 3.2), or None."""
    state, sweep = view.state, view.policy.sweep
    values = {"run": run.id}
    if not is_sweep_run(state, run):
        return Line("reuse-event", {**values, "event": run.event})
    if run.path and run.path.partition("@")[0] != sweep.workflow:
        return Line("reuse-path", {**values, "path": run.path})
    if run.status != "completed":
        return Line("reuse-not-completed", {**values, "status": run.status})
    allowed = PINNED_CONCLUSIONS if pinned else ("success",)
    if run.conclusion not in allowed:
        return Line("reuse-conclusion", {**values, "conclusion": run.conclusion, "expected": list(allowed)})
    sha = measured_sha(state, run)
    if not sha:
        return Line("reuse-no-head", values)
    if sha not in state.commits:
        return Line("reuse-not-in-commits", {**values, "sha": sha})
    during = sorted(labels_at(state, run.created_at) & frozenset(sweep.not_reusable))
    if during:
        return Line("reuse-run-labels", {**values, "labels": during})
    if with_artifacts and run.artifacts is not None and not has_results(run):
        return Line("reuse-no-artifacts", values)
    return None


def has_results(run: Run) -> bool:
    """At least one result artifact that has not expired."""
    return any(
        not artifact.expired
        and (artifact.name in ("results_bmk", "eval_results_all") or artifact.name.startswith("bmk_agentic_"))
        for artifact in run.artifacts or ()
    )
