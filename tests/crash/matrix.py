"""Purpose: kill -9 at every named fault point, on SQLite and PostgreSQL: one comment, one dispatch, nothing lost.

A point is done when it struck, the service started again by itself, and the final state of the world (comments,
reactions, runs, check runs, hand-overs) equals that of the undisturbed story.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import create_engine, text

from app.effects.faults import POINTS
from tests.crash import story
from tests.crash.stage import CrashStage, wait_for
from tests.support.postgres import postgres_url

DATABASES = ("sqlite", "postgresql")
# Reached only after another crash: a worker that is dead, a workflow that ended without a trace.
AFTER_A_CRASH = ("store.workers.drop", "store.inbox.release")


@dataclass(frozen=True)
class Result:
    point: str
    database: str
    ok: bool
    seconds: float
    detail: str = ""


def points(database: str) -> list[str]:
    """Fault points that exist on a database: one process on SQLite watches nobody."""
    return [point for point in POINTS if database == "postgresql" or not point.startswith("store.workers.")]


def new_stage(database: str, *, fault: str = "") -> CrashStage:
    return CrashStage("" if database == "sqlite" else postgres_url(), fault=fault)


def undisturbed(database: str, tell: Callable[[CrashStage], None] = story.whole) -> dict[str, Any]:
    """The final state without a fault."""
    with new_stage(database) as stage:
        tell(stage)
        return settled(stage)


def settled(stage: CrashStage, *, still: float = 2.0, seconds: float = 40.0) -> dict[str, Any]:
    """The state once it has not changed for `still` seconds."""
    last, since = stage.final_state(), time.monotonic()
    ends = since + seconds
    while time.monotonic() < ends:
        time.sleep(0.2)
        now = stage.final_state()
        if now != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since >= still:
            break
    return last


def strike(
    point: str, database: str, expected: dict[str, Any], tell: Callable[[CrashStage], None] = story.whole
) -> Result:
    """Play the story with one fault and compare."""
    started = time.monotonic()
    late = point.rpartition(".")[0] in AFTER_A_CRASH
    with new_stage(database, fault="" if late else point) as stage:
        try:
            if late:
                story.short(stage)
                _after_a_crash(stage, point)
                wait_for(lambda: stage.struck, f"{point} to strike")
            tell_rest = story.rest if late else tell
            tell_rest(stage)
            wait_for(lambda: stage.struck, f"{point} to strike", 10)
            found = _equal(stage, expected)
        except AssertionError as error:
            return Result(point, database, False, time.monotonic() - started, f"{error}\n{stage.log()}")
    differences = difference(expected, found)
    return Result(point, database, not differences, time.monotonic() - started, differences)


def _equal(stage: CrashStage, expected: dict[str, Any]) -> dict[str, Any]:
    """Wait until the state is the expected one (reactions by comment), then see that it stays so."""
    ends = time.monotonic() + 30
    while stage.final_state() != expected and time.monotonic() < ends:
        time.sleep(0.1)
    return settled(stage, still=1.5)


def _after_a_crash(stage: CrashStage, point: str) -> None:
    """Kill once from outside, leave a workflow without a trace, and let the next process meet the fault."""
    stage.hold()
    stage.kill()
    if "release" in point:
        engine = create_engine(stage.database_url.replace("postgresql:", "postgresql+psycopg:"))
        with engine.begin() as connection:
            connection.execute(text("UPDATE pulls SET running = 987654, finished = begun - 1"))
        engine.dispose()
    stage.resume(point)


def difference(expected: dict[str, Any], found: dict[str, Any]) -> str:
    """What differs, part by part; empty where nothing does."""
    lines = []
    for part, value in expected.items():
        if found[part] != value:
            lines.append(f"{part}: expected {json.dumps(value, ensure_ascii=False)[:1500]}")
            lines.append(f"{part}: found    {json.dumps(found[part], ensure_ascii=False)[:1500]}")
    return "\n".join(lines)
