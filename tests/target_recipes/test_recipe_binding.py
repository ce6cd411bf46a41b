"""Purpose: exactly one variant serves a point; a point without one names the nearest miss."""

from __future__ import annotations

from typing import Any

import pytest
from recipe_trees import MULTI, SINGLE, august, tree_of

from app.target.binding import bind, bind_point
from app.target.recipe import EffectiveRecipe, Unbound
from app.target.recipes import effective, identity_recipe, read_recipe, recipe_reference
from app.target.source import FileLine
from app.target.tree import Layout, Tree

BUNDLE = """
base:
  schema: 2
  name: reference
  engine: sglang
  telemetry: {dcgm_exporter: {container_image: dcgm}}
  roles:
    agg:
      nodes: 1
      workers: 1
      gpus: 4
      args: {tp-size: 4, ep-size: 4, speculative-algorithm: DFLASH, speculative-num-draft-tokens: 8}
  benchmark: {type: custom, command: bash /infmax-workspace/benchmarks/srt_agentic.sh, env: {TOKENIZER: x}}
override_c1: {benchmark: {env: {CONC: '1', KV_OFFLOADING: none}}}
override_c4: {roles: {agg: {args: {max-running-requests: 2}}}, benchmark: {env: {CONC: '4', KV_OFFLOADING: dram}}}
override_c16: {benchmark: {env: {CONC: '16'}}}
"""
ROW: dict[str, Any] = {
    "framework": "sglang",
    "tp": 4,
    "ep": 4,
    "dp-attn": False,
    "pp": 1,
    "spec-decoding": "mtp",
    "kv-offloading": "dram",
    "total-cpu-dram-gb": 721,
    "scenario-type": "agentic-coding",
    "conc": 4,
}


def bound(text: str = BUNDLE, **row: Any) -> EffectiveRecipe | Unbound:
    return effective(tree_of(recipe=text), SINGLE, "", {**ROW, **row}, origin=FileLine("configs/master.yaml", 7))


def test_the_concurrency_pairs_a_variant_with_its_point() -> None:
    recipe = bound(conc=4)
    assert isinstance(recipe, EffectiveRecipe)
    assert recipe.variant == "override_c4"


def test_what_the_recipe_leaves_out_is_written_by_the_binder_with_the_master_line() -> None:
    recipe = bound(conc=16)
    assert isinstance(recipe, EffectiveRecipe)
    assert {name: setting.value for name, setting in recipe.benchmark_env.items()} == {
        "TOKENIZER": "x",
        "CONC": "16",
        "KV_OFFLOADING": "dram",
        "TOTAL_CPU_DRAM_GB": "721",
    }
    assert recipe.benchmark_env["KV_OFFLOADING"].where == FileLine("configs/master.yaml", 7)
    assert recipe.raw["benchmark"]["env"]["KV_OFFLOADING"] == "dram"


MISSES = [
    ("a concurrency that no variant has", {"conc": 12}, "override_c16: CONC is 16 in line 16, the point has 12"),
    ("an offloading that the variant pins otherwise", {"conc": 1}, "KV_OFFLOADING is none in line 14"),
    ("another tensor parallelism", {"tp": 8}, "tensor-parallel-size is 4 in line 12, the row needs 8"),
    ("another expert parallelism", {"ep": 1}, "expert-parallel-size is 4 in line 12, the row needs 1"),
    ("attention data parallelism", {"dp-attn": True}, "data-parallel-size is 1 by default, the row needs 4"),
    ("pipeline stages", {"pp": 2}, "roles.agg.gpus is 4, the row needs 8"),
    ("another engine", {"framework": "vllm"}, "the engine is sglang"),
    ("a row that does not draft", {"spec-decoding": "none"}, "the recipe drafts"),
]


@pytest.mark.parametrize(("row", "words"), [row[1:] for row in MISSES], ids=[row[0] for row in MISSES])
def test_a_point_without_a_variant_names_the_nearest_miss(row: dict[str, Any], words: str) -> None:
    found = bound(**row)
    assert isinstance(found, Unbound)
    assert words in found.nearest
    assert found.reason.endswith("until exactly one variant fits.")


