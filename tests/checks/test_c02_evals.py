"""Purpose: check 2, rule by rule: eval rows of every planned eval, their bars, their size and their image."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from app.facts.evidence_run import NO_RUN
from app.facts.records import LogValue
from app.facts.repository import EvalThresholds
from app.facts.sweep import BenchmarkRows, EvalRows, EvidenceRun, JobLogs
from app.target.recipe import Setting
from app.target.source import FileLine
from checks import all_checks
from tests.checks.sweep_story import NVIDIA, THRESHOLDS, Sweep
from tests.support.bundles import flipped, good

KEY = "dsv41flash-fp4-gb200-sglang-agentic-dspark"
FIXED = "dsr1-fp4-b200-sglang-mtp"
KIMI = "kimik3-fp4-gb300-dynamo-vllm-agentic-dspark-disagg"
GLM = "glm5.2-fp4-gb300-sglang-agentic-mtp"
AGG = "glm5.3-fp4-gb200-dynamo-sglang-agentic-mtp-agg"
AGG_RECIPE = "inferencex-e2e/benchmarks/multi_node/srt-slurm-recipes/glm5.3/sglang/gb200-fp4/agentx/agg-tp8.yaml"
RECIPE = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/dsv41flash/sglang/gb200-fp4-mtp/agentic.yaml"
IMAGE = "lmsysorg/sglang:nightly-dev-cu13-20261006-5d1c07ae"


def scored(key: str = KEY, **changes: Any) -> Sweep:
    """The evals of a key with changed fields in their first row."""
    sweep = Sweep.of(key)
    sweep.evals[0].update(changes)
    return sweep


def bar(path_text: str, new: str, key: str = KEY, **changes: Any) -> Sweep:
    """The head edits the thresholds file."""
    return scored(key, **changes).edit(THRESHOLDS, path_text, new)


def no_evals() -> Sweep:
    return Sweep.of(KEY, entry="  no-evals: true\n")


def appended() -> Sweep:
    sweep = Sweep().edit(NVIDIA, "conc-list: [6, 12, 20, 40]", "conc-list: [6, 12, 20]", both=True)
    sweep.edit(NVIDIA, "conc-list: [6, 12, 20]", "conc-list: [6, 12, 20, 40]")
    return sweep.names(KEY, entry="  append-only: true\n")


def low_points() -> Sweep:
    """Only concurrencies below 16 in a fixed-sequence key."""
    sweep = Sweep().edit(NVIDIA, "conc-list: [2, 8, 24]", "conc-list: [2, 8]", both=True)
    sweep.edit(NVIDIA, "conc-list: [96, 192]", "conc-list: [12]", both=True)
    recipe = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/dsr1/sglang/b200-fp4-mtp/8k1k.yaml"
    sweep.edit(recipe, "'96', '192'", "'12', '13'", both=True)
    return sweep.names(FIXED).measure()


def batched() -> Sweep:
    """`all-evals` on a fixed multi-node row: one eval at every concurrency."""
    sweep = Sweep(labels=("full-sweep-enabled", "all-evals"))
    entry = """
dsr1-fp8-gb200-dynamo-sglang:
  image: lmsysorg/sglang:v1
  model: deepseek-ai/DeepSeek-R1-0528
  model-prefix: dsr1
  runner: cluster:gb200-nv
  precision: fp8
  framework: dynamo-sglang
  multinode: true
  disagg: true
  kv-p2p-transfer: nixl
  scenarios:
    fixed-seq-len:
    - isl: 8192
      osl: 1024
      search-space:
      - conc-list: [4, 16, 64]
        prefill: { num-worker: 1, tp: 8, ep: 8, dp-attn: true }
        decode: { num-worker: 2, tp: 8, ep: 1, dp-attn: false }
"""
    for tree in (sweep.base, sweep.head):
        tree[NVIDIA] += entry.encode()
    return sweep.names("dsr1-fp8-gb200-dynamo-sglang").measure()


def batched_without(conc: int) -> Sweep:
    sweep = batched()
    sweep.evals = [row for row in sweep.evals if row["conc"] != conc]
    return sweep


def with_image(image: str, *, in_rows: bool = False) -> Sweep:
    """The eval's log (or, without a log, every result row) names another image."""
    sweep = Sweep.of(KEY)
    if in_rows:
        sweep.logs = []
        sweep.rows = [{**row, "image": image} for row in sweep.rows]
        return sweep
    sweep.logs = [
        log.model_copy(update={"images": (LogValue(value=image, line=12),)}) if "eval" in log.job_name else log
        for log in sweep.logs
    ]
    return sweep


def unseen_image() -> Sweep:
    sweep = Sweep.of(KEY)
    sweep.logs = []
    for row in sweep.rows:
        del row["image"]
    return sweep


