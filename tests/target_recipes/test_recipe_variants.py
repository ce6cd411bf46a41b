"""Purpose: bundles: merge, null, zip, names, selectors, schema inheritance; and what each malformed bundle is told."""

from __future__ import annotations

from typing import Any

import pytest
from recipe_trees import SINGLE, tree_of

from app.target.recipes import read_recipe
from app.target.source import RejectedInput

BUNDLE = """
base:
  schema: 2
  name: stem
  engine: sglang
  roles:
    agg:
      nodes: 1
      workers: 1
      args: {tensor-parallel-size: 4, stream-interval: 10, log-level: info}
      env: {KEPT: '1', CLEARED: '1'}
override_b:
  roles: {agg: {args: {stream-interval: 20, log-level: null}, env: {CLEARED: null}}}
override_a:
  name: own
  roles: {agg: {gpus: 4}}
zip_override_z:
  roles:
    agg:
      gpus: [4]
      args: {max-running-requests: [1, 2, 4], cuda-graph-bs: [[1, 2], [2], [4]], log-level: null}
  benchmark: {env: {CONC: ['1', '2', '4']}}
"""


def variants(text: str, selector: str = "") -> list[Any]:
    return list(read_recipe(tree_of(recipe=text), SINGLE, selector))


def test_without_a_selector_the_candidates_are_overrides_then_zips_in_key_order() -> None:
    names = [recipe.variant for recipe in variants(BUNDLE)]
    assert names == ["override_a", "override_b", "zip_override_z[0]", "zip_override_z[1]", "zip_override_z[2]"]


SELECTED = [
    ("base alone when it is named", "base", ["base"]),
    ("one override", "override_b", ["override_b"]),
    ("one zipped variant", "zip_override_z[1]", ["zip_override_z[1]"]),
    ("all variants of a zip", "zip_override_z", ["zip_override_z[0]", "zip_override_z[1]", "zip_override_z[2]"]),
]


@pytest.mark.parametrize(("selector", "names"), [row[1:] for row in SELECTED], ids=[row[0] for row in SELECTED])
def test_a_selector_names_its_variants(selector: str, names: list[str]) -> None:
    assert [recipe.variant for recipe in variants(BUNDLE, selector)] == names


def test_an_override_merges_replaces_and_deletes_and_knows_who_decided() -> None:
    (recipe,) = variants(BUNDLE, "override_b")
    role = recipe.roles["agg"]
    assert {name: setting.value for name, setting in role.args.items()} == {
        "tensor-parallel-size": 4,
        "stream-interval": 20,
    }
    assert {name: setting.value for name, setting in role.env.items()} == {"KEPT": "1"}
    assert role.args["tensor-parallel-size"].where.line == 10
    assert role.args["stream-interval"].where.line == 13
    assert role.args["stream-interval"].where.sha == "abc1234"


def test_zipped_lists_run_side_by_side_and_lists_of_one_broadcast() -> None:
    found = variants(BUNDLE, "zip_override_z")
    assert [recipe.roles["agg"].arg("max-running-requests") for recipe in found] == [1, 2, 4]
    assert [recipe.roles["agg"].arg("cuda-graph-bs") for recipe in found] == [[1, 2], [2], [4]]
    assert [recipe.benchmark_env["CONC"].value for recipe in found] == ["1", "2", "4"]
    assert {recipe.roles["agg"].gpus for recipe in found} == {4}
    assert "log-level" not in found[0].roles["agg"].args


def test_names_come_from_the_base_unless_the_override_sets_one() -> None:
    assert [recipe.name for recipe in variants(BUNDLE)] == ["own", "stem_b", "stem_z_0", "stem_z_1", "stem_z_2"]


def test_the_schema_at_the_top_level_is_inherited() -> None:
    text = "schema: 2\n" + BUNDLE.replace("  schema: 2\n", "")
    assert {recipe.schema for recipe in variants(text)} == {2}


def test_a_shared_fragment_stands_below_the_recipe_and_names_its_own_file() -> None:
    fragment = "benchmark:\n  type: custom\n  command: bash /infmax-workspace/benchmarks/srt_agentic.sh\n"
    tree = tree_of(recipe=BUNDLE, fragment=fragment)
    recipe = read_recipe(tree, SINGLE, "override_b")[0]
    assert recipe.benchmark["type"].value == "custom"
    assert str(recipe.benchmark["type"].where) == "inferencex-e2e/configs/srt-recipes/agentic-single.yaml:2:3"
    own = BUNDLE.replace("benchmark: {env", "benchmark: {type: mine, env")
    assert read_recipe(tree_of(recipe=own, fragment=fragment), SINGLE)[-1].benchmark["type"].value == "mine"


