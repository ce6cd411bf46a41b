"""Purpose: the typed form of `configs/*.yaml` and of a target repository's `.github/sweepgate.yml`.

Read from the default branch only, never from a pull request. Invariants: unknown keys are refused; a policy may lower
FAIL to WARN for a row but may not lower "could not be verified"; the digest covers the effective values.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class PolicyPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class SweepPolicy(PolicyPart):
    """Labels, the sweep workflow and who may sweep (workflows.md 1). `bot`: our App, whose dispatched runs count.

    `mode`: "actions" lets GitHub start the runs on pull request events, "service" dispatches them.
    """

    mode: Literal["service", "actions"] = "actions"
    primaries: dict[str, Literal["canary-fail-fast", "canary", "no-canary", "no-canary-fail-fast", "trim"]] = {
        "full-sweep-fail-fast": "canary-fail-fast",
        "full-sweep-enabled": "canary",
        "non-canary-full-sweep-enabled": "no-canary",
    }
    modifiers: tuple[str, ...] = ("all-evals", "evals-only", "agentx-fast")
    not_reusable: tuple[str, ...] = ("evals-only", "agentx-fast")
    workflow: str = ".github/workflows/run-sweep.yml"
    bot: str = "sweepgate[bot]"
    sweep_drafts: bool = True


class CommandPolicy(PolicyPart):
    compat: bool = False
    reuse_needs_write: bool = True
    associations: tuple[str, ...] = ("OWNER", "MEMBER", "COLLABORATOR")


class StagingPolicy(PolicyPart):
    """Where runs are staged (workflows.md 3.3): owner/name and its site. Empty: staging is not set up."""

    repository: str = ""
    site: str = ""


class OwnerPolicy(PolicyPart):
    """Check 0 and the scope step. `core_teams` need no separate sign-off."""

    core_teams: tuple[str, ...] = ("SemiAnalysisAI/core", "InferenceX/core")
    joint_sign_offs: bool = True


class EnginePolicy(PolicyPart):
    """Engine families and upstream image organisations (check 6), curve aliases (check 14)."""

    families: dict[str, tuple[str, ...]] = {
        "vllm": ("vllm", "dynamo-vllm", "llmd-vllm", "vllm-disagg"),
        "sglang": ("sglang", "dynamo-sglang", "sglang-disagg"),
        "trt": ("trt", "dynamo-trt"),
        "atom": ("atom", "atom-disagg"),
        "tilert": ("tilert",),
    }
    open_source: tuple[str, ...] = ("vllm", "sglang")
    upstream_organisations: dict[str, tuple[str, ...]] = {"vllm": ("vllm",), "sglang": ("lmsysorg",)}
    image_aliases: dict[str, str] = {}


class AutoDefault(PolicyPart):
    """A value that an engine chooses itself where the flag is left out. Patterns are shell-style; "*" is anything."""

    engine: str
    flag: str
    value: str
    image: str = "*"
    model_prefix: str = "*"
    sku: str = "*"


class RecipePolicy(PolicyPart):
    """Check 3: where upstream recipes live, harness-only settings, and what counts as the same.

    Names may be shell-style patterns. `value_aliases` maps engine -> flag -> {value: canonical value}; `defaults` maps
    engine -> flag -> the value that leaving the flag out means; `auto_detected` are flags that the engine reads from
    the checkpoint where they are left out; `adjusted_by_engine` are flags whose printed value may differ from the
    given one.
    """

    repositories: dict[str, tuple[str, ...]] = {
        "sglang": ("sgl-project/sglang", "sgl-project/sgl-cookbook"),
        "vllm": ("vllm-project/recipes",),
    }
    pages: dict[str, tuple[str, ...]] = {
        "sglang": ("docs.sglang.io/cookbook/", "docs.sglang.ai/cookbook/", "cookbook.sglang.io/"),
        "vllm": ("recipes.vllm.ai/", "docs.vllm.ai/projects/recipes/"),
    }
    harness_only_args: tuple[str, ...] = (
        "host",
        "port",
        "model",
        "model-path",
        "tokenizer-path",
        "served-model-name",
        "enable-metrics",
        "enable-cache-report",
        "disable-uvicorn-access-log",
        "dist-init-addr",
        "nnodes",
        "node-rank",
        "disaggregation-bootstrap-port",
        "data-parallel-rpc-port",
        "request-plane",
    )
    harness_only_env: tuple[str, ...] = (
        "PYTHONNOUSERSITE",
        "PYTHONUNBUFFERED",
        "HF_HUB_*",
        "HUGGINGFACE_HUB_CACHE",
        "TRANSFORMERS_OFFLINE",
        "TQDM_DISABLE",
        "PIP_BREAK_SYSTEM_PACKAGES",
        "SGLANG_SIMULATE_*",
        "TILERT_SIMULATE_*",
        "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS",
        "ETCD_ENDPOINTS",
        "NATS_SERVER",
        "DYN_REQUEST_PLANE",
        "DYN_SYSTEM_PORT",
    )
    value_aliases: dict[str, dict[str, dict[str, str]]] = {
        "sglang": {"speculative-algorithm": {"NEXTN": "EAGLE"}},
    }
    defaults: dict[str, dict[str, str]] = {
        "sglang": {
            "data-parallel-size": "1",
            "expert-parallel-size": "1",
            "pipeline-parallel-size": "1",
            "moe-a2a-backend": "none",
            "tokenizer-worker-num": "1",
        },
        "vllm": {"data-parallel-size": "1", "pipeline-parallel-size": "1", "decode-context-parallel-size": "1"},
    }
    auto_detected: dict[str, tuple[str, ...]] = {"sglang": ("quantization",), "vllm": ("quantization",)}
    auto_defaults: tuple[AutoDefault, ...] = ()
    adjusted_by_engine: dict[str, tuple[str, ...]] = {"sglang": ("schedule-conservativeness",)}


class ArchitecturePolicy(PolicyPart):
    """Check 8: settings that carry overrides of the model's configuration, and keys of a configuration.

    Names are shell-style patterns. `forbidden_keys` lower the work of the model unless they equal the checkpoint's own
    configuration; `neutral_keys` do not; any other key in an override cannot be judged.
    """

    override_args: tuple[str, ...] = (
        "hf-overrides",
        "json-model-override-args",
        "model-override-args",
        "model_kwargs",
        "pretrained_config_overrides",
        "override-config",
    )
    forbidden_keys: tuple[str, ...] = (
        "index_topk*",
        "use_index_cache",
        "index_n_heads",
        "index_share_*",
        "index_skip*",
        "num_hidden_layers",
        "num_experts_per_tok",
        "num_experts_per_token",
        "moe_topk",
        "moe_top_k",
        "top_k_experts",
        "compress_ratios",
        "compress_ratio",
        "window_size",
        "sliding_window",
        "skip_layers",
        "layers_to_skip",
    )
    neutral_keys: tuple[str, ...] = (
        "enable_heuristic_topk",
        "topk_algorithm",
        "index_topk_algorithm",
        "index_topk_backend",
        "architectures",
        "max_position_embeddings",
        "max_model_len",
        "rope_scaling.*",
        "rope_parameters.*",
    )
    forbidden_env: tuple[str, ...] = ("*_SKIP_LAYERS", "*_SKIP_INDEXER*", "*_INDEX_TOPK", "*_INDEX_TOPK_FREQ")


class PatchPolicy(PolicyPart):
    """Check 10: roots inside an image that belong to engine and transport, and packages that are those.

    `allowed_packages` look like engine packages and are none: routers, cache backends that the master config names.
    """

    roots: tuple[str, ...] = (
        "*/site-packages/*",
        "*/dist-packages/*",
        "/sgl-workspace/*",
        "*/vllm/*",
        "*/sglang/*",
        "*/tensorrt_llm/*",
        "*/deep_ep/*",
        "*/deepep/*",
        "*/nixl/*",
        "*/mooncake/*",
        "*/flashinfer/*",
        "*/dynamo/*",
        "*/atom/*",
        "/app/*",
        "/opt/*",
        "/usr/*",
    )
    packages: tuple[str, ...] = (
        "vllm*",
        "sglang*",
        "sgl-kernel*",
        "tensorrt-llm*",
        "tensorrt_llm*",
        "flashinfer*",
        "deep-ep*",
        "deep_ep*",
        "nixl*",
        "mooncake*",
        "flash-attn*",
        "torch",
        "triton",
        "aiter*",
        "amd-aiter*",
        "atom",
        "rocm-atom*",
    )
    allowed_packages: tuple[str, ...] = ("vllm-router*", "sglang-router*", "lmcache*")
    harness_mounts: tuple[str, ...] = (
        "/infmax-workspace*",
        "/workspace*",
        "/logs*",
        "/hf_hub_cache*",
        "/aiperf*",
        "/model*",
    )


class DraftPolicy(PolicyPart):
    """Check 13: variables that lower a draft's precision, and those whose effect nobody could show."""

    banned_env: tuple[str, ...] = ("SGLANG_NVFP4_CKPT_FP8_NEXTN_MOE",)
    lowering_env: tuple[str, ...] = ("SGLANG_GLM_NEXTN_MOE_PTPC",)
    unclear_env: tuple[str, ...] = (
        "SGLANG_NVFP4_CKPT_FP8_GEMM_IN_ATTN",
        "SGLANG_FP8_IGNORED_LAYERS",
        "SGLANG_QUANT_ALLOW_DOWNCASTING",
    )
    off_values: tuple[str, ...] = ("", "0", "false", "no", "off", "none")


