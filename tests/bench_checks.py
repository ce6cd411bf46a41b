"""Purpose: figures of the verdict: 18 checks from bundle bytes in memory, the whole process, its requests."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from tests.support.bundles import EXAMPLE, ROOT

IN_PROCESS = """
import gc, sys, time
from pathlib import Path
from app.evidence import bundle as rooms
import checks, app.verdict.engine as engine
checks.all_checks()
files = rooms._folder_files(Path(sys.argv[1]))
warm = rooms._assemble(files, "warm")
import app.verdict.render
from app.facts import makers
started = time.perf_counter()
verdict = engine.judge(rooms._assemble(files, "bench"))
print((time.perf_counter() - started) * 1000)
assert len(verdict.rows) == 18, len(verdict.rows)
"""


def figures() -> list[tuple[str, str, str, str]]:
    """Rows (what, measured, target, held)."""
    inside = statistics.median(_in_process() for _ in range(7))
    whole = statistics.median(_whole() for _ in range(5))
    return [
        ("18 checks, bytes in memory to verdict, nothing cached", f"{inside:.0f} ms", "<= 150 ms", _held(inside, 150)),
        ("sweepgate verify --bundle, whole process", f"{whole:.0f} ms", "<= 1500 ms", _held(whole, 1500)),
    ]


def _held(measured: float, target: float) -> str:
    return f"{'yes' if measured <= target else 'NO'} ({measured / target:.2f} of it)"


def _in_process() -> float:
    """A fresh process each time: modules are loaded, but nothing was parsed before."""
    command = [sys.executable, "-c", IN_PROCESS, str(EXAMPLE)]
    return float(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)


def _whole() -> float:
    command = [sys.executable, "-m", "app.cli", "verify", "--bundle", str(EXAMPLE), "--format", "json"]
    started = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=False, capture_output=True)
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    for row in figures():
        print("  ".join(row))
