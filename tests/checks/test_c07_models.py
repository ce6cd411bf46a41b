"""Purpose: check 7, rule by rule: MODELS.md of the target against submitted points, on the review date."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date

import pytest

from app.facts.repository import Models
from app.target.recipe import Unbound
from checks import all_checks
from checks.c07_models import deadlines
from checks.contract import CheckResult
from tests.checks.sweep_story import MODELS_MD, NVIDIA, Sweep
from tests.support.bundles import flipped, good

MUSE = "musespark-fp4-gb200-sglang-agentic-dflash"
KIMI = "kimik3-fp4-gb300-dynamo-vllm-agentic-dspark-disagg"
DSR1 = "dsr1-fp4-b200-sglang-mtp"
DSR1_RECIPE = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/dsr1/sglang/b200-fp4-mtp/8k1k.yaml"
QWEN = "qwen3.5-fp8-mi300x-vllm"
KIMI_ROW = "Agentic coding (DSpark only) | None |"
ROW = "| Muse Spark Open 816B-A42B | `musespark` |"
NOTICE = """### Sunday, October 25, 2026

**Sunday, October 25, 2026** is the last day for Agentic coding on `musespark`.

### Wednesday, September 30, 2026
"""
PENDING = """### Thursday, October 1, 2026

| Model | Deprecated | Remains |
|---|---|---|
| Muse Spark Open (`musespark`) | Agentic coding | Nothing |

**Status: not yet enacted.** It still runs.

