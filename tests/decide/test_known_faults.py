"""Purpose: faults that other bots had, as decisions: kinds of docs/known-bugs.md that tables A and B lack."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.decide.actions import Verify
from app.decide.asks import asks
from app.decide.core import decide
from app.decide.state import Artifact, OwnComment, PullState, Remark
from app.effects.faults import WRITE_METHODS
from tests.decide.pull_states import (
    BOT,
    HEAD,
    RESULTS,
    SERVICE,
    SIGN_OFF,
    decided,
    dispatched,
    labelled,
    person,
    remark,
    run,
    state,
    with_label,
)

FULL = "full-sweep-fail-fast"
SEEN = frozenset({"eyes"})


def verifies(given: PullState) -> list[Verify]:
    return [action for action in decide(given, SERVICE).actions if isinstance(action, Verify)]


def with_verdicts(given: PullState) -> PullState:
    """The state after its due verdicts were posted."""
    made = tuple(
        OwnComment("verdict", action.sign_off, 900 + number, {"verify_key": action.verify_key})
        for number, action in enumerate(verifies(given))
    )
    return replace(given, own=(*given.own, *made))


BOTS: dict[str, Remark] = {
    "our own comment": replace(remark(SIGN_OFF), author=BOT),
    "another bot's comment": replace(remark(SIGN_OFF), author=replace(person("reviewer"), bot=True)),
    "a deleted account's comment": replace(remark(SIGN_OFF), author=replace(person("reviewer"), id=0)),
}


@pytest.mark.parametrize("said", BOTS.values(), ids=BOTS.keys())
def test_a_sign_off_counts_only_from_a_person(said: Remark) -> None:
    assert decided(replace(state(), remarks=(said,))) == []


def test_an_edit_around_a_command_asks_for_nothing_again() -> None:
    base = replace(with_label(state(), FULL), runs=(run(500),))
    asked = remark("looks godo\n/use 500", reactions=frozenset({"+1"}))
    mended = replace(asked, body="looks good\n/use 500", edited_at=150.0, editor=person("reviewer"))
    assert decided(replace(base, remarks=(asked,))) == decided(replace(base, remarks=(mended,))) == []


def test_a_new_head_is_verified_and_an_old_one_is_not_left_waiting() -> None:
    before = replace(state(head_sha="d" * 40), remarks=(remark(SIGN_OFF, reactions=SEEN),))
    after = replace(with_verdicts(before), head_sha=HEAD)
    assert verifies(with_verdicts(before)) == []
    assert [action.head_sha for action in verifies(after)] == [HEAD]


def test_a_second_sign_off_gets_a_verdict_comment_of_its_own() -> None:
    one = replace(state(), remarks=(remark(SIGN_OFF, reactions=SEEN),))
    two = replace(one, remarks=(*one.remarks, remark(SIGN_OFF, "maintainer", at=200.0, reactions=SEEN)))
    assert len({action.sign_off for action in verifies(two)}) == 2


def test_marking_ready_does_not_sweep_a_measured_head_again() -> None:
    draft = with_label(state(draft=True), FULL)
    measured = replace(draft, runs=(dispatched(draft),))
    assert decided(measured) == decided(replace(measured, draft=False)) == []


def test_a_run_stays_reusable_after_its_label_was_off_for_seconds() -> None:
    again = replace(
        with_label(state(), FULL),
        label_events=(labelled(FULL), labelled(FULL, at=80.0, added=False), labelled(FULL, at=90.0)),
        runs=(run(500),),
        remarks=(remark("x\n/use 500"),),
    )
    assert decided(again) == ["react +1 to 100"]


def test_a_failed_run_with_results_whose_commit_was_rebased_can_be_staged_while_github_links_it() -> None:
    failed = run(500, conclusion="failure", head_sha="e" * 40, artifacts=RESULTS, pull_requests=(7,))
    given = replace(with_label(state(), FULL), runs=(failed,), remarks=(remark("/stage-results 500"),))
    assert "stage 500" in decided(given)


def test_a_run_that_measured_only_a_part_is_not_staged_as_a_full_one() -> None:
    trimmed = SERVICE.model_copy(
        update={"sweep": SERVICE.sweep.model_copy(update={"primaries": {FULL: "canary", "sweep-enabled": "trim"}})}
    )
    base = replace(with_label(state(), "sweep-enabled"), runs=(run(500),))
    asked = replace(base, remarks=(remark("/stage-results 500", reactions=frozenset()),))
    assert "status staging-no-label" in decided(asked, trimmed)


def test_a_run_without_results_is_told_before_the_merge_and_not_after_it() -> None:
    empty = run(500, artifacts=(Artifact("server_logs_x"),))
    given = replace(with_label(state(), FULL), runs=(empty,), remarks=(remark("/reuse-sweep-run"),))
    assert decided(given) == ["react -1 to 100", "status reuse-none-found"]


def test_a_retry_whose_answer_got_lost_is_known_by_the_runs_attempt() -> None:
    labelled_state = with_label(state(), FULL)
    base = replace(labelled_state, remarks=(remark("/retry-failed"),), runs=(dispatched(labelled_state, attempt=2),))
    started = {ask.key: 1 for ask in asks(base, SERVICE)}
    assert decided(base)[0] == "react -1 to 100", "a run that succeeded has nothing to retry"
    assert decided(replace(base, started_retries=started))[0] == "react +1 to 100", "but this command mended it"


def test_the_service_has_no_write_that_merges_labels_or_sets_a_status() -> None:
    assert WRITE_METHODS == (
        "add_reaction",
        "cancel_run",
        "create_comment",
        "dispatch_workflow",
        "edit_comment",
        "put_check_run",
        "remove_reaction",
        "repository_dispatch",
        "rerun_failed",
    )
