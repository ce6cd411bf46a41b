"""Purpose: Qwen3.5 on GB300, TensorRT-LLM behind Dynamo: every row of the metrics table, and other changes.

The table (check 17): an explicit false of the combined switch fails; metrics off without the combined switch fails;
iteration statistics off for a serving role fail; combined on, or metrics alone on a Dynamo that has the flag, passes
with statistics on; anything else names the Dynamo version or the srt-slurm pin that is not resolved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.bundles import Editor
from tests.support.shapes import ground, outside
from tests.support.shapes.build import build
from tests.support.shapes.story import Story
from tests.support.shapes.trtllm_metrics import OTHER, RECIPE, STATS, WHEEL, metrics, story
from tests.support.shapes.verdicts import assert_rows, assert_turned, passing, rows_of

EXPECTED = passing(na=(3, 12))
OFF = STATS.replace("true", "false")
COMBINED_BY_DEFAULT, OFF_BY_DEFAULT = (
    "c1fb6989fc5aca803b4ca0f2d17d8be85fad9732",
    "c180328b98c3793ca84a1e24a030f90545eb7d5d",
)
UNPRINTED = "publish_metrics: true"


def test_the_good_story_passes() -> None:
    assert_rows(story(), EXPECTED)


def with_policy(made: Story, **values: Any) -> Editor:
    editor = build(made)
    editor.policy["metrics"] |= values
    return editor


def in_log(made: Story, *lines: str) -> Story:
    return replace(made, log_lines=lines)


def stats_of_decode() -> Story:
    """Statistics off for decode alone, in recipe and generated configuration."""
    made = story().edited(
        RECIPE, f"moe_expert_parallel_size: 2\n{STATS}", f"moe_expert_parallel_size: 2\n{OFF}", of_old=True
    )
    return made.serving(lambda one: replace(one, config={**one.config, "enable_iter_perf_stats": False}), "decode")


def version(text: str, made: Story) -> Story:
    """Another source of Dynamo, of old."""
    return made.edited(RECIPE, f'source: {{ wheel: "{WHEEL}" }}', text, of_old=True)


def events_off() -> Story:
    made = metrics("publish_metrics: true", "publish-metrics", "no-publish-kv-events")
    old = "kv_cache_config: { dtype: fp8, free_gpu_memory_fraction: 0.8 }"
    return made.edited(RECIPE, old, old.replace(" }", ", event_buffer_max_size: 0 }"), of_old=True)


TABLE: dict[str, tuple[Callable[[], Story | Editor], str, str]] = {
    "combined on": (
        lambda: metrics("publish_events_and_metrics: true", "publish-events-and-metrics"),
        "PASS",
        "publish_events_and_metrics is on",
    ),
    "combined on, metrics alone off": (
        lambda: metrics("publish_events_and_metrics: true, publish_metrics: false", "publish-events-and-metrics"),
        "PASS",
        "publish_events_and_metrics is on",
    ),
    "combined explicitly false": (
        lambda: metrics("publish_events_and_metrics: false"),
        "FAIL",
        "publish_events_and_metrics is false",
    ),
    "combined explicitly false although metrics are on": (
        lambda: metrics("publish_events_and_metrics: false, publish_metrics: true", "publish-metrics"),
        "FAIL",
        "publish_events_and_metrics is false",
    ),
    "metrics explicitly false, combined left out": (
        lambda: metrics("publish_metrics: false"),
        "FAIL",
        "publish_metrics is false",
    ),
    "the worker's command says no": (
        lambda: metrics("", "no-publish-metrics"),
        "FAIL",
        "publish_metrics is false",
    ),
    "iteration statistics off for decode": (stats_of_decode, "FAIL", "iteration statistics are off for decode"),
    "iteration statistics off for both roles": (
        lambda: metrics("publish_metrics: true", "publish-metrics", stats=OFF, logged=False),
        "FAIL",
        "iteration statistics are off for prefill",
    ),
    "combined on, iteration statistics off": (
        lambda: metrics("publish_events_and_metrics: true", "publish-events-and-metrics", stats=OFF, logged=False),
        "FAIL",
        "iteration statistics are off",
    ),
    "metrics alone, shown by the worker's command": (
        lambda: metrics("publish_metrics: true", "publish-metrics"),
        "PASS",
        f"publish_metrics is on (log), iteration statistics on for prefill and decode; Dynamo {WHEEL}",
    ),
    "metrics alone on a Dynamo that has the flag": (
        lambda: with_policy(metrics(UNPRINTED), metrics_flag_from="1.5.0.dev20260915"),
        "PASS",
        "publish_metrics is on (recipe)",
    ),
    "metrics alone on a Dynamo before the flag": (
        lambda: with_policy(metrics(UNPRINTED), metrics_flag_from="1.5.0"),
        "FAIL",
        f"could not be verified: --publish-metrics of Dynamo {WHEEL} (older than 1.5.0)",
    ),
    "metrics alone, and no policy says which Dynamo has the flag": (
        lambda: metrics(UNPRINTED),
        "FAIL",
        f"could not be verified: --publish-metrics of Dynamo {WHEEL}",
    ),
    "metrics alone on a Dynamo built from a hash": (
        lambda: with_policy(
            version("source: { hash: 0123456789abcdef0123456789abcdef01234567 }", metrics(UNPRINTED)),
            metrics_flag_from="1.5.0",
        ),
        "FAIL",
        "could not be verified: --publish-metrics of Dynamo 0123456",
    ),
    "metrics alone on the container's Dynamo, which the log names": (
        lambda: with_policy(
            in_log(
                version("install: false", metrics(UNPRINTED)).edited(RECIPE, "install: true, ", "", of_old=True),
                "[node] Requirement already satisfied: ai-dynamo==1.6.0",
            ),
            metrics_flag_from="1.5.0",
        ),
        "PASS",
        "Dynamo 1.6.0",
    ),
    "metrics alone on the container's Dynamo, which nothing names": (
        lambda: with_policy(
            version("install: false", metrics(UNPRINTED)).edited(RECIPE, "install: true, ", "", of_old=True),
            metrics_flag_from="1.5.0",
        ),
        "FAIL",
        "could not be verified: the Dynamo version",
    ),
    "both left out, the pin publishes both": (
        lambda: replace(metrics(""), srt_slurm=COMBINED_BY_DEFAULT),
        "PASS",
        "publish_events_and_metrics is on (default)",
    ),
    "both left out, the pin publishes nothing": (
        lambda: replace(metrics(""), srt_slurm=OFF_BY_DEFAULT),
        "FAIL",
        "both switches are off by default of the pinned srt-slurm",
    ),
    "both left out, the pin is not known": (
        lambda: metrics(""),
        "FAIL",
        f"could not be verified: defaults of srt-slurm {ground.SRT_SLURM[:12]}",
    ),
    "both left out, no log names the pin": (
        lambda: replace(metrics(""), srt_slurm=""),
        "FAIL",
        "could not be verified: the srt-slurm pin",
    ),
    "iteration statistics left out, the pin is not known": (
        lambda: metrics("publish_events_and_metrics: true", "publish-events-and-metrics", stats="", logged=None),
        "FAIL",
        "the recipe leaves enable_iter_perf_stats out for prefill and decode",
    ),
    "iteration statistics left out, the generated configuration has them on": (
        lambda: metrics("publish_events_and_metrics: true", "publish-events-and-metrics", stats="", logged=True),
        "PASS",
        "iteration statistics on for prefill and decode",
    ),
    "metrics alone by variable, and no policy says which Dynamo has the flag": (
        lambda: in_log(metrics(""), "[launch] roles.decode.env: DYN_TRTLLM_PUBLISH_METRICS=true"),
        "FAIL",
        "could not be verified",
    ),
    "both by variable": (
        lambda: in_log(metrics(""), "[launch] roles.decode.env: DYN_TRTLLM_PUBLISH_EVENTS_AND_METRICS=true"),
        "PASS",
        "publish_events_and_metrics is on (log's environment)",
    ),
    "the combined variable is false": (
        lambda: in_log(
            metrics("publish_metrics: true", "publish-metrics"),
            "[launch] roles.decode.env: DYN_TRTLLM_PUBLISH_EVENTS_AND_METRICS=false",
        ),
        "FAIL",
        "publish_events_and_metrics is false",
    ),
    "events off decide nothing": (events_off, "PASS", "publish_metrics is on"),
    "return_perf_metrics decides nothing": (
        lambda: story().edited(RECIPE, STATS, f"{STATS}        return_perf_metrics: false\n", of_old=True),
        "PASS",
        "publish_metrics is on",
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_row_of_the_metrics_table(name: str) -> None:
    make, status, words = TABLE[name]
    rows = rows_of(make())
    assert rows[17][0] == status, rows[17]
    assert words in rows[17][1]
    assert {number: rows[number] for number in EXPECTED if number != 17 and rows[number][0] != EXPECTED[number]} == {}


def direct() -> Story:
    """The same servers without Dynamo: TensorRT-LLM's own."""
    made = story().edited(RECIPE, "frontend: { type: dynamo,", "frontend: { type: trtllm_serve,", of_old=True)
    page = outside.overview([("Qwen3.5", "", "https://nvidia.github.io/TensorRT-LLM/qwen3.5.html", "")], [])
    return replace(made, overview=page)


