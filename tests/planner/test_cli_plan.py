"""Purpose: `plan`, `changed` and `changelog`: forms, exit codes, streams, and the schemas that describe them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from app.cli_plan import main
from app.target.tree import Tree
from tests.planner.conftest import CHANGELOG, NVIDIA, Write, entry, tree
from tests.planner.made_entries import multi, pools, single

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "docs" / "schemas"
MASTERS = single("k", "tp: 8, conc-list: [4, 64]", "tp: 8, kv-offloading: none, conc-list: [1, 2]")
MASTERS += multi("m", pools("[16]"), pools("[8]"), model="mo2")
HEAD = tree(MASTERS.replace("[4, 64]", "[4, 64, 128]"), entry(["k", "m"]))


@pytest.fixture
def sides(tmp_path: Path, write: Write) -> list[str]:
    """Options that name a base and a head directory."""
    base, head = write(tmp_path / "base", tree(MASTERS)), write(tmp_path / "head", HEAD)
    return ["--base", str(base), "--head", str(head)]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def valid(name: str, value: Any) -> None:
    schema = json.loads((SCHEMAS / name).read_text(encoding="utf-8"))
    jsonschema_rs.validate(schema, value)


def test_plan_prints_one_line_of_json_and_nothing_else(sides: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "plan", *sides)
    assert (code, err, out.count("\n")) == (0, "", 1)
    matrix = json.loads(out)
    valid("plan.schema.json", matrix)
    assert [row["conc"] for row in matrix["single_node"]["8k1k"]] == [4, 64, 128]
    assert matrix["changelog_metadata"]["base_ref"] == sides[1]


@pytest.mark.parametrize("option", ["--trim-conc", "--all-evals", "--evals-only", "--agentx-fast", "--incumbent-diff"])
def test_every_option_gives_a_valid_matrix(sides: list[str], option: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "plan", *sides, option)
    assert code == 0
    valid("plan.schema.json", json.loads(out))


def test_october_rules_can_be_forced(sides: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    _, out, err = run(capsys, "plan", *sides, "--rules", "october", "--explain")
    matrix = json.loads(out)
    valid("plan.schema.json", matrix)
    assert matrix["agentic_evals"][0]["eval-framework"] == "lm-eval"
    assert err.startswith("rules: october (chosen by --rules)")


def test_explain_names_entry_and_master_lines_on_stderr(sides: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = run(capsys, "plan", *sides, "--explain")
    assert err.splitlines()[0] == "rules: august (chosen by the layout of head)"
    assert "single_node.8k1k k c128: entry perf-changelog.yaml:8:1, row configs/nvidia-master.yaml:14:9" in err


def test_points_are_one_row_a_line_with_their_key(sides: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "plan", *sides, "--format", "points", "--explain")
    assert code == 0
    rows = [json.loads(line) for line in out.splitlines()]
    for row in rows:
        valid("plan-point.schema.json", row)
    assert {row["config-key"] for row in rows} == {"k", "m"}
    assert rows[0]["master"] == "configs/nvidia-master.yaml:14:9"


def test_the_table_sums_points_gpus_and_hours(sides: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "plan", *sides, "--format", "table")
    lines = out.splitlines()
    assert lines[0].split() == ["bucket", "config", "key", "concurrency", "points", "GPUs", "GPU-hours", "(estimate)"]
    assert lines[-1].split()[:2] == ["total", "10"]


def test_changed_gives_added_and_removed_points(sides: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "changed", *sides)
    found = json.loads(out)
    assert code == 0
    valid("plan-changed.schema.json", found)
    assert [point["conc"] for point in found["k"]["added"]] == [128]
    assert found["k"]["removed"] == []


def test_a_rejected_input_is_told_on_stderr_with_exit_one(
    tmp_path: Path, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    base = write(tmp_path / "base", tree(MASTERS))
    head = write(tmp_path / "head", tree(MASTERS, entry(["gone"])))
    code, out, err = run(capsys, "plan", "--base", str(base), "--head", str(head))
    assert (code, out) == (1, "")
    assert (
        err == "perf-changelog.yaml:8:1: A config key must stand in a master config. Found: gone. Add it to a master.\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["plan"], id="no base"),
        pytest.param(["plan", "--base", "x", "--format", "xml"], id="an unknown form"),
        pytest.param(["plans"], id="an unknown verb"),
        pytest.param([], id="no verb"),
        pytest.param(["changelog"], id="no action"),
        pytest.param(["plan", "--base", "/no/such/place", "--head", "."], id="a base that is nothing"),
        pytest.param(["plan", "--base", "--upload-pack=x"], id="an option as revision"),
        pytest.param(["plan", "--base", ".", "--head", "no-such-revision"], id="an unknown revision"),
    ],
)
def test_wrong_usage_is_exit_two(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err
    assert "Traceback" not in err


def test_help_is_fine(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "plan", "--help")
    assert code == 0
    assert "--incumbent-diff" in out


@pytest.mark.parametrize(("strict", "code"), [(False, 0), (True, 1)])
def test_changelog_check_warns_or_fails_and_says_where(
    tmp_path: Path, write: Write, strict: bool, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    base = write(tmp_path / "base", tree(MASTERS, entry(["m"])))
    middle = HEAD.files[CHANGELOG] + b"\n" + entry(["m"]).encode()
    head = write(tmp_path / "head", Tree("", {**HEAD.files, CHANGELOG: middle}, complete=True))
    options = ["changelog", "check", "--base", str(base), "--head", str(head), *(["--strict"] if strict else [])]
    assert run(capsys, *options)[0] == code
    _, out, _ = run(capsys, *options, "--format", "json")
    found = json.loads(out)
    valid("plan-changelog-check.schema.json", found)
    assert [(row["line"], row["rule"]) for row in found] == [(8, "position")]


def test_changelog_add_appends_an_entry_that_the_strict_gate_takes(
    tmp_path: Path, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    base, head = write(tmp_path / "base", tree(MASTERS)), write(tmp_path / "head", tree(MASTERS))
    before = (head / CHANGELOG).read_bytes()
    options = ["--keys", "k", '--description=Retune: "more"', "--scenario-type", "agentic-coding", "--append-only"]
    code, out, _ = run(capsys, "changelog", "add", "--repo", str(head), *options)
    after = (head / CHANGELOG).read_bytes()
    assert (code, after) == (0, before + b"\n" + out.encode())
    pair = ["--base", str(base), "--head", str(head)]
    code, out, _ = run(capsys, "changelog", "check", *pair, "--strict")
    assert (code, out.count("must add a point")) == (1, 1), "the entry is well-formed; only its sweep is empty"


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--keys", "gone", "--description", "x"], id="an unknown key"),
        pytest.param(["--keys", "k", "--description", "x", "--append-only", "--all-evals"], id="flags that exclude"),
        pytest.param(["--keys", "k", "--description", "x", "--eval-min-prefill-ep", "0"], id="a threshold of zero"),
    ],
)
def test_changelog_add_refuses_and_writes_nothing(
    tmp_path: Path, write: Write, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    head = write(tmp_path, tree(MASTERS))
    before = (head / CHANGELOG).read_bytes()
    assert run(capsys, "changelog", "add", "--repo", str(head), *options)[0] == 1
    assert (head / CHANGELOG).read_bytes() == before


def test_a_plan_of_directories_imports_neither_the_service_nor_a_model_library(sides: list[str]) -> None:
    script = (
        "import sys\nfrom app.cli import main\ncode = main(sys.argv[1:])\n"
        "heavy = {'pydantic', 'typer', 'rich', 'fastapi', 'sqlalchemy', 'subprocess'} & set(sys.modules)\n"
        "print(sorted(heavy), file=sys.stderr)\nsys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "plan", *sides], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stderr == "[]\n"


HOSTILE = [
    pytest.param(b"a: &a [x,x]\nb: &b [*a,*a]\n" + b"c: [*b]\n" * 2, id="aliases"),
    pytest.param(b"#" * 10_000_000, id="ten megabytes"),
    pytest.param(b"[" * 1000, id="deep nesting"),
    pytest.param(b"a: \0\n", id="a NUL byte"),
    pytest.param(b"a:\n\tb: 1\n", id="a tab"),
    pytest.param(b"a: \xff\n", id="invalid UTF-8"),
    pytest.param(b"a: 1\na: 2\n", id="a duplicate key"),
    pytest.param(b"1: {}\n", id="a key that is no text"),
    pytest.param(b"k: {multinode: yes, runner: 010}\n", id="values that YAML reads otherwise"),
    pytest.param(b"- a\n", id="a list"),
    pytest.param(b"text\n", id="a text"),
    pytest.param(b"a: {}\r\nb: {}\r\n", id="carriage returns"),
]


@pytest.mark.parametrize("content", HOSTILE)
@pytest.mark.parametrize("path", [NVIDIA, "configs/runners.yaml", CHANGELOG])
def test_hostile_files_are_refused_in_one_message_each(
    tmp_path: Path, write: Write, path: str, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    base = write(tmp_path / "base", tree(MASTERS))
    head = write(tmp_path / "head", Tree("", {**HEAD.files, path: content}, complete=True))
    code, out, err = run(capsys, "plan", "--base", str(base), "--head", str(head))
    assert (code, out) == (1, "")
    assert err.splitlines()[0].startswith(f"{path}:")
    assert "Traceback" not in err


def test_a_link_is_refused(tmp_path: Path, write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    base, head = write(tmp_path / "base", tree(MASTERS)), write(tmp_path / "head", HEAD)
    (head / NVIDIA).unlink()
    (head / NVIDIA).symlink_to(base / NVIDIA)
    code, _, err = run(capsys, "plan", "--base", str(base), "--head", str(head))
    assert (code, "Symbolic links are not followed" in err) == (1, True)
