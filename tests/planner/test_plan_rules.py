"""Purpose: the planning rules on small invented masters: selection, generation, evaluations, trim, rejections."""

from __future__ import annotations

from typing import Any

import pytest

from app.planner.plan import Plan, PlanOptions, plan
from app.planner.points import Rules
from app.target.changelog import Added
from app.target.source import RejectedInput
from tests.planner.conftest import buckets, entry, tree
from tests.planner.made_entries import DRAM, multi, pools, single


def planned(masters: str, log: str, rules: Rules = Rules.AUGUST, **options: Any) -> Plan:
    return plan(tree(masters), tree(masters, log), PlanOptions(rules=rules, **options))


def refused(masters: str, log: str, **options: Any) -> str:
    with pytest.raises(RejectedInput) as caught:
        planned(masters, log, **options)
    return str(caught.value)


FIXED_ROW = "tp: 8, conc-list: [4, 16, 64]"
AGENTIC_ROW = "tp: 8, kv-offloading: none, conc-list: [1, 2]"
NAMED = "".join(single(key, FIXED_ROW) for key in ("b-one", "a-one", "a-two", "c?"))


@pytest.mark.parametrize(
    ("names", "keys"),
    [
        pytest.param(["a-two", "a-one"], ["a-two", "a-one"], id="exact keys keep the entry's order"),
        pytest.param(['"*-one"'], ["b-one", "a-one"], id="a pattern gives the master's order"),
        pytest.param(['"a*"', "a-two", "b-one"], ["a-one", "a-two", "b-one"], id="repeats are dropped"),
        pytest.param(['"*"'], ["b-one", "a-one", "a-two", "c?"], id="a star alone is everything"),
        pytest.param(['"*o*e"'], ["b-one", "a-one"], id="several stars"),
        pytest.param(['"c?"'], ["c?"], id="a question mark is itself"),
    ],
)
def test_names_select(names: list[str], keys: list[str]) -> None:
    found = planned(NAMED, entry(names))
    assert list(dict.fromkeys(row.config_key for row in found.rows if not row.is_eval)) == keys


@pytest.mark.parametrize("name", ["a-three", '"a-?ne"', '"one*"', '"A-one"'])
def test_a_name_that_selects_nothing_is_refused(name: str) -> None:
    assert "perf-changelog.yaml:8" in refused(NAMED, entry([name]))


def test_a_misspelt_key_is_answered_with_the_nearest() -> None:
    assert "Did you mean `a-two`?" in refused(NAMED, entry(["a-tow"]))


def test_a_retired_key_is_answered_with_its_file() -> None:
    files = {"configs/deprecated/old-master.yaml": "# gone\ngone-key:\n  image: x\n"}
    with pytest.raises(RejectedInput, match=r"retired \(configs/deprecated/old-master.yaml:2:1\)"):
        plan(tree(NAMED), tree(NAMED, entry(["gone-key"]), **files))


def test_a_key_that_the_change_itself_removes_is_said_to_be_removed() -> None:
    with pytest.raises(RejectedInput, match="This change removes it"):
        plan(tree(NAMED + single("left", FIXED_ROW)), tree(NAMED, entry(["left"])))


def test_every_unknown_name_of_every_entry_is_told() -> None:
    told = refused(NAMED, entry(["x-one", "a-one"]) + "\n" + entry(["y-one"]))
    assert "x-one" in told and "y-one" in told


def test_a_broken_entry_that_nobody_selects_fails_the_plan() -> None:
    assert "no such field" in refused(NAMED + single("z", "tp: 8, colour: red, conc-list: [1]"), entry(["a-one"]))


BOTH = single("k", FIXED_ROW, AGENTIC_ROW)


def test_the_first_entry_wins_and_a_later_one_adds_only_new_scenarios() -> None:
    log = entry(["k"], "  scenario-type:\n    - agentic-coding\n") + "\n" + entry(["k"])
    found = planned(BOTH, log)
    assert buckets(found) == {
        "single_node.agentic": [1, 2],
        "single_node.8k1k": [4, 16, 64],
        "agentic_evals": [2],
        "evals": [64],
    }
    lines = {row.bucket: row.entry.line for row in found.rows}
    assert lines == {"single_node.agentic": 8, "single_node.8k1k": 17, "agentic_evals": 8, "evals": 17}


