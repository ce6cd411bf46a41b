"""Purpose: settings that can lower a draft below the precision it ships with, in every layer that reaches the server.

Source: evidence.md 6.3, rules.md 13. Each setting is read from the effective recipe and the job log; whether it
lowers anything depends on what the checkpoint ships.

Invariants: a value that restates the default, raises precision or is off is nothing. A setting whose effect cannot be
told from the evidence is `unclear`, never ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from app.facts.effective import Effective, logged_arg, role_args
from app.facts.records import JobLogRecord
from app.facts.safetensors import ShippedPrecision
from app.facts.values import NONE, parsed, text_of
from app.planner.points import Point
from app.policy import DraftPolicy
from app.target.recipe import EffectiveRecipe
from checks.contract import LogSpan, Where
from checks.point_evidence import place

_BITS = (
    (re.compile(r"float32|fp32|\Af32\Z"), 32),
    (re.compile(r"bfloat16|bf16|float16|fp16|half"), 16),
    (re.compile(r"fp8|float8|f8|e4m3|e5m2|int8|mxfp8"), 8),
    (re.compile(r"fp4|float4|int4|e2m1"), 4),
)
_OFF = frozenset({"", NONE, "auto", "false", "unquant", "unquantized", "default"})
PRECISION_KEY = re.compile(r"\A(?:torch_)?dtype\Z|quant", re.IGNORECASE)


@dataclass(frozen=True)
class Lowering:
    """A setting that lowers the draft, or (`unclear`) one whose effect could not be shown."""

    where: Where
    found: str
    unclear: bool = False


def bits_of(dtype: str) -> int:
    """Bits of a dtype's name; 0 where it has none (auto, an unknown name)."""
    lowered = dtype.casefold().removeprefix("torch.")
    return next((bits for pattern, bits in _BITS if pattern.search(lowered)), 0)


def environment(
    point: Point, recipe: EffectiveRecipe | None, log: JobLogRecord | None, names: tuple[str, ...], policy: DraftPolicy
) -> Iterator[tuple[str, str, Where]]:
    """(name, value, where) of each of these variables that is on, in any layer."""
    layers: list[tuple[str, str, Where]] = []
    if recipe is not None:
        tables = [role.env for role in recipe.roles.values()]
        tables += [recipe.environment, recipe.benchmark_env]
        layers += [(name, str(setting.value), setting.where) for table in tables for name, setting in table.items()]
        frontend = recipe.frontend_settings.get("env")
        if frontend is not None and isinstance(frontend.value, Mapping):
            layers += [(str(name), str(value), frontend.where) for name, value in frontend.value.items()]
    for worker in ("prefill", "decode", "worker"):
        block = point.row.get(worker)
        for item in (block.get("additional-settings") or ()) if isinstance(block, Mapping) else ():
            name, _, value = str(item).partition("=")
            layers.append((name, value, point.master))
    if log is not None:
        layers += [(name, value.value, LogSpan(log.job_name, value.line)) for name, value in log.env.items()]
    seen: set[tuple[str, str]] = set()
    for name, value, where in layers:
        on = text_of(value) not in policy.off_values
        if on and (name, value) not in seen and any(fnmatchcase(name, pattern) for pattern in names):
            seen.add((name, value))
            yield name, value, where


def lowering(recipe: EffectiveRecipe, log: JobLogRecord | None, shipped: ShippedPrecision) -> Iterator[Lowering]:
    """Settings of every role that lower the draft, as the recipe writes them and as the server printed them."""
    for role in recipe.roles.values():
        written = role_args(role, None)
        ran = {**_printed(role.name, log), **role_args(role, log)}
        found = list(_of_role(recipe.engine, written, role.name, None, shipped))
        known = {lowered.found for lowered in found}
        yield from found
        yield from (
            lowered for lowered in _of_role(recipe.engine, ran, role.name, log, shipped) if lowered.found not in known
        )


def _of_role(
    engine: str, args: Mapping[str, Effective], role: str, log: JobLogRecord | None, shipped: ShippedPrecision
) -> Iterator[Lowering]:
    yield from _overrides(args)
    if engine == "sglang":
        yield from _sglang(args, role, log, shipped)
    elif engine == "vllm":
        yield from _vllm(args, shipped)
    elif engine == "trtllm":
        yield from _trtllm(args, shipped)
    elif engine == "atom":
        yield from _atom(args, shipped)


PRINTED = (
    "quantization",
    "dtype",
    "kv-cache-dtype",
    "speculative-draft-model-quantization",
    "speculative-draft-kv-cache-dtype",
    "speculative-draft-model-dtype",
    "speculative-config",
    "json-model-override-args",
    "hf-overrides",
    "online-quant-config",
)
"""Settings that count as the server prints them, also where the recipe does not set them."""


def _printed(role: str, log: JobLogRecord | None) -> dict[str, Effective]:
    printed = ((name, logged_arg(role, name, log)) for name in PRINTED)
    return {name: effective for name, effective in printed if effective is not None}


def _overrides(args: Mapping[str, Effective]) -> Iterator[Lowering]:
    """Overrides of the checkpoint's configuration that change a dtype or a quantization."""
    for name, effective in args.items():
        if "override" not in name:
            continue
        for key in _keys(_value(effective)):
            if PRECISION_KEY.search(key):
                yield Lowering(place(effective), f"{name} overrides {key} of the checkpoint")


