"""The life of a launch: every stage, every failure, every signal."""

from __future__ import annotations

import pytest

from app.launch.errors import LaunchError
from app.launch.machine import (
    Cancelled,
    Collected,
    Deadlines,
    Event,
    Failed,
    Interrupted,
    Launch,
    Observed,
    Order,
    Prepared,
    Stage,
    Submitted,
    begin,
    step,
)
from app.launch.slurm_text import JobState, JobView

LIMITS = Deadlines(queue=100, run=200, log=50, unknown=30)
REFUSED = LaunchError("slurm-refused", "sbatch refused the job.", "Correct it.")


def seen(now: float, state: JobState, log: bool = True, reason: str = "") -> Observed:
    return Observed(now, JobView(state, reason), log)


def play(*events: Event) -> tuple[Launch, list[Order]]:
    state, order = begin(LIMITS, 0.0)
    orders = [order]
    for event in events:
        state, order = step(state, event)
        orders.append(order)
    return state, orders


P, S, W, C, K, F = Order.PREPARE, Order.SUBMIT, Order.WATCH, Order.COLLECT, Order.CANCEL, Order.FINISH
STARTED = (Prepared(1), Submitted(2, 77))


@pytest.mark.parametrize(
    ("events", "orders", "outcome", "error", "blamed"),
    [
        pytest.param(
            (
                *STARTED,
                seen(3, JobState.PENDING, False),
                seen(4, JobState.RUNNING),
                seen(9, JobState.COMPLETED),
                Collected(10),
            ),
            [P, S, W, W, W, C, F],
            "success",
            None,
            None,
            id="a job that runs and ends well",
        ),
        pytest.param(
            (*STARTED, seen(3, JobState.COMPLETED), Collected(4)),
            [P, S, W, C, F],
            "success",
            None,
            None,
            id="a job so short that it was never seen running",
        ),
        pytest.param(
            (Failed(1, REFUSED),),
            [P, F],
            "failure",
            "slurm-refused",
            Stage.PREPARE,
            id="refused before anything was submitted",
        ),
        pytest.param(
            (Prepared(1), Failed(2, REFUSED), Cancelled(3, True), Collected(4)),
            [P, S, K, C, F],
            "failure",
            "slurm-refused",
            Stage.SUBMIT,
            id="a refused submission is cancelled by name all the same",
        ),
        pytest.param(
            (*STARTED, seen(3, JobState.RUNNING), seen(9, JobState.FAILED), Collected(10)),
            [P, S, W, W, C, F],
            "failure",
            "job-failed",
            Stage.RUN,
            id="a failed job still leaves its logs",
        ),
        pytest.param(
            (*STARTED, seen(3, JobState.RUNNING), seen(9, JobState.OUT_OF_MEMORY), Collected(10)),
            [P, S, W, W, C, F],
            "failure",
            "out-of-memory",
            Stage.RUN,
            id="out of memory is told apart",
        ),
        pytest.param(
            (*STARTED, seen(3, JobState.RUNNING), seen(9, JobState.TIMEOUT), Collected(10)),
            [P, S, W, W, C, F],
            "failure",
            "time-limit",
            Stage.RUN,
            id="Slurm's own time limit",
        ),
        pytest.param(
            (*STARTED, seen(3, JobState.RUNNING), seen(9, JobState.NODE_FAIL), Collected(10)),
            [P, S, W, W, C, F],
            "failure",
            "node-failed",
            Stage.RUN,
            id="a node that fails",
        ),
        pytest.param(
            (
                *STARTED,
                seen(3, JobState.PENDING, False),
                seen(103, JobState.PENDING, False, "Resources"),
                Cancelled(104, True),
                Collected(105),
            ),
            [P, S, W, W, K, C, F],
            "failure",
            "queue-timeout",
            Stage.QUEUE_WAIT,
            id="a job that never starts is cancelled",
        ),
        pytest.param(
            (
                *STARTED,
                seen(3, JobState.RUNNING, False),
                seen(54, JobState.RUNNING, False),
                Cancelled(55, True),
                Collected(56),
            ),
            [P, S, W, W, K, C, F],
            "failure",
            "log-missing",
            Stage.RUN,
            id="a log that never appears",
        ),
        pytest.param(
            (*STARTED, seen(3, JobState.RUNNING), seen(204, JobState.RUNNING), Cancelled(205, True), Collected(206)),
            [P, S, W, W, K, C, F],
            "failure",
            "run-timeout",
            Stage.RUN,
            id="a job that does not end",
        ),
        pytest.param(
            (
                *STARTED,
                seen(3, JobState.RUNNING),
                seen(20, JobState.UNKNOWN),
                seen(25, JobState.RUNNING),
                seen(30, JobState.COMPLETED),
                Collected(31),
            ),
            [P, S, W, W, W, W, C, F],
            "success",
            None,
            None,
            id="a short silence of Slurm is forgiven",
        ),
        pytest.param(
            (
                *STARTED,
                seen(3, JobState.RUNNING),
                seen(20, JobState.UNKNOWN),
                seen(40, JobState.UNKNOWN),
                Cancelled(41, True),
                Collected(42),
            ),
            [P, S, W, W, W, K, C, F],
            "failure",
            "job-vanished",
            Stage.RUN,
            id="a job that vanishes",
        ),
        pytest.param(
            (
                *STARTED,
                seen(3, JobState.RUNNING),
                seen(9, JobState.COMPLETED),
                Collected(10, LaunchError("error-rate", "a", "b")),
            ),
            [P, S, W, W, C, F],
            "failure",
            "error-rate",
            Stage.COLLECT,
            id="a broken gate",
        ),
        pytest.param(
            (*STARTED, seen(3, JobState.FAILED), Collected(4, LaunchError("disk-full", "a", "b"))),
            [P, S, W, C, F],
            "failure",
            "job-failed",
            Stage.RUN,
            id="the first error is kept when collecting fails, too",
        ),
    ],
)
def test_lives(
    events: tuple[Event, ...], orders: list[Order], outcome: str, error: str | None, blamed: Stage | None
) -> None:
    state, given = play(*events)
    assert given == orders
    assert state.outcome == outcome
    assert (state.error.kind if state.error else None) == error
    assert state.error_stage is blamed


