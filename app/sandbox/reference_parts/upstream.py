"""Purpose: the upstream side of the reference story: the cookbook's AgentX snippet before and after the linked pull
request, the cookbook page and its source, the NVIDIA overview page.

Source: evidence.md 9.2 and 10.1. The GB200 cell's base command is that of c1; every other concurrency is a patch.

Invariant: values come from the settings table without what is harness-only, so they equal the effective recipe.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from app.sandbox.reference_parts import names
from app.sandbox.reference_parts.settings import CONCURRENCIES, Value, offloading, published
from app.sandbox.reference_parts.tree import text

GOLDEN = 4.05
HEADER = """// AgentX launch commands of Muse Spark Open, one cell a submission.
// Generated from the benchmark repository at the commits named in `prov`; do not edit by hand.
// Blocks may refer to other cells; points patch the blocks of their cell.
"""
_SPELLING = {"tensor-parallel-size": "tp-size", "expert-parallel-size": "ep-size"}


def snippet(merged: bool) -> str:
    """The snippet file: as merged, or as it stood before (one commit earlier of the benchmark, c12 still there)."""
    data = {
        "model": "Muse Spark Open",
        "generatedOn": "2026-10-21" if merged else "2026-10-16",
        "source": {"repo": names.REPOSITORY, "main": names.BASE_SHA, "prs": _source(merged)},
        "hardware": [{"id": "gb200", "label": "GB200"}, {"id": "b300", "label": "B300"}],
        "checkpoints": [{"id": names.MODEL, "precision": "nvfp4"}],
        "envs": [],
        "files": {},
        "kvMooncake": {},
        "cells": [_cell(merged), _neighbour()],
    }
    return f"{HEADER}export const agentx = {json.dumps(data, indent=2)};\n"


def _source(merged: bool) -> dict[str, Any]:
    told = {"run": names.RUN_ID, "sha": names.HEAD_SHA, "status": "verified-pr"}
    return {str(names.NUMBER): told} if merged else {}


def _cell(merged: bool) -> dict[str, Any]:
    if merged:
        prov = {"sha": names.HEAD_SHA, "pr": names.NUMBER, "status": "verified-pr", "run": names.RUN_ID}
    else:
        prov = {"sha": names.BASE_SHA, "pr": 4256, "status": "verified-pr"}
    return {
        "id": f"{names.KEY}#0",
        "hw": "gb200",
        "ckpt": names.MODEL,
        "label": "TP4 / EP4",
        "detail": "DFLASH 8",
        "gpus": 4,
        "configKey": names.KEY,
        "image": names.IMAGE,
        "imageStatus": "published",
        "submitted": "sglang",
        "disclosures": [],
        "kv": {"dtype": "fp8_e4m3"},
        "prov": prov,
        "points": _points() if merged else [_old_point()],
        "routers": {"sglang": {"install": [], "files": [], "blocks": [_block(*published(1))]}},
    }


def _block(args: Mapping[str, Value], env: Mapping[str, str]) -> dict[str, Any]:
    fixed = [["--model-path", names.MODEL], ["--host", "0.0.0.0"], ["--port", "30000"]]  # noqa: S104
    return {
        "kind": "worker",
        "role": "agg",
        "workers": 1,
        "nodes_per_worker": 1,
        "cmd": "python3 -m sglang.launch_server",
        "env": dict(env),
        "args": fixed + [[_flag(name), *_words(value)] for name, value in args.items()],
    }


def _flag(name: str) -> str:
    return f"--{_SPELLING.get(name, name)}"


def _words(value: Value) -> list[str]:
    return [] if value is True else [str(value)]


def _points() -> list[dict[str, Any]]:
    points = []
    for concurrency in CONCURRENCIES:
        point: dict[str, Any] = {"concs": [concurrency], "item": 0, "goldenAL": GOLDEN, "kv": offloading(concurrency)}
        if concurrency != 1:
            point["patch"] = {"sglang": [_diff(concurrency)]}
        points.append(point)
    return points


def _diff(concurrency: int) -> dict[str, Any]:
    """From the command of c1 to that of another concurrency; what is gone is null."""
    (old_args, old_env), (args, env) = published(1), published(concurrency)
    changed = {_flag(name): _words(value) for name, value in args.items() if old_args.get(name) != value}
    gone = {_flag(name): None for name in old_args if name not in args}
    new_env = {name: value for name, value in env.items() if old_env.get(name) != value}
    gone_env = {name: None for name in old_env if name not in env}
    return {"args": {**changed, **gone}, "env": {**new_env, **gone_env}}


def _old_point() -> dict[str, Any]:
    """Before: one group of all concurrencies, c12 among them, without patches."""
    return {"concs": sorted([*CONCURRENCIES, 12]), "item": 0, "goldenAL": GOLDEN, "kv": "dram"}


def _neighbour() -> dict[str, Any]:
    """Another submission of the page, by reference to the first cell's block."""
    diff = {"args": {"--tp-size": ["8"], "--ep-size": ["8"], "--mem-fraction-static": ["0.84"]}, "env": {}}
    return {
        "id": "musespark-fp4-b300-sglang-agentic-dflash#0",
        "hw": "b300",
        "ckpt": names.MODEL,
        "label": "TP8 / EP8",
        "detail": "DFLASH 8",
        "gpus": 8,
        "configKey": "musespark-fp4-b300-sglang-agentic-dflash",
        "image": names.IMAGE_NAME,
        "imageStatus": "published",
        "submitted": "sglang",
        "disclosures": [],
        "kv": {"dtype": "fp8_e4m3"},
        "prov": {"sha": "91f3c0de57a2b8460e19d4c7fb35028ad6e7415c", "pr": 4311, "status": "in-progress"},
        "points": [{"concs": [4, 12], "item": 0, "goldenAL": GOLDEN, "kv": "none"}],
        "routers": {"sglang": {"install": [], "files": [], "blocks": [{"ref": [0, "sglang", 0], "diff": diff}]}},
    }


def upstream_files(merged: bool) -> dict[str, str]:
    """Files of the upstream repository that the linked pull request touches or that lie beside them."""
    return {
        "README.md": "# SGLang\n\nFast serving of large language models.\n",
        names.COOKBOOK_FILE: text("cookbook.mdx"),
        names.SNIPPET: snippet(merged),
    }


def cookbook_page() -> str:
    """The published page."""
    return text("cookbook.html")


def overview_page() -> str:
    """The NVIDIA overview page, Markdown."""
    return text("overview.md")
