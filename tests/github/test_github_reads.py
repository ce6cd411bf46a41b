"""Purpose: every read against the stand-in: what GitHub says, in our words, whatever its page sizes and spellings."""

from __future__ import annotations

import pytest

from app.github.client import GitHub
from app.github.errors import NotThere, Unreadable
from app.github.evidence import EvidenceReads
from app.github.reads import GHOST, NotVisible, PullRequestGone
from app.sandbox import World
from app.sandbox.faults import Fault
from app.sandbox.model import Step
from app.sandbox.pull import PullRequest
from app.sandbox.repository import Repository
from tests.github.conftest import R


def test_one_request_tells_the_whole_state(world: World, pull: PullRequest, github: GitHub) -> None:
    comment = pull.comment("reviewer", "/use 1")
    pull.react("sweepgate[bot]", "+1", comment)
    pull.react("reviewer", "eyes", comment)
    pull.review("reviewer", "Looks right", "APPROVED")
    pull.review_comment("reviewer", "here", "README.md", 2)
    event = pull.apply_label("maintainer", "full-sweep-enabled")
    read = github.pull_request(R, 7)
    assert world.counted() == 1
    assert (read.repository, read.number, read.state, read.draft, read.merged) == (R, 7, "open", False, False)
    assert (read.head_sha, read.head_ref, read.base_ref) == (pull.head_sha, "feature", "main")
    assert (read.target_sha, read.default_branch, read.mergeable) == (pull.base_sha, "main", True)
    assert read.labels == ("full-sweep-enabled",)
    assert [one.sha for one in read.commits] == [pull.head_sha]
    assert [(one.kind, one.body) for one in read.said] == [
        ("issue_comment", "/use 1"),
        ("review", "Looks right"),
        ("review_comment", "here"),
    ]
    assert read.said[0].id == comment.id
    assert read.said[0].reacted == {"+1"}
    assert read.said[0].association == "COLLABORATOR"
    assert (read.said[1].state, read.said[1].commit_sha) == ("APPROVED", pull.head_sha)
    assert event is not None
    assert [(one.id, one.kind, one.label) for one in read.timeline] == [
        (event.node_id, "labeled", "full-sweep-enabled")
    ]


def test_lists_longer_than_a_page_are_read_to_the_end(pull: PullRequest, github: GitHub, world: World) -> None:
    for number in range(205):
        pull.comment("reviewer", f"comment {number}")
    for number in range(101):
        pull.apply_label("maintainer", f"label-{number}")
        pull.remove_label("maintainer", f"label-{number}")
    read = github.pull_request(R, 7)
    assert [one.body for one in read.said] == [f"comment {number}" for number in range(205)]
    assert len(read.timeline) == 202
    assert world.counted() == 1 + 2 + 2


def test_inline_comments_of_one_review_are_read_to_the_end(pull: PullRequest, github: GitHub) -> None:
    first = pull.review_comment("reviewer", "inline 0", "README.md")
    for number in range(1, 120):
        pull.review_comment("reviewer", f"inline {number}", "README.md").review = first.review
    assert sum(one.kind == "review_comment" for one in github.pull_request(R, 7).said) == 120


def test_an_edit_tells_its_editor_and_a_bot_its_full_name(pull: PullRequest, github: GitHub) -> None:
    first = pull.comment("reviewer", "before")
    pull.edit_comment(first, "after", editor="maintainer")
    pull.comment("sweepgate[bot]", "hello")
    said = github.pull_request(R, 7).said
    assert said[0].editor is not None
    assert (said[0].editor.login, said[0].body) == ("maintainer", "after")
    assert (said[1].author.login, said[1].author.kind, said[1].editor) == ("sweepgate[bot]", "Bot", None)


def test_a_deleted_account_is_a_ghost_that_counts_for_nothing() -> None:
    from app.github.decode import actor, rest_actor

    assert actor(None) == rest_actor(None) == GHOST
    assert GHOST.id == 0


