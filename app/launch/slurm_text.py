"""Purpose: read what Slurm's programs print: job ids, states and reasons. Pure; the programs run in `schedulers`.

Sources of a state, best first: `scontrol show job` (controller memory, minutes after the end), `sacct` (accounting),
`squeue` (live jobs only). A state that none of them knows is UNKNOWN, never a guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

_SUBMITTED = (
    re.compile(r"Submitted batch job (\d+)"),
    re.compile(r"\bjob[ _]?id[\"']?\s*[:=]\s*[\"']?(\d+)", re.IGNORECASE),
    re.compile(r"\A\s*(\d+)(?:;\S+)?\s*\Z"),
)


class JobState(Enum):
    """What a Slurm job does, folded to what the launcher decides on."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    NODE_FAIL = "node-fail"
    OUT_OF_MEMORY = "out-of-memory"
    PREEMPTED = "preempted"
    UNKNOWN = "unknown"

    @property
    def live(self) -> bool:
        return self in (JobState.PENDING, JobState.RUNNING)

    @property
    def terminal(self) -> bool:
        return not self.live and self is not JobState.UNKNOWN


_STATES = {
    "PENDING": JobState.PENDING,
    "CONFIGURING": JobState.PENDING,
    "REQUEUED": JobState.PENDING,
    "REQUEUE_HOLD": JobState.PENDING,
    "REQUEUE_FED": JobState.PENDING,
    "SPECIAL_EXIT": JobState.FAILED,
    "RESV_DEL_HOLD": JobState.PENDING,
    "RUNNING": JobState.RUNNING,
    "COMPLETING": JobState.RUNNING,
    "STAGE_OUT": JobState.RUNNING,
    "SIGNALING": JobState.RUNNING,
    "RESIZING": JobState.RUNNING,
    "SUSPENDED": JobState.RUNNING,
    "STOPPED": JobState.RUNNING,
    "COMPLETED": JobState.COMPLETED,
    "FAILED": JobState.FAILED,
    "BOOT_FAIL": JobState.NODE_FAIL,
    "NODE_FAIL": JobState.NODE_FAIL,
    "CANCELLED": JobState.CANCELLED,
    "REVOKED": JobState.CANCELLED,
    "TIMEOUT": JobState.TIMEOUT,
    "DEADLINE": JobState.TIMEOUT,
    "OUT_OF_MEMORY": JobState.OUT_OF_MEMORY,
    "PREEMPTED": JobState.PREEMPTED,
}


@dataclass(frozen=True, slots=True)
class JobView:
    """A job's state, Slurm's reason for it, the batch script's exit code and the log that Slurm writes."""

    state: JobState
    reason: str = ""
    exit_code: int | None = None
    log: str = ""


UNKNOWN = JobView(JobState.UNKNOWN)


def job_id_of(output: str) -> int | None:
    """The id of the submitted job in the output of sbatch or srtctl; the last one where several are named."""
    for pattern in _SUBMITTED:
        if found := pattern.findall(output):
            return int(found[-1])
    return None


def state_of(word: str) -> JobState:
    """`CANCELLED by 0` and `RUNNING+` read as their first word; an unknown word is UNKNOWN."""
    return _STATES.get(re.split(r"[ +]", word.strip(), maxsplit=1)[0].upper(), JobState.UNKNOWN)


def read_scontrol(output: str) -> JobView:
    """The view in one line of `scontrol show job ID --oneliner`; UNKNOWN where it names no state."""
    found = re.search(r"\bJobState=(\S+)", output)
    if found is None:
        return UNKNOWN
    reason = re.search(r"\bReason=(\S+)", output)
    code = re.search(r"\bExitCode=(\d+):(\d+)", output)
    log = re.search(r"\bStdOut=(\S+)", output)
    exit_code = None if code is None else int(code.group(1)) or (128 + int(code.group(2)) if int(code.group(2)) else 0)
    why = reason.group(1) if reason and reason.group(1) != "None" else ""
    return JobView(state_of(found.group(1)), why, exit_code, log.group(1) if log else "")


def read_sacct(output: str) -> JobView:
    """The view in `sacct -X -n -P -o State,ExitCode -j ID`; UNKNOWN where it prints nothing."""
    lines = [line for line in output.splitlines() if line.strip()]
    if not lines:
        return UNKNOWN
    word, _, code = lines[0].partition("|")
    exit_code = int(code.split(":")[0]) if re.match(r"\d+:\d+", code) else None
    return JobView(state_of(word), "", exit_code)


def read_squeue(output: str) -> dict[int, JobState]:
    """States by job id in `squeue --noheader --format="%i %T"`; array tasks count under their job."""
    states: dict[int, JobState] = {}
    for line in output.splitlines():
        fields = line.split()
        if len(fields) >= 2 and (found := re.match(r"\d+", fields[0])):
            states[int(found.group())] = state_of(fields[1])
    return states
