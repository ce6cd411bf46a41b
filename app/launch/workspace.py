"""Purpose: the edge to the checkout that is measured and to this runner's disk and lock.

Invariants: the measured checkout is at exactly the planned commit and has no change, tracked or not; one launch at a
time holds a runner's lock, which the operating system releases when the process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.launch.errors import LaunchError

GIT_SECONDS = 60
GIB = 1024**3
MARK = ".sweepgate"
CLEAN = "Clean the workspace and run the job again."


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "-c", "core.fsmonitor=false", *arguments],
            capture_output=True,
            text=True,
            timeout=GIT_SECONDS,
            check=False,
        )
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise LaunchError("wrong-checkout", f"git could not be asked: {error}.", "See to git on this runner.") from None
    if done.returncode:
        message = f"{folder} is no usable checkout: {done.stderr.strip()[:200]}."
        raise LaunchError("wrong-checkout", message, CLEAN)
    return done.stdout


def check_checkout(folder: Path, sha: str) -> str:
    """The commit that stands in `folder`. Raises LaunchError where it is not `sha` (if given) or has changes."""
    found = _git(folder, "rev-parse", "HEAD").strip()
    if sha and found != sha:
        message = f"The checkout is at {found[:12]}, the row was planned for {sha[:12]}."
        raise LaunchError("wrong-checkout", message, CLEAN)
    changed = _git(folder, "status", "--porcelain", "--untracked-files=all", "--ignored=no").splitlines()
    if changed:
        shown = ", ".join(line[3:] for line in changed[:3])
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        raise LaunchError("dirty-checkout", f"The checkout has changes: {shown}{more}.", CLEAN)
    return found


def check_disk(folder: Path, least_gib: float) -> None:
    """Raises LaunchError `disk-full` where less than `least_gib` GiB are free."""
    free = shutil.disk_usage(folder).free / GIB
    if free < least_gib:
        message = f"{folder} has {free:.1f} GiB free, a job needs {least_gib:g}."
        raise LaunchError("disk-full", message, "Free space on this runner, then run the job again.")


def claim(folder: Path) -> None:
    """Make `folder` empty for this launch. A folder that a launch did not make is never emptied.

    Raises LaunchError `bad-folder` for one that holds other files.
    """
    mark = folder / MARK
    if folder.exists() and not mark.exists() and any(folder.iterdir()):
        message = f"{folder} holds files that are not of a launch."
        raise LaunchError("bad-folder", message, "Give --out and --work an empty folder.")
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    mark.write_text("This folder is emptied by each sweepgate launch.\n")


@contextmanager
def runner_lock(state: Path, runner: str) -> Iterator[None]:
    """Hold this runner's lock. Raises LaunchError `runner-busy` where another launch has it."""
    state.mkdir(parents=True, exist_ok=True)
    path = state / f"{runner}.lock"
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(handle, 200, 0).decode(errors="replace").strip() or "another process"
            message = f"Runner {runner} already works on {holder}."
            raise LaunchError("runner-busy", message, "Wait until it is done, then run this job again.") from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)
