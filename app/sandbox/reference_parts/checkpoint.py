"""Purpose: the draft checkpoint of the reference story as its host serves it: config, index, shard headers.

Invariants: the tensors of both shards are BF16 and hold exactly PARAMETERS parameters. A shard's bytes end after its
header: nobody reads weights, and the host tells the whole size in the header's offsets.
"""

from __future__ import annotations

import json
import struct
from math import prod
from typing import Any

PARAMETERS = 4_887_479_552
HIDDEN, LAYERS, HEADS, KV_HEADS, HEAD, INNER = 6144, 5, 64, 8, 128, 28_672
SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
FIRST = ("fc.", "hidden_norm.", "layers.0.", "layers.1.", "layers.2.")
BYTES = 2


def tensors() -> dict[str, list[int]]:
    """Tensor name to shape, in file order."""
    named: dict[str, list[int]] = {"fc.weight": [HIDDEN, 5 * HIDDEN], "hidden_norm.weight": [HIDDEN]}
    for layer in range(LAYERS):
        at = f"layers.{layer}"
        named |= {
            f"{at}.input_layernorm.weight": [HIDDEN],
            f"{at}.self_attn.q_proj.weight": [HEADS * HEAD, HIDDEN],
            f"{at}.self_attn.k_proj.weight": [KV_HEADS * HEAD, HIDDEN],
            f"{at}.self_attn.v_proj.weight": [KV_HEADS * HEAD, HIDDEN],
            f"{at}.self_attn.o_proj.weight": [HIDDEN, HEADS * HEAD],
            f"{at}.self_attn.q_norm.weight": [HEAD],
            f"{at}.self_attn.k_norm.weight": [HEAD],
            f"{at}.post_attention_layernorm.weight": [HIDDEN],
            f"{at}.mlp.gate_proj.weight": [INNER, HIDDEN],
            f"{at}.mlp.up_proj.weight": [INNER, HIDDEN],
            f"{at}.mlp.down_proj.weight": [HIDDEN, INNER],
        }
    named["norm.weight"] = [HIDDEN]
    rest = PARAMETERS - sum(prod(shape) for shape in named.values())
    return named | {"lm_head.weight": [rest // HIDDEN, HIDDEN]}


def config() -> dict[str, Any]:
    """config.json: stored as bfloat16, nothing quantized."""
    return {
        "architectures": ["MuseSparkDFlash2DraftModel"],
        "model_type": "muse_spark_dflash2",
        "dtype": "bfloat16",
        "block_size": 8,
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD,
        "target_layer_ids": [2, 19, 37, 54, 71],
        "vocab_size": 242_516,
        "rms_norm_eps": 1e-05,
        "transformers_version": "5.3.0",
    }


def files() -> dict[str, bytes]:
    """File name to bytes: config, index, and each shard up to the end of its header."""
    named = tensors()
    half = {name: SHARDS[0] if name.startswith(FIRST) else SHARDS[1] for name in named}
    index = {"metadata": {"total_size": PARAMETERS * BYTES}, "weight_map": half}
    shards = {shard: _header({name: shape for name, shape in named.items() if half[name] == shard}) for shard in SHARDS}
    return {
        "config.json": _as_json(config()),
        "model.safetensors.index.json": _as_json(index),
        "README.md": b"# Muse-Spark-Open-DFlash2\n\nThe DFlash2 draft of Muse Spark Open, stored in bfloat16.\n",
        **shards,
    }


def description() -> dict[str, Any]:
    """What the host's model description adds: parameter counts by type."""
    return {"safetensors": {"parameters": {"BF16": PARAMETERS}, "total": PARAMETERS}}


def _header(named: dict[str, list[int]]) -> bytes:
    entries: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, shape in named.items():
        size = prod(shape) * BYTES
        entries[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def _as_json(value: Any) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()
