"""Purpose: method and draft length for every engine, contradictions, and pinned acceptance wherever it can stand."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from recipe_trees import MULTI, SINGLE, august, tree_of

from app.target.recipe import EffectiveRecipe, Speculation
from app.target.recipes import read_recipe
from app.target.source import FileLine, RejectedInput
from app.target.speculation import pinned_acceptance, pinned_by_row, speculation_of


def recipe(engine: str, args: dict[str, Any], env: dict[str, str] | None = None, extra: str = "") -> EffectiveRecipe:
    import json

    role = {"args": args, "env": env or {}}
    text = f"schema: 2\nengine: {engine}\nroles: {json.dumps({'agg': role})}\n{extra}"
    return read_recipe(tree_of(recipe=text), SINGLE)[0]


def sglang(algorithm: str, **flags: int) -> dict[str, Any]:
    return {"speculative-algorithm": algorithm} | {
        f"speculative-{name.replace('_', '-')}": n for name, n in flags.items()
    }


METHODS = [
    (
        "sglang EAGLE counts steps, not draft tokens",
        "sglang",
        sglang("EAGLE", num_steps=3, num_draft_tokens=4),
        ("eagle", 3),
    ),
    ("sglang NEXTN counts steps", "sglang", sglang("NEXTN", num_steps=2), ("nextn", 2)),
    ("sglang DSPARK has its block size", "sglang", sglang("DSPARK", dspark_block_size=5, num_steps=1), ("dspark", 5)),
    ("sglang DFLASH counts one less than draft tokens", "sglang", sglang("DFLASH", num_draft_tokens=8), ("dflash", 7)),
    (
        "the short spelling of the algorithm",
        "sglang",
        {"speculative-algo": "EAGLE", "speculative-num-steps": 1},
        ("eagle", 1),
    ),
    ("vllm JSON text", "vllm", {"speculative-config": '{"method":"mtp","num_speculative_tokens":2}'}, ("mtp", 2)),
    ("vllm mapping", "vllm", {"speculative-config": {"method": "EAGLE3", "num_speculative_tokens": 3}}, ("eagle3", 3)),
    (
        "trtllm max_draft_len",
        "trtllm",
        {"speculative_config": {"decoding_type": "MTP", "max_draft_len": 4}},
        ("mtp", 4),
    ),
    (
        "trtllm layers alone",
        "trtllm",
        {"speculative_config": {"decoding_type": "MTP", "num_nextn_predict_layers": 3}},
        ("mtp", 3),
    ),
    (
        "trtllm max_draft_len over layers",
        "trtllm",
        {"speculative_config": {"decoding_type": "MTP", "max_draft_len": 2, "num_nextn_predict_layers": 3}},
        ("mtp", 2),
    ),
    ("atom", "atom", {"method": "mtp", "num-speculative-tokens": 3}, ("mtp", 3)),
    ("tilert with its switch", "tilert", {"with-mtp": True, "num-mtp": 2}, ("mtp", 2)),
    ("tilert without its switch", "tilert", {"num-mtp": 2}, None),
    ("no speculative flags", "sglang", {"tp-size": 8}, None),
    ("a length of 0 drafts nothing", "sglang", sglang("EAGLE", num_steps=0), None),
    ("a method without a length", "sglang", sglang("EAGLE"), ("eagle", None)),
    ("an engine that drafts in no known way", "other", {"method": "mtp"}, None),
]


@pytest.mark.parametrize(("engine", "args", "expected"), [row[1:] for row in METHODS], ids=[row[0] for row in METHODS])
def test_method_and_length_by_engine(
    engine: str, args: dict[str, Any], expected: tuple[str, int | None] | None
) -> None:
    found = speculation_of(recipe(engine, args))
    assert (None if found is None else (found.method, found.length)) == expected


def test_draft_model_and_sampler_are_kept_and_the_deciding_line_is_named() -> None:
    config = '{"method":"dspark","model":"org/draft","num_speculative_tokens":7,"draft_sample_method":"greedy"}'
    found = speculation_of(recipe("vllm", {"speculative-config": config}))
    assert isinstance(found, Speculation)
    assert (found.draft_model, found.draft_sample_method, found.decided_by.where.line) == ("org/draft", "greedy", 3)


def test_atom_dspark_samples_with_probabilities() -> None:
    found = speculation_of(recipe("atom", {"method": "dspark", "num-speculative-tokens": 7}))
    assert found is not None
    assert found.draft_sample_method == "probabilistic"


REFUSED = [
    ("a length that is a word", "sglang", sglang("EAGLE") | {"speculative-num-steps": "many"}, "whole number"),
    ("a length that is true", "sglang", sglang("EAGLE") | {"speculative-num-steps": True}, "whole number"),
    ("a negative length", "sglang", sglang("EAGLE", num_steps=-1), "whole number"),
    ("a length with a fraction", "atom", {"method": "mtp", "num-speculative-tokens": 1.5}, "whole number"),
    ("vllm JSON that is broken", "vllm", {"speculative-config": "{method"}, "must be JSON"),
    ("vllm JSON that is a list", "vllm", {"speculative-config": "[1]"}, "must be an object"),
    ("vllm without method or model", "vllm", {"speculative-config": "{}"}, "needs a method"),
    ("trtllm without a decoding type", "trtllm", {"speculative_config": {"max_draft_len": 3}}, "decoding_type"),
]


@pytest.mark.parametrize(("engine", "args", "words"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_settings_that_cannot_be_meant_are_refused_with_their_line(
    engine: str, args: dict[str, Any], words: str
) -> None:
    with pytest.raises(RejectedInput) as told:
        speculation_of(recipe(engine, args))
    assert words in str(told.value)
    assert told.value.problems[0].where.line == 3


def test_conflicting_algorithm_flags_are_refused() -> None:
    with pytest.raises(RejectedInput, match="set twice"):
        recipe("sglang", {"speculative-algo": "EAGLE", "speculative-algorithm": "NEXTN"})


DISAGGREGATED = """
resources: {gpus_per_node: 8}
backend:
  type: sglang
  prefill_environment: {SGLANG_SIMULATE_ACC_LEN: '2.5'}
  decode_environment: {SGLANG_SIMULATE_ACC_LEN: '2.99'}
  sglang_config:
    prefill: {speculative-algorithm: EAGLE, speculative-num-steps: 1}
    decode: {speculative-algorithm: EAGLE, speculative-num-steps: 3}
