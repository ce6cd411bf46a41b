"""Purpose: whether a sweep is to run now for this head and label event, and if not, why.

    primary labels: none -> nothing; several -> say so; one -> continue
    a run can start at all (changelog touched, no conflict, workflows untouched, draft, fork approved)?
    a run with this key exists -> nothing; reuse authorised and in force -> nothing; else dispatch

Mode "service": we dispatch and cancel. Mode "actions": GitHub starts the runs, we only say why none starts.

Accepted race: a push between our last read and the dispatch starts a run of the older head; the next reconcile
cancels it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.decide.actions import Action, CancelRun, DispatchSweep, Line, ShowPlan
from app.decide.keys import sweep_key
from app.decide.paths import sweep_machinery, touches_changelog
from app.decide.reuse import Reuse
from app.decide.runs import has_label_event, is_dispatched_for, key_of, label_event_at
from app.decide.state import LabelEvent, PullState, Run
from app.decide.view import View

SKIP = "[skip-sweep]"


@dataclass(frozen=True)
class Sweep:
    """What to do about sweeps. `retry`: GitHub has not computed mergeability yet."""

    actions: tuple[Action, ...] = ()
    lines: tuple[Line, ...] = ()
    key: str = ""
    retry: bool = False


def recognised(view: View) -> frozenset[str]:
    """Labels whose events count."""
    return frozenset(view.policy.sweep.primaries) | frozenset(view.policy.sweep.modifiers)


def sweeps(view: View, reuse: Reuse) -> Sweep:
    """The sweep decision of one pull request."""
    found = _sweeps(view, reuse)
    return replace(found, actions=(*found.actions, *_closed_plans(view, found.key)))


def _sweeps(view: View, reuse: Reuse) -> Sweep:
    state = view.state
    if state.state != "open":
        return Sweep()
    primaries = sorted(state.labels & frozenset(view.policy.sweep.primaries))
    modifiers = tuple(sorted(state.labels & frozenset(view.policy.sweep.modifiers)))
    event = label_event_at(state, recognised(view))
    if len(primaries) != 1 or event is None:
        lines: tuple[Line, ...] = ()
        if len(primaries) > 1:
            lines = (Line("label-conflict", {"labels": primaries}),)
        elif modifiers:
            lines = (Line("modifier-only", {"labels": list(modifiers)}),)
        return Sweep(_cancel(view, keep=""), lines)
    key = sweep_key(state.ref.repository, state.ref.number, state.head_sha, event.id)
    return _with_primary(view, reuse, event, key, primaries[0], modifiers)


def _with_primary(
    view: View, reuse: Reuse, event: LabelEvent, key: str, label: str, modifiers: tuple[str, ...]
) -> Sweep:
    cancelled = _cancel(view, keep=key)
    obstacle = _obstacle(view, label)
    if obstacle is not None:
        return Sweep(cancelled, (obstacle,), key)
    same = [run for run in view.state.runs if key_of(view.state, run, recognised(view)) == key]
    if same:
        run = max(same, key=lambda one: one.id)
        return Sweep((*cancelled, *_progress(view, key, label, modifiers, run)), _ended(view, run), key)
    gate = _gate(view, reuse, event)
    if gate is not None:
        return Sweep(cancelled, gate, key)
    if view.policy.sweep.mode != "service":
        return Sweep(key=key)
    if view.state.mergeable is None:
        return Sweep(cancelled, (), key, retry=True)
    state = view.state
    start = DispatchSweep(key, state.head_sha, state.base_sha, label, modifiers)
    return Sweep((*cancelled, start, *_progress(view, key, label, modifiers, None)), (), key)


def _obstacle(view: View, label: str) -> Line | None:
    """Why no run can start on this head, whatever was measured before."""
    state = view.state
    changed = sweep_machinery(state.paths)
    if changed:
        return Line("workflow-change", {"files": list(changed)})
    if state.files_complete and not touches_changelog(state.paths):
        return Line("no-changelog")
    if state.mergeable is False:
        return Line("merge-conflict", {"base": state.base_ref})
    if SKIP in state.head_message:
        return Line("skip-sweep")
    if state.draft and not view.policy.sweep.sweep_drafts:
        return Line("draft")
    return _fork_obstacle(view, label) if state.fork else None


def _fork_obstacle(view: View, label: str) -> Line | None:
    """A fork's label is bound to the head that the signed delivery named, and to a person who may write."""
    state = view.state
    given = [approval for approval in state.approvals if approval.label == label]
    if not given:
        return Line("fork-needs-label", {"label": label})
    newest = max(given, key=lambda approval: approval.at)
    if state.draft:
        return Line("fork-draft")
    if newest.head_sha != state.head_sha:
        return Line("fork-moved", {"label": label, "sha": newest.head_sha})
    permission = view.permission(newest.actor.login)
    if permission is None:
        return Line("fork-permission-unknown", {"login": newest.actor.login})
    return None if permission.writer else Line("fork-denied", {"login": newest.actor.login})


