"""Purpose: what a change affects: points, recipes, changelog entries, launch closures; and what could not be told."""

from __future__ import annotations

import pytest

from app.planner.changes import changed
from app.planner.plan import Plan, plan
from app.planner.points import Point, Rules, points, points_of
from app.planner.scope import Scope, compute_scope
from app.target.closure import ClosureResult
from app.target.masters import MasterEntry
from app.target.recipe import EffectiveRecipe, Unbound
from app.target.runners import Runners
from app.target.source import RejectedInput
from app.target.tree import NotRecorded, Tree
from tests.planner.conftest import NVIDIA, entry, tree
from tests.planner.made_entries import multi, pools, single

ROOT = "inferencex-e2e/"
RECIPE = "benchmarks/single_node/srt-slurm-recipes/mo/agentic.yaml"
BUNDLE = """\
base:
  schema: 2
  name: mo
  engine: sglang
  roles: { agg: { nodes: 1, workers: 1, gpus: 8, args: { tensor-parallel-size: 8, mem-fraction-static: 0.8 } } }
  benchmark: { type: custom, command: bash /x/srt_agentic.sh }
override_c1: { roles: { agg: { args: { max-running-requests: 1 } } }, benchmark: { env: { CONC: '1' } } }
override_c2: { roles: { agg: { args: { max-running-requests: 2 } } }, benchmark: { env: { CONC: '2' } } }
"""
OCTOBER = single("k", agentic=f"tp: 8, kv-offloading: none, conc-list: [1, 2], srt-recipe: {RECIPE}")
BOTH = single("k", "tp: 8, conc-list: [4]", "tp: 8, kv-offloading: none, conc-list: [1]") + single(
    "other", "tp: 8, conc-list: [2]", model="mo2"
)


def october(bundle: str = BUNDLE, masters: str = OCTOBER, log: str = "") -> Tree:
    return tree(masters, log, root=ROOT, **{RECIPE: bundle})


def scope(base: Tree, head: Tree, **options: object) -> Scope:
    files = {path for path in {*base.files, *head.files} if base.files.get(path) != head.files.get(path)}
    return compute_scope(base, head, files, **options)  # type: ignore[arg-type]


def labels(found: Scope) -> dict[str, tuple[str, ...]]:
    return {key.key: tuple(point.label for point in key.points) for key in found.keys}


def test_points_of_an_october_key_bind_one_variant_each() -> None:
    found = points(october(), Rules.OCTOBER)["k"]
    assert [(point.concurrency, type(point.recipe)) for point in found] == [(1, EffectiveRecipe), (2, EffectiveRecipe)]
    assert found[0].fingerprint != found[1].fingerprint


def test_editing_one_override_changes_only_its_points_and_the_base_all_that_inherit() -> None:
    one = october(BUNDLE.replace("max-running-requests: 2", "max-running-requests: 3"))
    found = changed(october(), one)["k"]
    assert ([p.label for p in found.added], [p.label for p in found.removed]) == (["c2"], ["c2"])
    every = october(BUNDLE.replace("0.8", "0.9"))
    assert [p.label for p in changed(october(), every)["k"].added] == ["c1", "c2"]


@pytest.mark.parametrize(
    ("bundle", "masters"),
    [
        pytest.param(BUNDLE.replace("name: mo", "name: other"), OCTOBER, id="the recipe's name"),
        pytest.param("# why\n" + BUNDLE, OCTOBER, id="a comment in the recipe"),
        pytest.param(BUNDLE, OCTOBER.replace("conc-list: [1, 2]", "conc-start: 1, conc-end: 2"), id="range or list"),
        pytest.param(BUNDLE, "# why\n" + OCTOBER, id="a comment in the master"),
    ],
)
def test_does_not_count(bundle: str, masters: str) -> None:
    assert changed(october(), october(bundle, masters)) == {}


def test_the_row_scheme_does_not_see_recipes_but_the_scope_does() -> None:
    base, head = october(), october(BUNDLE.replace("max-running-requests: 2", "max-running-requests: 3"))
    assert changed(base, head, Rules.AUGUST) == {}
    (key,) = scope(base, head, rules=Rules.AUGUST).keys
    assert (key.why, key.added, [point.label for point in key.points]) == (("recipe",), (), ["c1", "c2"])


