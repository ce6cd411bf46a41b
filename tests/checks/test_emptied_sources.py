"""Purpose: no source of evidence is decoration: emptied or not gathered, each turns at least one row of every bundle.

"Emptied" is an answer without content (no comments, no files), "not gathered" a host that failed. A source that a
bundle does not hold, or that holds nothing there, is not tried. `TURNS_NOTHING` lists what may be emptied, each with
the reason; a listed source that turns a row fails here, so that the list cannot grow stale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from tests.support.bundles import Editor, flipped, good
from tests.support.shapes import (
    append_only,
    atom_mi355x,
    engine_patch,
    image_bump,
    new_model,
    no_config,
    removals,
    retired_model,
    sglang_disagg,
    trtllm_metrics,
    vllm_fixed,
)
from tests.support.shapes.build import build

REFERENCE = "the reference bundle"
MADE: Mapping[str, Callable[[], Editor]] = {
    REFERENCE: good,
    "Dynamo SGLang": lambda: build(sglang_disagg.story()),
    "Dynamo TensorRT-LLM": lambda: build(trtllm_metrics.story()),
    "vLLM 8k1k": lambda: build(vllm_fixed.story()),
    "ATOM on MI355X": lambda: build(atom_mi355x.story()),
    "append-only": lambda: build(append_only.story()),
    "a new model": lambda: build(new_model.story()),
    "an image bump": lambda: build(image_bump.story()),
    "a retired model": lambda: build(retired_model.story()),
    "no config": lambda: build(no_config.story()),
    "an engine patch with a waiver": lambda: build(engine_patch.story()),
    "removals only": lambda: build(removals.story()),
}

EVERYWHERE, EITHER = "every bundle", "empty or gone"
TURNS_NOTHING: Mapping[tuple[str, str, str], str] = {
    (EVERYWHERE, "teams", EITHER): "the signer owns each file by name; teams only answer where no signer does",
    ("Dynamo TensorRT-LLM", "upstream", EITHER): "check 3 covers SGLang and vLLM alone",
    ("ATOM on MI355X", "upstream", EITHER): "check 3 covers SGLang and vLLM alone",
    ("a retired model", "job_logs", EITHER): "nothing drafts; rows 3 and 8 then say that they read the recipe alone",
    ("no config", "commits", "empty"): "commits are asked for the run's commit alone, and there is no run",
    ("removals only", "commits", "empty"): "commits are asked for the run's commit alone, and there is no run",
}
_ROWS: dict[str, dict[int, tuple[str, str]]] = {}


def emptied(value: Any) -> Any:
    """The same answer without content; a tree keeps its revision."""
    if isinstance(value, list):
        return []
    if "files" in value and "revision" in value:
        return {**value, "files": {}, "absent": []}
    return {}


def empty(editor: Editor, source: str) -> Editor:
    return editor.set_record(source, emptied(editor.sources[source]))


def gone(editor: Editor, source: str) -> Editor:
    return editor.drop(source)


def cases() -> Iterator[object]:
    for name, make in MADE.items():
        editor = make()
        for source in sorted(editor.sources):
            if editor.sources[source] != emptied(editor.sources[source]):
                for change in (empty, gone):
                    yield pytest.param(name, source, change, id=f"{name}: {source} {change.__name__}")


def excepted(name: str, source: str, how: str) -> bool:
    return any((place, source, ways) in TURNS_NOTHING for place in (name, EVERYWHERE) for ways in (how, EITHER))


@pytest.mark.parametrize(("name", "source", "change"), list(cases()))
def test_a_source_without_content_turns_a_row(name: str, source: str, change: Callable[[Editor, str], Editor]) -> None:
    if name not in _ROWS:
        _ROWS[name] = MADE[name]().rows()
    verdict = change(MADE[name](), source).verdict()
    assert not verdict.internal_errors
    after = {row.number: (row.status.value, row.result.reason) for row in verdict.rows}
    turned = flipped(_ROWS[name], after)
    assert bool(turned) is not excepted(name, source, change.__name__), turned
    assert not {"PASS", "N/A"} & set(turned.values()), turned


def test_every_exception_names_a_bundle_a_source_and_its_reason() -> None:
    sources = {name: set(make().sources) for name, make in MADE.items()}
    for (name, source, _), reason in TURNS_NOTHING.items():
        assert reason
        assert all(source in held for held in sources.values()) if name == EVERYWHERE else source in sources[name]


def test_without_job_logs_the_rows_say_that_they_read_the_recipe_alone() -> None:
    before, after = MADE["a retired model"]().rows(), gone(MADE["a retired model"](), "job_logs").rows()
    for number in (3, 8):
        assert "recipe and job log" in before[number][1]
        assert "job log" not in after[number][1]