def _gate(view: View, reuse: Reuse, event: LabelEvent) -> tuple[Line, ...] | None:
    """The lines of a reuse that keeps a new sweep away, or None. A label set anew forces a sweep."""
    state = view.state
    if reuse.remark is None or state.labels & frozenset(view.policy.sweep.not_reusable):
        return None
    newer = reuse.remark.created_at > event.at
    measured = [run for run in state.runs if has_label_event(state, run, event, recognised(view))]
    if not newer and not any(view.executed(run) for run in measured):
        return None
    if reuse.problem is not None:
        return (Line("reuse-blocks", {"reason": reuse.problem.code, **reuse.problem.values}),)
    if reuse.pin is not None and reuse.covers is not None and reuse.covers.same is False:
        return (Line("reuse-not-covering", {"run": reuse.pin.run_id, "files": list(reuse.covers.files)}),)
    return ()


def _cancel(view: View, *, keep: str) -> tuple[Action, ...]:
    """Our own active runs for this pull request whose key is not the current one."""
    if view.policy.sweep.mode != "service":
        return ()
    state = view.state
    return tuple(
        CancelRun(run.id, "superseded" if keep else "no label asks for it")
        for run in state.runs
        if run.active and is_dispatched_for(state, run) and key_of(state, run, recognised(view)) != (keep or None)
    )


def _progress(view: View, key: str, label: str, modifiers: tuple[str, ...], run: Run | None) -> tuple[Action, ...]:
    """The check run on the head that mirrors the sweep, if it does not say so already."""
    if view.policy.sweep.mode != "service":
        return ()
    status, conclusion = _mirrored(run)
    shown = next((one for one in view.state.check_runs if one.external_id == f"sweep-{key}"), None)
    if shown is not None and (shown.status, shown.conclusion) == (status, conclusion):
        return ()
    return (ShowPlan(key, view.state.head_sha, label, modifiers, run.id if run else None, status, conclusion),)


def _closed_plans(view: View, key: str) -> tuple[Action, ...]:
    """Plans of this head that no longer count are closed, so that nothing looks as if it were waiting."""
    head = view.state.head_sha
    return tuple(
        ShowPlan(shown.external_id.removeprefix("sweep-"), head, "", (), None, "completed", "cancelled")
        for shown in view.state.check_runs
        if shown.external_id.startswith("sweep-")
        and shown.external_id != f"sweep-{key}"
        and shown.status != "completed"
    )


_CONCLUSIONS = ("success", "failure", "cancelled", "timed_out", "action_required", "neutral", "skipped")


def _mirrored(run: Run | None) -> tuple[str, str | None]:
    if run is None or run.status in ("queued", "requested", "waiting", "pending"):
        return "queued", None
    if run.status == "completed":
        return "completed", run.conclusion if run.conclusion in _CONCLUSIONS else "failure"
    return "in_progress", None


def _ended(view: View, run: Run) -> tuple[Line, ...]:
    """A run of ours that ended before any job measured something is not repeated by itself: say so."""
    if view.policy.sweep.mode != "service" or run.active or view.executed(run) is not False:
        return ()
    return (Line("sweep-not-started", {"run": run.id, "conclusion": run.conclusion or "unknown"}),)


def newest_evidence(state: PullState, pinned: Run | None) -> Run | None:
    """The run a verdict will look at first: the pinned one, else the newest of a commit of this pull request."""
    if pinned is not None:
        return pinned
    known = [run for run in state.runs if run.event == "pull_request" or is_dispatched_for(state, run)]
    return max(known, key=lambda run: run.id, default=None)
