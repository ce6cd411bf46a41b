"""Purpose: check 16, rule by rule."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.facts.outside import OverviewPage
from app.policy import OverviewPolicy
from tests.checks.reference_facts import Story

LINK = "[✅](https://docs.sglang.io/cookbook/autoregressive/Meta/MuseSparkOpen)"


def page(old: str, new: str, story: Story | None = None) -> Story:
    story = story or Story()
    assert old in story.overview
    story.overview = story.overview.replace(old, new)
    return story


@pytest.mark.parametrize(
    ("make", "status", "reason"),
    [
        pytest.param(Story, "PASS", "SGLang cell links https://docs.sglang.io", id="16.linked: the reference story"),
        pytest.param(
            lambda: page("| Muse-Spark-Open |", "| Muse-Spark-Closed |"),
            "FAIL",
            "has no row for Muse-Spark-Open",
            id="16.no-row: the model is not listed",
        ),
        pytest.param(
            lambda: page(LINK, ""), "FAIL", "the SGLang cell of Muse-Spark-Open is empty", id="16.empty: an empty cell"
        ),
        pytest.param(lambda: page(LINK, "❌"), "FAIL", "is empty", id="16.empty: a cross"),
        pytest.param(lambda: page(LINK, "✅"), "FAIL", "without a link", id="16.empty: a tick without a link"),
        pytest.param(
            lambda: page(f"{LINK} | | |", f"| | {LINK} |"),
            "FAIL",
            "the SGLang cell of Muse-Spark-Open is empty",
            id="16.empty: only the vLLM cell is linked",
        ),
        pytest.param(
            lambda: page("| Model | SGLang |", "| Model | Engine |"),
            "FAIL",
            "could not be verified: the SGLang column",
            id="16.linked: the page lost its column",
        ),
        pytest.param(
            lambda: Story().lose(OverviewPage),
            "FAIL",
            "could not be verified: the NVIDIA overview page (HTTP 503)",
            id="16.linked: the page is down",
        ),
        pytest.param(
            lambda: Story.of("kimik3-fp4-gb300-dynamo-vllm-agentic-dspark-disagg"),
            "PASS",
            "Kimi-K3, Dynamo + vLLM cell links",
            id="16.dynamo: the Dynamo table",
        ),
        pytest.param(
            lambda: page(
                "| Kimi-K3 | | | [✅](https://docs.nvidia.com/dynamo/recipes/kimi-k3-vllm) |",
                "| Kimi-K3 | | | |",
                Story.of("kimik3-fp4-gb300-dynamo-vllm-agentic-dspark-disagg"),
            ),
            "FAIL",
            "the Dynamo + vLLM cell of Kimi-K3 is empty",
            id="16.dynamo: the direct vLLM cell does not cover a Dynamo path",
        ),
        pytest.param(
            lambda: Story.of("glm5.2-fp8-mi325x-sglang-agentic-mtp"),
            "N/A",
            "no NVIDIA SKU is affected",
            id="16.nvidia: AMD only",
        ),
    ],
)
def test_rules(make: Callable[[], Story], status: str, reason: str) -> None:
    row = make().row(16)
    assert row.status.value == status, row.reason
    assert reason in row.reason


def test_16_names_the_policy_maps_prefixes_to_display_names() -> None:
    """16.names"""
    row = Story().with_policy(overview=OverviewPolicy(names={"musespark": ("Muse Spark Open",)})).row(16)
    assert row.status.value == "PASS"
    row = Story().with_policy(overview=OverviewPolicy()).row(16)
    assert row.status.value == "FAIL"
    assert "Or add its display name to overview.names" in row.findings[0].next_step


def test_16_no_column_an_engine_without_a_column_is_not_applicable() -> None:
    """16.no-column"""
    story = Story.of("dsv4-fp4-mi355x-atom-agentic-mtp")
    master = "inferencex-e2e/configs/amd-master.yaml"
    story.both(
        master,
        "cluster:mi355x-amds\n  precision: fp4\n  framework: atom",
        "cluster:gb200-nv\n  precision: fp4\n  framework: atom",
    )
    row = story.row(16)
    assert (row.status.value, row.reason) == ("N/A", "no affected engine has a column on the page")
