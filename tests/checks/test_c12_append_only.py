"""Purpose: check 12, rule by rule, from a small good append-only change: one new point on an existing curve."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.facts.repository import MergeBaseTree
from tests.checks.sweep_story import NVIDIA, Sweep
from tests.support.bundles import flipped, good

KEY = "qwen3.8next-fp8-h200-sglang-agentic-mtp"
OTHER = "glm5.2-fp4-gb300-sglang-agentic-mtp"
RECIPE = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/qwen3.8next/sglang/h200-fp8-mtp/agentic.yaml"
APPEND = "  append-only: true\n"


def base(points: str = "[1, 2, 5]") -> Sweep:
    return Sweep().edit(NVIDIA, "conc-list: [1, 2, 5, 9]", f"conc-list: {points}", both=True)


def appended(points: str = "[1, 2, 5, 9]") -> Sweep:
    """The good change: c9 joins c1, c2 and c5."""
    sweep = base()
    if points != "[1, 2, 5]":
        sweep.edit(NVIDIA, "conc-list: [1, 2, 5]", f"conc-list: {points}")
    return sweep.names(KEY, entry=APPEND)


def good_change() -> Sweep:
    return appended().measure()


def changed(path: str, old: str, new: str) -> Sweep:
    return good_change().edit(path, old, new)


def mixed() -> Sweep:
    return appended().names(OTHER)


def new_key() -> Sweep:
    sweep = appended()
    entry = sweep.head[NVIDIA].decode().split(f"{KEY}:")[1]
    sweep.head[NVIDIA] += f"\nqwen3.8next-fp8-h200-sglang-agentic-mtp-two:{entry}".encode()
    return sweep.names("qwen3.8next-fp8-h200-sglang-agentic-mtp-two", entry=APPEND)


def launch_file(path: str, content: bytes) -> Sweep:
    sweep = good_change()
    sweep.head[path] = content
    sweep.changed.append(path)
    return sweep


def other_image() -> Sweep:
    """The new point stands in a row of another entry's series with a second image."""
    sweep = base()
    sweep.edit(NVIDIA, "image: lmsysorg/sglang:v0.5.22-cu129", "image: lmsysorg/sglang:v0.5.23-cu129")
    return sweep.edit(NVIDIA, "conc-list: [1, 2, 5]", "conc-list: [1, 2, 5, 9]").names(KEY, entry=APPEND)