def test_a_scenario_filter_leaves_the_other_out() -> None:
    found = planned(BOTH, entry(["k"], "  scenario-type:\n    - fixed-seq-len\n"))
    assert set(buckets(found)) == {"single_node.8k1k", "evals"}


def test_an_all_evals_entry_goes_first_and_has_no_throughput_of_its_own() -> None:
    masters = BOTH + single("other", FIXED_ROW, model="mo2")
    log = entry(["other"]) + "\n" + entry(["k"], "  all-evals: true\n")
    found = planned(masters, log)
    assert buckets(found)["single_node.8k1k"] == [4, 16, 64]
    assert {row.config_key for row in found.rows if not row.is_eval} == {"other"}
    evals = [(row.config_key, row.row["conc"]) for row in found.rows if row.bucket == "evals"]
    assert evals == [("k", 4), ("k", 16), ("k", 64), ("other", 64)]


def test_throughput_and_evaluations_of_a_key_may_come_from_two_entries() -> None:
    log = entry(["k"], "  evals-only: true\n") + "\n" + entry(["k"])
    found = planned(BOTH, log)
    assert {row.entry.line for row in found.rows if row.is_eval} == {8}
    assert {row.entry.line for row in found.rows if not row.is_eval} == {16}


def test_the_run_flag_all_evals_keeps_throughput_and_evals_only_drops_it() -> None:
    assert buckets(planned(BOTH, entry(["k"]), all_evals=True)) == {
        "single_node.8k1k": [4, 16, 64],
        "single_node.agentic": [1, 2],
        "evals": [4, 16, 64],
        "agentic_evals": [1, 2],
    }
    assert buckets(planned(BOTH, entry(["k"]), evals_only=True)) == {"evals": [64], "agentic_evals": [2]}


def test_no_evals_leaves_throughput_alone() -> None:
    found = planned(BOTH, entry(["k"], "  no-evals: true\n"), Rules.OCTOBER)
    assert set(buckets(found)) == {"single_node.8k1k", "single_node.agentic"}


@pytest.mark.parametrize(
    ("row", "concurrencies"),
    [
        pytest.param("conc-start: 4, conc-end: 100", [4, 8, 16, 32, 64, 100], id="the end is always there"),
        pytest.param("conc-start: 4, conc-end: 4", [4], id="one value"),
        pytest.param("conc-start: 3, conc-end: 24", [3, 6, 12, 24], id="doubling"),
        pytest.param("conc-list: [64, 1, 8]", [64, 1, 8], id="a list as written"),
    ],
)
def test_concurrencies_expand(row: str, concurrencies: list[int]) -> None:
    found = planned(single("k", f"tp: 8, {row}"), entry(["k"]))
    assert buckets(found)["single_node.8k1k"] == concurrencies


def test_a_fixed_row_has_its_defaults_and_its_length() -> None:
    row = planned(single("k", "tp: 8, ep: null, conc-list: [2]"), entry(["k"])).rows[0].row
    assert {name: row[name] for name in ("ep", "pp", "dcp-size", "pcp-size", "dp-attn", "max-model-len")} == {
        "ep": 1,
        "pp": 1,
        "dcp-size": 1,
        "pcp-size": 1,
        "dp-attn": False,
        "max-model-len": 9472,
    }
    assert (row["exp-name"], row["run-eval"], row["eval-only"], row["disagg"]) == ("mo_8k1k", False, False, False)


def test_other_lengths_get_their_own_bucket_and_no_evaluation() -> None:
    masters = single("k", "tp: 8, conc-list: [64]").replace("isl: 8192", "isl: 2048")
    assert buckets(planned(masters, entry(["k"]))) == {"single_node.2048_1024": [64]}


