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
    """Labels, the sweep workflow and who may sweep (workflows.md 1). `bot`: our App, whose dispatched runs count."""

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


class RecipePolicy(PolicyPart):
    """Check 3: harness-only exclusions, value aliases and flags whose default equals leaving them out.

    `value_aliases` maps engine -> flag -> {value: canonical value}. `defaults` maps engine -> flag -> default value.
    """

    harness_only_args: tuple[str, ...] = ()
    harness_only_env: tuple[str, ...] = ()
    value_aliases: dict[str, dict[str, dict[str, str]]] = {}
    defaults: dict[str, dict[str, str]] = {}


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
    owners: OwnerPolicy = Field(default_factory=OwnerPolicy)
    engines: EnginePolicy = Field(default_factory=EnginePolicy)
    recipes: RecipePolicy = Field(default_factory=RecipePolicy)
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
