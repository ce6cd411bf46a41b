"""Purpose: golden acceptance at launch (evidence.md 1.6): inject it where it is due, strip stale settings elsewhere.

Works on the merged plain recipe (`EffectiveRecipe.raw`) that will be submitted, in either schema. Due = agentic,
speculative by the master's label, not an eval, and the generation role drafts. Recipe-wide copies of the variables
are always removed.

Invariants: pure; the input is never changed; every speculative role (agg, prefill, decode) gets the same value, tilert
the decode role only. Values come from the committed curve, never from the recipe.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from app.launch.errors import LaunchError
from app.launch.row import LaunchRow
from app.target.flags import canonical
from app.target.golden import acceptance_length, curve_name, find_curve, injected
from app.target.recipe import EffectiveRecipe, Speculation
from app.target.source import RejectedInput
from app.target.speculation import speculation_of
from app.target.tree import Tree

VARIABLES = (
    "SGLANG_SIMULATE_ACC_LEN",
    "SGLANG_SIMULATE_ACC_METHOD",
    "SGLANG_SIMULATE_ACC_TOKEN_MODE",
    "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS",
    "TILERT_SIMULATE_ACC_LEN",
    "TILERT_SIMULATE_ACC_METHOD",
    "SYNTHETIC_ACCEPTANCE",
    "SYNTHETIC_ACCEPTANCE_LENGTH",
)
ATOM_ARGUMENTS = ("spec-decode-acceptance-length", "spec-decode-acceptance-rate")
ROLES = ("agg", "prefill", "decode")
_AUGUST_ROLES = {"agg": "aggregated", "prefill": "prefill", "decode": "decode"}
_FIX = "Commit the measured curve, or change the draft settings to a measured length."


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What was injected: the curve, the draft length and the golden acceptance length (AL, a decimal as text)."""

    curve: str
    length: int
    value: str
    settings: Mapping[str, str]

    def record(self) -> dict[str, Any]:
        return {
            "curve": self.curve,
            "length": self.length,
            "golden_acceptance_length": float(self.value),
            "injected": dict(self.settings),
        }


def golden(tree: Tree, row: LaunchRow, recipe: EffectiveRecipe, thinking: str) -> Acceptance | None:
    """What to inject for this row, None where real acceptance is due. `tree` holds the trusted curves.

    Raises LaunchError `no-curve` where the curve or its cell is missing or malformed.
    """
    if not row.synthetic:
        return None
    try:
        speculation = speculation_of(recipe)
        if speculation is None:
            return None
        return _from_curve(tree, row, recipe.engine, speculation, thinking)
    except RejectedInput as rejected:
        raise LaunchError("no-curve", str(rejected.problems[0]), _FIX) from None


def _from_curve(tree: Tree, row: LaunchRow, engine: str, speculation: Speculation, thinking: str) -> Acceptance:
    prefix = row.text("model-prefix")
    curve = find_curve(tree, prefix, speculation)
    cell = acceptance_length(curve, thinking, speculation.length)
    length = int(speculation.length or 0)
    settings = injected(engine, cell.value, length)
    return Acceptance(curve_name(prefix, speculation), length, str(cell.value), settings)


def with_acceptance(recipe: EffectiveRecipe, acceptance: Acceptance | None) -> dict[str, Any]:
    """The recipe's plain mapping with stale settings removed and, where given, the acceptance injected."""
    raw: dict[str, Any] = copy.deepcopy(dict(recipe.raw))
    for environment in (raw.get("environment"), (raw.get("benchmark") or {}).get("env")):
        _drop(environment, VARIABLES)
    for role in ROLES:
        args, env = _role(raw, recipe, role)
        if args is None:
            continue
        _drop(env, VARIABLES)
        _strip_arguments(args, recipe.engine)
        if acceptance is not None and _due(recipe, role):
            _inject(raw, recipe, role, acceptance)
    return raw


def _due(recipe: EffectiveRecipe, role: str) -> bool:
    if recipe.engine == "tilert" and role != "decode" and "decode" in recipe.roles:
        return False
    return role in recipe.roles and speculation_of(recipe, role) is not None


def _drop(mapping: object, names: tuple[str, ...]) -> None:
    if isinstance(mapping, MutableMapping):
        for name in names:
            mapping.pop(name, None)


def _role(raw: MutableMapping[str, Any], recipe: EffectiveRecipe, role: str) -> tuple[Any, Any]:
    """The argument and environment mappings of a role inside the raw recipe; (None, None) where it has none."""
    if recipe.schema == 2:
        block = (raw.get("roles") or {}).get(role)
        return (None, None) if not isinstance(block, Mapping) else (block.get("args") or {}, block.get("env"))
    backend = raw.get("backend") or {}
    name = _AUGUST_ROLES[role]
    args = (backend.get(f"{recipe.engine}_config") or {}).get(name)
    return (None, None) if args is None else (args, backend.get(f"{name}_environment"))


def _find(args: Mapping[str, Any], engine: str, flag: str) -> str | None:
    """The spelling under which a recipe gives a canonical flag, None where it does not."""
    return next((name for name in args if canonical(engine, str(name)) == flag), None)


def _strip_arguments(args: MutableMapping[str, Any], engine: str) -> None:
    if engine == "atom":
        for flag in ATOM_ARGUMENTS:
            if (name := _find(args, engine, flag)) is not None:
                del args[name]
    name = _find(args, engine, "speculative-config") if engine == "vllm" else None
    if name is not None:
        config, as_text = _speculative_config(args[name])
        if config.pop("synthetic_acceptance_length", None) is not None or config.get("rejection_sample_method") == (
            "synthetic"
        ):
            config["rejection_sample_method"] = "block"
        args[name] = json.dumps(config) if as_text else config


def _speculative_config(value: object) -> tuple[dict[str, Any], bool]:
    """vLLM's speculative-config as a mapping, and whether it was written as JSON text."""
    config = json.loads(value) if isinstance(value, str) else value
    return dict(config) if isinstance(config, Mapping) else {}, isinstance(value, str)


def _inject(raw: MutableMapping[str, Any], recipe: EffectiveRecipe, role: str, acceptance: Acceptance) -> None:
    args, _ = _role(raw, recipe, role)
    if recipe.engine == "vllm":
        name = _find(args, "vllm", "speculative-config") or "speculative-config"
        config, as_text = _speculative_config(args[name])
        config.update(acceptance.settings)
        config["synthetic_acceptance_length"] = float(acceptance.value)
        args[name] = json.dumps(config) if as_text else config
    elif recipe.engine == "atom":
        args.update(acceptance.settings)
    else:
        _environment(raw, recipe, role).update(acceptance.settings)


def _environment(raw: MutableMapping[str, Any], recipe: EffectiveRecipe, role: str) -> MutableMapping[str, Any]:
    """The role's environment, made where the recipe has none."""
    holder, name = (
        (raw["roles"][role], "env") if recipe.schema == 2 else (raw["backend"], f"{_AUGUST_ROLES[role]}_environment")
    )
    environment: MutableMapping[str, Any] = dict(holder.get(name) or {})
    holder[name] = environment
    return environment
