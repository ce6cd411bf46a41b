"""Purpose: golden acceptance length: curve names, values of every curve and engine, and each refusal."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from app.target.golden import acceptance_length, curve_name, find_curve, injected, read_curve, shown
from app.target.recipe import Setting, Speculation
from app.target.source import FileLine, RejectedInput
from app.target.tree import Tree

CURVE = b"""# Source GitHub Actions run: https://github.com/SemiAnalysisAI/InferenceX/actions/runs/12
muse-spark-open-816b-a42b-nvfp4:
  thinking_on:
    1: 1.90
    7: 4.05
  thinking_off: {3: 3.00}
"""


def drafting(method: str, length: int | None = 3, draft: str | None = None, sampler: str | None = None) -> Speculation:
    return Speculation(method, length, draft, sampler, Setting(length, FileLine("r.yaml", 9)))


NAMES = [
    ("DFLASH keeps its name", "musespark", drafting("DFLASH"), "musespark_dflash"),
    ("EAGLE is MTP", "qwen3.5", drafting("eagle"), "qwen3.5_mtp"),
    ("NEXTN is MTP", "glm5.2", drafting("nextn"), "glm5.2_mtp"),
    ("EAGLE of MiniMax is EAGLE3", "minimaxm3", drafting("eagle"), "minimaxm3_eagle3"),
    ("EAGLE of Kimi-K2.5 is EAGLE3", "kimik2.5", drafting("eagle"), "kimik2.5_eagle3"),
    (
        "a GQA draft has a curve of its own",
        "minimaxm3",
        drafting("eagle3", 3, "x/MiniMax-M3-EAGLE3-Gqa"),
        "minimaxm3_eagle3_gqa",
    ),
    ("DSpark of DeepSeek", "dsv4", drafting("dspark"), "dsv4-pro-0813-dspark"),
    ("DSpark of another model", "dsv41flash", drafting("dspark"), "dsv41flash_dspark"),
    ("Kimi-K3 greedy", "kimik3", drafting("dspark", 7, None, "greedy"), "kimik3_dspark"),
    (
        "Kimi-K3 probabilistic",
        "kimik3",
        drafting("dspark", 7, None, "probabilistic"),
        "kimik3_dspark_probabilistic_sample_method_block_rejection_sample_method",
    ),
]


@pytest.mark.parametrize(("prefix", "speculation", "name"), [row[1:] for row in NAMES], ids=[row[0] for row in NAMES])
def test_the_curve_follows_from_model_and_method(prefix: str, speculation: Speculation, name: str) -> None:
    assert curve_name(prefix, speculation) == name


REFUSED_NAMES = [
    ("Kimi-K3 without a sampler", "kimik3", drafting("dspark"), "greedy or probabilistic"),
    ("Kimi-K3 with another sampler", "kimik3", drafting("dspark", 7, None, "top-k"), "greedy or probabilistic"),
    ("a method with a path in it", "dsv4", drafting("../mtp"), "a-z"),
]


@pytest.mark.parametrize(
    ("prefix", "speculation", "words"), [row[1:] for row in REFUSED_NAMES], ids=[row[0] for row in REFUSED_NAMES]
)
def test_a_curve_that_cannot_be_named_is_refused(prefix: str, speculation: Speculation, words: str) -> None:
    with pytest.raises(RejectedInput, match=words) as told:
        curve_name(prefix, speculation)
    assert told.value.problems[0].where == FileLine("r.yaml", 9)


def test_a_value_comes_with_its_line_and_the_source_run() -> None:
    curve = read_curve("c.yaml", CURVE, "abc")
    cell = acceptance_length(curve, "thinking_on", 7)
    assert (cell.value, str(cell.where), cell.where.sha) == (Decimal("4.05"), "c.yaml:5:5", "abc")
    assert curve.source_run == "https://github.com/SemiAnalysisAI/InferenceX/actions/runs/12"
    assert curve.model == "muse-spark-open-816b-a42b-nvfp4"


ABSENT = [
    ("a mode that was not measured", b"m:\n  thinking_on: {1: 1.5}\n", "thinking_off", 1, "no thinking_off"),
    ("a length beyond the curve", CURVE, "thinking_on", 8, "ends at 7"),
    ("a length between the cells", CURVE, "thinking_on", 3, "no value for 3"),
    ("no length at all", CURVE, "thinking_on", None, "not stated"),
    ("a length of 0", CURVE, "thinking_on", 0, "positive whole number"),
    ("a length that is true", CURVE, "thinking_on", True, "positive whole number"),
]


@pytest.mark.parametrize(
    ("content", "mode", "length", "words"), [row[1:] for row in ABSENT], ids=[row[0] for row in ABSENT]
)
def test_a_value_that_is_not_there_is_refused(content: bytes, mode: str, length: int | None, words: str) -> None:
    with pytest.raises(RejectedInput, match=words):
        acceptance_length(read_curve("c.yaml", content), mode, length)


BROKEN = [
    ("two models", b"a:\n  thinking_on: {1: 1.5}\nb:\n  thinking_on: {1: 1.5}\n", "exactly one"),
    ("no model", b"{}\n", "exactly one"),
    ("an unknown mode", b"a:\n  thinking: {1: 1.5}\n", "thinking_on and thinking_off"),
    ("a length of 0", b"a:\n  thinking_on: {0: 1.0}\n", "positive whole number"),
    ("a length that is a word", b"a:\n  thinking_on: {one: 1.0}\n", "positive whole number"),
    ("a value above length + 1", b"a:\n  thinking_on: {1: 2.01}\n", "between 1 and 2"),
    ("a value below 1", b"a:\n  thinking_on: {1: 0.99}\n", "between 1 and 2"),
    ("a value that is not finite", b"a:\n  thinking_on: {1: .nan}\n", "finite"),
    ("a value that is a word", b"a:\n  thinking_on: {1: much}\n", "finite"),
    ("a value that is true", b"a:\n  thinking_on: {1: true}\n", "finite"),
    ("a length given twice", b"a:\n  thinking_on: {1: 1.5, 1: 1.6}\n", "once"),
]


@pytest.mark.parametrize(("content", "words"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_a_broken_curve_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(RejectedInput, match=words) as told:
        read_curve("c.yaml", content)
    assert told.value.problems[0].where.path == "c.yaml"


def test_a_missing_curve_is_refused_with_the_file_that_it_needs() -> None:
    tree = Tree("abc", {"inferencex-e2e/x": b""}, complete=True)
    with pytest.raises(RejectedInput, match=r"infx/golden_al_distribution/musespark_dflash\.yaml"):
        find_curve(tree, "musespark", drafting("dflash", 7))


INJECTED = [
    (
        "sglang",
        {
            "SGLANG_SIMULATE_ACC_LEN": "4.05",
            "SGLANG_SIMULATE_ACC_METHOD": "match-expected",
            "SGLANG_SIMULATE_ACC_TOKEN_MODE": "real-draft-token",
        },
    ),
    ("vllm", {"rejection_sample_method": "synthetic", "synthetic_acceptance_length": "4.05"}),
    ("trtllm", {"TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS": "3.05"}),
    ("atom", {"spec-decode-acceptance-length": "4.05"}),
    ("tilert", {"TILERT_SIMULATE_ACC_LEN": "4.05", "TILERT_SIMULATE_ACC_METHOD": "match-expected"}),
]


@pytest.mark.parametrize(("engine", "expected"), INJECTED, ids=[row[0] for row in INJECTED])
def test_what_is_injected_by_engine(engine: str, expected: dict[str, str]) -> None:
    assert injected(engine, Decimal("4.05"), 7) == expected


def test_an_impossible_value_or_engine_is_not_injected() -> None:
    with pytest.raises(ValueError, match="impossible"):
        injected("sglang", Decimal("4.05"), 3)
    with pytest.raises(ValueError, match="no engine"):
        injected("other", Decimal(2), 3)


SHOWN = [("3.00", "3"), ("2.50", "2.5"), ("4.05", "4.05"), ("1", "1")]


@pytest.mark.parametrize(("value", "text"), SHOWN)
def test_values_are_shown_as_logs_print_them(value: str, text: str) -> None:
    assert shown(Decimal(value)) == text


SPOTS = [
    ("qwen3.5", drafting("eagle", 3), "3.39"),
    ("qwen3.5", drafting("mtp", 5), "4.41"),
    ("qwen3.5", drafting("nextn", 6), "4.80"),
    ("glm5.2", drafting("mtp", 3), "2.99"),
    ("glm5.2", drafting("mtp", 8), "4.06"),
    ("dsv4", drafting("mtp", 3), "2.49"),
    ("dsv4", drafting("dspark", 7), "3.73"),
    ("kimik3", drafting("dspark", 7, None, "probabilistic"), "3.84"),
    ("kimik3", drafting("dspark", 7, None, "greedy"), "3.78"),
    ("minimaxm3", drafting("eagle3", 3, "Inferact/MiniMax-M3-EAGLE3-GQA"), "2.78"),
    ("minimaxm3", drafting("eagle3", 3, "Inferact/MiniMax-M3-EAGLE3"), "2.83"),
    ("kimik2.5", drafting("eagle", 2), "2.43"),
]


@pytest.mark.parametrize(
    ("prefix", "speculation", "value"), SPOTS, ids=[f"{row[0]} {row[1].method} {row[1].length}" for row in SPOTS]
)
def test_the_committed_curves_give_their_values(
    real_files: Path, prefix: str, speculation: Speculation, value: str
) -> None:
    tree = Tree(
        "",
        {
            f"golden_al_distribution/{file.name}": file.read_bytes()
            for file in (real_files / "golden_al_distribution").iterdir()
        },
        complete=True,
    )
    assert acceptance_length(find_curve(tree, prefix, speculation), "thinking_on", speculation.length).value == Decimal(
        value
    )


def test_every_committed_curve_is_read_whole(real_files: Path) -> None:
    curves = [
        read_curve(file.name, file.read_bytes())
        for file in sorted((real_files / "golden_al_distribution").glob("*.yaml"))
    ]
    assert len(curves) == 9
    assert all(set(curve.cells["thinking_on"]) == set(range(1, 9)) and curve.source_run for curve in curves)
