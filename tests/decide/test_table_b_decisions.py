"""Purpose: table B as decisions: who may ask what, reuse and staging, with the deliberate differences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.decide.actions import Line, SetStatus, Verify
from app.decide.core import decide
from app.decide.state import Artifact, PullState
from tests.decide.pull_states import ACTIONS, HEAD, OLD, SERVICE, decided, person, remark, run, state, with_label

FULL = "full-sweep-fail-fast"
BASE = replace(with_label(state(), FULL), runs=(run(500, at=60.0), run(400, at=55.0, conclusion="failure")))


def saying(body: str, who: str = "reviewer", **more: Any) -> PullState:
    return replace(BASE, remarks=(remark(body, who, **more),))


ROWS: dict[str, tuple[PullState, list[str]]] = {
    "whole-comment use: pinned and staged": (saying("/use 500"), ["react +1 to 100", "stage 500"]),
    "use below a remark: pinned, not staged": (saying("lgtm\n/use 500"), ["react +1 to 100"]),
    "bare use: thumb down and one answer": (saying("/use"), ["react -1 to 100", "status run-id-missing"]),
    "use with a word": (saying("/use abc"), ["react -1 to 100", "status run-id-invalid"]),
    "use with text after": (saying("/use 500 please"), ["react -1 to 100", "status extra-text"]),
    "use with the ID below": (saying("/use\n500"), ["react -1 to 100", "status run-id-next-line"]),
    "use inside a sentence: not seen": (saying("please /use 500"), []),
    "use in capitals: not seen": (saying("/USE 500"), []),
    "quoted use: not seen": (saying("> /use 500"), []),
    "use in a code fence: not seen": (saying("```\n/use 500\n```"), []),
    "reuse without ID: newest success": (saying("/reuse-sweep-run"), ["react +1 to 100"]),
    "reuse with ID: pinned, never staged": (saying("/reuse-sweep-run 500"), ["react +1 to 100"]),
    "reuse with text after": (saying("/reuse-sweep-run 500 now"), ["react -1 to 100", "status extra-text"]),
    "a failed run may be pinned by hand": (saying("/use 400"), ["react +1 to 100", "stage 400"]),
    "use by a contributor: not authorised, staging denied too": (
        saying("/use 500", "outsider"),
        ["react -1 to 100", "status reuse-association"],
    ),
    "use by a collaborator without write: association is not enough": (
        saying("x\n/use 500", "triager"),
        ["react -1 to 100", "status needs-write"],
    ),
    "use by a custom role: never": (saying("x\n/use 500", "customRole"), ["react -1 to 100", "status needs-write"]),
    "use by a bot: not seen": (
        replace(BASE, remarks=(replace(remark("/use 500"), author=replace(person("outsider"), bot=True)),)),
        [],
    ),
    "stage without ID": (saying("/stage-results"), ["react +1 to 100", "stage 500"]),
    "stage with ID": (saying("/stage-results 400"), ["react +1 to 100", "stage 400"]),
    "stage on its own line": (saying("now\n\n/stage-results 400"), ["react +1 to 100", "stage 400"]),
    "stage with a word": (saying("/stage-results abc"), ["react -1 to 100", "status run-id-invalid"]),
    "stage with a letter too many": (saying("/stage-resultsX"), ["react -1 to 100", "status extra-text"]),
    "stage by a reader: denied, both values named": (
        saying("/stage-results", "triager"),
        ["react -1 to 100", "status staging-denied"],
    ),
    "stage in an edited comment: new comment needed": (
        saying("/stage-results", edited_at=150.0, editor=person("reviewer")),
        ["react -1 to 100", "status staging-edited"],
    ),
    "use in an edited comment: pinned, not staged": (
        saying("/use 500", edited_at=150.0, editor=person("reviewer")),
        ["react +1 to 100"],
    ),
    "use in a review body: counts": (saying("/use 500", kind="review"), ["react +1 to 100"]),
    "use in an inline comment: does not": (saying("/use 500", kind="review_comment"), []),
    "edited by another person without write: counts for neither": (
        saying("x\n/use 500", edited_at=150.0, editor=person("outsider")),
        ["react -1 to 100", "status needs-write"],
    ),
    "edited by another person with write: counts": (
        saying("x\n/use 500", edited_at=150.0, editor=person("maintainer")),
        ["react +1 to 100"],
    ),
    "command removed by an edit: the thumb goes": (
        saying("never mind", reactions=frozenset({"+1"}), edited_at=150.0, editor=person("reviewer")),
        ["react nothing to 100 instead of +1"],
    ),
    "two uses in one comment: the last counts": (saying("/use 1\n/use 500"), ["react +1 to 100"]),
    "help": (saying("/sweepgate help", "outsider"), ["react +1 to 100", "status help"]),
    "merge: answered": (saying("/merge", "maintainer"), ["react -1 to 100", "status merge-by-hand"]),
    "merge by a reader: denied": (saying("/merge", "outsider"), ["react -1 to 100", "status needs-write"]),
    "did you mean": (saying("/verfy"), ["react -1 to 100", "status did-you-mean"]),
    "verify by hand without a sign-off": (saying("/verify"), ["react +1 to 100", "verify by-hand"]),
    "verify by an outsider: denied": (saying("/verify", "outsider"), ["react -1 to 100", "status needs-write"]),
}


@pytest.mark.parametrize(("given", "expected"), ROWS.values(), ids=ROWS.keys())
def test_table_b(given: PullState, expected: list[str]) -> None:
    assert decided(given) == expected


def test_edit_of_an_older_use_does_not_promote_it() -> None:
    old = remark("/use 400", at=100.0, edited_at=300.0, editor=person("reviewer"))
    new = remark("x\n/use 500", at=200.0)
    assert decided(replace(BASE, remarks=(old, new))) == [
        "react -1 to 100",
        "react +1 to 200",
        "status reuse-superseded",
    ]


def test_an_older_accepted_use_keeps_its_thumb() -> None:
    old = remark("x\n/use 400", at=100.0, reactions=frozenset({"+1"}))
    new = remark("x\n/use 500", at=200.0, reactions=frozenset({"+1"}))
    assert decided(replace(BASE, remarks=(old, new))) == []


def test_deleting_the_newest_brings_back_the_one_before() -> None:
    old = remark("x\n/use 400\n", at=100.0)
    sign_off = remark("As a PR reviewer and CODEOWNER, I", at=150.0, reactions=frozenset({"eyes"}))
    both = replace(BASE, remarks=(old, sign_off, remark("x\n/use 500", at=200.0)))
    one = replace(BASE, remarks=(old, sign_off))
    pins = [
        action.pin.run_id
        for given in (both, one)
        for action in decide(given, SERVICE).actions
        if isinstance(action, Verify) and action.pin
    ]
    assert pins == [500, 400]


def test_an_outsiders_newer_use_is_invisible_to_the_selection() -> None:
    sign_off = remark("As a PR reviewer and CODEOWNER, I", at=150.0)
    given = replace(BASE, remarks=(remark("x\n/use 500"), sign_off, remark("/use 400", "outsider", at=200.0)))
    verifies = [action for action in decide(given, SERVICE).actions if isinstance(action, Verify)]
    assert [action.pin and action.pin.run_id for action in verifies] == [500]


SOURCES: dict[str, tuple[PullState, str]] = {
    "label that cannot be compared": (with_label(BASE, "agentx-fast", at=55.0), "reuse-labels"),
    "no such run": (replace(BASE, runs=(), absent_runs=frozenset({500})), "reuse-no-run"),
    "other event": (replace(BASE, runs=(run(500, event="push"),)), "reuse-event"),
    "other workflow": (replace(BASE, runs=(run(500, path=".github/workflows/ci.yml"),)), "reuse-path"),
    "not completed": (replace(BASE, runs=(run(500, status="in_progress", conclusion=None),)), "reuse-not-completed"),
    "conclusion": (replace(BASE, runs=(run(500, conclusion="timed_out"),)), "reuse-conclusion"),
    "no head": (replace(BASE, runs=(run(500, head_sha=""),)), "reuse-no-head"),
    "rebased out": (replace(BASE, runs=(run(500, head_sha="e" * 40),)), "reuse-not-in-commits"),
    "no results": (replace(BASE, runs=(run(500, artifacts=(Artifact("server_logs_x"),)),)), "reuse-no-artifacts"),
    "expired results": (
        replace(BASE, runs=(run(500, artifacts=(Artifact("results_bmk", expired=True),)),)),
        "reuse-no-artifacts",
    ),
    "fork": (replace(BASE, head_repository="outsider/inference"), "reuse-fork"),
    "made under evals-only": (
        replace(
            with_label(BASE, "evals-only", at=52.0),
            labels=frozenset({FULL}),
        ),
        "reuse-run-labels",
    ),
}


@pytest.mark.parametrize(("given", "code"), SOURCES.values(), ids=SOURCES.keys())
def test_each_reason_against_a_source_has_its_own_message(given: PullState, code: str) -> None:
    decision = decide(replace(given, remarks=(remark("x\n/use 500"),)), SERVICE)
    assert not decision.needs
    assert code in [line.code for line in decision.lines] or any(
        line.code == "reuse-blocks" and line.values["reason"] == code for line in decision.lines
    )
    assert "react -1 to 100" in decided(replace(given, remarks=(remark("x\n/use 500"),)))


def test_no_success_with_results_is_said_with_the_number_of_commits() -> None:
    given = replace(BASE, runs=(run(400, conclusion="failure"),), remarks=(remark("/reuse-sweep-run"),))
    lines = [line for line in decide(given, SERVICE).lines if line.code == "reuse-none-found"]
    assert lines[0].values["commits"] == 2


def test_a_successful_no_op_is_passed_over_for_the_run_with_results() -> None:
    given = replace(BASE, runs=(run(501, artifacts=()), run(500)), remarks=(remark("/reuse-sweep-run"),))
    assert decided(given) == ["react +1 to 100"]
    assert decided(replace(given, remarks=(remark("/stage-results"),))) == ["react +1 to 100", "stage 500"]


def test_permission_look_up_that_failed_is_said_and_tried_again_never_no() -> None:
    given = replace(saying("/use 500"), permissions={}, permission_errors={"reviewer": "502"})
    decision = decide(given, SERVICE)
    assert [line.code for line in decision.lines] == ["permission-unreadable"]
    assert decision.retry
    assert "react -1 to 100" not in decided(given)


def test_a_permission_that_is_not_known_yet_is_asked_for() -> None:
    decision = decide(replace(saying("/use 500"), permissions={}), SERVICE)
    assert decision.needs.permissions == {"reviewer"}


def test_an_answered_question_is_not_answered_again() -> None:
    first = decide(saying("/use"), SERVICE)
    status = next(action for action in first.actions if isinstance(action, SetStatus))
    from app.decide.state import OwnComment

    shown = OwnComment("status", "", 900, dict(status.record))
    again = replace(saying("/use", reactions=frozenset({"-1"})), own=(shown,))
    assert decided(again) == []


def test_a_mended_comment_takes_its_answer_away() -> None:
    from app.decide.state import OwnComment

    status = next(action for action in decide(saying("/use"), SERVICE).actions if isinstance(action, SetStatus))
    shown = OwnComment("status", "", 900, dict(status.record))
    mended = replace(saying("x\n/use 500", reactions=frozenset({"-1"})), own=(shown,))
    assert decided(mended) == ["react +1 to 100 instead of -1", "status "]


def test_answers_are_few_and_the_newest() -> None:
    given = replace(BASE, remarks=tuple(remark("/use", at=100.0 + n) for n in range(9)))
    lines = decide(given, SERVICE).lines
    assert len(lines) == 3
    assert lines[0].values["url"].endswith("108")


def test_staging_is_not_offered_where_it_is_not_set_up() -> None:
    bare = SERVICE.model_copy(update={"staging": ACTIONS.staging.model_copy(update={"repository": ""})})
    assert decided(saying("/stage-results"), bare) == ["react -1 to 100", "status staging-not-set-up"]
    assert decided(saying("/use 500"), bare) == ["react +1 to 100"]


def test_reuse_accepts_a_run_that_our_bot_dispatched() -> None:
    from tests.decide.pull_states import dispatched

    base = with_label(state(), FULL)
    given = replace(base, runs=(dispatched(base, sha=OLD, executed=True),), remarks=(remark("x\n/use 500", at=200.0),))
    assert decided(given) == ["react +1 to 200"]


def test_a_source_that_measured_something_else_is_said() -> None:
    from app.decide.state import Measurement

    given = replace(
        saying("x\n/use 500", at=200.0),
        runs=(run(500, head_sha=OLD),),
        measurements={OLD: Measurement(False, ("benchmarks/x.yaml",))},
    )
    assert Line("reuse-not-covering", {"run": 500, "files": ["benchmarks/x.yaml"]}) in decide(given, SERVICE).lines
    assert HEAD != OLD