@pytest.mark.parametrize(
    ("before", "orders"),
    [
        pytest.param((), [P, F], id="while preparing: nothing to cancel"),
        pytest.param((Prepared(1),), [P, S, K, C, F], id="before the submission was made: cancel by name"),
        pytest.param(STARTED, [P, S, W, K, C, F], id="while queued"),
        pytest.param((*STARTED, seen(3, JobState.RUNNING)), [P, S, W, W, K, C, F], id="while running"),
        pytest.param(
            (*STARTED, seen(3, JobState.COMPLETED)), [P, S, W, C, C, F], id="while collecting: the job has ended"
        ),
    ],
)
def test_a_signal_in_each_stage_ends_the_job_and_keeps_its_number(
    before: tuple[Event, ...], orders: list[Order]
) -> None:
    state, given = play(*before, Interrupted(50, 15))
    tail: list[Event] = []
    if given[-1] is K:
        tail = [Cancelled(51, True), Collected(52)]
    elif given[-1] is C:
        tail = [Collected(52)]
    for event in tail:
        state, order = step(state, event)
        given.append(order)
    assert given == orders
    assert (state.outcome, state.exit_code) == ("cancelled", 143)
    assert state.error is not None
    assert state.error.kind == "signal"


def test_a_second_signal_changes_nothing() -> None:
    state, _ = play(*STARTED, Interrupted(5, 2), Interrupted(6, 15))
    assert state.exit_code == 130


def test_stages_are_entered_in_order_and_once() -> None:
    state, _ = play(
        *STARTED, seen(3, JobState.RUNNING), seen(4, JobState.RUNNING), seen(9, JobState.COMPLETED), Collected(10)
    )
    assert [stage.value for stage, _ in state.entered] == ["prepare", "submit", "queue_wait", "run", "collect", "done"]
    assert [time for _, time in state.entered] == [0, 1, 2, 3, 9, 10]


def test_no_end_is_reached_with_a_job_that_may_live() -> None:
    """From every live stage every failing event leads through the cancel order before the end."""
    for before in ((Prepared(1),), STARTED, (*STARTED, seen(3, JobState.RUNNING))):
        for bad in (Failed(9, REFUSED), Interrupted(9, 1)):
            _, orders = play(*before, bad)
            assert orders[-1] is K
