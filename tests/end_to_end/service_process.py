"""Purpose: the real service as a process of its own, for tests that kill it.

    python -m tests.end_to_end.service_process

Settings come from SWEEPGATE_ variables, the addresses of the stand-in from TEST_HOSTS as JSON. The service listens on a
free port and prints its address, one line, when it takes requests.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from pathlib import Path

import uvicorn

from app.demo.play import REVIEW_DAY
from app.github.hosts import Hosts
from app.main import create_app
from app.settings import Settings
from app.wiring import rooms_for


def main() -> None:
    settings = Settings()
    told = json.loads(os.environ["TEST_HOSTS"])
    hosts = Hosts(**{**told, "archives": tuple(told["archives"])})
    records = Path(os.environ["TEST_RECORDS"])
    rooms = rooms_for(settings, hosts, review_day=lambda: REVIEW_DAY, records=records)
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(settings, rooms), log_config=None, access_log=False))
    threading.Thread(target=_announce, args=(server, listening), daemon=True).start()
    server.run([listening])


def _announce(server: uvicorn.Server, listening: socket.socket) -> None:
    while not server.started:
        time.sleep(0.01)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)


if __name__ == "__main__":
    main()
