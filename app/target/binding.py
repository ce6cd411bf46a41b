"""Purpose: which variant of a recipe serves a matrix point, and what the harness writes into it.

Source: formats.md 3.2 (single node), 3.5 (multi node). Exactly one candidate must survive; otherwise the answer is
`Unbound` with the nearest candidate and what differs there.

Invariants: a row is the generator's row (kebab-case fields). A value that the recipe leaves out never excludes a
candidate unless the harness has a default for it. Nothing is guessed: two survivors are an Unbound, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.target.flags import engine_of_framework
from app.target.recipe import EffectiveRecipe, Role, Setting, Unbound
from app.target.source import FileLine, RejectedInput
from app.target.speculation import speculation_of

METHODS = ("eagle", "eagle3", "nextn", "mtp", "dspark", "dflash")


def bind(
    candidates: Sequence[EffectiveRecipe], row: Mapping[str, Any], *, multinode: bool
) -> EffectiveRecipe | Unbound:
    """The one candidate that serves the row, or why there is none. All candidates must come from one recipe file."""
    path = candidates[0].path if candidates else ""
    misses: list[tuple[EffectiveRecipe, list[str]]] = []
    fits: list[EffectiveRecipe] = []
    for candidate in candidates:
        differences = list(_differences(candidate, row, multinode))
        if differences:
            misses.append((candidate, differences))
        else:
            fits.append(candidate)
    if len(fits) == 1:
        return fits[0]
    point = f"concurrency {_concurrency(row)}"
    if fits:
        names = ", ".join(fit.variant or fit.name for fit in fits)
        fix = "Exactly one must: set benchmark.env.CONC (or KV_OFFLOADING) in each, or name one in the master config."
        return Unbound(path, f"{len(fits)} variants serve {point}: {names}. {fix}", names)
    if not misses:
        return Unbound(path, "the recipe has no variant")
    closest, differences = min(misses, key=lambda miss: (len(miss[1]), _distance(miss[0], row)))
    nearest = f"{closest.variant or closest.name}: {'; '.join(differences)}"
    fix = "Change the recipe or the master config until exactly one variant fits."
    return Unbound(path, f"no variant serves {point}; nearest is {nearest}. {fix}", nearest)


def _concurrency(row: Mapping[str, Any]) -> str:
    conc = row.get("conc")
    return ", ".join(map(str, conc)) if isinstance(conc, (list, tuple)) else str(conc)


def _distance(recipe: EffectiveRecipe, row: Mapping[str, Any]) -> int:
    """How far the variant's own concurrency is from the point's; 0 where either is not one number."""
    own, wanted = recipe.benchmark_env.get("CONC"), _concurrency(row)
    if own is None or not str(own.value).isdigit() or not wanted.isdigit():
        return 0
    return abs(int(str(own.value)) - int(wanted))


def _differences(recipe: EffectiveRecipe, row: Mapping[str, Any], multinode: bool) -> Iterator[str]:
    wanted = engine_of_framework(str(row.get("framework", "")))
    if wanted is not None and wanted != recipe.engine:
        yield f"the engine is {recipe.engine}, the framework {row['framework']} means {wanted}"
        return
    if multinode or recipe.schema == 1:
        if recipe.schema == 2:
            yield from _pairing(recipe, row, multinode=True)
        return
    role = recipe.roles.get("agg")
    if role is None or len(recipe.roles) != 1:
        yield f"the roles are {', '.join(recipe.roles)}, a single node serves agg only"
        return
    yield from _parallelism(recipe.engine, role, row)
    yield from _footprint(role, row)
    yield from _speculation(recipe, row)
    yield from _pairing(recipe, row, multinode=False)
    yield from _client(recipe, row)
    yield from _identity(recipe, row)


def _flag(role: Role, name: str, default: Any) -> tuple[Any, str]:
    setting = role.args.get(name)
    return (default, "by default") if setting is None else (setting.value, f"in line {setting.where.line}")


def _differs(role: Role, name: str, default: Any, wanted: Any) -> Iterator[str]:
    value, where = _flag(role, name, default)
    if value != wanted or isinstance(value, bool) is not isinstance(wanted, bool):
        yield f"{name} is {value} {where}, the row needs {wanted}"


def _parallelism(engine: str, role: Role, row: Mapping[str, Any]) -> Iterator[str]:
    tp, ep, dp_attention = int(row.get("tp") or 1), int(row.get("ep") or 1), bool(row.get("dp-attn"))
    if engine == "sglang":
        yield from _differs(role, "tensor-parallel-size", 1, tp)
        yield from _differs(role, "data-parallel-size", 1, tp if dp_attention else 1)
        yield from _differs(role, "expert-parallel-size", 1, ep)
        yield from _differs(role, "enable-dp-attention", False, dp_attention)
    elif engine == "vllm":
        yield from _vllm_parallelism(role, tp, ep, dp_attention, int(row.get("dcp-size") or 1))
    elif engine == "trtllm":
        yield from _differs(role, "tensor_parallel_size", 1, tp)
        yield from _differs(role, "moe_expert_parallel_size", 1, ep)
        yield from _differs(role, "pipeline_parallel_size", 1, 1)
        yield from _differs(role, "enable_attention_dp", False, dp_attention)
    elif engine == "atom":
        if role.gpus is not None and role.gpus != tp:
            yield f"gpus is {role.gpus}, the row needs {tp}"
        if ep not in (1, tp):
            yield f"ATOM shares experts over 1 or {tp} GPUs, the row has ep {ep}"


def _vllm_parallelism(role: Role, tp: int, ep: int, dp_attention: bool, dcp: int) -> Iterator[str]:
    tensor, where = _flag(role, "tensor-parallel-size", 1)
    data, _ = _flag(role, "data-parallel-size", 1)
    if not isinstance(tensor, int) or not isinstance(data, int) or tensor * data != tp:
        yield f"tensor-parallel-size {tensor} times data-parallel-size {data} {where} is not the row's tp {tp}"
    elif (data > 1) is not dp_attention:
        yield f"data-parallel-size is {data}, the row has dp-attn {str(dp_attention).lower()}"
    yield from _differs(role, "enable-expert-parallel", False, ep > 1)
    yield from _differs(role, "decode-context-parallel-size", 1, dcp)


def _footprint(role: Role, row: Mapping[str, Any]) -> Iterator[str]:
    gpus = int(row.get("tp") or 1) * int(row.get("pp") or 1) * int(row.get("pcp-size") or 1)
    for name, value, wanted in (("gpus", role.gpus, gpus), ("nodes", role.nodes, 1), ("workers", role.workers, 1)):
        if value is not None and value != wanted:
            yield f"roles.agg.{name} is {value}, the row needs {wanted}"


def _speculation(recipe: EffectiveRecipe, row: Mapping[str, Any]) -> Iterator[str]:
    label = str(row.get("spec-decoding") or "none")
    try:
        speculation = speculation_of(recipe)
    except RejectedInput as fault:
        yield str(fault.problems[0])
        return
    if speculation is not None and speculation.method not in METHODS:
        known = ", ".join(METHODS)
        yield f"the speculative method is {speculation.method}, the harness knows {known}"
    drafting = speculation is not None
    kept = recipe.benchmark_env.get("SPEC_DECODING")
    if not drafting and kept is not None:
        drafting = str(kept.value) != "none"
    if drafting is not (label != "none"):
        has = "drafts" if drafting else "does not draft"
        yield f"the recipe {has}, the row has spec-decoding {label}"


def _pairing(recipe: EffectiveRecipe, row: Mapping[str, Any], *, multinode: bool) -> Iterator[str]:
    """CONC and KV_OFFLOADING, where the variant sets them, are the point's."""
    conc = row.get("conc")
    wanted = {"CONC": [str(item) for item in conc] if isinstance(conc, (list, tuple)) else [str(conc)]}
    if row.get("kv-offloading") is not None:
        wanted["KV_OFFLOADING"] = [str(row["kv-offloading"])]
    if row.get("total-cpu-dram-gb") is not None and not multinode:
        wanted["TOTAL_CPU_DRAM_GB"] = [str(row["total-cpu-dram-gb"])]
    for name, values in wanted.items():
        setting = recipe.benchmark_env.get(name)
        if setting is not None and str(setting.value) not in values:
            yield f"{name} is {setting.value} in line {setting.where.line}, the point has {', '.join(values)}"


