"""Purpose: the stand-in behaves as GitHub does where a client could be caught out."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import httpx
import pytest

from app.sandbox import Server, World
from app.sandbox.clock import HandClock, WallClock, iso, moment
from app.sandbox.diff import changed_files
from app.sandbox.git import GitStore, blob_id
from app.sandbox.repository import Repository
from app.sandbox.runs import log_name
from tests.sandbox.conftest import Story

R = "/repos/acme/bench"


# git ---------------------------------------------------------------------------------------------------------


def git(folder: Path, *arguments: str) -> str:
    told = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments]
    return subprocess.run(told, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_blob_and_tree_ids_are_gits_own(tmp_path: Path) -> None:
    files = {"a.txt": b"a\n", "d/e/f.txt": b"f\n", "d.txt": b"d", "d/b.txt": b"", "d-x/y": b"y"}
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    store = GitStore()
    commit = store.commit((), files, "first", "author", 0.0)
    assert store.tree_ids(commit)[""] == git(tmp_path, "write-tree")
    assert commit.tree["d/e/f.txt"] == git(tmp_path, "hash-object", "d/e/f.txt")


def test_an_empty_files_id_is_the_well_known_one() -> None:
    assert blob_id(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


BASE = "".join(f"line {n}\n" for n in range(1, 31))


@pytest.mark.parametrize(
    ("ours", "theirs", "conflict"),
    [
        pytest.param(
            {"f": BASE.replace("line 2\n", "2\n")}, {"f": BASE.replace("line 20\n", "20\n")}, False, id="far apart"
        ),
        pytest.param(
            {"f": BASE.replace("line 2\n", "2\n")}, {"f": BASE.replace("line 2\n", "zwei\n")}, True, id="same line"
        ),
        pytest.param({"f": BASE + "ours\n"}, {"f": BASE + "theirs\n"}, True, id="both append"),
        pytest.param({"f": BASE + "same\n"}, {"f": BASE + "same\n"}, False, id="the same change"),
        pytest.param({"g": "new\n"}, {"h": "new\n"}, False, id="two new files"),
        pytest.param({"f": None}, {"f": BASE + "more\n"}, True, id="deleted and changed"),
        pytest.param({"g": "one\n"}, {"g": "two\n"}, True, id="the same new file"),
    ],
)
def test_a_merge_conflicts_where_gits_would(
    ours: dict[str, str | None], theirs: dict[str, str | None], conflict: bool, tmp_path: Path
) -> None:
    repo = World().repository("o/r", {"f": BASE})
    start = repo.branches["main"]
    repo.push("ours", ours, "a")
    repo.push("theirs", theirs, "b", base=start)
    merged, conflicts = repo.git.merge(start, repo.branches["ours"], repo.branches["theirs"])
    assert bool(conflicts) is conflict
    assert real_merge(tmp_path, ours, theirs) == (
        None if conflict else {p: repo.git.blobs[b].decode() for p, b in merged.items()}
    )


def real_merge(folder: Path, ours: dict[str, str | None], theirs: dict[str, str | None]) -> dict[str, str] | None:
    """What git makes of it; None for a conflict."""
    git(folder, "init", "-q", "-b", "main")
    _commit(folder, {"f": BASE})
    git(folder, "checkout", "-q", "-b", "theirs")
    _commit(folder, theirs)
    git(folder, "checkout", "-q", "main")
    _commit(folder, ours)
    try:
        git(folder, "merge", "-q", "theirs", "-m", "merge")
    except subprocess.CalledProcessError:
        return None
    return {path: (folder / path).read_text() for path in git(folder, "ls-files").splitlines()}


def _commit(folder: Path, changes: dict[str, str | None]) -> None:
    for path, text in changes.items():
        if text is None:
            (folder / path).unlink()
        else:
            (folder / path).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "change")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(BASE, BASE.replace("line 9\n", "nine\n"), id="one line"),
        pytest.param(BASE, BASE.replace("line 2\n", "").replace("line 28\n", "28\nmore\n"), id="two hunks"),
        pytest.param("", BASE, id="added"),
        pytest.param(BASE, "", id="emptied"),
        pytest.param("a\nb", "a\nb\n", id="a newline at the end"),
        pytest.param(BASE, BASE + "end", id="no newline at the end"),
        pytest.param("x\n" * 50, "x\n" * 40, id="equal lines"),
    ],
)
def test_a_patch_is_gits_patch(old: str, new: str, tmp_path: Path) -> None:
    store = GitStore()
    first = store.commit((), {"f": old.encode()}, "1", "a", 0.0)
    second = store.commit((first.sha,), {"f": new.encode()}, "2", "a", 1.0)
    (change,) = changed_files(store, first.tree, second.tree)
    git(tmp_path, "init", "-q")
    (tmp_path / "f").write_text(old)
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "1")
    assert change.patch is not None
    (tmp_path / "p").write_text(f"--- a/f\n+++ b/f\n{change.patch}\n")
    git(tmp_path, "apply", "--unidiff-zero", "p")
    assert (tmp_path / "f").read_text() == new
    assert git(tmp_path, "diff", "--numstat", "f").split()[:2] == [str(change.additions), str(change.deletions)]


def test_a_merge_base_survives_a_merge_of_main() -> None:
    repo = World().repository("o/r", {"f": BASE})
    repo.push("feature", {"g": "g\n"}, "a")
    tip = repo.push("main", {"h": "h\n"}, "b").sha
    merged = repo.push("feature", {}, "a", merge="main")
    assert repo.git.merge_base(repo.branches["main"], merged.sha) == tip
    assert merged.parents[1] == tip
    assert set(merged.tree) == {"f", "g", "h"}


# people and states -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("login", "association"),
    [
        pytest.param("acme", "OWNER", id="the owner"),
        pytest.param("core", "MEMBER", id="a member of the organisation"),
        pytest.param("reviewer", "COLLABORATOR", id="a collaborator"),
        pytest.param("author", "NONE", id="a stranger"),
    ],
)
def test_an_author_is_associated(login: str, association: str, story: Story) -> None:
    assert story.repo.association(login) == association


def test_whoever_had_something_merged_is_a_contributor(story: Story) -> None:
    story.pull.merge("maintainer")
    assert story.repo.association("author") == "CONTRIBUTOR"


def test_a_closed_pull_request_keeps_the_head_it_had(story: Story) -> None:
    head = story.pull.head_sha
    story.pull.close("author")
    story.repo.push("feature", {"README.md": "later"}, "author")
    assert story.pull.head_sha == head
    story.pull.reopen("author")
    assert story.pull.head_sha != head


def test_a_label_twice_is_one_event(story: Story) -> None:
    before = len(story.pull.events)
    assert story.pull.apply_label("maintainer", "full-sweep-enabled") is None
    assert len(story.pull.events) == before


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "message"),
    [
        pytest.param("GET", "/repos/acme/none", None, 404, "Not Found", id="no repository"),
        pytest.param("GET", f"{R}/pulls/99", None, 404, "Not Found", id="no pull request"),
        pytest.param("GET", f"{R}/nonsense", None, 404, "Not Found", id="no such endpoint"),
        pytest.param("POST", f"{R}/issues/7/comments", {}, 422, "Validation Failed", id="a comment without a body"),
        pytest.param(
            "POST", f"{R}/issues/7/comments", {"body": "x" * 65_537}, 422, "Validation Failed", id="too long a body"
        ),
        pytest.param(
            "PUT", f"{R}/pulls/7/merge", {"sha": "0" * 40}, 409, "Head branch was modified", id="a moved head"
        ),
        pytest.param(
            "GET", f"{R}/actions/artifacts/6002/zip", None, 410, "Artifact has expired", id="an expired artifact"
        ),
        pytest.param("POST", f"{R}/actions/runs/4001/cancel", None, 409, "Cannot cancel", id="a completed run"),
        pytest.param(
            "GET", "/orgs/acme/teams/hidden/members", None, 403, "Resource not accessible", id="a hidden team"
        ),
        pytest.param(
            "PATCH", f"{R}/git/refs/heads/feature", {"sha": "0" * 40}, 422, "Object does not exist", id="no object"
        ),
    ],
)
def test_a_request_is_refused(
    method: str, path: str, body: dict[str, str] | None, status: int, message: str, api: httpx.Client
) -> None:
    answer = api.request(method, path, json=body)
    assert answer.status_code == status
    assert answer.json()["message"].startswith(message)


def test_a_reader_may_comment_and_not_label(story: Story, server: Server) -> None:
    headers = {"Authorization": "token reader-token"}
    with httpx.Client(base_url=server.url, headers=headers, trust_env=False) as client:
        assert client.post(f"{R}/issues/7/comments", json={"body": "hi"}).status_code == 201
        assert client.post(f"{R}/issues/7/labels", json={"labels": ["x"]}).status_code == 403
    with httpx.Client(base_url=server.url, trust_env=False) as client:
        assert client.get(f"{R}/pulls/7").status_code == 200
        assert client.post(f"{R}/issues/7/comments", json={"body": "hi"}).status_code == 401


def test_the_budget_is_told_and_an_unchanged_answer_is_free(api: httpx.Client) -> None:
    first = api.get(f"{R}/pulls/7")
    second = api.get(f"{R}/pulls/7", headers={"If-None-Match": first.headers["ETag"]})
    assert (second.status_code, second.content) == (304, b"")
    assert first.headers["X-RateLimit-Remaining"] == second.headers["X-RateLimit-Remaining"] == "4999"
    assert api.get("/rate_limit").json()["resources"]["core"]["used"] == 1


def test_lists_are_paged_by_links(api: httpx.Client, story: Story) -> None:
    for number in range(25):
        story.pull.comment("reviewer", f"comment {number}")
    seen = 0
    url = f"{R}/issues/7/comments?per_page=10"
    while url:
        answer = api.get(url)
        seen += len(answer.json())
        url = answer.links.get("next", {}).get("url", "")
    assert seen == 26


@pytest.mark.parametrize(
    ("query", "message"),
    [
        pytest.param("comments { nodes { id } }", "You must provide a `first` or `last` value", id="no page size"),
        pytest.param(
            "comments(first: 101) { nodes { id } }", "exceeds the limit of 100 records", id="too large a page"
        ),
        pytest.param("nonsense", "Cannot query field 'nonsense'", id="no such field"),
    ],
)
def test_graphql_refuses_what_github_refuses(query: str, message: str, api: httpx.Client) -> None:
    text = f'{{ repository(owner: "acme", name: "bench") {{ pullRequest(number: 7) {{ {query} }} }} }}'
    answer = api.post("/graphql", json={"query": text})
    assert answer.status_code == 200
    assert message in answer.json()["errors"][0]["message"]


def test_new_things_show_late_in_lists(story: Story, api: httpx.Client) -> None:
    story.world.lag.comments = 1
    made = story.pull.comment("reviewer", "late")
    assert all(each["id"] != made.id for each in api.get(f"{R}/issues/7/comments").json())
    story.world.clock.advance(1)  # type: ignore[attr-defined]
    assert any(each["id"] == made.id for each in api.get(f"{R}/issues/7/comments").json())


def test_the_log_archive_spells_job_names_as_github_does() -> None:
    assert log_name("agentic / p1.000 | a b c1") == "agentic  p1.000  a b c1"
    assert len(log_name("x" * 200)) == 90


def test_the_hand_clock_moves_only_when_told() -> None:
    clock = HandClock("2026-10-21T05:22:39Z", step=2)
    assert (iso(clock.now()), iso(clock.tick())) == ("2026-10-21T05:22:39Z", "2026-10-21T05:22:41Z")
    clock.advance(19)
    assert iso(clock.now()) == "2026-10-21T05:23:00Z"
    clock.set("2026-10-20T00:00:00Z")
    assert clock.now() == moment("2026-10-20T00:00:00+00:00")
    assert WallClock().tick() <= WallClock().now()


def test_the_archive_host_is_another_host(server: Server) -> None:
    assert server.files_host != server.url
    assert server.world.files_url.startswith(server.files_host)


def test_ids_of_comments_are_above_32_bits(story: Story) -> None:
    assert all(one.id > 2**31 for one in story.pull.comments)


def test_a_private_repository_is_not_there_for_a_stranger(story: Story, server: Server) -> None:
    story.repo.private = True
    with httpx.Client(base_url=server.url, trust_env=False) as client:
        assert client.get(R).status_code == 404


def test_commit_ids_of_a_story_are_the_same_each_time() -> None:
    def head() -> str:
        repo: Repository = World().repository("o/r", {"a": "1"})
        return repo.push("feature", {"a": "2"}, "author").sha

    assert head() == head()
    assert len(head()) == hashlib.sha1(usedforsecurity=False).digest_size * 2