RECIPES_THAT_MISS = [
    ("a method that the harness does not know", BUNDLE.replace("DFLASH", "NGRAM"), "method is ngram"),
    ("a draft length that is no number", BUNDLE.replace("tokens: 8", "tokens: many"), "whole number"),
    ("a benchmark that is not custom", BUNDLE.replace("type: custom", "type: sa-bench"), "must be custom"),
    ("the client of fixed sequences", BUNDLE.replace("srt_agentic", "srt_fixed_sequence"), "not the client"),
    ("two roles on a single node", BUNDLE.replace("    agg:", "    decode: {}\n    agg:"), "serves agg only"),
    ("two workers", BUNDLE.replace("workers: 1", "workers: 2"), "workers is 2"),
]


@pytest.mark.parametrize(
    ("text", "words"), [row[1:] for row in RECIPES_THAT_MISS], ids=[row[0] for row in RECIPES_THAT_MISS]
)
def test_a_recipe_that_serves_no_point_says_why(text: str, words: str) -> None:
    found = bound(text)
    assert isinstance(found, Unbound)
    assert words in found.nearest


def test_two_variants_for_one_point_are_no_answer() -> None:
    found = bound(BUNDLE.replace("CONC: '4', KV_OFFLOADING: dram", "AIPERF: '1'").replace("CONC: '16'", "AIPERF: '2'"))
    assert isinstance(found, Unbound)
    assert "2 variants serve concurrency 4: override_c16, override_c4" in found.reason


def test_a_variant_that_keeps_the_label_without_drafting_is_bound() -> None:
    text = BUNDLE.replace("speculative-algorithm: DFLASH, speculative-num-draft-tokens: 8", "page-size: 1")
    assert isinstance(bound(text), Unbound)
    assert isinstance(bound(text.replace("TOKENIZER: x", "TOKENIZER: x, SPEC_DECODING: mtp")), EffectiveRecipe)


VLLM = """
schema: 2
engine: {type: vllm}
roles:
  agg:
    args:
      {tensor-parallel-size: 1, data-parallel-size: 8, enable-expert-parallel: true, decode-context-parallel-size: 2}
"""
TRT = """
schema: 2
engine: {type: trtllm}
roles:
  agg:
    args: {tensor_parallel_size: 8, moe_expert_parallel_size: 8, enable_attention_dp: true, pipeline_parallel_size: 1}
"""
ATOM = "schema: 2\nengine: atom\nroles: {agg: {gpus: 8, args: {level: 3}}}\n"
NONE = {"spec-decoding": "none"}
PARALLEL = [
    (
        "vllm: data parallel ranks are the row's tp",
        VLLM,
        {"framework": "vllm", "tp": 8, "ep": 8, "dp-attn": True, "dcp-size": 2},
        True,
    ),
    (
        "vllm: attention data parallelism must agree",
        VLLM,
        {"framework": "vllm", "tp": 8, "ep": 8, "dcp-size": 2},
        False,
    ),
    (
        "vllm: expert parallelism must agree",
        VLLM,
        {"framework": "vllm", "tp": 8, "ep": 1, "dp-attn": True, "dcp-size": 2},
        False,
    ),
    ("vllm: context parallelism must agree", VLLM, {"framework": "vllm", "tp": 8, "ep": 8, "dp-attn": True}, False),
    ("trtllm: all four must agree", TRT, {"framework": "trt", "tp": 8, "ep": 8, "dp-attn": True}, True),
    ("trtllm: attention data parallelism must agree", TRT, {"framework": "trt", "tp": 8, "ep": 8}, False),
    ("atom: experts over all GPUs", ATOM, {"framework": "atom", "tp": 8, "ep": 8}, True),
    ("atom: experts over half of them", ATOM, {"framework": "atom", "tp": 8, "ep": 4}, False),
    ("atom: other GPUs than tp", ATOM, {"framework": "atom", "tp": 4, "ep": 1}, False),
]


@pytest.mark.parametrize(("text", "row", "fits"), [row[1:] for row in PARALLEL], ids=[row[0] for row in PARALLEL])
def test_parallelism_decides_by_engine(text: str, row: dict[str, Any], fits: bool) -> None:
    found = effective(tree_of(recipe=text), SINGLE, "", {"conc": 1, **NONE, **row})
    assert isinstance(found, EffectiveRecipe) is fits, found


FIXED_ROW = {**ROW, "isl": 8192, "osl": 1024, "scenario-type": "fixed-seq-len", "kv-offloading": None}
FIXED = BUNDLE.replace("srt_agentic", "srt_fixed_sequence").replace(", KV_OFFLOADING: dram", "")