"""


def test_the_decode_role_decides_and_each_role_can_be_asked() -> None:
    (found,) = read_recipe(august(DISAGGREGATED), MULTI)
    assert speculation_of(found).length == 3  # type: ignore[union-attr]
    assert speculation_of(found, "prefill").length == 1  # type: ignore[union-attr]
    assert speculation_of(found, "agg") is None
    pinned = [(item.role, str(item.value), item.where.line) for item in pinned_acceptance(found)]
    assert pinned == [("prefill", "2.5", 5), ("decode", "2.99", 6)]


PINNED = [
    ("sglang env", "sglang", {}, {"SGLANG_SIMULATE_ACC_LEN": "3.39"}, "", ("agg", Decimal("3.39"))),
    (
        "trtllm env without the bonus token",
        "trtllm",
        {},
        {"TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS": "1.49"},
        "",
        ("agg", Decimal("2.49")),
    ),
    (
        "vllm JSON",
        "vllm",
        {"speculative-config": '{"method":"mtp","num_speculative_tokens":2,"synthetic_acceptance_length":2.51}'},
        {},
        "",
        ("agg", Decimal("2.51")),
    ),
    ("atom argument", "atom", {"spec-decode-acceptance-length": 4.04}, {}, "", ("agg", Decimal("4.04"))),
    ("tilert env", "tilert", {}, {"TILERT_SIMULATE_ACC_LEN": "2"}, "", ("agg", Decimal(2))),
    ("recipe-wide env", "sglang", {}, {}, "environment: {SGLANG_SIMULATE_ACC_LEN: '3'}\n", ("", Decimal(3))),
    ("client env", "vllm", {}, {}, "benchmark: {env: {SYNTHETIC_ACCEPTANCE_LENGTH: '2.7'}}\n", ("", Decimal("2.7"))),
]


@pytest.mark.parametrize(
    ("engine", "args", "env", "extra", "expected"), [row[1:] for row in PINNED], ids=[row[0] for row in PINNED]
)
def test_pinned_acceptance_is_found_wherever_it_stands(
    engine: str, args: dict[str, Any], env: dict[str, str], extra: str, expected: tuple[str, Decimal]
) -> None:
    (found,) = pinned_acceptance(recipe(engine, args, env, extra))
    assert (found.role, found.acceptance_length) == expected


def test_a_pinned_value_that_is_no_number_is_refused() -> None:
    with pytest.raises(RejectedInput, match="must be a number"):
        pinned_acceptance(recipe("sglang", {}, {"SGLANG_SIMULATE_ACC_LEN": "golden"}))


def test_the_master_may_pin_in_prefill_decode_and_worker_settings() -> None:
    row = {
        "prefill": {"additional-settings": ["SYNTHETIC_ACCEPTANCE=true", "SYNTHETIC_ACCEPTANCE_LENGTH=3.84"]},
        "worker": {"additional-settings": ["SGLANG_SIMULATE_ACC_LEN=2.99"]},
    }
    found = pinned_by_row(row, "vllm", FileLine("configs/nvidia-master.yaml", 12))
    assert [(item.role, str(item.value), item.where.line) for item in found] == [
        ("prefill", "3.84", 12),
        ("worker", "2.99", 12),
    ]