@pytest.mark.parametrize(
    ("masters", "name"),
    [
        pytest.param(
            single("k", agentic="tp: 4, kv-offloading: none, conc-list: [8]"), "mo_tp4_conc8_kvnone", id="plain"
        ),
        pytest.param(
            single(
                "k",
                agentic=f"tp: 4, spec-decoding: draft_model, {DRAM}, conc-list: [8]",
            ),
            "mo_tp4_conc8_kvdram-h_spec-draft_model",
            id="drafting and offloading",
        ),
        pytest.param(multi("k", agentic=pools("[8]")), "mo_p1x4ep4dpa_d2x4_conc8", id="two pools"),
        pytest.param(
            multi(
                "k",
                agentic=pools("[8]", 1, f"spec-decoding: mtp, {DRAM}, "),
            ),
            "mo_p1x4dpa_d2x4_conc8_kvdram-h",
            id="two pools with offloading",
        ),
    ],
)
def test_agentic_names(masters: str, name: str) -> None:
    assert planned(masters, entry(["k"])).rows[0].row["exp-name"] == name


def test_a_multi_node_agentic_list_gives_one_row_for_each_concurrency() -> None:
    assert buckets(planned(multi("k", agentic=pools("[8, 32]")), entry(["k"])))["multi_node.agentic"] == [[8], [32]]


def test_a_multi_node_fixed_list_stays_one_row() -> None:
    assert buckets(planned(multi("k", pools("[8, 32]")), entry(["k"])))["multi_node.8k1k"] == [[8, 32]]


def test_an_aggregated_worker_becomes_a_prefill_pool_and_an_empty_decode_pool() -> None:
    text = multi(
        "k", "num-nodes: 2, worker: { tp: 8, ep: 2, dp-attn: true, additional-settings: [A=1] }, conc-list: [1]"
    )
    masters = text.replace("  disagg: true\n  kv-p2p-transfer: nixl\n", "")
    row = planned(masters, entry(["k"])).rows[0].row
    assert row["prefill"]["num-worker"] == 1
    assert row["prefill"]["additional-settings"] == ["A=1"]
    assert (row["decode"]["num-worker"], row["decode"]["tp"], row["decode"]["additional-settings"]) == (0, 8, [])


@pytest.mark.parametrize(
    ("masters", "gigabytes"),
    [
        pytest.param(single("k", agentic="tp: 8, kv-offloading: none, conc-list: [1]"), 0, id="no offloading"),
        pytest.param(single("k", agentic=f"tp: 8, {DRAM}, conc-list: [1]"), 1048, id="a whole node"),
        pytest.param(single("k", agentic=f"tp: 4, {DRAM}, conc-list: [1]"), 524, id="half a node"),
        pytest.param(single("k", agentic=f"tp: 2, pp: 2, {DRAM}, conc-list: [1]"), 524, id="pipeline stages count"),
        pytest.param(
            single("k", agentic=f"tp: 4, dcp-size: 2, {DRAM}, conc-list: [1]"),
            524,
            id="decode context does not count",
        ),
        pytest.param(multi("k", agentic=pools("[1]", more=f"{DRAM}, ")), 450, id="the prefill worker fills its node"),
        pytest.param(
            multi("k", agentic=pools("[1]", more=f"{DRAM}, ").replace("tp: 4, ep: 4", "tp: 8, ep: 4")),
            450,
            id="a replica over two whole nodes",
        ),
        pytest.param(
            multi("k", agentic=pools("[1]", more=f"{DRAM}, ").replace("tp: 4, ep: 4", "tp: 2, ep: 2")),
            225,
            id="a replica of half a node",
        ),
    ],
)
def test_the_memory_budget_is_exact_and_truncated(masters: str, gigabytes: int) -> None:
    assert planned(masters, entry(["k"])).rows[0].row["total-cpu-dram-gb"] == gigabytes


def test_the_budget_is_computed_on_the_number_as_written() -> None:
    masters = single("k", agentic=f"tp: 8, {DRAM}, conc-list: [1]")
    runners = tree(masters).files["configs/runners.yaml"].decode().replace("2_000_000", "953_675")
    masters = masters.replace("0.5", "0.7")
    found = plan(tree(masters), tree(masters, entry(["k"]), runners=runners))
    assert found.rows[0].row["total-cpu-dram-gb"] == 700  # 953,675 MiB are 1000.0007 GB: truncated from 700.0004


