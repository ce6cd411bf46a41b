"""Purpose: check 8, rule by rule: overrides in every form, engine tables, variables, what only the log shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from app.facts.records import LogValue
from app.facts.sweep import JobLogs
from tests.checks.reference_facts import RECIPE, Story

NESTED = json.dumps({"text_config": json.dumps({"index_topk": 512})})
TRT = "qwen3.5-fp4-gb300-dynamo-trt-agentic-mtp-disagg"
TRT_RECIPE = "inferencex-e2e/benchmarks/multi_node/srt-slurm-recipes/qwen3.5/trtllm/gb300-fp4/agentx/disagg.yaml"
VLLM = "qwen3.5-fp8-b300-vllm-mtp"
VLLM_RECIPE = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/qwen3.5/vllm/b300-fp8-mtp/8k1k.yaml"


def sglang(value: str, config: dict[str, Any] | None = None) -> Story:
    """json-model-override-args in the reference recipe, against this checkpoint configuration."""
    line = "        json-model-override-args: " + value
    story = Story().edit(RECIPE, "        megamoe: true\n", f"        megamoe: true\n{line}\n")
    return with_config(story, config)


def with_config(story: Story, config: dict[str, Any] | None) -> Story:
    if config is not None:
        story.checkpoint_name = "meta-models/Muse-Spark-Open-816B-A42B-NVFP4"
        story.checkpoint_files = {"config.json": json.dumps(config).encode()}
    return story


def line(text: str, path: str = RECIPE, at: str = "        megamoe: true\n") -> Story:
    story = Story() if path == RECIPE else Story.of(TRT if path == TRT_RECIPE else VLLM)
    return story.both(path, at, f"{at}        {text}\n")


def printed(value: str, flag: str = "json-model-override-args") -> Story:
    story = Story()
    (log,) = [log for log in story.logs if log.job_name.endswith(" c8")]
    flags = {**log.server_args["agg"], flag: LogValue(value=value, line=33)}
    return story.log(log.job_name, server_args={"agg": flags})


@pytest.mark.parametrize(
    ("make", "status", "reason"),
    [
        pytest.param(
            Story,
            "PASS",
            "no setting overrides the model's configuration (recipe and job log of all 11 points)",
            id="8.none: the reference story",
        ),
        pytest.param(
            lambda: Story().lose(JobLogs),
            "PASS",
            "(recipe of all 11 points)",
            id="8.none: without logs the row says so",
        ),
        pytest.param(
            lambda: sglang('\'{"text_config": {"index_topk_freq": 4}}\''),
            "FAIL",
            "json-model-override-args index_topk_freq = 4 lowers the work of the model",
            id="8.forbidden: an indexer skip, nested",
        ),
        pytest.param(
            lambda: sglang("'{\"use_index_cache\": true}'"),
            "FAIL",
            "use_index_cache = true",
            id="8.forbidden: index cache",
        ),
        pytest.param(
            lambda: sglang("'{\"use_index_cache\": false}'"),
            "PASS",
            "no setting",
            id="8.own-value: switched off is nothing",
        ),
        pytest.param(
            lambda: sglang("'{\"num_experts_per_tok\": 4}'", {"num_experts_per_tok": 8}),
            "FAIL",
            "num_experts_per_tok = 4",
            id="8.forbidden: fewer experts",
        ),
        pytest.param(
            lambda: sglang("'{\"num_experts_per_tok\": 8}'", {"num_experts_per_tok": 8}),
            "PASS",
            "no setting",
            id="8.own-value: the checkpoint's own",
        ),
        pytest.param(
            lambda: sglang("'{\"num_hidden_layers\": 60}'"),
            "FAIL",
            "its configuration was not read",
            id="8.own-value: cannot be known without the configuration",
        ),
        pytest.param(lambda: sglang(f"'{NESTED}'"), "FAIL", "index_topk = 512", id="8.nested: JSON in a JSON string"),
        pytest.param(
            lambda: sglang("{ text_config: { layers: [ { window_size: 64 } ] } }"),
            "FAIL",
            "window_size = 64",
            id="8.nested: a YAML table with a list",
        ),
        pytest.param(
            lambda: sglang('\'{"rope_scaling": {"factor": 2.0}, "max_position_embeddings": 9}\''),
            "PASS",
            "no setting",
            id="8.neutral: context length",
        ),
        pytest.param(
            lambda: sglang('\'{"index_topk_algorithm": "heuristic"}\''),
            "PASS",
            "no setting",
            id="8.neutral: a top-k algorithm",
        ),
        pytest.param(
            lambda: sglang("'{\"mystery\": 1}'"),
            "FAIL",
            "json-model-override-args of musespark-fp4-gb200-sglang-agentic-dflash (it has the key mystery",
            id="8.unknown-key: nobody knows it",
        ),
        pytest.param(
            lambda: sglang("'not json'"),
            "FAIL",
            "json-model-override-args of musespark-fp4-gb200-sglang-agentic-dflash (it is not JSON)",
            id="8.unknown-key: no JSON",
        ),
        pytest.param(
            lambda: line("# json-model-override-args: '{\"index_topk\": 1}'"),
            "PASS",
            "no setting",
            id="8.prose: a comment",
        ),
        pytest.param(
            lambda: line(
                'hf-overrides: \'{"text_config": {"use_index_cache": true, "index_topk_freq": 4}}\'',
                VLLM_RECIPE,
                "        kv-cache-dtype: fp8\n",
            ),
            "FAIL",
            "hf-overrides use_index_cache = true",
            id="8.forbidden: vLLM's hf-overrides",
        ),
        pytest.param(
            lambda: line(
                "sparse_attention_config: { algorithm: dsa, enable_heuristic_topk: true }",
                TRT_RECIPE,
                "        max_batch_size: 16\n",
            ),
            "PASS",
            "no setting",
            id="8.neutral: TensorRT-LLM's heuristic top-k",
        ),
        pytest.param(
            lambda: line(
                "sparse_attention_config: { algorithm: dsa, index_topk: 512 }",
                TRT_RECIPE,
                "        max_batch_size: 16\n",
            ),
            "FAIL",
            "sparse_attention_config index_topk = 512",
            id="8.engine-table: a smaller index",
        ),
        pytest.param(
            lambda: line("index-topk-freq: 4"), "FAIL", "index-topk-freq = 4", id="8.engine-table: a flag of the engine"
        ),
        pytest.param(
            lambda: Story().edit(RECIPE, "        PYTHONNOUSERSITE: '1'\n", "        SGLANG_SKIP_LAYERS: '3'\n"),
            "FAIL",
            "SGLANG_SKIP_LAYERS = 3",
            id="8.environment: skipped layers",
        ),
        pytest.param(
            lambda: Story().edit(RECIPE, "        PYTHONNOUSERSITE: '1'\n", "        SGLANG_SKIP_LAYERS: '0'\n"),
            "PASS",
            "no setting",
            id="8.environment: switched off",
        ),
        pytest.param(
            lambda: printed('{"index_topk_freq": 2}'), "FAIL", "index_topk_freq = 2", id="8.log: only in the job log"
        ),
        pytest.param(
            lambda: line("model-path: outsider/smaller"),
            "FAIL",
            "model-path serves outsider/smaller, not meta-models/Muse-Spark-Open-816B-A42B-NVFP4",
            id="8.other-model: the recipe names another checkpoint",
        ),
        pytest.param(
            lambda: printed("outsider/smaller", "model-path"),
            "FAIL",
            "model-path serves outsider/smaller",
            id="8.other-model: only the job log names it",
        ),
        pytest.param(lambda: line("model-path: /model/"), "PASS", "no setting", id="8.none: the launcher's own folder"),
        pytest.param(
            lambda: line("model-path: meta-models/Muse-Spark-Open-816B-A42B-NVFP4"),
            "PASS",
            "no setting",
            id="8.none: the entry's own checkpoint",
        ),
        pytest.param(lambda: printed("{}"), "PASS", "no setting", id="8.log: an empty override"),
    ],
)
def test_rules(make: Callable[[], Story], status: str, reason: str) -> None:
    row = make().row(8)
    assert row.status.value == status, row.reason
    assert reason in row.reason or any(reason in finding.expected for finding in row.findings), row.reason


def test_a_pull_request_without_a_config_is_not_applicable() -> None:
    story = Story(head={**Story().base}, changed=("README.md",))
    assert story.row(8).reason == "no config is affected"
