"""Purpose: the reference repository is a valid October tree, and the pull request changes what the case says."""

from __future__ import annotations

from datetime import date

import pytest

from app.planner.fingerprint import bound_fingerprint
from app.planner.points import Rules
from app.planner.rows import generate
from app.sandbox.reference_parts import names
from app.sandbox.reference_parts.settings import CONCURRENCIES, environment, offloading, server
from app.sandbox.reference_parts.tree import files, text
from app.target.changelog import read_changelog
from app.target.checklist import compare, parse_signoff, parse_template
from app.target.codeowners import Codeowners
from app.target.golden import acceptance_length, find_curve
from app.target.masters import read_masters
from app.target.models_md import ModelsTable, scenario_key
from app.target.recipe import EffectiveRecipe
from app.target.recipes import effective, recipe_reference
from app.target.runners import read_runners
from app.target.speculation import speculation_of
from app.target.thresholds import Origin, Thresholds
from app.target.tree import Layout, Tree

BASE = Tree("b" * 40, files("base"), complete=True)
HEAD = Tree("c" * 40, {**files("base"), **files("head")}, complete=True)
RECIPE = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/musespark/sglang/gb200-fp4-mtp/agentic.yaml"


def bound_points(tree: Tree, key: str) -> dict[int, tuple[str, dict[str, object], EffectiveRecipe]]:
    """Concurrency to (fingerprint, row, recipe); a range of a fixed-sequence multi-node row does not occur here."""
    found = {}
    runners = read_runners(tree)
    for generated in generate(read_masters(tree)[key], runners, Rules.OCTOBER):
        for index in range(len(generated.rows)):
            row = generated.row(index)
            reference = recipe_reference(tree.layout, row)
            assert reference is not None, f"{key} names no recipe"
            recipe = effective(tree, *reference, row)
            assert isinstance(recipe, EffectiveRecipe), f"{key} {row['conc']}: {recipe}"
            conc = row["conc"][0] if isinstance(row["conc"], list) else row["conc"]
            found[conc] = (bound_fingerprint(generated.fields, recipe), row, recipe)
    return found


@pytest.mark.parametrize("key", sorted(read_masters(BASE)))
def test_every_entry_binds_each_point_to_exactly_one_recipe(key: str) -> None:
    assert bound_points(BASE, key)


@pytest.mark.parametrize("key", sorted(key for key, entry in read_masters(HEAD).items() if "agentic" in key))
def test_every_agentic_entry_drafts_at_a_length_that_its_golden_curve_has(key: str) -> None:
    for concurrency, (_, row, recipe) in bound_points(HEAD, key).items():
        speculation = speculation_of(recipe)
        assert speculation is not None, f"c{concurrency} drafts nothing"
        curve = find_curve(HEAD, str(row["model-prefix"]), speculation)
        assert acceptance_length(curve, "thinking_on", speculation.length).value >= 1


@pytest.mark.parametrize("key", sorted(read_masters(HEAD)))
def test_no_entry_is_deprecated_on_the_review_date(key: str) -> None:
    table = ModelsTable.parse(HEAD.layout.models_md, files("base")[HEAD.layout.models_md])
    for _, row, recipe in bound_points(HEAD, key).values():
        speculation = speculation_of(recipe)
        scenario = scenario_key(str(row.get("scenario-type", "fixed-seq-len")), row.get("isl"), row.get("osl"))
        status = table.status(
            str(row["model-prefix"]),
            scenario,
            precision=str(row["precision"]),
            drafting=speculation is not None,
            method=speculation.method if speculation else None,
            date=date(2026, 10, 21),
        )
        assert status.allowed, status.reason


def test_musespark_has_the_default_eval_threshold() -> None:
    path = HEAD.layout.thresholds
    bar = Thresholds.parse(path, files("base")[path]).lookup("musespark", "gsm8k")
    assert (float(bar.value), bar.origin) == (0.9, Origin.DEFAULT)


