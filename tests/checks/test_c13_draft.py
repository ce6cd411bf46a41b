"""Purpose: check 13, rule by rule: stored precision, settings of every engine, variables of every layer, load lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from app.facts.outside import DraftCheckpoints
from app.facts.records import LogValue
from app.facts.sweep import JobLogs
from tests.checks.reference_facts import MASTER, RECIPE, Story

BANNED = "SGLANG_NVFP4_CKPT_FP8_NEXTN_MOE"
TRT = "qwen3.5-fp4-gb300-dynamo-trt-agentic-mtp-disagg"
TRT_RECIPE = "inferencex-e2e/benchmarks/multi_node/srt-slurm-recipes/qwen3.5/trtllm/gb300-fp4/agentx/disagg.yaml"
TRT_JOB = "multi-node agentic / p5.000 | qwen3.5 fp4 cluster:gb300-nv dyn-trt 1P (TP4/EP4) x 2D (TP2/EP2) mtp c52"
VLLM = "minimaxm3-fp4-gb200-vllm-agentic-eagle3"
VLLM_RECIPE = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/minimaxm3/vllm/gb200-fp4-mtp/agentic.yaml"
VLLM_JOB = "agentic / p4.000 | minimaxm3 fp4 cluster:gb200-nv vllm TP4/EP4 mtp dram KV offload native c{}"
ATOM = "dsv4-fp4-mi355x-atom-agentic-mtp"
ATOM_RECIPE = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/dsv4/atom/mi355x-fp4-mtp/agentic.yaml"
ATOM_JOB = "agentic / p3.500 | dsv4 fp4 cluster:mi355x-amds atom TP8 mtp c{}"


def role_env(line: str) -> Story:
    return Story().edit(RECIPE, "        PYTHONNOUSERSITE: '1'\n", f"        PYTHONNOUSERSITE: '1'\n        {line}\n")


def arg(line: str, path: str = RECIPE, at: str = "        speculative-algorithm: DFLASH\n") -> Story:
    return Story().edit(path, at, f"{at}        {line}\n")


def loads(job: str, *lines: str) -> Story:
    return Story().log(job, loads=tuple(LogValue(value=line, line=40 + number) for number, line in enumerate(lines)))


def header(**tensors: str) -> bytes:
    named = {name.replace("__", "."): {"dtype": dtype, "shape": [4, 4]} for name, dtype in tensors.items()}
    return json.dumps(named).encode()


def embedded(story: Story, name: str, config: dict[str, Any], **tensors: str) -> Story:
    """The served checkpoint with a draft of its own."""
    story.checkpoint_name = name
    story.checkpoint_files = {"config.json": json.dumps(config).encode(), "model.safetensors": header(**tensors)}
    return story


def vllm(config: str = "", **tensors: str) -> Story:
    """vLLM with an external EAGLE3 draft; `config` is added to the speculative JSON."""
    story = Story.of(VLLM)
    if config:
        story.both(VLLM_RECIPE, '"num_speculative_tokens":3', f'"num_speculative_tokens":3,{config}')
    embedded(story, "nvidia/MiniMax-M3-Eagle3-GQA", {"dtype": "bfloat16"}, **(tensors or {"fc__weight": "BF16"}))
    for concurrency in (5, 15):
        flags = {"agg": {"kv-cache-dtype": "fp8"}}
        story.add_log(VLLM_JOB.format(concurrency), server_args=flags, loads=["role=target", "role=draft model=x"])
    return story


def trt(old: str = "", new: str = "", **settings: Any) -> Story:
    """TensorRT-LLM with the checkpoint's own MTP layer in BF16."""
    story = Story.of(TRT)
    if old:
        story.both(TRT_RECIPE, old, new)
    config = {"num_hidden_layers": 2, "num_nextn_predict_layers": 1, "dtype": "bfloat16", **settings}
    embedded(story, "nvidia/Qwen3.5-397B-A17B-NVFP4-V2", config, model__layers__1__a="U8", model__layers__2__a="BF16")
    return story.add_log(TRT_JOB, server_args={"prefill": {"max_batch_size": "16"}, "decode": {"max_batch_size": "52"}})


