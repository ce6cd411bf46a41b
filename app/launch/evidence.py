"""Purpose: what is known of the failed jobs of a run, from a folder of its artifacts and job logs.

Layout: the artifacts as the download action leaves them (`job_event_<RESULT>/`, `server_logs_<RESULT>/`,
`eval_server_logs_<RESULT>/`) and, where they were fetched, GitHub's job logs as `logs/<job name>.txt`.

Invariants: jobs come in the order of their names; of several attempts of one job the newest counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.results.eval_files import read_object
from app.results.triage import JobEvidence, Log

EVENT = "job_event_"
LOGS = ("server_logs_", "eval_server_logs_", "multinode_server_logs_")
LARGEST_LOG = 32 * 1024 * 1024
CONCLUSIONS = {"failure": "failure", "cancelled": "cancelled", "success": "success"}


def _text(path: Path) -> str:
    with path.open("rb") as log:
        return log.read(LARGEST_LOG).decode(errors="replace")


def _attempt(event: Mapping[str, Any]) -> int:
    value = event.get("run_attempt")
    return value if isinstance(value, int) else 0


def _events(folder: Path) -> dict[str, Mapping[str, Any]]:
    """The newest launch record of each result name."""
    newest: dict[str, Mapping[str, Any]] = {}
    for path in sorted(folder.glob(f"{EVENT}*/job_event.json")):
        event = read_object(path.read_bytes()) or {}
        name = str(event.get("name") or path.parent.name.removeprefix(EVENT))
        if name not in newest or _attempt(event) >= _attempt(newest[name]):
            newest[name] = event
    return newest


def _logs(folder: Path, name: str) -> tuple[Log, ...]:
    """Server and job logs of one result, the job's own (slurm-*.log, job.log) first; none for a name that is a path."""
    if Path(name).name != name:
        return ()
    paths = [path for prefix in LOGS for path in (folder / f"{prefix}{name}").rglob("*.log")]
    paths.sort(key=lambda path: (path.name == "server.log", path.name))
    return tuple(Log(path.name, _text(path)) for path in paths)


def jobs_of_folder(folder: Path) -> list[JobEvidence]:
    """Every job that the folder knows: launched ones by their record, others by a job log alone."""
    found = [
        JobEvidence(name, CONCLUSIONS.get(str(event.get("outcome")), "failure"), _logs(folder, name), event)
        for name, event in sorted(_events(folder).items())
    ]
    for path in sorted((folder / "logs").glob("*.txt")) if (folder / "logs").is_dir() else []:
        found.append(JobEvidence(path.stem, "failure", (Log(path.name, _text(path)),)))
    return found
