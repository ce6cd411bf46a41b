"""Purpose: the thin edge to whatever runs a job: Slurm (by sbatch or srtctl), or this machine itself.

Every program is started with an argument vector, a timeout and its own session, so that a signal meant for the
launcher does not tear a half-made submission apart. What programs print is read by the pure `slurm_text`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from app.launch import slurm_text
from app.launch.errors import LaunchError
from app.launch.slurm_text import JobState, JobView

SUBMIT_SECONDS = 120
ASK_SECONDS = 30
SAID = 300


@dataclass(frozen=True, slots=True)
class Job:
    """What is submitted: files in `folder`, the name, minutes allowed, nodes, and extra arguments for sbatch.

    `environment` is given to the submitting program; Slurm hands it on to the job.
    """

    folder: Path
    script: Path
    recipe: Path
    name: str
    minutes: float
    nodes: int
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


class Scheduler(Protocol):
    """The four things that the launcher asks of a scheduler."""

    name: str

    def submit(self, job: Job) -> int: ...

    def view(self, job_id: int) -> JobView: ...

    def cancel(self, job_id: int | None) -> bool: ...

    def log_of(self, job: Job, job_id: int, view: JobView) -> Path: ...


@dataclass(frozen=True, slots=True)
class Said:
    """Exit code and output of one program."""

    code: int
    output: str
    complaint: str


def ask(command: Sequence[str], seconds: float, environment: Mapping[str, str] | None = None) -> Said:
    """Run a program to its end. Raises FileNotFoundError and subprocess.TimeoutExpired."""
    # A job must not find the launcher's own Python environment.
    inherited = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        env={**inherited, **(environment or {})},
    )
    return Said(done.returncode, done.stdout, done.stderr.strip())


@dataclass
class Slurm:
    """Slurm through its own programs. `names` are the job names of this runner; `submitter` makes the command.

    `cancel_seconds` is how long a cancelled job may take to leave the queue.
    """

    names: tuple[str, ...]
    submitter: Callable[[Job], Sequence[str]]
    cancel_seconds: float
    poll_seconds: float
    name: str = "slurm"
    ask: Callable[..., Said] = ask

    def submit(self, job: Job) -> int:
        command = self.submitter(job)
        try:
            said = self.ask(command, SUBMIT_SECONDS, job.environment)
        except FileNotFoundError:
            message = f"{command[0]} is not on this runner's PATH."
            raise LaunchError("no-scheduler", message, "Install it, or set `submit` in the launch policy.") from None
        except subprocess.TimeoutExpired:
            message = f"{command[0]} gave no answer within {SUBMIT_SECONDS} s."
            raise LaunchError("submit-timeout", message, "Ask whether the Slurm controller is up.") from None
        if said.code != 0:
            why = (said.complaint or said.output).strip()[-SAID:] or f"exit code {said.code}"
            raise LaunchError("slurm-refused", f"{command[0]} refused the job: {why}.", "Correct what it names.")
        job_id = slurm_text.job_id_of(said.output)
        if job_id is None:
            message = f"{command[0]} named no job id. It said: {said.output.strip()[:SAID] or 'nothing'}."
            raise LaunchError("no-job-id", message, "See whether its output format changed.")
        return job_id

    def _look(self, *command: str) -> str:
        """Standard output of a query, "" where the program is missing, slow or refuses."""
        try:
            said = self.ask(command, ASK_SECONDS)
        except (FileNotFoundError, subprocess.TimeoutExpired):
            return ""
        return said.output if said.code == 0 else ""

    def view(self, job_id: int) -> JobView:
        view = slurm_text.read_scontrol(self._look("scontrol", "show", "job", str(job_id), "--oneliner"))
        if view.state is not JobState.UNKNOWN:
            return view
        return slurm_text.read_sacct(self._look("sacct", "-X", "-n", "-P", "-o", "State,ExitCode", "-j", str(job_id)))

    def _live_of_this_runner(self) -> list[int] | None:
        """Ids of live jobs under this runner's names; None where Slurm gives no answer."""
        names = f"--name={','.join(self.names)}"
        try:
            said = self.ask(("squeue", "--noheader", "--me", "--format=%i %T", names), ASK_SECONDS)
        except (FileNotFoundError, subprocess.TimeoutExpired):
            return None
        return sorted(slurm_text.read_squeue(said.output)) if said.code == 0 else None

    def _live(self, job_id: int) -> list[int] | None:
        """The job while it may hold nodes (also while completing), [] once it has left, None without an answer."""
        try:
            said = self.ask(("scontrol", "show", "job", str(job_id), "--oneliner"), ASK_SECONDS)
        except (FileNotFoundError, subprocess.TimeoutExpired):
            return None
        if said.code != 0:
            return [] if "invalid job id" in said.complaint.lower() else None
        return [job_id] if slurm_text.read_scontrol(said.output).state.live else []

    def cancel(self, job_id: int | None) -> bool:
        """Cancel one job, or with None every job of this runner, and wait until it has left the queue.

        False where it is still there, or Slurm gave no answer, when the time is over.
        """
        begun = time.monotonic()
        while True:
            live = self._live_of_this_runner() if job_id is None else self._live(job_id)
            if live == []:
                return True
            spent = time.monotonic() - begun
            if spent > self.cancel_seconds:
                return False
            force = ["--signal=KILL"] if spent > self.cancel_seconds / 2 else []
            known = [] if job_id is None else [job_id]
            if chosen := live or known:
                self._look("scancel", *force, *map(str, chosen))
            time.sleep(min(self.poll_seconds, 1))

    def log_of(self, job: Job, job_id: int, view: JobView) -> Path:
        return Path(view.log) if view.log else job.folder / f"slurm-{job_id}.log"


