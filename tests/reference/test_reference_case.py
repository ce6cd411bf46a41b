"""Purpose: the material against the case file of the project, where that lies beside the repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from app.results.frontier import coverage
from app.sandbox.reference_parts import checkpoint, logs, names, results, settings
from app.sandbox.reference_parts.tree import files, text

CASE = Path(__file__).resolve().parents[2] / "../shared/cases/pr-4343.yaml"
pytestmark = pytest.mark.skipif(not CASE.is_file(), reason="the case file ../shared/cases/pr-4343.yaml is not there")

FLAGS = {
    "prefill-cuda-graph": "cuda-graph-backend-prefill",
    "draft-attention-backend": "speculative-draft-attention-backend",
    "draft": "speculative-draft-model-path",
}


@pytest.fixture(scope="module")
def case() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(CASE.read_text(encoding="utf-8"))
    return loaded


def test_names_of_the_pull_request_and_its_run(case: dict[str, Any]) -> None:
    told = case["pull_request"]
    assert (told["number"], told["repo"], told["author"]) == (names.NUMBER, names.REPOSITORY, names.AUTHOR)
    assert told["head_sha"] == names.HEAD_SHA
    assert case["sweep"]["run_id"] == names.RUN_ID
    assert case["config"]["image"] == names.IMAGE
    assert case["config"]["key"] == names.KEY
    assert case["assumed"]["label"] == names.LABEL


def test_files_of_the_pull_request(case: dict[str, Any]) -> None:
    assert sorted(entry["path"] for entry in case["files"]) == sorted(files("head"))


@pytest.mark.parametrize("concurrency", settings.CONCURRENCIES)
def test_base_settings_hold_at_each_point(case: dict[str, Any], concurrency: int) -> None:
    args, env = settings.server(concurrency), settings.environment(concurrency)
    own = case["config"]["per_concurrency"].get(concurrency, {})
    for name, value in case["config"]["base_server"].items():
        if name == "parsers":
            assert (args["reasoning-parser"], args["tool-call-parser"]) == (value, value)
        else:
            assert args[FLAGS.get(name, name)] == own.get(name, value), name
    for name, value in case["config"]["base_env"].items():
        assert env[name] == value


@pytest.mark.parametrize("concurrency", [1, 4, 6, 8, 10])
def test_own_settings_of_each_changed_point(case: dict[str, Any], concurrency: int) -> None:
    args, env = settings.server(concurrency), settings.environment(concurrency)
    own = dict(case["config"]["per_concurrency"][concurrency])
    limit = own.pop("limit")
    assert (args["max-running-requests"], args["cuda-graph-max-bs-decode"]) == (limit, limit)
    assert settings.offloading(concurrency) == own.pop("kv_offloading", "dram")
    hicache = own.pop("hicache", None)
    if hicache is False:
        assert not [flag for flag in args if "hicache" in flag or "hierarchical" in flag]
    elif hicache is not None:
        assert args["hicache-size"] == hicache
    for name, value in own.pop("env", {}).items():
        assert env[name] == value
    if own.get("draft-attention-backend") == "default":
        assert "speculative-draft-attention-backend" not in args
        own.pop("draft-attention-backend")
    assert {name: args[FLAGS.get(name, name)] for name in own} == own


def test_measured_values_and_frontiers(case: dict[str, Any]) -> None:
    assert {conc: list(point) for conc, point in results.POINTS.items()} == case["assumed"]["points"]
    for percentile, position in (("p90_frontier", 0), ("p75_frontier", 1)):
        points = [{"x": point[position], "y": point[2], "conc": conc} for conc, point in results.POINTS.items()]
        found = coverage(percentile, points)
        assert found.measured_points == case["sweep"]["pareto"]["measured"]
        assert [point["conc"] for point in found.frontier] == case["sweep"]["pareto"][percentile]


def test_eval_and_log_values(case: dict[str, Any]) -> None:
    told, row = case["sweep"]["eval"], results.eval_row()
    assert (row["task"], row["em_strict"], row["em_strict_se"], row["n_eff"], row["conc"]) == (
        told["task"],
        told["em_strict"],
        told["stderr"],
        told["n"],
        told["conc"],
    )
    assert case["job_log_evidence"]["env"] == logs.ACCEPTANCE
    assert case["sweep"]["dataset"] == results.agentic_row(10)["dataset"]["name"]
    assert case["assumed"]["artifact_hw"] == results.agentic_row(10)["hw"]


def test_draft_checkpoint(case: dict[str, Any]) -> None:
    told = case["draft_checkpoint"]
    assert told["repo"] == names.DRAFT
    assert names.DRAFT_SHA.startswith(told["sha"])
    assert told["safetensors_parameters"] == checkpoint.description()["safetensors"]["parameters"]
    assert checkpoint.config()["dtype"] == told["config_dtype"]


def test_upstream_and_exclusions_stand_in_the_sign_off(case: dict[str, Any]) -> None:
    signed, told = text("sign_off.md"), case["upstream_recipe"]
    assert f"https://github.com/{told['pull_request'].replace('#', '/pull/')}" in signed
    assert f"https://{told['page']}" in signed
    for name in told["excluded_as_harness_only"]:
        words = name.replace("all benchmark.env", "benchmark.env").replace("acceptance env", "acceptance")
        assert words in signed, name
    assert told["merged_at"] == names.UPSTREAM_MERGED
    assert names.UPSTREAM_MERGE_SHA.startswith(told["merge_sha"])


def test_the_description_makes_the_claims_of_the_case(case: dict[str, Any]) -> None:
    body = text("pull_request.md")
    for claim in case["pull_request"]["body_claims"]:
        if isinstance(claim, dict):
            row = next(line for line in body.splitlines() if line.startswith(f"| {claim['points']} |"))
            assert f"`{claim['kv-offloading']}`" in row
            assert ", ".join(map(str, claim["conc"])) in row
    for heading in ("## Description", "## 说明", "## AI model disclosure", "## Type of change", "## Checklist"):
        assert heading in body
