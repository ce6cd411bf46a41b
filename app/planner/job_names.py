"""Purpose: the names that the jobs of a plan have on GitHub, so that a run's jobs can be matched to planned rows.

Source: workflows.md 6 and Table C. A job of a reusable workflow is called `<caller> / <callee>`; callers end in " /".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_EVALS: Final = {
    "evals": "eval /",
    "agentic_evals": "agentic eval /",
    "multinode_evals": "multi-node eval /",
    "multinode_agentic_evals": "multi-node agentic eval /",
}
_ENGINES: Final = {"sglang": "sgl", "dynamo-sglang": "dyn-sgl", "sglang-disagg": "sgl-disagg"}
_WAYS: Final = (("pp", "PP"), ("dcp-size", "DCP"), ("pcp-size", "PCP"), ("ep", "EP"))


def caller_name(bucket: str, *, is_canary: bool = False) -> str:
    """The family of a bucket: `agentic /`, `single-node 8k1k /`, `multi-node canary /`, ..."""
    if bucket in _EVALS:
        return _EVALS[bucket]
    group, _, name = bucket.partition(".")
    multi = "multi-node " if group == "multi_node" else ""
    if is_canary:
        return f"{multi}canary /"
    if name == "agentic":
        return f"{multi}agentic /"
    return f"{multi or 'single-node '}{name} /"


def callee_name(row: Mapping[str, Any], score: float) -> str:
    """`p3.500 | musespark fp4 cluster:gb200-nv sgl TP4/EP4 draft_model dram KV offload hicache c32 | eval-only`."""
    engine = _ENGINES.get(str(row["framework"]), str(row["framework"]))
    offloading, backend = row.get("kv-offloading", "none"), row.get("kv-offload-backend")
    parts = [
        f"{row['model-prefix']} {row['precision']} {row['runner']} {engine}",
        _pools(row) if "prefill" in row else _ways(row),
        "" if row["spec-decoding"] == "none" else str(row["spec-decoding"]),
        "" if offloading == "none" else f"{offloading} KV offload",
        str(backend["name"]) if backend else "",
        f"c{_concurrency(row)}",
    ]
    ending = " | eval-only" if row.get("eval-only") else " | eval" if row.get("run-eval") else ""
    return f"p{score:.3f} | {' '.join(part for part in parts if part)}{ending}"


def check_run_name(bucket: str, row: Mapping[str, Any], score: float, *, is_canary: bool = False) -> str:
    """The whole name as the API lists it."""
    return f"{caller_name(bucket, is_canary=is_canary)} / {callee_name(row, score)}"


def _ways(holder: Mapping[str, Any]) -> str:
    named = [f"{short}{holder[name]}" for name, short in _WAYS if (holder.get(name) or 1) > 1]
    return "/".join([f"TP{holder['tp']}", *named, *(["DPA"] if holder.get("dp-attn") else [])])


def _pools(row: Mapping[str, Any]) -> str:
    prefill, decode = row["prefill"], row["decode"]
    if not decode["num-worker"]:
        return f"({_ways(prefill)})"
    return f"{prefill['num-worker']}P ({_ways(prefill)}) x {decode['num-worker']}D ({_ways(decode)})"


def _concurrency(row: Mapping[str, Any]) -> str:
    conc = row["conc"]
    return "x".join(map(str, conc)) if isinstance(conc, list) else str(conc)
