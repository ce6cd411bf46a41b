"""Purpose: the fuzzer: its seeds are good input, it tells a crash and a slow reader, a short run finds none."""

from __future__ import annotations

import time

import pytest

from app.target.source import FileLine, reject
from tests.fuzz_readers import READERS, attempt, fuzz


@pytest.mark.parametrize("name", sorted(READERS))
def test_the_seed_is_read(name: str) -> None:
    reader, seed = READERS[name]
    assert attempt(reader, seed) == ""


def test_a_crash_is_told_and_a_refusal_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(_content: bytes) -> object:
        raise reject(FileLine("f"), "A rule.", "x", "Fix it.")

    def slow(_content: bytes) -> object:
        return time.perf_counter()

    assert attempt(refusing, b"") == ""
    assert "ZeroDivisionError" in attempt(lambda _content: 1 // 0, b"")
    monkeypatch.setattr("tests.fuzz_readers.SLOWEST_SECONDS", -1)
    assert "took" in attempt(slow, b"")


def test_a_short_run_finds_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz(2, 4343) == 0, capsys.readouterr().err