class SrtSlurmDefaults(PolicyPart):
    """What omitted metrics settings mean under an srt-slurm pin. `refs` are shell-style patterns of the pinned ref.

    None: the default is not known. `iteration_stats` is what the launcher writes where the recipe says nothing.
    """

    refs: tuple[str, ...]
    combined: bool | None = None
    publish_metrics: bool | None = None
    iteration_stats: bool | None = None


class MetricsPolicy(PolicyPart):
    """Check 17: defaults by srt-slurm pin (first match wins), and Dynamo versions that have the metrics flag."""

    srt_slurm: tuple[SrtSlurmDefaults, ...] = ()
    metrics_flag_from: str = ""


class OverviewPolicy(PolicyPart):
    """Check 16: the page and the display name of each model prefix; framework -> column of the page's tables."""

    url: str = "https://docs.nvidia.com/llm-inference-quick-start-recipes/overview"
    names: dict[str, tuple[str, ...]] = {}
    columns: dict[str, str] = {"sglang": "SGLang", "vllm": "vLLM", "trt": "TRT-LLM"}
    dynamo_columns: dict[str, str] = {
        "dynamo-sglang": "Dynamo + SGLang",
        "dynamo-vllm": "Dynamo + vLLM",
        "dynamo-trt": "Dynamo + TRT-LLM",
    }