def sbatch(job: Job) -> list[str]:
    """The sbatch command of a job."""
    return [
        "sbatch",
        "--parsable",
        f"--job-name={job.name}",
        f"--nodes={job.nodes}",
        f"--time={max(1, int(job.minutes))}",
        f"--chdir={job.folder}",
        f"--output={job.folder}/slurm-%j.log",
        "--no-requeue",
        *job.arguments,
        str(job.script),
    ]


def srtctl(command: Sequence[str]) -> Callable[[Job], list[str]]:
    """The command of `srtctl apply`, from the policy's pattern."""
    return lambda job: [part.format(recipe=job.recipe, name=job.name, folder=job.folder) for part in command]


@dataclass
class Local:
    """This machine: the script runs as a child in its own process group; its pid stands for the job id."""

    cancel_seconds: float
    name: str = "local"
    _children: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    def submit(self, job: Job) -> int:
        with self._log(job).open("wb") as output:
            child = subprocess.Popen(
                ["bash", str(job.script)],
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                cwd=job.folder,
            )
        self._children[child.pid] = child
        return child.pid

    def view(self, job_id: int) -> JobView:
        child = self._children.get(job_id)
        if child is None:
            return slurm_text.UNKNOWN
        code = child.poll()
        if code is None:
            return JobView(JobState.RUNNING)
        return JobView(JobState.COMPLETED if code == 0 else JobState.FAILED, "", code)

    def cancel(self, job_id: int | None) -> bool:
        """End the process groups: SIGTERM, and SIGKILL once the time is over."""
        chosen = list(self._children.values()) if job_id is None else [self._children[job_id]]
        for child in chosen:
            _signal_group(child.pid, signal.SIGTERM)
        for child in chosen:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=self.cancel_seconds)
            _signal_group(child.pid, signal.SIGKILL)
            child.wait()
        return True

    @staticmethod
    def _log(job: Job) -> Path:
        return job.folder / "job.log"

    def log_of(self, job: Job, job_id: int, view: JobView) -> Path:  # noqa: ARG002  (the form of all schedulers)
        return self._log(job)


def _signal_group(pid: int, number: signal.Signals) -> None:
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return


@dataclass
class Follower:
    """Copies new text of a growing log to a stream, whole lines only, until `finish`."""

    stream: IO[str]
    path: Path | None = None
    offset: int = 0
    rest: bytes = b""

    def poll(self, path: Path) -> bool:
        """Copy what is new; True once the log has any content."""
        self.path = path
        try:
            with path.open("rb") as log:
                log.seek(self.offset)
                new = log.read()
        except OSError:
            return self.offset > 0
        self.offset += len(new)
        *lines, self.rest = (self.rest + new).split(b"\n")
        for line in lines:
            print(line.decode(errors="replace"), file=self.stream, flush=True)
        return self.offset > 0

    def finish(self) -> None:
        """Copy the rest, also a last line without its end."""
        if self.path is not None:
            self.poll(self.path)
        if self.rest:
            print(self.rest.decode(errors="replace"), file=self.stream, flush=True)
            self.rest = b""
