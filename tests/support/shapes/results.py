"""Purpose: the result artifacts of a story: one row a point, eval rows, the changelog metadata.

Source: evidence.md 2.2 and 3. Latencies are in seconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from app.planner.plan import PlannedRow
from tests.support.shapes import ground
from tests.support.shapes.story import Story

SAMPLES = {"gsm8k": 1319, "kimi_tool_call_schema_full": 408, "minimax_m3_full": 102}
_WORKER = {"tp": "tp", "pp": "pp", "dcp-size": "dcp_size", "pcp-size": "pcp_size", "ep": "ep"}


def _topology(row: Mapping[str, Any]) -> dict[str, Any]:
    if "prefill" not in row:
        return {"is_multinode": False, **_worker(row)}
    found: dict[str, Any] = {"is_multinode": True}
    for pool in ("prefill", "decode"):
        fields = {**_worker(row[pool]), "num_workers": row[pool]["num-worker"]}
        found |= {f"{pool}_{name}": value for name, value in fields.items()}
    return found


def _worker(holder: Mapping[str, Any]) -> dict[str, Any]:
    sizes = {name: holder.get(field, 1) or 1 for field, name in _WORKER.items()}
    return {**sizes, "dp_attention": "true" if holder.get("dp-attn") else "false"}


def _identity(story: Story, row: Mapping[str, Any], conc: int) -> dict[str, Any]:
    return {
        "hw": str(row["runner"]).removeprefix("cluster:"),
        "conc": conc,
        "image": story.image,
        "model": row["model"],
        "infmax_model_prefix": row["model-prefix"],
        "framework": row["framework"],
        "precision": row["precision"],
        "spec_decoding": row["spec-decoding"],
        "disagg": bool(row.get("disagg")),
        "recipe_fingerprint": "",
        **_topology(row),
    }


def benchmark_row(story: Story, row: Mapping[str, Any], conc: int) -> dict[str, Any]:
    """One result row of one concurrency."""
    latency, rate = story.measured(row, conc)
    if "isl" in row:
        lengths = {"isl": row["isl"], "osl": row["osl"]}
        return {**_identity(story, row, conc), **lengths, "median_e2el": latency, "tput_per_gpu": rate}
    spread = {"mean": latency, "p50": latency * 0.6, "p75": latency * 0.8, "p90": latency, "p95": latency * 1.4}
    return {
        "result_schema_version": 1,
        **_identity(story, row, conc),
        "scenario_type": "agentic-coding",
        "kv_offloading": row["kv-offloading"],
        "kv_offload_backend": row.get("kv-offload-backend"),
        "allocated_cpu_dram_gb": row["total-cpu-dram-gb"],
        "num_requests_total": 500,
        "num_requests_successful": 490,
        "request_metrics": {
            "latency": {"e2el": {**spread, "std": latency * 0.5}},
            "throughput": {"per_gpu": {"total_tput_tps": rate}},
        },
    }


def eval_row(story: Story, row: Mapping[str, Any], conc: int) -> dict[str, Any]:
    """One row of the aggregate; an AgentX eval has lengths of 0."""
    task = row.get("eval-suite") or "gsm8k"
    identity = _identity(story, row, conc)
    kept = {name: value for name, value in identity.items() if name not in ("image", "recipe_fingerprint")}
    return {
        **kept,
        "hw": str(identity["hw"]).upper(),
        "model_prefix": row["model-prefix"],
        "isl": row.get("isl", 0),
        "osl": row.get("osl", 0),
        "task": task,
        "eval_suite": row.get("eval-suite", ""),
        "em_strict": story.score,
        "em_strict_se": 0.005,
        "em_flexible": story.score,
        "em_flexible_se": 0.005,
        "n_eff": SAMPLES[task],
        "infrastructure_success": True,
        "integration_error": None,
        "score": story.score,
        "score_name": "em_strict",
        "score_se": 0.005,
    }


def artifacts(story: Story, rows: Iterable[PlannedRow], metadata: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Artifact name -> member -> text, for every planned row."""
    made = {"changelog-metadata": {"changelog_metadata.json": _text(metadata)}}
    fixed, evals = [], []
    for number, planned in enumerate(rows):
        row, name = planned.row, f"{planned.row['exp-name']}_{number}"
        if planned.is_eval:
            concs = (row["eval-conc"],) if row.get("eval-conc") else planned.concurrencies
            evals += [eval_row(story, row, conc) for conc in concs]
            continue
        found = [benchmark_row(story, row, conc) for conc in planned.concurrencies]
        if "isl" in row:
            fixed += found
            made[f"bmk_{name}"] = {f"agg_{name}_{one['conc']}.json": _text(one) for one in found}
        else:
            made[f"bmk_agentic_{name}"] = {f"{name}_{one['conc']}.json": _text(one) for one in found}
            made[f"agentic_{name}"] = {}
    if fixed:
        made["results_bmk"] = {"agg_bmk.json": _text(fixed)}
        made["run-stats"] = {"run_stats.json": _text({"gpu": {"n_success": len(fixed), "total": len(fixed)}})}
    if evals:
        made["eval_results_all"] = {"agg_eval_all.json": _text(evals)}
    return made


def metadata_of(matrix: Mapping[str, Any]) -> dict[str, Any]:
    """The changelog metadata that `setup` uploads."""
    return {**matrix["changelog_metadata"], "base_ref": ground.BASE, "head_ref": ground.HEAD}


def _text(value: object) -> str:
    return json.dumps(value, indent=1) + "\n"
