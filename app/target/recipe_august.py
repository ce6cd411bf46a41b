"""Purpose: the first recipe schema (formats.md 11, August) as an EffectiveRecipe.

`backend.type`, else the one `<engine>_config` block, names the engine; `backend.<role>_environment` and `resources`
hold the roles. `model.{path,container,precision}` are names that the cluster resolves; `identity` holds the real ones
where the recipe gives them.

Invariant: GPUs per worker that the recipe leaves out are the role's nodes times the GPUs of a node, shared evenly among
its workers, which is what the harness launches; None where that does not divide.
"""

from __future__ import annotations

from collections.abc import Mapping

from app.target.recipe import EffectiveRecipe, Role, Setting
from app.target.recipe_document import Node, plain
from app.target.recipe_shape import Shape
from app.target.recipe_variants import Variant
from app.target.source import reject

_BLOCKS = {"sglang_config": "sglang", "vllm_config": "vllm", "trtllm_config": "trtllm", "atom_config": "atom"}
_SECTIONS = {"aggregated": "agg", "prefill": "prefill", "decode": "decode"}
_ENVIRONMENTS = tuple(f"{section}_environment" for section in _SECTIONS)


def read_august(shape: Shape, variant: Variant) -> EffectiveRecipe:
    """The effective recipe of one variant. Raises RejectedInput where engine or roles cannot be told."""
    top: Mapping[str, Node] = variant.node.value
    backend = shape.mapping(top, "backend")
    engine = _engine(shape, variant, backend)
    resources = shape.mapping(top, "resources")
    identity = shape.mapping(top, "identity")
    local = shape.settings(shape.mapping(top, "model"))
    frontend = shape.mapping(top, "frontend")
    benchmark = shape.mapping(top, "benchmark")
    dynamo = shape.settings(shape.mapping(top, "dynamo"))
    return EffectiveRecipe(
        path=shape.path,
        variant=variant.selector,
        name=shape.text(top, "name"),
        schema=1,
        engine=engine,
        frontend=shape.text(frontend, "type") or ("dynamo" if dynamo else ""),
        roles=_roles(shape, variant, engine, backend, resources),
        environment=shape.env(top, "environment"),
        benchmark=shape.settings(benchmark, without=("env",)),
        benchmark_env=shape.env(benchmark, "env"),
        image=shape.setting(shape.mapping(identity, "container"), "image") or local.get("container"),
        model=shape.setting(shape.mapping(identity, "model"), "repo") or _repository(local.get("path")),
        precision=local.get("precision"),
        setup_scripts=shape.scripts(top, "setup_script"),
        dynamo=dynamo,
        backend=shape.settings(backend, without=(*_BLOCKS, *_ENVIRONMENTS)),
        frontend_settings=shape.settings(frontend),
        resources=shape.settings(resources),
        raw=plain(variant.node),
        local_names=local,
    )


def _repository(path: Setting | None) -> Setting | None:
    """`hf:org/name` without its scheme."""
    if path is None:
        return None
    return Setting(str(path.value).removeprefix("hf:"), path.where)


def _engine(shape: Shape, variant: Variant, backend: Mapping[str, Node]) -> str:
    blocks = [key for key in _BLOCKS if key in backend and backend[key].value is not None]
    named = shape.text(backend, "type")
    if named:
        return named
    if len(blocks) == 1:
        return _BLOCKS[blocks[0]]
    found = ", ".join(blocks) or "no backend.type and no <engine>_config"
    where = shape.at(variant.node)
    raise reject(where, "The recipe must name its engine.", found, "Add backend.type: sglang, vllm or trtllm.", 1)


def _roles(
    shape: Shape, variant: Variant, engine: str, backend: Mapping[str, Node], resources: Mapping[str, Node]
) -> dict[str, Role]:
    sections = shape.mapping(backend, f"{engine}_config")
    for key, node in sections.items():
        if key not in _SECTIONS:
            rule = f"{engine}_config holds aggregated, prefill and decode only."
            raise reject(shape.at(node), rule, key, "Correct the name.", 1)
    roles = {}
    for section, name in _SECTIONS.items():
        if section not in sections:
            continue
        args = shape.args(engine, shape.mapping(sections, section))
        env = shape.env(backend, f"{section}_environment")
        nodes = shape.count(resources, f"{name}_nodes")
        workers = shape.count(resources, f"{name}_workers")
        gpus = shape.count(resources, f"gpus_per_{name}")
        if gpus is None:
            gpus = _even_share(nodes, workers, shape.count(resources, "gpus_per_node"))
        roles[name] = Role(name, nodes, workers, gpus, args, env)
    if not roles:
        found = f"no settings below {engine}_config"
        fix = f"Add backend.{engine}_config with aggregated, or prefill and decode."
        raise reject(shape.at(variant.node), "The recipe must serve at least one role.", found, fix, 1)
    return roles


def _even_share(nodes: int | None, workers: int | None, gpus_per_node: int | None) -> int | None:
    if not nodes or not workers or not gpus_per_node or nodes * gpus_per_node % workers:
        return None
    return nodes * gpus_per_node // workers