@pytest.mark.parametrize(
    ("masters", "rule"),
    [
        pytest.param(
            single("k", agentic=f"tp: 16, {DRAM}, conc-list: [1]"),
            "may use 8 GPUs",
            id="more GPUs than the node has",
        ),
        pytest.param(
            single("k", runner="cluster:gamma", agentic=f"tp: 4, {DRAM}, conc-list: [1]"),
            "needs node facts",
            id="an unknown node",
        ),
        pytest.param(
            multi("k", agentic=pools("[1]", more=f"{DRAM}, ").replace("tp: 4, ep: 4", "tp: 3, ep: 3")),
            "divide a node",
            id="a replica that does not divide the node",
        ),
        pytest.param(
            multi("k", agentic=pools("[1]", more=f"{DRAM}, ").replace("tp: 4, ep: 4", "tp: 6, ep: 6")),
            "fill whole nodes",
            id="a replica of one node and a half",
        ),
    ],
)
def test_a_budget_that_cannot_be_is_refused_at_its_row(masters: str, rule: str) -> None:
    told = refused(masters, entry(["k"]))
    assert rule in told
    assert told.startswith("configs/nvidia-master.yaml:1")


def test_only_selected_keys_need_node_facts() -> None:
    stranger = single("x", runner="cluster:gamma", agentic=f"tp: 4, {DRAM}, conc-list: [1]")
    assert planned(stranger + BOTH, entry(["k"])).rows


def evals(masters: str, names: list[str], rules: Rules = Rules.AUGUST, **options: Any) -> dict[str, list[Any]]:
    found = planned(masters, entry(names), rules, **options)
    return {bucket: conc for bucket, conc in buckets(found).items() if bucket.endswith("evals")}


@pytest.mark.parametrize(
    ("rows_", "picked"),
    [
        pytest.param("tp: 8, conc-list: [4, 16, 32, 64, 128]", [64, 128], id="the highest and the upper median"),
        pytest.param("tp: 8, conc-list: [16, 32]", [32], id="of two the median is the highest"),
        pytest.param("tp: 8, conc-list: [16, 32, 64]", [32, 64], id="of three the middle"),
        pytest.param("tp: 8, conc-list: [1, 8]", None, id="below sixteen none"),
        pytest.param("tp: 8, conc-list: [16, 64]\ntp: 4, conc-list: [32, 64]", [64, 32, 64], id="every tp that has it"),
        pytest.param(
            "tp: 8, conc-list: [16]\ntp: 8, dp-attn: true, conc-list: [64]", [16, 64], id="attention modes apart"
        ),
        pytest.param(
            "tp: 8, conc-list: [16]\ntp: 8, spec-decoding: mtp, conc-list: [64]", [16, 64], id="drafting apart"
        ),
    ],
)
def test_fixed_single_node_evaluations(rows_: str, picked: list[int] | None) -> None:
    assert evals(single("k", rows_), ["k"]).get("evals") == picked


def test_keys_of_one_entry_share_a_group_and_keys_of_two_entries_do_not() -> None:
    masters = single("k1", "tp: 8, conc-list: [16]") + single("k2", "tp: 8, conc-list: [64]")
    assert evals(masters, ["k1", "k2"])["evals"] == [64]
    apart = planned(masters, entry(["k1"]) + "\n" + entry(["k2"]))
    assert buckets(apart)["evals"] == [16, 64]


def test_fixed_multi_node_takes_the_row_with_the_highest_concurrency_of_each_topology() -> None:
    masters = multi("k", pools("[16, 64]") + "\n" + pools("[32]") + "\n" + pools("[8]", ep=2))
    found = planned(masters, entry(["k"]))
    picked = [row.row for row in found.rows if row.is_eval]
    assert [(row["conc"], row["eval-conc"], row["eval-all-concs"]) for row in picked] == [([16, 64], 64, False)]


def test_a_threshold_drops_multi_node_evaluations_with_fewer_prefill_experts() -> None:
    masters = multi("k", pools("[16]", ep=2) + "\n" + pools("[32]", ep=4)) + single("s", FIXED_ROW)
    found = planned(masters, entry(["k", "s"], "  eval-min-prefill-ep: 4\n"))
    assert buckets(found)["multinode_evals"] == [[32]]
    assert buckets(found)["evals"] == [64]


