"""Purpose: a world from a folder, and clear words where the folder is no world."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.sandbox import World
from app.sandbox.load import BadWorld

TOLD = """
start: "2026-10-21T05:00:00Z"
organizations: {acme: [core]}
teams: {acme/owners: {members: [reviewer], visible: false}}
tokens: {sandbox-token: "sweepgate[bot]"}
repositories:
  acme/bench:
    files: bench/
    collaborators: {reviewer: {permission: write, role_name: maintain, association: COLLABORATOR}}
    branches:
      feature: {files: feature/, delete: [old.txt], author: author}
    pulls:
      - {number: 7, head: feature, author: author, title: Change, body: "@body.md"}
    runs:
      - {id: 4001, workflow: run-sweep.yml, event: pull_request, actor: maintainer, branch: feature,
         conclusion: success, artifacts: artifacts/, jobs: [{name: agentic / c1, log: c1.txt}]}
    then:
      - {pull: 7, by: maintainer, label: full-sweep-enabled}
      - {pull: 7, by: reviewer, comment: /use 4001}
      - {pull: 7, by: reviewer, review: Looks right, state: APPROVED}
checkpoints: {org/draft: {sha: 46c9, files: draft/}}
pages: {"https://docs.sglang.io/x": {file: page.html}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "world.yaml": TOLD,
        "bench/README.md": "one\n",
        "bench/old.txt": "old\n",
        "feature/README.md": "two\n",
        "body.md": "What it does\n",
        "artifacts/results_bmk/agg_bmk.json": "[]",
        "c1.txt": "log\n",
        "draft/config.json": "{}",
        "page.html": "<p>page</p>",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_a_folder_becomes_a_world(folder: Path) -> None:
    world = World.load(folder)
    repo = world.find("acme/bench")
    assert repo is not None
    pull = repo.pulls[7]
    assert pull.body == "What it does\n"
    assert [(one.status, one.path) for one in pull.files()] == [("modified", "README.md"), ("removed", "old.txt")]
    assert pull.labels == ["full-sweep-enabled"]
    assert [(one.kind, one.body) for one in pull.comments] == [("issue", "/use 4001"), ("review", "Looks right")]
    run = repo.run(4001)
    assert run is not None
    assert (run.conclusion, run.head_sha, run.jobs[0].log) == ("success", pull.head_sha, b"log\n")
    assert [one.name for one in run.artifacts] == ["results_bmk"]
    assert world.checkpoints["org/draft"]["main"] == {"config.json": b"{}"}
    assert world.pages["docs.sglang.io/x"][1] == b"<p>page</p>"
    assert not world.teams["acme/owners"].visible


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param(TOLD, "a: [", "world.yaml:2:1", id="no YAML"),
        pytest.param(TOLD, "", "Input should be", id="empty"),
        pytest.param(
            "files: bench/", "file: bench/", "repositories.acme/bench.files: Field required", id="a field missing"
        ),
        pytest.param("title: Change", "titel: Change", "pulls.0.titel: Extra inputs", id="a misspelt field"),
        pytest.param("files: bench/", "files: none/", "no such folder", id="no such folder"),
        pytest.param("2026-10-21T05:00:00Z", "yesterday", "start: 'yesterday' is no moment", id="no moment"),
        pytest.param("@body.md", "@none.md", "No such file", id="no such file"),
        pytest.param("head: feature", "head: none", "has no branch 'none'", id="no such branch"),
        pytest.param(
            "{pull: 7, by: maintainer", "{pull: 8, by: maintainer", "no pull request 8", id="no such pull request"
        ),
    ],
)
def test_a_folder_that_is_no_world_is_told_where_and_why(old: str, new: str, told: str, folder: Path) -> None:
    (folder / "world.yaml").write_text(TOLD.replace(old, new))
    with pytest.raises(BadWorld, match=r"world\.yaml|No such file|no such folder") as wrong:
        World.load(folder)
    assert told in str(wrong.value)


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(BadWorld, match=r"Name a folder that holds world\.yaml"):
        World.load(tmp_path / "none")
