"""Purpose: `sweepgate preflight` in a real git checkout: what it judges, what it leaves for later."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from app.cli import main
from app.sandbox.reference_parts.tree import files

DAY = "2026-10-21"
MASTER = "inferencex-e2e/configs/nvidia-master.yaml"
DRAFT = "Agentic coding with the SGLang DFlash2 draft"
MODELS = "inferencex-e2e/docs/MODELS.md"


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=author", "-c", "user.email=author@example.invalid")
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


def write(folder: Path, content: dict[str, bytes]) -> None:
    for path, raw in content.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(raw)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The reference repository with the reference change in the work tree, not committed."""
    git(tmp_path, "init", "-q", "-b", "main")
    write(tmp_path, files("base"))
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "base")
    git(tmp_path, "checkout", "-q", "-b", "change")
    write(tmp_path, files("head"))
    return tmp_path


def preflight(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict]:
    code = main(["preflight", "--repo", str(folder), "--base", "main", "--date", DAY, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def test_rows_without_github_are_judged_and_the_others_wait(checkout, capsys) -> None:
    code, told = preflight(checkout, capsys)
    rows = {row["number"]: row["status"] for row in told["checks"]}
    assert code == 0
    assert rows[7] == "PASS"
    assert rows[12] == rows[17] == "N/A"
    assert {0, 1, 2, 3, 4, 5, 11} <= set(told["preflight"]["later"])
    assert not [
        row["number"]
        for row in told["checks"]
        if row["number"] not in told["preflight"]["later"]
        if row["status"] == "FAIL"
    ]


def test_what_will_be_asked_later_is_announced(checkout, capsys) -> None:
    later = preflight(checkout, capsys)[1]["preflight"]
    assert later["evals"] == ["musespark-fp4-gb200-sglang-agentic-dflash c32 (agentic_evals)"]
    assert later["upstream_recipes"] == ["sglang"]
    assert any("@nvpohanh" in owners for owners in later["owners"].values())


def test_a_finding_of_the_checkout_is_told_before_a_push(checkout, capsys) -> None:
    git(checkout, "stash", "-q", "-u")
    git(checkout, "checkout", "-q", "main")
    models = (checkout / MODELS).read_text()
    assert DRAFT in models
    (checkout / MODELS).write_text(models.replace(DRAFT, "None (retired 2026-10-02)"))
    git(checkout, "commit", "-q", "-a", "-m", "The model is retired")
    git(checkout, "checkout", "-q", "-B", "change")
    git(checkout, "stash", "pop", "-q")
    code, told = preflight(checkout, capsys)
    row = next(row for row in told["checks"] if row["number"] == 7)
    assert code == 1
    assert row["status"] == "FAIL"
    assert told["header"] == "REJECTED"


def test_a_broken_master_is_told_with_file_and_line(checkout, capsys) -> None:
    master = checkout / MASTER
    master.write_text(master.read_text().replace("runner: cluster:gb200-nv", "runner: [", 1))
    code = main(["preflight", "--repo", str(checkout), "--base", "main", "--date", DAY])
    told = capsys.readouterr()
    assert code in (1, 2)
    assert f"{MASTER}:" in told.out + told.err
    assert "Traceback" not in told.err
