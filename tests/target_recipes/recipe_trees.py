"""Purpose: small trees for the recipe tests."""

from __future__ import annotations

from app.target.tree import Tree

SINGLE = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/model/sglang/gb200-fp4-mtp/agentic.yaml"
MULTI = "benchmarks/multi_node/srt-slurm-recipes/sglang/model/8k1k/one.yaml"


def tree_of(**files: str) -> Tree:
    """A complete October tree; keys are `recipe` (the single-node recipe) and `fragment`."""
    names = {"recipe": SINGLE, "fragment": "inferencex-e2e/configs/srt-recipes/agentic-single.yaml"}
    return Tree("abc1234", {names[key]: text.encode() for key, text in files.items()}, complete=True)


def august(text: str) -> Tree:
    return Tree("abc1234", {MULTI: text.encode()}, complete=True)
