"""Purpose: run the installed workflows unchanged with `act` in host mode, and tell what its jobs did.

Third-party actions are replaced by their pinned name (`--local-repository OWNER/NAME@SHA=DIR`), so the workflow files
keep their `uses:` lines. act speaks to no API: its `--json` lines are the only source of what happened.

Invariants: one act process for each run; jobs run one after another (one runner, one job at a time); stopping the run
sends the signal that GitHub's runner sends, and waits.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from app.launch.install import ACTIONS

HERE = Path(__file__).resolve().parent
RUNNERS = ("ubuntu-latest", "cluster:cpu-proof", "self-hosted")


@dataclass
class ActJob:
    """One job as act ran it. `name` is the check-run name that GitHub would show."""

    key: str
    name: str
    conclusion: str = ""
    steps: list[tuple[str, str]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)


@dataclass
class ActResult:
    """All jobs of one run in the order in which they began; `fatal` is what ended act before the workflow's end."""

    exit_code: int
    jobs: dict[str, ActJob]
    fatal: tuple[str, ...] = ()

    def conclusions(self) -> dict[str, str]:
        return {job.name: job.conclusion for job in self.jobs.values()}


@dataclass(frozen=True)
class Workspace:
    """Where a run finds its parts: bare repositories, artifacts, act's caches, the client and the launch policy."""

    repositories: Path
    artifacts: Path
    cache: Path
    act: Path
    environment: Mapping[str, str]
    variables: Mapping[str, str]


def command(
    workspace: Workspace,
    event: str,
    event_file: Path,
    run_id: int,
    attempt: int,
    repository: str,
) -> list[str]:
    """The act command line of one run."""
    told = [
        str(workspace.act),
        event,
        "--json",
        "--eventpath",
        str(event_file),
        "--concurrent-jobs",
        "1",
    ]
    told += ["--workflows", ".github/workflows/run-sweep.yml", "--no-cache-server"]
    told += [
        "--artifact-server-addr",
        "127.0.0.1",
        "--action-cache-path",
        str(workspace.cache),
        "--pull=false",
    ]
    for label in RUNNERS:
        told += ["--platform", f"{label}=-self-hosted"]
    folders = {
        "checkout": "checkout",
        "upload": "upload-artifact",
        "download": "download-artifact",
    }
    for short, folder in folders.items():
        pinned = ACTIONS[short].split(" ", maxsplit=1)[0]
        told += [
            "--local-repository",
            f"https://github.com/{pinned}={HERE / 'actions' / folder}",
        ]
    environment = {
        "GITHUB_RUN_ID": str(run_id),
        "GITHUB_RUN_ATTEMPT": str(attempt),
        "GITHUB_REPOSITORY": repository,
        "PROOF_REPOSITORIES": str(workspace.repositories),
        "PROOF_ARTIFACTS": str(workspace.artifacts),
        **workspace.environment,
    }
    for name, value in environment.items():
        told += ["--env", f"{name}={value}"]
    for name, value in workspace.variables.items():
        told += ["--var", f"{name}={value}"]
    return [*told, "--secret", "GITHUB_TOKEN=proof-token"]


def lines(stream: Iterator[bytes]) -> Iterator[Mapping[str, Any]]:
    """act's JSON lines; anything else it prints is left out."""
    for raw in stream:
        try:
            value = json.loads(raw)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


class Reader:
    """Folds act's lines into jobs."""

    def __init__(
        self,
        names: Callable[[Mapping[str, Any]], str],
        changed: Callable[[ActJob], None],
    ) -> None:
        self.jobs: dict[str, ActJob] = {}
        self.fatal: list[str] = []
        self._names, self._changed = names, changed

    def take(self, line: Mapping[str, Any]) -> None:
        if line.get("level") == "fatal":
            self.fatal.append(str(line.get("msg")))
        if "job" not in line:
            return
        key = f"{line['job']} {json.dumps(line.get('matrix') or {}, sort_keys=True)}"
        job = self.jobs.get(key)
        if job is None:
            job = self.jobs[key] = ActJob(key, self._names(line))
            self._changed(job)
        if text := str(line.get("msg", "")).rstrip("\n"):
            job.log.append(text)
        if "stepResult" in line and line.get("stage") == "Main":
            job.steps.append((str(line.get("step")), str(line["stepResult"])))
        if "jobResult" in line:
            job.conclusion = str(line["jobResult"])
            self._changed(job)


def run(
    told: list[str],
    folder: Path,
    log: Path,
    reader: Reader,
    started: Callable[[subprocess.Popen[bytes]], None],
) -> ActResult:
    """Run act to its end in a checkout of the default branch; its raw lines are kept in `log`."""
    with log.open("wb") as kept:
        process = subprocess.Popen(
            told,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ,
            start_new_session=True,
        )
        started(process)
        for line in lines(_teed(process.stdout or iter(()), kept)):
            reader.take(line)
        code = process.wait()
    return ActResult(code, reader.jobs, tuple(reader.fatal))


def _teed(stream: Iterable[bytes], kept: IO[bytes]) -> Iterator[bytes]:
    for raw in stream:
        kept.write(raw)
        kept.flush()
        yield raw


def interrupt(process: subprocess.Popen[bytes]) -> None:
    """Cancel a run as a runner does: an interrupt to the whole group."""
    os.killpg(process.pid, signal.SIGINT)


_CALLED = re.compile(
    r"(.*?)(?:-\d+)?/(?:Benchmark, one node|Benchmark, several nodes|Collect|More rows of a family)/(.*)"
)


def shown_name(line: Mapping[str, Any]) -> str:
    """The check-run name that GitHub would show: `<caller> / <callee>`.

    act writes the workflow's name in front, a matrix counter after the caller and the called workflow's name between.
    """
    name = str(line["job"]).removeprefix("Run Sweep/").strip()
    found = _CALLED.fullmatch(name)
    return f"{found.group(1)} / {found.group(2)}" if found else name
