"""Purpose: carry out the orders of the state machine: prepare, submit, watch, cancel, collect, and write the record.

Invariants: one loop feeds the machine one event for each order; a signal is noted by its handler and fed between two
orders; whatever happens, a job that may exist is cancelled and job_event.json is written. A launch that finds its own
finished record in `out` submits nothing (idempotent re-run).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.launch import event as record
from app.launch.errors import LaunchError
from app.launch.event import Record
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
from app.launch.prepare import RESULTS, Options, Ready, prepare, read_policy_file
from app.launch.row import LaunchRow, read_row
from app.launch.schedulers import Follower, Slurm
from app.launch.stage import EVALS, disk_error, stage
from app.launch.workspace import claim, runner_lock

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CLEANUP = "The jobs that this runner left behind could not be ended."


def say(text: str) -> None:
    print(f"sweepgate: {text}", file=sys.stderr, flush=True)


@dataclass
class Signals:
    """The first signal that came, and a flag that waits can wake on."""

    number: int = 0
    woken: threading.Event = field(default_factory=threading.Event)

    def note(self, number: int, _frame: object) -> None:
        self.number = self.number or number
        self.woken.set()

    @contextmanager
    def caught(self) -> Iterator[Signals]:
        """Handlers for INT, TERM and HUP, put back afterwards. Only the main thread may set them."""
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        before = {number: signal.signal(number, self.note) for number in SIGNALS}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@dataclass
class Driver:
    """One launch. `perform` turns an order into the event that answers it."""

    options: Options
    signals: Signals
    stack: ExitStack
    facts: Record = field(default_factory=Record)
    ready: Ready | None = None
    row: LaunchRow | None = None
    job_id: int | None = None
    follower: Follower = field(default_factory=lambda: Follower(sys.stdout))

    def run(self) -> Launch:
        """Drive the machine to its end. Never raises; an error of ours is error type `internal`."""
        state, order = begin(Deadlines(60, 60, 60, 60), time.monotonic())
        while order is not Order.FINISH:
            event = self._performed(order, state)
            if isinstance(event, Prepared):
                state = self._with_deadlines(state)
            state, order = step(state, event)
            if self.signals.number and not state.signal and state.stage is not Stage.DONE:
                say(f"signal {self.signals.number}; ending in order")
                state, order = step(state, Interrupted(time.monotonic(), self.signals.number))
        return state

    def _performed(self, order: Order, state: Launch) -> Event:
        try:
            return self._perform(order, state)
        except LaunchError as error:
            failure: LaunchError = error
        except OSError as error:
            failure = disk_error(error)
        except Exception as error:  # the record must be written and the job cancelled whatever breaks
            failure = LaunchError("internal", f"{type(error).__name__}: {error}.", "Report it with this log.")
        now = time.monotonic()
        if order is Order.CANCEL:
            return Cancelled(now, gone=False)
        return Collected(now, failure) if order is Order.COLLECT else Failed(now, failure)

    def _perform(self, order: Order, state: Launch) -> Event:
        if order is Order.PREPARE:
            return self._prepare()
        assert self.ready is not None  # noqa: S101  (every later order follows Prepared)
        if order is Order.SUBMIT:
            self.job_id = self.ready.scheduler.submit(self.ready.job)
            say(f"submitted job {self.job_id} ({self.ready.scheduler.name})")
            return Submitted(time.monotonic(), self.job_id)
        if order is Order.WATCH:
            return self._watch(self.ready, self.job_id or 0)
        if order is Order.CANCEL:
            return self._cancel(self.ready)
        return self._collect(self.ready, state)

    def _prepare(self) -> Event:
        options = self.options
        self.row = row = read_row(options.row_file.read_text(errors="replace"), options.row_file.name)
        self.facts.facts |= _facts_of(row)
        self.stack.enter_context(runner_lock(options.state, options.runner))
        claim(options.work)
        self.ready = ready = prepare(row, read_policy_file(options.policy_file), options)
        self.facts.facts |= _facts_of_ready(ready)
        if isinstance(ready.scheduler, Slurm) and not ready.scheduler.cancel(None):
            raise LaunchError("runner-busy", CLEANUP, "Look at them with squeue, then run the job again.")
        shown = ready.recipe.variant or ready.recipe.name
        say(f"{row.result_name}: {ready.recipe.path} ({shown}) on {ready.cluster.name} by {ready.site.submit}")
        if ready.acceptance is not None:
            say(f"acceptance {ready.acceptance.value} of curve {ready.acceptance.curve} injected")
            for name, value in ready.acceptance.settings.items():
                say(f"injected {name}={value}")
        return Prepared(time.monotonic())

    def _with_deadlines(self, state: Launch) -> Launch:
        assert self.ready is not None and self.row is not None  # noqa: S101
        limits = self.ready.site.limits
        minutes = self.ready.site.run_minutes(self.row.multinode, self.row.agentic)
        deadlines = Deadlines(limits.queue_minutes * 60, minutes * 60, limits.log_minutes * 60, limits.unknown_seconds)
        return Launch(**{**state.__dict__, "deadlines": deadlines})

    def _watch(self, ready: Ready, job_id: int) -> Event:
        self.signals.woken.wait(ready.site.limits.poll_seconds)
        view = ready.scheduler.view(job_id)
        seen = self.follower.poll(ready.scheduler.log_of(ready.job, job_id, view))
        return Observed(time.monotonic(), view, seen)

    def _cancel(self, ready: Ready) -> Event:
        gone = ready.scheduler.cancel(self.job_id)
        shown = f"job {self.job_id}" if self.job_id else "the jobs of this runner"
        say(f"{shown} cancelled" if gone else f"{shown} could not be ended; the next launch on this runner tries again")
        self.facts.facts["cancelled"] = gone
        return Cancelled(time.monotonic(), gone)

    def _collect(self, ready: Ready, state: Launch) -> Event:
        self.follower.finish()
        logs = [] if self.follower.path is None else [self.follower.path]
        self.facts.results = stage(ready, logs, self.options.out, judge=state.error is None)
        return Collected(time.monotonic())


def _facts_known_before(options: Options) -> dict[str, Any]:
    return {
        "runner": options.runner,
        "run_id": options.run_id,
        "run_attempt": options.attempt,
        "sha": options.sha,
    }


def _facts_of(row: LaunchRow) -> dict[str, Any]:
    return {
        "name": row.result_name,
        "row_digest": row.digest,
        "kind": row.kind,
        "hw": row.hardware,
        "conc": list(row.concurrencies),
        "exp_name": row.text("exp-name"),
        "config_key": row.text("config-key"),
    }


def _facts_of_ready(ready: Ready) -> dict[str, Any]:
    return {
        "sha": ready.sha,
        "cluster": ready.cluster.name,
        "scheduler": ready.scheduler.name,
        "recipe": {"path": ready.recipe.path, "variant": ready.recipe.variant},
        "acceptance": ready.acceptance.record() if ready.acceptance else None,
    }


def _digests(folder: Path, names: list[str]) -> dict[str, str]:
    found = {}
    for name in names:
        path = folder / name
        found[name] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    return found


def finished_before(folder: Path, row_digest: str, sha: str, run_id: str) -> Mapping[str, Any] | None:
    """The record of an earlier successful launch of the same row, commit and run whose files are still whole."""
    value = record.read(folder)
    if value is None or value.get("outcome") != "success":
        return None
    same = (value.get("row_digest"), value.get("run_id")) == (row_digest, run_id) and (
        not sha or value.get("sha") == sha
    )
    whole = _digests(folder, list(value.get("results", []))) == value.get("result_sha256")
    return value if same and whole else None


def _reuse(options: Options) -> Mapping[str, Any] | None:
    """An earlier finish of this very job: in `out`, or in the folder of kept results (then copied to `out`)."""
    try:
        row = read_row(options.row_file.read_text(errors="replace"))
    except (LaunchError, OSError):
        return None
    kept = None if options.keep is None else options.keep / f"{options.run_id or 'local'}-{row.digest[:16]}"
    for folder in (options.out, kept):
        if folder is None:
            continue
        found = finished_before(folder, row.digest, options.sha, options.run_id)
        if found is not None:
            if folder != options.out:
                shutil.copytree(folder, options.out, dirs_exist_ok=True)
            return found
    return None


def launch(options: Options) -> int:
    """Run one row to its end; the exit code: 0 fine, 1 failed, 128+n stopped by signal n.

    Raises LaunchError `bad-folder` where `out` holds files that a launch did not make.
    """
    found = _reuse(options)
    if found is not None:
        say(f"{found['name']}: already finished in attempt {found['run_attempt']}; nothing is submitted")
        _tell_workflow(options.out)
        return 0
    claim(options.out)
    record.reserve(options.out)
    signals = Signals()
    with signals.caught(), ExitStack() as stack:
        driver = Driver(options, signals, stack, Record(_facts_known_before(options)))
        state = driver.run()
        return _finish(driver, state)


def _finish(driver: Driver, state: Launch) -> int:
    options = driver.options
    driver.facts.facts["result_sha256"] = _digests(options.out, driver.facts.results)
    value = record.event(driver.facts, state, time.monotonic())
    written = record.write(options.out, value)
    if state.error is not None:
        say(f"{value['error']['stage']}: {state.error.kind}: {state.error}")
    if not written:
        say("disk-full: job_event.json could not be written; the next line holds it. Free space on this runner.")
    print(record.one_line(value), flush=True)
    _tell_workflow(options.out)
    if state.outcome == "success" and options.keep is not None and driver.row is not None:
        target = options.keep / f"{options.run_id or 'local'}-{driver.row.digest[:16]}"
        shutil.copytree(options.out, target, dirs_exist_ok=True)
    return state.exit_code


def _tell_workflow(out: Path) -> None:
    """Step outputs for the uploads: are there result rows, are there eval results?"""
    target = os.environ.get("GITHUB_OUTPUT")
    if not target:
        return
    there = {
        "rows": any((out / RESULTS).glob("*.json")),
        "evals": any(path.name.startswith("results") for path in (out / EVALS).rglob("*.json")),
    }
    with Path(target).open("a") as file:
        file.writelines(f"{name}={str(value).lower()}\n" for name, value in there.items())


def note_upload_failure(out: Path, artifact: str) -> int:
    """Turn the record in `out` into a failure of the collect stage, because an artifact was not stored. Returns 1."""
    value = dict(record.read(out) or {"schema": 1, "stages": [], "results": []})
    error = LaunchError("upload-failed", f"Artifact {artifact} was not stored.", "Run the failed jobs again.")
    if value.get("error") is None:
        value |= {"outcome": "failure", "exit_code": 1, "error": record.error_of(error, Stage.COLLECT)}
    record.write(out, value)
    say(f"collect: {error.kind}: {error}")
    print(record.one_line(value), flush=True)
    return 1
