"""Purpose: every write does what it says, once, one after the other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.github.client import GitHub
from app.github.errors import NotThere, Refused, Unanswered
from app.github.limits import Time
from app.github.once import create_once
from app.github.writes import Annotation, CheckRunText
from app.sandbox import World
from app.sandbox.pull import PullRequest
from app.sandbox.repository import Repository
from tests.github.conftest import START, FakeTime, R

WORKFLOW = """name: Run Sweep
run-name: sweep ${{ inputs.pr }} ${{ inputs.sweep_key }}
on:
  workflow_dispatch:
    inputs:
      pr:
        required: true
      sweep_key:
        required: true
"""
RUNNING = CheckRunText("sweep", "key", "in_progress", None, "Running", "1 of 2 points")
DONE = CheckRunText("sweep", "key", "completed", "success", "Done", "2 of 2 points", "table", "https://x.example/run")


def test_a_comment_is_made_edited_and_deleted(pull: PullRequest, github: GitHub) -> None:
    made = github.writes.create_comment(R, 7, "before")
    github.writes.edit_comment(R, made, "after")
    assert [(one.id, one.author, one.body) for one in pull.comments] == [(made, "sweepgate[bot]", "after")]
    github.writes.delete_comment(R, made)
    assert pull.comments == []
    with pytest.raises(NotThere):
        github.writes.edit_comment(R, made, "again")


def test_a_reaction_twice_is_one_and_can_be_taken_back(pull: PullRequest, github: GitHub) -> None:
    comment = pull.comment("reviewer", "/use 1")
    inline = pull.review_comment("reviewer", "here", "README.md")
    pull.react("reviewer", "+1", comment)
    for _ in range(2):
        github.writes.react(R, "issue_comment", comment.id, "+1")
        github.writes.react(R, "review_comment", inline.id, "eyes")
    github.writes.react(R, "review", 1, "+1")
    assert [(one.user, one.content) for one in comment.reactions] == [("reviewer", "+1"), ("sweepgate[bot]", "+1")]
    assert len(inline.reactions) == 1
    github.writes.unreact(R, "issue_comment", comment.id, "+1", "sweepgate[bot]")
    assert [one.user for one in comment.reactions] == ["reviewer"]


def test_labels_are_added_and_removed(pull: PullRequest, github: GitHub) -> None:
    github.writes.create_label(R, "all-evals", "ededed", "Every evaluation")
    github.writes.add_labels(R, 7, ["all-evals", "full-sweep-enabled"])
    github.writes.remove_label(R, 7, "all-evals")
    assert pull.labels == ["full-sweep-enabled"]
    with pytest.raises(NotThere):
        github.writes.remove_label(R, 7, "all-evals")
    with pytest.raises(Refused):
        github.writes.create_label(R, "all-evals", "ededed", "")


def test_a_check_run_is_made_and_finished(repo: Repository, pull: PullRequest, github: GitHub) -> None:
    place = github.writes.put_check_run(R, pull.head_sha, RUNNING)
    again = github.writes.put_check_run(R, pull.head_sha, DONE, place.id)
    assert again.id == place.id
    run = repo.check_runs[0]
    assert (run.status, run.conclusion, run.title, run.text) == ("completed", "success", "Done", "table")
    assert (run.external_id, run.details_url, run.app) == ("key", "https://x.example/run", "sweepgate")


@pytest.mark.parametrize(
    ("count", "calls"),
    [
        pytest.param(0, 1, id="none"),
        pytest.param(50, 1, id="one full batch"),
        pytest.param(51, 2, id="one more"),
        pytest.param(120, 3, id="three batches"),
    ],
)
def test_annotations_go_in_batches_of_fifty(
    count: int, calls: int, repo: Repository, pull: PullRequest, github: GitHub, world: World
) -> None:
    notes = [
        Annotation("README.md", line, line, "failure", f"finding {line}", "Check 1") for line in range(1, count + 1)
    ]
    github.writes.put_check_run(R, pull.head_sha, DONE, annotations=notes)
    assert [one.message for one in repo.check_runs[0].annotations] == [one.message for one in notes]
    assert world.counted() == calls


def test_a_batch_of_annotations_without_an_answer_is_not_sent_again(
    world: World, repo: Repository, pull: PullRequest, github: GitHub
) -> None:
    notes = [Annotation("README.md", 1, 1, "failure", f"finding {number}") for number in range(60)]
    world.faults.error(method="PATCH", after=True)
    with pytest.raises(Unanswered):
        github.writes.put_check_run(R, pull.head_sha, DONE, annotations=notes)
    assert len(repo.check_runs[0].annotations) == 60


def test_a_dispatch_tells_the_new_run(repo: Repository, github: GitHub) -> None:
    repo.push("main", {".github/workflows/run-sweep.yml": WORKFLOW}, "maintainer")
    made = github.writes.dispatch(R, ".github/workflows/run-sweep.yml", "main", {"pr": "7", "sweep_key": "k1"})
    assert [(run.id, run.event, run.title, run.actor) for run in repo.runs] == [
        (made, "workflow_dispatch", "sweep 7 k1", "sweepgate[bot]")
    ]
    with pytest.raises(Refused):
        github.writes.dispatch(R, "run-sweep.yml", "main", {"unknown": "1"})


def test_runs_are_cancelled_and_failed_jobs_run_again(repo: Repository, github: GitHub, world: World) -> None:
    run = repo.start_run("run-sweep.yml", "push", "maintainer", id=4001).start()
    run.job("agentic / c1", conclusion="failure")
    github.writes.cancel_run(R, 4001)
    assert run.conclusion == "cancelled"
    with pytest.raises(Refused):
        github.writes.rerun_failed(R, 4001)
    run.conclusion = "failure"
    github.writes.rerun_failed(R, 4001)
    assert run.attempt == 2
    assert world.counted() == 3


def test_a_repository_dispatch_carries_its_payload(repo: Repository, github: GitHub) -> None:
    github.writes.repository_dispatch(R, "ingest-results", {"source-run-id": "1"})
    assert [(one.event_type, one.client_payload) for one in repo.dispatches] == [
        ("ingest-results", {"source-run-id": "1"})
    ]


def test_a_merge_is_guarded_by_the_head(repo: Repository, pull: PullRequest, github: GitHub) -> None:
    with pytest.raises(Refused) as told:
        github.writes.merge(R, 7, "0" * 40, "Change (#7)", "")
    assert told.value.status == 409
    sha = github.writes.merge(R, 7, pull.head_sha, "Change (#7)", "Body")
    assert repo.branches["main"] == sha
    assert repo.git.commits[sha].message == "Change (#7)\n\nBody"
    assert repo.git.read(sha, "README.md") == b"one\n2\nthree\n"


def test_a_merge_with_a_conflict_is_refused(pull: PullRequest, github: GitHub) -> None:
    pull.conflict = True
    with pytest.raises(Refused) as told:
        github.writes.merge(R, 7, pull.head_sha, "t", "m")
    assert told.value.status == 405


def test_refs_and_statuses(repo: Repository, pull: PullRequest, github: GitHub) -> None:
    github.writes.create_ref(R, "scratch", pull.head_sha)
    with pytest.raises(Refused):
        github.writes.update_ref(R, "scratch", pull.base_sha)
    github.writes.update_ref(R, "scratch", pull.base_sha, force=True)
    assert repo.branches["scratch"] == pull.base_sha
    github.writes.delete_ref(R, "scratch")
    assert "scratch" not in repo.branches
    github.writes.create_status(R, pull.head_sha, "sweepgate", "pending", "waits", "https://x.example")
    assert [(one.context, one.state) for one in repo.statuses] == [("sweepgate", "pending")]


def test_writes_are_a_second_apart(pull: PullRequest, github: GitHub, clock: FakeTime) -> None:
    for body in ("one", "two", "three"):
        github.writes.create_comment(R, 7, body)
    assert clock.slept == [1.0, 1.0]


# what got no answer ------------------------------------------------------------------------------------------


class Lossy:
    """A create that acts or not and answers or not, and a list that shows things late."""

    def __init__(self, clock: FakeTime, acts: bool, shows_after: float) -> None:
        self.clock, self.acts, self.shows_after = clock, acts, shows_after
        self.made: list[float] = []
        self.tries = 0

    def create(self) -> str:
        self.tries += 1
        if self.tries == 1:
            if self.acts:
                self.made.append(self.clock.now())
            raise Unanswered("no answer")
        self.made.append(self.clock.now())
        return "made by the second try"

    def find(self) -> str | None:
        shown = [at for at in self.made if self.clock.now() - at >= self.shows_after]
        return "found" if shown else None


@pytest.mark.parametrize(
    ("acts", "shows_after", "result", "made", "waited"),
    [
        pytest.param(True, 0, "found", 1, 0, id="it happened and shows at once"),
        pytest.param(True, 5, "found", 1, 5, id="it happened and shows late"),
        pytest.param(True, 58, "found", 1, 60, id="it shows at the end of the window"),
        pytest.param(False, 0, "made by the second try", 1, 60, id="it did not happen"),
    ],
)
def test_an_unanswered_create_is_looked_for_before_it_is_repeated(
    acts: bool, shows_after: float, result: str, made: int, waited: float
) -> None:
    clock = FakeTime()
    lossy = Lossy(clock, acts, shows_after)
    assert create_once(lossy.find, lossy.create, clock.time) == result
    assert len(lossy.made) == made
    assert clock.now() - START == waited


def test_an_answered_create_is_never_looked_for() -> None:
    def find() -> str:
        raise AssertionError("looked for")

    assert create_once(find, lambda: "made", FakeTime().time) == "made"


@pytest.mark.parametrize("after", [pytest.param(True, id="GitHub acted"), pytest.param(False, id="GitHub did not act")])
def test_one_comment_whatever_happened_to_the_answer(
    after: bool, world: World, pull: PullRequest, github: GitHub, clock: FakeTime
) -> None:
    world.lag.comments = 1
    world.faults.error(method="POST", path="comments", after=after)

    def find() -> int | None:
        found = [one.id for one in github.pull_request(R, 7).said if "marker" in one.body]
        return found[0] if found else None

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        world.clock.advance(seconds)  # type: ignore[attr-defined]

    create: Callable[[], int] = lambda: github.writes.create_comment(R, 7, "marker")  # noqa: E731
    create_once(find, create, Time(clock.now, sleep))
    assert [one.body for one in pull.comments] == ["marker"]
