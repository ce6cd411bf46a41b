"""Every source of a verification fails in every way: the rows that need it say so, nothing passes by default."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle

import pytest

from app.evidence.reads import PullRequestGone
from app.github.errors import HostError, Limited
from app.sandbox.faults import SECONDARY, SECONDARY_NEWER, Fault
from checks.contract import COULD_NOT
from tests.end_to_end.gathered import Gathered, Rows, rows

ALL = frozenset(range(18))


@dataclass(frozen=True)
class Route:
    """Where a fault is planted and which rows turn. `skip` requests pass before it strikes (GraphQL has one path)."""

    path: str
    rows: frozenset[int]
    skip: int = 0
    times: int = 0

    def fault(self, status: int, message: str = "Server Error") -> Fault:
        times = self.times or (4 if self.path == GRAPHQL else 0)
        return Fault(self.path, status=status, message=message, times=times, skip=self.skip)


def route(path: str, *numbers: int, skip: int = 0, times: int = 0) -> Route:
    return Route(path, frozenset(numbers), skip, times)


GRAPHQL = "^/graphql$"
HOST = "^/_hosts/"
ROUTES = {
    "changed files": route("/compare/", *ALL),
    "repository files": route(GRAPHQL, *ALL, skip=1),
    "branch activity": route("/activity$", 5),
    "permission of the signer": route("/permission$", 0, 4),
    "list of runs": route("/run-sweep.yml/runs$", 1, 2, 4, 6, 9, 11, 13, 14),
    "jobs": route("/attempts/1/jobs$", 1, 2, 4, 6, 9, 11, 13, 14),
    "list of artifacts": route("/artifacts$", 1, 2, 4, 14),
    "artifact of a point": route("/7904128002/zip$", 1, 14),
    "artifact of the evals": route("/7904128025/zip$", 2),
    "job logs": route("/attempts/1/logs$", 9, 11, 13),
    "launch files, which only a comparison with another commit needs": route(GRAPHQL, skip=2, times=1),
    "upstream pull request": route(GRAPHQL, 3, skip=3),
    "upstream files": route(GRAPHQL, 3, skip=4),
    "archive of a point": route(f"{HOST}files/artifact/.*7904128002", 1, 14),
    "archive of the evals": route(f"{HOST}files/artifact/.*7904128025", 2),
    "archive of the logs": route(f"{HOST}files/logs", 9, 11, 13),
    "upstream page": route(f"{HOST}docs.sglang.io", 3),
    "overview page": route(f"{HOST}docs.nvidia.com", 16),
    "checkpoint's description": route(f"{HOST}checkpoint/api", 13),
    "checkpoint's config": route(f"{HOST}checkpoint/.*/config.json$", 13),
    "checkpoint's index": route(f"{HOST}checkpoint/.*index.json$", 13),
    "checkpoint's header": route(f"{HOST}checkpoint/.*00001-of-00002", 13),
}
GITHUB = [name for name, one in ROUTES.items() if not one.path.startswith(HOST)]
FAILURES = [(name, status) for name in ROUTES for status in (404, 503)] + [(name, 403) for name in GITHUB]
LIMITS = {"too many requests": "Too many requests", "secondary": SECONDARY, "secondary, newer text": SECONDARY_NEWER}


@pytest.mark.parametrize(("name", "status"), FAILURES)
def test_exactly_the_rows_that_need_it_could_not_be_verified(
    reference: Gathered, good_rows: Rows, name: str, status: int
) -> None:
    planted = reference.world.faults.add(ROUTES[name].fault(status))
    verdict = reference.verdict()
    found = rows(verdict)
    assert planted.used >= 1
    assert {number for number in found if found[number][0] != good_rows[number][0]} == ROUTES[name].rows
    for number in ROUTES[name].rows:
        assert found[number][1].startswith(COULD_NOT), found[number]
        assert "internal error" not in found[number][1]
    assert verdict.internal_errors == ()
    assert verdict.header == ("REJECTED" if ROUTES[name].rows else "PASS")


@pytest.mark.parametrize(("name", "limit"), list(zip(GITHUB, cycle(LIMITS), strict=False)))
def test_a_rate_limit_in_the_middle_passes_nothing_and_raises_nothing(
    reference: Gathered, good_rows: Rows, name: str, limit: str
) -> None:
    """What else the limit keeps away depends on what was asked at that moment; whatever it is, it is told."""
    status = 429 if limit == "too many requests" else 403
    reference.world.faults.add(ROUTES[name].fault(status, LIMITS[limit]))
    verdict = reference.verdict()
    turned = {n: row for n, row in rows(verdict).items() if row[0] != good_rows[n][0]}
    assert turned.keys() >= ROUTES[name].rows
    assert [row for row in turned.values() if not row[1].startswith(COULD_NOT) or "internal error" in row[1]] == []
    assert verdict.internal_errors == ()


@pytest.mark.parametrize("name", ["jobs", "overview page"])
@pytest.mark.parametrize("times", [1, 2])
def test_a_read_that_fails_and_then_works_is_repeated(
    reference: Gathered, good_rows: Rows, name: str, times: int
) -> None:
    reference.world.faults.add(Fault(ROUTES[name].path, status=502, times=times))
    assert rows(reference.verdict()) == good_rows


def test_a_pull_request_that_does_not_exist_is_told_as_such(
    reference: Gathered,
) -> None:
    reference.world.faults.add(Fault(GRAPHQL, status=404, times=0))
    with pytest.raises(PullRequestGone, match="4343 does not exist, or this token may not see it"):
        reference.bundle()


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
def test_without_the_pull_request_itself_there_is_no_verdict(reference: Gathered, status: int) -> None:
    reference.world.faults.add(Fault(GRAPHQL, status=status, times=0))
    with pytest.raises(HostError) as raised:
        reference.bundle()
    assert isinstance(raised.value, Limited) == (status == 429)
