"""Purpose: what other hosts serve in a story: cookbook snippets, vLLM recipes, checkpoints, the overview page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import Any

from tests.support.shapes.story import Checkpoint, Server

HARNESS = ("served-model-name", "enable-metrics")
BYTES = {"BF16": 2, "F8_E4M3": 1, "U8": 1, "F32": 4}
OVERVIEW_URL = "https://docs.nvidia.com/llm-inference-quick-start-recipes/overview"


def block(server: Server, workers: int, nodes: int, program: str) -> dict[str, Any]:
    """A worker block of an AgentX snippet: the server's command without what is harness-only."""
    args = [["--model-path", "/model"], ["--host", "0.0.0.0"]]
    args += [[f"--{name}", *_words(value)] for name, value in server.args.items() if name not in HARNESS]
    made = {"kind": "worker", "role": server.role, "cmd": program, "env": dict(server.env), "args": args}
    return {**made, "workers": workers, "nodes_per_worker": nodes}


def _words(value: object) -> list[str]:
    return [] if value is True else [str(value)]


def patch(old: Server, new: Server) -> dict[str, Any]:
    """From one point's block to another's."""
    changed = {f"--{name}": _words(value) for name, value in new.args.items() if old.args.get(name) != value}
    gone = {f"--{name}": None for name in old.args if name not in new.args}
    return {"args": {**changed, **gone}, "env": {}}


def snippet(cells: Sequence[Mapping[str, Any]], model: str) -> str:
    data = {"model": model, "generatedOn": "2026-10-19", "envs": [], "files": {}, "cells": list(cells)}
    return f"// Launch commands, one cell a submission.\nexport const agentx = {json.dumps(data, indent=1)};\n"


def edit_cells(change: Callable[[dict[str, Any]], object], number: int | None = None) -> Callable[[str], str]:
    """A change of a snippet's text that edits its cells, or one of them. Other texts stay."""

    def edited(text: str) -> str:
        head, _, rest = text.partition("agentx = ")
        if not rest:
            return text
        data = json.loads(rest.rstrip().rstrip(";"))
        for cell in data["cells"] if number is None else [data["cells"][number]]:
            change(cell)
        return f"{head}agentx = {json.dumps(data, indent=1)};\n"

    return edited


def header(tensors: Mapping[str, tuple[str, list[int]]]) -> str:
    """The JSON at the start of a safetensors shard."""
    entries: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, (dtype, shape) in tensors.items():
        size = prod(shape) * BYTES[dtype]
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    return json.dumps(entries)


def checkpoint_files(one: Checkpoint) -> dict[str, str]:
    index = {"metadata": {}, "weight_map": dict.fromkeys(one.tensors, "model-00001-of-00001.safetensors")}
    return {"config.json": json.dumps(one.config), "model.safetensors.index.json": json.dumps(index)}


def overview(framework: Iterable[tuple[str, str, str, str]], dynamo: Iterable[tuple[str, str, str, str]]) -> str:
    """The page: rows are (model, SGLang, TRT-LLM, vLLM) with a link or "" in each cell."""

    def table(rows: Iterable[tuple[str, str, str, str]], lead: str) -> str:
        head = f"| Model | {lead}SGLang | {lead}TRT-LLM | {lead}vLLM |\n|---|---|---|---|\n"
        return head + "".join(f"| {name} | {' | '.join(map(_cell, cells))} |\n" for name, *cells in rows)

    return (
        f"# Quick start recipes\n\n## Framework Recipes\n\n{table(framework, '')}\n"
        f"## Dynamo Disaggregated Recipes\n\n{table(dynamo, 'Dynamo + ')}"
    )


def _cell(link: str) -> str:
    return f"[✅]({link})" if link.startswith("http") else link
