"""The installed workflows: what they may do, how they are pinned, their names, and how drift is told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from app.cli_launch import main
from app.launch.install import ACTIONS, CANARIES, FAMILIES, FOLDER, MODES, render
from app.planner.job_names import caller_name
from app.policy import SweepPolicy

ROOT = Path(__file__).resolve().parents[2]
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
# Values that GitHub makes itself or that an administrator sets: they may stand where a shell reads them.
PLAIN = re.compile(r"\$\{\{")


def workflows(mode: str) -> dict[str, Any]:
    return {name: YAML(typ="safe").load(text) for name, text in render(mode).items()}


def steps(mode: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{name}:{job_id}", step)
        for name, workflow in workflows(mode).items()
        for job_id, job in workflow["jobs"].items()
        for step in job.get("steps", [])
    ]


@pytest.mark.parametrize("mode", MODES)
def test_third_party_actions_are_pinned_with_their_version(mode: str) -> None:
    for text in render(mode).values():
        for used in re.findall(r"uses: (.+)", text):
            assert used.startswith("./") or PINNED.fullmatch(used), used
    assert all(PINNED.fullmatch(action) for action in ACTIONS.values())


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_permitted_by_default_and_nothing_is_written(mode: str) -> None:
    for name, workflow in workflows(mode).items():
        assert workflow["permissions"] == {}, name
        for job_id, job in workflow["jobs"].items():
            assert "permissions" in job, f"{name}:{job_id}"
            assert set(job["permissions"].values()) <= {"read"}, f"{name}:{job_id}"


@pytest.mark.parametrize("mode", MODES)
def test_no_expression_stands_in_a_shell_line(mode: str) -> None:
    for where, step in steps(mode):
        assert not PLAIN.search(step.get("run", "")), where


@pytest.mark.parametrize("mode", MODES)
def test_checkouts_keep_no_credentials_and_every_job_has_a_limit(mode: str) -> None:
    for where, step in steps(mode):
        if "checkout" in step.get("uses", ""):
            assert step["with"]["persist-credentials"] is False, where
        if "upload-artifact" in step.get("uses", ""):
            assert step["with"]["retention-days"] > 0, where
    for name, workflow in workflows(mode).items():
        for job_id, job in workflow["jobs"].items():
            assert "uses" in job or "timeout-minutes" in job, f"{name}:{job_id}"


@pytest.mark.parametrize("mode", MODES)
def test_jobs_that_run_code_of_a_pull_request_get_no_secret(mode: str) -> None:
    texts = render(mode)
    for name in ("run-sweep.yml", "benchmark.yml", "benchmark-multinode.yml", "sweep-more.yml", "collect.yml"):
        assert "secrets" not in texts[name], name


def test_the_control_workflow_never_checks_out_a_pull_request() -> None:
    text = render("actions")["sweepgate.yml"]
    assert "head.sha" not in text
    assert "head_sha" not in text


def test_families_bear_the_callers_of_table_c() -> None:
    for family in FAMILIES:
        assert caller_name(family.bucket) == family.name
    assert [one.name for one in CANARIES] == ["canary /", "multi-node canary /"]
    jobs = workflows("service")["run-sweep.yml"]["jobs"]
    assert [jobs[family.id]["name"] for family in FAMILIES] == [family.name for family in FAMILIES]
    gates = ("check-changelog", "setup", "canary-select", "upload-changelog-metadata", "calc-success-rate")
    assert all(jobs[name]["name"] == name for name in gates)
    assert workflows("actions")["run-sweep.yml"]["jobs"]["reuse-sweep-gate"]["name"] == "reuse-sweep-gate"


def test_service_mode_has_no_trigger_but_dispatch_and_the_key_in_its_title() -> None:
    workflow = workflows("service")["run-sweep.yml"]
    assert list(workflow["on"]) == ["workflow_dispatch"]
    assert workflow["run-name"] == "Sweep #${{ inputs.pr }} @ ${{ inputs.short_sha }} [${{ inputs.sweep_key }}]"


def test_actions_mode_reacts_to_the_incumbents_events_only() -> None:
    trigger = workflows("actions")["run-sweep.yml"]["on"]["pull_request"]
    assert trigger["types"] == ["synchronize", "labeled", "unlabeled"]
    labels = [*SweepPolicy().primaries, *SweepPolicy().modifiers]
    assert json.dumps(labels) in render("actions")["run-sweep.yml"]


def installed(folder: Path) -> set[str]:
    return {path.name for path in (folder / FOLDER).iterdir()}


def test_install_writes_updates_tells_drift_and_changes_mode(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*extra: str) -> int:
        return main(["install", "--repo", str(tmp_path), *extra])

    assert run() == 2
    assert "--mode service" in capsys.readouterr().err
    assert run("--mode", "actions") == 0
    assert "sweepgate.yml" in installed(tmp_path)
    assert run("--check") == 0
    path = tmp_path / FOLDER / "benchmark.yml"
    path.write_text(path.read_text().replace("contents: read", "contents: write"))
    capsys.readouterr()
    assert run("--check") == 1
    shown = capsys.readouterr().out
    assert "-      contents: write" in shown
    assert "+      contents: read" in shown
    assert "contents: write" in path.read_text()
    assert run() == 0
    (tmp_path / FOLDER / "own.yml").write_text("name: own\n")
    assert run("--mode", "service") == 0
    assert "sweepgate.yml" not in installed(tmp_path)
    assert "own.yml" in installed(tmp_path)


def test_install_into_nothing_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", "--repo", str(tmp_path / "nowhere"), "--mode", "service"]) == 2
    assert "Give --repo a checkout" in capsys.readouterr().err