def eval_recipe(old: str, new: str) -> Sweep:
    """The key's evals use a recipe of their own, a changed copy of the throughput recipe."""
    copy = AGG_RECIPE.replace("agg-tp8", "agg-eval")
    sweep = Sweep()
    for tree in (sweep.base, sweep.head):
        text = tree[AGG_RECIPE].decode()
        assert old in text
        tree[copy] = text.replace(old, new).encode()
    named = (
        "srt-recipe: benchmarks/multi_node/srt-slurm-recipes/glm5.3/sglang/gb200-fp4/agentx/agg-tp8.yaml:override_tp8"
    )
    sweep.edit(NVIDIA, named, f"{named}\n        eval-{named.replace('agg-tp8', 'agg-eval')}", both=True)
    return sweep.names(AGG).measure()


def without(key: str = KEY) -> Sweep:
    sweep = Sweep.of(key)
    sweep.evals = []
    return sweep


@pytest.mark.parametrize(
    ("make", "status", "text"),
    [
        pytest.param(
            lambda: Sweep.of(KEY),
            "PASS",
            "gsm8k em_strict 0.9757 (±0.0042, n=1319) >= 0.90 (default) at c40 on run 4001",
            id="2.above 2.bar: the task's default",
        ),
        pytest.param(lambda: Sweep.of(FIXED), "PASS", ">= 0.91 (exact) at c24", id="2.bar: the model's own"),
        pytest.param(lambda: Sweep.of(GLM), "PASS", ">= 0.90 (default)", id="2.bar: glm5.2 does not inherit from glm5"),
        pytest.param(
            lambda: scored(em_strict=0.87).edit(THRESHOLDS, '    "gsm8k": 0.9', '    "other": 0.9', 1, both=True),
            "PASS",
            ">= 0.85 (fallback)",
            id="2.bar: the fallback",
        ),
        pytest.param(lambda: scored(em_strict=0.9), "PASS", "em_strict 0.9 (", id="2.above: equal to the bar passes"),
        pytest.param(
            lambda: bar('"gsm8k": 0.9', '"gsm8k": 0.96'),
            "PASS",
            ">= 0.96 (default, raised by this pull request)",
            id="2.raised: the head raises the bar",
        ),
        pytest.param(
            lambda: bar('"gsm8k": 0.9', '"gsm8k": 0.98'),
            "FAIL",
            "em_strict 0.9757 < 0.98 (default)",
            id="2.raised: a raised bar counts",
        ),
        pytest.param(
            lambda: bar('"gsm8k": 0.9', '"gsm8k": 0.5', em_strict=0.8),
            "FAIL",
            "em_strict 0.8 < 0.90 (default)",
            id="2.lowered-bar: the target's bar decides",
        ),
        pytest.param(
            lambda: Sweep.of(KIMI),
            "PASS",
            "kimi_tool_call_schema_full accuracy 0.97 (±0.01, n=408) >= 0.00 (default, diagnostic) at c36",
            id="2.vendor: a diagnostic suite",
        ),
        pytest.param(batched, "PASS", "at c4; gsm8k", id="2.batched: all concurrencies"),
        pytest.param(
            lambda: batched_without(16), "FAIL", "eval c16 of dsr1-fp8", id="2.batched: one concurrency is missing"
        ),
        pytest.param(low_points, "N/A", "only 8k1k points of concurrency 16", id="2.no-eval: low concurrencies"),
        pytest.param(
            appended,
            "N/A",
            "append-only: no eval is planned",
            id="2.no-eval: append-only",
        ),
        pytest.param(
            lambda: with_image(IMAGE.replace("/", "#")), "PASS", "image as submitted", id="2.image: the job log"
        ),
        pytest.param(
            lambda: with_image(IMAGE, in_rows=True), "PASS", "image as submitted", id="2.image: the benchmark rows"
        ),
        pytest.param(without, "FAIL", "eval c40 of dsv41flash", id="2.missing: no row at all"),
        pytest.param(
            lambda: scored(conc=20), "FAIL", "eval c40 of dsv41flash", id="2.missing: a row of another concurrency"
        ),
        pytest.param(
            lambda: scored(framework="vllm"), "FAIL", "eval c40 of", id="2.missing: a row of another framework"
        ),
        pytest.param(
            lambda: without().lose(EvidenceRun, f"{NO_RUN}: none ran"),
            "FAIL",
            "no eval ran: no sweep run counts",
            id="2.missing: no run",
        ),
        pytest.param(lambda: scored(em_strict=0.89), "FAIL", "em_strict 0.89 < 0.90", id="2.below: strict"),
        pytest.param(lambda: scored(em_flexible=0.5), "FAIL", "em_flexible 0.5 < 0.90", id="2.below: flexible"),
        pytest.param(
            lambda: scored(infrastructure_success=False), "FAIL", "reports a failed run", id="2.infrastructure: a flag"
        ),
        pytest.param(
            lambda: scored(integration_error={"kind": "x"}),
            "FAIL",
            "integration error",
            id="2.infrastructure: an error",
        ),
        pytest.param(lambda: scored(em_strict=1.5), "FAIL", "no number from 0 to 1", id="2.no-score: out of range"),
        pytest.param(lambda: scored(em_strict=True), "FAIL", "no number from 0 to 1", id="2.no-score: a bool"),
        pytest.param(lambda: scored(n_eff=0), "FAIL", "no effective answers", id="2.no-answers: zero"),
        pytest.param(lambda: scored(n_eff=None), "FAIL", "no effective answers", id="2.no-answers: missing"),
        pytest.param(lambda: scored(n_eff=200), "FAIL", "n=200 of 1319", id="2.partial"),
        pytest.param(
            lambda: with_image("lmsysorg/sglang:v9"),
            "FAIL",
            "eval c40 ran lmsysorg/sglang:v9, not lmsysorg/sglang:nightly",
            id="2.other-image: the job log",
        ),
        pytest.param(
            lambda: with_image("lmsysorg/sglang:v9", in_rows=True),
            "FAIL",
            "ran lmsysorg/sglang:v9",
            id="2.other-image: the benchmark rows",
        ),
        pytest.param(
            unseen_image,
            "FAIL",
            "could not be verified: the image of eval c40",
            id="2.image: an image that nothing shows is not assumed",
        ),
        pytest.param(no_evals, "FAIL", "this run is throughput evidence only", id="2.no-evals-entry"),
        pytest.param(
            lambda: eval_recipe("name: glm5.3", "name: evaluated-glm5.3"),
            "PASS",
            "at c18",
            id="2.eval-recipe: another name",
        ),
        pytest.param(
            lambda: eval_recipe("mem-fraction-static: 0.", "mem-fraction-static: 0.1"),
            "FAIL",
            "the eval recipe of glm5.3-fp4-gb200-dynamo-sglang-agentic-mtp-agg differs in roles.agg.args.mem",
            id="2.eval-recipe: another setting",
        ),
        pytest.param(
            lambda: Sweep.of(KEY).lose(EvalRows), "FAIL", "could not be verified: the eval result", id="without rows"
        ),
        pytest.param(
            lambda: Sweep.of(KEY).lose(EvalThresholds), "FAIL", "could not be verified: eval thr", id="without bars"
        ),
        pytest.param(
            lambda: Sweep.of(KEY).lose(JobLogs).lose(BenchmarkRows),
            "FAIL",
            "could not be verified: the image",
            id="without logs and rows nobody knows the image",
        ),
        pytest.param(Sweep, "N/A", "no benchmark point is affected", id="nothing is affected"),
    ],
)
def test_rules_of_check_2(make: Callable[[], Sweep], status: str, text: str) -> None:
    row = make().row(2)
    assert (row.status.value, text in row.reason) == (status, True), row.reason


