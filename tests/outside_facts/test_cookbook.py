"""Purpose: AgentX snippets, deployment configurations and commands in code, as the cookbook publishes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.facts.commands_in_text import commands, flags_of
from app.facts.cookbook import Snippet, UnreadablePage, deployments, is_deployment_config


def worker(*args: list[str], **env: str) -> dict[str, Any]:
    return {
        "kind": "worker",
        "role": "agg",
        "workers": 1,
        "cmd": "python3 -m sglang.launch_server",
        "env": env,
        "args": list(args),
    }


def cell(key: str, routers: dict[str, Any], points: list[Any] | None = None, **more: Any) -> dict[str, Any]:
    submitted = more.pop("submitted", next(iter(routers)))
    blocks = {name: {"blocks": value} for name, value in routers.items()}
    return {
        "configKey": key,
        "hw": "gb200",
        "submitted": submitted,
        "points": points or [{"concs": [1]}],
        "routers": blocks,
        **more,
    }


def snippet(*cells: dict[str, Any], **more: Any) -> Snippet:
    return Snippet(f"// generated\n// by a script\nexport const agentx = {json.dumps({'cells': cells, **more})};\n")


def only(found: Snippet, key: str = "k", concurrency: int = 1) -> Any:
    (cell_,) = found.cells_of(key)
    (point,) = cell_.for_concurrency(concurrency)
    return point.blocks[0]


def test_a_reference_takes_the_block_of_another_cell_and_its_diff() -> None:
    found = snippet(
        cell("other", {"sglang": [worker(["--tp", "4"], ["--a"], A="1", B="2")]}),
        cell(
            "k",
            {
                "sglang": [
                    {
                        "ref": [0, "sglang", 0],
                        "diff": {"args": {"--tp": ["8"], "--a": None}, "env": {"A": None, "C": "3"}},
                    }
                ]
            },
        ),
    )
    block = only(found)
    assert block.args == {"--tp": ["8"]}
    assert block.env == {"B": "2", "C": "3"}
    assert block.program == "python3 -m sglang.launch_server"


def test_from_takes_the_block_of_the_submitted_router() -> None:
    found = snippet(
        cell(
            "k",
            {
                "dynamo": [{"kind": "etcd", "cmd": "etcd"}, worker(["--tp", "2"], ["--request-plane", "tcp"])],
                "sglang": [
                    {"from": 1, "cmd": "python3 -m sglang.launch_server", "diff": {"args": {"--request-plane": None}}}
                ],
            },
            submitted="dynamo",
        )
    )
    (dynamo,) = found.cells_of("k")
    assert [block.kind for block in dynamo.points[0].blocks] == ["etcd", "worker"]


def test_a_point_patches_the_blocks_of_its_cell_by_position() -> None:
    points = [
        {"concs": [1]},
        {"concs": [2, 3], "goldenAL": 4.05, "patch": {"sglang": [None, {"args": {"--x": ["9"]}, "env": {"E": "1"}}]}},
    ]
    found = snippet(cell("k", {"sglang": [worker(["--x", "0"]), worker(["--x", "1"])]}, points))
    (cell_,) = found.cells_of("k")
    (point,) = cell_.for_concurrency(3)
    assert [block.args["--x"] for block in point.blocks] == [["0"], ["9"]]
    assert point.blocks[1].env == {"E": "1"}
    assert point.golden_al == "4.05"
    assert cell_.for_concurrency(1)[0].blocks[1].args["--x"] == ["1"]


def test_a_shared_environment_is_looked_up() -> None:
    block = worker(["--tp", "4"])
    del block["env"]
    found = snippet(cell("k", {"sglang": [{**block, "envRef": 1}]}), envs=[{"A": "1"}, {"B": "2"}])
    assert only(found).env == {"B": "2"}


def test_provenance_and_image_are_kept() -> None:
    found = snippet(
        cell(
            "k",
            {"sglang": [worker()]},
            image="lmsysorg/sglang:x",
            prov={"sha": "bdfb83f2", "pr": 4343, "status": "verified-pr"},
        )
    )
    (cell_,) = found.cells_of("k")
    assert (cell_.image, cell_.provenance.pull_request, cell_.provenance.sha) == (
        "lmsysorg/sglang:x",
        "4343",
        "bdfb83f2",
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("export const other = {};", id="another export"),
        pytest.param("export const agentx = {cells: [}", id="no JSON"),
        pytest.param("export const agentx = []", id="a list"),
        pytest.param('export const agentx = {"cells": {}}', id="cells are no list"),
    ],
)
def test_a_file_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(UnreadablePage):
        Snippet(text)


@pytest.mark.parametrize(
    "block",
    [
        pytest.param({"ref": [0, "sglang", 0]}, id="a block that refers to itself"),
        pytest.param({"ref": [7, "sglang", 0]}, id="a cell that does not exist"),
        pytest.param({"ref": [0, "sglang", 5]}, id="a block that does not exist"),
        pytest.param({"ref": ["a", "b"]}, id="a malformed reference"),
        pytest.param({"envRef": 4}, id="a shared environment that does not exist"),
    ],
)
def test_a_reference_to_nowhere_is_an_error_not_a_loop(block: dict[str, Any]) -> None:
    with pytest.raises(UnreadablePage):
        snippet(cell("k", {"sglang": [block]})).cells_of("k")


def test_deployment_cells_are_read_without_running_the_script() -> None:
    text = """
