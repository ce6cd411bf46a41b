"""Purpose: what the line "Changed since the last verdict" says of moved heads and rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.decide.state import Measurement
from app.verdict import engine
from app.verdict.changes import changed_line, moved_line, statuses
from tests.support.bundles import good

ONE, TWO, THREE = "1" * 40, "2" * 40, "3" * 40


@pytest.mark.parametrize(
    ("measurement", "before", "line"),
    [
        pytest.param(Measurement(True), ONE, "2 commits since 1111111, same measurement", id="only comments changed"),
        pytest.param(Measurement(True), TWO, "1 commit since 2222222, same measurement", id="one commit"),
        pytest.param(
            Measurement(False, ("a/agentic.yaml", "b/nvidia-master.yaml")),
            ONE,
            "2 commits since 1111111, another measurement (agentic.yaml, nvidia-master.yaml)",
            id="files break it",
        ),
        pytest.param(
            Measurement(False, tuple(f"{name}.yaml" for name in "abcde")),
            ONE,
            "2 commits since 1111111, another measurement (a.yaml, b.yaml, c.yaml and 2 more)",
            id="many files",
        ),
        pytest.param(
            Measurement(None),
            TWO,
            "1 commit since 2222222, whether it is the same measurement could not be verified",
            id="undecided",
        ),
        pytest.param(
            Measurement(True),
            "9" * 40,
            "the branch was rewritten since 9999999, same measurement",
            id="a force push took the assessed commit away",
        ),
    ],
)
def test_how_the_head_moved(measurement: Measurement, before: str, line: str) -> None:
    assert moved_line(measurement, before, [ONE, TWO, THREE]) == line


def test_the_first_verdict_has_no_line() -> None:
    assert changed_line(engine.judge(good().bundle), None) == ""


def test_the_same_verdict_has_no_line() -> None:
    verdict = engine.judge(good().bundle)
    before = {
        "statuses": statuses(verdict),
        "assessed": verdict.assessed_commit,
        "bundle_digest": verdict.bundle_digest,
    }
    assert changed_line(verdict, before) == ""


def test_a_row_that_turned_and_a_moved_head_are_both_named() -> None:
    verdict = replace(engine.judge(good().bundle), assessed_commit=TWO)
    before = {"statuses": {**statuses(verdict), "9": "FAIL"}, "assessed": ONE}
    line = changed_line(verdict, before, moved_line(Measurement(True), ONE, [ONE, TWO]))
    assert line.endswith("(9) FAIL → PASS; 1 commit since 1111111, same measurement")
    assert line.count("→") == 1


def test_new_evidence_with_the_same_rows_is_said() -> None:
    verdict = engine.judge(good().bundle)
    before = {"statuses": statuses(verdict), "assessed": verdict.assessed_commit, "bundle_digest": "other"}
    assert changed_line(verdict, before) == "the evidence, with the same outcome in every row"