BAD: dict[str, tuple[Callable[[], Story | Editor], dict[int, str], str]] = {
    "17 does not apply to trtllm-serve": (direct, {17: "N/A"}, "through Dynamo"),
    "6 no open-source engine came first": (
        lambda: story().edited(ground.NVIDIA, OTHER, "", of_old=True),
        {6: "FAIL"},
        "before any open-source engine",
    ),
    "11 the bonus token is counted": (
        lambda: replace(story(), accepted="3.39"),
        {11: "FAIL"},
        "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS=3.39",
    ),
    "11 the variable stands in the recipe": (
        lambda: story().edited(
            RECIPE,
            "    decode:\n",
            "    decode:\n      env: { TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS: '2.39' }\n",
            of_old=True,
        ),
        {11: "FAIL"},
        "hard-codes",
    ),
    "13 the checkpoint's draft was not gathered": (
        lambda: replace(story(), checkpoints=()),
        {13: "FAIL"},
        "could not be verified",
    ),
    "16 the cell has no link": (
        lambda: replace(story(), overview=outside.overview([], [("Qwen3.5", "", "soon", "")])),
        {16: "FAIL"},
        "without a link",
    ),
    "2 the bar is the model's own": (lambda: replace(story(), score=0.935), {2: "FAIL"}, "0.94"),
}


@pytest.mark.parametrize("name", BAD)
def test_one_change_turns_its_row(name: str) -> None:
    make, turned, words = BAD[name]
    assert_turned(story, make(), turned, words)


def test_an_open_source_entry_of_the_same_pull_request_does_not_come_first() -> None:
    made = story().edited(ground.NVIDIA, OTHER, "", of_old=True)
    both = replace(made, head={**made.head, ground.NVIDIA: story().at_head(ground.NVIDIA)})
    status, reason = rows_of(both)[6]
    assert (status, "before any open-source engine" in reason) == ("FAIL", True)
