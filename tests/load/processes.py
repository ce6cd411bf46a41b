"""Purpose: the servers of tests/load/servers.py as processes of their own: started, loaded, stopped for a while, ended.

A server that is not measured stands still (SIGSTOP), so that what it still has to do takes nothing from the other.
"""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

from tests.load.servers import SECRET

ROOT = Path(__file__).resolve().parents[2]
CONNECTIONS, BODY_BYTES = 16, 22_000
Load = dict[str, float]


class Loaded:
    """One server. A context manager."""

    def __init__(self, kind: str, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.load.servers", kind, str(folder)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        threading.Thread(target=self._process.stdout.read, daemon=True).start()

    def __enter__(self) -> Loaded:
        self._wait_until_it_listens()
        self.load(0.2)
        return self

    def _wait_until_it_listens(self, patience: float = 60.0) -> None:
        ends = time.monotonic() + patience
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if time.monotonic() > ends:
                    raise
                time.sleep(0.05)

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGCONT)
        self._process.kill()
        self._process.wait()

    def stand_still(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def load(self, seconds: float) -> Load:
        """One load of 16 connections with bodies of 22 KB; the rates and latencies of the generator."""
        arguments = [str(self.port), str(seconds), str(CONNECTIONS), str(BODY_BYTES), SECRET]
        done = subprocess.run(
            [sys.executable, "-m", "tests.load.generator", *arguments],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        )
        found: Load = json.loads(done.stdout)
        assert not found["wrong"], f"{found['wrong']} deliveries were not acknowledged"
        return found

    def megabytes(self) -> float:
        """Resident memory."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(found[1]) / 1024 if found else float("nan")

    def drain(self, patience: float = 120.0) -> float:
        """Wait until no delivery is open; the seconds that it took."""
        started = time.monotonic()
        while time.monotonic() - started < patience:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=30) as answer:
                text = answer.read().decode()
            still = re.findall(r'sweepgate_inbox_rows\{status="(?:new|taken)"\} ([\d.e+]+)', text)
            if sum(float(each) for each in still) == 0:
                break
            time.sleep(0.2)
        return time.monotonic() - started
