"""Purpose: PostgreSQL restarts without warning under load: the service stays up and loses nothing."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.crash import story
from tests.crash.stage import CrashStage, wait_for
from tests.support.postgres import new_database, new_server


def test_a_restart_of_postgresql_under_load_loses_nothing() -> None:
    with tempfile.TemporaryDirectory(prefix="sweepgate-pg-") as name:
        folder = Path(name)
        server = new_server(folder)
        try:
            _story(server, folder)
        finally:
            server.cleanup()


def _story(server: Any, folder: Path) -> None:
    with CrashStage(new_database(server)) as stage:
        first = story.open_pull(stage, 1)
        others = [story.propose(stage, number) for number in range(2, 7)]
        command = [server.bin_path / "pg_ctl", "-w", "-D", folder, "-m", "immediate", "restart"]
        subprocess.run(command, check=True, user=server.system_user, stdout=subprocess.DEVNULL, cwd=folder)
        for pull in (first, *others):
            pull.comment("reviewer", story.SIGN_OFF)
        wanted = [(number, part) for number in range(1, 7) for part in ("sweepgate:welcome", "sweepgate:verdict")]
        for number, part in wanted:
            wait_for(lambda number=number, part=part: stage.has(number, part), f"{part} of {number}")  # type: ignore[misc]
        counts = {sum(part in body for body in stage.bot_comments(number)) for number, part in wanted}
        assert counts == {1}, "each comment once"
        assert stage.starts == 1, "the service never died"
