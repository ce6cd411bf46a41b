"""Purpose: one spelling for each server flag, engine name and image, so that comparisons compare meanings.

Source: rules.md, "Flag spellings are canonicalised before any comparison"; formats.md 1.1 (`#` in images is `/`).

Invariants: canonical flags of sglang, vllm, atom and tilert are kebab-case without leading dashes; those of trtllm are
the snake_case keys of its configuration. `canonical` is idempotent. Unknown flags keep their (normalised) name.
"""

from __future__ import annotations

from collections.abc import Mapping

ENGINES = ("sglang", "vllm", "trtllm", "atom", "tilert")

_FRAMEWORKS: Mapping[str, str] = {
    "sglang": "sglang",
    "sglang-disagg": "sglang",
    "dynamo-sglang": "sglang",
    "vllm": "vllm",
    "vllm-disagg": "vllm",
    "dynamo-vllm": "vllm",
    "llmd-vllm": "vllm",
    "trt": "trtllm",
    "trtllm": "trtllm",
    "dynamo-trt": "trtllm",
    "atom": "atom",
    "atom-disagg": "atom",
    "tilert": "tilert",
}

_COMMON: Mapping[str, str] = {
    "tp": "tensor-parallel-size",
    "tp-size": "tensor-parallel-size",
    "tensor-parallel": "tensor-parallel-size",
    "pp": "pipeline-parallel-size",
    "pp-size": "pipeline-parallel-size",
    "dp": "data-parallel-size",
    "dp-size": "data-parallel-size",
}

_ALIASES: Mapping[str, Mapping[str, str]] = {
    "sglang": {
        **_COMMON,
        "ep": "expert-parallel-size",
        "ep-size": "expert-parallel-size",
        "model": "model-path",
        "speculative-algo": "speculative-algorithm",
        "speculative-draft-model": "speculative-draft-model-path",
    },
    "vllm": {
        **_COMMON,
        "ep": "enable-expert-parallel",
        "dcp": "decode-context-parallel-size",
        "pcp": "prefill-context-parallel-size",
        "q": "quantization",
        "sc": "speculative-config",
        "cc": "compilation-config",
        "o": "compilation-config",
    },
    "trtllm": {
        "tp_size": "tensor_parallel_size",
        "ep_size": "moe_expert_parallel_size",
        "pp_size": "pipeline_parallel_size",
        "kv_cache_free_gpu_memory_fraction": "free_gpu_memory_fraction",
    },
    "atom": {**_COMMON, "ep": "enable-expert-parallel"},
    "tilert": {**_COMMON, "ep": "expert-parallel-size", "ep-size": "expert-parallel-size"},
}


def canonical(engine: str, flag: str) -> str:
    """The one name of a flag: `--tp-size` and `tp` are `tensor-parallel-size`, `max_num_seqs` is `max-num-seqs`."""
    name = flag.lstrip("-")
    name = name.replace("-", "_") if engine == "trtllm" else name.replace("_", "-")
    short = name.lower() if len(name) == 1 else name
    return _ALIASES.get(engine, _COMMON).get(short, name)


def canonical_image(image: str) -> str:
    """The one form of an image reference: `nvcr.io#nvidia/x` is `nvcr.io/nvidia/x`; scheme and default host dropped."""
    name = image.strip().removeprefix("docker://").replace("#", "/")
    return name.removeprefix("docker.io/")


def engine_of_framework(framework: str) -> str | None:
    """The engine that a master's `framework` names (evidence.md 1.3); None for an unknown framework."""
    return _FRAMEWORKS.get(framework)