export const config = {
  modelNames: { "default|bf16": "org/Model", "default|nvfp4": "org/Model-NVFP4" },
  // { match: { hw: "h100" } } in a comment is nothing
  cells: [
    { match: { hw: "b200", variant: "default", quant: "nvfp4", strategy: "dflash", nodes: "single" },
      env: ["SGLANG_X=1"],
      flags: [ "--model-path {{MODEL_NAME}}", "--tp 4", "--trust-remote-code" ] },
    { match: { hw: "h200", variant: "default", quant: "bf16", strategy: "standard", nodes: "single" },
      env: [], flags: ["--tp 8"] },
  ],
};
"""
    assert is_deployment_config(text)
    first, second = deployments(text)
    assert (first.hardware, first.model, first.command.env) == ("b200", "org/Model-NVFP4", {"SGLANG_X": "1"})
    assert first.command.args["--tp"] == ["4"]
    assert first.command.args["--trust-remote-code"] == []
    assert (second.hardware, second.command.args) == ("h200", {"--tp": ["8"]})


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        pytest.param(
            "--a 1 --b --c x y", {"--a": ["1"], "--b": [], "--c": ["x", "y"]}, id="values, a switch, several values"
        ),
        pytest.param("--a=1 --b='{\"x\": 2}'", {"--a": ["1"], "--b": ['{"x": 2}']}, id="equals signs and quotes"),
        pytest.param("--a -1", {"--a": ["-1"]}, id="a negative number is a value"),
        pytest.param("-tp 8", {"-tp": ["8"]}, id="one dash"),
    ],
)
def test_flags_of_a_command_line(text: str, flags: dict[str, list[str]]) -> None:
    assert flags_of(text) == flags


def test_commands_stand_in_fences_and_pre_elements() -> None:
    page = (
        "Text with vllm serve org/none\n\n```bash\nA=1 B=2 \\\n  vllm serve org/Model \\\n"
        "  --tensor-parallel-size 8\n# vllm serve org/old\n```\n"
        "<pre><code>python3 -m sglang.launch_server --model-path org/Other --tp&#32;4</code></pre>"
    )
    first, second = commands(page)
    assert (first.args, first.env) == (
        {"--tensor-parallel-size": ["8"], "--model": ["org/Model"]},
        {"A": "1", "B": "2"},
    )
    assert second.args == {"--model-path": ["org/Other"], "--tp": ["4"]}