AGENTIC_ARMS = (
    "tp: 8, kv-offloading: none, conc-list: [1, 4]\n"
    "tp: 8, ep: 8, dp-attn: true, kv-offloading: none, conc-list: [4, 2]\n"
    "tp: 8, spec-decoding: mtp, kv-offloading: none, conc-list: [2]"
)


def test_agentic_single_node_august_takes_one_row_of_the_deployment_october_one_of_each_arm() -> None:
    masters = single("k", agentic=AGENTIC_ARMS)
    assert evals(masters, ["k"])["agentic_evals"] == [4]
    assert evals(masters, ["k"], Rules.OCTOBER)["agentic_evals"] == [4, 4, 2]


def test_of_equal_agentic_rows_the_first_wins() -> None:
    found = planned(single("k", agentic=AGENTIC_ARMS), entry(["k"]))
    assert [row.row["ep"] for row in found.rows if row.is_eval] == [1]


def test_october_keeps_two_images_apart() -> None:
    masters = single("k1", agentic=AGENTIC_ROW) + single(
        "k2", agentic=AGENTIC_ROW, image="example/engine:v2", framework="vllm"
    )
    assert evals(masters, ["k1", "k2"], Rules.OCTOBER)["agentic_evals"] == [2, 2]


def test_agentic_multi_node_wants_sixteen_and_october_serves_every_deployment() -> None:
    masters = multi("k", agentic=pools("[4, 8]") + "\n" + pools("[2]", ep=2))
    assert "multinode_agentic_evals" not in evals(masters, ["k"])
    assert evals(masters, ["k"], Rules.OCTOBER)["multinode_agentic_evals"] == [[8]]


def test_agentic_multi_node_evaluates_each_topology_at_its_highest() -> None:
    masters = multi("k", agentic=pools("[16, 48]") + "\n" + pools("[64]", ep=2))
    found = [row.row for row in planned(masters, entry(["k"])).rows if row.is_eval]
    assert [(row["conc"], row["eval-conc"]) for row in found] == [([48], 48), ([64], 64)]


def test_all_evals_merges_multi_node_rows_of_one_topology() -> None:
    fixed = multi("f", pools("[16, 64]") + "\n" + pools("[32]") + "\n" + pools("[8]", ep=2))
    found = [row.row for row in planned(fixed, entry(["f"]), all_evals=True).rows if row.is_eval]
    assert [(row["conc"], row["eval-all-concs"]) for row in found] == [([16, 32, 64], True), ([8], True)]
    assert all("eval-conc" not in row for row in found)
    agentic = multi("a", agentic=pools("[4, 2]"))
    (merged,) = (row.row for row in planned(agentic, entry(["a"]), all_evals=True).rows if row.is_eval)
    assert (merged["conc"], merged["eval-conc"]) == ([2, 4], 4)


def test_october_evaluations_name_framework_and_suite() -> None:
    (row,) = (
        row.row for row in planned(single("k", agentic=AGENTIC_ROW), entry(["k"]), Rules.OCTOBER).rows if row.is_eval
    )
    assert (row["eval-framework"], row["eval-suite"]) == ("lm-eval", "")
    (august,) = (row.row for row in planned(single("k", agentic=AGENTIC_ROW), entry(["k"])).rows if row.is_eval)
    assert "eval-suite" not in august


def test_october_runs_a_vendor_suite_at_every_concurrency_beside_the_usual_pick() -> None:
    masters = single("k", agentic=AGENTIC_ROW, model="kimik3")
    found = [row.row for row in planned(masters, entry(["k"]), Rules.OCTOBER).rows if row.is_eval]
    assert [(row["conc"], row["eval-suite"]) for row in found] == [
        (2, ""),
        (1, "kimi_tool_call_schema_full"),
        (2, "kimi_tool_call_schema_full"),
    ]


def test_october_evaluates_one_identity_once_and_prefers_no_offloading() -> None:
    rows_ = f"tp: 8, {DRAM}, conc-list: [4]\ntp: 8, kv-offloading: none, conc-list: [4]"
    masters = single("k", agentic=rows_)
    found = planned(masters, entry(["k"]), Rules.OCTOBER, all_evals=True)
    assert [row.row["kv-offloading"] for row in found.rows if row.is_eval] == ["none"]
    assert len(evals(masters, ["k"], Rules.AUGUST, all_evals=True)["agentic_evals"]) == 2


