"""Purpose: when two commits are the same measurement: what counts, what does not, and what nobody can tell."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.planner.same_measurement import Comparison, compare_measurement
from app.planner.series import series_sizes
from app.results.curves import series_of_planned
from app.sandbox.reference_parts.tree import files
from app.target.closure import ClosureResult
from app.target.masters import read_masters
from app.target.tree import Tree

KEY = "dsv4-fp4-b200-vllm-agentic-dspark"
AGG = "glm5.3-fp4-gb200-dynamo-sglang-agentic-mtp-agg"
ROOT = "inferencex-e2e/"
MASTER, CHANGELOG = f"{ROOT}configs/nvidia-master.yaml", f"{ROOT}perf-changelog.yaml"
RECIPE = f"{ROOT}benchmarks/single_node/srt-slurm-recipes/dsv4/vllm/b200-fp4-mtp/agentic.yaml"
AGG_RECIPE = f"{ROOT}benchmarks/multi_node/srt-slurm-recipes/glm5.3/sglang/gb200-fp4/agentx/agg-tp8.yaml"
SCRIPT = f"{ROOT}benchmarks/srt_agentic.sh"
Files = dict[str, bytes]


def tree(content: Files, revision: str) -> Tree:
    return Tree(revision, content, complete=True)


def edited(path: str, old: str, new: str) -> Callable[[Files], Files]:
    def change(content: Files) -> Files:
        assert old.encode() in content[path], old
        return {**content, path: content[path].replace(old.encode(), new.encode())}

    return change


def compare(change: Callable[[Files], Files], key: str = KEY, closure=None) -> Comparison:
    before = {**files("base"), SCRIPT: b"echo\n"}
    return compare_measurement(tree(before, "a" * 40), tree(change(before), "b" * 40), [key], closure=closure)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda content: content, id="nothing changed"),
        pytest.param(edited(RECIPE, "# DeepSeek-V4-Pro", "# V4-Pro"), id="a comment"),
        pytest.param(edited(RECIPE, "name: dsv4-fp4-b200-vllm-agentic\n", "name: other\n"), id="the recipe's name"),
        pytest.param(edited(CHANGELOG, "pull/4256", "pull/1"), id="a pr-link"),
        pytest.param(edited(MASTER, "conc-list: [96, 192]", "conc-list: [96]"), id="another key"),
        pytest.param(edited(MASTER, "conc-list: [1, 3, 6]", "conc-list: [6, 3, 1]"), id="the order of a list"),
    ],
)
def test_the_same(change: Callable[[Files], Files]) -> None:
    found = compare(change)
    assert (found.same, found.points, found.told) == (True, 6, "6 points and 1 launch file equal")


@pytest.mark.parametrize(
    ("change", "path", "what"),
    [
        pytest.param(
            edited(RECIPE, "max-num-batched-tokens: 12288", "max-num-batched-tokens: 1"), RECIPE, "c1", id="a setting"
        ),
        pytest.param(edited(MASTER, "v0.31.1-x86_64", "v0.31.2-x86_64"), MASTER, "c1 differs in image", id="the image"),
        pytest.param(
            edited(MASTER, "{ tp: 8, ep: 8, dp-attn: true", "{ tp: 8, ep: 8, dp-attn: false"),
            MASTER,
            "dp-attn",
            id="the topology",
        ),
    ],
)
def test_different(change: Callable[[Files], Files], path: str, what: str) -> None:
    found = compare(change)
    assert not found.same
    assert path in found.paths
    assert any(what in difference.what for difference in found.differences)


def test_a_comment_in_a_multi_node_recipe_does_not_count() -> None:
    assert compare(edited(AGG_RECIPE, "schema: 2", "schema: 2  # second"), AGG).same


def test_a_dropped_point_is_covered_but_not_the_same() -> None:
    found = compare(edited(MASTER, "conc-list: [24, 48, 80]", "conc-list: [24, 48]"))
    assert (found.covers, found.same, [point.label for point in found.dropped]) == (True, False, ["c80"])
    assert found.paths == (MASTER,)


def test_a_new_point_is_told_as_new() -> None:
    both = edited(RECIPE, "CONC: ['1', '3', '6']", "CONC: ['1', '3', '9']")
    found = compare(lambda content: edited(MASTER, "[1, 3, 6]", "[1, 3, 9]")(both(content)))
    assert [(one.what, one.is_new) for one in found.differences] == [("c9 is new", True)]
    assert [point.label for point in found.dropped] == ["c6"]


def test_a_launch_file_without_a_closure_is_undecided() -> None:
    found = compare(edited(SCRIPT, "echo", "exit"))
    assert not found.same
    assert found.undecided == (f"which config keys {SCRIPT} serves is not known, and it differs",)


@pytest.mark.parametrize(
    ("served", "same"), [(KEY, False), ("another-key", True)], ids=["in the closure", "outside of it"]
)
def test_a_launch_file_in_the_closure_counts(served: str, same: bool) -> None:
    def closure(entry, tree: Tree) -> ClosureResult:
        return ClosureResult(frozenset({SCRIPT} if entry.key == served else ()))

    found = compare(edited(SCRIPT, "echo", "exit"), closure=closure)
    assert found.same is same
    assert (SCRIPT in found.paths) is not same


def test_an_unknown_part_of_the_closure_is_undecided() -> None:
    found = compare(dict, closure=lambda entry, tree: ClosureResult(frozenset(), ("the launcher branch is not known",)))
    assert found.undecided == (f"{KEY}: the launcher branch is not known",)
    assert not found.same


def test_what_was_not_gathered_is_undecided() -> None:
    whole = files("base")
    partial = {path: content for path, content in whole.items() if path != RECIPE}
    found = compare_measurement(Tree("a" * 40, partial), tree(dict(whole), "b" * 40), [KEY])
    assert not found.same
    assert "was not read" in found.undecided[0]


def test_a_rejected_configuration_is_undecided() -> None:
    found = compare(edited(MASTER, "precision: fp4", "precisions: fp4"))
    assert not found.same
    assert found.undecided[0].startswith("the configuration is rejected")


def test_a_commit_is_the_same_as_itself() -> None:
    one = Tree("a" * 40, {})
    assert compare_measurement(one, one, [KEY]).same


def test_labels_alone() -> None:
    to_dram = "kv-offloading: dram, kv-offload-backend: { name: native }, spec-decoding: mtp, conc-list: [1, 3, 6]"
    master = edited(MASTER, "kv-offloading: none, spec-decoding: mtp, conc-list: [1, 3, 6]", to_dram)
    found = compare(lambda content: edited(RECIPE, "KV_OFFLOADING: none", "KV_OFFLOADING: dram")(master(content)))
    assert {difference.labels_only for difference in found.differences} == {True}
    assert len(found.differences) == 3


def test_series_are_counted_over_all_keys() -> None:
    entries = read_masters(tree(dict(files("base")), "a" * 40))
    sizes = series_sizes(entries.values())
    muse = entries["musespark-fp4-gb200-sglang-agentic-dflash"]
    assert sizes[series_of_planned({**muse.data, "spec-decoding": "mtp"})] == 12
    assert sum(sizes.values()) > 60
