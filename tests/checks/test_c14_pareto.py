"""Purpose: check 14, rule by rule: curves of the evidence run and their frontiers; it warns and never fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.facts.records import PermissionRecord
from app.facts.sweep import BenchmarkRows, EvidenceRun
from app.results.frontier import CANONICAL_FLAG
from tests.checks.sweep_story import NVIDIA, Sweep, comment
from tests.support.bundles import flipped, good

SIX = "dsv41flash-fp4-gb200-sglang-agentic-dspark"
TWO = "minimaxm3-fp4-gb200-vllm-agentic-eagle3"
FIXED = "dsr1-fp4-b200-sglang-mtp"
ADMIN = PermissionRecord(permission="admin", role_name="admin")
MAINTAIN = PermissionRecord(permission="admin", role_name="maintain")


def latency(sweep: Sweep, percentile: str, change: Callable[[int, float], Any]) -> Sweep:
    for row in sweep.rows:
        e2el = row["request_metrics"]["latency"]["e2el"]
        e2el[percentile] = change(row["conc"], e2el[percentile])
    return sweep


def flat(percentile: str) -> Sweep:
    """At one percentile every point is as slow as the slowest."""
    return latency(Sweep.of(SIX), percentile, lambda conc, value: 100.0)


def without_p75() -> Sweep:
    sweep = Sweep.of(SIX)
    for row in sweep.rows:
        del row["request_metrics"]["latency"]["e2el"]["p75"]
    return sweep


def only(*concurrencies: int) -> Sweep:
    sweep = Sweep.of(SIX)
    sweep.rows = [row for row in sweep.rows if row["conc"] in concurrencies]
    return sweep


def broken(conc: int, value: Any) -> Sweep:
    return latency(Sweep.of(SIX), "p90", lambda c, old: value if c == conc else old)


def canonical(*flagged: int) -> Sweep:
    sweep = Sweep.of(SIX)
    for row in sweep.rows:
        row[CANONICAL_FLAG] = row["conc"] in flagged
    return sweep


SHARING = """
dsv41flash-fp4-gb200-sglang-agentic-two:
  image: lmsysorg/sglang:nightly-dev-cu13-20261006-5d1c07ae
  model: deepseek-ai/DeepSeek-V4.1-Flash
  model-prefix: dsv41flash
  runner: cluster:gb200-nv
  precision: fp4
  framework: sglang
  multinode: false
  scenarios:
    agentic-coding:
    - search-space:
      - { tp: 2, kv-offloading: none, spec-decoding: SPEC, conc-list: [3], srt-recipe: RECIPE }