def test_a_fork_is_told_as_such(repo: Repository, github: GitHub) -> None:
    fork = repo.fork("outsider")
    fork.push("feature", {"README.md": "changed\n"}, "outsider")
    repo.pull_request("feature", "outsider", number=8, head_repo=fork)
    read = github.pull_request(R, 8)
    assert (read.cross_repository, read.head_repository) == (True, "outsider/bench")


@pytest.mark.parametrize(
    ("unknown", "conflict", "mergeable"),
    [
        pytest.param(1, None, None, id="GitHub still computes it"),
        pytest.param(0, True, False, id="a conflict"),
        pytest.param(0, None, True, id="no conflict"),
    ],
)
def test_mergeability(
    unknown: int, conflict: bool | None, mergeable: bool | None, pull: PullRequest, github: GitHub
) -> None:
    pull.mergeable_unknown, pull.conflict = unknown, conflict
    assert github.pull_request(R, 7).mergeable is mergeable


def test_a_pull_request_that_vanished_is_not_there(repo: Repository, github: GitHub) -> None:
    with pytest.raises(NotThere):
        github.pull_request(R, 99)
    with pytest.raises(PullRequestGone):
        EvidenceReads(github).pull_request_state(R, 99)


def test_a_graphql_answer_that_is_an_error_is_never_empty_data(world: World, github: GitHub) -> None:
    from app.github import graphql

    with pytest.raises(Unreadable):
        graphql.ask(github.transport, "{ nonsense }", {}, R)


# files -------------------------------------------------------------------------------------------------------


def test_files_at_several_revisions_come_in_one_request(
    repo: Repository, pull: PullRequest, github: GitHub, world: World
) -> None:
    base, head = pull.base_sha, pull.head_sha
    found, version = github.files(R, {base: (["README.md", "none.txt"], []), head: (["README.md"], ["configs"])})
    assert found[base] == {"README.md": b"one\ntwo\nthree\n", "none.txt": None}
    assert found[head] == {"README.md": b"one\n2\nthree\n", "configs/a.yaml": b"a: 1\n"}
    assert version is None
    assert world.counted() == 1


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"x" * 600_000, id="longer than GraphQL gives"),
        pytest.param(b"\0binary", id="binary"),
        pytest.param("latin: é\n".encode("latin-1"), id="no UTF-8"),
    ],
)
def test_what_graphql_cannot_give_is_read_raw(content: bytes, repo: Repository, github: GitHub, world: World) -> None:
    sha = repo.push("main", {"odd": content}, "maintainer").sha
    assert github.files(R, {sha: (["odd"], [])})[0] == {sha: {"odd": content}}
    assert world.counted() == 2


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"a\r\nb\r\n", id="CRLF"),
        pytest.param(b"\xef\xbb\xbfa", id="a byte order mark"),
        pytest.param("键: 值\n".encode(), id="Chinese"),
        pytest.param(b"no newline at the end", id="no newline"),
    ],
)
def test_bytes_are_exactly_those_of_the_file(content: bytes, repo: Repository, github: GitHub, world: World) -> None:
    sha = repo.push("main", {"file": content}, "maintainer").sha
    assert github.files(R, {sha: (["file"], [])})[0][sha]["file"] == content
    assert world.counted() == 1


def test_folders_are_read_with_everything_below(repo: Repository, github: GitHub, world: World) -> None:
    files = {"d/a.txt": b"a", "d/e/b.txt": b"b", "d/e/f/c.bin": b"\0", "other.txt": b"o"}
    sha = repo.push("main", files, "maintainer").sha
    found = github.files(R, {sha: ([], ["d/"])})[0][sha]
    assert found == {"d/a.txt": b"a", "d/e/b.txt": b"b", "d/e/f/c.bin": b"\0"}


def test_a_path_with_odd_characters_is_read(repo: Repository, github: GitHub) -> None:
    path = 'odd "name" \\ with spaces.txt'
    sha = repo.push("main", {path: b"x"}, "maintainer").sha
    assert github.files(R, {sha: ([path], [])})[0][sha][path] == b"x"


