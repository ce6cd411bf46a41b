"""Purpose: the identity of benchmark and eval rows, as the reuse validation and the collectors compare them.

Source: evidence.md 3 and 4. Identity is read from JSON fields, never from artifact names. Numbers written as text
("8192"), booleans written as text ("false") and upper-case hardware names compare equal to their plain forms.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Identity = tuple[str, ...]

AGENTIC = "agentic-coding"
_SINGLE = ("tp", "pp", "dcp_size", "pcp_size", "ep", "dp_attention")
_POOLS = tuple(f"{pool}_{name}" for pool in ("prefill", "decode") for name in (*_SINGLE, "num_workers"))
_COMMON = ("infmax_model_prefix", "hw", "framework", "precision")
_EVAL_TOPOLOGY = ("tp", "ep", "dp_attention")
_EVAL_POOLS = tuple(
    f"{pool}_{name}" for pool in ("prefill", "decode") for name in ("tp", "ep", "num_workers", "dp_attention")
)
_DEFAULTS = {"pp": "1", "dcp_size": "1", "pcp_size": "1", "ep": "1", "dp_attention": "false", "spec_decoding": "none"}


def plain(value: object) -> str:
    """One spelling of a scalar: lower-case text, integers without a fraction, true and false as words."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, (Mapping, list)):
        return json.dumps(value, sort_keys=True).lower()
    return str(value).strip().lower()


def _pick(row: Mapping[str, Any], names: tuple[str, ...]) -> Identity:
    picked = []
    for name in names:
        value = plain(row.get(name))
        default = _DEFAULTS.get(name.removeprefix("prefill_").removeprefix("decode_"), "")
        picked.append(f"{name}={value or default}")
    return tuple(picked)


def is_multinode(row: Mapping[str, Any]) -> bool:
    return plain(row.get("is_multinode")) == "true"


def is_agentic(row: Mapping[str, Any]) -> bool:
    return row.get("scenario_type") == AGENTIC


def fixed_identity(row: Mapping[str, Any]) -> Identity:
    """Identity of a fixed-sequence row: (hw, prefix, framework, precision, spec, disagg, isl, osl, topology, conc)."""
    topology = _POOLS if is_multinode(row) else _SINGLE
    return _pick(row, (*_COMMON, "spec_decoding", "disagg", "isl", "osl", "is_multinode", *topology, "conc"))


def agentic_identity(row: Mapping[str, Any]) -> Identity:
    """Identity of an agentic row: single-node has no spec and no disagg, but the offload key; multi-node has both."""
    names: tuple[str, ...] = (*_COMMON, *_SINGLE, "conc", "kv_offloading", "kv_offload_backend")
    if is_multinode(row):
        names = (*_COMMON, "spec_decoding", "disagg", *_POOLS, "conc", "kv_offloading", "kv_offload_backend")
    return ("agentic", *_pick(row, names))


def benchmark_identity(row: Mapping[str, Any]) -> Identity:
    return agentic_identity(row) if is_agentic(row) else fixed_identity(row)


def eval_identity(row: Mapping[str, Any], *, concurrency: object = None, task: str = "") -> Identity:
    """Identity of an eval row, the same from an aggregate row and from a raw directory's meta_env.json.

    Raw directories give the prefix as `infmax_model_prefix`; concurrency and task come from the caller there.
    """
    topology = _EVAL_POOLS if is_multinode(row) else _EVAL_TOPOLOGY
    base = {
        **row,
        "infmax_model_prefix": row.get("infmax_model_prefix") or row.get("model_prefix"),
        "conc": row.get("conc") if concurrency is None else concurrency,
        "task": task or row.get("task"),
        "isl": plain(row.get("isl")) or "0",
        "osl": plain(row.get("osl")) or "0",
    }
    return _pick(base, (*_COMMON, "spec_decoding", "isl", "osl", *topology, "conc", "task", "eval_suite"))


def spell(identity: Identity) -> str:
    """A short form for messages: the parts that are set, without the empty ones."""
    return ", ".join(part for part in identity if not part.endswith("="))