def test_trim_keeps_the_lowest_of_each_single_node_shape_and_multi_node_list() -> None:
    masters = single("s", "tp: 8, conc-list: [64, 4, 16]\ntp: 4, conc-list: [8, 2]", AGENTIC_ROW)
    masters += multi("m", pools("[64, 16]"), pools("[8, 4]"), model="mo2")
    found = buckets(planned(masters, entry(["s", "m"]), trim_conc=True))
    assert found["single_node.8k1k"] == [4, 2]
    assert found["single_node.agentic"] == [1]
    assert found["multi_node.8k1k"] == [[16]]
    assert found["multi_node.agentic"] == [[8], [4]]
    assert found["evals"] == [64]


def test_agentx_fast_shortens_agentic_throughput_rows_only_and_keeps_their_identity() -> None:
    fast = planned(BOTH, entry(["k"]), agentx_fast=True)
    slow = planned(BOTH, entry(["k"]))
    assert {row.row.get("duration") for row in fast.rows if row.bucket == "single_node.agentic"} == {1200}
    assert {row.row.get("duration") for row in fast.rows if row.bucket == "agentic_evals"} == {3600}
    names = [[row.row.get("recipe-fingerprint") for row in found.rows] for found in (fast, slow)]
    assert names[0] == names[1]


def test_every_row_knows_the_line_of_its_search_space_row() -> None:
    found = planned(BOTH, entry(["k"]))
    assert {(row.bucket, str(row.master)) for row in found.rows} == {
        ("single_node.8k1k", "configs/nvidia-master.yaml:14:9"),
        ("evals", "configs/nvidia-master.yaml:14:9"),
        ("single_node.agentic", "configs/nvidia-master.yaml:18:9"),
        ("agentic_evals", "configs/nvidia-master.yaml:18:9"),
    }


def test_the_matrix_has_the_incumbents_shape() -> None:
    matrix = planned(single("k", agentic=AGENTIC_ROW), entry(["k"])).matrix()
    assert set(matrix) == {
        "single_node",
        "evals",
        "agentic_evals",
        "multinode_evals",
        "multinode_agentic_evals",
        "changelog_metadata",
    }
    assert matrix["evals"] == []
    assert matrix["changelog_metadata"]["entries"][0]["config-keys"] == ["k"]
    assert "no-evals" not in matrix["changelog_metadata"]["entries"][0]


@pytest.mark.parametrize(
    ("base", "head", "rule"),
    [
        pytest.param("", "", "must have a new entry", id="nothing new"),
        pytest.param(entry(["k"]), "", "may not be removed", id="an entry gone"),
        pytest.param(
            entry(["k"]), entry(["k"]).replace("New image", "Newer image"), "may not be removed", id="an entry edited"
        ),
    ],
)
def test_a_changelog_without_an_addition_is_refused(base: str, head: str, rule: str) -> None:
    with pytest.raises(RejectedInput, match=rule):
        plan(tree(BOTH, base), tree(BOTH, head))


def test_an_entry_may_stand_in_the_middle() -> None:
    head = entry(["k"]) + "\n" + entry(["any-key"])
    assert plan(tree(BOTH, entry(["any-key"])), tree(BOTH, head)).rows


def test_by_text_only_the_added_lines_count() -> None:
    lines = entry(["k"]).splitlines()
    options = PlanOptions(added=Added(tuple(lines), tuple(range(8, 8 + len(lines)))), deleted=Added((), ()))
    assert plan(tree(BOTH), tree(BOTH), options).rows
    deleted = Added(("", "  - gone"), (3, 4))
    with pytest.raises(RejectedInput, match=r"yaml:4: .*may not be deleted"):
        plan(tree(BOTH), tree(BOTH), PlanOptions(added=options.added, deleted=deleted))
    with pytest.raises(RejectedInput, match="no added line"):
        plan(tree(BOTH), tree(BOTH), PlanOptions(added=Added(("",), (8,))))