def test_the_layout_is_october_and_the_masters_hold_neighbours() -> None:
    assert BASE.layout is Layout.OCTOBER
    entries = read_masters(BASE)
    assert len(entries) >= 15
    assert names.KEY in entries
    assert sum(1 for key in entries if "musespark" in key) == 1, "no neighbour may share the measured series"


def test_exactly_c1_c4_c6_c8_c10_change_and_c12_is_gone() -> None:
    before = {conc: point[0] for conc, point in bound_points(BASE, names.KEY).items()}
    after = {conc: point[0] for conc, point in bound_points(HEAD, names.KEY).items()}
    assert tuple(sorted(after)) == CONCURRENCIES
    assert set(before) - set(after) == {12}
    assert {conc for conc in after if before[conc] != after[conc]} == {1, 4, 6, 8, 10}


@pytest.mark.parametrize("concurrency", CONCURRENCIES)
def test_the_effective_recipe_equals_the_settings_table(concurrency: int) -> None:
    _, row, recipe = bound_points(HEAD, names.KEY)[concurrency]
    role = recipe.roles["agg"]
    assert {flag: setting.value for flag, setting in role.args.items()} == server(concurrency)
    assert {name: setting.value for name, setting in role.env.items()} == environment(concurrency)
    assert recipe.benchmark_env["KV_OFFLOADING"].value == offloading(concurrency) == row["kv-offloading"]
    assert row["total-cpu-dram-gb"] == (0 if concurrency == 1 else 721)


def test_the_draft_speculates_seven_tokens_at_the_golden_length() -> None:
    recipe = bound_points(HEAD, names.KEY)[10][2]
    speculation = speculation_of(recipe)
    assert speculation is not None
    assert (speculation.method, speculation.length, speculation.draft_model) == ("dflash", 7, names.DRAFT)
    curve = find_curve(HEAD, "musespark", speculation)
    assert float(acceptance_length(curve, "thinking_on", 7).value) == 4.05


def test_one_entry_is_appended_at_the_physical_end() -> None:
    old, new = (side["inferencex-e2e/perf-changelog.yaml"] for side in (files("base"), files("head")))
    assert new.startswith(old)
    assert new[len(old) :].startswith(b"\n- config-keys:")
    assert new.endswith(b"  pr-link: XXX\n")
    before, after = read_changelog(BASE), read_changelog(HEAD)
    assert len(before) >= 15
    assert len(after) == len(before) + 1
    assert after[-1].config_keys == (names.KEY,)
    assert not after[-1].append_only


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("inferencex-e2e/configs/nvidia-master.yaml", True),
        (RECIPE, True),
        ("inferencex-e2e/perf-changelog.yaml", False),
    ],
    ids=["the nvidia master is the signer's", "the recipe folder is the signer's", "the changelog is nobody's own"],
)
def test_owners_of_the_changed_files(path: str, owner: bool) -> None:
    rule = Codeowners.parse(".github/CODEOWNERS", files("base")[".github/CODEOWNERS"]).rule_for(path)
    assert rule is not None
    assert (f"@{names.SIGNER}" in rule.owners) is owner
    assert rule.catch_all is not owner


def test_the_sign_off_ticks_the_whole_current_template_but_the_conditional_item() -> None:
    path = HEAD.layout.checklist
    template = parse_template(path, files("base")[path])
    signed = parse_signoff(text("sign_off.md"))
    assert len(template.items) >= 17
    compared = compare(template, signed)
    assert compared.complete
    assert compared.extra == ()
    open_items = [line for line in text("sign_off.md").splitlines() if "- [ ]" in line]
    assert len(open_items) == 1
    assert open_items[0].startswith("- [ ] If any of the above")


def test_only_the_three_files_of_the_case_change() -> None:
    assert sorted(files("head")) == sorted(
        [RECIPE, "inferencex-e2e/configs/nvidia-master.yaml", "inferencex-e2e/perf-changelog.yaml"]
    )
