"""Purpose: from result rows to the curves that the dashboard draws: which rows share a series, and its points.

Source: evidence.md 5. A curve is model x scenario x hardware key x precision x percentile; fixed-sequence curves are
split by speculation, AgentX curves pool topology, speculation and offload. Percentiles are never pooled.

Invariants: identity comes from JSON fields, never from artifact names or config keys. A row whose values cannot be
read stays in its curve as a point that does not count; it never disappears.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.results.frontier import CANONICAL_FLAG
from app.results.identity import is_agentic, plain

ALIASES = {
    "atom-disagg": "mooncake-atom",
    "sglang-disagg": "mori-sglang",
    "trtllm": "trt",
    "dynamo-trtllm": "dynamo-trt",
}
KNOWN_BASES = frozenset(("h100", "h200", "b200", "b300", "gb200", "gb300", "rtx6000pro", "mi300x", "mi325x", "mi355x"))
_SHORT = {("1024", "1024"): "1k1k", ("8192", "1024"): "8k1k", ("1024", "8192"): "1k8k"}
AGENTIC_SCENARIO = "AgentX"
MEDIAN = "median"


@dataclass(frozen=True, order=True, slots=True)
class Series:
    """Identity of a curve without its percentile."""

    model: str
    hardware: str
    precision: str
    scenario: str

    def __str__(self) -> str:
        return f"{self.model} {self.hardware} {self.precision} {self.scenario}"

    @property
    def known_hardware(self) -> bool:
        return self.hardware.split("_", 1)[0] in KNOWN_BASES


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve: `points` are {"x", "y", "label"} in row order, values as the rows have them."""

    series: Series
    percentile: str
    points: tuple[Mapping[str, Any], ...]

    @property
    def key(self) -> str:
        return f"{self.series} {self.percentile}"


def hardware_key(hw: object, framework: object) -> str:
    """`cluster:gb200-nv` and `sglang` -> `gb200_sglang`."""
    base = plain(hw).removeprefix("cluster:").split("-", 1)[0]
    name = plain(framework)
    return f"{base}_{ALIASES.get(name, name)}"


def series_of(row: Mapping[str, Any]) -> Series:
    """The series of a result row."""
    hardware = hardware_key(row.get("hw"), row.get("framework"))
    model = plain(row.get("infmax_model_prefix") or row.get("model_prefix"))
    precision = plain(row.get("precision"))
    if is_agentic(row):
        return Series(model, hardware, precision, AGENTIC_SCENARIO)
    return Series(model, _split(hardware, row.get("spec_decoding")), precision, lengths(row.get("isl"), row.get("osl")))


def series_of_planned(row: Mapping[str, Any]) -> Series:
    """The series that a planned row (generator's field names) will land in."""
    fields = {
        "hw": row.get("runner"),
        "framework": row.get("framework"),
        "infmax_model_prefix": row.get("model-prefix"),
        "precision": row.get("precision"),
        "spec_decoding": row.get("spec-decoding"),
        "isl": row.get("isl"),
        "osl": row.get("osl"),
        "scenario_type": "" if "isl" in row else "agentic-coding",
    }
    return series_of(fields)


def _split(hardware: str, spec: object) -> str:
    method = plain(spec)
    return hardware if method in ("", "none") else f"{hardware}_{method}"


def lengths(isl: object, osl: object) -> str:
    """`8k1k` for 8192/1024; `<isl>_<osl>` for any other pair."""
    pair = (plain(isl), plain(osl))
    return _SHORT.get(pair, "_".join(pair))


def curves_of(rows: Iterable[Mapping[str, Any]]) -> tuple[Curve, ...]:
    """All curves of the rows, by series and percentile. A P75 curve exists once any row of the series submits it."""
    by_series: dict[Series, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_series.setdefault(series_of(row), []).append(row)
    curves = []
    for series, members in sorted(by_series.items()):
        if series.scenario != AGENTIC_SCENARIO:
            curves.append(Curve(series, MEDIAN, tuple(_fixed_point(row) for row in members)))
            continue
        curves.append(Curve(series, "P90", tuple(_agentic_point(row, "p90") for row in members)))
        if any(_at(row, "request_metrics", "latency", "e2el", "p75") is not None for row in members):
            curves.append(Curve(series, "P75", tuple(_agentic_point(row, "p75") for row in members)))
    return tuple(curves)


def _agentic_point(row: Mapping[str, Any], percentile: str) -> Mapping[str, Any]:
    successful = row.get("num_requests_successful")
    x = _at(row, "request_metrics", "latency", "e2el", percentile)
    if successful == 0 and row.get("num_requests_total"):
        x = None
    return _point(row, x, _at(row, "request_metrics", "throughput", "per_gpu", "total_tput_tps"))


def _fixed_point(row: Mapping[str, Any]) -> Mapping[str, Any]:
    return _point(row, row.get("median_e2el"), row.get("tput_per_gpu"))


def _point(row: Mapping[str, Any], x: object, y: object) -> Mapping[str, Any]:
    point = {"x": x, "y": y, "label": f"c{plain(row.get('conc'))}"}
    if CANONICAL_FLAG in row:
        point[CANONICAL_FLAG] = row[CANONICAL_FLAG]
    return point


def _at(row: Mapping[str, Any], *path: str) -> Any:
    value: Any = row
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