@pytest.mark.parametrize(
    ("make", "status", "text"),
    [
        pytest.param(
            good_change,
            "PASS",
            f"c9 added to {KEY}; 3 existing points keep their recipe and commands",
            id="12.added: one new point",
        ),
        pytest.param(
            lambda: changed(RECIPE, "[2, 4, 8, 14]", "[2, 4, 8, 18]"),
            "PASS",
            "c9 added",
            id="12.added: the recipe changes for the new point alone",
        ),
        pytest.param(
            lambda: launch_file("inferencex-e2e/docs/notes.md", b"# Notes\n"), "PASS", "c9 added", id="12.added: prose"
        ),
        pytest.param(lambda: Sweep.of(KEY), "N/A", "no appended entry is append-only", id="no append-only entry"),
        pytest.param(mixed, "FAIL", "Append-only entries and others cannot be mixed", id="12.unmixed: two kinds"),
        pytest.param(
            lambda: Sweep(**{**good_change().__dict__, "labels": ("full-sweep-enabled", "all-evals")}),
            "FAIL",
            "takes no evals modifier",
            id="12.unmixed: an evals modifier",
        ),
        pytest.param(new_key, "FAIL", "must exist at base and head", id="12.known-key"),
        pytest.param(
            lambda: changed(NVIDIA, "conc-list: [24, 48, 80]", "conc-list: [24, 48, 80, 96]"),
            "FAIL",
            "may not touch keys that no entry selects",
            id="12.unselected: another key",
        ),
        pytest.param(
            lambda: appended("[1, 2, 9]"),
            "FAIL",
            "may not change or remove an existing point",
            id="12.kept: c5 is gone",
        ),
        pytest.param(lambda: appended("[1, 2, 5]"), "FAIL", "must add a point", id="12.delta: nothing is new"),
        pytest.param(other_image, "FAIL", "must use the one image of its series", id="12.series: another image"),
        pytest.param(
            lambda: changed(RECIPE, "[2, 4, 8, 14]", "[3, 4, 8, 14]"),
            "FAIL",
            "existing points change: …/h200-fp8-mtp/agentic.yaml; c1 differs",
            id="12.commands: the recipe of c1",
        ),
        pytest.param(
            lambda: changed(RECIPE, "mem-fraction-static: 0.82", "mem-fraction-static: 0.8"),
            "FAIL",
            "c1 differs, c2 differs and c5 differs",
            id="12.commands: a base setting",
        ),
        pytest.param(
            lambda: launch_file("inferencex-e2e/runners/launch_h200.sh", b"echo\n"),
            "FAIL",
            "could not be verified",
            id="12.closure: a launcher whose use is not known",
        ),
        pytest.param(
            lambda: launch_file("inferencex-e2e/infx/bench/client.py", b"x = 1\n"),
            "FAIL",
            "could not be verified: …/bench/client.py",
            id="12.closure: the client that every point runs",
        ),
        pytest.param(
            lambda: good_change().lose(MergeBaseTree),
            "FAIL",
            "could not be verified: files at the merge base",
            id="base",
        ),
    ],
)
def test_rules_of_check_12(make: Callable[[], Sweep], status: str, text: str) -> None:
    row = make().row(12)
    assert (row.status.value, text in row.reason) == (status, True), row.reason


def test_a_new_point_outside_every_series_is_found_at_its_row() -> None:
    """12.series: the new point offloads its cache, no base point of the key does."""
    sweep = base()
    text = sweep.head[NVIDIA].decode()
    row = next(line for line in text.split("\n") if "conc-list: [1, 2, 5]" in line)
    offload = "kv-offloading: dram, kv-offload-backend: { name: hicache }, spec-decoding: mtp, conc-list: [9]"
    added = row.replace("kv-offloading: none, spec-decoding: mtp, conc-list: [1, 2, 5]", offload)
    block = f"    - search-space:\n{row}"
    assert block in text
    with_budget = f"    - dram-utilization: 0.5\n      search-space:\n{row}\n{added}"
    sweep.head[NVIDIA] = text.replace(block, with_budget).encode()
    result = sweep.names(KEY, entry=APPEND).row(12)
    assert result.status.value == "FAIL"
    assert any("visual series" in finding.expected for finding in result.findings), result.reason


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: changed(RECIPE, "[2, 4, 8, 14]", "[3, 4, 8, 14]"), id="12.commands: one setting of c1"),
        pytest.param(
            lambda: launch_file("inferencex-e2e/infx/bench/client.py", b"x = 1\n"), id="12.closure: the common client"
        ),
    ],
)
def test_one_change_flips_this_row_alone(make: Callable[[], Sweep]) -> None:
    numbers = (1, 2, 7, 12, 14)
    before, after = good_change(), make()
    assert {n: after.row(n).status.value for n in numbers if after.row(n).status != before.row(n).status} == {
        12: "FAIL"
    }


def story(entry: str):
    """The reference story with another entry in its changelog."""
    editor = good()
    path = "inferencex-e2e/perf-changelog.yaml"
    old = '    - "Remove concurrency 12."\n  pr-link: XXX\n'
    return editor.replace(path, old, f"{old}{entry}")


def test_the_reference_story_is_not_append_only() -> None:
    """12.series 12.kept: the same change declared append-only is refused, with the plan and what rests on it."""
    after = story(APPEND).rows()
    assert after[12][0] == "FAIL"
    assert "existing visual series" in after[12][1]
    assert 12 in flipped(good().rows(), after)
