"""Purpose: table A of the behaviour, row by row: label and push events by the state that they leave."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.decide.core import decide
from app.decide.state import ChangedFile, LabelApproval, Measurement, PullState
from tests.decide.pull_states import (
    ACTIONS,
    HEAD,
    OLD,
    SERVICE,
    decided,
    dispatched,
    labelled,
    person,
    remark,
    run,
    state,
    told,
    with_label,
)

FULL = "full-sweep-fail-fast"
OTHER = "full-sweep-enabled"
PIN = "good\n/use 500"


def swept(base: PullState, **more: Any) -> PullState:
    """The label was set and its run has executed on the older head; then HEAD was pushed."""
    labelled_state = with_label(base, FULL)
    return replace(labelled_state, runs=(dispatched(labelled_state, sha=OLD, **more),))


def pinned(base: PullState, body: str = PIN, **more: Any) -> PullState:
    return replace(base, remarks=(remark(body, at=200.0, reactions=frozenset({"+1"}), **more),))


ROWS: dict[str, tuple[PullState, list[str]]] = {
    "labeled primary: full sweep": (with_label(state(), FULL), [f"dispatch {FULL}"]),
    "labeled primary although a reuse is authorised: the label wins": (
        replace(
            with_label(swept(state()), OTHER, at=300.0),
            labels=frozenset({OTHER}),
            remarks=(remark(PIN, at=200.0, reactions=frozenset({"+1"})),),
        ),
        [f"dispatch {OTHER}"],
    ),
    "labeled primary while a sweep runs: the old one is cancelled": (
        replace(
            with_label(with_label(state(), FULL), OTHER, at=90.0),
            labels=frozenset({OTHER}),
            runs=(dispatched(with_label(state(), FULL), status="in_progress", conclusion=None),),
        ),
        ["cancel 500", f"dispatch {OTHER}"],
    ),
    "labeled primary, another one present: said, cancelled, no sweep": (
        replace(
            with_label(state(), FULL, OTHER),
            runs=(dispatched(with_label(state(), FULL), status="in_progress", conclusion=None),),
        ),
        ["cancel 500", "status label-conflict"],
    ),
    "labeled modifier with a primary: new sweep with the modifier": (
        with_label(state(), FULL, "all-evals"),
        [f"dispatch {FULL} all-evals"],
    ),
    "labeled modifier without a primary: said, no sweep": (
        with_label(state(), "all-evals"),
        ["status modifier-only"],
    ),
    "unlabeled primary: cancel only": (
        replace(
            with_label(state(), FULL),
            labels=frozenset(),
            label_events=(labelled(FULL), labelled(FULL, at=80.0, added=False)),
            runs=(dispatched(with_label(state(), FULL), status="queued", conclusion=None),),
        ),
        ["cancel 500"],
    ),
    "unlabeled modifier with a primary: new sweep": (
        replace(
            with_label(state(), FULL, "all-evals"),
            labels=frozenset({FULL}),
            label_events=(labelled(FULL), labelled("all-evals", at=51.0), labelled("all-evals", at=80.0, added=False)),
        ),
        [f"dispatch {FULL}"],
    ),
    "another label: nothing is cancelled and nothing starts": (
        replace(
            with_label(with_label(state(), FULL), "documentation", at=90.0),
            runs=(dispatched(with_label(state(), FULL), status="in_progress", conclusion=None),),
        ),
        [],
    ),
    "pushed without a primary: nothing": (state(), []),
    "pushed with a primary and no authorisation: sweep of the new head": (swept(state()), [f"dispatch {FULL}"]),
    "pushed while the sweep of the old head runs: cancel and sweep": (
        swept(state(), status="in_progress", conclusion=None),
        ["cancel 500", f"dispatch {FULL}"],
    ),
    "pushed, authorised, source valid: no sweep": (pinned(swept(state())), []),
    "pushed, authorised, source valid but not the same measurement: said": (
        replace(pinned(swept(state())), measurements={OLD: Measurement(False, ("configs/nvidia-master.yaml",))}),
        ["status reuse-not-covering"],
    ),
    "pushed, authorised, source invalid: no sweep, the reason shown": (
        pinned(replace(swept(state()), commits=(HEAD,))),
        ["react -1 to 200 instead of +1", "status reuse-blocks reuse-event"],
    ),
    "pushed with evals-only, authorised: the gate is skipped and the sweep runs": (
        pinned(with_label(swept(state()), "evals-only", at=55.0)),
        ["react -1 to 200 instead of +1", f"dispatch {FULL} evals-only", "status reuse-labels"],
    ),
    "head says [skip-sweep]: no sweep": (
        replace(with_label(state(), FULL), head_message="Tidy [skip-sweep]"),
        ["status skip-sweep"],
    ),
    "draft: as ready": (with_label(state(draft=True), FULL), [f"dispatch {FULL}"]),
    "merge conflict: said, no run": (with_label(state(mergeable=False), FULL), ["status merge-conflict"]),
    "no changelog entry: said, no run": (
        with_label(state(files=(ChangedFile("configs/nvidia-master.yaml"),)), FULL),
        ["status no-changelog"],
    ),
    "the sweep workflow is edited: no sweep": (
        with_label(state(files=(ChangedFile("perf-changelog.yaml"), ChangedFile(".github/workflows/x.yml"))), FULL),
        ["status workflow-change"],
    ),
    "removed and added again: forced, although this head was swept": (
        replace(
            with_label(swept(state()), FULL, at=300.0),
            runs=(dispatched(with_label(state(), FULL)),),
        ),
        [f"dispatch {FULL}"],
    ),
    "the sweep of this head and label has run: nothing": (
        replace(with_label(state(), FULL), runs=(dispatched(with_label(state(), FULL)),)),
        [],
    ),
    "the sweep of this head ended before anything was measured: said, not repeated": (
        replace(
            with_label(state(), FULL),
            runs=(dispatched(with_label(state(), FULL), conclusion="failure", executed=False),),
        ),
        ["status sweep-not-started"],
    ),
    "closed: nothing": (with_label(state(state="closed"), FULL), []),
    "another base branch: not served": (with_label(state(base_ref="release"), FULL), []),
}

FORK = state(head_repository="outsider/inference")


def approved(base: PullState, *, sha: str = HEAD, who: str = "maintainer") -> PullState:
    return replace(with_label(base, FULL), approvals=(LabelApproval(FULL, sha, person(who), 50.0),))


FORK_ROWS: dict[str, tuple[PullState, list[str]]] = {
    "fork labeled by a writer at this head: dispatched": (approved(FORK), [f"dispatch {FULL}"]),
    "fork labeled, head moved meanwhile: refused and said": (approved(FORK, sha=OLD), ["status fork-moved"]),
    "fork labeled by somebody without write: refused": (approved(FORK, who="triager"), ["status fork-denied"]),
    "fork labeled by a custom role: refused": (approved(FORK, who="customRole"), ["status fork-denied"]),
    "fork whose label only the round found: starts nothing": (with_label(FORK, FULL), ["status fork-needs-label"]),
    "fork draft: refused": (approved(replace(FORK, draft=True)), ["status fork-draft"]),
}


@pytest.mark.parametrize(("given", "expected"), ROWS.values(), ids=ROWS.keys())
def test_table_a(given: PullState, expected: list[str]) -> None:
    assert decided(given) == expected


@pytest.mark.parametrize(("given", "expected"), FORK_ROWS.values(), ids=FORK_ROWS.keys())
def test_forks(given: PullState, expected: list[str]) -> None:
    assert decided(given) == expected


def test_actions_mode_dispatches_and_cancels_nothing_but_explains() -> None:
    busy = replace(with_label(state(), FULL), runs=(run(status="in_progress", conclusion=None, executed=False),))
    assert decided(busy, ACTIONS) == []
    assert decided(with_label(state(mergeable=False), FULL), ACTIONS) == ["status merge-conflict"]


def test_mergeability_unknown_waits_and_looks_again() -> None:
    decision = decide(with_label(state(mergeable=None), FULL), SERVICE)
    assert decision.retry
    assert not [action for action in map(told, decision.actions) if action.startswith("dispatch")]


def test_the_plan_is_shown_with_the_dispatch_and_progress_mirrored() -> None:
    shown = [action for action in decided(with_label(state(), FULL), without=("welcome",)) if "show" in action]
    assert shown == ["show queued"]
    running = replace(
        with_label(state(), FULL),
        runs=(dispatched(with_label(state(), FULL), status="in_progress", conclusion=None),),
    )
    assert "show in_progress" in decided(running, without=("welcome",))


def test_a_title_typed_by_somebody_else_is_no_run_of_ours() -> None:
    base = with_label(state(), FULL)
    forged = dispatched(base, actor=person("outsider"))
    assert decided(replace(base, runs=(forged,))) == [f"dispatch {FULL}"]


def test_the_same_state_gives_the_same_decision() -> None:
    given = pinned(swept(state()))
    assert decide(given, SERVICE) == decide(given, SERVICE)
