"""Purpose: planned rows and points as flat mappings, one a line: the form in which plans are compared.

A flat row is the matrix's row plus `bucket`, `nodes` (single, multi), `scenario`, `is-eval` and `config-key`, without
`scenario-type`; the KV backend becomes `kv-offload-backend` and `kv-offload-backend-version`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.planner.plan import PlannedRow
from app.planner.points import AGENTIC, FIXED, Point


def flat_row(planned: PlannedRow) -> dict[str, Any]:
    """One row of `sweepgate plan --format points`."""
    found = _flat(planned.row)
    found |= {"bucket": planned.bucket, "is-eval": planned.is_eval, "config-key": planned.config_key}
    return found


def flat_point(point: Point) -> dict[str, Any]:
    """One point of `sweepgate changed`: a throughput row with one concurrency and its fingerprint."""
    found = _flat(point.row)
    found |= {"conc": point.concurrency, "recipe-fingerprint": point.fingerprint, "config-key": point.key}
    return found


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: value for name, value in row.items() if name not in ("scenario-type", "kv-offload-backend")}
    backend = row.get("kv-offload-backend")
    if backend:
        found["kv-offload-backend"] = backend["name"]
        if backend.get("version") is not None:
            found["kv-offload-backend-version"] = backend["version"]
    found["nodes"] = "multi" if "prefill" in row else "single"
    found["scenario"] = FIXED if "isl" in row else AGENTIC
    return found
