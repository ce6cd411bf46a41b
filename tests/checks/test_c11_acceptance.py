"""Purpose: check 11, rule by rule: injected values of October, pins of August, every engine's way to say it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from app.facts.repository import GoldenCurves
from app.facts.sweep import JobLogs
from tests.checks.reference_facts import CURVE, MASTER, RECIPE, Story

FIXED = "qwen3.5-fp8-b300-vllm-mtp"
FIXED_RECIPE = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/qwen3.5/vllm/b300-fp8-mtp/8k1k.yaml"
TRT = "qwen3.5-fp4-gb300-dynamo-trt-agentic-mtp-disagg"
TRT_RECIPE = "inferencex-e2e/benchmarks/multi_node/srt-slurm-recipes/qwen3.5/trtllm/gb300-fp4/agentx/disagg.yaml"
TRT_JOB = "multi-node agentic / p5.000 | qwen3.5 fp4 cluster:gb300-nv dyn-trt 1P (TP4/EP4) x 2D (TP2/EP2) mtp c52"
VLLM = "minimaxm3-fp4-gb200-vllm-agentic-eagle3"
VLLM_RECIPE = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/minimaxm3/vllm/gb200-fp4-mtp/agentic.yaml"
VLLM_JOB = "agentic / p4.000 | minimaxm3 fp4 cluster:gb200-nv vllm TP4/EP4 mtp dram KV offload native c{}"
KIMI = "kimik3-fp4-gb300-dynamo-vllm-agentic-dspark-disagg"
KIMI_RECIPE = "inferencex-e2e/benchmarks/multi_node/srt-slurm-recipes/kimik3/vllm/gb300-fp4/agentx/disagg.yaml"
ATOM = "dsv4-fp4-mi355x-atom-agentic-mtp"
ATOM_JOB = "agentic / p3.500 | dsv4 fp4 cluster:mi355x-amds atom TP8 mtp c{}"
LENGTH = "SGLANG_SIMULATE_ACC_LEN"


def env(job: str, **values: str | None) -> Story:
    """The reference story with other variables in one job's log; None takes one away."""
    story = Story()
    for log in [log for log in story.logs if log.job_name.endswith(job)]:
        kept = {name: value for name, value in log.env.items() if values.get(name, "") is not None}
        for name, value in values.items():
            if value is not None:
                kept[name] = log.env[name].model_copy(update={"value": value})
        story.log(log.job_name, env=kept)
    return story


def trt(value: str | None) -> Story:
    story = Story.of(TRT)
    variables = {} if value is None else {"TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS": value}
    return story.add_log(TRT_JOB, env=variables, server_args={"decode": {"max_batch_size": "52"}})


def vllm(**config: Any) -> Story:
    """Logs of both points with this speculative-config."""
    story = Story.of(VLLM)
    text = json.dumps({"method": "eagle3", "num_speculative_tokens": 3, **config})
    for concurrency in (5, 15):
        story.add_log(VLLM_JOB.format(concurrency), server_args={"agg": {"speculative-config": text}})
    return story


def atom(**flags: str) -> Story:
    story = Story.of(ATOM)
    for concurrency in (2, 7, 14):
        story.add_log(ATOM_JOB.format(concurrency), server_args={"agg": {"method": "dspark", **flags}})
    return story


def fixed(old: str = "", new: str = "", **log: Any) -> Story:
    story = Story.of(FIXED)
    if old:
        story.both(FIXED_RECIPE, old, new)
    job = "single-node 8k1k / p3.000 | qwen3.5 fp8 cluster:b300-dsxe vllm TP4 mtp c4"
    return story.add_log(job, **log) if log else story


def in_base(line: str) -> Story:
    """A line in the role's environment of the musespark recipe."""
    return Story().edit(RECIPE, "        PYTHONNOUSERSITE: '1'\n", f"        PYTHONNOUSERSITE: '1'\n        {line}\n")


def eval_log(**values: str) -> Story:
    story = Story()
    (log,) = [log for log in story.logs if "eval-only" in log.job_name]
    line = log.env["CONC"]
    more = {name: line.model_copy(update={"value": value}) for name, value in values.items()}
    return story.log(log.job_name, env={**log.env, **more})


def zero_draft() -> Story:
    """A variant that keeps its label and drafts nothing."""
    story = Story().edit(RECIPE, "speculative-num-draft-tokens: 8", "speculative-num-draft-tokens: 1")
    return story.edit(RECIPE, "      AGENTIC_WARMUP", "      SPEC_DECODING: mtp\n      AGENTIC_WARMUP")