def test_more_files_than_one_query_holds(repo: Repository, github: GitHub, world: World) -> None:
    files = {f"f{number}.txt": str(number).encode() for number in range(310)}
    sha = repo.push("main", files, "maintainer").sha
    assert github.files(R, {sha: (list(files), [])})[0][sha] == files
    assert world.counted() == 3


def test_the_version_of_a_file_at_a_time(repo: Repository, world: World, github: GitHub) -> None:
    from app.sandbox.clock import iso

    first = repo.push("main", {"list.md": b"one"}, "maintainer")
    then = iso(world.clock.now())
    repo.push("main", {"README.md": b"other"}, "maintainer")
    tip = repo.push("main", {"list.md": b"two"}, "maintainer").sha
    assert github.files(R, {}, (tip, "list.md", then))[1] == (first.sha, b"one")
    assert github.files(R, {}, (tip, "list.md", iso(world.clock.now())))[1] == (tip, b"two")
    assert github.files(R, {}, (tip, "none.md", then))[1] is None


def test_a_comparison_tells_merge_base_and_renames(repo: Repository, github: GitHub) -> None:
    start = repo.branches["main"]
    head = repo.push("renames", {"README.md": None, "docs/README.md": "one\ntwo\nthree\n"}, "author").sha
    repo.push("main", {"later.txt": "later"}, "maintainer")
    merge_base, files, _ = github.compare(R, repo.branches["main"], head)
    assert merge_base == start
    assert [(one.status, one.previous_path, one.path) for one in files] == [("renamed", "README.md", "docs/README.md")]


def test_a_comparison_that_github_cuts_is_completed_from_the_trees(repo: Repository, github: GitHub) -> None:
    files = {f"many/{number:04d}.txt": b"x%d" % number for number in range(305)}
    head = repo.push("many", files, "author").sha
    _, found, _ = github.compare(R, repo.branches["main"], head)
    assert [one.path for one in found] == sorted(files)


def test_changed_files_are_paged(repo: Repository, github: GitHub) -> None:
    repo.push("many", {f"many/{number:04d}.txt": b"x%d" % number for number in range(130)}, "author")
    repo.pull_request("many", "author", number=9)
    assert len(github.changed_files(R, 9)) == 130


# people ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("login", "permission", "role"),
    [
        pytest.param("maintainer", "admin", "admin", id="an admin"),
        pytest.param("reviewer", "write", "maintain", id="a maintainer has permission write"),
        pytest.param("author", "read", "read", id="anybody may read"),
    ],
)
def test_permission_has_two_fields(login: str, permission: str, role: str, pull: PullRequest, github: GitHub) -> None:
    held = github.permission(R, login)
    assert (held.permission, held.role_name) == (permission, role)


def test_a_failed_permission_look_up_is_an_error_and_never_no(world: World, repo: Repository, github: GitHub) -> None:
    with pytest.raises(Unreadable):
        github.permission(R, "nobody")
    world.faults.add(Fault(path="permission", status=200, message="no fields"))
    with pytest.raises(Unreadable):
        github.permission(R, "reviewer")


def test_teams_are_read_where_they_are_visible(world: World, github: GitHub) -> None:
    world.team("acme/owners", ("Reviewer", "maintainer"))
    world.team("acme/hidden", ("reviewer",), visible=False)
    assert github.team_members("acme/owners") == ("maintainer", "reviewer")
    assert github.team_member("acme/owners", "maintainer")
    world.user("author")
    assert not github.team_member("acme/owners", "author")
    for name in ("acme/hidden", "acme/none"):
        with pytest.raises(NotVisible):
            github.team_members(name)
        with pytest.raises(NotVisible):
            github.team_member(name, "reviewer")


def test_activity_tells_what_moved_a_branch(repo: Repository, pull: PullRequest, github: GitHub) -> None:
    first = pull.head_sha
    repo.push("feature", {"README.md": "again\n"}, "author")
    repo.force_push("feature", first, "author")
    moved = github.activity(R, "feature")
    assert [one.kind for one in moved] == ["force_push", "push", "branch_creation"]
    assert moved[0].after == moved[-1].after == first


