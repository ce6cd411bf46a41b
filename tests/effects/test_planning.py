"""The plan that a label shows: the planner's own rows, by labels, with reasons where no matrix can be planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from app.decide.state import ChangedFile, Person, PullRef, PullState
from app.effects.planning import Plans
from app.effects.ports import Unavailable
from app.github import errors
from app.policy import SweepPolicy
from app.sandbox.reference_parts.tree import files

BASE, HEAD = "b" * 40, "a" * 40
MASTER = "inferencex-e2e/configs/nvidia-master.yaml"
CHANGELOG = "inferencex-e2e/perf-changelog.yaml"
KEY = "musespark-fp4-gb200-sglang-agentic-dflash"


class Files:
    """Files at two commits; counts how often it is asked."""

    def __init__(self, head: Mapping[str, bytes | None] | None = None) -> None:
        self.trees = {BASE: dict(files("base")), HEAD: {**files("base"), **files("head"), **(head or {})}}
        self.asked = 0
        self.error: Exception | None = None

    def files(self, _repository: str, wishes: Mapping[str, tuple[Sequence[str], Sequence[str]]]) -> Any:
        self.asked += 1
        if self.error is not None:
            raise self.error
        found: dict[str, dict[str, bytes | None]] = {}
        for sha, (paths, folders) in wishes.items():
            tree = self.trees[sha]
            found[sha] = {path: tree.get(path) for path in paths}
            found[sha] |= {p: c for p, c in tree.items() for folder in folders if p.startswith(f"{folder}/")}
        return SimpleNamespace(files=found)


def plans(reads: Files) -> Plans:
    sweep = SweepPolicy(primaries={"full-sweep-enabled": "canary", "trimmed": "trim"})
    return Plans(lambda _repository: reads, lambda _repository: sweep)  # type: ignore[arg-type,return-value]


def state() -> PullState:
    author, bot = Person(1, "author", False), Person(9, "sweepgate[bot]", True)
    changed = tuple(ChangedFile(path, None) for path in files("head"))
    return PullState(
        PullRef("o/r", 1),
        "A title",
        "open",
        merged=False,
        draft=False,
        author=author,
        head_sha=HEAD,
        head_ref="branch",
        head_repository="o/r",
        base_ref="main",
        base_sha=BASE,
        default_branch="main",
        body="",
        bot=bot,
        merge_base=BASE,
        files=changed,
    )


@pytest.mark.parametrize(
    ("label", "modifiers", "title"),
    [
        pytest.param("full-sweep-enabled", (), "11 points and 1 eval", id="a full sweep"),
        pytest.param("full-sweep-enabled", ("evals-only",), "0 points and 1 eval", id="evals only"),
        pytest.param("trimmed", (), "2 points and 1 eval", id="a trimmed sweep keeps the lowest of each shape"),
    ],
)
def test_the_title_counts_what_the_labels_ask_for(label: str, modifiers: tuple[str, ...], title: str) -> None:
    found = plans(Files())(state(), label, modifiers)
    assert found.ok
    assert found.title.startswith(title)
    assert KEY in found.text
    assert all(word in found.summary for word in (label, *modifiers))


def test_the_same_commits_and_labels_are_planned_once() -> None:
    reads = Files()
    planner = plans(reads)
    first = planner(state(), "full-sweep-enabled", ())
    asked = reads.asked
    assert planner(state(), "full-sweep-enabled", ()) is first
    assert reads.asked == asked
    assert planner(state(), "full-sweep-enabled", ("evals-only",)) is not first


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param({MASTER: b"a: [\n"}, "nvidia-master.yaml", id="a master that is no YAML"),
        pytest.param({CHANGELOG: b"- nonsense\n"}, "perf-changelog.yaml", id="a changelog that is none"),
        pytest.param({CHANGELOG: None}, "perf-changelog.yaml", id="no changelog"),
    ],
)
def test_a_plan_that_is_not_possible_names_the_file(changes: dict[str, bytes | None], reason: str) -> None:
    found = plans(Files(changes))(state(), "full-sweep-enabled", ())
    assert not found.ok
    assert found.title == "No sweep can be planned"
    assert reason in found.summary
    assert found.summary.endswith("the plan is made again.")


def test_a_github_that_does_not_answer_is_no_plan_and_is_asked_again() -> None:
    reads = Files()
    reads.error = errors.Unavailable("GET /: no answer")
    planner = plans(reads)
    with pytest.raises(Unavailable):
        planner(state(), "full-sweep-enabled", ())
    reads.error = None
    assert planner(state(), "full-sweep-enabled", ()).ok
