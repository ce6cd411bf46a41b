"""Purpose: what shape tests say of a verdict: its rows, and what one change of the story turned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from tests.support.bundles import Editor
from tests.support.shapes.build import build
from tests.support.shapes.story import Story

Rows = dict[int, tuple[str, str]]


def passing(*, na: Iterable[int] = (), **others: str) -> dict[int, str]:
    """Every row PASS but those of `na`; `others` such as `row14="WARN"`."""
    expected = dict.fromkeys(range(18), "PASS") | dict.fromkeys(na, "N/A")
    return expected | {int(name.removeprefix("row")): status for name, status in others.items()}


def rows_of(made: Story | Editor) -> Rows:
    """Row number -> (status, reason). No check may fail internally."""
    editor = build(made) if isinstance(made, Story) else made
    verdict = editor.verdict()
    assert not verdict.internal_errors
    return {row.number: (row.status.value, row.result.reason) for row in verdict.rows}


@cache
def _good_rows(make: object) -> Rows:
    assert callable(make)
    return rows_of(make())


def assert_rows(made: Story | Editor, expected: Mapping[int, str]) -> None:
    """Each row has its expected status; a failure shows the reasons of those that have not."""
    rows = rows_of(made)
    other = {number: rows[number] for number, status in expected.items() if rows[number][0] != status}
    assert not other, other


def assert_turned(make: object, changed: Story | Editor, turned: Mapping[int, str], words: str) -> None:
    """The change turns these rows to these statuses and no other row; the first one's reason has the words."""
    before, after = _good_rows(make), rows_of(changed)
    found = {number: after[number] for number in after if after[number][0] != before[number][0]}
    assert {number: status for number, (status, _) in found.items()} == dict(turned), found
    reason = after[next(iter(turned))][1]
    assert words in reason, reason
