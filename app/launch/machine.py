"""Purpose: the life of one launch as a pure state machine; `drive` performs its orders and feeds back what happened.

    prepare -> submit -> queue_wait -> run -> collect -> done
        any stage -- failure or signal --> [cancel the job, collect its logs] --> done

Invariants:
- A job that may exist is cancelled before the machine is done, unless its end was seen: no orphan.
- The first error is kept; a later one (a failed cancel, a missing log) never hides it.
- The driver gives the answer to an order first and a signal that came meanwhile after it, so that a signal during the
  submission finds the job's id. Without an id the cancel order goes by the job's name.
- Times are seconds of one monotonic clock, given with each event; the machine has no clock of its own.
Accepted race: a job that ends in the second in which a signal arrives counts as cancelled.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum

from app.launch.errors import LaunchError
from app.launch.slurm_text import JobState, JobView


class Stage(Enum):
    """Stages in the order of job_event.json (workflows.md 8)."""

    PREPARE = "prepare"
    SUBMIT = "submit"
    QUEUE_WAIT = "queue_wait"
    RUN = "run"
    COLLECT = "collect"
    DONE = "done"


class Order(Enum):
    """What the driver does next."""

    PREPARE = "prepare"
    SUBMIT = "submit"
    WATCH = "watch"
    CANCEL = "cancel"
    COLLECT = "collect"
    FINISH = "finish"


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds: until the job starts, from its start to its end, to its first log line, and without any answer."""

    queue: float
    run: float
    log: float
    unknown: float


@dataclass(frozen=True, slots=True)
class Prepared:
    now: float


@dataclass(frozen=True, slots=True)
class Submitted:
    now: float
    job_id: int


@dataclass(frozen=True, slots=True)
class Observed:
    """One look at the job: its state, and whether its log has a line."""

    now: float
    view: JobView
    log_seen: bool


@dataclass(frozen=True, slots=True)
class Failed:
    now: float
    error: LaunchError