class CheckPolicy(PolicyPart):
    """Severity of single rows: check number -> "WARN" lowers FAIL to WARN. Numbers never move."""

    lower: dict[int, Literal["WARN"]] = {}


class EscalationPolicy(PolicyPart):
    """Check 14 WARN names these people (they are mentioned on purpose)."""

    core_maintainers: tuple[str, ...] = ()


class Policy(PolicyPart):
    """The effective policy of one target repository."""

    name: str
    repository: str = ""
    branches: tuple[str, ...] = ("main",)
    layout: Literal["auto", "august", "october"] = "auto"
    acceptance: Literal["injected", "pinned"] = "injected"
    sweep: SweepPolicy = Field(default_factory=SweepPolicy)
    commands: CommandPolicy = Field(default_factory=CommandPolicy)
    staging: StagingPolicy = Field(default_factory=StagingPolicy)
    owners: OwnerPolicy = Field(default_factory=OwnerPolicy)
    engines: EnginePolicy = Field(default_factory=EnginePolicy)
    thinking_mode: Literal["thinking_on", "thinking_off"] = "thinking_on"
    recipes: RecipePolicy = Field(default_factory=RecipePolicy)
    architecture: ArchitecturePolicy = Field(default_factory=ArchitecturePolicy)
    patches: PatchPolicy = Field(default_factory=PatchPolicy)
    draft: DraftPolicy = Field(default_factory=DraftPolicy)
    metrics: MetricsPolicy = Field(default_factory=MetricsPolicy)
    overview: OverviewPolicy = Field(default_factory=OverviewPolicy)
    checks: CheckPolicy = Field(default_factory=CheckPolicy)
    escalation: EscalationPolicy = Field(default_factory=EscalationPolicy)

    def canonical(self) -> dict[str, Any]:
        return self.model_dump(mode="json")

    @property
    def digest(self) -> str:
        """SHA-256 over the effective values, key order fixed."""
        text = json.dumps(self.canonical(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()


class PolicyError(Exception):
    """The policy file is not valid; the message has one line a problem, each with the key and the next step."""


def read_policy(value: object, *, path: str) -> Policy:
    """Validate a parsed policy. Raises PolicyError with one line for each problem."""
    try:
        return Policy.model_validate(value)
    except ValidationError as errors:
        lines = [
            f"{path}: {'.'.join(str(part) for part in error['loc']) or 'file'}: {error['msg']}. "
            "Correct the key as docs/policy.md shows."
            for error in errors.errors()
        ]
        raise PolicyError("\n".join(lines)) from None
