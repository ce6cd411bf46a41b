"""The decisions of run-sweep.yml's jobs: labels, doubled runs, matrices, canary, and what the gate asks of decide."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.launch.sweep import (
    MOST_JOBS,
    Labels,
    Scheduling,
    Sweep,
    SweepProblem,
    older_run,
    read_labels,
    read_sweep,
    selection,
)
from app.policy import SweepPolicy

POLICY = SweepPolicy()


@pytest.mark.parametrize(
    ("words", "expected", "canary", "fast"),
    [
        (["full-sweep-fail-fast", "bug"], Labels("full-sweep-fail-fast", (), "canary-fail-fast"), True, True),
        (["full-sweep-enabled", "all-evals"], Labels("full-sweep-enabled", ("all-evals",), "canary"), True, False),
        (["non-canary-full-sweep-enabled"], Labels("non-canary-full-sweep-enabled", (), "no-canary"), False, False),
        (["evals-only"], Labels("", ("evals-only",), ""), False, False),
    ],
)
def test_labels(words: list[str], expected: Labels, canary: bool, fast: bool) -> None:
    found = read_labels(words, POLICY)
    assert found == expected
    assert (found.wants_canary, found.fail_fast) == (canary, fast)


def test_two_primaries_are_a_conflict() -> None:
    with pytest.raises(SweepProblem, match="multiple conflicting sweep labels: full-sweep-enabled, full-sweep-fail"):
        read_labels(["full-sweep-fail-fast", "full-sweep-enabled"], POLICY)


def test_an_older_run_with_the_same_key_wins() -> None:
    runs = [{"id": 5, "display_title": "Sweep #7 @ abc [k1]"}, {"id": 9, "display_title": "Sweep #7 @ abc [k2]"}]
    assert older_run(runs, "k1", 7) == 5
    assert older_run(runs, "k2", 7) is None
    assert older_run(runs, "k1", 5) is None


def jobs(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [{"name": f"j{number}"} for number in range(start, start + count)]


def test_the_canary_stands_in_its_own_matrix_and_nowhere_else() -> None:
    sweep = Sweep({"single_node.agentic": jobs(3), "agentic_evals": jobs(1, 9)}, ("single_node.agentic", 1))
    found = selection(read_sweep(sweep.text()), with_canary=True)
    assert json.loads(found["canary"]) == [{"name": "j1"}]
    assert json.loads(found["agentic"]) == [{"name": "j0"}, {"name": "j2"}]
    assert json.loads(found["agentic_eval"]) == [{"name": "j9"}]
    without = selection(sweep, with_canary=False)
    assert (without["canary"], len(json.loads(without["agentic"]))) == ("[]", 3)


def test_a_multi_node_canary_goes_its_own_way() -> None:
    found = selection(Sweep({"multi_node.agentic": jobs(2)}, ("multi_node.agentic", 0)), with_canary=True)
    assert (found["canary"], json.loads(found["multi_node_canary"])) == ("[]", [{"name": "j0"}])


def test_a_family_beyond_256_jobs_is_split_and_no_row_is_lost() -> None:
    found = selection(Sweep({"single_node.8k1k": jobs(600)}, None), with_canary=True)
    first, more = json.loads(found["single_node_8k1k"]), json.loads(found["more"])
    assert [len(first), *(len(json.loads(group["rows"])) for group in more)] == [256, 256, 88]
    assert all(group["name"] == "single-node 8k1k /" for group in more)
    names = [job["name"] for group in [first, *(json.loads(one["rows"]) for one in more)] for job in group]
    assert names == [f"j{number}" for number in range(600)]
    assert MOST_JOBS == 256


def test_lengths_without_a_family_of_their_own_run_under_their_name() -> None:
    (group,) = json.loads(selection(Sweep({"single_node.1024_8192": jobs(1)}, None), with_canary=False)["more"])
    assert (group["name"], group["multi_node"]) == ("single-node 1024_8192 /", False)


ROW = {"runner": "cluster:gb200-nv", "conc": 1}


def test_without_a_scheduler_a_job_asks_for_its_label_only() -> None:
    assert Scheduling(False, "7", 1).labels(ROW, 2.5, "x") == ["cluster:gb200-nv"]


def test_one_shot_labels_bind_score_row_run_and_attempt() -> None:
    first = Scheduling(True, "7", 1).labels({**ROW, "node-count": 4}, 2.5, "x")
    assert first[:3] == ["self-hosted", "cluster:gb200-nv", "nodes:4"]
    assert first[3].startswith("ci-job-2.500-")
    assert len(first[3].removeprefix("ci-job-2.500-")) == 32
    assert first[4] == "ci-attempt-1"
    again = Scheduling(True, "7", 2).labels({**ROW, "node-count": 4}, 2.5, "x")
    assert (again[3] != first[3], again[4]) == (True, "ci-attempt-2")
