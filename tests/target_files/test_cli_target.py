"""Purpose: the verbs recipe, golden-al, models and codeowners: JSON, exit codes, messages without traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli_target import main

RECIPE = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/m/sglang/gb200-fp4-mtp/agentic.yaml"
FILES = {
    RECIPE: """
base:
  schema: 2
  engine: sglang
  roles: {agg: {gpus: 4, args: {tp-size: 4, speculative-algorithm: DFLASH, speculative-num-draft-tokens: 8}}}
override_c1: {benchmark: {env: {CONC: '1'}}}
override_c4: {benchmark: {env: {CONC: '4'}}}
""",
    "inferencex-e2e/infx/golden_al_distribution/musespark_dflash.yaml": "muse:\n  thinking_on: {7: 4.05}\n",
    ".github/CODEOWNERS": "* @core\n/inferencex-e2e/configs/ @a @b # @c\n!x @d\n",
    "inferencex-e2e/docs/MODELS.md": (
        "| Scenario | ISL/OSL | Status |\n|---|---|---|\n| Agentic coding | x | Active. |\n\n"
        "| Class | Prefix | Date added | Active scenarios | Deprecated scenarios |\n|---|---|---|---|---|\n"
        "| Muse | `musespark` | 2026-10-15 | Agentic coding | |\n"
    ),
}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, object, str]:
    code = main(argv)
    shown = capsys.readouterr()
    return code, json.loads(shown.out) if shown.out else None, shown.err


def test_recipe_shows_each_value_with_its_line(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown, _ = run(capsys, "recipe", f"{repo / RECIPE}:override_c4")
    assert code == 0
    assert isinstance(shown, dict)
    role = shown["roles"]["agg"]
    assert role["args"]["tensor-parallel-size"] == {"value": 4, "where": f"{RECIPE}:5"}
    assert role["speculation"]["length"] == 7
    assert shown["benchmark_env"]["CONC"]["value"] == "4"


def test_recipe_without_a_point_shows_every_candidate(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown, _ = run(capsys, "recipe", RECIPE, "--repo", str(repo))
    assert code == 0
    assert isinstance(shown, list)
    assert [item["variant"] for item in shown] == ["override_c1", "override_c4"]


def test_recipe_binds_a_point_or_names_the_nearest_miss(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown, _ = run(capsys, "recipe", RECIPE, "--repo", str(repo), "--point", "conc=4")
    assert (code, shown["variant"]) == (0, "override_c4")  # type: ignore[index]
    code, shown, told = run(capsys, "recipe", RECIPE, "--repo", str(repo), "--point", "conc=5")
    assert (code, shown) == (1, None)
    assert "override_c4: CONC is 4 in line 7, the point has 5" in told


GOLDEN = ("golden-al", "--model-prefix", "musespark", "--framework", "sglang", "--thinking", "thinking_on")


def test_golden_al_from_a_recipe_and_from_a_method(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = {"curve": "musespark_dflash", "length": 7, "acceptance_length": 4.05}
    assert run(capsys, *GOLDEN, "--recipe", str(repo / RECIPE))[:2] == (0, expected)
    given = ("--method", "DFLASH", "--length", "7", "--repo", str(repo))
    assert run(capsys, *GOLDEN, *given)[:2] == (0, expected)


def test_codeowners_gives_owners_line_and_pattern(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown, told = run(capsys, "codeowners", "--repo", str(repo), "inferencex-e2e/configs/x.yaml", "y")
    assert code == 0
    assert shown == {
        "inferencex-e2e/configs/x.yaml": {"owners": ["@a", "@b"], "line": 2, "pattern": "/inferencex-e2e/configs/"},
        "y": {"owners": ["@core"], "line": 1, "pattern": "*"},
    }
    assert ".github/CODEOWNERS:3" in told


def test_codeowners_without_an_owner_is_an_empty_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "CODEOWNERS").write_text("/docs/ @a\n")
    code, shown, _ = run(capsys, "codeowners", "--file", str(tmp_path / "CODEOWNERS"), "src/x")
    assert (code, shown) == (0, {"src/x": {"owners": [], "line": None, "pattern": None}})


def test_models_gives_the_row_and_the_status_of_each_scenario(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown, _ = run(capsys, "models", "musespark", "--date", "2026-10-21", "--repo", str(repo))
    assert code == 0
    assert isinstance(shown, dict)
    assert shown["scenarios"]["agentic-coding"]["allowed"] is True
    code, shown, _ = run(capsys, "models", "other", "--repo", str(repo))
    assert code == 1
    assert isinstance(shown, dict)
    assert shown["found"] is False


REFUSED = [
    ("no such file", ("recipe", "missing.yaml"), 2, "not a file"),
    ("a repository that is none", ("models", "x", "--repo", "missing"), 2, "not a directory"),
    ("an unknown selector", ("recipe", RECIPE + ":override_x", "--repo", "."), 1, "Choose one of"),
    ("a recipe that is not there", ("recipe", "x/y.yaml", "--repo", "."), 2, "not in the repository"),
    ("a path that leaves the repository", ("recipe", "../../etc/passwd", "--repo", "."), 2, "not in the repository"),
    ("a point without a value", ("recipe", RECIPE, "--repo", ".", "--point", "conc"), 2, "name=value"),
    ("a date that is none", ("models", "x", "--date", "today", "--repo", "."), 2, "YYYY-MM-DD"),
    ("an unknown framework", ("golden-al", "--model-prefix", "m", "--framework", "x", "--method", "mtp"), 2, "unknown"),
    ("neither recipe nor method", (*GOLDEN, "--repo", "."), 2, "either --recipe"),
    ("a length that was not measured", (*GOLDEN, "--method", "dflash", "--length", "8", "--repo", "."), 1, "ends at 7"),
    (
        "a model without a curve",
        (*GOLDEN[:2], "none", *GOLDEN[3:], "--method", "mtp", "--length", "1", "--repo", "."),
        1,
        "no committed",
    ),
    ("an unknown option", ("recipe", "--nonsense"), 2, "usage"),
    ("no CODEOWNERS anywhere", ("codeowners", "--repo", "inferencex-e2e", "x"), 2, "no CODEOWNERS"),
]


@pytest.mark.parametrize(("argv", "code", "words"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_bad_input_is_told_in_one_sentence_with_its_exit_code(
    repo: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    argv: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    monkeypatch.chdir(repo)
    found, shown, told = run(capsys, *argv)
    assert (found, shown) == (code, None)
    assert words in told
    assert "Traceback" not in told


def test_the_verbs_start_without_the_service(repo: Path) -> None:
    code = (
        "import sys; from app.cli_target import main; "
        f"main(['recipe', {RECIPE!r}, '--repo', {str(repo)!r}]); "
        "print(sorted({'fastapi','pydantic','sqlalchemy','typer','httpx','dbos'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
