"""Purpose: a one-node Slurm cluster on loopback, made of Debian's own daemons, started and stopped by this process.

Invariants: every daemon is a plain child process in its own folder (no systemd); all of them listen on loopback;
stopping the cluster leaves no daemon behind. `SLURM_CONF` must be in the environment of every client: `environment()`
gives it. Accounting (slurmdbd) is not started, so `sacct` has no history here and the terminal state comes from
`scontrol` and the job completion file.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel")
CONFIGURATION = """\
ClusterName=proof
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/munge.socket
CredType=cred/munge
SlurmUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000
KillWait=5
MinJobAge=600
InactiveLimit=0
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobcomp.txt
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=proof Nodes=ALL Default=YES MaxTime=60 State=UP
"""


class SlurmMissing(Exception):  # noqa: N818
    """A program of Debian's slurm-wlm or munge is not installed; the message says how to get it."""


def missing_programs() -> list[str]:
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    return [program for program in NEEDED if shutil.which(program, path=path) is None]


def install() -> None:
    """Install Slurm with apt-get when it is not there. Raises SlurmMissing with the next step where that fails."""
    if not missing_programs():
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise SlurmMissing("Slurm is not installed. Run as root: apt-get install slurm-wlm munge")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["update", "-qq"],
        ["install", "-y", "-qq", "--no-install-recommends", "slurm-wlm", "munge"],
    ):
        done = subprocess.run(
            ["apt-get", *command],
            env=quiet,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SlurmMissing(f"apt-get {' '.join(command)} failed: {done.stderr.strip()[-400:]}")
    if left := missing_programs():
        raise SlurmMissing(f"Slurm lacks {', '.join(left)} after the install. Look at: apt-cache policy slurm-wlm")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Cluster:
    """A running one-node cluster. `folder` holds its configuration, state and logs."""

    folder: Path
    daemons: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def environment(self) -> dict[str, str]:
        return {
            "SLURM_CONF": str(self.folder / "slurm.conf"),
            "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin",
        }

    def run(self, *command: str) -> str:
        """Standard output of a Slurm client, stripped."""
        done = subprocess.run(
            command,
            env={**os.environ, **self.environment()},
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
        return done.stdout.strip()

    def jobs(self) -> list[str]:
        """Jobs that the controller still holds in a live state, one line each: id, name, state."""
        return self.run("squeue", "--noheader", "--format=%i %j %T").splitlines()

    def start(self, cpus: int) -> None:
        if os.geteuid() != 0:
            raise SlurmMissing("The Slurm daemons need root here. Run the proof as root, or in a container.")
        for name in ("munge", "state", "spool"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        key = self.folder / "munge" / "munge.key"
        key.write_bytes(os.urandom(128))
        self.folder.chmod(0o755)
        (self.folder / "munge").chmod(0o755)
        shutil.chown(self.folder / "munge", "munge", "munge")
        shutil.chown(key, "munge", "munge")
        key.chmod(0o400)
        text = CONFIGURATION.format(
            host=socket.gethostname().split(".")[0],
            folder=self.folder,
            cpus=cpus,
            controller_port=free_port(),
            node_port=free_port(),
        )
        (self.folder / "slurm.conf").write_text(text)
        self._spawn("munge", *self._munge_command())
        self._wait((self.folder / "munge" / "munge.socket").exists, "munged opened no socket")
        self._spawn("slurmctld", "slurmctld", "-D", "-c")
        self._spawn("slurmd", "slurmd", "-D")
        self._wait(self._idle, "the node did not become idle")

    def _munge_command(self) -> list[str]:
        folder = self.folder / "munge"
        options = {
            "socket": "munge.socket",
            "key-file": "munge.key",
            "pid-file": "munged.pid",
            "log-file": "munged.log",
        }
        paths = [f"--{option}={folder / name}" for option, name in options.items()]
        user = ["setpriv", "--reuid=munge", "--regid=munge", "--clear-groups"]
        return [
            *user,
            "munged",
            "--foreground",
            "--force",
            *paths,
            f"--seed-file={folder / 'munged.seed'}",
        ]

    def _spawn(self, name: str, *command: str) -> None:
        with (self.folder / f"{name}.out").open("wb") as output:
            process = subprocess.Popen(
                command,
                env={**os.environ, **self.environment()},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.daemons.append(process)

    def _idle(self) -> bool:
        try:
            return "idle" in self.run("sinfo", "--noheader", "--format=%t")
        except subprocess.SubprocessError:
            return False

    def _wait(self, ready: Callable[[], bool], complaint: str, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > deadline or any(daemon.poll() is not None for daemon in self.daemons):
                logs = "\n".join(f"--- {log.name}\n{log.read_text()[-600:]}" for log in self.folder.glob("*.out"))
                raise SlurmMissing(f"The Slurm cluster did not start: {complaint}. Logs:\n{logs}")
            time.sleep(0.2)

    def stop(self) -> None:
        """Cancel every job, wait until the node is free of them, then end the daemons."""
        with suppress(subprocess.SubprocessError, FileNotFoundError):
            self.run("scancel", "--user=root")
            self._wait(lambda: not self.jobs(), "jobs did not end", seconds=30)
        for process in reversed(self.daemons):
            process.terminate()
        for process in reversed(self.daemons):
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.daemons.clear()


@contextmanager
def cluster(folder: Path, cpus: int = 2) -> Iterator[Cluster]:
    """A cluster for the length of a `with` block; its jobs are cancelled and its daemons end with it."""
    running = Cluster(folder)
    try:
        running.start(cpus)
        yield running
    finally:
        running.stop()
