"""Purpose: DeepSeek-V4-Pro on MI355X with ATOM: a vendor's engine on AMD, online quantization, DSpark acceptance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.bundles import Editor
from tests.support.shapes import ground
from tests.support.shapes.atom_mi355x import CHECKPOINT, KEY, OLD_IMAGE, OTHER, RECIPE, story
from tests.support.shapes.build import build
from tests.support.shapes.story import Checkpoint, Story
from tests.support.shapes.verdicts import assert_rows, assert_turned, passing

EXPECTED = passing(na=(3, 12, 16, 17))
LINE = "        gpu-memory-utilization: 0.88\n"


def argument(name: str, value: str) -> Story:
    """A flag of old, in recipe and logs."""
    made = story().edited(RECIPE, LINE, f"{LINE}        {name}: '{value}'\n", of_old=True)
    return made.serving(lambda one: one.with_args(**{name: value}))


def online(exclude: str) -> Story:
    return argument("online_quant_config", f'{{"global_quant_config": "ptpc_fp8", "exclude_layer": [{exclude}]}}')


def external() -> Story:
    """An external draft under online quantization."""
    draft = Checkpoint("example/dsv4-draft", {"torch_dtype": "bfloat16"}, {"fc.weight": ("BF16", [8, 8])})
    made = online('"*"')
    made = made.edited(RECIPE, LINE, f"{LINE}        draft-model: example/dsv4-draft\n", of_old=True)
    return replace(made, checkpoints=(draft,)).serving(lambda one: one.with_args(draft_model="example/dsv4-draft"))


def rate(value: str) -> Editor:
    """The acceptance is given as a rate instead of a length."""

    def change(log: dict[str, Any]) -> None:
        args = log["server_args"]["agg"]
        length = args.pop("spec-decode-acceptance-length")
        args["spec-decode-acceptance-rate"] = {"value": value, "line": length["line"]}

    return build(story()).each_log(change, "agentic /")


def four_tokens() -> Story:
    made = story().edited(RECIPE, "num-speculative-tokens: 5", "num-speculative-tokens: 4", of_old=True)
    return made.serving(lambda one: one.with_args(num_speculative_tokens=4))


GOOD: dict[str, Callable[[], Story | Editor]] = {
    "as it is": story,
    "the acceptance as a rate of five drafts": lambda: rate("0.522"),
    "online quantization that excludes the draft's layer": lambda: online('"model.layers.2.*"'),
    "online quantization that is off": lambda: argument("online_quant_config", "{}"),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_good_story_passes(name: str) -> None:
    assert_rows(GOOD[name](), EXPECTED)


BAD: dict[str, tuple[Callable[[], Story | Editor], dict[int, str], str]] = {
    "0 the AMD master belongs to another owner": (
        lambda: replace(
            story(),
            target={
                **story().files,
                ground.OWNERS: ground.CODEOWNERS + f"/{ground.AMD} @maintainer\n",
            },
        ),
        {0: "FAIL"},
        "needed: @maintainer",
    ),
    "6 no open-source engine came first": (
        lambda: story().edited(ground.AMD, OTHER, "", of_old=True),
        {6: "FAIL"},
        "before any open-source engine",
    ),
    "6 the open-source engine came first on another SKU": (
        lambda: story().edited(
            ground.AMD, OTHER, OTHER.replace("cluster:mi355x-amds", "cluster:mi300x-amd"), of_old=True
        ),
        {6: "FAIL"},
        "before any open-source engine",
    ),
    "6 and 2 the run pulled the old image": (
        lambda: replace(story(), image=OLD_IMAGE),
        {6: "FAIL", 2: "FAIL"},
        "the run pulled",
    ),
    "11 a rate of another length": (lambda: rate("0.6"), {11: "FAIL"}, "spec-decode-acceptance-rate=0.6"),
    "11 the value stands in the recipe": (
        lambda: story().edited(RECIPE, LINE, f"{LINE}        spec-decode-acceptance-length: 3.61\n", of_old=True),
        {11: "FAIL"},
        "hard-codes spec-decode-acceptance-length",
    ),
    "11 the curve has no value for four tokens": (four_tokens, {11: "FAIL"}, "no value for 4 draft tokens"),
    "13 online quantization reaches the draft": (
        lambda: online('"model.layers.0.*"'),
        {13: "FAIL"},
        "does not exclude the draft's",
    ),
    "13 only a part of the draft is excluded": (
        lambda: online('"model.layers.2.mlp.*"'),
        {13: "FAIL"},
        "does not exclude the draft's model.layers.2.eh_proj",
    ),
    "13 an external draft under online quantization": (
        external,
        {13: "FAIL"},
        "could not be verified",
    ),
    "13 the checkpoint holds no draft": (
        lambda: replace(
            story(),
            checkpoints=(replace(CHECKPOINT, tensors={"model.layers.0.mlp.gate_proj.weight": ("F8_E4M3", [64, 64])}),),
        ),
        {13: "FAIL"},
        "none of its tensors is a draft's",
    ),
    "7 agents are over for this model": (
        lambda: story().edited(
            ground.MODELS,
            "| `dsv4` | 2026-04-24 | Agentic coding |",
            "| `dsv4` | 2026-04-24 | Agentic coding (MTP only) |",
            of_old=True,
        ),
        {7: "FAIL"},
        "with MTP only, this has dspark",
    ),
    "1 the key is named in no entry": (
        lambda: replace(story(), head={ground.AMD: story().at_head(ground.AMD)}),
        {1: "FAIL", 2: "FAIL", 4: "WARN", 6: "FAIL", 9: "FAIL", 11: "FAIL", 13: "FAIL", 14: "WARN"},
        f"of {KEY} is affected and in no plan",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_one_change_turns_its_row(name: str) -> None:
    make, turned, words = BAD[name]
    assert_turned(story, make(), turned, words)