def _client(recipe: EffectiveRecipe, row: Mapping[str, Any]) -> Iterator[str]:
    """The benchmark client: a custom command, AgentX iff agentic, and the lengths of a fixed-sequence row."""
    kind = recipe.benchmark.get("type")
    if kind is not None and kind.value != "custom":
        yield f"benchmark.type is {kind.value} in line {kind.where.line}, it must be custom"
    command = recipe.benchmark.get("command")
    agentic = "isl" not in row
    if command is not None and str(command.value).endswith("srt_agentic.sh") is not agentic:
        yield f"benchmark.command in line {command.where.line} is not the client of this scenario"
    if agentic:
        return
    drafting = str(row.get("spec-decoding") or "none") != "none"
    expected = {
        "ISL": str(row["isl"]),
        "OSL": str(row["osl"]),
        "RANDOM_RANGE_RATIO": "0.8",
        "USE_CHAT_TEMPLATE": "true" if drafting else "false",
    }
    for name, value in expected.items():
        setting = recipe.benchmark_env.get(name)
        if setting is not None and str(setting.value) != value:
            yield f"{name} is {setting.value} in line {setting.where.line}, the row needs {value}"


def _identity(recipe: EffectiveRecipe, row: Mapping[str, Any]) -> Iterator[str]:
    """Complete recipes repeat model, image and precision of the master entry."""
    pairs = (
        ("model.path", recipe.local_names.get("path"), f"hf:{row['model']}" if row.get("model") else None),
        ("model.container", recipe.local_names.get("container"), row.get("image")),
        ("model.precision", recipe.local_names.get("precision"), row.get("precision")),
        ("benchmark.env.MODEL", recipe.benchmark_env.get("MODEL"), row.get("model")),
    )
    for name, setting, wanted in pairs:
        if setting is not None and wanted is not None and str(setting.value) != str(wanted):
            yield f"{name} is {setting.value} in line {setting.where.line}, the master config has {wanted}"


