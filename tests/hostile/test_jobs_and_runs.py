"""Jobs and runs that look like evidence: two jobs of one name, an eval in another family, a title of another commit."""

from __future__ import annotations

from typing import Any

import pytest

from app.facts.evidence_run import measured_commit
from app.facts.records import Account, RunRecord
from app.results.job_names import parse_job
from tests.support.bundles import Editor, good

HEAD, OTHER = "b" * 40, "c" * 40


def twins(first: tuple[int, str], second: tuple[int, str]) -> Editor:
    """Two jobs of the name of point c10, each with its attempt and conclusion."""
    editor = good()
    jobs: list[dict[str, Any]] = editor.sources["jobs"]
    place = next(at for at, job in enumerate(jobs) if job["name"].endswith("hicache c10"))
    twin = {**jobs[place], "id": 1}
    jobs.insert(place + 1, twin)
    for job, (attempt, conclusion) in zip((jobs[place], twin), (first, second), strict=True):
        job |= {"attempt": attempt, "conclusion": conclusion}
    return editor


@pytest.mark.parametrize(
    ("first", "second", "status"),
    [
        pytest.param((1, "failure"), (1, "success"), "FAIL", id="one attempt, the first failed"),
        pytest.param((1, "success"), (1, "failure"), "FAIL", id="one attempt, the second failed"),
        pytest.param((1, "failure"), (2, "success"), "PASS", id="the second attempt passed"),
        pytest.param((2, "success"), (1, "failure"), "PASS", id="the second attempt passed, listed first"),
        pytest.param((1, "success"), (2, "failure"), "FAIL", id="the second attempt failed"),
    ],
)
def test_of_two_jobs_of_one_name_the_failing_one_of_the_last_attempt_counts(first, second, status):
    assert twins(first, second).rows()[1][0] == status


def test_one_job_cannot_stand_for_two_planned_rows_of_one_name():
    """Real keys share job names: dsr1-fp4-mi355x-sglang-disagg-mtp and ...-8k1k-mtp differ in their image alone."""
    editor = good()
    master, changelog = "inferencex-e2e/configs/nvidia-master.yaml", "inferencex-e2e/perf-changelog.yaml"
    key = "musespark-fp4-gb200-sglang-agentic-dflash"
    block = editor.read(master)[editor.read(master).index(f"{key}:") :].split("\n\n")[0]
    lines = block.splitlines()
    end = next((at for at, line in enumerate(lines[1:], 1) if line and not line.startswith((" ", "#"))), len(lines))
    twin = "\n".join(lines[:end]).replace(f"{key}:", f"{key}-again:")
    editor.write(master, f"{editor.read(master).rstrip()}\n{twin}\n")
    editor.write(changelog, editor.read(changelog, "merge_base") + _entry(key))
    status, reason = editor.rows()[1]
    assert status == "FAIL"
    assert "the only job of this name measured another planned row" in reason


def _entry(key: str) -> str:
    return (
        f"\n- config-keys:\n    - {key}\n    - {key}-again\n  scenario-type:\n    - agentic-coding\n"
        '  description:\n    - "Retune."\n  pr-link: XXX\n'
    )


@pytest.mark.parametrize("family", ["agentic /", "canary /", "single-node 8k1k /"])
def test_an_eval_only_job_of_a_throughput_family_is_no_job_of_ours(family):
    name = "p4.750 | musespark fp4 cluster:gb200-nv sgl TP4/EP4 mtp c32 | eval-only"
    assert parse_job(f"{family} / {name}") is None
    assert parse_job(f"agentic eval / {name}") is not None


@pytest.mark.parametrize(
    ("title", "metadata", "measured"),
    [
        pytest.param(f"Sweep #12 @ {HEAD[:12]}", {"head_ref": HEAD}, HEAD, id="title and metadata agree"),
        pytest.param(f"Sweep #12 @ {OTHER[:12]}", {"head_ref": HEAD}, None, id="the title names another commit"),
        pytest.param(f"Sweep #12 @ {HEAD[:12]}", {}, None, id="metadata without a commit"),
    ],
)
def test_a_dispatched_run_measured_what_title_and_metadata_name(title, metadata, measured):
    run = RunRecord(
        id=1, event="workflow_dispatch", status="completed", conclusion="success", path="", head_sha=OTHER,
        head_branch="main", actor=Account(login="sweepgate[bot]", type="Bot"), title=title, created_at="",
    )  # fmt: skip
    assert measured_commit(run, metadata) == measured