def test_node_facts_count_only_where_they_change_the_rows() -> None:
    runners = tree(BOTH).files["configs/runners.yaml"].decode()
    assert changed(tree(BOTH), tree(BOTH, runners=runners.replace("2_000_000", "1_000_000"))) == {}
    dram = BOTH.replace("kv-offloading: none", "kv-offloading: dram, kv-offload-backend: { name: h }")
    less = tree(dram, runners=runners.replace("2_000_000", "1_000_000"))
    assert list(changed(tree(dram), less)) == ["k"]


def test_new_and_removed_keys_are_listed() -> None:
    found = changed(tree(BOTH), tree(BOTH.replace("other:", "newer:")))
    assert {key: (len(change.added), len(change.removed)) for key, change in found.items()} == {
        "newer": (1, 0),
        "other": (0, 1),
    }


def test_a_removed_concurrency_affects_its_key() -> None:
    (key,) = scope(tree(BOTH), tree(BOTH.replace("[4]", "[8]"))).keys
    assert ([p.label for p in key.added], [p.label for p in key.removed]) == (["8k1k c8"], ["8k1k c4"])


def test_an_entry_selects_keys_and_scenarios() -> None:
    log = entry(['"o*"']) + "\n" + entry(["k"], "  scenario-type:\n    - agentic-coding\n")
    found = scope(tree(BOTH), tree(BOTH, log))
    assert labels(found) == {"k": ("c1",), "other": ("8k1k c2",)}
    assert [key.why for key in found.keys] == [("changelog",), ("changelog",)]
    assert [item.config_keys for item in found.entries] == [("o*",), ("k",)]


def test_a_differing_scenario_counts_beside_the_named_one() -> None:
    log = entry(["k"], "  scenario-type:\n    - agentic-coding\n")
    found = scope(tree(BOTH), tree(BOTH.replace("[4]", "[8]"), log))
    assert labels(found) == {"k": ("8k1k c8", "c1")}


def test_an_unknown_name_is_the_gates_business() -> None:
    assert scope(tree(BOTH), tree(BOTH, entry(["gone"]))).keys == ()


def test_all_entries_of_both_sides_are_there() -> None:
    found = scope(tree(BOTH), tree(BOTH + single("newer", "tp: 8, conc-list: [1]")))
    assert [item.key for item in found.base_entries] == ["k", "other"]
    assert [item.key for item in found.head_entries] == ["k", "other", "newer"]


def test_a_broken_master_rejects_the_scope() -> None:
    with pytest.raises(RejectedInput):
        scope(tree(BOTH), tree(BOTH.replace("tp: 8", "tp: x", 1)))


def test_an_unread_master_is_said() -> None:
    with pytest.raises(NotRecorded):
        compute_scope(tree(BOTH), Tree("b" * 40, {"configs/amd-master.yaml": b""}), [])


LAUNCHER = "runners/launch_alpha.sh"


def test_a_changed_launcher_without_a_closure_is_undecided() -> None:
    found = scope(tree(BOTH), tree(BOTH, **{LAUNCHER: "echo"}))
    assert found.keys == ()
    assert found.undecided == (f"which config keys {LAUNCHER} serves is not known",)


def test_a_closure_names_the_keys_that_a_launch_file_serves() -> None:
    def closure(item: MasterEntry, _tree: Tree) -> ClosureResult:
        unknown = ("a script is chosen at run time",) if item.key == "other" else ()
        return ClosureResult(frozenset({LAUNCHER} if item.key == "k" else ()), unknown)

    found = scope(tree(BOTH), tree(BOTH, **{LAUNCHER: "echo"}), closure=closure)
    assert labels(found) == {"k": ("8k1k c4", "c1")}
    assert found.keys[0].why == ("launch",)
    assert found.undecided == ("other: a script is chosen at run time",)


@pytest.mark.parametrize("path", ["docs/notes.md", "benchmarks/README.md", "utils/tool.py", "app.py"])
def test_files_that_no_launch_reads_decide_nothing(path: str) -> None:
    found = scope(tree(BOTH), tree(BOTH, **{path: "x"}))
    assert (found.keys, found.undecided) == ((), ())


def test_a_recipe_that_no_key_names_affects_none() -> None:
    found = scope(tree(BOTH), tree(BOTH, **{"benchmarks/multi_node/srt-slurm-recipes/x.yaml": "name: x\n"}))
    assert (found.keys, found.undecided) == ((), ())


