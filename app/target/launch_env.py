"""Purpose: the environment in which the workflow starts a launch script for one generated row (August).

Source: the `env` block of the benchmark workflows: each input of the matrix row under its variable's name.

Invariants: values are texts; what the row does not have is an empty text, as the workflow passes it. Nothing of the
machine is here: the evaluator knows by name what the machine sets.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_SINGLE = {
    "TP": "tp",
    "PP_SIZE": "pp",
    "DCP_SIZE": "dcp-size",
    "PCP_SIZE": "pcp-size",
    "EP_SIZE": "ep",
    "DP_ATTENTION": "dp-attn",
}
_COMMON = {
    "EXP_NAME": "exp-name",
    "MODEL": "model",
    "MODEL_PREFIX": "model-prefix",
    "ISL": "isl",
    "OSL": "osl",
    "MAX_MODEL_LEN": "max-model-len",
    "IMAGE": "image",
    "FRAMEWORK": "framework",
    "PRECISION": "precision",
    "SPEC_DECODING": "spec-decoding",
    "KV_OFFLOADING": "kv-offloading",
    "KV_P2P_TRANSFER": "kv-p2p-transfer",
    "TOTAL_CPU_DRAM_GB": "total-cpu-dram-gb",
    "DURATION": "duration",
}
_WORKER = {
    "NUM_WORKERS": "num-worker",
    "TP": "tp",
    "PP_SIZE": "pp",
    "DCP_SIZE": "dcp-size",
    "PCP_SIZE": "pcp-size",
    "EP": "ep",
    "DP_ATTN": "dp-attn",
}


def point_environment(row: Mapping[str, Any], *, evaluation: bool = False) -> dict[str, str]:
    """Variables for one row; `conc` is one number (or a list of them for a multi-node row)."""
    agentic = "isl" not in row
    env = {name: _text(row.get(field)) for name, field in _COMMON.items()}
    backend, router = row.get("kv-offload-backend"), row.get("router")
    concurrencies = row.get("conc")
    several = list(concurrencies) if isinstance(concurrencies, (list, tuple)) else [concurrencies]
    env |= {
        "CONC": _text(several[0] if several else None),
        "SCENARIO_TYPE": "agentic-coding" if agentic else "fixed-seq-len",
        "SCENARIO_SUBDIR": "agentic/" if agentic else "fixed_seq_len/",
        "IS_AGENTIC": "1" if agentic else "0",
        "KV_OFFLOAD_BACKEND": _text(backend.get("name") if isinstance(backend, Mapping) else backend),
        "KV_OFFLOAD_BACKEND_METADATA": json.dumps(backend) if isinstance(backend, Mapping) else "",
        "ROUTER_METADATA": json.dumps(router) if router else "",
        "RUN_EVAL": _text(bool(row.get("run-eval")) or evaluation),
        "EVAL_ONLY": _text(evaluation),
        "DISAGG": _text(bool(row.get("disagg"))),
        "REQUIRE_POWER": "1" if row.get("require-power") else "0",
        "AIPERF_EXPERIMENTAL_FAST": "0",
        "RANDOM_RANGE_RATIO": "0.8",
        "RESULT_DIR": "/workspace/results",
    }
    if agentic:
        env |= {"ISL": "0", "OSL": "0", "MAX_MODEL_LEN": "0"}
    if "prefill" in row:
        return {**env, **_multi_node(row, several)}
    env |= {name: _text(row.get(field)) for name, field in _SINGLE.items()}
    sizes = [int(row.get(field) or 1) for field in ("tp", "pp", "pcp-size")]
    return {**env, "GPU_COUNT": str(sizes[0] * sizes[1] * sizes[2])}


def _multi_node(row: Mapping[str, Any], concurrencies: list[Any]) -> dict[str, str]:
    env = {"IS_MULTINODE": "true", "CONC_LIST": " ".join(map(_text, concurrencies))}
    for side in ("prefill", "decode"):
        worker = row.get(side) or {}
        env |= {f"{side.upper()}_{name}": _text(worker.get(field)) for name, field in _WORKER.items()}
        env[f"{side.upper()}_HARDWARE"] = _text(worker.get("hardware"))
        for setting in worker.get("additional-settings") or ():
            name, equals, value = str(setting).partition("=")
            if equals:
                env[name] = value
    return env


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
