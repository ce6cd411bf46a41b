"""Purpose: the result artifacts of the reference run: eleven agentic rows, one eval, the changelog metadata.

Source: evidence.md 2.2, 3.1, 3.3; the measured values of the reference case. The run is agentic-only: there is no
`results_bmk` and no `run-stats`.

Invariant: every file is deterministic; request counts of the rows are those of the job logs.
"""

from __future__ import annotations

import json
from typing import Any

from app.sandbox.reference_parts import names
from app.sandbox.reference_parts.settings import CONCURRENCIES, offloading

POINTS = {
    1: (21.0, 12.4, 2600),
    2: (20.5, 12.1, 5100),
    4: (19.9, 11.6, 9400),
    6: (18.7, 10.9, 13100),
    8: (21.6, 13.0, 14800),
    10: (20.2, 11.9, 17900),
    16: (23.8, 14.2, 24300),
    20: (27.1, 16.0, 28200),
    24: (30.9, 18.3, 31500),
    28: (35.2, 20.9, 34200),
    32: (40.3, 23.7, 36400),
}
"""Concurrency to (p90 E2EL seconds, p75 E2EL seconds, total tokens/s per GPU)."""

REQUESTS = {1: 293, 2: 316, 4: 362, 6: 421, 8: 477, 10: 293, 16: 624, 20: 838, 24: 987, 28: 1118, 32: 1241}
ERRORS = {32: 1}
WARM_UP = 10
GPUS = 4
DRAM_GB = 721
EVAL_CONCURRENCY = 32
EVAL_SAMPLES = 1319
DATASET = "semianalysis_cc_traces_weka_062126"


def experiment(concurrency: int) -> str:
    """The generator's name of a point."""
    suffix = "kvnone" if offloading(concurrency) == "none" else "kvdram-hicache"
    return f"musespark_tp4_conc{concurrency}_{suffix}_spec-mtp"


def result_name(concurrency: int, runner: str) -> str:
    """RESULT_FILENAME of a point on a runner."""
    shape = "fp4_sglang_tp4-pp1-dcp1-pcp1-ep4-dpafalse_disagg-false_spec-mtp"
    return f"{experiment(concurrency)}_{shape}_conc{concurrency}_{runner}"


def agentic_row(concurrency: int) -> dict[str, Any]:
    """One row as the benchmark job uploads it; latencies in seconds."""
    total, errors = REQUESTS[concurrency], ERRORS.get(concurrency, 0)
    profiled = total - WARM_UP - errors
    dram = offloading(concurrency) == "dram"
    return {
        "result_schema_version": 1,
        "hw": "gb200-nv",
        "conc": concurrency,
        "image": names.IMAGE,
        "model": names.MODEL,
        "infmax_model_prefix": "musespark",
        "framework": "sglang",
        "precision": "fp4",
        "spec_decoding": "mtp",
        "disagg": False,
        "recipe_fingerprint": "",
        "scenario_type": "agentic-coding",
        "is_multinode": False,
        "num_gpus": GPUS,
        "tp": 4,
        "ep": 4,
        "pp": 1,
        "dcp_size": 1,
        "pcp_size": 1,
        "dp_attention": "false",
        "kv_offloading": offloading(concurrency),
        "kv_offload_backend": {"name": "hicache"} if dram else None,
        "allocated_cpu_dram_gb": DRAM_GB if dram else 0,
        "num_requests_total": total,
        "num_requests_successful": profiled,
        "request_accounting": {
            "records_total": total,
            "records_profiled": profiled,
            "records_dropped_total": WARM_UP + errors,
            "records_warmup_dropped": WARM_UP,
            "records_error_dropped": errors,
            "error_categories": {"timeout": errors} if errors else {},
        },
        "dataset": {"name": DATASET, "hf_dataset_name": "semianalysisai/cc-traces-weka-062126"},
        "request_metrics": _metrics(concurrency, profiled),
        "kv_cache_pool_tokens": 1_482_000 + 4_100 * concurrency,
    }


def _metrics(concurrency: int, profiled: int) -> dict[str, Any]:
    p90, p75, per_gpu = POINTS[concurrency]
    output = round(per_gpu * 0.0068, 2)
    duration = round(3600.0 + 1.7 * concurrency, 1)
    token = round(0.0041 + 0.00031 * concurrency, 5)
    return {
        "qps": round(profiled / duration, 4),
        "latency": {
            "e2el": _spread(p90 * 0.45, p90 * 0.3, p75, p90, p90 * 1.46),
            "ttft": _spread(0.9 + concurrency / 20, 0.6, 1.1 + concurrency / 16, 2.1 + concurrency / 9, 4.4),
            "itl": _spread(token, token * 0.9, token * 1.2, token * 1.6, token * 2.1),
            "tpot": _spread(token, token * 0.92, token * 1.18, token * 1.5, token * 1.9),
            "intvty": _spread(1 / token, 1.05 / token, 0.86 / token, 0.66 / token, 0.5 / token),
            "e2e_norm_intvty": _spread(38.0, 41.0, 31.0, 24.5, 19.0),
        },
        "tokens": {
            "input": {"mean": round(per_gpu * GPUS * duration / profiled, 1)},
            "output_actual": {"mean": round(output * GPUS * duration / profiled, 1)},
        },
        "throughput": {
            "duration_seconds": duration,
            "input": {"tokens_per_second": round((per_gpu - output) * GPUS, 2)},
            "output": {"tokens_per_second": round(output * GPUS, 2)},
            "total": {"tokens_per_second": float(per_gpu * GPUS)},
            "per_gpu": {
                "total_tput_tps": float(per_gpu),
                "output_tput_tps": output,
                "input_tput_tps": round(per_gpu - output, 2),
            },
        },
        "cache": {"theoretical_cache_hit_rate": 0.962},
    }


