"""Purpose: launch settings of vLLM recipes: base, variant, hardware, strategy, features, guide."""

from __future__ import annotations

import pytest

from app.facts.cookbook import UnreadablePage
from app.facts.vllm_recipe import read_vllm_recipe, strategy_of

RECIPE = b"""
meta: {hardware: {b200: verified, h200: unknown}}
model:
  model_id: org/Model
  base_args: [--block-size, "128", --trust-remote-code]
  base_env: {A: "1"}
features:
  reasoning: {args: [--reasoning-parser, m]}
  spec:
    modes:
      mtp: {variants: [default], args: [--speculative-config, '{"method":"mtp"}']}
      other: {variants: [nvfp4], args: [--speculative-config, '{"method":"other"}']}
  encoder:
    hardware_overrides:
      nvidia: {args: [--mm-backend, FLASHINFER]}
      amd: {args: [--mm-backend, AITER]}
variants:
  default: {precision: bf16}
  nvfp4:
    model_id: org/Model-NVFP4
    extra_args: [--kv-cache-dtype, fp8]
    extra_env: {B: "2"}
compatible_strategies: [single_node_tp, pd_cluster]
hardware_overrides:
  nvidia: {extra_args: [--moe-backend, trtllm]}
  blackwell: {extra_args: [--moe-backend, cutlass]}
  amd: {extra_args: [--attention-backend, TRITON]}
strategy_overrides:
  pd_cluster:
    env: {R: router}
    decode: {vllm_args: [--max-num-seqs, "64"], env: {D: "1"}}
guide: |
  ```bash
  vllm serve org/Model --enable-prefix-caching
  vllm serve org/Model-NVFP4 --max-model-len 4096
  ```
"""


def test_a_variant_is_found_by_its_model() -> None:
    recipe = read_vllm_recipe("m.yaml", RECIPE)
    assert recipe.variant_for("ORG/model-nvfp4") == "nvfp4"
    assert recipe.variant_for("org/Model") == "default"
    assert recipe.variant_for("other/Model") is None
    assert recipe.verified_on("b200")
    assert not recipe.verified_on("h200")


def test_the_narrower_hardware_override_wins_over_the_brand() -> None:
    launch = read_vllm_recipe("m.yaml", RECIPE).launch("nvfp4", "gb200", "single_node_tp", "agg")
    assert launch.required["--moe-backend"] == ["cutlass"]
    assert launch.required["--kv-cache-dtype"] == ["fp8"]
    assert launch.required["--block-size"] == ["128"]
    assert launch.required["--trust-remote-code"] == []
    assert launch.env == {"A": "1", "B": "2"}


def test_another_brand_has_its_own_settings() -> None:
    launch = read_vllm_recipe("m.yaml", RECIPE).launch("default", "mi355x", "single_node_tp", "agg")
    assert "--moe-backend" not in launch.required
    assert launch.required["--attention-backend"] == ["TRITON"]
    assert launch.allowed["--mm-backend"] == (["AITER"],)


def test_features_and_guide_commands_are_allowed_for_their_variant() -> None:
    launch = read_vllm_recipe("m.yaml", RECIPE).launch("default", "b200", "single_node_tp", "agg")
    assert launch.allowed["--speculative-config"] == (['{"method":"mtp"}'],)
    assert launch.allowed["--enable-prefix-caching"] == ([],)
    assert "--max-model-len" not in launch.allowed


def test_a_strategy_overrides_one_role() -> None:
    recipe = read_vllm_recipe("m.yaml", RECIPE)
    decode, prefill = (recipe.launch("default", "b200", "pd_cluster", role) for role in ("decode", "prefill"))
    assert decode.required["--max-num-seqs"] == ["64"]
    assert decode.env["D"] == "1"
    assert "--max-num-seqs" not in prefill.required
    assert prefill.env["R"] == "router"


@pytest.mark.parametrize(
    "content", [b"[1, 2]", b"model: {}", b"a: [", b""], ids=["a list", "no model id", "no YAML", "empty"]
)
def test_a_file_of_another_form_is_refused(content: bytes) -> None:
    with pytest.raises(UnreadablePage):
        read_vllm_recipe("m.yaml", content)


@pytest.mark.parametrize(
    ("shape", "name"),
    [
        pytest.param(
            {"multinode": False, "disaggregated": False, "tp": 8, "dp": 1, "expert_parallel": False},
            "single_node_tp",
            id="TP on one node",
        ),
        pytest.param(
            {"multinode": False, "disaggregated": False, "tp": 8, "dp": 1, "expert_parallel": True},
            "single_node_tep",
            id="TP with experts spread",
        ),
        pytest.param(
            {"multinode": False, "disaggregated": False, "tp": 1, "dp": 8, "expert_parallel": True},
            "single_node_dep",
            id="data parallel",
        ),
        pytest.param(
            {"multinode": True, "disaggregated": False, "tp": 8, "dp": 1, "expert_parallel": False, "pp": 2},
            "multi_node_tp_pp",
            id="pipeline over nodes",
        ),
        pytest.param(
            {"multinode": True, "disaggregated": True, "tp": 8, "dp": 1, "expert_parallel": True},
            "pd_cluster",
            id="prefill and decode apart",
        ),
    ],
)
def test_the_strategy_follows_the_topology(shape: dict[str, object], name: str) -> None:
    assert strategy_of(**shape) == name  # type: ignore[arg-type]
