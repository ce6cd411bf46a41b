"""Purpose: the planned row that a benchmark job is asked to run, validated against the generator's fields.

Source: formats.md 2 and the planner's output. Field names are the generator's (kebab-case). A row is one of four kinds:
single or multi node, agentic or fixed-sequence; `eval-only` makes it an eval.

Invariants: unknown fields are refused, so that a misspelt one cannot be ignored; nothing here does I/O.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.launch.errors import LaunchError

_TEXT = ("image", "model", "model-prefix", "precision", "framework", "runner", "exp-name")
_COMMON_OPTIONAL = {
    "spec-decoding": str,
    "recipe-fingerprint": str,
    "config-key": str,
    "srt-recipe": str,
    "eval-srt-recipe": str,
    "srt-recipe-dir": str,
    "scenario-type": str,
    "kv-offloading": str,
    "kv-p2p-transfer": str,
    "eval-framework": str,
    "eval-suite": str,
    "isl": int,
    "osl": int,
    "max-model-len": int,
    "duration": int,
    "total-cpu-dram-gb": int,
    "node-count": int,
    "num-nodes": int,
    "disagg": bool,
    "run-eval": bool,
    "eval-only": bool,
    "eval-all-concs": bool,
    "require-power": bool,
    "power": bool,
    "router": dict,
    "kv-offload-backend": dict,
    "eval-conc": (int, list),
}
_SINGLE = {"tp": int, "pp": int, "dcp-size": int, "pcp-size": int, "ep": int, "dp-attn": bool, "conc": int}
_MULTI = {"prefill": dict, "decode": dict, "conc": list}
_SAFE = re.compile(r"[^A-Za-z0-9._-]+")
_FIX = "Plan the sweep again with `sweepgate plan` and pass a row of its matrix unchanged."


@dataclass(frozen=True)
class LaunchRow:
    """One validated row. `data` is the row as planned."""

    data: Mapping[str, Any]

    def text(self, name: str, default: str = "") -> str:
        value = self.data.get(name)
        return default if value is None else str(value)

    @property
    def multinode(self) -> bool:
        return "prefill" in self.data

    @property
    def agentic(self) -> bool:
        return "isl" not in self.data

    @property
    def eval_only(self) -> bool:
        return self.data.get("eval-only") is True

    @property
    def runs_eval(self) -> bool:
        return self.eval_only or self.data.get("run-eval") is True

    @property
    def kind(self) -> str:
        return "eval" if self.eval_only else "agentic" if self.agentic else "fixed"

    @property
    def concurrencies(self) -> tuple[int, ...]:
        value = self.data["conc"]
        return tuple(value) if isinstance(value, list) else (value,)

    @property
    def hardware(self) -> str:
        """The row's runner as artifacts spell it (`hw`): without `cluster:`."""
        return self.text("runner").removeprefix("cluster:")

    @property
    def speculative(self) -> bool:
        return self.text("spec-decoding", "none") != "none"

    @property
    def synthetic(self) -> bool:
        """True where acceptance is simulated if the recipe drafts (evidence.md 1.6): agentic, speculative, no eval."""
        return self.agentic and self.speculative and not self.eval_only

    @property
    def digest(self) -> str:
        """SHA-256 over the row, key order fixed: names the same measurement across attempts."""
        return hashlib.sha256(json.dumps(self.data, sort_keys=True, ensure_ascii=True).encode()).hexdigest()

    @property
    def result_name(self) -> str:
        """Base name of results and artifacts. Readers take identity from the JSON, so a digest keeps it short."""
        parts = (
            self.text("exp-name"),
            self.text("precision"),
            self.text("framework"),
            "conc" + "x".join(map(str, self.concurrencies)),
            self.hardware,
            self.digest[:8],
        )
        return _SAFE.sub("-", "_".join(parts))


def _wrong_type(value: object, kind: Any) -> bool:
    if kind is int and isinstance(value, bool):
        return True
    return not isinstance(value, kind)


def _complaints(row: Mapping[str, Any]) -> list[str]:
    shape = _MULTI if "prefill" in row or "decode" in row else _SINGLE
    required = {**dict.fromkeys(_TEXT, str), "conc": shape["conc"]}
    required |= _MULTI if shape is _MULTI else {"tp": int}
    if "isl" in row or "osl" in row:
        required |= {"isl": int, "osl": int}
    known = {**required, **shape, **_COMMON_OPTIONAL}
    complaints = [f"{name} is missing" for name in required if name not in row]
    complaints += [f"{name} is not a field of a row" for name in row if name not in known]
    for name, value in row.items():
        if name not in known or (value is None and name not in required):
            continue
        if _wrong_type(value, known[name]):
            complaints.append(f"{name} is {json.dumps(value)}")
    values = row.get("conc")
    listed = values if isinstance(values, list) else [values]
    if "conc" in row and (not listed or any(isinstance(v, bool) or not isinstance(v, int) or v <= 0 for v in listed)):
        complaints.append(f"conc is {json.dumps(values)}, not a whole number above 0")
    return complaints


def read_row(text: str, name: str = "row.json") -> LaunchRow:
    """The row in `text`. Raises LaunchError `bad-row` with every defect in one sentence."""
    try:
        row = json.loads(text)
    except ValueError as error:
        raise LaunchError("bad-row", f"{name} is not JSON: {error}.", _FIX) from None
    if not isinstance(row, dict):
        raise LaunchError("bad-row", f"{name} holds {type(row).__name__}, a row is an object.", _FIX)
    complaints = _complaints(row)
    if complaints:
        shown = "; ".join(dict.fromkeys(complaints[:8]))
        more = f" and {len(complaints) - 8} more" if len(complaints) > 8 else ""
        raise LaunchError("bad-row", f"{name} does not fit the row schema: {shown}{more}.", _FIX)
    return LaunchRow(row)
