"""Purpose: at what precision a checkpoint ships its draft tensors: config.json, and the headers of safetensors shards.

Source: evidence.md 6.2. A header is the JSON at the start of a shard: tensor name -> {dtype, shape, data_offsets}.
A standalone draft repository is all draft; in a served checkpoint the draft's tensors are those of the layers behind
`num_hidden_layers`, or carry one of the known prefixes. Both are derived for each model, nothing is assumed.

Invariants: pure; a header that is not of that form raises `UnreadableHeader` with the shard's name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

UNQUANTIZED = frozenset({"BF16", "F16", "F32", "F64"})
BITS: Mapping[str, int] = {
    "F64": 64,
    "F32": 32,
    "I64": 64,
    "I32": 32,
    "BF16": 16,
    "F16": 16,
    "I16": 16,
    "F8_E4M3": 8,
    "F8_E5M2": 8,
    "F8_E8M0": 8,
    "U8": 8,
    "I8": 8,
    "F4": 4,
}
_PREFIXES = ("mtp.", "model.mtp", "eagle", "nextn", "model.eagle", "model.nextn", "draft.")
_LAYER = re.compile(r"(?:^|\.)layers\.([0-9]{1,9})\.")
_DTYPE = re.compile(r"BOOL|BF16|[FIUC][0-9]{1,2}(_E[0-9]M[0-9](FNUZ)?)?")
_SCALES = ("_scale", "_scale_inv", "_scale_2", "weight_scale", "input_scale")


class UnreadableHeader(ValueError):  # noqa: N818
    """A shard's header is not a safetensors header."""


@dataclass(frozen=True)
class ShippedPrecision:
    """Draft parameters by stored dtype, and what config.json says.

    `config_dtype` is `dtype` or the older `torch_dtype`; `quantization` is the quantization method, "" where none.
    `tensors` counts the draft tensors; zero means the checkpoint has no draft of its own. `modules` are the modules of
    its matrices, without the tensor's own name. `standalone` is a draft with a repository of its own.
    """

    parameters: Mapping[str, int]
    tensors: int
    config_dtype: str
    quantization: str
    modules: tuple[str, ...] = field(default_factory=tuple)
    standalone: bool = False

    @property
    def quantized(self) -> bool:
        return any(dtype not in UNQUANTIZED for dtype in self.weights)

    @property
    def weights(self) -> Mapping[str, int]:
        """Parameters of floating or packed weights; scales are left out of `parameters` already."""
        return {dtype: count for dtype, count in self.parameters.items() if dtype not in ("I64", "I32", "BOOL")}

    @property
    def bits(self) -> int:
        """Bits of the dtype that most draft parameters have; 0 where there are none."""
        if not self.weights:
            return 0
        widest = max(self.weights, key=lambda dtype: (self.weights[dtype], dtype))
        return BITS.get(widest, 0)

    def __str__(self) -> str:
        counts = ", ".join(f"{count:,} {dtype}" for dtype, count in sorted(self.weights.items()))
        return f"{counts} parameters"


def read_header(shard: str, content: bytes) -> Mapping[str, Mapping[str, Any]]:
    """Tensors of a shard. Accepts the JSON alone, or the file's first bytes with the eight length bytes in front."""
    text = content
    if content[:1] != b"{" and len(content) > 8:
        length = int.from_bytes(content[:8], "little")
        text = content[8 : 8 + length]
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise UnreadableHeader(f"{shard} has no readable safetensors header") from None
    if not isinstance(value, dict):
        raise UnreadableHeader(f"{shard} has no readable safetensors header")
    tensors = {name: entry for name, entry in value.items() if name != "__metadata__"}
    for entry in tensors.values():
        if not isinstance(entry, dict) or not _DTYPE.fullmatch(str(entry.get("dtype", ""))):
            raise UnreadableHeader(f"{shard} lists a tensor without a dtype")
        if not _is_shape(entry.get("shape")):
            raise UnreadableHeader(f"{shard} lists a tensor without a shape")
    return tensors


def _is_shape(value: Any) -> bool:
    return isinstance(value, list) and all(type(part) is int and part >= 0 for part in value)


def read_config(content: bytes) -> Mapping[str, Any]:
    """config.json as a mapping. Raises UnreadableHeader."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        raise UnreadableHeader("config.json is not JSON") from None
    if not isinstance(value, dict):
        raise UnreadableHeader("config.json is not an object")
    return value


def lookup(config: Mapping[str, Any], *names: str) -> Any:
    """The first of `names` at the top of a config, or in its `text_config`."""
    nested = config.get("text_config")
    for layer in (config, nested if isinstance(nested, dict) else {}):
        for name in names:
            if layer.get(name) is not None:
                return layer[name]
    return None


def draft_layers(config: Mapping[str, Any]) -> range:
    """Layer numbers of an embedded draft: behind the hidden layers, `num_nextn_predict_layers` of them."""
    hidden = lookup(config, "num_hidden_layers")
    extra = lookup(config, "num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers")
    if not isinstance(hidden, int) or not isinstance(extra, int):
        return range(0)
    return range(hidden, hidden + extra)


def is_draft_tensor(name: str, layers: range) -> bool:
    """True for a tensor of an embedded draft."""
    lowered = name.lower()
    if lowered.startswith(_PREFIXES) or ".mtp." in lowered or ".nextn." in lowered:
        return True
    layer = _LAYER.search(name)
    return layer is not None and int(layer[1]) in layers


def shipped(config: Mapping[str, Any], headers: Mapping[str, bytes], *, standalone: bool) -> ShippedPrecision:
    """Precision of the draft as stored. Raises UnreadableHeader."""
    layers = draft_layers(config)
    parameters: dict[str, int] = {}
    tensors = 0
    modules: dict[str, None] = {}
    for shard, content in sorted(headers.items()):
        for name, entry in read_header(shard, content).items():
            if name.endswith(_SCALES) or not (standalone or is_draft_tensor(name, layers)):
                continue
            dtype = str(entry["dtype"])
            parameters[dtype] = parameters.get(dtype, 0) + prod(entry["shape"])
            tensors += 1
            if len(entry["shape"]) > 1:
                modules[name.rpartition(".")[0]] = None
    quantization = lookup(config, "quantization_config")
    method = str(quantization.get("quant_method", "quantized")) if isinstance(quantization, dict) else ""
    dtype = lookup(config, "dtype", "torch_dtype")
    named = "" if dtype is None else str(dtype)
    return ShippedPrecision(parameters, tensors, named, method, tuple(modules), standalone)


def missing_shards(index: bytes, headers: Iterable[str], config: Mapping[str, Any], *, standalone: bool) -> list[str]:
    """Shards that `model.safetensors.index.json` says hold draft tensors and whose header was not read."""
    try:
        value = json.loads(index)
    except (ValueError, RecursionError):
        value = None
    weights = value.get("weight_map") if isinstance(value, dict) else None
    if not isinstance(weights, dict):
        raise UnreadableHeader("model.safetensors.index.json is not readable")
    layers = draft_layers(config)
    wanted = {str(shard) for name, shard in weights.items() if standalone or is_draft_tensor(str(name), layers)}
    return sorted(wanted - set(headers))
