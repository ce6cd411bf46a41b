"""Turn one AIPerf export into the agentic result row of this repository, in `$RESULT_DIR/$RESULT_FILENAME.json`."""

import json
import os
import sys
from pathlib import Path

SECONDS = 1e-3
QUANTILES = {
    "mean": "avg",
    "p50": "p50",
    "p75": "p75",
    "p90": "p90",
    "p95": "p95",
    "std": "std",
}


def seconds(metric):
    """A latency metric of AIPerf (milliseconds) as seconds."""
    return {name: metric[source] * SECONDS for name, source in QUANTILES.items() if source in metric}


def counts(metric):
    return {name: metric[source] for name, source in QUANTILES.items() if source in metric}


def average(export, name):
    return float(export.get(name, {}).get("avg", 0.0))


def row(export, env):
    gpus = int(env["TP"])
    completed = int(average(export, "request_count"))
    errors = int(average(export, "error_request_count"))
    rates = {
        "total": average(export, "total_token_throughput"),
        "output": average(export, "output_token_throughput"),
        "input": average(export, "input_token_throughput"),
    }
    kinds = {item["error_details"]["type"]: item["count"] for item in export.get("error_summary", [])}
    itl = export["inter_token_latency"]
    return {
        "result_schema_version": 1,
        "hw": env["RUNNER_TYPE"],
        "conc": int(env["CONC"]),
        "image": env["IMAGE"],
        "recipe_fingerprint": env["RECIPE_FINGERPRINT"],
        "model": env["MODEL_NAME"],
        "infmax_model_prefix": env["MODEL_PREFIX"],
        "framework": env["FRAMEWORK"],
        "precision": env["PRECISION"],
        "spec_decoding": env["SPEC_DECODING"],
        "disagg": False,
        "scenario_type": "agentic-coding",
        "is_multinode": False,
        "num_gpus": gpus,
        "tp": gpus,
        "ep": int(env["EP_SIZE"]),
        "pp": 1,
        "dcp_size": 1,
        "pcp_size": 1,
        "dp_attention": env["DP_ATTENTION"],
        "kv_offloading": env["KV_OFFLOADING"],
        "kv_offload_backend": None,
        "allocated_cpu_dram_gb": int(env.get("TOTAL_CPU_DRAM_GB", "0")),
        "num_requests_total": completed + errors,
        "num_requests_successful": completed,
        "request_accounting": {
            "records_total": completed + errors + 1,
            "records_profiled": completed,
            "records_dropped_total": errors + 1,
            "records_warmup_dropped": 1,
            "records_error_dropped": errors,
            "error_categories": kinds,
        },
        "dataset": {"hf_dataset_name": "synthetic-multi-turn"},
        "request_metrics": {
            "qps": average(export, "request_throughput"),
            "latency": {
                "e2el": seconds(export["request_latency"]),
                "ttft": seconds(export["time_to_first_token"]),
                "itl": seconds(itl),
            },
            "tokens": {
                "input": counts(export["input_sequence_length"]),
                "output_actual": counts(export["output_sequence_length"]),
            },
            "throughput": {
                "duration_seconds": average(export, "benchmark_duration"),
                **{name: {"tokens_per_second": rate} for name, rate in rates.items()},
                "per_gpu": {f"{name}_tput_tps": rate / gpus for name, rate in rates.items()},
            },
        },
    }


def main():
    export = json.loads(Path(sys.argv[1]).read_text())
    target = Path(os.environ["RESULT_DIR"], f"{os.environ['RESULT_FILENAME']}.json")
    target.write_text(json.dumps(row(export, os.environ), indent=1, sort_keys=True) + "\n")
    print(f"wrote {target.name}")


if __name__ == "__main__":
    main()
