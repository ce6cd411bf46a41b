"""Purpose: series, rows and job names: which result belongs to which planned row, on every shape of the repository."""

from __future__ import annotations

import re
from typing import Any

import pytest

from app.planner.job_names import check_run_name
from app.results.curves import curves_of, hardware_key, series_of, series_of_planned
from app.results.job_names import family_of, mismatch, parse_job
from app.results.plot import panels_of, svg
from app.results.rows import (
    concurrency,
    differing,
    eval_concurrencies,
    eval_differing,
    planned_fields,
    real,
    sku,
)
from app.sandbox.reference_parts.tree import files
from tests.checks.sweep_story import AMD, NVIDIA, Sweep, eval_rows, result_row

KEYS = re.findall(r"^([a-z][\w.-]*):$", (files("base")[NVIDIA] + files("base")[AMD]).decode(), re.M)


@pytest.fixture(scope="module")
def plans() -> dict[str, Any]:
    return {key: Sweep().names(key).plan().rows for key in KEYS}


@pytest.mark.parametrize("key", KEYS)
def test_a_job_name_is_read_back_into_its_own_row_and_no_other(key: str, plans: dict[str, Any]) -> None:
    rows = plans[key]
    for row in rows:
        name = parse_job(check_run_name(row.bucket, row.row, 3.5))
        assert name is not None
        assert mismatch(name, row.row) == frozenset()
        assert set(eval_concurrencies(row.row) if row.is_eval else row.concurrencies) <= set(name.concurrencies)
        assert name.is_eval is row.is_eval
    others = [row for other, found in plans.items() if other != key for row in found]
    name = parse_job(check_run_name(rows[0].bucket, rows[0].row, 3.5))
    assert name is not None
    assert [row.config_key for row in others if not mismatch(name, row.row) and row.concurrencies[0] == 1] == []


@pytest.mark.parametrize("key", KEYS)
def test_a_result_row_belongs_to_its_planned_row(key: str, plans: dict[str, Any]) -> None:
    for row in plans[key]:
        fields = planned_fields(row.row)
        if row.is_eval:
            assert all(not eval_differing(fields, one) for one in eval_rows(row))
            continue
        for conc in row.concurrencies:
            made = result_row(row, conc)
            assert differing(fields, made) == frozenset()
            assert concurrency(made) == conc
            assert series_of(made) == series_of_planned(row.row)
            assert differing(fields, {**made, "precision": "bf16"}) == {"precision"}
            assert differing(fields, {**made, "hw": "h100"}) == {"sku"}


@pytest.mark.parametrize(
    "name",
    [
        "collect-evals / collect-evals",
        "setup",
        "agentic /",
        "agentic / p1.000",
        "agentic / x | m fp4 r sgl TP4 c1",
        "agentic / p1.000 | m fp4 c1",
        "agentic / p1.000 | m fp4 r sgl TP4 c",
        "",
        "|" * 1_000,
    ],
)
def test_other_names_are_no_matrix_jobs(name: str) -> None:
    assert parse_job(name) is None


@pytest.mark.parametrize(
    ("name", "family", "is_eval", "concurrencies"),
    [
        ("agentic / / klaud | p4.750 | m fp4 cluster:gb200-nv sgl TP4/EP4  mtp  c10", "agentic", False, (10,)),
        ("single-node 8k1k / p1.000 | m fp4 b200 vllm TP8/DPA c64 | eval", "8k1k", True, (64,)),
        ("eval / p1.000 | m fp4 b200 vllm TP8 c64 | eval-only", "eval", True, (64,)),
        ("multi-node canary / p1.000 | m fp4 r dyn-trt 2P (TP8/EP8/DPA) x 1D (TP16) c1x2", "canary", False, (1, 2)),
    ],
)
def test_forms_of_names(name: str, family: str, is_eval: bool, concurrencies: tuple[int, ...]) -> None:
    job = parse_job(name)
    assert job is not None
    assert (job.family, job.is_eval, job.concurrencies) == (family, is_eval, concurrencies)


def test_pools_and_frameworks_of_a_multi_node_name() -> None:
    job = parse_job("multi-node agentic / p1.000 | m fp4 r dyn-sgl 2P (TP8/EP8/DPA) x 1D (TP16/PP2) mtp c4")
    assert job is not None
    assert (job.framework, job.multinode, job.spec) == ("dynamo-sglang", True, "mtp")
    assert job.pools["prefill"] == {"tp": 8, "ep": 8, "dp-attn": 1, "num-worker": 2}
    assert job.pools["decode"] == {"tp": 16, "pp": 2, "dp-attn": 0, "num-worker": 1}


@pytest.mark.parametrize(
    ("name", "family"),
    [("agentic / p1.000 | x", "agentic"), ("multi-node 1k1k /", "multi-node 1k1k"), ("collect-evals / x", "")],
)
def test_families(name: str, family: str) -> None:
    assert family_of(name) == family


@pytest.mark.parametrize(
    ("hw", "framework", "key"),
    [
        ("cluster:gb200-nv", "sglang", "gb200_sglang"),
        ("B200-Multinode", "dynamo-trtllm", "b200_dynamo-trt"),
        ("mi355x", "sglang-disagg", "mi355x_mori-sglang"),
        ("mi355x-amds", "atom-disagg", "mi355x_mooncake-atom"),
        ("vr200", "vllm", "vr200_vllm"),
    ],
)
def test_hardware_keys(hw: str, framework: str, key: str) -> None:
    assert hardware_key(hw, framework) == key
    assert sku(hw) == key.split("_")[0]


def test_series_pool_agentic_rows_and_split_fixed_ones_by_speculation() -> None:
    agentic = {"hw": "gb200", "framework": "sglang", "infmax_model_prefix": "m", "precision": "fp4"}
    pooled = {**agentic, "scenario_type": "agentic-coding"}
    assert series_of({**pooled, "spec_decoding": "mtp", "tp": 4}) == series_of({**pooled, "spec_decoding": "none"})
    fixed = {**agentic, "isl": 8192, "osl": 1024}
    assert str(series_of({**fixed, "spec_decoding": "mtp"})) == "m gb200_sglang_mtp fp4 8k1k"
    assert str(series_of({**fixed, "spec_decoding": "none", "isl": 2048})) == "m gb200_sglang fp4 2048_1024"


def test_a_row_without_a_successful_request_is_a_point_that_does_not_count() -> None:
    row = {
        "scenario_type": "agentic-coding",
        "num_requests_total": 5,
        "num_requests_successful": 0,
        "request_metrics": {"latency": {"e2el": {"p90": 1.0}}, "throughput": {"per_gpu": {"total_tput_tps": 1.0}}},
    }
    (curve,) = curves_of([row])
    assert [point["x"] for point in curve.points] == [None]
    assert curve.percentile == "P90"


def test_a_picture_has_one_panel_for_each_percentile() -> None:
    sweep = Sweep.of("dsv41flash-fp4-gb200-sglang-agentic-dspark")
    panels = panels_of(sweep.rows)
    assert [panel.coverage.key.rsplit(" ", 1)[1] for panel in panels] == ["P90", "P75"]
    assert svg(panels).count("<polyline") == 2
    assert svg(panels) == svg(panels_of(sweep.rows))


@pytest.mark.parametrize(
    ("value", "number"), [(1, 1.0), (1.5, 1.5), (True, None), ("1", None), (float("nan"), None), (10**400, None)]
)
def test_numbers(value: object, number: float | None) -> None:
    assert real(value) == number
