"""`sweepgate demo` as a person runs it: a process of its own that shows the story and exits 0, in little memory."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.support.bundles import ROOT

PEAK_MEGABYTES = 250
RUN = """
import pathlib, sys
from app.cli import main
code = main(["demo"])
status = pathlib.Path("/proc/self/status").read_text()
print("peak", status.partition("VmHWM:")[2].split()[0], file=sys.stderr)
sys.exit(code)
"""


def test_the_demo_shows_the_expected_verdict_within_its_memory() -> None:
    """The process holds the stand-in as well, so the service alone has less.

    VmHWM begins anew with the program; `ru_maxrss` would count the memory of the process that started it.
    """
    done = subprocess.run(
        [sys.executable, "-c", RUN], cwd=ROOT, capture_output=True, text=True, timeout=90, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Verdict: PASS" in done.stdout
    assert "Verdict as expected; bundle digest as in examples/pr-4343." in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    peak = re.search(r"^peak (\d+)$", done.stderr, re.MULTILINE)
    assert peak is not None
    assert int(peak[1]) / 1024 < PEAK_MEGABYTES
