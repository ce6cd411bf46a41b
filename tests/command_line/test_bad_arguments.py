"""Every verb told wrongly: one sentence with the next step, the right exit code, never an error of ours."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli import main
from app.launch.evidence import jobs_of_folder

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = str(ROOT / "examples" / "pr-4343")

USAGE = [
    pytest.param(["nosuch"], "No such command 'nosuch'", id="a verb that does not exist"),
    pytest.param(["--nosuch"], "No such option: --nosuch", id="an option that does not exist"),
    pytest.param(["explain"], "Missing argument", id="explain without a number"),
    pytest.param(["explain", "x"], "integer", id="explain with a word"),
    pytest.param(["explain", "-1"], "No such option", id="explain with a negative number"),
    pytest.param(["verify", "--bundle", EXAMPLE, "--record", "there"], "with --pr", id="record of a bundle"),
    pytest.param(["verify", "--bundle", EXAMPLE, "--signoff", "url"], "with --pr", id="sign-off of a bundle"),
    pytest.param(["preflight", "--repo", "/nonexistent"], "Check --repo", id="preflight of no folder"),
    pytest.param(["bundle", "redact", EXAMPLE, "{file}"], "Give another folder", id="redact into a file"),
    pytest.param(["bundle", "redact", EXAMPLE, "/proc/none"], "Give another folder", id="redact where none can write"),
    pytest.param(["recipe", "/etc/passwd", "--repo", "{folder}"], "not below", id="a recipe outside --repo"),
    pytest.param(["recipe", "{recipe}", "--point", "conc=²"], "", id="a superscript number as a point"),
    pytest.param(["sandbox", "--port", "99999999"], "0-65535", id="a port that cannot be"),
    pytest.param(["why", "{folder}"], "holds nothing of a run", id="why of a folder without a run"),
    pytest.param(["codeowners", "-", "--file", "-"], "stdin", id="two things from stdin"),
]


@pytest.mark.parametrize(("arguments", "told"), USAGE)
def test_is_told_in_a_sentence(tmp_path, capsys, monkeypatch, arguments, told):
    (tmp_path / "file").write_text("a file")
    (tmp_path / "recipe.yaml").write_text("schema: 2\nengine: sglang\nroles: {agg: {gpus: 4}}\n")
    places = {"file": tmp_path / "file", "folder": tmp_path, "recipe": tmp_path / "recipe.yaml"}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    code = main([argument.format_map(places) for argument in arguments])
    captured = capsys.readouterr()
    assert code in (1, 2) if not told else code == 2
    assert told in captured.err
    assert "Internal error" not in captured.err


def test_without_a_verb_the_help_is_shown(capsys):
    assert main([]) == 2
    captured = capsys.readouterr()
    assert "Usage" in captured.out + captured.err
    assert "Internal error" not in captured.err


def test_codeowners_reads_paths_that_are_not_utf8(tmp_path, capsys, monkeypatch):
    owners = tmp_path / "CODEOWNERS"
    owners.write_text("* @reviewer\n")

    class Standard:
        buffer = io.BytesIO(b"caf\xe9.yaml\n")

    monkeypatch.setattr("sys.stdin", Standard)
    assert main(["codeowners", "-", "--file", str(owners)]) == 0


def test_a_launch_record_cannot_name_logs_outside_its_folder(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "private.log").write_text("a secret")
    run = tmp_path / "run"
    record = run / "job_event_a"
    record.mkdir(parents=True)
    (run / "server_logs_").mkdir()
    event = {"name": "/../../outside", "outcome": "failure", "run_attempt": 1}
    (record / "job_event.json").write_text(json.dumps(event))
    assert [job.logs for job in jobs_of_folder(run)] == [()]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_verdict_has_the_same_bytes_under_every_locale(encoding):
    done = subprocess.run(
        [sys.executable, "-m", "app.cli", "verify", "--bundle", EXAMPLE, "--format", "markdown"],
        cwd=ROOT, env={**os.environ, "PYTHONIOENCODING": encoding}, capture_output=True, check=False,
    )  # fmt: skip
    assert done.stderr == b""
    assert "✅✅✅".encode() in done.stdout