def _spread(mean: float, p50: float, p75: float, p90: float, p95: float) -> dict[str, float]:
    named = {"mean": mean, "p50": p50, "p75": p75, "p90": p90, "p95": p95, "std": mean * 0.8}
    return {name: round(value, 5) for name, value in named.items()}


def eval_row() -> dict[str, Any]:
    """The one row of `agg_eval_all.json`."""
    return {
        "is_multinode": False,
        "model_prefix": "musespark",
        "model": names.MODEL,
        "hw": "GB200-NV",
        "framework": "sglang",
        "precision": "fp4",
        "spec_decoding": "mtp",
        "isl": 0,
        "osl": 0,
        "tp": 4,
        "ep": 4,
        "prefill_tp": 4,
        "prefill_ep": 4,
        "prefill_num_workers": 1,
        "decode_tp": 4,
        "decode_ep": 4,
        "decode_num_workers": 1,
        "conc": EVAL_CONCURRENCY,
        "dp_attention": "false",
        "prefill_dp_attention": "false",
        "decode_dp_attention": "false",
        "task": "gsm8k",
        "em_strict": 0.9757,
        "em_strict_se": 0.0042,
        "em_flexible": 0.975,
        "em_flexible_se": 0.0043,
        "n_eff": EVAL_SAMPLES,
        "source": f"eval_results/{eval_artifact()}/{EVAL_FILE}",
        "infrastructure_success": True,
        "integration_error": None,
        "score": 0.9757,
        "score_name": "em_strict",
        "score_se": 0.0042,
    }


EVAL_RUNNER = "gb200-nv_12"
EVAL_FILE = "results_2026-10-21T01-55-12.408113.json"


def eval_artifact() -> str:
    return f"eval_{experiment(EVAL_CONCURRENCY)}_{result_name(EVAL_CONCURRENCY, EVAL_RUNNER)}"


def eval_files() -> dict[str, str]:
    """Members of the raw eval artifact: metadata, and lm-eval's result file."""
    meta = {
        "infmax_model_prefix": "musespark",
        "model": names.MODEL,
        "hw": "gb200-nv",
        "framework": "sglang",
        "precision": "fp4",
        "spec_decoding": "mtp",
        "isl": "0",
        "osl": "0",
        "tp": 4,
        "ep": 4,
        "pp": 1,
        "dcp_size": 1,
        "pcp_size": 1,
        "dp_attention": "false",
        "is_multinode": False,
        "disagg": False,
        "conc": EVAL_CONCURRENCY,
        "eval_framework": "lm-eval",
        "recipe_fingerprint": "",
    }
    scores = {
        "exact_match,strict-match": 0.9757,
        "exact_match_stderr,strict-match": 0.0042,
        "exact_match,flexible-extract": 0.975,
        "exact_match_stderr,flexible-extract": 0.0043,
        "alias": "gsm8k",
    }
    results = {
        "results": {"gsm8k": scores},
        "configs": {"gsm8k": {"task": "gsm8k", "num_fewshot": 5, "metric_list": [{"metric": "exact_match"}]}},
        "n-samples": {"gsm8k": {"original": EVAL_SAMPLES, "effective": EVAL_SAMPLES}},
        "model_name": names.MODEL,
    }
    return {"meta_env.json": as_json(meta), EVAL_FILE: as_json(results)}


def changelog_metadata() -> dict[str, Any]:
    """What `setup` uploads: the revisions and the appended entry."""
    entry = {
        "config-keys": [names.KEY],
        "scenario-type": ["agentic-coding"],
        "description": [
            "Retune the low-concurrency points: new admission limits, prefill intervals and memory fractions at "
            "concurrency 1, 4, 6, 8 and 10.",
            "Concurrency 1 keeps its KV cache on the GPU and moves to its own search-space row.",
            "Remove concurrency 12.",
        ],
        "pr-link": "XXX",
        "evals-only": False,
        "all-evals": False,
        "append-only": False,
    }
    return {"base_ref": names.BASE_SHA, "head_ref": names.HEAD_SHA, "entries": [entry]}


def as_json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"


def artifacts(runners: dict[int, str]) -> dict[str, dict[str, str]]:
    """Every artifact of the run by name: its members. `runners` maps concurrency to the runner that measured it."""
    made = {"changelog-metadata": {"changelog_metadata.json": as_json(changelog_metadata())}}
    for concurrency in CONCURRENCIES:
        name = result_name(concurrency, runners[concurrency])
        made[f"bmk_agentic_{name}"] = {f"{name}.json": as_json(agentic_row(concurrency))}
        summary = {"conc": concurrency, "requests": REQUESTS[concurrency], "dataset": DATASET}
        made[f"agentic_{name}"] = {"results/profile_export.json": as_json(summary)}
    made[eval_artifact()] = eval_files()
    made["eval_results_all"] = {"agg_eval_all.json": as_json([eval_row()])}
    return made