def atom(exclude: list[str] | None, draft: str = "") -> Story:
    story = Story.of(ATOM)
    if exclude is not None:
        config = json.dumps({"global_quant_config": "ptpc_fp8", "exclude_layer": exclude})
        story.both(
            ATOM_RECIPE,
            "        method: dspark\n",
            f"        method: dspark\n        online_quant_config: '{config}'\n",
        )
    if draft:
        story.both(ATOM_RECIPE, "        method: dspark\n", f"        method: dspark\n        draft-model: {draft}\n")
    tensors = {"model__layers__3__attn__q__weight": "BF16", "model__layers__3__mlp__experts__0__weight": "BF16"}
    config_json = {"num_hidden_layers": 3, "num_nextn_predict_layers": 1, "dtype": "bfloat16"}
    embedded(story, draft or "deepseek-ai/DeepSeek-V4-Pro-0813", config_json, **tensors)
    for concurrency in (2, 7, 14):
        story.add_log(ATOM_JOB.format(concurrency), server_args={"agg": {"method": "dspark"}})
    return story


def lacking(name: str) -> Story:
    story = Story()
    story.checkpoint_files = {key: raw for key, raw in story.checkpoint_files.items() if key != name}
    return story


def problem(text: str) -> Story:
    story = Story()
    story.checkpoint_problem = text
    return story


def stored(dtype: str) -> Story:
    """The external draft stored in another type."""
    return embedded(
        Story(),
        "RadixArk/Muse-Spark-Open-DFlash2",
        {"dtype": dtype},
        fc__weight="F32" if dtype == "float32" else "F8_E4M3",
    )


