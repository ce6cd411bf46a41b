"""What Slurm's programs print, as read by the launcher."""

from __future__ import annotations

import pytest

from app.launch.slurm_text import JobState, job_id_of, read_sacct, read_scontrol, read_squeue, state_of

RUNNING = (
    "JobId=1 JobName=wrap UserId=root(0) JobState=RUNNING Reason=None Dependency=(null) ExitCode=0:0 "
    "RunTime=00:00:01 StdOut=/tmp/o-1.log Power="
)


@pytest.mark.parametrize(
    ("output", "job_id"),
    [
        pytest.param("Submitted batch job 4711\n", 4711, id="sbatch's sentence"),
        pytest.param("4711\n", 4711, id="sbatch --parsable"),
        pytest.param("4711;cluster\n", 4711, id="sbatch --parsable on a federation"),
        pytest.param("preparing\nJob ID: 99\nlogs below out/99\n", 99, id="srtctl's line"),
        pytest.param('{"job_id": "123"}', 123, id="srtctl as JSON"),
        pytest.param("Submitted batch job 1\nSubmitted batch job 2\n", 2, id="the last of several"),
        pytest.param("", None, id="nothing"),
        pytest.param("all good, see 2026-10-21", None, id="digits that are no job id"),
    ],
)
def test_job_ids(output: str, job_id: int | None) -> None:
    assert job_id_of(output) == job_id


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("PENDING", JobState.PENDING),
        ("CONFIGURING", JobState.PENDING),
        ("COMPLETING", JobState.RUNNING),
        ("CANCELLED by 0", JobState.CANCELLED),
        ("CANCELLED+", JobState.CANCELLED),
        ("BOOT_FAIL", JobState.NODE_FAIL),
        ("DEADLINE", JobState.TIMEOUT),
        ("NEW_WORD", JobState.UNKNOWN),
        ("", JobState.UNKNOWN),
    ],
)
def test_states(word: str, state: JobState) -> None:
    assert state_of(word) is state


def test_scontrol_gives_state_log_and_exit_code() -> None:
    view = read_scontrol(RUNNING)
    assert (view.state, view.reason, view.exit_code, view.log) == (JobState.RUNNING, "", 0, "/tmp/o-1.log")
    failed = read_scontrol(
        RUNNING.replace("RUNNING Reason=None", "FAILED Reason=NonZeroExitCode").replace("0:0", "70:0")
    )
    assert (failed.state, failed.reason, failed.exit_code) == (JobState.FAILED, "NonZeroExitCode", 70)
    killed = read_scontrol(RUNNING.replace("RUNNING", "CANCELLED").replace("0:0", "0:15"))
    assert killed.exit_code == 143


@pytest.mark.parametrize("output", ["", "slurm_load_jobs error: Invalid job id specified", "JobId=1 JobName=x"])
def test_scontrol_without_a_state_is_unknown(output: str) -> None:
    assert read_scontrol(output).state is JobState.UNKNOWN


def test_sacct_gives_the_allocation_or_nothing() -> None:
    assert read_sacct("CANCELLED by 1000|0:15\n").state is JobState.CANCELLED
    assert read_sacct("FAILED|1:0\n").exit_code == 1
    assert read_sacct("\n").state is JobState.UNKNOWN


def test_squeue_counts_array_tasks_under_their_job() -> None:
    listed = read_squeue("12 RUNNING\n13_[1-4] PENDING\nnonsense\n")
    assert listed == {12: JobState.RUNNING, 13: JobState.PENDING}
