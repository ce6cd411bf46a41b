"""Purpose: one comment of a kind, whatever dies, lags or is deleted; bodies are cut between rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from app.decide.state import PullRef
from app.effects.comments import MAX_BODY, CommentEffects, cut_at_row
from app.effects.markers import Markers
from app.effects.once import MemoryLedger, Once
from app.effects.ports import NotYetVisible, Unanswered
from tests.flows.fake_github import BOT, REPOSITORY, FakeGitHub

REF = PullRef(REPOSITORY, 7)


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Bench:
    """One pull request on a fake GitHub that shows new comments `lag` seconds late."""

    lag: float = 0.0
    clock: Clock = field(default_factory=Clock)
    ledger: MemoryLedger = field(default_factory=MemoryLedger)

    def __post_init__(self) -> None:
        self.github = FakeGitHub(clock=self.clock, lag=self.lag)
        self.github.open_pull(7)

    def effects(self) -> CommentEffects:
        """As a new reconcile sees it: own comments read from GitHub now."""
        markers, remarks = Markers(b"key"), self.github.remarks(REF)
        return CommentEffects(
            REF,
            BOT,
            markers.own(REF, remarks, BOT),
            markers.tampered(REF, remarks, BOT),
            reader=self.github,
            writer=self.github,
            markers=markers,
            once=Once(self.ledger, clock=self.clock, visible=60.0),
        )

    def upsert(self, text: str = "text\n", run: int = 1) -> int:
        return self.effects().upsert(
            "results", "", {"run": run}, text, replace=lambda shown: int(shown.payload["run"]) < run
        )

    @property
    def bodies(self) -> list[str]:
        return self.github.bot_comments(7)


def test_the_second_upsert_edits_and_an_equal_one_does_nothing() -> None:
    bench = Bench()
    first = bench.upsert("one\n", 1)
    assert bench.upsert("two\n", 2) == first
    assert bench.upsert("two\n", 2) == first
    assert len(bench.bodies) == 1
    assert bench.github.calls.count("edit_comment") == 1


def test_a_lower_run_never_overwrites_a_higher_one() -> None:
    bench = Bench()
    bench.upsert("run 5\n", 5)
    bench.upsert("run 4\n", 4)
    assert bench.bodies[0].endswith("run 5\n")


def test_a_comment_that_github_shows_late_is_not_made_twice() -> None:
    bench = Bench(lag=30.0)
    first = bench.upsert()
    bench.clock.now += 5
    assert bench.upsert("later\n", 2) == first
    assert len(bench.bodies) == 1


def test_an_answer_that_got_lost_is_looked_for_before_the_create_is_repeated() -> None:
    bench = Bench(lag=5.0)
    bench.github.after["create_comment"] = [Unanswered("502 after acting")]
    with pytest.raises(Unanswered):
        bench.upsert()
    bench.clock.now += 2
    with pytest.raises(NotYetVisible):
        bench.upsert()
    bench.clock.now += 4
    bench.upsert()
    assert len(bench.bodies) == 1


def test_a_create_that_never_happened_is_repeated_after_a_minute() -> None:
    bench = Bench()
    bench.github.before["create_comment"] = [Unanswered("connection lost")]
    with pytest.raises(Unanswered):
        bench.upsert()
    bench.clock.now += 30
    with pytest.raises(NotYetVisible):
        bench.upsert()
    bench.clock.now += 31
    bench.upsert()
    assert len(bench.bodies) == 1


@pytest.mark.parametrize("jump", [-86_400.0, 86_400.0])
def test_a_clock_that_jumped_blocks_nothing(jump: float) -> None:
    bench = Bench()
    bench.github.before["create_comment"] = [Unanswered("connection lost")]
    with pytest.raises(Unanswered):
        bench.upsert()
    bench.clock.now += jump
    bench.upsert()
    assert len(bench.bodies) == 1


def test_a_deleted_comment_is_made_again() -> None:
    bench = Bench()
    first = bench.upsert("one\n", 1)
    effects = bench.effects()
    del bench.github.pulls[7].remarks[first]
    second = effects.upsert("results", "", {"run": 2}, "two\n")
    assert second != first
    assert len(bench.bodies) == 1


def test_a_strangers_copy_of_our_comment_is_left_alone() -> None:
    bench = Bench()
    bench.upsert("one\n", 1)
    copied = bench.github.say(7, "outsider", bench.bodies[0])
    bench.upsert("two\n", 2)
    assert bench.github.pulls[7].remarks[copied].body.endswith("one\n")
    assert len(bench.bodies) == 1


def test_a_comment_that_somebody_edited_is_written_over() -> None:
    bench = Bench()
    first = bench.upsert("one\n", 9)
    bench.github.edit(7, first, bench.bodies[0].replace("one", "PASS"), by="maintainer")
    bench.clock.now += 120
    assert bench.upsert("one\n", 1) == first
    assert [body.splitlines()[1] for body in bench.bodies] == ["one"]


ROWS = "\n".join(f"❌ Check {number} (Name): FAIL — {'reason ' * 400}" for number in range(40))
LONG = (
    f"## header\n\n{ROWS}\n<details><summary>Passed</summary>\n\n{ROWS}\n</details>\n\nAssessed commit: `{'a' * 40}`.\n"
)


def test_a_long_body_is_cut_at_a_row_and_keeps_its_last_line() -> None:
    cut = cut_at_row(LONG, 60_000)
    assert len(cut) <= 60_000
    assert cut.splitlines()[0] == "## header"
    assert cut.splitlines()[-1] == f"Assessed commit: `{'a' * 40}`."
    assert "the remaining rows stand in the check run" in cut
    assert all(line in LONG.splitlines() or "remaining rows" in line or not line for line in cut.splitlines())


def test_an_open_details_block_is_closed_when_it_is_cut() -> None:
    cut = cut_at_row("a\n<details>\n" + "row\n" * 50 + "</details>\nlast\n", 150)
    assert cut.count("<details>") == cut.count("</details>") == 1


def test_a_body_with_its_marker_never_exceeds_githubs_limit() -> None:
    bench = Bench()
    bench.upsert(LONG)
    assert len(bench.bodies[0]) <= MAX_BODY