@pytest.mark.parametrize(
    ("make", "status", "reason"),
    [
        pytest.param(
            Story,
            "PASS",
            "ships 4,887,479,552 BF16 parameters, no quantization config; logs load it without quantization; "
            "draft KV bfloat16 at c1-c8, float8_e4m3fn at c10-c32",
            id="13.as-shipped: the reference story (13.inherited)",
        ),
        pytest.param(
            lambda: role_env(f"{BANNED}: '1'"),
            "FAIL",
            f"{BANNED}=1 casts the draft",
            id="13.banned: in the role's environment",
        ),
        pytest.param(
            lambda: Story().edit(
                RECIPE,
                "  benchmark:\n    env:\n      AGENTIC",
                f"  environment: {{ {BANNED}: 'true' }}\n  benchmark:\n    env:\n      AGENTIC",
            ),
            "FAIL",
            f"{BANNED}=true",
            id="13.banned: in the recipe-wide environment",
        ),
        pytest.param(
            lambda: Story().edit(
                RECIPE,
                "    enable_multiple_frontends: false",
                f"    enable_multiple_frontends: false\n    env: {{ {BANNED}: '1' }}",
            ),
            "FAIL",
            f"{BANNED}=1",
            id="13.banned: in the frontend's environment",
        ),
        pytest.param(
            lambda: Story().log("c4", env={BANNED: LogValue(value="1", line=9)}),
            "FAIL",
            f"{BANNED}=1",
            id="13.banned: only in the job log",
        ),
        pytest.param(
            lambda: trt().both(
                MASTER, "decode: { num-worker: 2, ", f'decode: {{ additional-settings: ["{BANNED}=1"], num-worker: 2, '
            ),
            "FAIL",
            f"{BANNED}=1",
            id="13.banned: in the master row",
        ),
        pytest.param(
            lambda: role_env(f"{BANNED}: '1'").edit(
                RECIPE, "moe-runner-backend: flashinfer_trtllm", "moe-runner-backend: triton"
            ),
            "FAIL",
            f"{BANNED}=1",
            id="13.banned: whatever the runner backend",
        ),
        pytest.param(lambda: role_env(f"{BANNED}: '0'"), "PASS", "ships", id="13.off: 0"),
        pytest.param(lambda: role_env(f"{BANNED}: 'false'"), "PASS", "ships", id="13.off: false"),
        pytest.param(
            lambda: role_env("SGLANG_GLM_NEXTN_MOE_PTPC: '1'"),
            "FAIL",
            "computes the draft in FP8",
            id="13.lowering-variable: switched on",
        ),
        pytest.param(
            lambda: role_env("SGLANG_QUANT_ALLOW_DOWNCASTING: '1'"),
            "FAIL",
            "could not be verified: the effect of SGLANG_QUANT_ALLOW_DOWNCASTING=1",
            id="13.unclear-variable: nothing shows its effect",
        ),
        pytest.param(
            lambda: arg("speculative-draft-model-quantization: quark_mxfp4"),
            "FAIL",
            "quantizes the draft to quark_mxfp4",
            id="13.draft-quantization: written in the recipe, whatever the log prints",
        ),
        pytest.param(
            lambda: arg("speculative-draft-model-quantization: fp8").each_log(explicit),
            "FAIL",
            "speculative-draft-model-quantization quantizes the draft to fp8; it ships unquantized weights",
            id="13.draft-quantization: set explicitly",
        ),
        pytest.param(
            lambda: arg("speculative-draft-model-quantization: unquant").each_log(explicit),
            "PASS",
            "ships",
            id="13.restated: unquant on an unquantized draft",
        ),
        pytest.param(
            lambda: arg("speculative-draft-kv-cache-dtype: fp8_e4m3"),
            "PASS",
            "ships",
            id="13.kv-alike: the target's type",
        ),
        pytest.param(
            lambda: arg("speculative-draft-kv-cache-dtype: bfloat16"), "PASS", "ships", id="13.restated: a wider cache"
        ),
        pytest.param(
            lambda: arg("speculative-draft-kv-cache-dtype: fp8_e5m2"),
            "FAIL",
            "the draft's cache is fp8_e5m2, the target's fp8_e4m3 is not",
            id="13.draft-kv: another narrow type",
        ),
        pytest.param(
            lambda: (
                arg("speculative-draft-kv-cache-dtype: fp8_e4m3")
                .edit(
                    RECIPE,
                    "kv-cache-dtype: fp8_e4m3\n        layernorm-sp",
                    "kv-cache-dtype: auto\n        layernorm-sp",
                )
                .each_log(without_kv)
            ),
            "FAIL",
            "the target's auto is not",
            id="13.draft-kv: the target keeps its default",
        ),
        pytest.param(
            lambda: Story().edit(RECIPE, "kv-cache-dtype: fp8_e4m3", "kv-cache-dtype: auto").each_log(without_kv),
            "PASS",
            "ships",
            id="13.kv-alike: auto lowers nothing",
        ),
        pytest.param(lambda: arg("dtype: bfloat16"), "PASS", "ships", id="13.restated: the stored dtype"),
        pytest.param(
            lambda: stored("float32").edit(
                RECIPE,
                "        speculative-algorithm: DFLASH\n",
                "        speculative-algorithm: DFLASH\n        speculative-draft-model-dtype: bfloat16\n",
            ),
            "FAIL",
            "speculative-draft-model-dtype bfloat16 is below the draft's 32 bits",
            id="13.dtype: below the stored one",
        ),
        pytest.param(
            lambda: arg("speculative-moe-runner-backend: triton"),
            "PASS",
            "ships",
            id="13.leads: the speculative MoE runner",
        ),
        pytest.param(
            lambda: arg('json-model-override-args: \'{"text_config": {"torch_dtype": "float8"}}\''),
            "FAIL",
            "json-model-override-args overrides torch_dtype",
            id="13.override: a nested dtype",
        ),
        pytest.param(
            lambda: loads("c4", "role=target type=A quant=modelopt_fp4", "role=draft type=B quant=fp8"),
            "FAIL",
            "the c4 job loaded the draft with quant=fp8",
            id="13.loaded-lower: quantized at load",
        ),
        pytest.param(
            lambda: loads("c4", "role=draft type=B dtype=torch.float8_e4m3fn"),
            "FAIL",
            "the c4 job loaded the draft as torch.float8_e4m3fn",
            id="13.loaded-lower: a narrower dtype",
        ),
        pytest.param(
            lambda: loads("c4", "role=target type=A quant=modelopt_fp4"),
            "FAIL",
            "could not be verified: the draft's load of c4 (its job log has no load line",
            id="13.no-load: no line of the draft",
        ),
        pytest.param(
            lambda: Story().lose(JobLogs), "FAIL", "could not be verified: the job log of c1", id="13.no-load: no logs"
        ),
        pytest.param(
            lambda: Story().log("c4", problem="quantization has two values, in lines 3 and 9"),
            "FAIL",
            "could not be verified: the job log of c4 (quantization has two values",
            id="13.no-load: a log that contradicts itself",
        ),
        pytest.param(
            lambda: Story().lose(DraftCheckpoints),
            "FAIL",
            "could not be verified: the draft checkpoint (HTTP 503)",
            id="13.no-header: the host is down",
        ),
        pytest.param(
            lambda: problem("HTTP 401"),
            "FAIL",
            "could not be verified: the draft checkpoint RadixArk/Muse-Spark-Open-DFlash2 (HTTP 401)",
            id="13.no-header: a gated repository",
        ),
        pytest.param(
            lambda: lacking("config.json"), "FAIL", "config.json was not gathered", id="13.no-header: no config"
        ),
        pytest.param(
            lambda: lacking("model-00002-of-00002.safetensors"),
            "FAIL",
            "no header of model-00002-of-00002.safetensors",
            id="13.no-header: one shard of two",
        ),
        pytest.param(
            lambda: arg("speculative-draft-model-revision: 1234abcd"),
            "FAIL",
            "could not be verified: revision 1234abcd of RadixArk",
            id="13.revision: another one",
        ),
        pytest.param(
            lambda: arg("speculative-draft-model-revision: 46c90f41"),
            "PASS",
            "ships",
            id="13.revision: the one that was read",
        ),
        pytest.param(
            vllm,
            "PASS",
            "draft nvidia/MiniMax-M3-Eagle3-GQA@46c90f41 ships 16 BF16 parameters",
            id="13.as-shipped: vLLM's external draft",
        ),
        pytest.param(
            lambda: vllm('"quantization":"fp8"'),
            "FAIL",
            "speculative-config quantizes the draft to fp8",
            id="13.draft-quantization: in the vLLM JSON",
        ),
        pytest.param(lambda: vllm('"kv_cache_dtype":"fp8"'), "PASS", "ships", id="13.kv-alike: vLLM draft and target"),
        pytest.param(
            lambda: vllm('"dtype":"float16"', fc__weight="F32"),
            "FAIL",
            "speculative-config float16 is below the draft's 32 bits",
            id="13.dtype: in the vLLM JSON",
        ),
        pytest.param(
            trt,
            "PASS",
            "ships 16 BF16 parameters, no quantization config; no effective setting changes it",
            id="13.embedded: a BF16 head in a packed checkpoint",
        ),
        pytest.param(
            lambda: trt(num_nextn_predict_layers=0),
            "FAIL",
            "none of its tensors is a draft's",
            id="13.embedded: no draft tensors",
        ),
        pytest.param(
            lambda: trt("max_draft_len: 3 }", "max_draft_len: 3, quant_algo: FP8 }"),
            "FAIL",
            "speculative_config quantizes the draft to FP8",
            id="13.draft-quantization: TensorRT-LLM",
        ),
        pytest.param(
            lambda: trt(
                "        max_batch_size: 16\n",
                "        max_batch_size: 16\n        moe_config: { use_low_precision_moe_combine: true }\n",
            ),
            "PASS",
            "no effective setting changes it",
            id="13.leads: low-precision combine",
        ),
        pytest.param(
            lambda: atom(None), "PASS", "ships 32 BF16 parameters", id="13.as-shipped: ATOM without online quantization"
        ),
        pytest.param(
            lambda: atom(["model.layers.3.*"]),
            "PASS",
            "ships 32 BF16 parameters",
            id="13.online: the whole layer excluded",
        ),
        pytest.param(
            lambda: atom(["*.experts.*", "*.gate"]),
            "FAIL",
            "online quantization ptpc_fp8 does not exclude the draft's model.layers.3.attn.q",
            id="13.online: only the experts excluded",
        ),
        pytest.param(
            lambda: atom(["model.layers.3.*"], draft="amd/Draft"),
            "FAIL",
            "could not be verified: online quantization ptpc_fp8 with an external draft",
            id="13.online-external: its effect is not shown",
        ),
        pytest.param(
            lambda: Story.of("qwen3.5-fp8-mi300x-vllm"),
            "N/A",
            "no affected point uses speculative decoding",
            id="13.no-draft: nothing drafts",
        ),
    ],
)
def test_rules(make: Callable[[], Story], status: str, reason: str) -> None:
    row = make().row(13)
    assert row.status.value == status, row.reason
    assert reason in row.reason, row.reason


