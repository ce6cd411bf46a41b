"""Checkpoint headers that tell no precision are missing evidence, never a draft that ships as it should."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.facts.safetensors import UnreadableHeader, is_draft_tensor, missing_shards, read_header
from tests.support.bundles import good


@pytest.mark.parametrize("dtype", [None, "", 0, {}, [], "bf16", "BF16</details>", "\u202eBF16"])
def test_a_tensor_needs_a_dtype(dtype: Any):
    with pytest.raises(UnreadableHeader, match="without a dtype"):
        read_header("a.safetensors", json.dumps({"a": {"dtype": dtype, "shape": [2]}}).encode())


@pytest.mark.parametrize("shape", [None, "", 4, {}, [-1], [True], [1.5], ["2"], [[2]]])
def test_a_tensor_needs_a_shape(shape: Any):
    with pytest.raises(UnreadableHeader, match="without a shape"):
        read_header("a.safetensors", json.dumps({"a": {"dtype": "BF16", "shape": shape}}).encode())


@pytest.mark.parametrize("content", [b"[]", b"{}", b'{"weight_map": 1.5}', b'{"weight_map": []}', b"[" * 100_000])
def test_an_index_without_a_map_of_shards_is_unreadable(content: bytes):
    with pytest.raises(UnreadableHeader):
        missing_shards(content, ["a"], {}, standalone=True)


def test_a_layer_number_of_many_digits_is_no_draft_layer():
    assert not is_draft_tensor(f"model.layers.{'9' * 5000}.weight", range(2, 3))


def test_check_13_says_that_the_precision_could_not_be_verified():
    editor = good()
    with editor.outside_text("checkpoints", 0, "model.safetensors.index.json") as holder:
        holder[0] = json.dumps({"weight_map": 1.5})
    assert editor.rows()[13][1].startswith("could not be verified: the draft checkpoint")
    assert not editor.verdict().internal_errors
