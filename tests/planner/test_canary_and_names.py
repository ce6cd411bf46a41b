"""Purpose: which row is the canary, what a job scores, what it is called and what a plan costs."""

from __future__ import annotations

from typing import Any

import pytest

from app.planner.canary import canary, without
from app.planner.cost import row_cost, total_cost
from app.planner.job_names import callee_name, caller_name, check_run_name
from app.planner.plan import Plan, PlanOptions, plan
from app.planner.points import Rules
from app.planner.priority import Weights, priority, read_weights
from app.target.source import RejectedInput
from app.target.tree import Tree
from tests.planner.conftest import entry, tree
from tests.planner.made_entries import DRAM, multi, pools, single

FIXED = single("f", "tp: 8, conc-list: [16, 4]\ntp: 4, conc-list: [4]")
AGENTIC = single("a", agentic="tp: 8, kv-offloading: none, conc-list: [2, 1]", model="mo2")
DISAGG = multi("m", agentic=pools("[32, 8]"), model="mo3")


def planned(masters: str, rules: Rules = Rules.AUGUST, **options: Any) -> Plan:
    return plan(tree(masters), tree(masters, entry(['"*"'])), PlanOptions(rules=rules, **options))


@pytest.mark.parametrize(
    ("masters", "rules", "chosen"),
    [
        pytest.param(FIXED, Rules.AUGUST, ("f", 4, 8), id="the lowest concurrency, first on ties"),
        pytest.param(FIXED + AGENTIC, Rules.AUGUST, ("f", 4, 8), id="august leaves agentic rows out"),
        pytest.param(AGENTIC, Rules.AUGUST, None, id="august has no agentic canary"),
        pytest.param(FIXED + AGENTIC, Rules.OCTOBER, ("a", 1, 8), id="october takes agentic rows too"),
        pytest.param(DISAGG, Rules.AUGUST, None, id="august has no multi-node canary"),
        pytest.param(DISAGG, Rules.OCTOBER, ("m", [8], None), id="october falls back to multi-node agentic"),
        pytest.param(AGENTIC + DISAGG, Rules.OCTOBER, ("a", 1, 8), id="single-node comes before multi-node"),
    ],
)
def test_the_canary_is(masters: str, rules: Rules, chosen: tuple[str, Any, int | None] | None) -> None:
    found = canary(planned(masters, rules))
    assert (found and (found.config_key, found.row["conc"], found.row.get("tp"))) == chosen


def test_evaluations_are_never_the_canary_and_the_rest_of_the_plan_remains() -> None:
    assert canary(planned(FIXED, evals_only=True)) is None
    whole = planned(FIXED)
    rest = without(whole, canary(whole))
    assert len(rest.rows) == len(whole.rows) - 1
    assert without(whole, None) == whole


PRIORITY = """\
version: 1
base-score: 1.0
adjustments:
  event:
    push: 2.0
  multi-node: 1.25
  agentic: 1.0
  precision: {fp4: 0.75}
  spec-decoding: {mtp: 0.75}
  framework-prefix: {sglang: 0.5, sglang-disagg: 0.25}
  model-prefix: {mo2: 1.5}
labels:
  checklist-complete: {names: [done], adjustment: 0.25}
  patchwork: {names: [patched], score: 0.0, waived-by: [waived]}
"""


def row(**values: Any) -> dict[str, Any]:
    known = {"precision": "fp8", "spec-decoding": "none", "framework": "vllm", "model-prefix": "mo", "isl": 8192}
    return {**known, **values}


@pytest.mark.parametrize(
    ("fields", "labels", "event", "score"),
    [
        pytest.param(row(framework="trt"), (), "pull_request", 1.0, id="the base score"),
        pytest.param(row(framework="trt"), (), "push", 3.0, id="a push"),
        pytest.param(row(framework="sglang"), (), "pull_request", 1.5, id="an engine"),
        pytest.param(row(framework="sglang-disagg-x"), (), "pull_request", 1.25, id="the longest prefix counts"),
        pytest.param(row(precision="fp4"), (), "pull_request", 1.75, id="a precision"),
        pytest.param(row(**{"spec-decoding": "mtp"}), (), "pull_request", 1.75, id="drafting"),
        pytest.param(row(**{"model-prefix": "mo2"}), (), "pull_request", 2.5, id="a model"),
        pytest.param(row(prefill={}), (), "pull_request", 2.25, id="several nodes"),
        pytest.param(row(), ("done",), "pull_request", 1.25, id="the checklist label"),
        pytest.param(row(), ("done", "patched"), "pull_request", 0.0, id="a patched engine"),
        pytest.param(row(), ("patched", "waived"), "pull_request", 1.0, id="a waived patch"),
    ],
)
def test_the_score(fields: dict[str, Any], labels: tuple[str, ...], event: str, score: float) -> None:
    files = {"configs/ci-priority.yaml": PRIORITY.encode()}
    weights = read_weights(Tree("", files, complete=True))
    assert priority(fields, weights, labels=labels, event=event) == score


