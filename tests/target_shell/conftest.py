"""Purpose: evaluates small scripts for the tests of the bounded shell, and stops a test that hangs."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.target.shell import evaluate
from app.target.shell_record import Evaluated
from app.target.tree import Tree

SCRIPT = "runners/launch.sh"
HANG_SECONDS = 60

Run = Callable[..., Evaluated]


@pytest.fixture
def run() -> Run:
    """run(text, files, NAME=value): the evaluated script; None as a value means "set, but not known"."""

    def evaluated(text: str, files: dict[str, str] | None = None, **env: str | None) -> Evaluated:
        contents = {path: other.encode() for path, other in (files or {}).items()}
        return evaluate(Tree("", {**contents, SCRIPT: text.encode()}, complete=True), SCRIPT, env)

    return evaluated


@pytest.fixture(autouse=True)
def _stopped() -> Iterator[None]:
    """A safety net, no time budget: what is not bounded would hang for hours."""

    def stop(_signal: int, _frame: Any) -> None:
        raise TimeoutError(f"not bounded: still running after {HANG_SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(HANG_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