def test_a_fixed_sequence_row_needs_its_lengths_and_the_chat_template() -> None:
    found = effective(tree_of(recipe=FIXED), SINGLE, "", FIXED_ROW)
    assert isinstance(found, EffectiveRecipe)
    assert found.benchmark_env["USE_CHAT_TEMPLATE"].value == "true"
    other = FIXED.replace("TOKENIZER: x", "USE_CHAT_TEMPLATE: 'false', ISL: '1024'")
    missed = effective(tree_of(recipe=other), SINGLE, "", FIXED_ROW)
    assert isinstance(missed, Unbound)
    assert "ISL is 1024" in missed.nearest
    assert "USE_CHAT_TEMPLATE is false" in missed.nearest


def test_a_complete_recipe_must_repeat_the_master_entry() -> None:
    text = BUNDLE.replace(
        "  engine: sglang", "  engine: sglang\n  model: {path: hf:org/m, container: img:1, precision: fp4}"
    )
    row = {"model": "org/m", "image": "img:1", "precision": "fp4"}
    assert isinstance(bound(text, **row), EffectiveRecipe)
    missed = bound(text, **{**row, "image": "img:2"})
    assert isinstance(missed, Unbound)
    assert "model.container is img:1 in line 6, the master config has img:2" in missed.nearest


def test_the_identity_leaves_out_what_is_not_measured() -> None:
    one, other = bound(conc=4), bound(conc=4)
    assert isinstance(one, EffectiveRecipe)
    assert isinstance(other, EffectiveRecipe)
    assert identity_recipe(one) == identity_recipe(other)
    assert "name" not in identity_recipe(one)
    assert "CONC" not in identity_recipe(one)["benchmark"]["env"]
    assert "CONC" in one.raw["benchmark"]["env"]
    renamed = bound(BUNDLE.replace("name: reference", "name: another"), conc=4)
    assert isinstance(renamed, EffectiveRecipe)
    assert identity_recipe(renamed) == identity_recipe(one)


def test_pinning_the_offloading_that_the_row_has_changes_no_identity() -> None:
    pinned, unpinned = bound(conc=4), bound(BUNDLE.replace(", KV_OFFLOADING: dram", ""), conc=4)
    assert isinstance(pinned, EffectiveRecipe)
    assert isinstance(unpinned, EffectiveRecipe)
    assert identity_recipe(pinned) == identity_recipe(unpinned)


def test_editing_one_override_changes_that_point_only() -> None:
    edited = BUNDLE.replace("max-running-requests: 2", "max-running-requests: 3")
    same = [bound(text, conc=16) for text in (BUNDLE, edited)]
    differs = [bound(text, conc=4) for text in (BUNDLE, edited)]
    assert all(isinstance(recipe, EffectiveRecipe) for recipe in same + differs)
    assert identity_recipe(same[0]) == identity_recipe(same[1])  # type: ignore[arg-type]
    assert identity_recipe(differs[0]) != identity_recipe(differs[1])  # type: ignore[arg-type]


def test_a_partial_point_is_filled_from_each_candidate() -> None:
    candidates = read_recipe(tree_of(recipe=BUNDLE), SINGLE)
    chosen = bind_point(candidates, {"conc": 16})
    assert isinstance(chosen, EffectiveRecipe)
    assert chosen.variant == "override_c16"
    missed = bind_point(candidates, {"conc": 15})
    assert isinstance(missed, Unbound)
    assert "override_c16: CONC is 16" in missed.nearest


AUGUST = """
name: august
model: {path: alias, container: host/image:1, precision: fp8}
resources:
  {gpus_per_node: 8, prefill_nodes: 2, prefill_workers: 4, decode_nodes: 1, decode_workers: 1, gpus_per_decode: 8}
backend:
  prefill_environment: {A: '1'}
  sglang_config:
    prefill: {tp-size: 4}
    decode: {tp-size: 8, speculative-algo: EAGLE, speculative-num-steps: 2}
frontend: {type: dynamo}
benchmark: {type: sa-bench, isl: 8192, osl: 1024, concurrencies: 1x2}
"""