PLAIN = "schema: 2\nengine: sglang\nroles: {agg: {args: {tensor-parallel-size: 1}}}\n"
REJECTED = [
    ("a selector on a plain file", PLAIN, "override_x", "takes no selector"),
    ("overrides without base", "override_x: {a: 1}\n", "", "needs base"),
    ("base without overrides", "base: {schema: 2}\n", "", "at least one override"),
    ("a stray key beside base", BUNDLE + "resources: {}\n", "", "Move resources into base"),
    ("an unknown block", BUNDLE, "override_q", "Choose one of"),
    ("a malformed selector", BUNDLE, "zip_override_z[x]", "names no variant"),
    ("an index on an override", BUNDLE, "override_a[0]", "take an index"),
    ("an index beyond the zip", BUNDLE, "zip_override_z[3]", "from 0 to 2"),
    ("zipped lists of different lengths", BUNDLE.replace("[1, 2, 4]", "[1, 2]"), "", "same length"),
    ("an empty zipped list", BUNDLE.replace("gpus: [4]", "gpus: []"), "", "may not be empty"),
    ("an override that is no mapping", BUNDLE + "override_q: 3\n", "", "must be a mapping"),
    ("a recipe that is a list", "- a\n", "", "must be a mapping"),
    ("roles without a schema", PLAIN.replace("schema: 2\n", ""), "", "needs schema: 2"),
    ("an unknown schema", PLAIN.replace("2", "7"), "", "1 or 2"),
    ("no engine", PLAIN.replace("engine: sglang\n", ""), "", "name its engine"),
    ("an unknown role", PLAIN.replace("agg", "router"), "", "agg, prefill and decode"),
    ("no roles", "schema: 2\nengine: sglang\n", "", "at least one role"),
    ("a flag spelled twice with two values", PLAIN.replace("size: 1", "size: 1, tp-size: 2"), "", "set twice"),
    ("a number of GPUs that is none", PLAIN.replace("agg: {", "agg: {gpus: four, "), "", "whole number"),
    ("an environment value that is a list", PLAIN.replace("agg: {", "agg: {env: {A: [1]}, "), "", "must be text"),
    ("an environment value that is true", PLAIN.replace("agg: {", "agg: {env: {A: true}, "), "", "must be text"),
    ("a key that is no string", PLAIN.replace("size: 1", "size: 1, 8: 2"), "", "must be a string"),
    ("a doubled key", PLAIN.replace("size: 1", "size: 1, tensor-parallel-size: 2"), "", "once in a mapping"),
    ("a setup script that is a number", PLAIN + "setup_script: 3\n", "", "file name"),
    ("a fragment that writes the model path", PLAIN + "model: {precision: fp4}\n", "", "planner decides"),
    ("a fragment that writes the result folder", PLAIN + "benchmark: {env: {RESULT_DIR: /x}}\n", "", "RESULT_DIR"),
    (
        "a fragment base that writes CONC",
        BUNDLE.replace("  name: stem", "  benchmark: {env: {CONC: '9'}}"),
        "base",
        "CONC",
    ),
]


@pytest.mark.parametrize(("text", "selector", "words"), [row[1:] for row in REJECTED], ids=[row[0] for row in REJECTED])
def test_a_malformed_recipe_is_told_with_file_and_line(text: str, selector: str, words: str) -> None:
    with pytest.raises(RejectedInput) as told:
        variants(text, selector)
    assert words in str(told.value)
    assert all(problem.where.path == SINGLE and problem.where.line >= 1 for problem in told.value.problems)
    assert all(problem.fix.endswith(".") for problem in told.value.problems)


def test_a_recipe_that_is_not_there_is_told() -> None:
    with pytest.raises(RejectedInput, match="not in the repository"):
        read_recipe(tree_of(), SINGLE)


def test_a_doubled_key_of_an_old_file_counts_as_the_harness_reads_it_and_is_told() -> None:
    text = PLAIN.replace("size: 1", "size: 1, tensor-parallel-size: 2")
    (recipe,) = read_recipe(tree_of(recipe=text), SINGLE, lenient=True)
    assert recipe.roles["agg"].arg("tensor-parallel-size") == 2
    assert "once in a mapping" in recipe.notes[0]