def bound(
    recipe: EffectiveRecipe, row: Mapping[str, Any], *, multinode: bool, origin: FileLine | None = None
) -> EffectiveRecipe:
    """The recipe with what the harness writes for this row: CONC, KV_OFFLOADING, the DRAM budget, fixed lengths.

    A value that the recipe sets itself stays, CONC of a multi-node point excepted, which always is the point's.
    """
    written: dict[str, str] = {}
    conc = row.get("conc")
    if isinstance(conc, (list, tuple)):
        written["CONC_LIST" if len(conc) > 1 else "CONC"] = " ".join(map(str, conc))
    elif conc is not None:
        written["CONC"] = str(conc)
    if row.get("kv-offloading") is not None:
        written["KV_OFFLOADING"] = str(row["kv-offloading"])
    if row.get("total-cpu-dram-gb"):
        written["TOTAL_CPU_DRAM_GB"] = str(row["total-cpu-dram-gb"])
    if not multinode and "isl" in row:
        drafting = str(row.get("spec-decoding") or "none") != "none"
        written |= {"ISL": str(row["isl"]), "OSL": str(row["osl"]), "RANDOM_RANGE_RATIO": "0.8"}
        written["USE_CHAT_TEMPLATE"] = "true" if drafting else "false"
    place = origin or FileLine(recipe.path, 1)
    new = {
        name: Setting(value, place)
        for name, value in written.items()
        if name not in recipe.benchmark_env or (multinode and name == "CONC" and _other(recipe, name, value))
    }
    if not new:
        return recipe
    benchmark = dict(recipe.raw.get("benchmark") or {})
    benchmark["env"] = {**(benchmark.get("env") or {}), **{name: setting.value for name, setting in new.items()}}
    return replace(
        recipe,
        benchmark_env={**recipe.benchmark_env, **new},
        raw={**recipe.raw, "benchmark": benchmark},
    )


