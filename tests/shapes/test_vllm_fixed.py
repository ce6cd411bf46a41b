"""Purpose: Qwen3.5 FP8 on B300 with vLLM, single-turn 8k1k with MTP, swept with a canary: good story and changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.bundles import Editor
from tests.support.shapes import ground, outside
from tests.support.shapes.build import build
from tests.support.shapes.story import Loads, Row, Story, frontier
from tests.support.shapes.verdicts import assert_rows, assert_turned, passing
from tests.support.shapes.vllm_fixed import MODEL, RECIPE, SPECULATION, story

EXPECTED = passing(na=(6, 11, 12, 17))
MEMORY = '"0.92"'


def test_the_good_story_passes() -> None:
    assert_rows(story(), EXPECTED)


def page(old: str, new: str) -> Story:
    return story().with_page(lambda text: text.replace(old, new))


def speculating(extra: str) -> Story:
    """Another speculative-config of old: in the recipe, on the page and in every log."""
    config = SPECULATION.replace("}", f",{extra}}}")
    made = story().edited(RECIPE, SPECULATION, config, of_old=True)
    made = made.with_page(lambda text: text.replace(SPECULATION, config))
    return made.serving(lambda one: one.with_args(speculative_config=config))


def overriding(value: str) -> Story:
    line = "        max-num-batched-tokens: 16384\n"
    made = story().edited(RECIPE, line, f"{line}        hf-overrides: '{value}'\n", of_old=True)
    made = made.with_page(lambda text: text.replace("base_args: [", f"base_args: [--hf-overrides, '{value}', "))
    return made.serving(lambda one: one.with_args(hf_overrides=value))


def named_in_the_recipe(image: str) -> Story:
    """The recipe names the model and an image of its own, all along."""
    own = f"  model: {{ path: 'hf:{MODEL}' }}\n  identity: {{ container: {{ image: '{image}' }} }}\n"
    return story().edited(RECIPE, "  engine: { type: vllm", f"{own}  engine: {{ type: vllm", of_old=True)


def logged(name: str, value: str, job: str) -> Editor:
    editor = build(story())
    return editor.each_log(lambda log: log["env"].update({name: {"value": value, "line": 9}}), job)


def other_image_in_evals() -> Editor:
    editor = build(story())
    return editor.each_log(lambda log: log.update(images=[{"value": "vllm/vllm-openai:v0.31.0", "line": 9}]), "eval /")


def failed_canary() -> Editor:
    """The canary failed: no family ran, and nothing was collected."""
    editor = build(story())
    with editor.record("jobs") as jobs:
        for one in jobs:
            if one["name"].startswith("canary /"):
                one["conclusion"] = "failure"
            elif " | " in one["name"]:
                one.update(name=one["name"].split(" / ")[0] + " /", conclusion="skipped", runner_name="", steps=0)
    editor.sources["runs"][0]["conclusion"] = "failure"
    editor.sources["artifacts"] = [one for one in editor.sources["artifacts"] if one["name"] == "changelog-metadata"]
    editor.sources["job_logs"] = [one for one in editor.sources["job_logs"] if one["job_name"].startswith("canary /")]
    return editor


def canary_only() -> Editor:
    """The canary's point has no job: the canary is skipped, the others ran."""
    editor = build(story())
    with editor.record("jobs") as jobs:
        found = next(one for one in jobs if one["name"].startswith("canary /"))
        found.update(name="canary /", conclusion="skipped", runner_name="", steps=0)
    return editor


def without_the_median_eval() -> Editor:
    editor = build(story())
    with editor.record("jobs") as jobs:
        jobs[:] = [one for one in jobs if "c32 | eval-only" not in one["name"]]
    with editor.artifact("eval_results_all") as rows:
        rows[:] = [row for row in rows if row["conc"] != 32]
    return editor


def thin(row: Row, conc: int) -> tuple[float, float]:
    return (60.0, 1000.0) if conc == 64 else frontier(row, conc)


