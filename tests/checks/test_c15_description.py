"""Purpose: check 15, rule by rule: claims of the description against the semantic diff, on the recorded story."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from checks.claims import MAX_CLAIMS, claims_in
from checks.contract import CheckResult
from tests.support.bundles import Editor, flipped, good

RECIPE = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/musespark/sglang/gb200-fp4-mtp/agentic.yaml"
MASTER = "inferencex-e2e/configs/nvidia-master.yaml"
IMAGE = "lmsysorg/sglang:dev-muse-spark-open"
ONE_ROW = "| Points | KV offloading | Concurrency |\n|---|---|---|\n"


def saying(body: str, change: Callable[[Editor], object] = lambda editor: None) -> CheckResult:
    """The row with another description."""
    editor = good()
    with editor.record("pull_request") as pull:
        pull["body"] = body
    change(editor)
    return next(row.result for row in editor.verdict().rows if row.number == 15)


def other_base_image(editor: Editor) -> None:
    editor.replace(MASTER, f"image: {IMAGE}", "image: lmsysorg/sglang:dev-older", ("merge_base", "target"))


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        pytest.param("Change concurrency 1, 4, 6, 8 and 10.", "PASS", "1 confirmed", id="15.confirmed: an active verb"),
        pytest.param("Concurrency 12 is removed.", "PASS", "1 confirmed", id="15.confirmed: a passive verb"),
        pytest.param("c12 was dropped; c8 changes.", "PASS", "2 confirmed", id="15.confirmed: short names"),
        pytest.param("Does not change concurrency 16-32.", "PASS", "1 confirmed", id="15.confirmed: a negated verb"),
        pytest.param("删除并发 12。", "PASS", "1 confirmed", id="15.confirmed: Chinese"),
        pytest.param(
            f"{ONE_ROW}| TP4/EP4, KV on GPU | none | 1 |\n", "PASS", "1 confirmed", id="15.confirmed: a table"
        ),
        pytest.param(
            "`mem-fraction-static` 0.95 at concurrency 6.", "PASS", "1 confirmed", id="15.confirmed: a value at a point"
        ),
        pytest.param(
            "`hicache-size` from 160 to 120 at c4.", "PASS", "1 confirmed", id="15.confirmed: from one value to another"
        ),
        pytest.param(f"Keeps the image {IMAGE}.", "PASS", "2 confirmed", id="15.confirmed: the image"),
        pytest.param("Improves throughput by 12 %.", "PASS", "1 not checkable", id="15.not-checkable: a speed-up"),
        pytest.param(
            "Adds a new admission limit at concurrency 4.", "PASS", "1 not checkable", id="15.not-checkable: prose"
        ),
        pytest.param(
            "The launch script turns the draft off above concurrency 40.",
            "PASS",
            "not checkable",
            id="15.not-checkable: a shell branch",
        ),
        pytest.param("", "N/A", "no technical claim", id="15.no-claim: empty"),
        pytest.param("Please review. Thanks!", "N/A", "no technical claim", id="15.no-claim: prose"),
        pytest.param("- [x] Removes concurrency 16", "N/A", "no technical claim", id="15.no-claim: a checklist item"),
        pytest.param("```\nremove concurrency 16\n```", "N/A", "no technical claim", id="15.no-claim: code"),
        pytest.param("> Remove concurrency 16.", "N/A", "no technical claim", id="15.no-claim: a quote"),
        pytest.param("<!-- remove concurrency 16 -->", "N/A", "no technical claim", id="15.no-claim: a comment"),
        pytest.param(
            "Adds concurrency 14.", "WARN", "line 1 of the description is contradicted: c14 is not added", id="15.added"
        ),
        pytest.param(
            "\n\nAdds concurrency 8.", "WARN", "line 3 of the description", id="15.added: a point that only changes"
        ),
        pytest.param("Removes concurrency 16.", "WARN", "c16 is not removed: c16 is unchanged", id="15.removed"),
        pytest.param("Removes concurrency 13.", "WARN", "there was no c13", id="15.removed: a point that never was"),
        pytest.param("Retunes concurrency 2.", "WARN", "c2 is not changed: c2 is unchanged", id="15.changed"),
        pytest.param("Retunes concurrency 16-32.", "WARN", "c16-c32 is not changed", id="15.changed: a range"),
        pytest.param("Concurrency 8 is unchanged.", "WARN", "c8 is changed", id="15.unchanged: a point"),
        pytest.param("Concurrency 12 stays.", "WARN", "c12 is removed", id="15.unchanged: a removed point"),
        pytest.param("Concurrency 1-10 are unchanged.", "WARN", "c1 is changed", id="15.unchanged: a range"),
        pytest.param(
            f"{ONE_ROW}| TP4/EP4, KV on GPU | none | 1, 2 |\n",
            "WARN",
            "c2 has kv-offloading dram",
            id="15.layout: offload",
        ),
        pytest.param(
            f"{ONE_ROW}| TP8, DRAM | dram | 2, 4 |\n", "WARN", "c2 has tp 4", id="15.layout: the size of a point"
        ),
        pytest.param(
            f"{ONE_ROW}| TP4/EP4, DRAM | dram | 2, 12 |\n", "WARN", "c12 is not a point", id="15.layout: no such point"
        ),
        pytest.param(
            "- TP4/EP4, DRAM HiCache: concurrency 2, 64", "WARN", "c64 is not a point", id="15.layout: a list"
        ),
        pytest.param(
            "`mem-fraction-static` 0.9 at concurrency 6.", "WARN", "mem-fraction-static is 0.95 at c6", id="15.value"
        ),
        pytest.param("`schedule-policy` = fcfs.", "WARN", "schedule-policy is shortest", id="15.value: for all points"),
        pytest.param(
            "The overrides of concurrency 1-10 pin `KV_OFFLOADING` to match their row.",
            "PASS",
            "1 confirmed",
            id="15.value: a pinned variable",
        ),
        pytest.param(
            "The image is lmsysorg/sglang:v0.5.22-cu130.",
            "WARN",
            "the image is lmsysorg/sglang:dev-muse",
            id="15.image",
        ),
        pytest.param(
            "Documentation only.",
            "WARN",
            "points of musespark-fp4-gb200-sglang-agentic-dflash change",
            id="15.no-change",
        ),
    ],
)
def test_rules_of_check_15(body: str, status: str, text: str) -> None:
    row = saying(body)
    assert (row.status.value, text in row.reason) == (status, True), row.reason


@pytest.mark.parametrize(
    ("body", "change", "text"),
    [
        pytest.param("The image is unchanged.", other_base_image, "the image changes from", id="15.unchanged: image"),
        pytest.param(
            "The checkpoint stays the same.",
            lambda e: e.replace(
                MASTER, "model-prefix: musespark", "model-prefix: musespark # x", ("merge_base",)
            ).replace(
                MASTER,
                "model: meta-models/Muse-Spark-Open-816B-A42B-NVFP4",
                "model: meta-models/Older",
                ("merge_base",),
            ),
            "the model changes from meta-models/Older",
            id="15.unchanged: model",
        ),
        pytest.param(
            "The draft is unchanged.",
            lambda e: e.replace(RECIPE, "Muse-Spark-Open-DFlash2", "Muse-Spark-Open-DFlash1", ("merge_base",)),
            "the draft changes from RadixArk/Muse-Spark-Open-DFlash1",
            id="15.unchanged: draft",
        ),
        pytest.param(
            "Base settings are unchanged.",
            lambda e: e.replace(RECIPE, "watchdog-timeout: 3600", "watchdog-timeout: 1800", ("merge_base",)),
            "the base block of agentic.yaml differs",
            id="15.unchanged: base settings",
        ),
        pytest.param(
            f"Bumps the image from lmsysorg/sglang:v1 to {IMAGE}.",
            other_base_image,
            "the image is lmsysorg/sglang:dev-older",
            id="15.image: not the one it came from",
        ),
    ],
)
def test_what_is_said_of_things_that_stay(body: str, change: Callable[[Editor], object], text: str) -> None:
    row = saying(body, change)
    assert (row.status.value, text in row.reason) == ("WARN", True), row.reason


def test_findings_name_the_line_and_all_claims_are_listed() -> None:
    row = saying("Removes concurrency 12.\n\nRemoves concurrency 16.\n\nFaster by 3 %.")
    assert [(finding.where.line, finding.found.split(":")[0]) for finding in row.findings] == [
        (3, "claimed"),
        (5, "not checkable"),
        (1, "confirmed"),
    ]


def test_a_key_that_is_named_narrows_the_claim() -> None:
    row = saying("In musespark-fp4-gb200-sglang-agentic-dflash remove concurrency 12.")
    assert row.status.value == "PASS"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("concurrency " + " " * 60_000 + "x", id="white space"),
        pytest.param("concurrency 1 and " * 3_600, id="lists"),
        pytest.param("`a-b` 1, " * 8_000, id="settings"),
        pytest.param("[(" * 32_000, id="brackets"),
        pytest.param("|conc|\n|---|\n" + "|1|\n" * 12_000, id="a table"),
        pytest.param("remove concurrency " + "1, " * 20_000, id="numbers"),
        pytest.param("\x00\u202e并发 1、\r\n" * 4_000, id="control characters"),
    ],
)
def test_hostile_descriptions_are_read_within_bounds(text: str) -> None:
    found = claims_in(text)
    assert len(found) <= MAX_CLAIMS
    assert all(len(claim.text) <= 65_536 for claim in found)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("Removes concurrency 16.", id="15.removed: a false claim"),
        pytest.param("Concurrency 8 is unchanged.", id="15.unchanged: a false claim"),
    ],
)
def test_one_change_of_the_story_flips_this_row_alone(body: str) -> None:
    editor = good()
    with editor.record("pull_request") as pull:
        pull["body"] = body
    assert flipped(good().rows(), editor.rows()) == {15: "WARN"}