def test_a_changed_recipe_that_was_not_recorded_is_undecided() -> None:
    path = f"{ROOT}{RECIPE}"
    files = {name: content for name, content in october().files.items() if name != path}
    seen = Tree("a" * 40, files)
    found = compute_scope(seen, seen, [path])
    assert found.keys == ()
    assert found.undecided == (f"{path} changed, but was not recorded at both revisions",)


def test_a_recipe_from_outside_the_repository_does_not_fail_the_scope() -> None:
    setting = 'additional-settings: ["CONFIG_FILE=recipes/elsewhere.yaml"]'
    text = multi("m", pools("[16]").replace("dp-attn: true }", f"dp-attn: true, {setting} }}"))
    (point,) = scope(tree(text), tree(text.replace("engine:v1", "engine:v2"))).added_points
    assert isinstance(point.recipe, Unbound)
    assert point.recipe.outside_repository


def test_a_broken_recipe_stands_for_its_own_points_only() -> None:
    found = scope(october(), october(BUNDLE.replace("base:", "base: [")))
    assert all(isinstance(point.recipe, Unbound) for point in found.points)
    assert "valid YAML" in str(found.points[0].recipe)


def test_rules_follow_the_layout_of_head_unless_forced() -> None:
    assert scope(october(), october()).rules is Rules.OCTOBER
    assert scope(tree(BOTH), tree(BOTH)).rules is Rules.AUGUST
    assert scope(october(), october(), rules=Rules.AUGUST).rules is Rules.AUGUST


def test_equal_text_is_not_generated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from app.planner import changes

    asked: list[str] = []

    def counted(item: MasterEntry, runners: Runners, files: Tree, rules: Rules) -> tuple[Point, ...]:
        asked.append(item.key)
        return points_of(item, runners, files, rules)

    monkeypatch.setattr(changes, "points_of", counted)
    changed(tree(BOTH), tree(BOTH.replace("conc-list: [2]", "conc-list: [2, 4]")))
    assert asked == ["other", "other"]
    assert NVIDIA in tree(BOTH).files


MULTI_RECIPE = "benchmarks/multi_node/srt-slurm-recipes/mo/disagg.yaml"
MULTI_BUNDLE = """\
base:
  schema: 2
  name: mo
  engine: sglang
  roles:
    prefill: { nodes: 1, workers: 1, gpus: 4, args: { tensor-parallel-size: 4, expert-parallel-size: 4 } }
    decode: { nodes: 3, workers: 2, gpus: 4, args: { tensor-parallel-size: 4 } }
override_x: {}
"""


def sweep(masters: str, **recipes: str) -> Plan:
    base, head = (tree(masters, log, root=ROOT, **recipes) for log in ("", entry(['"*"'])))
    return plan(base, head)


def test_a_multi_node_row_has_the_node_count_and_the_identity_of_its_recipe() -> None:
    masters = multi("m", pools("[16, 32]", more=f"srt-recipe: {MULTI_RECIPE}:override_x, "))
    masters = masters.replace("dp-attn: true", "dp-attn: false")
    files = {MULTI_RECIPE: MULTI_BUNDLE}
    (row,) = (row.row for row in sweep(masters, **files).rows if not row.is_eval)
    found = points(tree(masters, root=ROOT, **files), Rules.OCTOBER)["m"]
    assert row["node-count"] == 4
    assert {point.fingerprint for point in found} == {row["recipe-fingerprint"]}
    assert [point.identity[1] for point in found] == [16, 32]


@pytest.mark.parametrize(
    ("bundle", "rule"),
    [
        pytest.param({}, "the entry cannot be launched", id="no recipe file"),
        pytest.param(
            {RECIPE: BUNDLE.replace("CONC: '2'", "CONC: '3'")},
            "nearest is override_c1: CONC is 1",
            id="the nearest miss is named",
        ),
        pytest.param({RECIPE: BUNDLE.replace("CONC: '2'", "CONC: '1'")}, "2 variants serve", id="two variants fit"),
        pytest.param({RECIPE: BUNDLE + "base: {}\n"}, "may stand once", id="a broken recipe"),
    ],
)
def test_an_october_plan_refuses_a_row_without_exactly_one_variant(bundle: dict[str, str], rule: str) -> None:
    with pytest.raises(RejectedInput) as caught:
        sweep(OCTOBER, **bundle)
    assert rule in str(caught.value)
