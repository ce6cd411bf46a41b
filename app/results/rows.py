"""Purpose: whether a result row belongs to a planned row, and the values of a row that a verdict quotes.

A planned row has the generator's field names (kebab-case), a result row the artifact's (evidence.md 2 and 3). Both are
read into the same plain fields and compared. Hardware is compared by SKU: artifacts spell the runner in several ways.

Invariants: pure; nothing is parsed from artifact names. A planned multi-node fixed-sequence row stands for one point
for each concurrency of its list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from app.results.identity import is_agentic, is_multinode, plain

Fields = dict[str, str]

_WORKER = ("tp", "pp", "dcp-size", "pcp-size", "ep", "dp-attn")
_NAMES = {"dcp-size": "dcp_size", "pcp-size": "pcp_size", "dp-attn": "dp_attention", "num-worker": "num_workers"}
_DEFAULTS = {"pp": "1", "dcp_size": "1", "pcp_size": "1", "ep": "1", "dp_attention": "false"}

LABEL_FIELDS = frozenset({"kv_offloading", "kv_offload_backend", "allocated_cpu_dram_gb", "spec_decoding"})
"""Fields that a master can change without touching what the server runs (rules.md 1)."""

EVAL_SIZES = {"gsm8k": 1319, "kimi_tool_call_schema_full": 408, "minimax_m3_full": 102}
"""Effective number of answers of a complete eval (evidence.md 2.1)."""

DEFAULT_EVAL_TASK = "gsm8k"


def sku(hw: object) -> str:
    """`cluster:gb200-nv`, `GB200` and `gb200-nv_03` -> `gb200`."""
    return plain(hw).removeprefix("cluster:").split("-", 1)[0]


def planned_fields(row: Mapping[str, Any]) -> Fields:
    """The identity that a planned row's results must carry, without the concurrency."""
    fields = {
        "sku": sku(row.get("runner")),
        "prefix": plain(row.get("model-prefix")),
        "framework": plain(row.get("framework")),
        "precision": plain(row.get("precision")),
        "spec_decoding": plain(row.get("spec-decoding")) or "none",
    }
    if "isl" in row:
        fields |= {"isl": plain(row["isl"]), "osl": plain(row["osl"])}
    else:
        backend = row.get("kv-offload-backend")
        name = backend.get("name") if isinstance(backend, Mapping) else backend
        fields |= {"kv_offloading": plain(row.get("kv-offloading")) or "none", "kv_offload_backend": plain(name)}
    if "prefill" in row:
        for pool in ("prefill", "decode"):
            worker = row.get(pool) or {}
            fields |= {f"{pool}_{name}": value for name, value in _worker(worker, (*_WORKER, "num-worker")).items()}
    else:
        fields |= _worker(row, _WORKER)
    return fields


def _worker(worker: Mapping[str, Any], names: Iterable[str]) -> Fields:
    fields = {}
    for name in names:
        field = _NAMES.get(name, name)
        fields[field] = plain(worker.get(name)) or _DEFAULTS.get(field, "")
    return fields


def result_fields(row: Mapping[str, Any]) -> Fields:
    """The same fields of a result row."""
    fields = {
        "sku": sku(row.get("hw")),
        "prefix": plain(row.get("infmax_model_prefix") or row.get("model_prefix")),
        "framework": plain(row.get("framework")),
        "precision": plain(row.get("precision")),
        "spec_decoding": plain(row.get("spec_decoding")) or "none",
    }
    if is_agentic(row):
        backend = row.get("kv_offload_backend")
        name = backend.get("name") if isinstance(backend, Mapping) else backend
        fields |= {"kv_offloading": plain(row.get("kv_offloading")) or "none", "kv_offload_backend": plain(name)}
    else:
        fields |= {"isl": plain(row.get("isl")), "osl": plain(row.get("osl"))}
    plain_names = [_NAMES.get(name, name) for name in _WORKER]
    if is_multinode(row):
        pools = [f"{pool}_{name}" for pool in ("prefill", "decode") for name in (*plain_names, "num_workers")]
        fields |= {name: _value(row, name) for name in pools}
    else:
        fields |= {name: _value(row, name) for name in plain_names}
    return fields


def _value(row: Mapping[str, Any], name: str) -> str:
    return plain(row.get(name)) or _DEFAULTS.get(name.removeprefix("prefill_").removeprefix("decode_"), "")


def differing(planned: Fields, row: Mapping[str, Any]) -> frozenset[str]:
    """Names of planned fields that a benchmark row has otherwise (or not at all)."""
    found = result_fields(row)
    return frozenset(name for name, value in planned.items() if found.get(name) != value)


def eval_differing(planned: Fields, row: Mapping[str, Any]) -> frozenset[str]:
    """The same for an eval row, which carries neither offload nor pipeline and context sizes; agentic lengths are 0."""
    wanted = {"isl": "0", "osl": "0", **planned}
    lacking = ("kv_offloading", "kv_offload_backend")
    names = [name for name in wanted if name not in lacking and not name.endswith(("pp", "dcp_size", "pcp_size"))]
    found = result_fields({**row, "scenario_type": ""})
    found |= {"isl": found["isl"] or "0", "osl": found["osl"] or "0"}
    return frozenset(name for name in names if found.get(name) != wanted[name])


def concurrency(row: Mapping[str, Any]) -> int | None:
    """`conc` as a positive whole number, None where the row has none."""
    text = plain(row.get("conc"))
    return int(text) if text.isdigit() and int(text) > 0 else None


def planned_concurrencies(row: Mapping[str, Any]) -> tuple[int, ...]:
    """Concurrencies of a planned row: one, or the whole list of a multi-node row."""
    conc = row["conc"]
    return tuple(int(value) for value in conc) if isinstance(conc, (list, tuple)) else (int(conc),)


def eval_concurrencies(row: Mapping[str, Any]) -> tuple[int, ...]:
    """Concurrencies at which a planned eval row is evaluated: `eval-conc`, or all with `eval-all-concs`."""
    if row.get("eval-conc") is not None and not row.get("eval-all-concs"):
        return (int(row["eval-conc"]),)
    return planned_concurrencies(row)


def real(value: object) -> float | None:
    """A finite number, None for anything else (bool included)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if isfinite(number) else None
