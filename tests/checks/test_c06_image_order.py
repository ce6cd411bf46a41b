"""Purpose: check 6, rule by rule, on the reference story and on other keys of its repository."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.facts.sweep import BenchmarkRows, JobLogs
from tests.checks.reference_facts import MASTER, Story

AMD = "inferencex-e2e/configs/amd-master.yaml"
IMAGE = "lmsysorg/sglang:dev-muse-spark-open@sha256:8cfc5a72cb296771f5f8a4a4688cb6d05685610a830cbb616fa4ab0eb7bb2b0a"


def with_image(image: str) -> Story:
    """The reference story with another image, which every job pulled."""
    story = Story().edit(MASTER, IMAGE, image)
    pulled = image.replace("#", "/")
    return story.each_log(
        lambda log: log.model_copy(update={"images": (log.images[0].model_copy(update={"value": pulled}),)})
    )


def atom(story: Story | None = None) -> Story:
    """ATOM on MI355X with a new image; the open-source engine's entry for the same model and SKU is not there."""
    story = story or Story.of("dsv4-fp4-mi355x-atom-agentic-mtp")
    story.edit(AMD, "atom20260930", "atom20261015")
    story.changed = (*story.changed, AMD)
    for concurrency in (2, 7, 14):
        name = f"agentic / p3.500 | dsv4 fp4 cluster:mi355x-amds atom TP8 mtp c{concurrency}"
        story.add_log(name, images=["rocm/atom:rocm7.2.3_ubuntu24.04_py3.12_atom20261015"])
    return story


EARLIER = """
dsv4-fp4-mi355x-sglang-agentic:
  image: lmsysorg/sglang:v0.5.21-rocm720-mi35x
  model: deepseek-ai/DeepSeek-V4-Pro-0813
  model-prefix: dsv4
  runner: cluster:mi355x-other
  precision: fp8
  framework: sglang-disagg
  multinode: false
  scenarios:
    agentic-coding:
    - search-space:
      - { tp: 8, ep: 1, kv-offloading: none, conc-list: [2], srt-recipe: benchmarks/none.yaml }
"""


def with_earlier(*, at_base: bool, runner: str = "cluster:mi355x-other") -> Story:
    story = atom()
    entry = EARLIER.replace("cluster:mi355x-other", runner).encode()
    story.head[AMD] += entry
    if at_base:
        story.base[AMD] += entry
    return story


@pytest.mark.parametrize(
    ("make", "status", "reason"),
    [
        pytest.param(Story, "PASS", "open-source engines only", id="6.upstream: the reference story"),
        pytest.param(lambda: with_image("lmsysorg#sglang:v1"), "PASS", "lmsysorg/sglang:v1", id="6.hash: # is a slash"),
        pytest.param(
            lambda: with_image("rocm/sgl-dev:v1"),
            "FAIL",
            "not an upstream image",
            id="6.not-upstream: another organisation",
        ),
        pytest.param(
            lambda: with_image("lmsysorg-mirror/sglang:v1"),
            "FAIL",
            "not an upstream image",
            id="6.not-upstream: a look-alike organisation",
        ),
        pytest.param(atom, "FAIL", "before any open-source engine", id="6.no-earlier: a vendor engine first"),
        pytest.param(
            lambda: with_earlier(at_base=False),
            "FAIL",
            "before any open-source engine",
            id="6.no-earlier: added by the same pull request",
        ),
        pytest.param(
            lambda: with_earlier(at_base=True),
            "PASS",
            "after dsv4-fp4-mi355x-sglang-agentic",
            id="6.ordered: an earlier entry of the sglang family (6.families)",
        ),
        pytest.param(
            lambda: with_earlier(at_base=True, runner="cluster:mi325x-amd"),
            "FAIL",
            "on mi355x",
            id="6.sku: an earlier entry on another SKU",
        ),
    ],
)
def test_rules(make: Callable[[], Story], status: str, reason: str) -> None:
    row = make().row(6)
    assert row.status.value == status, row.reason
    assert reason in row.reason


def test_6_families_a_dynamo_label_counts_as_its_engine() -> None:
    story = Story.of("glm5.3-fp4-gb200-dynamo-sglang-agentic-mtp-agg")
    story.edit(MASTER, "lmsysorg/sglang:v0.5.22-cu130", "vllm/vllm-openai:v1", 1)
    story.changed = (*story.changed, MASTER)
    for concurrency in (8, 18):
        story.add_log(
            f"multi-node agentic / p1.000 | glm5.3 fp4 cluster:gb200-nv dyn-sgl 1P (TP8/EP8) mtp c{concurrency}"
        )
    row = story.row(6)
    assert row.status.value == "FAIL"
    assert "serves sglang from vllm/vllm-openai:v1" in row.reason


def test_6_not_pulled_the_run_used_another_image() -> None:
    """6.not-pulled"""
    story = Story()
    value = story.logs[0].images[0].model_copy(update={"value": "lmsysorg/sglang:other"})
    row = story.each_log(lambda log: log.model_copy(update={"images": (value,)})).row(6)
    assert row.status.value == "FAIL"
    assert "the run pulled lmsysorg/sglang:other" in row.reason


def test_6_not_pulled_one_job_used_another_image() -> None:
    """6.not-pulled"""
    story = Story()
    value = story.logs[0].images[0].model_copy(update={"value": "lmsysorg/sglang:other"})
    row = story.log("mtp c1", images=(value,)).row(6)
    assert row.status.value == "FAIL"
    assert "the run pulled lmsysorg/sglang:other at c1, not" in row.reason


def test_6_pulled_a_log_may_name_other_containers_beside_the_engine() -> None:
    """6.pulled"""
    story = Story()
    other = story.logs[0].images[0].model_copy(update={"value": "prom/prometheus:v3"})
    row = story.each_log(lambda log: log.model_copy(update={"images": (*log.images, other)})).row(6)
    assert row.status.value == "PASS", row.reason


def test_6_pulled_a_digest_on_one_side_only_is_not_compared() -> None:
    story = Story()
    value = story.logs[0].images[0].model_copy(update={"value": "lmsysorg/sglang:dev-muse-spark-open"})
    assert story.each_log(lambda log: log.model_copy(update={"images": (value,)})).row(6).status.value == "PASS"


def test_6_pulled_a_run_that_names_no_image_could_not_be_verified() -> None:
    """6.pulled"""
    row = Story().each_log(lambda log: log.model_copy(update={"images": ()})).row(6)
    assert row.status.value == "FAIL"
    assert row.reason.startswith(
        "could not be verified: the image that musespark-fp4-gb200-sglang-agentic-dflash pulled"
    )


def test_6_pulled_without_logs_and_rows_nothing_passes() -> None:
    row = Story().lose(JobLogs).lose(BenchmarkRows).row(6)
    assert row.reason.startswith("could not be verified: the job logs of the evidence run (HTTP 503)")


def test_a_pull_request_that_changes_no_entry_is_not_applicable() -> None:
    row = Story.of("glm5.2-fp4-gb300-sglang-agentic-mtp").row(6)
    assert (row.status.value, row.reason) == ("N/A", "no master-config entry or image changes")
