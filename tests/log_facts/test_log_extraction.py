"""Purpose: what the extractor reads out of job logs, engine by engine."""

from __future__ import annotations

import pytest

from app.facts.log_facts import EXTRACTOR, MARKERS, extract
from app.facts.records import JobLogRecord


def read(*lines: str) -> JobLogRecord:
    return extract("".join(line + "\n" for line in lines), job_id=7, run_id=9, job_name="agentic / c10")


def args(record: JobLogRecord, role: str = "agg") -> dict[str, str]:
    return {flag: value.value for flag, value in record.server_args[role].items()}


def texts(found: object) -> list[str]:
    return [value.value for value in found]  # type: ignore[attr-defined]


STAMP = "2026-10-20T17:01:12.0190056Z "


def test_the_record_names_its_job_and_extractor() -> None:
    record = read("one", "two")
    assert (record.job_id, record.run_id, record.job_name) == (7, 9, "agentic / c10")
    assert (record.extractor, record.lines) == (EXTRACTOR, 2)


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("export SGLANG_SIMULATE_ACC_LEN=4.05", "SGLANG_SIMULATE_ACC_LEN", "4.05"),
        (STAMP + "  SPEC_DECODING: mtp", "SPEC_DECODING", "mtp"),
        ("docker run --env IS_AGENTIC=1 --env CONC=8 image", "CONC", "8"),
        (
            "env={'TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS': '2.39'}",
            "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS",
            "2.39",
        ),
        ('THINKING_MODE="thinking_on"', "THINKING_MODE", "thinking_on"),
        ("\x1b[32mexport EVAL_ONLY=true\x1b[0m", "EVAL_ONLY", "true"),
        ("+ DYN_TRTLLM_PUBLISH_METRICS=1 python3 -m dynamo.trtllm", "DYN_TRTLLM_PUBLISH_METRICS", "1"),
        ("  SGLANG_NVFP4_CKPT_FP8_NEXTN_MOE: '1'", "SGLANG_NVFP4_CKPT_FP8_NEXTN_MOE", "1"),
    ],
    ids=[
        "an export",
        "a line of GitHub's env block",
        "a container argument",
        "a printed mapping",
        "a quoted value",
        "a coloured line",
        "an assignment before a command",
        "a recipe's env entry",
    ],
)
def test_variables_are_read_in_every_spelling(line: str, name: str, value: str) -> None:
    assert read(line).env[name].value == value


@pytest.mark.parametrize(
    "line",
    [
        "unset SGLANG_SIMULATE_ACC_LEN",
        "export SGLANG_SIMULATE_ACC_LEN=${ACC:-}",
        "export SGLANG_SIMULATE_ACC_LEN=",
        "MY_SGLANG_SIMULATE_ACC_LEN=3",
    ],
    ids=["an unset", "an unexpanded reference", "an empty value", "a longer name"],
)
def test_what_sets_nothing_is_not_a_variable(line: str) -> None:
    assert read(line).env == {}


def test_two_values_of_a_decisive_variable_are_a_problem_with_both_lines() -> None:
    record = read("export SGLANG_SIMULATE_ACC_LEN=4.05", "noise", "export SGLANG_SIMULATE_ACC_LEN=5.5")
    assert record.env["SGLANG_SIMULATE_ACC_LEN"].value == "4.05"
    assert record.problem == "SGLANG_SIMULATE_ACC_LEN has two values, in lines 1 and 3"


def test_two_values_of_a_label_are_no_problem() -> None:
    assert read("CONC=1", "CONC=2").problem == ""


def test_requests_are_counted_by_method_and_path_without_query() -> None:
    record = read(
        *['INFO:     10.0.0.5:1 - "POST /v1/chat/completions HTTP/1.1" 200 OK'] * 3,
        'INFO:     10.0.0.5:1 - "GET /metrics?name=a HTTP/1.1" 200 OK',
        '10.0.0.5 - - "POST /generate HTTP/1.1" 200 -',
    )
    assert record.requests == {
        "GET /metrics": 1,
        "POST /generate": 1,
        "POST /v1/chat/completions": 3,
        "POST /v1/completions": 0,
    }


def test_a_log_without_access_lines_counts_nothing_and_says_so() -> None:
    record = read("nothing here")
    assert record.requests == {}
    assert "access log" in record.missing


