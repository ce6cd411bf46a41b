"""Purpose: what a recipe drafts with (method, length, draft model), and which acceptance it pins itself.

Source: evidence.md 1.3 and 1.6, rules.md 11, formats.md 3.4. The generation role (decode, else agg) decides; a prefill
role may carry only the length.

Invariants: a draft length is read from settings, never from a file name. Length 0 means that nothing is drafted.
Pinned values are decimals of the text in the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from app.target.recipe import EffectiveRecipe, Setting, Speculation
from app.target.source import FileLine, reject

BONUS_TOKEN = Decimal(1)


def speculation_of(recipe: EffectiveRecipe, role: str | None = None) -> Speculation | None:
    """Speculation of `role`, by default of the generation role; None where it drafts nothing.

    Raises RejectedInput for a length that is no positive whole number, for settings that contradict each other and
    for a speculative-config that is no object.
    """
    chosen = recipe.generation_role if role is None else recipe.roles.get(role)
    reader = _READERS.get(recipe.engine)
    if chosen is None or reader is None:
        return None
    found = reader(chosen.args)
    return None if found is None or found.length == 0 else found


def speculation_of_args(engine: str, args: Mapping[str, Setting]) -> Speculation | None:
    """The same for bare canonical arguments, such as those of an evaluated launch script."""
    reader = _READERS.get(engine)
    found = reader(args) if reader else None
    return None if found is None or found.length == 0 else found


def length_of(setting: Setting | None, name: str) -> int | None:
    """A draft length >= 0. Raises RejectedInput for anything else; a text of digits counts as the number."""
    if setting is None:
        return None
    value = setting.value
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        rule = f"{name} must be a whole number of speculative tokens."
        raise reject(setting.where, rule, setting.value, "Write the draft length as a number.")
    return value


def json_object(setting: Setting, name: str) -> dict[str, Any]:
    """A setting that is a mapping, or the JSON text of one. Raises RejectedInput otherwise."""
    value = setting.value
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as fault:
            raise reject(setting.where, f"{name} must be JSON.", fault, "Correct the JSON text.") from None
    if not isinstance(value, dict):
        raise reject(setting.where, f"{name} must be an object.", setting.value, "Write a JSON object.")
    return value


def _sglang(args: Mapping[str, Setting]) -> Speculation | None:
    algorithm = args.get("speculative-algorithm")
    if algorithm is None:
        return None
    method = str(algorithm.value).lower()
    if method == "none":
        return None
    draft = args.get("speculative-draft-model-path")
    if method == "dspark":
        decided, length = _length(args, "speculative-dspark-block-size")
    elif method == "dflash":
        decided, length = _length(args, "speculative-num-draft-tokens")
        length = None if length is None else max(length - 1, 0)
    else:
        decided, length = _length(args, "speculative-num-steps")
    return Speculation(method, length, None if draft is None else str(draft.value), None, decided or algorithm)


def _length(args: Mapping[str, Setting], name: str) -> tuple[Setting | None, int | None]:
    setting = args.get(name)
    return setting, length_of(setting, name)


def _vllm(args: Mapping[str, Setting]) -> Speculation | None:
    setting = args.get("speculative-config")
    if setting is None:
        return None
    config = json_object(setting, "speculative-config")
    name = "num_speculative_tokens"
    length = length_of(Setting(config[name], setting.where), name) if config.get(name) is not None else None
    model, sampler = config.get("model"), config.get("draft_sample_method")
    method = str(config.get("method") or ("draft_model" if model else "")).lower()
    if not method:
        rule = "speculative-config needs a method."
        raise reject(setting.where, rule, setting.value, 'Add "method", such as "mtp" or "eagle3".')
    return Speculation(
        method, length, None if model is None else str(model), None if sampler is None else str(sampler), setting
    )


def _trtllm(args: Mapping[str, Setting]) -> Speculation | None:
    setting = args.get("speculative_config")
    if setting is None:
        return None
    config = json_object(setting, "speculative_config")
    method = str(config.get("decoding_type") or "").lower()
    if not method:
        raise reject(
            setting.where, "speculative_config needs decoding_type.", config, "Add decoding_type, such as MTP."
        )
    lengths = {
        name: length_of(Setting(config[name], setting.where), name)
        for name in ("max_draft_len", "num_nextn_predict_layers")
        if config.get(name) is not None
    }
    length = lengths.get("max_draft_len", lengths.get("num_nextn_predict_layers"))
    model = config.get("speculative_model") or config.get("speculative_model_dir")
    return Speculation(method, length, None if model is None else str(model), None, setting)


def _atom(args: Mapping[str, Setting]) -> Speculation | None:
    method = args.get("method")
    if method is None:
        return None
    decided, length = _length(args, "num-speculative-tokens")
    draft = args.get("draft-model")
    name = str(method.value).lower()
    sampler = "probabilistic" if name == "dspark" else None
    return Speculation(name, length, None if draft is None else str(draft.value), sampler, decided or method)


def _tilert(args: Mapping[str, Setting]) -> Speculation | None:
    switch = args.get("with-mtp")
    if switch is None or switch.value is not True:
        return None
    decided, length = _length(args, "num-mtp")
    return Speculation("mtp", length, None, None, decided or switch)


_READERS: Mapping[str, Callable[[Mapping[str, Setting]], Speculation | None]] = {
    "sglang": _sglang,
    "vllm": _vllm,
    "trtllm": _trtllm,
    "atom": _atom,
    "tilert": _tilert,
}


@dataclass(frozen=True, slots=True)
class Pinned:
    """An acceptance length that is written into the recipe or the master config instead of being injected.

    `value` is the text's number; `acceptance_length` the length it means: TRT-LLM counts without the bonus token, a
    rate is of `length` draft tokens. `role` is "" for settings of the whole recipe, `variable` what carries it.
    """

    engine: str
    value: Decimal
    setting: Setting
    role: str
    variable: str
    length: int | None = None

    @property
    def acceptance_length(self) -> Decimal:
        if self.variable == _RATE and self.length is not None:
            return (BONUS_TOKEN + self.value * self.length).quantize(Decimal("0.01"))
        return self.value + BONUS_TOKEN if self.variable in _WITHOUT_BONUS else self.value

    @property
    def where(self) -> FileLine:
        return self.setting.where


_VARIABLES: Mapping[str, str] = {
    "SGLANG_SIMULATE_ACC_LEN": "sglang",
    "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS": "trtllm",
    "TILERT_SIMULATE_ACC_LEN": "tilert",
    "SYNTHETIC_ACCEPTANCE_LENGTH": "",
}
_RATE = "spec-decode-acceptance-rate"
_WITHOUT_BONUS = frozenset({"TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS"})


def pinned_acceptance(recipe: EffectiveRecipe) -> tuple[Pinned, ...]:
    """Every acceptance length in the recipe: role env, recipe env, client env, vLLM JSON, ATOM argument."""
    found: list[Pinned] = []
    for role in recipe.roles.values():
        found.extend(pinned_in_env(recipe.engine, role.env, role.name))
        found.extend(pinned_in_args(recipe.engine, role.args, role.name))
    found.extend(pinned_in_env(recipe.engine, recipe.environment, ""))
    found.extend(pinned_in_env(recipe.engine, recipe.benchmark_env, ""))
    return tuple(found)


def pinned_in_env(engine: str, env: Mapping[str, Setting], role: str) -> Iterator[Pinned]:
    """Acceptance lengths among environment variables. Raises RejectedInput for a value that is no number."""
    for variable, owner in _VARIABLES.items():
        setting = env.get(variable)
        if setting is not None and str(setting.value) != "":
            yield Pinned(owner or engine, _number(setting, variable), setting, role, variable)


def pinned_in_args(engine: str, args: Mapping[str, Setting], role: str) -> Iterator[Pinned]:
    """Acceptance lengths among server arguments: vLLM's JSON, ATOM's length or rate.

    Raises RejectedInput for a value that is no number.
    """
    config = args.get("speculative-config")
    if engine == "vllm" and config is not None:
        name = "synthetic_acceptance_length"
        value = json_object(config, "speculative-config").get(name)
        if value is not None:
            yield Pinned(engine, _number(Setting(value, config.where), name), config, role, name)
    for name in ("spec-decode-acceptance-length", _RATE) if engine == "atom" else ():
        fixed = args.get(name)
        if fixed is not None:
            length = length_of(args.get("num-speculative-tokens"), "num-speculative-tokens")
            yield Pinned(engine, _number(fixed, name), fixed, role, name, length)


def pinned_by_row(row: Mapping[str, Any], engine: str, where: FileLine) -> tuple[Pinned, ...]:
    """Acceptance lengths in a row's additional settings (prefill, decode and worker); `where` is the row's line."""
    found: list[Pinned] = []
    for worker in ("prefill", "decode", "worker"):
        block = row.get(worker)
        if not isinstance(block, Mapping):
            continue
        pairs = (str(item).partition("=") for item in block.get("additional-settings") or ())
        env = {name: Setting(value, where) for name, _, value in pairs}
        found.extend(pinned_in_env(engine, env, worker))
    return tuple(found)


def _number(setting: Setting, name: str) -> Decimal:
    try:
        value = Decimal(str(setting.value))
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite():
        raise reject(setting.where, f"{name} must be a number.", setting.value, "Write the acceptance length.")
    return value
