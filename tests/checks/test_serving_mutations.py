"""Purpose: one change of the recorded story, all files kept consistent, turns exactly one of the serving rows.

A setting of old stands in the recipe at base and head, on the upstream page and in the logs, so that neither the
comparison nor the description of the pull request is touched by it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from app.sandbox.reference_parts import names
from app.sandbox.reference_parts.tree import MATERIAL
from tests.support.bundles import EXAMPLE, Editor, flipped, good

RECIPE = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/musespark/sglang/gb200-fp4-mtp/agentic.yaml"
MASTER = "inferencex-e2e/configs/nvidia-master.yaml"
CHANGELOG = "inferencex-e2e/perf-changelog.yaml"
TRT = "qwen3.5-fp4-gb300-dynamo-trt-agentic-mtp-disagg"
TRT_RECIPE = "inferencex-e2e/benchmarks/multi_node/srt-slurm-recipes/qwen3.5/trtllm/gb300-fp4/agentx/disagg.yaml"
SIDES = ("merge_base", "head", "target")
BANNED = "SGLANG_NVFP4_CKPT_FP8_NEXTN_MOE"

pytestmark = pytest.mark.skipif(not EXAMPLE.exists(), reason="the example bundle is not recorded yet")


def recipe(editor: Editor, old: str, new: str) -> Editor:
    """Replace text in the recipe at every revision that has it."""
    for side in SIDES:
        if RECIPE in editor.sources[f"tree_{side}"]["files"]:
            editor.replace(RECIPE, old, new, (side,))
    return editor


def page(editor: Editor, change: Callable[[dict[str, Any]], object]) -> Editor:
    """Change the first cell of the upstream snippet."""
    with editor.outside_text("upstream", 0, names.SNIPPET) as text:
        head, _, rest = text[0].partition("agentx = ")
        data = json.loads(rest.rstrip().rstrip(";"))
        change(data["cells"][0])
        text[0] = f"{head}agentx = {json.dumps(data, indent=2)};\n"
    return editor


def block(cell: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = cell["routers"]["sglang"]["blocks"][0]
    return found


def argument(name: str, value: str) -> Editor:
    """A server flag of old: in the recipe, on the page and in every log."""
    editor = recipe(good(), "        megamoe: true\n", f"        megamoe: true\n        {name}: '{value}'\n")
    page(editor, lambda cell: block(cell)["args"].append([f"--{name}", value]))
    return editor.each_log(lambda log: log["server_args"]["agg"].update({name: {"value": value, "line": 41}}), job="")


def variable(name: str, value: str, *, logged: bool = True) -> Editor:
    """A variable of old: in the recipe, on the page and in every log."""
    editor = recipe(
        good(), "        PYTHONNOUSERSITE: '1'\n", f"        PYTHONNOUSERSITE: '1'\n        {name}: '{value}'\n"
    )
    page(editor, lambda cell: block(cell)["env"].update({name: value}))
    if logged:
        editor.each_log(lambda log: log["env"].update({name: {"value": value, "line": 42}}), job="")
    return editor


def image(name: str) -> Editor:
    """Another image of old, which the run pulled and measured."""
    editor = good()
    for side in SIDES:
        editor.replace(MASTER, names.IMAGE, name, (side,))
    page(editor, lambda cell: cell.update(image=name))
    editor.each_log(lambda log: log.update(images=[{"value": name, "line": 20}]), job="")
    for artifact in [item["name"] for item in editor.sources["artifacts"] if item["name"].startswith("bmk_")]:
        with editor.artifact(artifact) as row:
            row["image"] = name
    return editor


def log(job: str, change: Callable[[dict[str, Any]], object]) -> Editor:
    editor = good()
    found = [item for item in editor.sources["job_logs"] if item["job_name"].endswith(job)]
    assert len(found) == 1, job
    change(found[0])
    return editor


def upstream(**changes: Any) -> Editor:
    editor = good()
    with editor.record("upstream") as records:
        records[0].update(changes)
    return editor


def overview(old: str, new: str) -> Editor:
    editor = good()
    text = editor.blobs[editor.sources["overview"]["blob"]].decode()
    assert old in text
    editor.sources["overview"]["blob"] = editor._store(text.replace(old, new).encode())
    return editor


def draft_lines(text: str) -> Callable[[dict[str, Any]], object]:
    return lambda log: log.update(loads=[{"value": text, "line": 50}])


MUTATIONS = [
    pytest.param(
        3,
        lambda: page(good(), lambda cell: block(cell)["args"].append(["--page-size", "64"])),
        id="3.contradiction: the page has a flag more",
    ),
    pytest.param(
        3,
        lambda: page(good(), lambda cell: block(cell)["env"].update(SGLANG_TIMEOUT_KEEP_ALIVE="30")),
        id="3.contradiction: the page has another variable",
    ),
    pytest.param(
        3, lambda: upstream(state="open", merged_at="", merge_sha=""), id="3.open: the upstream pull request is open"
    ),
    pytest.param(3, lambda: upstream(contained=False), id="3.not-contained: the merge was taken back"),
    pytest.param(3, lambda: page(good(), lambda cell: cell["points"].pop(3)), id="3.missing-point: the page lacks c6"),
    pytest.param(6, lambda: image("rocm/sgl-dev:muse-spark"), id="6.not-upstream: a vendor's image"),
    pytest.param(6, lambda: image("docker.example/sglang:muse-spark"), id="6.not-upstream: another registry"),
    pytest.param(
        8, lambda: argument("json-model-override-args", '{"index_topk_freq": 4}'), id="8.forbidden: an indexer skip"
    ),
    pytest.param(8, lambda: variable("SGLANG_SKIP_LAYERS", "3", logged=False), id="8.environment: skipped layers"),
    pytest.param(
        9,
        lambda: log(" c10", lambda log: log["requests"].update({"POST /v1/completions": 13})),
        id="9.raw-endpoint: bare completions",
    ),
    pytest.param(
        9,
        lambda: recipe(
            good(),
            "      AGENTIC_WARMUP_GRACE_PERIOD: '1800'\n",
            "      AGENTIC_WARMUP_GRACE_PERIOD: '1800'\n      AIPERF_ENDPOINT: /generate\n",
        ),
        id="9.endpoint-override: another endpoint",
    ),
    pytest.param(
        10,
        lambda: recipe(
            good(), "  frontend:\n", "  container_mounts: [ '/x/fix.py:/sgl-workspace/sglang/fix.py' ]\n  frontend:\n"
        ),
        id="10.mount: over an engine file",
    ),
    pytest.param(
        11,
        lambda: log(" c10", lambda log: log["env"]["SGLANG_SIMULATE_ACC_LEN"].update(value="4.12")),
        id="11.wrong-value: the curve's next value",
    ),
    pytest.param(
        11,
        lambda: log(" c4", lambda log: log["env"].pop("SGLANG_SIMULATE_ACC_LEN")),
        id="11.real-acceptance: nothing injected",
    ),
    pytest.param(
        11,
        lambda: variable("SGLANG_SIMULATE_ACC_METHOD", "match-expected", logged=False),
        id="11.hard-coded: in the recipe",
    ),
    pytest.param(
        11,
        lambda: log("eval-only", lambda log: log["env"].update(SGLANG_SIMULATE_ACC_LEN={"value": "4.05", "line": 9})),
        id="11.eval-real: injected into the eval",
    ),
    pytest.param(13, lambda: variable(BANNED, "1"), id="13.banned: everywhere consistent"),
    pytest.param(
        13, lambda: log(" c6", draft_lines("role=draft type=X quant=fp8")), id="13.loaded-lower: quantized at load"
    ),
    pytest.param(
        13,
        lambda: argument("speculative-draft-kv-cache-dtype", "fp8_e5m2"),
        id="13.draft-kv: narrower than the target's",
    ),
    pytest.param(13, lambda: good().drop("checkpoints"), id="13.no-header: the checkpoint host is down"),
    pytest.param(16, lambda: overview("| Muse-Spark-Open |", "| Muse-Glimmer |"), id="16.no-row: another model"),
    pytest.param(
        16,
        lambda: overview("[✅](https://docs.sglang.io/cookbook/autoregressive/Meta/MuseSparkOpen)", ""),
        id="16.empty: an empty cell",
    ),
]


@pytest.mark.parametrize(("number", "make"), MUTATIONS)
def test_one_change_turns_one_row(number: int, make: Callable[[], Editor]) -> None:
    assert flipped(reference(), make().rows()) == {number: "FAIL"}


def test_an_unread_setup_script_turns_every_row_that_it_may_decide() -> None:
    """10.setup-script, 8.unread-script, 13.unread-script"""
    rows = recipe(good(), "  frontend:\n", "  setup_script: rebuild-engine.sh\n  frontend:\n").rows()
    assert flipped(reference(), rows) == {8: "FAIL", 10: "FAIL", 13: "FAIL"}
    assert all("setup script rebuild-engine.sh" in rows[number][1] for number in (8, 10, 13))


@cache
def reference() -> dict[int, tuple[str, str]]:
    return good().rows()


def metrics(backend: str, iteration: str = "true") -> Editor:
    """A small story of its own: the changelog names the Dynamo TensorRT-LLM key instead."""
    text = (Path(MATERIAL) / "base" / TRT_RECIPE).read_text(encoding="utf-8")
    text = text.replace("backend: { publish_metrics: true }", f"backend: {{ {backend} }}")
    text = text.replace("enable_iter_perf_stats: true", f"enable_iter_perf_stats: {iteration}")
    editor = good()
    for side in ("merge_base", "head"):
        editor.write(TRT_RECIPE, text, (side,))
    return editor.replace(CHANGELOG, f"    - {names.KEY}\n", f"    - {names.KEY}\n    - {TRT}\n")


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: metrics("publish_events_and_metrics: false"), id="17.combined-false: prohibited"),
        pytest.param(
            lambda: metrics("publish_events_and_metrics: true", "false"), id="17.iteration-off: no statistics"
        ),
        pytest.param(lambda: metrics("publish_metrics: false"), id="17.metrics-false: nothing published"),
    ],
)
def test_one_change_turns_the_metrics_row(make: Callable[[], Editor]) -> None:
    before = metrics("publish_events_and_metrics: true").rows()
    assert before[17][0] == "PASS", before[17]
    assert flipped(before, make().rows()) == {17: "FAIL"}
