"""Purpose: the examples of docs/checks are outcomes of these tests: `make docs` records them, each run holds them true.

A test whose parameter names rules ("11.curve: Kimi-K3") gives these rules their example: the last row of that check
which the test judged. With SWEEPGATE_EXAMPLES set to a file the outcomes are written there, without it they are
compared with docs/checks/examples.json.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from app.verdict import engine

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "checks" / "examples.json"
RULE = re.compile(r"\b(\d{1,3})\.[a-z][a-z0-9-]*")

_judged: dict[int, tuple[str, str]] = {}
_recorded: dict[str, dict[str, str]] = {}
_row = engine._row


def _listening(check: Any, *rest: Any) -> Any:
    result = _row(check, *rest)
    _judged[check.number] = (result.status.value, result.reason)
    return result


engine._row = _listening


@cache
def _known() -> dict[str, dict[str, str]]:
    return json.loads(EXAMPLES.read_text(encoding="utf-8")) if EXAMPLES.is_file() else {}


def _rules(name: str) -> list[tuple[str, int]]:
    """(rule, check) of a test's parameter, those before its colon."""
    parameter = name.partition("[")[2].removesuffix("]").partition(":")[0]
    return [(match[0], int(match[1])) for match in RULE.finditer(parameter)]


@pytest.fixture(autouse=True)
def _example(request: pytest.FixtureRequest) -> Iterator[None]:
    _judged.clear()
    yield
    test = f"{request.node.path.name}::{request.node.name}"
    for rule, number in _rules(request.node.name):
        if number not in _judged:
            continue
        status, reason = _judged[number]
        if "internal error" in reason:
            continue
        if "SWEEPGATE_EXAMPLES" in os.environ:
            _recorded.setdefault(rule, {"test": test, "status": status, "reason": reason})
        elif _known().get(rule, {}).get("test") == test:
            shown = _known()[rule]
            assert (status, reason) == (shown["status"], shown["reason"]), f"example of {rule} is stale: run make docs"


def pytest_sessionfinish() -> None:
    target = os.environ.get("SWEEPGATE_EXAMPLES")
    if target and _recorded:
        text = json.dumps(dict(sorted(_recorded.items())), indent=1, ensure_ascii=False)
        Path(target).write_text(text + "\n", encoding="utf-8")