def _other(recipe: EffectiveRecipe, name: str, value: str) -> bool:
    return str(recipe.benchmark_env[name].value) != value


def bind_point(candidates: Sequence[EffectiveRecipe], point: Mapping[str, Any]) -> EffectiveRecipe | Unbound:
    """The one candidate that serves a point of which only some fields are known (such as `conc`).

    Whatever the point leaves out is taken from each candidate itself, so that only what is given decides.
    """
    path = candidates[0].path if candidates else ""
    multinode = "/multi_node/" in path
    fits: list[EffectiveRecipe] = []
    misses: list[tuple[int, int, str]] = []
    for candidate in candidates:
        row = {**_own_row(candidate), **point}
        answer = bind([candidate], row, multinode=multinode)
        if isinstance(answer, Unbound):
            misses.append((answer.nearest.count(";"), _distance(candidate, row), answer.nearest))
        else:
            fits.append(candidate)
    if len(fits) == 1:
        return fits[0]
    given = ", ".join(f"{name}={value}" for name, value in point.items()) or "any point"
    if fits:
        names = ", ".join(fit.variant or fit.name for fit in fits)
        return Unbound(
            path, f"{len(fits)} variants serve {given}: {names}. Give more of the point, such as tp=4.", names
        )
    nearest = min(misses)[2] if misses else ""
    return Unbound(path, f"no variant serves {given}; one that comes near is {nearest}. Give another point.", nearest)


_FRAMEWORK_OF = {"trtllm": "trt"}


def _own_row(recipe: EffectiveRecipe) -> dict[str, Any]:
    """The row that the recipe itself describes, as far as it does."""
    row: dict[str, Any] = {"framework": _FRAMEWORK_OF.get(recipe.engine, recipe.engine)}
    conc = recipe.benchmark_env.get("CONC")
    row["conc"] = conc.value if conc else None
    if "ISL" in recipe.benchmark_env or "isl" in recipe.benchmark:
        row["isl"] = (recipe.benchmark_env.get("ISL") or recipe.benchmark["isl"]).value
        row["osl"] = (recipe.benchmark_env.get("OSL") or recipe.benchmark.get("osl") or Setting("", _NOWHERE)).value
    elif str(getattr(recipe.benchmark.get("command"), "value", "")).endswith("srt_fixed_sequence.sh"):
        row |= {"isl": 8192, "osl": 1024}
    role = recipe.roles.get("agg")
    if role is not None:
        row |= _own_parallelism(recipe.engine, role)
    row["spec-decoding"] = "mtp" if _drafts(recipe) else "none"
    return row


_NOWHERE = FileLine("")


def _drafts(recipe: EffectiveRecipe) -> bool:
    kept = recipe.benchmark_env.get("SPEC_DECODING")
    return speculation_of(recipe) is not None or (kept is not None and str(kept.value) != "none")


def _own_parallelism(engine: str, role: Role) -> dict[str, Any]:
    snake = engine == "trtllm"
    tensor = int(_flag(role, "tensor_parallel_size" if snake else "tensor-parallel-size", 1)[0])
    data = int(_flag(role, "data-parallel-size", 1)[0])
    if engine == "sglang":
        dp_attention = bool(_flag(role, "enable-dp-attention", False)[0])
        return {"tp": tensor, "dp-attn": dp_attention, "ep": int(_flag(role, "expert-parallel-size", 1)[0])}
    if engine == "vllm":
        ep = tensor * data if _flag(role, "enable-expert-parallel", False)[0] else 1
        dcp = int(_flag(role, "decode-context-parallel-size", 1)[0])
        return {"tp": tensor * data, "dp-attn": data > 1, "ep": ep, "dcp-size": dcp}
    if snake:
        ep = int(_flag(role, "moe_expert_parallel_size", 1)[0])
        return {"tp": tensor, "dp-attn": bool(_flag(role, "enable_attention_dp", False)[0]), "ep": ep}
    return {"tp": role.gpus or 1, "ep": 1}
