"""Purpose: the second recipe schema (formats.md 3, `schema: 2`) as an EffectiveRecipe, with its shared fragments.

Two generations exist: complete recipes name model, container and precision; fragments leave to the planner what the
master config and the point decide, and may not write it even with the right value (formats.md 3.3).

Invariant: a variant is a fragment when neither `model.path` nor `model.container` stands in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from app.target.recipe import EffectiveRecipe, Role, Setting
from app.target.recipe_document import Node, plain
from app.target.recipe_shape import ROLES, Shape
from app.target.recipe_variants import Variant
from app.target.source import Problem, RejectedInput, reject

_COLOCATED = {"colocate": 0}
_PLANNED = (
    ("model", "path"),
    ("model", "container"),
    ("model", "precision"),
    ("identity", "model", "repo"),
    ("identity", "container", "image"),
    ("benchmark", "concurrencies"),
    ("telemetry", "enabled"),
    ("telemetry", "dcgm_exporter", "port"),
)
_PLANNED_ENV = (
    "CONC",
    "CONC_LIST",
    "KV_OFFLOADING",
    "TOTAL_CPU_DRAM_GB",
    "RESULT_DIR",
    "AGENTIC_OUTPUT_DIR",
    "HF_HUB_CACHE",
    "HUGGINGFACE_HUB_CACHE",
)
_VARIANT_ENV = ("CONC", "KV_OFFLOADING")


def read_october(
    shape: Shape, variant: Variant, single_node: bool, agentic: bool, base: Node | None
) -> EffectiveRecipe:
    """The effective recipe of one variant. `base` is a bundle's base block, None for a plain file.

    Raises RejectedInput where the schema is broken or a fragment writes what the planner decides.
    """
    top: Mapping[str, Node] = variant.node.value
    model = shape.settings(shape.mapping(top, "model"))
    if "path" not in model and "container" not in model:
        _check_fragment(shape, variant.node, single_node, agentic, base)
    engine, backend = _engine(shape, variant, top)
    identity = shape.mapping(top, "identity")
    frontend = shape.mapping(top, "frontend")
    benchmark = shape.mapping(top, "benchmark")
    return EffectiveRecipe(
        path=shape.path,
        variant=variant.selector,
        name=shape.text(top, "name"),
        schema=2,
        engine=engine,
        frontend=shape.text(frontend, "type"),
        roles=_roles(shape, variant, engine, top),
        environment=shape.env(top, "environment"),
        benchmark=shape.settings(benchmark, without=("env",)),
        benchmark_env=shape.env(benchmark, "env"),
        image=shape.setting(shape.mapping(identity, "container"), "image") or model.get("container"),
        model=shape.setting(shape.mapping(identity, "model"), "repo") or _repository(model.get("path")),
        precision=model.get("precision"),
        setup_scripts=shape.scripts(top, "setup_script"),
        dynamo=_dynamo(shape, top),
        backend={**shape.settings(shape.mapping(top, "backend")), **backend},
        frontend_settings=shape.settings(frontend),
        resources=shape.settings(shape.mapping(top, "resources")),
        raw=plain(variant.node),
        local_names=model,
    )


def _repository(path: Setting | None) -> Setting | None:
    if path is None:
        return None
    return Setting(str(path.value).removeprefix("hf:"), path.where)


def _engine(shape: Shape, variant: Variant, top: Mapping[str, Node]) -> tuple[str, dict[str, Setting]]:
    """Engine name and its own settings; `engine` is a name or a mapping with `type`."""
    node = top.get("engine")
    if node is None or node.value is None:
        fix = "Add engine: sglang, vllm, trtllm or atom."
        raise reject(shape.at(variant.node), "The recipe must name its engine.", "no engine", fix, 1)
    if isinstance(node.value, str):
        return node.value, {"type": Setting(node.value, shape.at(node))}
    settings = shape.settings(shape.mapping(top, "engine"))
    named = settings.get("type")
    if named is None or not isinstance(named.value, str):
        raise reject(shape.at(node), "engine needs type.", plain(node), "Add engine.type: sglang, vllm or trtllm.", 1)
    return named.value, settings


def _roles(shape: Shape, variant: Variant, engine: str, top: Mapping[str, Node]) -> dict[str, Role]:
    roles = {}
    for name, node in shape.mapping(top, "roles").items():
        if name not in ROLES:
            raise reject(shape.at(node), "Roles are agg, prefill and decode.", name, "Correct the name.", 1)
        role = shape.mapping(shape.mapping(top, "roles"), name)
        roles[name] = Role(
            name,
            shape.count(role, "nodes", _COLOCATED),
            shape.count(role, "workers"),
            shape.count(role, "gpus"),
            shape.args(engine, shape.mapping(role, "args")),
            shape.env(role, "env"),
        )
    if not roles:
        fix = "Add roles with agg, or prefill and decode."
        raise reject(shape.at(variant.node), "The recipe must serve at least one role.", "no roles", fix, 1)
    return roles


def _dynamo(shape: Shape, top: Mapping[str, Node]) -> dict[str, Setting]:
    """Dynamo settings; what stands below `source` (wheel, version, hash) is lifted to the top."""
    dynamo = shape.mapping(top, "dynamo")
    found = shape.settings(dynamo, without=("source",))
    source = dynamo.get("source")
    if source is not None and isinstance(source.value, dict):
        for key, setting in shape.settings(source.value).items():
            found.setdefault(key, setting)
    return found


def _check_fragment(shape: Shape, node: Node, single_node: bool, agentic: bool, base: Node | None) -> None:
    problems = [
        Problem(
            shape.at(found),
            "A recipe fragment may not write what the planner decides.",
            f"{'.'.join(path)}: {plain(found)}",
            "Remove the line; the master config and the point give the value.",
        )
        for path, found in _forbidden(node, single_node, agentic, base)
    ]
    if problems:
        raise RejectedInput(problems)


def _forbidden(
    node: Node, single_node: bool, agentic: bool, base: Node | None
) -> Iterator[tuple[tuple[str, ...], Node]]:
    for path in _PLANNED:
        found = _below(node, path)
        if found is not None:
            yield path, found
    for name in (*_PLANNED_ENV, *(("MODEL",) if single_node and agentic else ())):
        path = ("benchmark", "env", name)
        found = _below(node, path)
        if found is None:
            continue
        in_base = base is None or _below(base, path) is found
        if in_base or not single_node or name not in _VARIANT_ENV:
            yield path, found


def _below(node: Node, path: tuple[str, ...]) -> Node | None:
    for key in path:
        if not isinstance(node.value, dict) or key not in node.value:
            return None
        node = node.value[key]
    return node if node.value is not None else None