def _keys(value: Any, depth: int = 0) -> Iterator[str]:
    value = parsed(value)
    if depth > 20:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _keys(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _keys(item, depth + 1)


def _value(effective: Effective) -> Any:
    return effective.text if effective.setting is None else effective.setting.value


def _sglang(
    args: Mapping[str, Effective], role: str, log: JobLogRecord | None, shipped: ShippedPrecision
) -> Iterator[Lowering]:
    if _explicit(args, role, log):
        yield from _quantized(args["speculative-draft-model-quantization"], shipped)
    if "speculative-draft-kv-cache-dtype" in args:
        yield from _cache(args["speculative-draft-kv-cache-dtype"], args.get("kv-cache-dtype"))
    for name in ("speculative-draft-model-dtype", "dtype"):
        if name in args:
            yield from _dtype(args[name], args[name].text, shipped)


def _explicit(args: Mapping[str, Effective], role: str, log: JobLogRecord | None) -> bool:
    """True where somebody gave the draft a quantization; an inherited one only repeats the target's."""
    if "speculative-draft-model-quantization" not in args:
        return False
    printed = {} if log is None else log.server_args.get(role, {})
    said = printed.get("speculative-draft-quantization-explicitly-set")
    if said is not None:
        return text_of(said.value) == "true"
    target = args.get("quantization")
    own = args["speculative-draft-model-quantization"]
    return own.setting is not None or target is None or target.text != own.text


def _vllm(args: Mapping[str, Effective], shipped: ShippedPrecision) -> Iterator[Lowering]:
    config = args.get("speculative-config")
    inside = None if config is None else parsed(_value(config))
    if config is not None and isinstance(inside, Mapping):
        if inside.get("quantization") is not None:
            yield from _quantized(config, shipped, str(inside["quantization"]))
        for key in ("dtype", "draft_dtype"):
            if inside.get(key) is not None:
                yield from _dtype(config, str(inside[key]), shipped)
        for key in ("kv_cache_dtype", "draft_kv_cache_dtype"):
            if inside.get(key) is not None:
                yield from _cache(config, args.get("kv-cache-dtype"), str(inside[key]))
    if "dtype" in args:
        yield from _dtype(args["dtype"], args["dtype"].text, shipped)


def _trtllm(args: Mapping[str, Effective], shipped: ShippedPrecision) -> Iterator[Lowering]:
    for name in ("quant_config", "quantization"):
        effective = args.get(name)
        if effective is not None and effective.text not in _OFF:
            text = (
                f"{name} {effective.text} replaces the checkpoint's own quantization ({shipped.quantization or 'none'})"
            )
            yield Lowering(place(effective), text, unclear=True)
    config = args.get("speculative_config")
    inside = None if config is None else parsed(_value(config))
    if config is not None and isinstance(inside, Mapping):
        for key in inside:
            if "quant" in str(key) or "dtype" in str(key):
                yield from _quantized(config, shipped, str(inside[key]))


def _atom(args: Mapping[str, Effective], shipped: ShippedPrecision) -> Iterator[Lowering]:
    online = args.get("online-quant-config")
    inside = None if online is None else parsed(_value(online))
    if online is None or not isinstance(inside, Mapping) or not inside.get("global_quant_config"):
        return
    excluded = [str(pattern) for pattern in inside.get("exclude_layer") or ()]
    method = inside["global_quant_config"]
    if shipped.standalone:
        text = f"online quantization {method} with an external draft: its effect on the draft is not shown"
        yield Lowering(place(online), text, unclear=True)
        return
    open_ = [module for module in shipped.modules if not _excluded(module, excluded)]
    if open_:
        text = f"online quantization {method} does not exclude the draft's {open_[0]}"
        more = f" and {len(open_) - 1} more modules" if len(open_) > 1 else ""
        yield Lowering(place(online), text + more)


def _excluded(module: str, patterns: list[str]) -> bool:
    return any(
        fnmatchcase(module, pattern) or fnmatchcase(f"{module}.", pattern) or fnmatchcase(f"{module}.weight", pattern)
        for pattern in patterns
    )


def _quantized(effective: Effective, shipped: ShippedPrecision, value: str | None = None) -> Iterator[Lowering]:
    """An explicit draft quantization: fine only where it restates what the checkpoint ships."""
    text = effective.text if value is None else text_of(value)
    if text in _OFF:
        return
    if shipped.quantization and _same_method(text, shipped.quantization):
        return
    own = shipped.quantization or "unquantized weights"
    yield Lowering(place(effective), f"{effective.name} quantizes the draft to {text}; it ships {own}")


def _same_method(left: str, right: str) -> bool:
    one, two = left.replace("-", "_").casefold(), right.replace("-", "_").casefold()
    return one == two or one.startswith(f"{two}_") or two.startswith(f"{one}_")


def _dtype(effective: Effective, text: str, shipped: ShippedPrecision) -> Iterator[Lowering]:
    bits = bits_of(text_of(text))
    if bits and not shipped.quantized and shipped.bits and bits < shipped.bits:
        yield Lowering(place(effective), f"{effective.name} {text} is below the draft's {shipped.bits} bits")


def _cache(effective: Effective, target: Effective | None, value: str | None = None) -> Iterator[Lowering]:
    """A cache type for the draft alone: fine where it is the target's or not below 16 bits."""
    text = effective.text if value is None else text_of(value)
    bits = bits_of(text)
    alike = target is not None and target.text == text
    if bits and bits < 16 and not alike:
        other = "the target's default" if target is None else f"the target's {target.text}"
        yield Lowering(place(effective), f"the draft's cache is {text}, {other} is not")
