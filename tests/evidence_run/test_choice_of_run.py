"""Purpose: which run is the evidence, and which comment pins it."""

from __future__ import annotations

from typing import Any

import pytest

from app.facts.base import Context, Facts
from app.facts.evidence_run import (
    NO_RUN,
    choose,
    in_pull_request,
    is_family,
    measured_commit,
    touches_workflows,
)
from app.facts.github import ChangedFiles, Comments, LabelTimeline, Permissions, PullRequest
from app.facts.pins import reuse_pins
from app.facts.records import (
    Account,
    CommentRecord,
    CommitRecord,
    FileRecord,
    JobRecord,
    LabelEventRecord,
    PermissionRecord,
    PullRequestRecord,
    RunRecord,
)
from app.facts.sweep import EvidenceRun, Jobs
from app.policy import CommandPolicy, Policy

HEAD, EARLIER, OTHER, BASE = "a" * 40, "e" * 40, "d" * 40, "b" * 40
REPOSITORY = "SemiAnalysisAI/InferenceX"
SWEEP = ".github/workflows/run-sweep.yml"
WRITE = PermissionRecord(permission="write", role_name="write")
BOT = Account(login="sweepgate[bot]", type="Bot")
FAMILY = "agentic / p3.500 | m fp4 cluster:gb200-nv sgl TP4 c1"


def run(number: int, sha: str = HEAD, **changes: Any) -> RunRecord:
    values: dict[str, Any] = {
        "id": number,
        "event": "pull_request",
        "status": "completed",
        "conclusion": "success",
        "path": SWEEP,
        "head_sha": sha,
        "head_branch": "topic",
        "actor": Account(login="maintainer"),
        "created_at": f"2026-10-20T{number:02}:00:00Z",
        "repository": REPOSITORY,
    }
    return RunRecord(**{**values, **changes})


def dispatched(number: int, **changes: Any) -> RunRecord:
    values = {"event": "workflow_dispatch", "head_branch": "main", "actor": BOT, "title": f"Sweep #7 @ {HEAD[:12]} [k]"}
    return run(number, BASE, **{**values, **changes})


def note(number: int, body: str, login: str = "reviewer", **changes: Any) -> CommentRecord:
    values: dict[str, Any] = {
        "kind": "issue_comment",
        "id": number,
        "author": Account(login=login),
        "association": "MEMBER",
        "body": body,
        "created_at": f"2026-10-21T{number:02}:00:00Z",
        "updated_at": f"2026-10-21T{number:02}:00:00Z",
    }
    return CommentRecord(**{**values, **changes})


def facts(
    *comments: CommentRecord,
    head_repository: str = REPOSITORY,
    jobs: tuple[JobRecord, ...] = (),
    labels: tuple[LabelEventRecord, ...] = (),
) -> Facts:
    record = PullRequestRecord(
        repository=REPOSITORY,
        number=7,
        title="t",
        body="",
        author=Account(login="author"),
        association="NONE",
        state="open",
        head_sha=HEAD,
        head_ref="topic",
        head_repository=head_repository,
        base_ref="main",
    )
    commits = (CommitRecord(sha=EARLIER), CommitRecord(sha=HEAD, parents=(EARLIER, OTHER)))
    return Facts.of(
        PullRequest(record, commits),
        Comments(comments),
        Permissions({"reviewer": WRITE}, {}),
        Jobs(jobs),
        LabelTimeline(labels),
        context=Context(Policy(name="test")),
    )


def job(run_id: int, name: str = FAMILY, conclusion: str = "success", steps: int = 5) -> JobRecord:
    runner = "gb200-nv_00" if steps else ""
    return JobRecord(
        id=run_id * 10,
        run_id=run_id,
        name=name,
        status="completed",
        conclusion=conclusion,
        runner_name=runner,
        steps=steps,
    )