BAD: dict[str, tuple[Callable[[], Story | Editor], dict[int, str], str]] = {
    "1, 2 and what follows: the canary failed": (
        failed_canary,
        {1: "FAIL", 2: "FAIL", 4: "WARN", 13: "FAIL", 14: "WARN"},
        "7 of 7 planned jobs without a pass; 8k1k c4: its job ended with failure",
    ),
    "1 the canary's point did not run": (canary_only, {1: "FAIL"}, "c4"),
    "1 and 2 the eval at the median did not run": (without_the_median_eval, {1: "FAIL", 2: "FAIL"}, "c32"),
    "2 the evals ran another image": (other_image_in_evals, {2: "FAIL"}, "v0.31.0"),
    "2 master and recipe name different images": (
        lambda: named_in_the_recipe("vllm/vllm-openai:v0.29.0"),
        {2: "FAIL"},
        "image ambiguous",
    ),
    "3 the page gives another value": (lambda: page(MEMORY, '"0.9"'), {3: "FAIL"}, "gpu-memory-utilization"),
    "3 the page does not know 128 sequences": (
        lambda: page('"128"', '"96"'),
        {3: "FAIL"},
        "max-num-seqs",
    ),
    "3 the page has no FP8 variant": (
        lambda: page("model_id: Qwen/Qwen3.5-397B-A17B-FP8", "model_id: Qwen/Qwen3.5-397B-A17B-INT4"),
        {3: "FAIL"},
        "covers other models or SKUs",
    ),
    "3 the strategy is not among the page's": (
        lambda: page("[single_node_tp, single_node_tep]", "[single_node_tep]"),
        {3: "FAIL"},
        "the strategy",
    ),
    "3 the page is no YAML": (lambda: page("meta: {", "meta: [{"), {3: "FAIL"}, "could not be verified"),
    "3 the link is to the engine's own repository": (
        lambda: replace(
            story(),
            upstream=(
                replace(
                    story().upstream[0],
                    link="https://github.com/vllm-project/vllm/pull/812",
                    repository="vllm-project/vllm",
                ),
            ),
        ),
        {3: "FAIL"},
        "is no vLLM recipe",
    ),
    "7 the scenario is over": (
        lambda: (
            story()
            .edited(ground.MODELS, "| Single-turn 8k1k (fp8, fp4), Agentic coding |", "| Agentic coding |", of_old=True)
            .edited(
                ground.MODELS,
                "| Single-turn 1k1k, Single-turn 1k8k |\n| DeepSeek-R1",
                "| Single-turn 8k1k (removed 2026-10-20) |\n| DeepSeek-R1",
                of_old=True,
            )
        ),
        {7: "FAIL"},
        "8k1k",
    ),
    "7 the precision is not among the active ones": (
        lambda: story().edited(ground.MODELS, "8k1k (fp8, fp4)", "8k1k (fp4 only)", of_old=True),
        {7: "FAIL"},
        "fp8",
    ),
    "8 fewer experts a token": (lambda: overriding('{"num_experts_per_tok": 4}'), {8: "FAIL"}, "num_experts_per_tok"),
    "8 an override that nobody knows": (
        lambda: overriding('{"attention_temperature": 2}'),
        {8: "FAIL"},
        "could not be verified",
    ),
    "9 the client was told not to template": (
        lambda: logged("USE_CHAT_TEMPLATE", "false", "single-node"),
        {9: "FAIL"},
        "USE_CHAT_TEMPLATE is false",
    ),
    "11 acceptance is simulated without agents": (
        lambda: speculating('"rejection_sample_method":"synthetic","synthetic_acceptance_length":2.66'),
        {11: "FAIL"},
        "is not agentic and simulates acceptance",
    ),
    "13 the draft is quantized to four bits": (
        lambda: speculating('"quantization":"modelopt_fp4"'),
        {13: "FAIL"},
        "modelopt_fp4",
    ),
    "13 no log shows the draft's load": (
        lambda: replace(story(), loads=Loads()),
        {13: "FAIL"},
        "could not be verified: the draft's load",
    ),
    "14 four points on the frontier": (lambda: replace(story(), measured=thin), {14: "WARN"}, "4 of 5 points"),
    "15 the old value is kept, says the description": (
        lambda: replace(story(), body=story().body.replace("0.9 -> 0.92", "stays 0.9")),
        {15: "WARN"},
        "contradicted",
    ),
    "16 the page links another engine only": (
        lambda: replace(
            story(), overview=outside.overview([("Qwen3.5", "https://docs.sglang.io/cookbook/Qwen", "", "")], [])
        ),
        {16: "FAIL"},
        "vLLM cell of Qwen3.5 is empty",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_one_change_turns_its_row(name: str) -> None:
    make, turned, words = BAD[name]
    assert_turned(story, make(), turned, words)