def test_an_agentic_row_scores_higher() -> None:
    agentic = {name: value for name, value in row().items() if name != "isl"}
    assert priority(agentic, Weights()) - priority(row(), Weights()) == 1.0


def test_weights_have_defaults_and_refuse_other_types() -> None:
    assert read_weights(Tree("", {}, complete=True)) == Weights()
    files = {"configs/ci-priority.yaml": b"base-score: high\n"}
    with pytest.raises(RejectedInput, match=r"ci-priority.yaml:1:1: `base-score` must be a number"):
        read_weights(Tree("", files, complete=True))


@pytest.mark.parametrize(
    ("bucket", "is_canary", "name"),
    [
        ("single_node.8k1k", False, "single-node 8k1k /"),
        ("single_node.agentic", False, "agentic /"),
        ("multi_node.1k1k", False, "multi-node 1k1k /"),
        ("multi_node.agentic", False, "multi-node agentic /"),
        ("single_node.8k1k", True, "canary /"),
        ("multi_node.agentic", True, "multi-node canary /"),
        ("evals", False, "eval /"),
        ("agentic_evals", False, "agentic eval /"),
        ("multinode_evals", False, "multi-node eval /"),
        ("multinode_agentic_evals", False, "multi-node agentic eval /"),
    ],
)
def test_the_family_of_a_bucket(bucket: str, is_canary: bool, name: str) -> None:
    assert caller_name(bucket, is_canary=is_canary) == name


def names(masters: str) -> list[str]:
    return [callee_name(found.row, 3.5) for found in planned(masters).rows]


def test_job_names_tell_topology_and_concurrency() -> None:
    arms = f"tp: 4, ep: 4, dp-attn: true, spec-decoding: mtp, {DRAM}, conc-list: [8]"
    assert names(single("a", agentic=arms)) == [
        "p3.500 | mo fp4 cluster:alpha-one sgl TP4/EP4/DPA mtp dram KV offload h c8",
        "p3.500 | mo fp4 cluster:alpha-one sgl TP4/EP4/DPA mtp dram KV offload h c8 | eval-only",
    ]
    assert names(multi("m", pools("[16, 32]")))[0] == (
        "p3.500 | mo fp4 cluster:beta-two dyn-sgl 1P (TP4/EP4/DPA) x 2D (TP4) c16x32"
    )
    assert check_run_name("agentic_evals", planned(AGENTIC).rows[-1].row, 1) == (
        "agentic eval / / p1.000 | mo2 fp4 cluster:alpha-one sgl TP8 c2 | eval-only"
    )


def test_an_aggregated_row_shows_one_pool() -> None:
    text = multi("m", "num-nodes: 2, worker: { tp: 8, ep: 1, dp-attn: false }, conc-list: [1]")
    text = text.replace("  disagg: true\n  kv-p2p-transfer: nixl\n", "")
    assert names(text) == ["p3.500 | mo fp4 cluster:beta-two dyn-sgl (TP8) c1"]


def test_gpus_and_hours_add_up() -> None:
    (first, *_) = planned(AGENTIC).rows
    assert (row_cost(first).points, row_cost(first).gpus, row_cost(first).gpu_hours) == (1, 8, 8 * 1.5)
    (listed, *_) = planned(multi("m", pools("[16, 32]"))).rows
    assert (row_cost(listed).points, row_cost(listed).gpus) == (2, 12)
    whole = planned(AGENTIC + DISAGG)
    total = total_cost(whole.rows)
    assert total.gpus == 12
    assert total.gpu_hours == sum(row_cost(found).gpu_hours for found in whole.rows)
