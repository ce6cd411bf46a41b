"""Purpose: runners.yaml in both forms, and what is refused in it."""

from __future__ import annotations

import pytest

from app.target.runners import Hardware, read_runners
from app.target.source import RejectedInput
from app.target.tree import Tree
from tests.target_masters.conftest import MakeTree

AUGUST = """\
labels:
  alpha:
    - alpha-one_0
  cluster:alpha-one:
    - alpha-one_0
hardware:
  cluster:alpha-one:
    available-cpu-dram-mib: 2_063_837
    gpus-per-node: 8
"""
OCTOBER = """\
labels:
  alpha:
    - alpha-one_00
  cluster:alpha-one:
    - alpha-one_00
    - alpha-one_01
clusters:
  alpha-one:
    gpus-per-node: 4
    available-cpu-dram-mib: 860160
    arch: aarch64
    scheduler: slurm
    slurm: { partition: batch, account: bench, exclusive: true }
"""


def test_august_hardware_is_by_label(make_tree: MakeTree) -> None:
    runners = read_runners(make_tree(runners=AUGUST))
    assert runners.hardware == {"cluster:alpha-one": Hardware(8, 2063837)}
    assert runners.labels["alpha"] == ("alpha-one_0",)
    assert runners.clusters == {}


def test_october_clusters_are_by_id_and_answer_for_their_label(make_tree: MakeTree) -> None:
    runners = read_runners(make_tree("inferencex-e2e/", runners=OCTOBER))
    assert runners.hardware == {"cluster:alpha-one": Hardware(4, 860160)}
    assert runners.clusters["alpha-one"]["arch"] == "aarch64"


def test_a_runner_belongs_to_its_cluster_label(make_tree: MakeTree) -> None:
    runners = read_runners(make_tree(runners=OCTOBER))
    assert runners.label_of("alpha-one_00") == "cluster:alpha-one"
    assert runners.label_of("elsewhere_00") is None


def test_an_absent_file_is_an_empty_inventory() -> None:
    assert read_runners(Tree("", {}, complete=True)).labels == {}


@pytest.mark.parametrize(
    ("text", "old", "new", "line", "rule"),
    [
        pytest.param(AUGUST, "hardware:", "machines:", 6, "`labels` and `hardware`", id="an unknown part"),
        pytest.param(AUGUST, "    - alpha-one_0\n", "", 2, "list of runner names", id="an empty label"),
        pytest.param(AUGUST, "gpus-per-node: 8", "gpus-per-node: 0", 9, "above 0", id="no GPUs"),
        pytest.param(AUGUST, "2_063_837", "many", 8, "above 0", id="memory in words"),
        pytest.param(
            AUGUST, "gpus-per-node: 8", "gpus-per-node: 8\n    colour: red", 10, "may have", id="unknown fact"
        ),
        pytest.param(OCTOBER, "partition", "queue", 13, "may have", id="an unknown scheduler field"),
        pytest.param(OCTOBER, "  alpha-one:\n    gpus", "  beta:\n    gpus", 4, "needs a record", id="no record"),
        pytest.param(
            OCTOBER,
            "    - alpha-one_01\n",
            "    - alpha-one_01\n  cluster:beta:\n    - alpha-one_01\n",
            7,
            "one `cluster:` label only",
            id="a runner in two fleets",
        ),
        pytest.param(
            OCTOBER,
            "    - alpha-one_00\n  cluster",
            "    - lone_00\n  cluster",
            2,
            "must be in a `cluster:` label",
            id="a runner in no fleet",
        ),
        pytest.param("hardware: {}\n", "", "", 1, "`labels` is needed", id="no labels"),
        pytest.param("labels: []\n", "", "", 1, "must be a mapping", id="labels as a list"),
    ],
)
def test_is_refused_at_its_line(make_tree: MakeTree, text: str, old: str, new: str, line: int, rule: str) -> None:
    with pytest.raises(RejectedInput) as caught:
        read_runners(make_tree(runners=text.replace(old, new, 1)))
    told = [(problem.where.line, problem.rule) for problem in caught.value.problems]
    assert any(place == line and rule in said for place, said in told), told
