"""Purpose: the effective server settings of each point of the reference pull request, written down on their own.

Logs and the upstream page are made from this table and not from the recipe, so that a reader of recipes that errs is
found out by the evidence instead of agreeing with itself.

Invariants: `server(c)` and `environment(c)` are what the pull request's recipe gives at concurrency c, harness-only
settings included; those are listed in HARNESS_ARGS and HARNESS_ENV.
"""

from __future__ import annotations

from app.sandbox.reference_parts.names import DRAFT, MODEL

CONCURRENCIES = (1, 2, 4, 6, 8, 10, 16, 20, 24, 28, 32)
FA4_POINTS = (1, 2, 4, 6, 8)

HARNESS_ARGS = ("served-model-name", "enable-metrics")
HARNESS_ENV = ("PYTHONNOUSERSITE", "PYTHONUNBUFFERED", "HF_HUB_OFFLINE")

Value = str | int | float | bool

_BASE: dict[str, Value] = {
    "served-model-name": MODEL,
    "trust-remote-code": True,
    "tensor-parallel-size": 4,
    "expert-parallel-size": 4,
    "quantization": "modelopt_fp4",
    "moe-runner-backend": "flashinfer_trtllm",
    "kv-cache-dtype": "fp8_e4m3",
    "layernorm-sp": True,
    "megamoe": True,
    "mem-fraction-static": 0.9,
    "chunked-prefill-size": 16384,
    "max-prefill-tokens": 16384,
    "swa-full-tokens-ratio": 0.2,
    "enable-hierarchical-cache": True,
    "hicache-size": 160,
    "hicache-write-policy": "write_through",
    "hicache-io-backend": "kernel",
    "hicache-mem-layout": "page_first",
    "speculative-algorithm": "DFLASH",
    "speculative-draft-model-path": DRAFT,
    "speculative-num-draft-tokens": 8,
    "reasoning-parser": "muse",
    "tool-call-parser": "muse",
    "watchdog-timeout": 3600,
    "enable-metrics": True,
}
_BASE_ENV = {
    "SGLANG_TIMEOUT_KEEP_ALIVE": "900",
    "PYTHONNOUSERSITE": "1",
    "PYTHONUNBUFFERED": "1",
    "HF_HUB_OFFLINE": "1",
}
_LIMIT = {1: 1, 2: 2, 4: 2, 6: 3, 8: 3}
_OWN: dict[int, dict[str, Value]] = {
    1: {
        "cuda-graph-backend-prefill": "breakable",
        "chunked-prefill-size": 8192,
        "max-prefill-tokens": 8192,
        "mem-fraction-static": 0.95,
        "swa-full-tokens-ratio": 0.3,
    },
    2: {"prefill-decode-interval": 64},
    4: {
        "prefill-decode-interval": 128,
        "mem-fraction-static": 0.88,
        "hicache-size": 120,
        "swa-full-tokens-ratio": 0.1,
    },
    6: {"mem-fraction-static": 0.95},
    8: {"prefill-decode-interval": 16, "mem-fraction-static": 0.88},
    10: {"prefill-decode-interval": 32, "schedule-policy": "shortest-prefill-first"},
}
_MEGA_MOE = {"SGLANG_OPT_DEEPGEMM_MEGA_MOE_NUM_MAX_TOKENS_PER_RANK": "2048"}
_OWN_ENV: dict[int, dict[str, str]] = {
    1: {
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
        **_MEGA_MOE,
        "SGLANG_OPT_UNIFIED_CACHE_FREE_OUT_OF_WINDOW_SLOTS": "1",
    },
    6: _MEGA_MOE,
}


def offloading(concurrency: int) -> str:
    """`none` for the one point whose cache stays on the GPU, else `dram`."""
    return "none" if concurrency == 1 else "dram"


def server(concurrency: int) -> dict[str, Value]:
    """Server arguments by flag name without dashes; a switch is True."""
    limit = _LIMIT.get(concurrency, concurrency)
    args = {**_BASE, "max-running-requests": limit, "cuda-graph-max-bs-decode": limit}
    args.update(_OWN.get(concurrency, {}))
    if concurrency in FA4_POINTS:
        args["speculative-draft-attention-backend"] = "fa4"
    if offloading(concurrency) == "none":
        args = {flag: value for flag, value in args.items() if "hicache" not in flag and "hierarchical" not in flag}
    return args


def environment(concurrency: int) -> dict[str, str]:
    """Server environment."""
    return {**_BASE_ENV, **_OWN_ENV.get(concurrency, {})}


def published(concurrency: int) -> tuple[dict[str, Value], dict[str, str]]:
    """Arguments and environment without what is harness-only: what the public page must show."""
    args = {flag: value for flag, value in server(concurrency).items() if flag not in HARNESS_ARGS}
    env = {name: value for name, value in environment(concurrency).items() if name not in HARNESS_ENV}
    return args, env