### Wednesday, September 30, 2026
"""


def models(old: str, new: str, key: str = MUSE, head_only: bool = False) -> Sweep:
    sweep = Sweep.of(key)
    return sweep.edit(MODELS_MD, old, new, 1, both=not head_only)


def without_row(at_head: bool = True) -> Sweep:
    """The target has no row of the prefix; the head may."""
    sweep = Sweep.of(MUSE)
    line = next(line for line in sweep.base[MODELS_MD].decode().split("\n") if line.startswith(ROW))
    for tree in (sweep.base,) if at_head else (sweep.base, sweep.head):
        tree[MODELS_MD] = tree[MODELS_MD].replace(f"{line}\n".encode(), b"")
    return sweep


def new_model_retired_scenario() -> Sweep:
    sweep = without_row()
    target = sweep.base[MODELS_MD].decode()
    since = "| Agentic coding | trace replay | **Deprecated for all models** since 2026-10-01. |"
    sweep.base[MODELS_MD] = target.replace(
        next(line for line in target.split("\n") if line.startswith("| Agentic coding | trace")), since
    ).encode()
    return sweep


def undrafted(key: str = KIMI) -> CheckResult:
    """The label says mtp; the recipe of every point drafts nothing."""
    sweep = models(
        KIMI_ROW, "Agentic coding (DSpark only) | Agentic coding non-DSpark arm (deprecated from day 0) |", key
    )
    return judged(sweep, without_speculation)


def judged(sweep: Sweep, change: Callable[[object], object]) -> CheckResult:
    key = sweep.scope.keys[0]
    points = tuple(replace(point, recipe=change(point.recipe)) for point in key.points)
    scope = replace(sweep.scope, keys=(replace(key, points=points),))
    return next(check for check in all_checks() if check.number == 7).judge(sweep.facts, scope)


def without_speculation(recipe):
    roles = {
        name: replace(role, args={flag: one for flag, one in role.args.items() if not flag.startswith("speculative")})
        for name, role in recipe.roles.items()
    }
    return replace(recipe, roles=roles)


@pytest.mark.parametrize(
    ("make", "status", "text"),
    [
        pytest.param(
            lambda: Sweep.of(MUSE),
            "PASS",
            "musespark agentic-coding is active on 2026-10-21 (MODELS.md:45)",
            id="7.active",
        ),
        pytest.param(
            lambda: models("### Wednesday, September 30, 2026\n", NOTICE),
            "PASS",
            "last allowed day 2026-10-25 (4 days left)",
            id="7.deadline: before the last allowed day",
        ),
        pytest.param(
            lambda: replace(models("### Wednesday, September 30, 2026\n", NOTICE), day=date(2026, 10, 25)),
            "PASS",
            "(0 days left)",
            id="7.deadline: on the last allowed day",
        ),
        pytest.param(
            lambda: replace(models("### Wednesday, September 30, 2026\n", NOTICE), day=date(2026, 10, 26)),
            "FAIL",
            "is the last day for Agentic coding",
            id="7.scenario: the day after the last allowed day",
        ),
        pytest.param(
            lambda: models("### Wednesday, September 30, 2026\n", PENDING),
            "PASS",
            "is active",
            id="7.pending: announced, not yet enacted",
        ),
        pytest.param(without_row, "PASS", "row added by this pull request", id="7.new-model"),
        pytest.param(
            new_model_retired_scenario,
            "FAIL",
            "deprecated for all models",
            id="7.scenario: a new model, an old scenario",
        ),
        pytest.param(
            lambda: models(
                KIMI_ROW, "Agentic coding (DSpark only) | Agentic coding non-DSpark arm (deprecated from day 0) |", KIMI
            ),
            "PASS",
            "kimik3 agentic-coding is active",
            id="7.arm: the DSpark arm itself",
        ),
        pytest.param(
            lambda: models("Agentic coding with the SGLang DFlash2 draft", "None (retired 2026-10-02)"),
            "FAIL",
            "musespark: retired",
            id="7.retired",
        ),
        pytest.param(
            lambda: models(
                "| Single-turn 8k1k | 8192/1024 | Active. ", "| Single-turn 8k1k | 8192/1024 | Deprecated ", DSR1
            ),
            "FAIL",
            "deprecated",
            id="7.scenario: for all models",
        ),
        pytest.param(
            lambda: models(
                "### Monday, August 3, 2026\n",
                "### Monday, August 3, 2026\n\nAug is the last day for all fp8 recipes of `qwen3.5`.\n",
                QWEN,
            ),
            "FAIL",
            "qwen3.5: deprecated",
            id="7.precision",
        ),
        pytest.param(lambda: without_row(at_head=False), "FAIL", "no row for musespark", id="7.no-row"),
        pytest.param(
            lambda: models("Agentic coding with the SGLang DFlash2 draft", "Agentic coding", head_only=True),
            "PASS",
            "is active",
            id="7.own-edit: the target's row decides, harmless",
        ),
        pytest.param(
            lambda: models(KIMI_ROW, "Single-turn 8k1k | None |", KIMI),
            "FAIL",
            "could not be verified",
            id="7.active: a scenario that the row does not name needs a reader",
        ),
        pytest.param(
            lambda: Sweep.of(MUSE).lose(Models), "FAIL", "could not be verified: MODELS.md", id="without MODELS.md"
        ),
        pytest.param(Sweep, "N/A", "no benchmark point is added or changed", id="nothing is affected"),
        pytest.param(
            lambda: Sweep().edit(NVIDIA, "conc-list: [24, 48, 80]", "conc-list: [24, 48]"),
            "N/A",
            "removals only",
            id="removed points are not judged",
        ),
    ],
)
def test_rules_of_check_7(make: Callable[[], Sweep], status: str, text: str) -> None:
    row = make().row(7)
    assert (row.status.value, text in row.reason) == (status, True), row.reason


def test_an_arm_that_is_deprecated_from_day_zero() -> None:
    """7.day-zero 7.in-effect: the effective draft counts, not the label."""
    row = undrafted()
    assert row.status.value == "FAIL", row.reason
    assert "draft none" in row.findings[0].found


def test_an_unknown_draft_decides_nothing_where_the_arms_differ() -> None:
    """7.in-effect: a recipe outside the repository."""
    sweep = models(KIMI_ROW, "Agentic coding | Agentic coding non-DSpark arm (deprecated from day 0) |", KIMI)
    with pytest.raises(Exception, match="the effective draft is not known"):
        judged(sweep, lambda recipe: Unbound("recipes/x.yaml", "outside", outside_repository=True))
    both = judged(Sweep.of(DSR1), lambda recipe: Unbound("recipes/x.yaml", "outside", outside_repository=True))
    assert both.status.value == "PASS"


def test_an_unknown_draft_may_be_the_one_that_the_row_allows() -> None:
    """7.arm: the row says DSpark only, the script is not in the tree, the label says mtp."""
    with pytest.raises(Exception, match="the effective draft is not known"):
        judged(Sweep.of(KIMI), lambda recipe: Unbound("recipes/x.yaml", "outside", outside_repository=True))


def test_an_edit_of_an_existing_row_is_a_finding_of_its_own() -> None:
    """7.own-edit"""
    row = models("Agentic coding with the SGLang DFlash2 draft", "None (retired)", head_only=True).row(7)
    assert [finding.found for finding in row.findings] == ["the pull request edits the row of musespark"]


def test_deadlines_are_the_days_after_which_to_ask_again() -> None:
    sweep = models("### Wednesday, September 30, 2026\n", NOTICE)
    assert deadlines(sweep.facts, sweep.scope) == ((date(2026, 10, 25), "musespark agentic-coding"),)
    assert deadlines(sweep.lose(Models).facts, sweep.scope) == ()


def retired():
    editor = good()
    path = "inferencex-e2e/docs/MODELS.md"
    return editor.replace(
        path, "Agentic coding with the SGLang DFlash2 draft", "None (retired 2026-10-20)", ("target",)
    )


def gone():
    editor = good()
    path = "inferencex-e2e/docs/MODELS.md"
    for revision in ("target", "head"):
        editor.replace(path, "`musespark`", "`otherspark`", (revision,))
    return editor


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(retired, id="7.retired: the story's model"),
        pytest.param(gone, id="7.no-row: the story's prefix"),
    ],
)
def test_one_change_of_the_story_flips_this_row_alone(make) -> None:
    assert flipped(good().rows(), make().rows()) == {7: "FAIL"}