def without_curve(story: Story | None = None) -> Story:
    story = story or Story()
    del story.head[CURVE], story.base[CURVE]
    return story


def signed(story: Story, line: str) -> Story:
    story.sign_off = story.sign_off.replace("- Pareto:", f"- {line}\n- Pareto:")
    return story


@pytest.mark.parametrize(
    ("make", "status", "reason"),
    [
        pytest.param(
            Story,
            "PASS",
            "DFLASH with 8 draft tokens = 7 speculative; musespark_dflash thinking_on/7 = 4.05, "
            "injected in all 11 agentic job logs",
            id="11.injected: the reference story (11.curve, 11.length)",
        ),
        pytest.param(
            lambda: env("c10", **{LENGTH: "4.06"}),
            "FAIL",
            "the c10 job ran with SGLANG_SIMULATE_ACC_LEN=4.06; musespark_dflash thinking_on/7 = 4.05",
            id="11.wrong-value: in one log",
        ),
        pytest.param(
            lambda: env("c10", SGLANG_SIMULATE_ACC_METHOD="random"),
            "FAIL",
            "SGLANG_SIMULATE_ACC_METHOD=random",
            id="11.wrong-value: another method",
        ),
        pytest.param(lambda: env("c10", **{LENGTH: "4.0500"}), "PASS", "4.05", id="11.rounding: trailing zeros"),
        pytest.param(
            lambda: env("c4", **{LENGTH: None}),
            "FAIL",
            "the c4 job drafted with real acceptance",
            id="11.real-acceptance: no injected value in the log",
        ),
        pytest.param(
            lambda: in_base("SGLANG_SIMULATE_ACC_LEN: '4.05'"),
            "FAIL",
            "hard-codes SGLANG_SIMULATE_ACC_LEN=4.05",
            id="11.hard-coded: the right value in the recipe",
        ),
        pytest.param(
            lambda: in_base("SYNTHETIC_ACCEPTANCE: 'true'"),
            "FAIL",
            "hard-codes SYNTHETIC_ACCEPTANCE=true",
            id="11.hard-coded: a switch in the recipe",
        ),
        pytest.param(
            lambda: Story.of(TRT).both(
                MASTER,
                "decode: { num-worker: 2, ",
                'decode: { additional-settings: ["SYNTHETIC_ACCEPTANCE_LENGTH=3.39"], num-worker: 2, ',
            ),
            "FAIL",
            "hard-codes SYNTHETIC_ACCEPTANCE_LENGTH=3.39",
            id="11.hard-coded: in the master row",
        ),
        pytest.param(
            lambda: Story.of(VLLM).both(
                VLLM_RECIPE,
                '"num_speculative_tokens":3',
                '"num_speculative_tokens":3,"rejection_sample_method":"synthetic","synthetic_acceptance_length":2.78',
            ),
            "FAIL",
            "hard-codes synthetic_acceptance_length=2.78",
            id="11.hard-coded: in the vLLM JSON",
        ),
        pytest.param(
            lambda: eval_log(**{LENGTH: "4.05"}),
            "FAIL",
            "the eval job of c32 ran with simulated acceptance",
            id="11.eval-real: injected into an eval",
        ),
        pytest.param(
            lambda: Story().edit(RECIPE, "speculative-num-draft-tokens: 8", "speculative-num-draft-tokens: 60"),
            "FAIL",
            "The curve has no value for 59 draft tokens",
            id="11.unmeasured: a longer draft",
        ),
        pytest.param(
            lambda: env("c10", THINKING_MODE="thinking_none"),
            "FAIL",
            "The curve has no thinking_none",
            id="11.thinking: the job's own mode decides",
        ),
        pytest.param(
            without_curve,
            "FAIL",
            "there is no committed golden curve musespark_dflash",
            id="11.no-curve: nobody states the source",
        ),
        pytest.param(
            lambda: signed(without_curve(), "Golden AL 4.05 measured in run 1 of the vendor."),
            "PASS",
            "the sign-off (line 29) states the source of the value",
            id="11.no-curve: the sign-off states it",
        ),
        pytest.param(
            lambda: Story().lose(JobLogs), "FAIL", "could not be verified: the job log of c1", id="11.no-log: no logs"
        ),
        pytest.param(
            lambda: Story().log("c10", problem="SGLANG_SIMULATE_ACC_LEN has two values, in lines 3 and 9"),
            "FAIL",
            "could not be verified: the job log of c10 (SGLANG_SIMULATE_ACC_LEN has two values",
            id="11.no-log: a log that contradicts itself",
        ),
        pytest.param(
            lambda: env("c4", **{LENGTH: None}).log("c4", missing=("server arguments",)),
            "FAIL",
            "could not be verified: the injected value of c4",
            id="11.no-log: a log that is cut off",
        ),
        pytest.param(
            lambda: Story().lose(GoldenCurves),
            "FAIL",
            "could not be verified: golden acceptance-length curves",
            id="11.curve: no curves gathered",
        ),
        pytest.param(
            lambda: trt("2.39"),
            "PASS",
            "MTP with 3 speculative tokens; qwen3.5_mtp thinking_on/3 = 3.39",
            id="11.minus-one: TensorRT-LLM without the bonus token",
        ),
        pytest.param(
            lambda: trt("3.39"), "FAIL", "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS=3.39", id="11.minus-one: forgotten"
        ),
        pytest.param(
            lambda: trt(None), "FAIL", "the c52 job drafted with real acceptance", id="11.real-acceptance: TensorRT-LLM"
        ),
        pytest.param(
            lambda: vllm(rejection_sample_method="synthetic", synthetic_acceptance_length=2.78),
            "PASS",
            "minimaxm3_eagle3_gqa thinking_on/3",
            id="11.curve: the GQA draft's curve in the vLLM JSON",
        ),
        pytest.param(
            lambda: vllm(rejection_sample_method="synthetic", synthetic_acceptance_length=2.51),
            "FAIL",
            "synthetic_acceptance_length=2.51",
            id="11.wrong-value: the other EAGLE3 curve's",
        ),
        pytest.param(
            vllm, "FAIL", "drafted with real acceptance", id="11.real-acceptance: computed but never passed to vLLM"
        ),
        pytest.param(
            lambda: Story.of(KIMI).both(KIMI_RECIPE, ',"draft_sample_method":"probabilistic"', ""),
            "FAIL",
            "needs draft_sample_method greedy or probabilistic",
            id="11.curve: Kimi-K3 without its sampler",
        ),
        pytest.param(
            lambda: atom(**{"spec-decode-acceptance-length": "3.61"}),
            "PASS",
            "dsv4-pro-0813-dspark thinking_on/5 = 3.61",
            id="11.injected: ATOM's argument",
        ),
        pytest.param(
            lambda: atom(**{"spec-decode-acceptance-rate": "0.522"}),
            "PASS",
            "dsv4-pro-0813-dspark",
            id="11.injected: ATOM's rate",
        ),
        pytest.param(
            lambda: atom(**{"spec-decode-acceptance-rate": "0.6"}),
            "FAIL",
            "spec-decode-acceptance-rate=0.6",
            id="11.wrong-value: ATOM's rate",
        ),
        pytest.param(
            fixed,
            "N/A",
            "no agentic speculative point is affected, and nothing simulates acceptance",
            id="11.fixed-simulated: real acceptance",
        ),
        pytest.param(
            lambda: fixed(
                '"num_speculative_tokens":2', '"num_speculative_tokens":2,"rejection_sample_method":"synthetic"'
            ),
            "FAIL",
            "is not agentic and simulates acceptance: rejection_sample_method=synthetic",
            id="11.fixed-simulated: in the recipe",
        ),
        pytest.param(
            lambda: fixed(env={LENGTH: "2.8"}),
            "FAIL",
            "the 8k1k c4 job is not agentic and simulated acceptance",
            id="11.fixed-simulated: only in the log",
        ),
        pytest.param(
            lambda: Story.of("qwen3.5-fp8-mi300x-vllm"),
            "N/A",
            "no affected point uses speculative decoding",
            id="11.zero: nothing drafts",
        ),
        pytest.param(
            zero_draft, "N/A", "the agentic points draft nothing in effect", id="11.zero: a draft of length 0"
        ),
    ],
)
def test_injected(make: Callable[[], Story], status: str, reason: str) -> None:
    row = make().row(11)
    assert row.status.value == status, row.reason
    assert reason in row.reason, row.reason