def test_codeowners_errors_are_githubs_own(repo: Repository, github: GitHub) -> None:
    repo.codeowners_errors.append({"line": 3, "column": 1, "kind": "Invalid pattern", "message": "m", "path": "p"})
    assert github.codeowners_errors(R, "main")[0]["line"] == 3


# runs --------------------------------------------------------------------------------------------------------


def test_runs_jobs_and_artifacts(repo: Repository, pull: PullRequest, github: GitHub) -> None:
    run = repo.start_run("run-sweep.yml", "pull_request", "maintainer", pull.head_sha, "feature", id=4001).start()
    run.job("agentic / c1", runner="gb200_1")
    run.job("canary /", conclusion="skipped")
    run.artifact("bmk_agentic_x", {"x.json": "{}"})
    run.finish("failure")
    read = github.run(R, 4001)
    assert (read.path, read.event, read.conclusion, read.attempt) == (
        ".github/workflows/run-sweep.yml",
        "pull_request",
        "failure",
        1,
    )
    assert read.pull_requests == (7,)
    jobs = github.jobs(R, 4001, 1)
    assert [(one.conclusion, one.runner_name, one.steps) for one in jobs] == [
        ("success", "gb200_1", 3),
        ("skipped", "", 0),
    ]
    assert [one.name for one in github.artifacts(R, 4001)] == ["bmk_agentic_x"]
    assert [one.id for one in github.runs(R, ".github/workflows/run-sweep.yml", branch="feature")] == [4001]
    assert github.runs(R, "run-sweep.yml", branch="other") == []


def test_jobs_of_an_attempt_are_its_own(repo: Repository, pull: PullRequest, github: GitHub) -> None:
    run = repo.start_run("run-sweep.yml", "pull_request", "maintainer", pull.head_sha, "feature", id=4001)
    run.job("agentic / c1", conclusion="failure")
    run.finish("failure")
    run.rerun("maintainer", failed_only=True)
    run.job("agentic / c1").steps.append(Step("more", 4, "success", 0, 0))
    run.finish("success")
    assert [one.conclusion for one in github.jobs(R, 4001, 1)] == ["failure"]
    assert [(one.conclusion, one.attempt) for one in github.jobs(R, 4001, 2)] == [("success", 2)]
    assert github.run(R, 4001).attempt == 2
    assert github.run_attempt(R, 4001, 1).conclusion == "failure"


def test_more_jobs_than_a_page(repo: Repository, github: GitHub, world: World) -> None:
    run = repo.start_run("run-sweep.yml", "pull_request", "maintainer", id=4001)
    for number in range(120):
        run.job(f"agentic / c{number}")
    assert len(github.jobs(R, 4001, 1)) == 120
    assert world.counted() == 2


def test_a_new_run_shows_late(repo: Repository, world: World, github: GitHub) -> None:
    world.lag.runs = 5
    repo.start_run("run-sweep.yml", "push", "maintainer", id=4001)
    assert github.runs(R, "run-sweep.yml") == []
    with pytest.raises(NotThere):
        github.run(R, 4001)
    world.clock.advance(5)  # type: ignore[attr-defined]
    assert [one.id for one in github.runs(R, "run-sweep.yml")] == [4001]


def test_the_list_of_pull_requests_is_by_last_change(
    repo: Repository, pull: PullRequest, github: GitHub, world: World
) -> None:
    repo.push("second", {"b.txt": "b"}, "author")
    repo.pull_request("second", "author", number=8)
    pull.comment("reviewer", "newest change")
    assert [one.number for one in github.pulls(R)] == [7, 8]
    github.pulls(R)
    assert world.requests[-1].status == 304


def test_check_runs_of_a_commit(pull: PullRequest, github: GitHub) -> None:
    from app.github.writes import CheckRunText

    github.writes.put_check_run(R, pull.head_sha, CheckRunText("sweep", "key", "in_progress", None, "t", "s"))
    found = github.check_runs(R, pull.head_sha, name="sweep")
    assert [(one.external_id, one.status, one.title) for one in found] == [("key", "in_progress", "t")]
    assert github.check_runs(R, pull.head_sha, name="other") == []
