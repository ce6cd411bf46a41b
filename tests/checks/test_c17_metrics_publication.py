"""Purpose: check 17, rule by rule, on the Dynamo TensorRT-LLM key of the reference repository."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.policy import MetricsPolicy, SrtSlurmDefaults
from tests.checks.reference_facts import Story

KEY = "qwen3.5-fp4-gb300-dynamo-trt-agentic-mtp-disagg"
RECIPE = "inferencex-e2e/benchmarks/multi_node/srt-slurm-recipes/qwen3.5/trtllm/gb300-fp4/agentx/disagg.yaml"
JOB = "multi-node agentic / p5.000 | qwen3.5 fp4 cluster:gb300-nv dyn-trt 1P (TP4/EP4) x 2D (TP2/EP2) mtp c52"
OLD, LATER = "c1fb6989fc5aca803b4ca0f2d17d8be85fad9732", "c180328b98c3793ca84a1e24a030f90545eb7d5d"
BACKEND = "backend: { publish_metrics: true }"
METRICS = MetricsPolicy(
    srt_slurm=(
        SrtSlurmDefaults(refs=("aaaa*",), combined=None, publish_metrics=True, iteration_stats=False),
        SrtSlurmDefaults(refs=("c1fb*",), combined=True, publish_metrics=False),
        SrtSlurmDefaults(refs=("c180*",), combined=False, publish_metrics=False),
    ),
    metrics_flag_from="1.5.0.dev20260915",
)


def story(backend: str | None = None, iteration: str | None = None, **log: Any) -> Story:
    """The key with these backend settings, these iteration settings (both roles), and this log where any is given."""
    made = Story.of(KEY).with_policy(metrics=METRICS)
    if backend is not None:
        made.both(RECIPE, BACKEND, f"backend: {{ {backend} }}" if backend else "")
    if iteration is not None:
        made.both(RECIPE, "        enable_iter_perf_stats: true\n", iteration)
    return made.add_log(JOB, **log) if log else made


def env(text: str, made: Story | None = None) -> Story:
    """Variables of the decode role."""
    made = made or story()
    return made.both(RECIPE, "    decode:\n      nodes: 1\n", f"    decode:\n      env: {{ {text} }}\n      nodes: 1\n")


def printed(**flags: str) -> dict[str, Any]:
    return {"server_args": {"prefill": flags, "decode": flags}}


STATS = {"enable_iter_perf_stats": "True"}


@pytest.mark.parametrize(
    ("make", "status", "reason"),
    [
        pytest.param(
            lambda: story("publish_events_and_metrics: true"),
            "PASS",
            "publish_events_and_metrics is on (recipe), iteration statistics on for prefill and decode",
            id="17.combined-on: in the recipe",
        ),
        pytest.param(
            story,
            "PASS",
            "publish_metrics is on (recipe)",
            id="17.metrics-on: with a wheel that has the switch (17.version)",
        ),
        pytest.param(
            lambda: story("publish_events_and_metrics: false"),
            "FAIL",
            "publish_events_and_metrics is false",
            id="17.combined-false: prohibited",
        ),
        pytest.param(
            lambda: story("publish_events_and_metrics: false, publish_metrics: true"),
            "FAIL",
            "publish_events_and_metrics is false",
            id="17.combined-false: also beside the other switch",
        ),
        pytest.param(
            lambda: story("publish_metrics: false"), "FAIL", "publish_metrics is false", id="17.metrics-false: alone"
        ),
        pytest.param(
            lambda: story("publish_metrics: false, publish_events_and_metrics: true"),
            "PASS",
            "publish_events_and_metrics is on",
            id="17.metrics-false: not with the combined switch on",
        ),
        pytest.param(
            lambda: story(iteration="        enable_iter_perf_stats: false\n"),
            "FAIL",
            "iteration statistics are off for prefill",
            id="17.iteration-off: in the recipe",
        ),
        pytest.param(
            lambda: story(iteration="", refs={"srt-slurm": "aaaa1111"}),
            "FAIL",
            f"iteration statistics are off for prefill of {KEY} c52 (by default",
            id="17.iteration-off: by default of the pin",
        ),
        pytest.param(
            lambda: env("DYN_TRTLLM_PUBLISH_EVENTS_AND_METRICS: 'false'"),
            "FAIL",
            "publish_events_and_metrics is false",
            id="17.environment: the combined variable",
        ),
        pytest.param(
            lambda: env("DYN_TRTLLM_PUBLISH_METRICS: '0'", story("")),
            "FAIL",
            "publish_metrics is false",
            id="17.environment: the metrics variable",
        ),
        pytest.param(
            lambda: env("DYN_TRTLLM_PUBLISH_EVENTS_AND_METRICS: '1'", story("")),
            "PASS",
            "publish_events_and_metrics is on",
            id="17.environment: switched on",
        ),
        pytest.param(
            lambda: env("DYN_TRTLLM_PUBLISH_KV_EVENTS: '0', DYN_PUBLISH_KV_EVENTS: '0'"),
            "PASS",
            "publish_metrics is on",
            id="17.kv-events: off decides nothing",
        ),
        pytest.param(
            lambda: story().both(
                RECIPE, "free_gpu_memory_fraction: 0.7 ", "free_gpu_memory_fraction: 0.7, event_buffer_max_size: 0 "
            ),
            "PASS",
            "publish_metrics is on",
            id="17.kv-events: an event buffer of 0 decides nothing",
        ),
        pytest.param(
            lambda: story(iteration="        enable_iter_perf_stats: true\n        return_perf_metrics: false\n"),
            "PASS",
            "publish_metrics is on",
            id="17.perf-metrics: decides nothing",
        ),
        pytest.param(
            lambda: story(**printed(no_publish_metrics="True", **STATS)),
            "FAIL",
            "publish_metrics is false",
            id="17.no-flag: on the command line",
        ),
        pytest.param(
            lambda: story("", **printed(no_publish_events_and_metrics="True", **STATS)),
            "FAIL",
            "publish_events_and_metrics is false",
            id="17.no-flag: the combined one",
        ),
        pytest.param(
            lambda: story("", **printed(publish_metrics="True", **STATS)),
            "PASS",
            "publish_metrics is on (log)",
            id="17.log-first: the command shows the switch",
        ),
        pytest.param(
            lambda: story("publish_metrics: false", **printed(publish_metrics="True", **STATS)),
            "PASS",
            "publish_metrics is on (log)",
            id="17.log-first: above the recipe",
        ),
        pytest.param(
            lambda: story(**printed(enable_iter_perf_stats="False")),
            "FAIL",
            "iteration statistics are off for prefill",
            id="17.log-first: the engine configuration above the recipe",
        ),
        pytest.param(
            lambda: story("", refs={"srt-slurm": OLD}),
            "PASS",
            "publish_events_and_metrics is on (default)",
            id="17.default: an old pin always passes the combined switch",
        ),
        pytest.param(
            lambda: story("", refs={"srt-slurm": LATER}),
            "FAIL",
            "both switches are off by default",
            id="17.default: a later pin passes nothing",
        ),
        pytest.param(
            lambda: story("", refs={"srt-slurm": "bbbb2222"}),
            "FAIL",
            "could not be verified: defaults of srt-slurm bbbb2222",
            id="17.default: an unknown pin",
        ),
        pytest.param(
            lambda: story(""),
            "FAIL",
            "could not be verified: the srt-slurm pin (no job log names it",
            id="17.default: no log names the pin",
        ),
        pytest.param(
            lambda: story(iteration=""),
            "FAIL",
            "could not be verified: the srt-slurm pin",
            id="17.default: iteration statistics left out",
        ),
        pytest.param(
            lambda: story().both(RECIPE, "1.5.0.dev20260928", "1.4.0.dev20260807"),
            "FAIL",
            "could not be verified: --publish-metrics of Dynamo 1.4.0.dev20260807 (older than",
            id="17.unknown-version: an older Dynamo",
        ),
        pytest.param(
            lambda: story().both(
                RECIPE, 'source: { wheel: "1.5.0.dev20260928" }', "hash: 71eb001e17fa73c742f0afe1a6ed96836cb135fd"
            ),
            "FAIL",
            "could not be verified: --publish-metrics of Dynamo 71eb001e",
            id="17.unknown-version: a hash has no age",
        ),
        pytest.param(
            lambda: story().both(
                RECIPE, 'install: true, source: { wheel: "1.5.0.dev20260928" }', 'install: false, wheel: "1.5.0"'
            ),
            "FAIL",
            "could not be verified: the Dynamo version",
            id="17.version: install false leaves the container's own",
        ),
        pytest.param(
            lambda: story(versions={"ai-dynamo": "1.5.0"}).both(
                RECIPE, 'install: true, source: { wheel: "1.5.0.dev20260928" }', "install: false"
            ),
            "PASS",
            "Dynamo 1.5.0",
            id="17.version: the container's own, from the log",
        ),
        pytest.param(
            lambda: story().with_policy(metrics=MetricsPolicy()),
            "FAIL",
            "the policy does not say which Dynamo has --publish-metrics",
            id="17.unknown-version: a policy without the version",
        ),
    ],
)
def test_rules(make: Callable[[], Story], status: str, reason: str) -> None:
    row = make().row(17)
    assert row.status.value == status, row.reason
    assert reason in row.reason, row.reason


@pytest.mark.parametrize(
    "key",
    [
        pytest.param("musespark-fp4-gb200-sglang-agentic-dflash", id="17.direct: SGLang alone"),
        pytest.param("dsr1-fp8-h200-trt-mtp", id="17.direct: TensorRT-LLM without Dynamo"),
        pytest.param("kimik3-fp4-gb300-dynamo-vllm-agentic-dspark-disagg", id="17.direct: Dynamo with another engine"),
    ],
)
def test_not_applicable(key: str) -> None:
    row = Story.of(key).row(17)
    assert (row.status.value, row.reason) == ("N/A", "no affected point serves TensorRT-LLM through Dynamo")


def test_findings_point_at_the_line() -> None:
    row = story("publish_events_and_metrics: false").row(17)
    assert str(row.findings[0].where).startswith(f"{RECIPE}:11")
    assert row.findings[0].next_step.startswith("Remove publish_events_and_metrics: false")


@pytest.mark.parametrize(
    ("version", "since", "enough"),
    [
        ("1.5.0.dev20260928", "1.5.0.dev20260915", True),
        ("1.5.0.dev20260901", "1.5.0.dev20260915", False),
        ("1.5.0", "1.5.0.dev20260915", True),
        ("1.4.9", "1.5.0.dev20260915", False),
        ("1.5.0.post1", "1.5.0", True),
        ("1.5.0rc1", "1.5.0", False),
        ("2.0.0", "1.5.0.post3", True),
    ],
)
def test_17_version_order(version: str, since: str, enough: bool) -> None:
    from checks.c17_metrics import _at_least

    assert _at_least(version, since) is enough