def explicit(log: Any) -> Any:
    """The log says that the draft's quantization was given by hand."""
    flags = dict(log.server_args["agg"])
    flags.pop("speculative-draft-model-quantization", None)
    name = "speculative-draft-quantization-explicitly-set"
    flags[name] = flags[name].model_copy(update={"value": "True"})
    return log.model_copy(update={"server_args": {"agg": flags}})


def without_kv(log: Any) -> Any:
    flags = {name: value for name, value in log.server_args["agg"].items() if name != "kv-cache-dtype"}
    return log.model_copy(update={"server_args": {"agg": flags}})


def test_13_no_draft_a_banned_variable_is_a_note() -> None:
    path = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/qwen3.5/vllm/mi300x-fp8/8k1k.yaml"
    story = Story.of("qwen3.5-fp8-mi300x-vllm")
    story.both(path, "  roles:\n", f"  environment: {{ {BANNED}: '1' }}\n  roles:\n")
    row = story.row(13)
    assert row.status.value == "N/A"
    assert f"note: {BANNED} is set in {path}" in row.reason


def test_findings_point_at_recipe_and_log_lines() -> None:
    row = role_env(f"{BANNED}: '1'").row(13)
    assert str(row.findings[0].where).startswith(RECIPE)
    assert row.findings[0].next_step == f"Remove {BANNED} and sweep again."