def test_11_edited_curve_the_target_decides_and_the_edit_is_a_note() -> None:
    """11.edited-curve"""
    row = Story().edit(CURVE, "7: 4.05", "7: 4.5").row(11)
    assert row.status.value == "PASS"
    assert "edits the golden curve musespark_dflash" in row.findings[0].found


def test_11_edited_curve_a_run_with_the_edited_value_fails() -> None:
    story = env("c10", **{LENGTH: "4.5"}).edit(CURVE, "7: 4.05", "7: 4.5")
    assert story.row(11).status.value == "FAIL"


def test_11_new_curve_counts_and_is_named() -> None:
    """11.new-curve"""
    story = Story()
    del story.base[CURVE]
    row = story.row(11)
    assert row.status.value == "PASS"
    assert "the curve musespark_dflash is new in this pull request" in row.findings[0].found


PINNED = "inferencex-e2e/benchmarks/multi_node/srt-slurm-recipes/qwen3.5/trtllm/gb300-fp4/agentx/pinned-eval.yaml"


def pinned(role: str = "", prefill: str = "", settings: str = "", evaluation: str = "") -> Story:
    """The Dynamo TensorRT-LLM key under August's rules: values in role env, in the master row, in an eval recipe."""
    story = Story.of(TRT).with_policy(acceptance="pinned")
    original = story.base[TRT_RECIPE].decode()
    if role:
        story.both(
            TRT_RECIPE, "    decode:\n      nodes: 1\n", f"    decode:\n      env: {{ {role} }}\n      nodes: 1\n"
        )
    if prefill:
        story.both(
            TRT_RECIPE, "    prefill:\n      nodes: 1\n", f"    prefill:\n      env: {{ {prefill} }}\n      nodes: 1\n"
        )
    if settings:
        block = "prefill: { num-worker: 1, tp: 4, ep: 4, dp-attn: false"
        story.both(MASTER, block, f'{block}, additional-settings: ["{settings}"]')
    if evaluation:
        line = f"srt-recipe: {TRT_RECIPE.removeprefix('inferencex-e2e/')}:override_1p2d"
        other = line.replace("disagg.yaml", "pinned-eval.yaml").replace("srt-recipe", "eval-srt-recipe")
        story.both(MASTER, line, f"{line}\n        {other}")
        for tree in (story.base, story.head):
            tree[PINNED] = original.replace(
                "      workers: 2\n", f"      workers: 2\n      env: {{ {evaluation} }}\n"
            ).encode()
    return story


