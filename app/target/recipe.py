"""Purpose: the effective recipe of one launch variant, the same shape for both recipe schemas.

Readers (`app.target.recipes`) resolve a file (plain, bundle, zip, shared fragments) into these values; checks, the
planner and the launcher read only these. Every setting knows the line that decided it.

Invariants: `args` keys are canonical flag names (`app.target.flags.canonical`): kebab-case, no leading dashes, aliases
folded (tp-size -> tensor-parallel-size, ...). TRT-LLM keeps its nested snake_case tables as plain mappings below the
top-level key. Environment values are strings as the recipe wrote them. A deleted (null) setting is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.target.source import FileLine


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and the place that decided it (after merges, the last writer)."""

    value: Any
    where: FileLine

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Role:
    """One serving role: "agg", "prefill" or "decode". GPUs are per worker; nodes and workers are counts.

    `nodes`, `workers` and `gpus` are None where the recipe does not say.
    """

    name: str
    nodes: int | None
    workers: int | None
    gpus: int | None
    args: Mapping[str, Setting]
    env: Mapping[str, Setting]

    def arg(self, name: str) -> Any:
        """Plain value of a canonical flag, None where unset."""
        found = self.args.get(name)
        return None if found is None else found.value


@dataclass(frozen=True, slots=True)
class Speculation:
    """Speculative decoding of one role. `length` is the number of speculative tokens per step (K), None if unsaid.

    `method` is lower-case as the engine names it (eagle, nextn, eagle3, mtp, dspark, dflash, ...).
    `draft_sample_method` is only known for vLLM. `decided_by` is the setting that gives `length` (or the method).
    """

    method: str
    length: int | None
    draft_model: str | None
    draft_sample_method: str | None
    decided_by: Setting


@dataclass(frozen=True)
class EffectiveRecipe:
    """The recipe of one launch variant after all merges. `raw` is the merged plain mapping (for fingerprints).

    `image` and `model` are the real ones where the recipe gives them, else the cluster's local names, which always
    stand in `local_names` (path, container, precision).
    """

    path: str
    variant: str
    name: str
    schema: int
    engine: str
    frontend: str
    roles: Mapping[str, Role]
    environment: Mapping[str, Setting]
    benchmark: Mapping[str, Setting]
    benchmark_env: Mapping[str, Setting]
    image: Setting | None
    model: Setting | None
    precision: Setting | None
    setup_scripts: tuple[Setting, ...]
    dynamo: Mapping[str, Setting]
    backend: Mapping[str, Setting]
    frontend_settings: Mapping[str, Setting]
    resources: Mapping[str, Setting]
    raw: Mapping[str, Any]
    notes: tuple[str, ...] = field(default_factory=tuple)
    local_names: Mapping[str, Setting] = field(default_factory=dict)

    @property
    def generation_role(self) -> Role | None:
        """The role that decodes: `decode` if there, else `agg`."""
        return self.roles.get("decode") or self.roles.get("agg")

    def effective_env(self, role: str) -> Mapping[str, Setting]:
        """Environment of a role: role env, then the recipe-wide `environment` over it."""
        return {**self.roles[role].env, **self.environment}


@dataclass(frozen=True, slots=True)
class Unbound:
    """Why no variant of a recipe serves a matrix point; `nearest` is the variant that came closest and what differs."""

    path: str
    reason: str
    nearest: str = ""
    outside_repository: bool = False