@pytest.mark.parametrize(
    ("lines", "image"),
    [
        (
            ["enroot import -o /a.sqsh docker://lmsysorg/sglang:v1@sha256:" + "a" * 64],
            "lmsysorg/sglang:v1@sha256:" + "a" * 64,
        ),
        (["Importing docker://nvcr.io#nvidia/tensorrt-llm/release:1.3.0"], "nvcr.io/nvidia/tensorrt-llm/release:1.3.0"),
        (
            ["Pulling image vllm/vllm-openai:v0.31.1", "Digest: sha256:" + "b" * 64],
            "vllm/vllm-openai:v0.31.1@sha256:" + "b" * 64,
        ),
        (["Status: Downloaded newer image for rocm/atom:rocm7"], "rocm/atom:rocm7"),
    ],
    ids=["an import by digest", "a # as separator", "a digest on a line of its own", "docker's last line"],
)
def test_pulled_images(lines: list[str], image: str) -> None:
    assert texts(read(*lines).images) == [image]


def test_a_second_image_keeps_its_own_digest() -> None:
    found = read(
        "Pulling image a/b:1", "Digest: sha256:" + "1" * 64, "Pulling image c/d:2", "Digest: sha256:" + "2" * 64
    )
    assert texts(found.images) == ["a/b:1@sha256:" + "1" * 64, "c/d:2@sha256:" + "2" * 64]


# server settings


def test_sglang_prints_its_effective_arguments() -> None:
    record = read(
        "server_args=ServerArgs(model_path='/models/x', tp_size=4, ep_size=4, mem_fraction_static=0.95, "
        "quantization='modelopt_fp4', speculative_algorithm='DFLASH', speculative_num_draft_tokens=8, "
        "speculative_draft_model_quantization=None, _speculative_draft_quantization_explicitly_set=False, "
        "cuda_graph_bs=[1, 2, 3], json_model_override_args='{\"a\": (1, [2])}', watchdog_timeout=3600)"
    )
    found = args(record)
    assert found["tensor-parallel-size"] == "4"
    assert found["expert-parallel-size"] == "4"
    assert found["mem-fraction-static"] == "0.95"
    assert found["speculative-draft-model-quantization"] == "None"
    assert found["speculative-draft-quantization-explicitly-set"] == "False"
    assert found["cuda-graph-bs"] == "[1,2,3]"
    assert found["json-model-override-args"] == '{"a": (1, [2])}'
    assert found["watchdog-timeout"] == "3600"


def test_the_engines_own_print_stands_above_its_command_line() -> None:
    record = read(
        "python3 -m sglang.launch_server --model-path /m --kv-cache-dtype auto --enable-metrics --tp 8",
        "server_args=ServerArgs(model_path='/m', kv_cache_dtype='fp8_e4m3', tp_size=8)",
    )
    assert args(record) == {
        "model-path": "/m",
        "kv-cache-dtype": "fp8_e4m3",
        "enable-metrics": "True",
        "tensor-parallel-size": "8",
    }
    assert record.server_args["agg"]["kv-cache-dtype"].line == 2
    assert record.problem == ""


def test_two_prints_that_disagree_on_the_draft_are_a_problem() -> None:
    record = read(
        "ServerArgs(speculative_draft_model_quantization=None, port=1)",
        "ServerArgs(speculative_draft_model_quantization='fp8', port=2)",
    )
    assert args(record)["speculative-draft-model-quantization"] == "None"
    assert record.problem == "speculative-draft-model-quantization has two values, in lines 1 and 2"


def test_vllm_default_free_arguments_and_engine_config() -> None:
    record = read(
        "(APIServer pid=1) INFO 10-20 17:00:00 [api_server.py:1] vLLM API server version 0.31.1",
        "INFO non-default args: {'model': 'org/m', 'tensor_parallel_size': 4, 'enable_expert_parallel': True, "
        "'kv_cache_dtype': 'fp8', 'speculative_config': {'method': 'eagle3', 'num_speculative_tokens': 3, "
        "'rejection_sample_method': 'synthetic', 'synthetic_acceptance_length': 2.78}}",
        "INFO Initializing a V1 LLM engine (v0.31.1) with config: model='org/m', dtype=torch.bfloat16, "
        "quantization=modelopt, kv_cache_dtype=fp8, seed=0",
    )
    found = args(record)
    assert found["tensor-parallel-size"] == "4"
    assert found["enable-expert-parallel"] == "True"
    assert found["speculative-config"] == (
        '{"method":"eagle3","num_speculative_tokens":3,"rejection_sample_method":"synthetic",'
        '"synthetic_acceptance_length":2.78}'
    )
    assert found["dtype"] == "torch.bfloat16"
    assert found["quantization"] == "modelopt"
    assert record.versions["vllm"].value == "0.31.1"


def test_a_vllm_command_line_with_a_json_argument() -> None:
    record = read(
        "+ vllm serve org/m --tensor-parallel-size 4 "
        '--speculative-config \'{"method":"dspark","num_speculative_tokens":4}\' --max-num-seqs=8 2>&1 | tee log'
    )
    assert args(record) == {
        "tensor-parallel-size": "4",
        "speculative-config": '{"method":"dspark","num_speculative_tokens":4}',
        "max-num-seqs": "8",
    }


