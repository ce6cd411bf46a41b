"""Purpose: lost, doubled and shuffled deliveries change nothing in the end (`make crash` tells it with 200)."""

from __future__ import annotations

from tests.crash.disturbed import compare


def test_lost_doubled_and_shuffled_deliveries_change_nothing_in_the_end() -> None:
    told = compare(10)
    assert told.lost, "the story was disturbed"
    assert told.doubled, "the story was disturbed"
    assert told.ok, told.line()
