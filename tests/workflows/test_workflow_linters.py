"""What `sweepgate install` writes, checked offline by GitHub's workflow schema and by zizmor; ignores give reasons."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli_launch import main
from app.launch.install import FOLDER, MODES, render

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "workflows" / "zizmor.yml"


def tool(name: str) -> str:
    """The linter beside this Python; a development package, so its absence is a skip that says how to get it."""
    found = shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip(f"{name} is not installed: make setup installs it from requirements-dev.lock")
    return found


def check_schema(folder: Path) -> subprocess.CompletedProcess[str]:
    files = sorted(str(path) for path in (folder / FOLDER).glob("*.yml"))
    command = [tool("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", *files]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def zizmor(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [tool("zizmor"), "--offline", "--no-progress", "--persona", "auditor", "--config", str(RULES), *options]
    return subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)


@pytest.fixture(params=MODES)
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    assert main(["install", "--repo", str(tmp_path), "--mode", request.param]) == 0
    return tmp_path


def test_installed_workflows_fit_githubs_schema(repository: Path) -> None:
    done = check_schema(repository)
    assert done.returncode == 0, done.stdout + done.stderr


def test_zizmor_finds_nothing_in_installed_workflows(repository: Path) -> None:
    done = zizmor(repository)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_schema_tells_a_job_without_a_runner(repository: Path) -> None:
    path = repository / FOLDER / "collect.yml"
    path.write_text(re.sub(r"^    runs-on: .*\n", "", path.read_text(), flags=re.MULTILINE))
    done = check_schema(repository)
    assert done.returncode == 1
    assert "collect.yml" in done.stdout


def test_zizmor_tells_a_checkout_that_keeps_its_credentials(repository: Path) -> None:
    path = repository / FOLDER / "benchmark.yml"
    path.write_text(path.read_text().replace("persist-credentials: false", "persist-credentials: true"))
    done = zizmor(repository)
    assert done.returncode != 0
    assert "artipacked" in done.stdout


def test_each_inline_ignore_names_one_rule_and_its_reason() -> None:
    texts = [text for mode in MODES for text in render(mode).values()]
    ignores = [line for text in texts for line in text.splitlines() if "zizmor:" in line]
    assert ignores
    for line in ignores:
        assert re.search(r"# zizmor: ignore\[[a-z-]+\] \w+( \S+){3,}", line), line


def test_each_rule_that_is_switched_off_has_its_reason_above_it() -> None:
    lines = RULES.read_text().splitlines()
    off = [number for number, line in enumerate(lines) if "disable: true" in line or "ignore:" in line]
    assert off
    for number in off:
        assert lines[number - 2].strip().startswith("#"), lines[number - 1]