def test_dynamo_trtllm_workers_by_role_with_their_generated_configuration() -> None:
    record = read(
        "python3 -m dynamo.trtllm --model-path /m --disaggregation-mode prefill --publish-metrics "
        "--extra-engine-args /c/trtllm_config_prefill.yaml",
        "python3 -m dynamo.trtllm --model-path /m --disaggregation-mode decode --no-publish-kv-events",
        "wrote trtllm_config_decode.yaml",
        "enable_iter_perf_stats: false",
        "kv_cache_config:",
        "  dtype: fp8",
        "  free_gpu_memory_fraction: 0.8",
        "speculative_config:",
        "  decoding_type: MTP",
        "  max_draft_len: 3",
        "[launch] done",
        'engine config (prefill): {"enable_iter_perf_stats": true, "kv_cache_config": {"dtype": "fp8"}}',
        "Successfully installed ai-dynamo-1.5.0.dev20260928 nats-py-2.9",
        "[TensorRT-LLM] TensorRT-LLM version: 1.3.0rc27",
    )
    prefill, decode = args(record, "prefill"), args(record, "decode")
    assert prefill["publish_metrics"] == "True"
    assert prefill["enable_iter_perf_stats"] == "True"
    assert decode["no_publish_kv_events"] == "True"
    assert decode["enable_iter_perf_stats"] == "False"
    assert decode["kv_cache_config"] == '{"dtype":"fp8","free_gpu_memory_fraction":0.8}'
    assert decode["speculative_config"] == '{"decoding_type":"MTP","max_draft_len":3}'
    assert record.versions["ai-dynamo"].value == "1.5.0.dev20260928"
    assert record.versions["tensorrt-llm"].value == "1.3.0rc27"


def test_an_atom_server() -> None:
    record = read(
        "python -m atom.entrypoints.openai_server --model /m -tp 8 --method dspark --num-speculative-tokens 3 "
        '--spec-decode-acceptance-length 3.01 --online_quant_config \'{"global_quant_config": "ptpc_fp8"}\''
    )
    found = args(record)
    assert found["tensor-parallel-size"] == "8"
    assert found["spec-decode-acceptance-length"] == "3.01"
    assert found["online-quant-config"] == '{"global_quant_config": "ptpc_fp8"}'


def test_sglang_prefill_and_decode_are_told_apart() -> None:
    record = read(
        "ServerArgs(disaggregation_mode='prefill', tp_size=4)",
        "ServerArgs(disaggregation_mode='decode', tp_size=8)",
    )
    assert args(record, "prefill")["tensor-parallel-size"] == "4"
    assert args(record, "decode")["tensor-parallel-size"] == "8"
    assert record.problem == ""


# loads, caches, refs


def test_loads_and_cache_types_of_target_and_draft() -> None:
    record = read(
        "[TP0] Load weight end. elapsed=1 s, type=GlmForCausalLM, quant=modelopt_fp4, avail mem=1 GB.",
        "[TP0] Using KV cache dtype: torch.float8_e4m3fn",
        "[TP0] Load weight end. elapsed=1 s, type=GlmForCausalLMNextN, dtype=torch.bfloat16, avail mem=1 GB.",
        "[TP0] Using KV cache dtype: torch.bfloat16",
    )
    assert texts(record.loads) == [
        "role=target type=GlmForCausalLM quant=modelopt_fp4",
        "role=draft type=GlmForCausalLMNextN dtype=torch.bfloat16",
    ]
    assert texts(record.kv_caches) == ["role=target dtype=torch.float8_e4m3fn", "role=draft dtype=torch.bfloat16"]


def test_vllm_loads_name_the_drafter() -> None:
    record = read("Starting to load model org/target...", "Loading drafter model...")
    assert texts(record.loads) == ["role=target model=org/target", "role=draft"]


def test_measured_commit_and_srt_slurm_ref() -> None:
    record = read(
        "HEAD is now at bdfb83f Retune", "bdfb83f2e0d95441eebd2b1dfb5928b76d8d0f27", "srt-slurm ref: " + "3" * 40
    )
    assert record.refs["checkout"].value == "bdfb83f2e0d95441eebd2b1dfb5928b76d8d0f27"
    assert record.refs["srt-slurm"].value == "3" * 40


def test_the_measured_commit_is_the_first_checkout_not_the_tooling() -> None:
    record = read("b" * 40, "HEAD is now at ccccccc tooling", "c" * 40)
    assert record.refs["checkout"].value == "b" * 40


def test_a_log_without_markers_says_which_are_missing() -> None:
    assert read("hello").missing == MARKERS
    assert read().missing == MARKERS


def test_a_marker_that_is_there_is_not_missing() -> None:
    assert read("Importing docker://a/b:1").missing == tuple(name for name in MARKERS if name != "image")