FORCE = "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS"


@pytest.mark.parametrize(
    ("make", "status", "reason"),
    [
        pytest.param(
            lambda: pinned(f"{FORCE}: '2.39'"),
            "PASS",
            "qwen3.5_mtp thinking_on/3 = 3.39, pinned in all 1 points",
            id="11.pinned: in the role's environment",
        ),
        pytest.param(
            lambda: pinned(f"{FORCE}: '2.49'"),
            "FAIL",
            "pins TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS=2.49, that is 3.49",
            id="11.pinned: another value",
        ),
        pytest.param(
            pinned,
            "FAIL",
            "drafts with real acceptance: nothing pins qwen3.5_mtp thinking_on/3 = 3.39",
            id="11.real-acceptance: nothing pinned",
        ),
        pytest.param(
            lambda: pinned(settings="SYNTHETIC_ACCEPTANCE_LENGTH=3.39"),
            "PASS",
            "pinned in all 1 points",
            id="11.pinned-sources: the prefill worker's additional settings",
        ),
        pytest.param(
            lambda: pinned(settings="SYNTHETIC_ACCEPTANCE_LENGTH=2.99"),
            "FAIL",
            "pins SYNTHETIC_ACCEPTANCE_LENGTH=2.99",
            id="11.pinned-sources: a wrong one in the master row",
        ),
        pytest.param(
            lambda: pinned(f"{FORCE}: '2.39'", settings="SYNTHETIC_ACCEPTANCE_LENGTH=2.99"),
            "FAIL",
            "pins SYNTHETIC_ACCEPTANCE_LENGTH=2.99",
            id="11.pins-differ: recipe and master row",
        ),
        pytest.param(
            lambda: pinned(f"{FORCE}: '2.39'", prefill=f"{FORCE}: '9'"),
            "PASS",
            "pinned in all 1 points",
            id="11.pinned: the decoding role decides",
        ),
        pytest.param(
            lambda: pinned(f"{FORCE}: '2.39'", evaluation=f"{FORCE}: '2.39'"),
            "FAIL",
            "the eval recipe of qwen3.5-fp4-gb300-dynamo-trt-agentic-mtp-disagg pins",
            id="11.eval-config: a pinned eval recipe",
        ),
    ],
)
def test_pinned(make: Callable[[], Story], status: str, reason: str) -> None:
    row = make().row(11)
    assert row.status.value == status, row.reason
    assert reason in row.reason, row.reason