"""
RECIPE = "benchmarks/single_node/srt-slurm-recipes/dsv41flash/sglang/gb200-fp4-mtp/agentic.yaml"


def sharing(*keys: str) -> Sweep:
    """A second key on the same series."""
    sweep = Sweep()
    entry = SHARING.replace("SPEC", "mtp").replace("RECIPE", RECIPE).encode()
    for tree in (sweep.base, sweep.head):
        tree[NVIDIA] += entry
    return sweep.names(*keys).measure()


def mixed() -> Sweep:
    sweep = Sweep.of(SIX)
    for row in sweep.rows[:2]:
        row["spec_decoding"] = "none"
    return sweep


def unknown_hardware() -> Sweep:
    sweep = Sweep().edit(NVIDIA, "cluster:gb200-nv", "cluster:vr200-nv", both=True)
    return sweep.edit("inferencex-e2e/configs/runners.yaml", "gb200-nv", "vr200-nv", both=True).names(SIX).measure()


def bypassed(permission: PermissionRecord = ADMIN, login: str = "maintainer") -> Sweep:
    sweep = only(1, 3)
    sweep.comments = [comment(1, login, "/except 14 a first point of a new model", "2026-10-20T12:00:00Z")]
    sweep.permissions = {login: permission}
    return sweep


@pytest.mark.parametrize(
    ("make", "status", "text"),
    [
        pytest.param(
            lambda: Sweep.of(SIX),
            "PASS",
            "dsv41flash gb200_sglang fp4 AgentX: 6 of 6 points on the frontier at P90 ▁▁▂▃▄█ and P75",
            id="14.five 14.percentiles: agentic",
        ),
        pytest.param(
            lambda: Sweep.of(FIXED), "PASS", "dsr1 b200_sglang_mtp fp4 8k1k: 5 of 5", id="14.five: fixed sequence"
        ),
        pytest.param(without_p75, "PASS", "frontier at P90 ▁▁▂▃▄█", id="14.percentiles: P75 was not submitted"),
        pytest.param(lambda: flat("p75"), "WARN", "1 of 6 points", id="14.percentiles: P75 alone is thin"),
        pytest.param(lambda: flat("p90"), "WARN", "1 of 6 points", id="14.percentiles: P90 alone is thin"),
        pytest.param(
            lambda: sharing(SIX, "dsv41flash-fp4-gb200-sglang-agentic-two"),
            "PASS",
            "share a series",
            id="14.shared: two keys on one curve",
        ),
        pytest.param(mixed, "PASS", "4 points with simulated and 2 with real acceptance", id="14.mixed"),
        pytest.param(
            unknown_hardware, "PASS", "vr200_sglang fp4 AgentX: 6 of 6", id="14.unknown-hardware: still a curve"
        ),
        pytest.param(
            lambda: canonical(1, 3, 6, 12, 20, 40), "PASS", "6 of 6", id="14.canonical: every point is flagged"
        ),
        pytest.param(lambda: canonical(1, 3, 6), "WARN", "3 of 6", id="14.canonical: three are flagged"),
        pytest.param(lambda: Sweep.of(TWO), "WARN", "2 of 2 points on the frontier", id="14.few"),
        pytest.param(lambda: only(1, 3), "WARN", "/except 14", id="14.few: the next step"),
        pytest.param(lambda: broken(6, None), "WARN", "5 of 6 points", id="14.invalid: no latency"),
        pytest.param(lambda: broken(6, float("nan")), "WARN", "5 of 6", id="14.invalid: not a number"),
        pytest.param(lambda: broken(6, True), "WARN", "5 of 6", id="14.invalid: a bool"),
        pytest.param(only, "WARN", "0 of 0 points on the frontier", id="14.unmeasured"),
        pytest.param(
            lambda: Sweep.of(SIX).lose(BenchmarkRows), "WARN", "could not be verified", id="14.unreadable: no rows"
        ),
        pytest.param(
            lambda: Sweep.of(SIX).lose(EvidenceRun), "WARN", "could not be verified", id="14.unreadable: no run"
        ),
        pytest.param(bypassed, "WARN", "bypass recorded by @maintainer for aaaaaaa", id="14.bypass: an admin"),
        pytest.param(
            lambda: bypassed(MAINTAIN), "WARN", "records `/except 14", id="14.bypass: the role must be admin as well"
        ),
        pytest.param(Sweep, "N/A", "no benchmark point is affected", id="nothing is affected"),
        pytest.param(
            lambda: Sweep.of(SIX, entry="  evals-only: true\n"), "N/A", "no benchmark point", id="evals alone are asked"
        ),
    ],
)
def test_rules_of_check_14(make: Callable[[], Sweep], status: str, text: str) -> None:
    row = make().row(14)
    assert (row.status.value, text in row.reason) == (status, True), row.reason


def test_points_of_the_series_that_were_not_re_run_are_told() -> None:
    """14.partial"""
    row = sharing("dsv41flash-fp4-gb200-sglang-agentic-two").row(14)
    assert row.status.value == "WARN"
    assert {finding.found for finding in row.findings} == {"1 in this run; 6 more in the series were not re-run"}


def test_rows_of_other_series_in_the_run_are_not_judged() -> None:
    sweep = Sweep.of(SIX)
    sweep.rows.append({**sweep.rows[0], "infmax_model_prefix": "other"})
    assert sweep.row(14).status.value == "PASS"


def thin():
    """Six of the story's points are slower than all others."""
    editor = good()
    for artifact in [one["name"] for one in editor.sources["artifacts"] if one["name"].startswith("bmk_agentic_")]:
        with editor.artifact(artifact) as row:
            if row["conc"] in (6, 10, 16, 20, 24, 28):
                row["request_metrics"]["latency"]["e2el"].update(p90=90.0, p75=80.0)
    return editor


def unreadable():
    editor = good()
    found = next(one for one in editor.sources["artifacts"] if "conc8_kvdram" in one["name"] and "bmk" in one["name"])
    found["files"] = {next(iter(found["files"])): editor._store(b"not json")}
    return editor


def test_a_thin_frontier_flips_this_row_alone() -> None:
    """14.few"""
    assert flipped(good().rows(), thin().rows()) == {14: "WARN"}


def test_an_unreadable_result_file_warns_and_its_point_is_missed() -> None:
    """14.unreadable"""
    rows = flipped(good().rows(), unreadable().rows())
    assert rows == {1: "FAIL", 14: "WARN"}


def zero_rate():
    editor = good()
    name = next(one["name"] for one in editor.sources["artifacts"] if "conc8_kvdram" in one["name"])
    with editor.artifact(name) as row:
        row["request_metrics"]["throughput"]["per_gpu"]["total_tput_tps"] = 0
    return editor


def test_a_point_without_throughput_flips_this_row_alone() -> None:
    """14.invalid"""
    assert flipped(good().rows(), zero_rate().rows()) == {14: "WARN"}
