"""Purpose: directories and git revisions as trees, merge bases, the text diff, and what is never followed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from app.checkout.revisions import Unreadable, changed_paths, directory_tree, git_tree, open_pair, text_diff
from app.target.source import RejectedInput
from app.target.tree import Layout


class Repository:
    """A git repository in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        identity = ["-c", "user.name=author", "-c", "user.email=author@users.noreply.example.invalid"]
        done = subprocess.run(
            ["git", "-C", str(self.folder), *identity, *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, **files: str) -> str:
        for name, text in files.items():
            path = self.folder / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "change")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_a_revision_has_the_files_of_that_commit(repository: Repository) -> None:
    old = repository.commit(a="1", sub__b="2")
    repository.commit(a="changed")
    tree = git_tree(str(repository.folder), old)
    assert tree.revision == old
    assert {path: tree.read(path) for path in tree.files} == {"a": b"1", "sub/b": b"2"}
    assert tree.read("absent") is None
    assert list(tree.below("sub/")) == ["sub/b"]


def test_equal_files_of_two_commits_are_known_without_reading(repository: Repository) -> None:
    old, new = repository.commit(a="1", b="1"), repository.commit(a="2")
    before, after = git_tree(str(repository.folder), old), git_tree(str(repository.folder), new)
    assert before.identity("b") == after.identity("b")
    assert before.identity("a") != after.identity("a")
    assert before.identity("absent") is None
    assert changed_paths(str(repository.folder), old, new) == ("a",)


def test_the_layout_is_that_of_the_commit(repository: Repository) -> None:
    old, new = repository.commit(configs__x="1"), repository.commit(**{"inferencex-e2e__configs__x": "1"})
    assert git_tree(str(repository.folder), old).layout is Layout.AUGUST
    assert git_tree(str(repository.folder), new).layout is Layout.OCTOBER


def test_a_base_revision_stands_for_its_merge_base(repository: Repository) -> None:
    start = repository.commit(a="1")
    repository.git("checkout", "--quiet", "-b", "topic")
    head = repository.commit(b="1")
    repository.git("checkout", "--quiet", "main")
    main = repository.commit(c="1")
    before, after = open_pair("main", "topic", str(repository.folder))
    assert (before.revision, after.revision) == (start, head)
    assert open_pair("main", "topic", str(repository.folder), two_dot=True)[0].revision == main


def test_without_head_the_directory_counts_as_it_stands(repository: Repository) -> None:
    start = repository.commit(a="1")
    (repository.folder / "a").write_text("edited", encoding="utf-8")
    before, after = open_pair("main", "", str(repository.folder))
    assert (before.revision, before.read("a")) == (start, b"1")
    assert (after.revision, after.read("a")) == ("", b"edited")


@pytest.mark.parametrize("name", ["no-such-revision", "--output=x", " ", "main:a"])
def test_what_is_no_revision_is_said(repository: Repository, name: str) -> None:
    repository.commit(a="1")
    with pytest.raises(Unreadable, match="neither a directory nor"):
        git_tree(str(repository.folder), name)


def test_a_place_without_repository_is_said(tmp_path: Path) -> None:
    with pytest.raises(Unreadable):
        git_tree(str(tmp_path), "main")
    with pytest.raises(Unreadable):
        git_tree(str(tmp_path / "absent"), "main")


def test_links_in_a_commit_are_refused(repository: Repository) -> None:
    (repository.folder / "link").symlink_to("/etc/hostname")
    tree = git_tree(str(repository.folder), repository.commit(a="1"))
    with pytest.raises(RejectedInput, match="Symbolic links"):
        tree.read("link")
    assert "link" not in tree.files


@pytest.mark.parametrize("path", ["../outside", "/etc/hostname", "a/../../outside", "sub/../../outside"])
def test_paths_that_leave_are_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "outside").write_text("secret", encoding="utf-8")
    (tmp_path / "root" / "sub").mkdir(parents=True)
    with pytest.raises(RejectedInput, match="may not leave the repository"):
        directory_tree(str(tmp_path / "root")).read(path)


def test_links_in_a_directory_are_refused_wherever_they_stand(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("secret", encoding="utf-8")
    (root / "folder").symlink_to(tmp_path / "outside")
    tree = directory_tree(str(root))
    with pytest.raises(RejectedInput, match="Symbolic links"):
        tree.read("folder/file")
    assert list(tree.files) == []


def test_a_directory_and_a_missing_file_are_absent(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    tree = directory_tree(str(tmp_path))
    assert (tree.read("folder"), tree.read("folder/file"), tree.read("file/below")) == (None, None, None)


def test_a_git_folder_is_not_part_of_a_directory(repository: Repository) -> None:
    repository.commit(a="1")
    assert list(directory_tree(str(repository.folder)).files) == ["a"]


def diff(before: str, after: str) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    added, deleted = text_diff(before.encode(), after.encode())
    return list(zip(added.numbers, added.lines, strict=True)), list(zip(deleted.numbers, deleted.lines, strict=True))


@pytest.mark.parametrize(
    ("before", "after", "added", "deleted"),
    [
        pytest.param("a\nb\n", "a\nb\n", [], [], id="nothing"),
        pytest.param("a\n", "a\nb\nc\n", [(2, "b"), (3, "c")], [], id="lines at the end"),
        pytest.param("a\nc\n", "a\nb\nc\n", [(2, "b")], [], id="a line in the middle"),
        pytest.param("a\nb\n", "a\n", [], [(2, "b")], id="a deleted line"),
        pytest.param("a\n", "b\n", [(1, "b")], [(1, "a")], id="an edited line"),
        pytest.param("a", "a\n", [(1, "a")], [(1, "a")], id="a final newline"),
        pytest.param("a\n", "a\n++b\n", [], [], id="an added line that looks like a header is lost"),
        pytest.param("--a\nb\n", "b\n", [], [], id="a deleted line that looks like a header is lost"),
        pytest.param("", "a\n", [(1, "a")], [], id="a new file"),
        pytest.param("a\n", "a\nb\r\n", [(2, "b")], [], id="a carriage return"),
    ],
)
def test_the_text_diff_is_gits(
    before: str, after: str, added: list[tuple[int, str]], deleted: list[tuple[int, str]]
) -> None:
    assert diff(before, after) == (added, deleted)


def test_far_hunks_keep_their_numbers() -> None:
    lines = [f"line {number}" for number in range(100)]
    edited = [*lines[:10], "new", *lines[10:90], "newer", *lines[90:]]
    assert diff("\n".join(lines) + "\n", "\n".join(edited) + "\n") == ([(11, "new"), (92, "newer")], [])


def test_a_personal_git_configuration_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "gitconfig"
    config.write_text(
        "[diff]\n\texternal = false\n\tmnemonicPrefix = true\n\tnoprefix = true\n[color]\n\tui = always\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    assert diff("a\n", "a\nb\n") == ([(2, "b")], [])
