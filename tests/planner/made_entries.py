"""Purpose: small master entries, row by row, for the planner's tests. Everything is invented."""

from __future__ import annotations

HEAD = """\
{key}:
  image: {image}
  model: example/{model}
  model-prefix: {model}
  runner: {runner}
  precision: fp4
  framework: {framework}
  multinode: {multinode}
{more}  scenarios:
"""


def single(key: str, fixed: str = "", agentic: str = "", **values: str) -> str:
    """A single-node entry: `fixed` are 8k1k rows, `agentic` rows with half of the memory."""
    known = {"image": "example/engine:v1", "model": "mo", "runner": "cluster:alpha-one", "framework": "sglang"}
    text = HEAD.format(key=key, multinode="false", more="", **{**known, **values})
    if fixed:
        text += f"    fixed-seq-len:\n    - isl: 8192\n      osl: 1024\n      search-space:\n{rows(fixed)}"
    if agentic:
        text += f"    agentic-coding:\n    - dram-utilization: 0.5\n      search-space:\n{rows(agentic)}"
    return text


def multi(key: str, fixed: str = "", agentic: str = "", **values: str) -> str:
    """A disaggregated entry on nodes of four GPUs."""
    known = {"image": "example/engine:v1", "model": "mo", "runner": "cluster:beta-two", "framework": "dynamo-sglang"}
    more = "  disagg: true\n  kv-p2p-transfer: nixl\n"
    text = HEAD.format(key=key, multinode="true", more=more, **{**known, **values})
    if fixed:
        text += f"    fixed-seq-len:\n    - isl: 8192\n      osl: 1024\n      search-space:\n{rows(fixed)}"
    if agentic:
        text += f"    agentic-coding:\n    - dram-utilization: 0.5\n      search-space:\n{rows(agentic)}"
    return text


def rows(text: str) -> str:
    return "".join(f"      - {{ {line.strip()} }}\n" for line in text.strip().splitlines())


DRAM = "kv-offloading: dram, kv-offload-backend: { name: h }"


def pools(conc: str, ep: int = 4, more: str = "") -> str:
    """One row of two pools."""
    return (
        f"conc-list: {conc}, {more}prefill: {{ num-worker: 1, tp: 4, ep: {ep}, dp-attn: true }}, "
        "decode: { num-worker: 2, tp: 4, ep: 1, dp-attn: false }"
    )
