"""Purpose: the six rules of an append-only sweep, and the delta that it runs."""

from __future__ import annotations

from typing import Any

import pytest

from app.planner.plan import Plan, PlanOptions, plan
from app.planner.points import Rules
from app.target.source import RejectedInput
from tests.planner.conftest import buckets, entry, tree
from tests.planner.made_entries import multi, pools, single

APPEND = "  append-only: true\n"
AGENTIC = APPEND + "  scenario-type:\n    - agentic-coding\n"
OTHER = single("other", "tp: 8, conc-list: [1]", model="mo2")
ROW = "tp: 8, kv-offloading: none, conc-list: [1, 2]"
BASE = single("k", "tp: 8, conc-list: [4, 8]", ROW) + OTHER


def sweep(head: str, log: str, base: str = BASE, rules: Rules = Rules.AUGUST, **options: Any) -> Plan:
    return plan(tree(base), tree(head, log), PlanOptions(rules=rules, **options))


def test_only_new_concurrencies_run_and_nothing_is_evaluated() -> None:
    head = BASE.replace("conc-list: [1, 2]", "conc-list: [1, 2, 4, 8]").replace("[4, 8]", "[4, 8, 64]")
    assert buckets(sweep(head, entry(["k"], APPEND))) == {"single_node.8k1k": [64], "single_node.agentic": [4, 8]}


def test_a_selected_scenario_alone_may_grow() -> None:
    head = BASE.replace("conc-list: [1, 2]", "conc-list: [1, 2, 4]")
    assert buckets(sweep(head, entry(["k"], AGENTIC))) == {"single_node.agentic": [4]}


def test_a_new_arm_of_the_same_series_is_new_points() -> None:
    head = BASE.replace(ROW, f"{ROW} }}\n      - {{ tp: 4, kv-offloading: none, conc-list: [1, 16]")
    found = sweep(head, entry(["k"], APPEND))
    assert [(row.row["tp"], row.row["conc"]) for row in found.rows] == [(4, 1), (4, 16)]


def test_a_multi_node_list_shows_only_its_new_concurrencies() -> None:
    base, head = multi("k", pools("[16, 32]")), multi("k", pools("[16, 24, 32, 64]"))
    assert buckets(sweep(head, entry(["k"], APPEND), base)) == {"multi_node.8k1k": [[24, 64]]}


def test_a_list_regrouped_without_change_counts_as_kept() -> None:
    base = single("k", "tp: 8, conc-start: 4, conc-end: 16")
    head = single("k", "tp: 8, conc-list: [4, 8]\ntp: 8, conc-list: [16, 32]")
    assert buckets(sweep(head, entry(["k"], APPEND), base)) == {"single_node.8k1k": [32]}


def test_trim_applies_to_the_delta() -> None:
    head = BASE.replace("conc-list: [1, 2]", "conc-list: [1, 2, 4, 8]")
    assert buckets(sweep(head, entry(["k"], APPEND), trim_conc=True)) == {"single_node.agentic": [4]}


GROWN = BASE.replace("conc-list: [1, 2]", "conc-list: [1, 2, 4]")
NEW_ARM = f"{ROW} }}\n      - {{ tp: 4, kv-offloading: dram, kv-offload-backend: {{ name: h }}, conc-list: [1]"


@pytest.mark.parametrize(
    ("head", "log", "rule"),
    [
        pytest.param(GROWN, entry(["k"], APPEND) + "\n" + entry(["other"]), "cannot be mixed", id="a mixed changelog"),
        pytest.param(BASE, entry(["k"], APPEND), "must add a point", id="nothing new"),
        pytest.param(
            GROWN + single("new", "tp: 8, conc-list: [1]"),
            entry(["k", "new"], APPEND),
            "must exist at base and head",
            id="a new key selected",
        ),
        pytest.param(
            GROWN + single("new", "tp: 8, conc-list: [1]"),
            entry(["k"], APPEND),
            "no entry selects. Found: new is new",
            id="a new key not selected",
        ),
        pytest.param(
            GROWN.replace("example/mo2", "example/mo3"),
            entry(["k"], APPEND),
            "no entry selects. Found: other is changed",
            id="another key changed",
        ),
        pytest.param(
            GROWN.replace(OTHER, ""),
            entry(["k"], APPEND),
            "no entry selects. Found: other is removed",
            id="another key removed",
        ),
        pytest.param(
            single("k", agentic=ROW.replace("2]", "2, 4]")) + OTHER,
            entry(["k"], APPEND),
            "add or remove a scenario",
            id="a scenario gone",
        ),
        pytest.param(
            GROWN.replace("[4, 8]", "[4, 8, 16]"),
            entry(["k"], AGENTIC),
            "no append-only entry selects may not change",
            id="the other scenario changed",
        ),
        pytest.param(
            GROWN.replace("model-prefix: mo\n", "model-prefix: moo\n", 1),
            entry(["k"], AGENTIC),
            "Fields of the whole entry",
            id="a common field changed beside an unselected scenario",
        ),
        pytest.param(
            BASE.replace("conc-list: [1, 2]", "conc-list: [1, 4]"),
            entry(["k"], APPEND),
            "change or remove an existing point. Found: mo at concurrency 2",
            id="a concurrency gone",
        ),
        pytest.param(
            GROWN.replace("engine:v1", "engine:v2", 1),
            entry(["k"], APPEND),
            "change or remove an existing point",
            id="the image of existing points changed",
        ),
        pytest.param(
            BASE.replace(ROW, NEW_ARM), entry(["k"], APPEND), "existing visual series", id="a first offloading arm"
        ),
    ],
)
def test_is_refused(head: str, log: str, rule: str) -> None:
    with pytest.raises(RejectedInput) as caught:
        sweep(head, log)
    assert rule in str(caught.value)


@pytest.mark.parametrize("modifier", ["all_evals", "evals_only"])
def test_no_evals_modifier_goes_with_it(modifier: str) -> None:
    with pytest.raises(RejectedInput, match="takes no evals modifier"):
        options: dict[str, Any] = {modifier: True}
        plan(tree(BASE), tree(GROWN, entry(["k"], APPEND)), PlanOptions(**options))


def test_a_series_with_two_images_takes_no_new_point() -> None:
    base = BASE.replace("  model-prefix: mo2", "  model-prefix: mo").replace("example/mo2", "example/mo")
    base = base.replace("example/engine:v1", "example/engine:v2", 1)
    head = base.replace("[4, 8]", "[4, 8, 64]")
    with pytest.raises(RejectedInput, match="one image of its series"):
        sweep(head, entry(["k", "other"], APPEND), base)


def test_october_reads_a_recipe_setting_and_a_recipe_field_as_the_same_curve() -> None:
    setting = 'additional-settings: ["CONFIG_FILE=recipes/a.yaml:override_x"]'
    old = multi("k", pools("[16]").replace("dp-attn: true }", f"dp-attn: true, {setting} }}"))
    recipe = "benchmarks/multi_node/srt-slurm-recipes/a.yaml:override_x"
    new = multi("k", pools("[16, 32]", more=f"srt-recipe: {recipe}, "))
    files = {"benchmarks/multi_node/srt-slurm-recipes/a.yaml": "base: {}\n"}
    with pytest.raises(RejectedInput) as caught:
        plan(tree(old, **files), tree(new, entry(["k"], APPEND), **files), PlanOptions(rules=Rules.OCTOBER))
    assert "existing point" not in str(caught.value), "only the recipe itself may be refused"
