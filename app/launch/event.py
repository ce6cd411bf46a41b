"""Purpose: job_event.json, the launcher's record of one job: stages, error, result files (docs/sweeps.md).

Invariants: it is written for every end, also for a row that could not be read and for a full disk: room for it is
reserved at the start, and its one-line form goes to the log in any case.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.launch.errors import LaunchError
from app.launch.machine import Launch, Stage

NAME = "job_event.json"
RESERVED = 64 * 1024


@dataclass
class Record:
    """What is known so far; `facts` are added as the launch learns them."""

    facts: dict[str, Any] = field(default_factory=dict)
    results: list[str] = field(default_factory=list)
    begun: datetime = field(default_factory=lambda: datetime.now(UTC))


def reserve(folder: Path) -> None:
    """Take the room that the record will need. A disk that is full already is found by the launch itself."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{NAME}.reserved").write_bytes(b"\0" * RESERVED)
    except OSError:
        return


def _moment(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def stages(state: Launch, now: float) -> list[dict[str, Any]]:
    """Each stage that was entered, with its seconds and how it ended: ok, failed or cancelled."""
    entered = [item for item in state.entered if item[0] is not Stage.DONE]
    ends = [time for _, time in state.entered[1:]] + [now]
    ended_by = "cancelled" if state.signal else "failed"
    return [
        {
            "name": stage.value,
            "seconds": round(end - begun, 3),
            "outcome": ended_by if state.error and stage is state.error_stage else "ok",
        }
        for (stage, begun), end in zip(entered, ends, strict=False)
    ]


def error_of(error: LaunchError | None, stage: Stage | None) -> dict[str, Any] | None:
    if error is None:
        return None
    return {
        "stage": (stage or Stage.PREPARE).value,
        "type": error.kind,
        "message": error.message,
        "next_step": error.next_step,
        "retriable": error.retriable,
    }


def event(record: Record, state: Launch, now: float) -> dict[str, Any]:
    """The record as JSON."""
    return {
        "schema": 1,
        **record.facts,
        "job_id": state.job_id,
        "outcome": state.outcome,
        "exit_code": state.exit_code,
        "error": error_of(state.error, state.error_stage),
        "stages": stages(state, now),
        "results": sorted(record.results),
        "started_at": _moment(record.begun),
        "finished_at": _moment(datetime.now(UTC)),
    }


def write(folder: Path, value: Mapping[str, Any]) -> bool:
    """Write the record over the reserved room. False where the disk refuses even that."""
    text = json.dumps(value, indent=1, sort_keys=True) + "\n"
    try:
        (folder / f"{NAME}.reserved").unlink(missing_ok=True)
        (folder / NAME).write_text(text)
    except OSError:
        return False
    return True


def read(folder: Path) -> dict[str, Any] | None:
    """The record of an earlier launch in this folder, None where there is none that can be read."""
    try:
        value = json.loads((folder / NAME).read_text())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def one_line(value: Mapping[str, Any], keys: Sequence[str] = ("outcome", "error", "stages", "results")) -> str:
    """The record's end for the job log: one line that survives a full disk."""
    return "job_event " + json.dumps({key: value.get(key) for key in keys}, sort_keys=True)
