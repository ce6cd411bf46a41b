"""Purpose: check 9, rule by rule: agentic replay by the log's counts, fixed sequences by what the client was told."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.facts.sweep import JobLogs
from tests.checks.reference_facts import RECIPE, Story

FIXED = "qwen3.5-fp8-b300-vllm-mtp"
FIXED_RECIPE = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/qwen3.5/vllm/b300-fp8-mtp/8k1k.yaml"
JOB = "single-node 8k1k / p3.000 | qwen3.5 fp8 cluster:b300-dsxe vllm TP4 mtp c{}"
CHAT, RAW, GENERATE = "POST /v1/chat/completions", "POST /v1/completions", "POST /generate"


def requests(job: str, **counts: int) -> Story:
    kinds = {"chat": CHAT, "raw": RAW, "generate": GENERATE}
    return Story().log(job, requests={kinds[name]: count for name, count in counts.items()})


def fixed(*, benchmark: str = "", env: str = "") -> Story:
    """vLLM 8k1k with two MTP tokens; `benchmark` and `env` go into the recipe's benchmark block."""
    story = Story.of(FIXED)
    lines = "".join(f"    {line}\n" for line in benchmark.splitlines())
    lines += f"    env: {{ {env} }}\n" if env else ""
    if lines:
        story.both(FIXED_RECIPE, "\nzip_override_tp4:", f"  benchmark:\n{lines}\nzip_override_tp4:")
    return story


@pytest.mark.parametrize(
    ("make", "status", "reason"),
    [
        pytest.param(
            Story,
            "PASS",
            "agentic replay uses /v1/chat/completions only, all 11 points",
            id="9.chat-endpoint: the reference story",
        ),
        pytest.param(
            lambda: requests("c10", chat=280, raw=13),
            "FAIL",
            "the c10 job sent 13 requests to /v1/completions",
            id="9.raw-endpoint: completions",
        ),
        pytest.param(
            lambda: requests("c4", chat=280, generate=1),
            "FAIL",
            "the c4 job sent 1 requests to /generate",
            id="9.raw-endpoint: generate",
        ),
        pytest.param(
            lambda: Story().both(
                RECIPE, "      AGENTIC_WARMUP", "      AIPERF_ENDPOINT: /v1/completions\n      AGENTIC_WARMUP"
            ),
            "FAIL",
            "AIPERF_ENDPOINT points the AgentX client at /v1/completions",
            id="9.endpoint-override: by the recipe",
        ),
        pytest.param(
            lambda: requests("c10"),
            "PASS",
            "the shared AgentX client replays through /v1/chat/completions",
            id="9.no-access-log: the client decides",
        ),
        pytest.param(
            lambda: Story().lose(JobLogs),
            "FAIL",
            "could not be verified: the job log of c1",
            id="9.chat-endpoint: no logs",
        ),
        pytest.param(
            lambda: Story.of("qwen3.5-fp8-mi300x-vllm"),
            "N/A",
            "no affected point uses speculative decoding",
            id="9.no-speculation: a plain config",
        ),
        pytest.param(
            fixed, "PASS", "prompts are templated by USE_CHAT_TEMPLATE", id="9.client-template: bound by the harness"
        ),
        pytest.param(
            lambda: fixed(benchmark="use_chat_template: false"),
            "FAIL",
            "use_chat_template is false on the speculative config",
            id="9.explicit-false: whatever else says true",
        ),
        pytest.param(
            lambda: fixed().add_log(JOB.format(8), env={"USE_CHAT_TEMPLATE": "false"}),
            "FAIL",
            "USE_CHAT_TEMPLATE is false",
            id="9.explicit-false: in the job log",
        ),
    ],
)
def test_rules(make: Callable[[], Story], status: str, reason: str) -> None:
    row = make().row(9)
    assert row.status.value == status, row.reason
    assert reason in row.reason, row.reason


@pytest.mark.parametrize(
    ("benchmark", "status", "reason"),
    [
        pytest.param(
            {"type": "sa-bench"}, "PASS", "sa-bench, whose default is true", id="9.sa-bench: templates by default"
        ),
        pytest.param(
            {"type": "sa-bench", "use_chat_template": False},
            "FAIL",
            "use_chat_template is false",
            id="9.sa-bench: told not to",
        ),
        pytest.param(
            {"type": "custom", "command": "bash bench.sh --use-chat-template"},
            "PASS",
            "templated by --use-chat-template",
            id="9.client-template: the flag",
        ),
        pytest.param(
            {"type": "custom", "command": "bash bench.sh --dsv4"},
            "PASS",
            "templated by --dsv4",
            id="9.dsv4: implies it",
        ),
        pytest.param(
            {"type": "custom", "backend": "openai-chat"},
            "PASS",
            "templated by openai-chat",
            id="9.client-template: the chat backend",
        ),
        pytest.param(
            {"type": "custom", "command": "python3 benchmark_serving.py"},
            "FAIL",
            "sends bare prompts to /v1/completions",
            id="9.raw-client: bare prompts",
        ),
        pytest.param(
            {"type": "custom", "command": "bash bench.sh"},
            "FAIL",
            "could not be verified: the client of 8k1k c4",
            id="9.raw-client: an unknown client",
        ),
    ],
)
def test_fixed_sequence_clients(benchmark: dict[str, object], status: str, reason: str) -> None:
    """Clients of older recipes, which no fragment completes: the bound benchmark settings are put in by hand."""
    from dataclasses import replace

    from app.target.recipe import EffectiveRecipe, Setting
    from app.target.source import FileLine
    from checks.c09_chat_template import _fixed

    point = Story.of(FIXED).scope.points[0]
    assert isinstance(point.recipe, EffectiveRecipe)
    settings = {name: Setting(value, FileLine("recipe.yaml", 9)) for name, value in benchmark.items()}
    bare = replace(point, recipe=replace(point.recipe, benchmark=settings, benchmark_env={}))
    judged = _fixed(bare, None)
    said = judged.said or (judged.finding.found if judged.finding else "")
    if judged.missing is not None:
        said = f"could not be verified: {judged.missing.source}"
    assert reason in said
    assert (judged.finding is not None or judged.missing is not None) == (status == "FAIL")
