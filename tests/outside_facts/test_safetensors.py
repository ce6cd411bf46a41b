"""Purpose: stored precision of drafts: standalone repositories and embedded heads."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from app.facts.safetensors import (
    UnreadableHeader,
    draft_layers,
    is_draft_tensor,
    missing_shards,
    read_config,
    read_header,
    shipped,
)


def header(**tensors: tuple[str, list[int]]) -> bytes:
    entries = {name.replace("__", "."): {"dtype": dtype, "shape": shape} for name, (dtype, shape) in tensors.items()}
    return json.dumps({"__metadata__": {"format": "pt"}, **entries}).encode()


CONFIG: dict[str, Any] = {"num_hidden_layers": 2, "num_nextn_predict_layers": 1, "torch_dtype": "bfloat16"}
SERVED = header(
    model__layers__0__mlp__weight=("U8", [4, 8]),
    model__layers__2__mlp__weight=("BF16", [4, 8]),
    model__layers__2__norm__weight=("BF16", [8]),
    model__layers__2__mlp__weight_scale=("F8_E4M3", [4]),
)


def test_the_whole_of_a_standalone_repository_is_the_draft() -> None:
    found = shipped(
        {"dtype": "bfloat16"}, {"m.safetensors": header(a__weight=("BF16", [3, 4]), b=("BF16", [5]))}, standalone=True
    )
    assert found.parameters == {"BF16": 17}
    assert (found.config_dtype, found.quantization, found.quantized, found.bits) == ("bfloat16", "", False, 16)
    assert found.modules == ("a",)
    assert str(found) == "17 BF16 parameters"


def test_an_embedded_head_is_the_layer_behind_the_hidden_ones() -> None:
    found = shipped(CONFIG, {"m": SERVED}, standalone=False)
    assert found.parameters == {"BF16": 40}
    assert found.tensors == 2
    assert not found.quantized


def test_a_checkpoint_without_a_draft_has_no_draft_tensors() -> None:
    assert shipped({"num_hidden_layers": 3}, {"m": SERVED}, standalone=False).tensors == 0


@pytest.mark.parametrize(
    ("name", "draft"),
    [
        pytest.param("mtp.layers.0.weight", True, id="an mtp prefix"),
        pytest.param("model.mtp.fc.weight", True, id="an mtp part"),
        pytest.param("nextn.eh_proj.weight", True, id="a nextn prefix"),
        pytest.param("language_model.model.layers.61.mlp.weight", True, id="the layer behind, below a prefix"),
        pytest.param("model.layers.6.mlp.weight", False, id="a hidden layer"),
        pytest.param("model.embed_tokens.weight", False, id="no layer"),
    ],
)
def test_draft_tensors_are_told_by_layer_or_prefix(name: str, draft: bool) -> None:
    assert is_draft_tensor(name, range(61, 62)) is draft


def test_layer_numbers_may_stand_in_the_text_config() -> None:
    assert draft_layers({"text_config": CONFIG}) == range(2, 3)
    assert draft_layers({}) == range(0)


def test_the_quantization_of_the_config_is_named() -> None:
    found = shipped(
        {"quantization_config": {"quant_method": "fp8"}}, {"m": header(a=("F8_E4M3", [4]))}, standalone=True
    )
    assert (found.quantization, found.quantized, found.bits) == ("fp8", True, 8)


def test_a_header_may_carry_its_length_in_front() -> None:
    raw = header(a=("BF16", [1]))
    assert read_header("s", struct.pack("<Q", len(raw)) + raw + b"weights") == read_header("s", raw)


@pytest.mark.parametrize(
    "content",
    [b"", b"nothing", b"[1]", b'{"a": 1}', struct.pack("<Q", 4) + b"{}"],
    ids=["empty", "text", "a list", "no dtype", "cut off"],
)
def test_a_broken_header_is_refused(content: bytes) -> None:
    if content.endswith(b"{}"):
        assert read_header("s", content) == {}
    else:
        with pytest.raises(UnreadableHeader):
            read_header("s", content)


def test_shards_without_a_header_are_named() -> None:
    index = json.dumps({"weight_map": {"model.layers.2.mlp.weight": "b", "model.layers.0.mlp.weight": "a"}}).encode()
    assert missing_shards(index, [], CONFIG, standalone=False) == ["b"]
    assert missing_shards(index, ["b"], CONFIG, standalone=True) == ["a"]
    with pytest.raises(UnreadableHeader):
        missing_shards(b"{", [], CONFIG, standalone=True)


def test_a_broken_config_is_refused() -> None:
    with pytest.raises(UnreadableHeader):
        read_config(b"[]")
    with pytest.raises(UnreadableHeader):
        read_config(b"{")
