"""Purpose: what a workflow run belongs to: whose sweep it is, which commit it measured, under which label event.

A run that we dispatched stands on the default branch; its commit and key stand in its title:

    Sweep #<number> @ <first 12 of the head> [<sweep key>]

Such a title counts only if our own bot started the run and the key is one that we would compute; anything else is a
run of somebody who typed a title.
"""

from __future__ import annotations

import re

from app.decide.keys import sweep_key
from app.decide.state import LabelEvent, PullState, Run

_TITLE = re.compile(r"Sweep #([1-9][0-9]*) @ ([0-9a-f]{12}) \[([0-9a-f]{24})\]")


def sweep_title(number: int, head_sha: str, key: str) -> str:
    """The title that the sweep workflow gives its run (`run-name`)."""
    return f"Sweep #{number} @ {head_sha[:12]} [{key}]"


def is_sweep_run(state: PullState, run: Run) -> bool:
    """A run that may be evidence for this pull request: of its own event, or dispatched by us for it."""
    return run.event == "pull_request" or dispatched_key(state, run) is not None


def dispatched_key(state: PullState, run: Run) -> str | None:
    """The sweep key of a run that our bot dispatched for this pull request."""
    found = _dispatched(state, run)
    return found[1] if found else None


def measured_sha(state: PullState, run: Run) -> str | None:
    """The commit that a run measured."""
    if run.event == "pull_request":
        return run.head_sha or None
    found = _dispatched(state, run)
    return found[0] if found else None


def _dispatched(state: PullState, run: Run) -> tuple[str, str] | None:
    match = _TITLE.fullmatch(run.title.strip())
    if run.event != "workflow_dispatch" or run.actor.id != state.bot.id or not match:
        return None
    number, short, key = match.groups()
    if int(number) != state.ref.number:
        return None
    for sha in {*state.commits, state.head_sha}:
        if sha.startswith(short) and key in _keys(state, sha):
            return sha, key
    return None


def _keys(state: PullState, sha: str) -> frozenset[str]:
    events = {event.id for event in state.label_events}
    return frozenset(sweep_key(state.ref.repository, state.ref.number, sha, event) for event in events)


def is_dispatched_for(state: PullState, run: Run) -> bool:
    """Our bot's run for this pull request, whatever its key: also for commits that were pushed away."""
    match = _TITLE.fullmatch(run.title.strip())
    ours = run.event == "workflow_dispatch" and run.actor.id == state.bot.id
    return bool(ours and match and int(match.group(1)) == state.ref.number)


def label_event_at(state: PullState, recognised: frozenset[str], at: float | None = None) -> LabelEvent | None:
    """The newest event on a recognised label, not later than `at`."""
    events = [event for event in state.label_events if event.label in recognised and (at is None or event.at <= at)]
    return max(events, key=lambda event: (event.at, event.id), default=None)


def key_of(state: PullState, run: Run, recognised: frozenset[str]) -> str | None:
    """The sweep key of a run: from its title, or recomputed for a run of the pull request's own event."""
    if run.event == "pull_request":
        event = label_event_at(state, recognised, run.created_at)
        if event is None:
            return None
        return sweep_key(state.ref.repository, state.ref.number, run.head_sha, event.id)
    return dispatched_key(state, run)


def has_label_event(state: PullState, run: Run, event: LabelEvent, recognised: frozenset[str]) -> bool:
    """Whether a run was started by that label event, for whichever commit."""
    if run.event == "pull_request":
        found = label_event_at(state, recognised, run.created_at)
        return found is not None and found.id == event.id
    key, sha = dispatched_key(state, run), measured_sha(state, run)
    return bool(key and sha and key == sweep_key(state.ref.repository, state.ref.number, sha, event.id))


def labels_at(state: PullState, at: float) -> frozenset[str]:
    """The labels that were on at that time, by the label timeline."""
    on: set[str] = set()
    for event in sorted(state.label_events, key=lambda event: event.at):
        if event.at <= at:
            (on.add if event.added else on.discard)(event.label)
    return frozenset(on)