@dataclass(frozen=True, slots=True)
class Interrupted:
    now: float
    signal: int


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The cancel order is carried out; `gone` says whether the job is known to have left the queue."""

    now: float
    gone: bool


@dataclass(frozen=True, slots=True)
class Collected:
    """Logs and results are staged. With `error` they are not valid."""

    now: float
    error: LaunchError | None = None


Event = Prepared | Submitted | Observed | Failed | Interrupted | Cancelled | Collected


@dataclass(frozen=True)
class Launch:
    """The state. `entered` is when each stage began; `last_known` when Slurm last knew the job."""

    deadlines: Deadlines
    stage: Stage = Stage.PREPARE
    job_id: int | None = None
    may_have_job: bool = False
    ended: bool = False
    log_seen: bool = False
    last_known: float = 0.0
    signal: int = 0
    error: LaunchError | None = None
    error_stage: Stage | None = None
    entered: tuple[tuple[Stage, float], ...] = field(default_factory=tuple)

    @property
    def exit_code(self) -> int:
        """0 fine, 1 a failure, 128+n a signal."""
        if self.signal:
            return 128 + self.signal
        return 1 if self.error else 0

    @property
    def outcome(self) -> str:
        return "cancelled" if self.signal else "failure" if self.error else "success"


def begin(deadlines: Deadlines, now: float) -> tuple[Launch, Order]:
    """The first state and order."""
    return Launch(deadlines, entered=((Stage.PREPARE, now),)), Order.PREPARE


def step(state: Launch, event: Event) -> tuple[Launch, Order]:
    """The next state and order. Never raises for an event that comes late: it is then without effect."""
    if state.stage is Stage.DONE:
        return state, Order.FINISH
    if isinstance(event, Interrupted):
        return _interrupted(state, event)
    if isinstance(event, Failed):
        return _stop(_blamed(state, event.error), event.now)
    if isinstance(event, Prepared):
        return replace(_enter(state, Stage.SUBMIT, event.now), may_have_job=True), Order.SUBMIT
    if isinstance(event, Submitted):
        taken = replace(state, job_id=event.job_id, last_known=event.now)
        return _enter(taken, Stage.QUEUE_WAIT, event.now), Order.WATCH
    if isinstance(event, Observed):
        return _observed(state, event)
    if isinstance(event, Cancelled):
        return _enter(replace(state, ended=True), Stage.COLLECT, event.now), Order.COLLECT
    blamed = state if event.error is None else _blamed(state, event.error)
    return _enter(blamed, Stage.DONE, event.now), Order.FINISH


def _enter(state: Launch, stage: Stage, now: float) -> Launch:
    if state.stage is stage:
        return state
    return replace(state, stage=stage, entered=(*state.entered, (stage, now)))


def _blamed(state: Launch, error: LaunchError) -> Launch:
    if state.error is not None:
        return state
    return replace(state, error=error, error_stage=state.stage)


def _stop(state: Launch, now: float) -> tuple[Launch, Order]:
    """End after a failure: cancel what may exist, collect logs of a job that ran, else finish."""
    if state.may_have_job and not state.ended:
        return state, Order.CANCEL
    if state.stage in (Stage.QUEUE_WAIT, Stage.RUN):
        return _enter(state, Stage.COLLECT, now), Order.COLLECT
    return _enter(state, Stage.DONE, now), Order.FINISH


def _interrupted(state: Launch, event: Interrupted) -> tuple[Launch, Order]:
    error = LaunchError("signal", f"The launch was stopped by signal {event.signal}.", "Run the job again.")
    marked = _blamed(replace(state, signal=state.signal or event.signal), error)
    if marked.stage is Stage.COLLECT:
        return marked, Order.COLLECT
    return _stop(marked, event.now)


_ENDS = {
    JobState.FAILED: ("job-failed", "The Slurm job failed", "Read the end of its log."),
    JobState.CANCELLED: ("job-failed", "Someone cancelled the Slurm job", "Ask the operator, then run the job again."),
    JobState.TIMEOUT: ("time-limit", "The Slurm job ran into its time limit", "See what it waited for in its log."),
    JobState.NODE_FAIL: ("node-failed", "A node of the Slurm job failed", "Run the job again on other nodes."),
    JobState.OUT_OF_MEMORY: ("out-of-memory", "The Slurm job ran out of memory", "Lower the recipe's memory settings."),
    JobState.PREEMPTED: ("preempted", "The Slurm job was preempted", "Run the job again."),
}


def _ended(state: Launch, view: JobView, now: float) -> tuple[Launch, Order]:
    done = replace(state, ended=True)
    if view.state is not JobState.COMPLETED:
        kind, message, next_step = _ENDS[view.state]
        code = f", exit code {view.exit_code}" if view.exit_code else ""
        reason = f" ({view.reason}{code})" if view.reason else f" (no reason given{code})"
        done = _blamed(done, LaunchError(kind, f"{message}{reason}.", next_step))
    return _enter(done, Stage.COLLECT, now), Order.COLLECT


def _observed(state: Launch, event: Observed) -> tuple[Launch, Order]:
    if state.stage not in (Stage.QUEUE_WAIT, Stage.RUN):
        return state, Order.WATCH
    seen = replace(state, log_seen=state.log_seen or event.log_seen)
    if event.view.state is not JobState.UNKNOWN:
        seen = replace(seen, last_known=event.now)
    if event.view.state is JobState.RUNNING and seen.stage is Stage.QUEUE_WAIT:
        seen = _enter(seen, Stage.RUN, event.now)
    if event.view.state.terminal:
        if seen.stage is Stage.QUEUE_WAIT:
            seen = _enter(seen, Stage.RUN, event.now)
        return _ended(seen, event.view, event.now)
    overdue = next(iter(_overdue(seen, event)), None)
    if overdue is not None:
        return _stop(_blamed(seen, overdue), event.now)
    return seen, Order.WATCH


def _overdue(state: Launch, event: Observed) -> Iterable[LaunchError]:
    """Limits that this observation breaks, most telling first."""
    limits = state.deadlines
    silent = event.now - state.last_known
    if event.view.state is JobState.UNKNOWN and silent > limits.unknown:
        message = f"Slurm has not known job {state.job_id} for {silent:.0f} s."
        yield LaunchError("job-vanished", message, "Ask the operator what ended it, then run the job again.")
    since = event.now - dict(state.entered)[state.stage]
    if state.stage is Stage.QUEUE_WAIT and since > limits.queue:
        why = event.view.reason or "no reason given"
        message = f"Job {state.job_id} did not start within {limits.queue / 60:g} min (Slurm says: {why})."
        yield LaunchError("queue-timeout", message, "Look for drained or fragmented nodes.")
    if state.stage is Stage.RUN and not state.log_seen and since > limits.log:
        message = f"Job {state.job_id} runs, but its log did not appear within {limits.log / 60:g} min."
        yield LaunchError("log-missing", message, "See whether the node sees the shared folder, then run it again.")
    if state.stage is Stage.RUN and since > limits.run:
        message = f"Job {state.job_id} did not end within {limits.run / 60:g} min."
        yield LaunchError("run-timeout", message, "See what it waited for in its log.")
