"""Purpose: golden acceptance length (AL) curves, the curve that a submission must use, and what is injected from it.

Source: evidence.md 1. A curve gives the AL for a thinking mode and a draft length; the launcher injects it into
speculative AgentX runs. AL counts the one token that the target always yields, so 1 <= AL <= length + 1.

Invariants: values are decimals of the file's text, never floats. Every refusal names file and line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

from app.target.recipe import Speculation
from app.target.recipe_document import Node, mapping_of, read_document
from app.target.source import FileLine, reject
from app.target.speculation import BONUS_TOKEN
from app.target.tree import Tree

THINKING_MODES = ("thinking_on", "thinking_off")

_RUN = re.compile(rb"https://\S+/actions/runs/\d+")
_NAME = re.compile(r"[a-z0-9_.-]+\Z")
_EAGLE3_MODELS = ("kimik2.5", "minimaxm3")
_DSV4_MODELS = ("dsv4", "dsv4dspark", "dsv4dsparkprob")


@dataclass(frozen=True, slots=True)
class Cell:
    """One acceptance length and its line."""

    value: Decimal
    where: FileLine


@dataclass(frozen=True)
class Curve:
    """One curve file. `model` is its descriptive key; `cells` are by thinking mode and draft length; `source_run` is
    the address in its comment, "" where none stands there."""

    path: str
    model: str
    cells: Mapping[str, Mapping[int, Cell]]
    where: FileLine
    source_run: str = field(default="")


def read_curve(path: str, content: bytes, sha: str = "") -> Curve:
    """The curve of one file. Raises RejectedInput for several models, bad lengths and values outside [1, K + 1]."""
    root = read_document(path, content, sha)
    models = mapping_of(path, root, "A golden curve", sha)
    start = FileLine(path, root.line, 0, sha)
    if len(models) != 1:
        found = ", ".join(map(str, models)) or "none"
        raise reject(start, "A golden curve has exactly one top-level model.", found, "Keep one model in each file.")
    model, modes = next(iter(models.items()))
    cells: dict[str, dict[int, Cell]] = {}
    for mode, lengths in mapping_of(path, modes, str(model), sha).items():
        if mode not in THINKING_MODES:
            where = FileLine(path, lengths.line, lengths.column, sha)
            raise reject(where, "The thinking modes are thinking_on and thinking_off.", mode, "Correct the name.")
        by_length = mapping_of(path, lengths, mode, sha, any_keys=True)
        cells[mode] = {_length(path, key, node, sha): _cell(path, key, node, sha) for key, node in by_length.items()}
    run = _RUN.search(content)
    return Curve(path, str(model), cells, start, run.group().decode() if run else "")


def _length(path: str, key: object, node: Node, sha: str) -> int:
    if isinstance(key, bool) or not isinstance(key, int) or key <= 0:
        where = FileLine(path, node.line, 0, sha)
        raise reject(where, "A draft length must be a positive whole number.", key, "Write it as 1, 2, 3, ...")
    return key


def _cell(path: str, key: object, node: Node, sha: str) -> Cell:
    where = FileLine(path, node.line, node.column, sha)
    try:
        value = Decimal(str(node.value))
    except InvalidOperation:
        value = Decimal("NaN")
    if isinstance(node.value, bool) or not value.is_finite():
        raise reject(where, "An acceptance length must be a finite number.", node.value, "Write the measured value.")
    if isinstance(key, int) and not BONUS_TOKEN <= value <= key + BONUS_TOKEN:
        rule = f"The acceptance length for {key} draft tokens must lie between 1 and {key + 1}."
        raise reject(where, rule, value, "Correct the value or the draft length.")
    return Cell(value, where)


def curve_name(model_prefix: str, speculation: Speculation) -> str:
    """The curve that a model and a speculative method use (evidence.md 1.4).

    Raises RejectedInput where the name is not well formed and where Kimi-K3's draft sampler is not stated.
    """
    method = speculation.method.lower()
    where = speculation.decided_by.where
    if method in ("eagle", "nextn"):
        method = "eagle3" if model_prefix in _EAGLE3_MODELS else "mtp"
    name = f"{model_prefix}_{method}"
    if method == "dspark" and model_prefix in _DSV4_MODELS:
        name = "dsv4-pro-0813-dspark"
    elif model_prefix == "minimaxm3" and method == "eagle3" and "gqa" in (speculation.draft_model or "").lower():
        name = f"{name}_gqa"
    elif model_prefix == "kimik3" and method == "dspark":
        name = _kimi(name, speculation)
    if not _NAME.match(name):
        raise reject(where, "A curve name holds a-z, 0-9, _, . and - only.", name, "Correct prefix or method.")
    return name


def _kimi(name: str, speculation: Speculation) -> str:
    sampler = speculation.draft_sample_method
    if sampler == "greedy":
        return name
    if sampler == "probabilistic":
        return f"{name}_probabilistic_sample_method_block_rejection_sample_method"
    rule = "Kimi-K3 with DSpark needs draft_sample_method greedy or probabilistic."
    raise reject(speculation.decided_by.where, rule, sampler, "State the sampler in the speculative settings.")


def find_curve(tree: Tree, model_prefix: str, speculation: Speculation) -> Curve:
    """The committed curve of a submission. Raises RejectedInput where there is none."""
    path = f"{tree.layout.golden_curves}{curve_name(model_prefix, speculation)}.yaml"
    content = tree.read(path)
    if content is None:
        rule = f"There is no committed golden curve for {model_prefix} with {speculation.method}."
        raise reject(FileLine(path, 1, 0, tree.revision), rule, "no such file", "Commit the curve first.", 1)
    return read_curve(path, content, tree.revision)


def acceptance_length(curve: Curve, thinking: str, length: int | None) -> Cell:
    """The curve's value for a thinking mode and draft length. Raises RejectedInput where it was not measured."""
    modes = curve.cells.get(thinking)
    if modes is None:
        known = ", ".join(curve.cells)
        raise reject(curve.where, f"The curve has no {thinking}.", f"only {known}", "Use a measured thinking mode.")
    if length is None:
        raise reject(curve.where, "The draft length is not stated.", "none", "State it in the recipe.")
    if isinstance(length, bool) or length <= 0:
        raise reject(curve.where, "A draft length must be a positive whole number.", length, "Correct the recipe.")
    cell = modes.get(length)
    if cell is None:
        found = f"{thinking} ends at {max(modes)}" if modes else f"{thinking} is empty"
        fix = "Choose a measured length, or commit a longer curve first."
        raise reject(curve.where, f"The curve has no value for {length} draft tokens.", found, fix)
    return cell