@pytest.mark.parametrize(
    ("runs", "comments", "chosen", "pinned_by"),
    [
        pytest.param([run(1), run(2)], (), 2, 0, id="the newest successful run"),
        pytest.param([run(1), run(2, conclusion="failure")], (), 1, 0, id="success before a newer failure"),
        pytest.param([run(1, conclusion="failure")], (), 1, 0, id="a failure where nothing passed"),
        pytest.param([run(1), run(2, status="in_progress", conclusion=None)], (), 1, 0, id="ended before running"),
        pytest.param([run(2, status="queued", conclusion=None)], (), 2, 0, id="a running one where nothing ended"),
        pytest.param([run(1), run(2)], (note(1, "/use 1"),), 1, 1, id="a pin decides"),
        pytest.param([run(1, conclusion="failure"), run(2)], (note(1, "/use 1"),), 1, 1, id="a pinned failed run"),
        pytest.param([run(1), run(2)], (note(1, "/use 9"),), 2, 0, id="a pin of an unknown run does not count"),
        pytest.param([run(1), run(2)], (note(1, "/reuse-sweep-run"),), 2, 1, id="a pin without a number"),
        pytest.param([run(1, EARLIER)], (), 1, 0, id="an earlier commit of the pull request"),
        pytest.param([run(1, OTHER)], (), 1, 0, id="a commit merged in as second parent"),
        pytest.param([run(1), run(2, "f" * 40)], (), 1, 0, id="not a rebased-out commit"),
        pytest.param([run(1), run(2, event="push")], (), 1, 0, id="not another event"),
        pytest.param([run(1), run(2, path=".github/workflows/e2e-tests.yml")], (), 1, 0, id="not another workflow"),
        pytest.param([run(1, path=f"{SWEEP}@main")], (), 1, 0, id="a path with its ref"),
        pytest.param([run(1), run(2, repository="outsider/InferenceX")], (), 1, 0, id="not a fork's run"),
        pytest.param([dispatched(1)], (), 1, 0, id="a run that our bot dispatched"),
        pytest.param([run(1), dispatched(2, actor=Account(login="maintainer"))], (), 1, 0, id="dispatched by a person"),
        pytest.param(
            [run(1), dispatched(2, actor=Account(login="github-actions[bot]", type="Bot"))],
            (),
            1,
            0,
            id="dispatched by another bot",
        ),
        pytest.param([run(1), dispatched(2, head_branch="topic")], (), 1, 0, id="dispatched on the branch itself"),
        pytest.param([run(1), dispatched(2, title=f"Sweep #8 @ {HEAD[:12]} [k]")], (), 1, 0, id="of another number"),
        pytest.param([run(1), dispatched(2, title="Sweep #7 @ fffffffffff [k]")], (), 1, 0, id="of a lost commit"),
    ],
)
def test_choice(runs: list[RunRecord], comments: tuple[CommentRecord, ...], chosen: int, pinned_by: int) -> None:
    found = choose(runs, facts(*comments))
    assert isinstance(found, EvidenceRun), found
    assert (found.run.id, found.pinned_by) == (chosen, pinned_by)
    assert all(reason for _, reason in found.candidates)


def test_a_run_in_which_nothing_ran_is_passed_over() -> None:
    """A gated no-op or an unrelated label gives a green run of skipped jobs."""
    jobs = (job(1), job(2, "agentic /", "skipped", 0), job(2, "collect-evals / collect-evals"))
    found = choose([run(1), run(2)], facts(jobs=jobs))
    assert isinstance(found, EvidenceRun)
    assert [(found.run.id, reason) for _, reason in found.candidates] == [(1, "none of its benchmark or eval jobs ran")]


def test_a_run_made_under_a_blocking_modifier_comes_after_others() -> None:
    event = LabelEventRecord(
        id="1", action="labeled", label="agentx-fast", actor="maintainer", created_at="2026-10-20T01:30:00Z"
    )
    found = choose([run(1), run(2)], facts(labels=(event,)))
    assert isinstance(found, EvidenceRun)
    assert found.run.id == 1


@pytest.mark.parametrize(
    ("runs", "fork", "text"),
    [
        ([], False, "has not run for this pull request"),
        ([run(n, "f" * 40) for n in range(1, 6)], False, "and 2 more"),
        ([run(1)], True, "comes from a fork"),
    ],
    ids=["no run", "every run is excluded", "a fork"],
)
def test_no_run_counts(runs: list[RunRecord], fork: bool, text: str) -> None:
    found = choose(runs, facts(head_repository="outsider/InferenceX" if fork else REPOSITORY))
    assert isinstance(found, str)
    assert found.startswith(NO_RUN)
    assert text in found