def test_master_and_recipe_that_name_different_images_are_ambiguous() -> None:
    """2.ambiguous-image"""
    sweep = Sweep.of(KEY)
    key = sweep.scope.keys[0]
    image = Setting("lmsysorg/sglang:v9", FileLine(RECIPE, 7))
    points = tuple(replace(point, recipe=replace(point.recipe, image=image)) for point in key.points)
    scope = replace(sweep.scope, keys=(replace(key, points=points),))
    row = next(check for check in all_checks() if check.number == 2).judge(sweep.facts, scope)
    assert row.reason.startswith(f"image ambiguous: the master has {IMAGE}, the recipe lmsysorg/sglang:v9")
    assert (row.status.value, row.findings[0].where) == ("FAIL", FileLine(RECIPE, 7))


def test_a_lowered_bar_is_a_finding_of_its_own() -> None:
    row = bar('"gsm8k": 0.9', '"gsm8k": 0.5').row(2)
    assert row.status.value == "PASS"
    assert [finding.found for finding in row.findings] == [
        "the pull request lowers the gsm8k bar of dsv41flash from 0.9 to 0.5"
    ]


def below():
    editor = good()
    with editor.artifact("eval_results_all") as rows:
        rows[0].update(em_strict=0.61, score=0.61)
    return editor


def shortened():
    editor = good()
    with editor.artifact("eval_results_all") as rows:
        rows[0]["n_eff"] = 100
    return editor


def other_image():
    editor = good()
    with editor.log("agentic eval") as log:
        for image in log["images"]:
            image["value"] = "lmsysorg/sglang:v0.5.22-cu130"
    return editor


def higher_bar():
    editor = good()
    path = "inferencex-e2e/infx/evals/thresholds.yaml"
    text = editor.read(path, "target").replace('"gsm8k": 0.9', '"gsm8k": 0.99', 1)
    return editor.write(path, text, ("target", "head", "merge_base"))


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(below, id="2.below: the story's score"),
        pytest.param(shortened, id="2.partial: a hundred questions"),
        pytest.param(other_image, id="2.other-image: the eval job pulled another one"),
        pytest.param(higher_bar, id="2.bar: the target's bar is higher"),
    ],
)
def test_one_change_of_the_story_flips_this_row_alone(make) -> None:
    assert flipped(good().rows(), make().rows()) == {2: "FAIL"}
