"""The reuse validation: one broken artifact for each rule of evidence.md 4."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from app.results.artifacts import ArtifactFile, check_artifacts
from app.results.collect import collect

Folder = dict[str, dict[str, Any]]

AGENTIC = {
    "scenario_type": "agentic-coding", "hw": "gb200-nv", "infmax_model_prefix": "musespark", "framework": "sglang",
    "precision": "fp4", "tp": 4, "ep": 4, "conc": 1, "kv_offloading": "none", "kv_offload_backend": None,
}  # fmt: skip
FIXED = {
    "hw": "b200-nv", "infmax_model_prefix": "qwen3.5", "framework": "sglang", "precision": "fp4", "isl": 8192,
    "osl": 1024, "tp": 4, "conc": 64, "spec_decoding": "mtp", "disagg": False,
}  # fmt: skip
META = {
    "hw": "gb200-nv", "infmax_model_prefix": "musespark", "framework": "sglang", "precision": "fp4", "tp": 4, "ep": 4,
    "conc": 32, "isl": "0", "osl": "0",
}  # fmt: skip
RESULT = {
    "results": {"gsm8k": {"exact_match,strict-match": 0.97, "exact_match,flexible-extract": 0.975}},
    "n-samples": {"gsm8k": {"original": 1319, "effective": 1319}},
}
STAMP = "results_2026-10-21T05-00-00.json"


def whole() -> Folder:
    """Artifacts that break no rule: two agentic points, one fixed row, one eval."""
    points = [AGENTIC, {**AGENTIC, "conc": 2}]
    folder: Folder = {
        "bmk_agentic_a": {"a.json": points[0]},
        "bmk_agentic_b": {"b.json": points[1]},
        "agentic_a": {"raw.txt": ""},
        "agentic_b": {"raw.txt": ""},
        "results_bmk": {"agg_bmk.json": [*points, FIXED]},
        "run-stats": {"run_stats.json": {"gb200-nv": {"n_success": 3, "total": 3}}},
        "eval_e": {"meta_env.json": META, STAMP: RESULT},
    }
    made = collect(artifacts(folder)).files
    folder["eval_results_all"] = {"agg_eval_all.json": json.loads(made["eval_results_all", "agg_eval_all.json"])}
    return folder


def artifacts(folder: Folder) -> dict[str, dict[str, ArtifactFile]]:
    def content(value: Any) -> bytes:
        return value if isinstance(value, bytes) else json.dumps(value).encode()

    return {
        name: {path: ArtifactFile(content(value)) for path, value in files.items()} for name, files in folder.items()
    }


def test_whole_artifacts_are_accepted() -> None:
    report = check_artifacts(artifacts(whole()))
    assert report.problems == ()
    assert dict(report.counts) == {"fixed_rows": 1, "agentic_points": 2, "eval_rows": 1}


def put(name: str, member: str, value: Any) -> Callable[[Folder], None]:
    def change(folder: Folder) -> None:
        folder.setdefault(name, {})[member] = value

    return change


def drop(*names: str) -> Callable[[Folder], None]:
    def change(folder: Folder) -> None:
        for name in names:
            del folder[name]

    return change


def result(**changes: Any) -> Callable[[Folder], None]:
    return put("eval_e", STAMP, {**RESULT, **changes})


def meta(**changes: Any) -> Callable[[Folder], None]:
    return put("eval_e", "meta_env.json", {**META, **changes})


POINTS = [AGENTIC, {**AGENTIC, "conc": 2}]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(
            put("results_bmk", "agg_bmk.json", [*POINTS, FIXED, FIXED]),
            "Fixed-sequence rows must be unique",
            id="a doubled fixed row",
        ),
        pytest.param(
            put("bmk_agentic_b", "b.json", AGENTIC), "Agentic points must be unique", id="two point files of one point"
        ),
        pytest.param(
            put("results_bmk", "agg_bmk.json", [AGENTIC, FIXED]),
            "Agentic points must be the same",
            id="a point that the aggregate lacks",
        ),
        pytest.param(
            put("results_bmk", "agg_bmk.json", [*POINTS, AGENTIC, FIXED]),
            "Agentic rows must be unique",
            id="a doubled agentic row",
        ),
        pytest.param(drop("agentic_b"), "Each bmk_agentic_* artifact has its raw", id="raw files missing"),
        pytest.param(
            put("agentic_c", "raw.txt", ""), "Each raw agentic_* artifact has its bmk", id="raw files without a point"
        ),
        pytest.param(put("bmk_agentic_b", "b.json", b"{"), "must be JSON", id="a torn point file"),
        pytest.param(drop("run-stats"), "run-stats must be there", id="fixed rows without run-stats"),
        pytest.param(
            put("eval_e", "meta_env.json", b"[]"),
            "holds the object meta_env.json",
            id="meta_env.json that is no object",
        ),
        pytest.param(meta(eval_suite=""), "eval_suite is a text", id="an empty eval suite"),
        pytest.param(meta(conc=0), "complete concurrencies", id="a concurrency of zero"),
        pytest.param(
            meta(eval_concs=[1, 2], completed_eval_concs=[1], failed_eval_concs=[]),
            "do not add up",
            id="a batch with a hole",
        ),
        pytest.param(
            meta(eval_concs=[1, 2], completed_eval_concs=[1, 2], failed_eval_concs=[2]),
            "overlap",
            id="a concurrency both done and failed",
        ),
        pytest.param(
            meta(eval_concs=[1, 2], completed_eval_concs=[1], failed_eval_concs=[2]),
            "[2] failed",
            id="a failed concurrency",
        ),
        pytest.param(
            meta(eval_concs=[1, 1], completed_eval_concs=[1], failed_eval_concs=[]),
            "different whole numbers",
            id="a doubled concurrency",
        ),
        pytest.param(
            meta(eval_concs=[32], completed_eval_concs=[32], failed_eval_concs=[]),
            "result file for each concurrency",
            id="a batch file without its suffix",
        ),
        pytest.param(result(integration_error={"kind": "timeout"}), "no integration_error", id="an integration error"),
        pytest.param(result(results={}), "no results", id="empty results"),
        pytest.param(result(results={"gsm8k": {"exact_match,strict-match": None}}), "primary score", id="a null score"),
        pytest.param(
            result(results={"gsm8k": {"exact_match,strict-match": True}}), "primary score", id="a bool as score"
        ),
        pytest.param(
            result(results={"gsm8k": {"exact_match,strict-match": 1.2}}), "primary score", id="a score above one"
        ),
        pytest.param(result(**{"n-samples": {"gsm8k": {"effective": 0}}}), "sample count", id="no effective sample"),
        pytest.param(drop("eval_results_all"), "Raw evals need eval_results_all", id="no eval aggregate"),
        pytest.param(
            put("eval_results_all", "agg_eval_all.json", []), "at least one row", id="an empty eval aggregate"
        ),
        pytest.param(
            put("eval_results_all", "agg_eval_all.json", ["x"]), "holds objects", id="an eval aggregate of texts"
        ),
        pytest.param(meta(conc=16), "Eval rows must be the same", id="an aggregate of another point"),
    ],
)
def test_each_rule_finds_its_breach(change: Callable[[Folder], None], expected: str) -> None:
    folder = whole()
    change(folder)
    report = check_artifacts(artifacts(folder))
    told = [str(problem) for problem in report.problems]
    assert any(expected in line for line in told), told


def test_nothing_measured_is_not_reusable() -> None:
    report = check_artifacts({"changelog-metadata": {}})
    assert [problem.rule for problem in report.problems] == ["A reusable run has result rows."]


def test_doubled_eval_rows_are_found() -> None:
    folder = whole()
    folder["eval_results_all"]["agg_eval_all.json"] *= 2
    assert any("Eval rows must be unique" in str(one) for one in check_artifacts(artifacts(folder)).problems)


def test_an_eval_rerun_keeps_the_newest_sound_result_that_the_aggregate_names() -> None:
    folder = whole()
    newer = "results_2026-10-21T06-00-00.json"
    folder["eval_f"] = {"meta_env.json": META, newer: RESULT}
    folder["eval_results_all"]["agg_eval_all.json"][0]["source"] = f"eval_f/{newer}"
    report = check_artifacts(artifacts(folder))
    assert report.problems == ()
    assert [(one.kept, one.dropped) for one in report.collapsed] == [("eval_f", ("eval_e",))]


def test_an_unsound_newer_rerun_does_not_win() -> None:
    folder = whole()
    folder["eval_f"] = {"meta_env.json": META, "results_2026-10-21T06-00-00.json": {**RESULT, "integration_error": {}}}
    report = check_artifacts(artifacts(folder))
    assert report.collapsed == ()
    assert not report.accepted


def test_collecting_twice_gives_the_same_bytes() -> None:
    found = artifacts(whole())
    assert collect(found).files == collect(dict(reversed(list(found.items())))).files
