"""Purpose: changes that GitHub shows late, or that share a second with a round, are found all the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from app.effects.rounds import ListedPull, ListedRun
from app.flows.meters import PrometheusMeters
from app.flows.rounds import Rounds
from app.store.database import Database
from tests.flows.conftest import Harness
from tests.flows.fake_github import REPOSITORY, SIGN_OFF


class Listed:
    """A round's reader with the last changes of pull requests."""

    def __init__(self, **changes: str) -> None:
        self.changes = changes

    def pulls(self, repository: str) -> Iterator[Sequence[ListedPull]]:
        rows = [ListedPull(int(name[1:]), True, at, "a" * 40, name) for name, at in self.changes.items()]
        yield sorted(rows, key=lambda row: row.updated_at, reverse=True)

    def runs(self, repository: str) -> Sequence[ListedRun]:
        return ()

    def trusted(self, repository: str) -> str:
        return "same"


def rounds_over(listed: Listed, folder: Path) -> Rounds:
    database = Database(f"sqlite:///{folder}/rounds.sqlite")
    database.migrate()
    return Rounds(
        database,
        lambda _: listed,
        lambda: [REPOSITORY],
        clock=lambda: 1_000_000.0,
        meters=PrometheusMeters(),
        seconds=1.0,
        outside_seconds=1e9,
        wake=lambda: None,
        prune=lambda: None,
    )


def test_a_second_change_in_the_second_of_a_round_is_found_by_the_next_one(tmp_path: Path) -> None:
    listed = Listed(p7="2026-11-30T10:00:00Z", p8="2026-11-29T10:00:00Z")
    rounds = rounds_over(listed, tmp_path)
    assert rounds.round(REPOSITORY) == {7, 8}
    assert rounds.round(REPOSITORY) == {7}, "looked at once more: its time alone does not tell a second change"
    assert rounds.round(REPOSITORY) == set(), "and then left alone"
    listed.changes["p8"] = "2026-11-30T10:00:09Z"
    assert rounds.round(REPOSITORY) == {8}


def test_a_comment_that_github_shows_after_its_delivery_is_answered_without_another_one(harness: Harness) -> None:
    pull = harness.github.open_pull()
    remark = harness.github.say(7, "reviewer", SIGN_OFF)
    pull.shown_at[remark] = harness.github.clock() + 0.7
    issue = {"number": 7, "pull_request": {}}
    harness.deliver("issue_comment", {"action": "created", "issue": issue, "comment": {"id": remark}})
    harness.idle()
    assert pull.remarks[remark].reactions == {"eyes"}


def test_a_comment_that_was_deleted_at_once_is_not_waited_for(harness: Harness) -> None:
    harness.github.open_pull()
    issue = {"number": 7, "pull_request": {}}
    for action in ("created", "deleted"):
        harness.deliver("issue_comment", {"action": action, "issue": issue, "comment": {"id": 5}})
    harness.idle()
    assert harness.github.calls.count("pull") <= 4
