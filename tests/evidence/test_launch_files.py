"""Purpose: the scripts of a launch are gathered round by round, and decide whether two commits measure the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from app.evidence.reads import Comparison, FilesAnswer
from app.evidence.wanted import unread_launch_files
from app.sandbox.reference_parts.tree import files
from app.target.tree import Tree
from app.verdict.measurement import measure

ROOT = "inferencex-e2e/"
MASTER = f"{ROOT}configs/nvidia-master.yaml"
SCRIPT, LIBRARY = f"{ROOT}benchmarks/srt_agentic.sh", f"{ROOT}benchmarks/client_lib.sh"
LAUNCHER = f"{ROOT}infx/launch/slurm.py"
BASE, HEAD, OTHER = "a" * 40, "b" * 40, "c" * 40
Files = dict[str, bytes]


class Reads:
    """Three revisions in memory; counts what it is asked for."""

    def __init__(self, revisions: Mapping[str, Files]) -> None:
        self.revisions = revisions
        self.asked: list[str] = []

    def compare(self, _repository: str, base: str, head: str) -> Comparison:
        before, after = self.revisions[base], self.revisions[head]
        paths = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
        return Comparison(base, [{"path": path, "status": "modified"} for path in paths])

    def files(self, _repository: str, wishes: Mapping[str, tuple[Sequence[str], Sequence[str]]]) -> FilesAnswer:
        found: dict[str, dict[str, bytes | None]] = {}
        for sha, (paths, folders) in wishes.items():
            files = self.revisions[sha]
            found[sha] = {path: files.get(path) for path in paths}
            below = tuple(f"{folder}/" for folder in folders)
            found[sha] |= {path: content for path, content in files.items() if path.startswith(below)}
            self.asked += paths
        return FilesAnswer(found)

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} must not be asked for")


def revisions(at_head: Callable[[Files], Files], at_other: Callable[[Files], Files]) -> Reads:
    """The merge base, a head that submits the reference entry, and another commit of the same pull request."""
    base = {
        **files("base"),
        SCRIPT: b'#!/bin/bash\nsource "$(dirname "$0")/client_lib.sh"\nrun_client\n',
        LIBRARY: b"run_client() { aiperf profile; }\n",
        LAUNCHER: b"print('sbatch')\n",
    }
    submitted = {**base, **files("head")}
    return Reads({BASE: base, HEAD: at_head(dict(submitted)), OTHER: at_other(dict(submitted))})


def unchanged(content: Files) -> Files:
    return content


def rewritten(path: str) -> Callable[[Files], Files]:
    return lambda content: {**content, path: content[path] + b"# another step\nexport LC_ALL=C\n"}


def measured(at_head: Callable[[Files], Files] = unchanged, at_other: Callable[[Files], Files] = unchanged) -> Any:
    return measure(revisions(at_head, at_other), "o/r", BASE, HEAD, OTHER)  # type: ignore[arg-type]


def test_commits_with_equal_launch_files_measure_the_same() -> None:
    assert measured().same is True


@pytest.mark.parametrize("path", [SCRIPT, LIBRARY, LAUNCHER], ids=["the client script", "what it sources", "launcher"])
@pytest.mark.parametrize("side", ["head", "other"])
def test_a_launch_file_that_differs_is_another_measurement(path: str, side: str) -> None:
    found = measured(**{f"at_{side}": rewritten(path)})
    assert found.same is False
    assert path in found.files


def test_a_file_outside_of_the_launch_does_not_count() -> None:
    def told(content: Files) -> Files:
        return {**content, f"{ROOT}docs/notes.md": b"more\n"}

    assert measured(at_head=told).same is True


def test_scripts_are_asked_for_round_by_round() -> None:
    reads = revisions(unchanged, unchanged)
    measure(reads, "o/r", BASE, HEAD, OTHER)  # type: ignore[arg-type]
    assert reads.asked.index(SCRIPT) < reads.asked.index(LIBRARY)


def test_a_tree_without_the_client_script_names_it() -> None:
    base, head = files("base"), {**files("base"), **files("head")}
    changed = [path for path in head if base.get(path) != head[path]]
    folders = frozenset((f"{ROOT}infx/launch", f"{ROOT}infx/srt"))
    before, after = Tree(BASE, base, folders=folders), Tree(HEAD, head, folders=folders)
    assert SCRIPT in unread_launch_files(before, after, changed)