def test_an_august_recipe_gives_roles_image_and_derived_gpus() -> None:
    (recipe,) = read_recipe(august(AUGUST), MULTI)
    assert (recipe.schema, recipe.engine, recipe.frontend) == (1, "sglang", "dynamo")
    assert {name: (role.nodes, role.workers, role.gpus) for name, role in recipe.roles.items()} == {
        "prefill": (2, 4, 4),
        "decode": (1, 1, 8),
    }
    assert recipe.roles["decode"].arg("tensor-parallel-size") == 8
    assert recipe.roles["decode"].arg("speculative-algorithm") == "EAGLE"
    assert str(recipe.image) == "host/image:1"
    assert recipe.generation_role is recipe.roles["decode"]


def test_identity_in_a_recipe_wins_over_the_names_of_the_cluster() -> None:
    text = AUGUST + "identity: {model: {repo: org/model}, container: {image: real/image:2}}\n"
    (recipe,) = read_recipe(august(text), MULTI)
    assert (str(recipe.image), str(recipe.model)) == ("real/image:2", "org/model")
    assert str(recipe.local_names["container"]) == "host/image:1"


def test_a_multi_node_point_binds_its_only_variant_and_gets_its_concurrency() -> None:
    row = {"framework": "dynamo-sglang", "conc": [64], "prefill": {}, "decode": {}, "isl": 8192, "osl": 1024}
    found = effective(august(AUGUST), MULTI, "", row)
    assert isinstance(found, EffectiveRecipe)
    assert found.benchmark_env["CONC"].value == "64"


def test_an_august_recipe_that_is_not_there_comes_from_outside() -> None:
    found = effective(
        august(AUGUST), "benchmarks/multi_node/srt-slurm-recipes/other.yaml", "", {"conc": [1], "prefill": {}}
    )
    assert isinstance(found, Unbound)
    assert found.outside_repository


def test_an_october_recipe_that_is_not_there_cannot_be_launched() -> None:
    tree = Tree("abc", {"inferencex-e2e/x": b""}, complete=True)
    found = effective(tree, SINGLE, "", ROW)
    assert isinstance(found, Unbound)
    assert not found.outside_repository
    assert "cannot be launched" in found.reason


def test_binding_nothing_is_an_answer_too() -> None:
    assert isinstance(bind([], ROW, multinode=False), Unbound)


REFERENCES = [
    (
        "October names a path from the benchmarks folder",
        Layout.OCTOBER,
        {"srt-recipe": "benchmarks/single_node/srt-slurm-recipes/a/agentic.yaml:override_x"},
        ("inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/a/agentic.yaml", "override_x"),
    ),
    (
        "a recipe folder of the entry goes before the name",
        Layout.OCTOBER,
        {"srt-recipe": "agentic.yaml", "srt-recipe-dir": "a/b"},
        ("inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/a/b/agentic.yaml", ""),
    ),
    (
        "August names a path below recipes/ in the prefill settings",
        Layout.AUGUST,
        {
            "prefill": {"additional-settings": ["A=1", "CONFIG_FILE=recipes/sglang/x.yaml:zip_override_y[2]"]},
            "decode": {},
        },
        ("benchmarks/multi_node/srt-slurm-recipes/sglang/x.yaml", "zip_override_y[2]"),
    ),
    (
        "llm-d names a file of its own folder",
        Layout.AUGUST,
        {"framework": "llmd-vllm", "prefill": {"additional-settings": ["CONFIG_FILE=x.yaml"]}, "decode": {}},
        ("benchmarks/multi_node/llm-d-recipes/x.yaml", ""),
    ),
    ("a row without a recipe", Layout.AUGUST, {"tp": 8}, None),
]


@pytest.mark.parametrize(
    ("layout", "row", "reference"), [row[1:] for row in REFERENCES], ids=[row[0] for row in REFERENCES]
)
def test_a_row_names_its_recipe(layout: Layout, row: dict[str, Any], reference: tuple[str, str] | None) -> None:
    assert recipe_reference(layout, row) == reference


def test_an_eval_may_have_a_recipe_of_its_own() -> None:
    settings = ["CONFIG_FILE=recipes/a.yaml", "EVAL_CONFIG_FILE=recipes/b.yaml"]
    row = {"prefill": {"additional-settings": settings}, "decode": {}}
    found = recipe_reference(Layout.AUGUST, row, evaluation=True)
    assert found == ("benchmarks/multi_node/srt-slurm-recipes/b.yaml", "")
