"""Purpose: GLM-5.3 on GB200, SGLang behind Dynamo, prefill and decode apart: the good story, and one change each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.bundles import Editor
from tests.support.shapes import ground, outside
from tests.support.shapes.build import build
from tests.support.shapes.sglang_disagg import IMAGE, MODEL, RECIPE, story
from tests.support.shapes.story import Row, Server, Story, frontier
from tests.support.shapes.verdicts import assert_rows, assert_turned, passing

EXPECTED = passing(na=(12, 17))
BANNED = "SGLANG_NVFP4_CKPT_FP8_NEXTN_MOE"


def test_the_good_story_passes() -> None:
    assert_rows(story(), EXPECTED)


def cell(change: Callable[[dict[str, Any]], object]) -> Story:
    """The same story with another first cell on the upstream page."""
    return story().with_page(outside.edit_cells(change, 0))


def block(one: dict[str, Any], place: int) -> dict[str, Any]:
    found: dict[str, Any] = one["routers"]["dynamo"]["blocks"][place]
    return found


def argument(place: int, flag: str, value: str) -> Story:
    def changed(one: dict[str, Any]) -> None:
        args = block(one, place)["args"]
        assert any(pair[0] == flag for pair in args)
        block(one, place)["args"] = [[flag, value] if pair[0] == flag else pair for pair in args]

    return cell(changed)


def direct(one: dict[str, Any]) -> None:
    """The same commands, published for a server without Dynamo."""
    one["routers"]["sglang"] = one["routers"].pop("dynamo")
    one["submitted"] = "sglang"


def of_old(flag: str, value: str) -> Story:
    """A flag that decode had all along: in the recipe, on the page and in every log."""
    anchor = "        mem-fraction-static: 0.86\n"
    made = story().edited(RECIPE, anchor, f"{anchor}        {flag}: '{value}'\n", of_old=True)
    made = made.with_page(outside.edit_cells(lambda one: block(one, 2)["args"].append([f"--{flag}", value])))
    return made.serving(lambda one: one.with_args(**{flag: value}), "decode")


def variable(name: str, value: str, role: str, *, published: bool = True) -> Story:
    """A variable that one role had all along."""
    place, known = {"prefill": (1, "ALIVE: '900'"), "decode": (2, "ALIVE: '600'")}[role]
    made = story().edited(RECIPE, known, f"{known}, {name}: '{value}'", of_old=True)
    if published:
        made = made.with_page(outside.edit_cells(lambda one: block(one, place)["env"].update({name: value})))
    return made.serving(lambda one: replace(one, env={**one.env, name: value}), role)


def image(name: str) -> Story:
    """Another image of old, which the page names and the run pulled."""
    made = story().edited(ground.NVIDIA, IMAGE, name, of_old=True).with_page(lambda text: text.replace(IMAGE, name))
    return replace(made, image=name)


def job(name: str, **fields: Any) -> Editor:
    editor = build(story())
    with editor.record("jobs") as jobs:
        found = [one for one in jobs if name in one["name"]]
        assert len(found) == 1, name
        found[0].update(fields)
    return editor


def without_an_eval() -> Editor:
    editor = job("c16 | eval-only", conclusion="skipped", runner_name="", steps=0)
    with editor.artifact("eval_results_all") as rows:
        rows.pop(0)
    return editor


def thin(row: Row, conc: int) -> tuple[float, float]:
    """Concurrency 64 is worse than 32 in both directions."""
    return (30.0, 1000.0) if conc == 64 else frontier(row, conc)


def slow_decode(server: Server) -> Server:
    return server.with_args(mem_fraction_static=0.8)


def signed_by(login: str) -> Editor:
    editor = build(story())
    with editor.record("comments") as comments:
        comments[-1]["author"]["login"] = login
    editor.sources["permissions"][login] = {"permission": "write", "role_name": "write"}
    return editor


def item(words: str, answer: str) -> Story:
    return replace(story(), answers={words: answer})


def mounted() -> Story:
    mount = '  container_mounts: ["/lustre/patched/engine.py:/sgl-workspace/sglang/engine.py"]\n'
    return story().edited(RECIPE, "  engine: sglang\n", f"  engine: sglang\n{mount}", of_old=True)


BAD: dict[str, tuple[Callable[[], Story | Editor], dict[int, str], str]] = {
    "0 an outsider signs": (lambda: signed_by(ground.OUTSIDER), {0: "FAIL"}, "does not own"),
    "1 the c32 job failed": (lambda: job("mtp c32", conclusion="failure"), {1: "FAIL"}, "c32: its job ended with"),
    "1 and 2 an eval was skipped": (without_an_eval, {1: "FAIL", 2: "FAIL"}, "eval c16: its job did not run"),
    "2 the score is below the default bar": (lambda: replace(story(), score=0.88), {2: "FAIL"}, "0.88"),
    "3 the page has another prefill setting": (
        lambda: argument(1, "--mem-fraction-static", "0.7"),
        {3: "FAIL"},
        "mem-fraction-static",
    ),
    "3 the decode servers ran with another setting than page and recipe": (
        lambda: story().serving(slow_decode, "decode"),
        {3: "FAIL"},
        "of decode",
    ),
    "3 the page lacks a decode variable": (
        lambda: variable("SGLANG_OPT_CACHE_SLOTS", "2", "decode", published=False),
        {3: "FAIL"},
        "SGLANG_OPT_CACHE_SLOTS",
    ),
    "3 the page has another router mode": (
        lambda: argument(0, "--router-mode", "round-robin"),
        {3: "FAIL"},
        "of frontend",
    ),
    "3 the page is for a server without Dynamo": (lambda: cell(direct), {3: "FAIL"}, "the router"),
    "3 the page has one decode worker too many": (
        lambda: cell(lambda one: block(one, 2).update(workers=2)),
        {3: "FAIL"},
        "number of workers",
    ),
    "3 the page has no c8": (
        lambda: cell(lambda one: one["points"][0].update(concs=[4, 16])),
        {3: "FAIL"},
        "(c8)",
    ),
    "3 the upstream pull request is open": (
        lambda: replace(story(), upstream=(replace(story().upstream[0], state="OPEN", merged_at="", contained=None),)),
        {3: "FAIL"},
        "is open, not merged",
    ),
    "4 nobody pinned the run": (lambda: replace(story(), used=False), {4: "WARN"}, "no reuse command"),
    "5 an item is open": (
        lambda: item(
            "Read the whole change",
            "- [ ] Read the whole change and found its code quality no worse than what it replaces.",
        ),
        {5: "FAIL"},
        "is open without an explanation",
    ),
    "6 a vendor's build of the engine": (
        lambda: image("nvcr.io/nvidia/sglang:26.09"),
        {6: "FAIL"},
        "not an upstream image",
    ),
    "7 the scenario is over": (
        lambda: story().edited(
            ground.MODELS,
            "| Agentic coding | Single-turn 1k1k |\n| DeepSeek-V4.1-Flash",
            "| None (fully retired 2026-10-20) | Agentic coding |\n| DeepSeek-V4.1-Flash",
            of_old=True,
        ),
        {7: "FAIL"},
        "retired",
    ),
    "8 decode skips layers": (
        lambda: of_old("json-model-override-args", '{"num_hidden_layers": 1}'),
        {8: "FAIL"},
        "num_hidden_layers",
    ),
    "9 prompts went to the raw endpoint": (
        lambda: replace(story(), requests={"POST /v1/completions": 4}),
        {9: "FAIL"},
        "/v1/completions",
    ),
    "10 a file of the engine is mounted over": (mounted, {10: "FAIL"}, "mounts a file over /sgl-workspace"),
    "11 one point ran at another length": (
        lambda: replace(story(), simulated={16: "3.1"}),
        {11: "FAIL"},
        "SGLANG_SIMULATE_ACC_LEN=3.1",
    ),
    "11 one point drafted for real": (
        lambda: replace(story(), simulated={64: ""}),
        {11: "FAIL"},
        "real acceptance",
    ),
    "13 the banned variable in prefill alone": (lambda: variable(BANNED, "1", "prefill"), {13: "FAIL"}, BANNED),
    "13 the logs load the draft in 8 bits": (
        lambda: replace(story(), loads=replace(story().loads, draft_dtype="torch.float8_e4m3fn")),
        {13: "FAIL"},
        "loaded the draft as torch.float8_e4m3fn",
    ),
    "14 four points on the frontier": (lambda: replace(story(), measured=thin), {14: "WARN"}, "4 of 5 points"),
    "15 the description removes a point that stays": (
        lambda: replace(story(), body=f"{story().body}- Removes concurrency 8.\n"),
        {15: "WARN"},
        "contradicted",
    ),
    "16 only the table of direct servers lists the model": (
        lambda: replace(
            story(),
            overview=outside.overview(
                [("GLM-5.3", "https://docs.sglang.io/cookbook/GLM", "", "")], [("GLM-5.3", "", "", "")]
            ),
        ),
        {16: "FAIL"},
        "Dynamo + SGLang cell of GLM-5.3 is empty",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_one_change_turns_its_row(name: str) -> None:
    make, turned, words = BAD[name]
    assert_turned(story, make(), turned, words)


def test_the_model_is_the_same_in_every_file() -> None:
    assert all(MODEL in text for text in (story().at_head(ground.NVIDIA), story().at_head(RECIPE)))