REWRITE = """python3 - <<'PY'
import json
from pathlib import Path
config = json.loads(Path("/draft/config.json").read_text())
config["{key}"] = 1
Path("/tmp/draft/config.json").write_text(json.dumps(config))
PY
"""


@pytest.mark.parametrize(
    ("key", "status"),
    [
        pytest.param("pard_token", "PASS", id="13.rewrite: another key"),
        pytest.param("torch_dtype", "FAIL", id="13.rewrite: a dtype"),
        pytest.param("quantization_config", "FAIL", id="13.rewrite: a quantization"),
        pytest.param("num_hidden_layers", "FAIL", id="13.rewrite: layers"),
    ],
)
def test_a_setup_script_may_rewrite_harmless_keys_only(key: str, status: str) -> None:
    story = Story().edit(RECIPE, "  frontend:\n", "  setup_script: compat.sh\n  frontend:\n")
    path = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/configs/compat.sh"
    story.head[path] = REWRITE.replace("{key}", key).encode()
    row = story.row(13)
    assert row.status.value == status, row.reason


def test_8_model_file_a_setup_script_that_skips_the_indexer() -> None:
    """8.model-file"""
    story = Story().edit(RECIPE, "  frontend:\n", "  setup_script: compat.sh\n  frontend:\n")
    path = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/configs/compat.sh"
    story.head[path] = REWRITE.replace("{key}", "index_topk_freq").encode()
    row = story.row(8)
    assert row.status.value == "FAIL"
    assert "rewrites index_topk_freq in the model's configuration" in row.reason


@pytest.mark.parametrize(
    ("number", "script", "reason"),
    [
        pytest.param(
            8, None, "the setup script compat.sh (it is not in this repository", id="8.unread-script: outside"
        ),
        pytest.param(
            8, "true\n" * 250_000, "compat.sh (it is larger than what is evaluated)", id="8.unread-script: too large"
        ),
        pytest.param(
            13, None, "the setup script compat.sh (it is not in this repository", id="13.unread-script: outside"
        ),
    ],
)
def test_what_an_unread_script_rewrites_is_not_known(number: int, script: str | None, reason: str) -> None:
    story = Story().edit(RECIPE, "  frontend:\n", "  setup_script: compat.sh\n  frontend:\n")
    if script is not None:
        path = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/configs/compat.sh"
        story.head[path] = script.encode()
    row = story.row(number)
    assert row.status.value == "FAIL"
    assert row.reason.startswith("could not be verified: ")
    assert reason in row.reason