def test_measured_commit_of_a_dispatched_run_is_in_its_metadata() -> None:
    assert measured_commit(run(1, EARLIER), None) == EARLIER
    assert measured_commit(dispatched(1), {"head_ref": HEAD}) == HEAD
    assert measured_commit(dispatched(1), {"head_ref": "main"}) is None
    assert measured_commit(dispatched(1), None) is None


@pytest.mark.parametrize(
    ("name", "family"),
    [
        (FAMILY, True),
        ("agentic eval / / p1.000 | x", True),
        ("multi-node agentic eval / x", True),
        ("canary / x", True),
        ("multi-node canary / x", True),
        ("single-node 8k1k / x", True),
        ("multi-node 1k1k / x", True),
        ("collect-evals / collect-evals", False),
        ("collect-results / collect-results", False),
        ("canary-select", False),
        ("reuse-sweep-gate", False),
    ],
)
def test_family_names(name: str, family: bool) -> None:
    assert is_family(name) is family


def test_workflow_edits_are_found_also_as_old_paths() -> None:
    files = (
        FileRecord(path="x.yml", previous_path=".github/workflows/run-sweep.yml", status="renamed"),
        FileRecord(path=".github/CODEOWNERS", status="modified"),
    )
    assert touches_workflows(ChangedFiles(files)) == (".github/workflows/run-sweep.yml",)


def test_a_first_parent_is_not_in_the_pull_request() -> None:
    pull = facts()[PullRequest]
    assert [in_pull_request(sha, pull) for sha in (HEAD, OTHER, BASE)] == [True, True, False]


@pytest.mark.parametrize(
    ("comments", "live", "why"),
    [
        pytest.param([note(1, "/use 5"), note(2, "/use 6")], 6, [], id="newest by creation"),
        pytest.param(
            [note(1, "/use 5", updated_at="2026-10-22T00:00:00Z", editor="reviewer"), note(2, "/use 6")],
            6,
            [],
            id="an edit does not promote",
        ),
        pytest.param([note(1, "/use 5"), note(2, "never mind")], 5, [], id="a command edited away is not there"),
        pytest.param([note(1, "/use 5"), note(2, "/use")], 5, ["syntax"], id="a malformed one is not a pin"),
        pytest.param([note(1, "/use 5"), note(2, "/use 6", "outsider")], 5, ["undecided"], id="an unknown permission"),
        pytest.param(
            [note(1, "/use 5"), note(2, "/use 6", association="NONE")], 5, ["association"], id="the association counts"
        ),
        pytest.param(
            [note(1, "/use 5"), note(2, "/use 6", author=Account(login="x[bot]", type="Bot"))], 5, ["bot"], id="a bot"
        ),
        pytest.param([note(1, "/use 5", kind="review")], 5, [], id="a review body counts"),
        pytest.param([note(1, "/use 5", kind="review_comment")], None, [], id="an inline comment does not"),
        pytest.param([note(1, "> /use 5\n\n```\n/use 6\n```")], None, [], id="quotes and code do not"),
        pytest.param([note(1, "/use 5\n\n/use 6")], 6, [], id="the last valid line"),
        pytest.param([note(1, "/use 5\n\n/use abc")], 5, [], id="a malformed last line does not hide a valid one"),
    ],
)
def test_pins(comments: list[CommentRecord], live: int | None, why: list[str]) -> None:
    pins = reuse_pins(comments, Permissions({"reviewer": WRITE}, {}), CommandPolicy())
    assert (pins.live.run_id if pins.live else None, [one.why for one in pins.refused]) == (live, why)


def test_without_the_write_rule_the_association_alone_decides() -> None:
    policy = CommandPolicy(reuse_needs_write=False)
    assert reuse_pins([note(1, "/use 5", "anybody")], None, policy).live is not None