def shown(value: Decimal) -> str:
    """A value as logs print it (`%g`): 4.05, 3 for 3.00, 2.5 for 2.50."""
    return f"{float(value):g}"


def injected(engine: str, value: Decimal, length: int) -> Mapping[str, str]:
    """What the launcher sets for one speculative role so that acceptance follows the curve (evidence.md 1.6).

    Keys are environment variables for sglang, trtllm and tilert, keys of speculative-config for vllm, and arguments
    for atom. Raises ValueError for an unknown engine or a value outside [1, length + 1].
    """
    if not BONUS_TOKEN <= value <= length + BONUS_TOKEN:
        raise ValueError(f"an acceptance length of {value} is impossible with {length} draft tokens")
    if engine == "sglang":
        return {
            "SGLANG_SIMULATE_ACC_LEN": shown(value),
            "SGLANG_SIMULATE_ACC_METHOD": "match-expected",
            "SGLANG_SIMULATE_ACC_TOKEN_MODE": "real-draft-token",
        }
    if engine == "vllm":
        return {"rejection_sample_method": "synthetic", "synthetic_acceptance_length": shown(value)}
    if engine == "trtllm":
        return {"TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS": shown(value - BONUS_TOKEN)}
    if engine == "atom":
        return {"spec-decode-acceptance-length": shown(value)}
    if engine == "tilert":
        return {"TILERT_SIMULATE_ACC_LEN": shown(value), "TILERT_SIMULATE_ACC_METHOD": "match-expected"}
    raise ValueError(f"no engine is called {engine}")
