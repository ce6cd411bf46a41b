"""Purpose: the shared real cases: every variant equal to the incumbent's output, every rejected case rejected.

The cases stand in ../shared; a clone without it skips them and keeps the rules proven by test_plan_rules.py.
"""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from types import ModuleType

import pytest

from app.cli_plan import main
from tests.planner.conftest import SHARED, metadata

PARITY = SHARED / "cases" / "parity"
COMPARE = SHARED / "cases" / "compare.py"
VARIANTS = ("", "trim-conc", "all-evals", "evals-only")
CASES = sorted(path.name for path in PARITY.iterdir()) if PARITY.is_dir() else []

pytestmark = pytest.mark.skipif(not CASES, reason="the folder ../shared with the real cases is not there")


def comparison() -> ModuleType:
    """The shared comparison, by its file."""
    spec = importlib.util.spec_from_file_location("parity_compare", COMPARE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant or "plain")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[:9])
@pytest.mark.parametrize("by_text", [True, False], ids=["incumbent-diff", "parsed difference"])
def test_equals_the_incumbent(case: str, variant: str, by_text: bool, capsys: pytest.CaptureFixture[str]) -> None:
    folder = PARITY / case
    meta = metadata(folder)
    wanted = meta["variants"][variant]["exit"] if variant else meta["exit"]
    options = [f"--{variant}"] if variant else []
    options += ["--incumbent-diff"] if by_text else []
    code = main(["plan", "--base", str(folder / "base"), "--head", str(folder / "head"), *options])
    printed = capsys.readouterr()
    assert code == wanted, printed.err
    if wanted:
        assert printed.out == ""
        assert printed.err.startswith("perf-changelog.yaml:")
        return
    expected = folder / f"expected{'-' + variant if variant else ''}.jsonl"
    compare = comparison()
    lines = expected.read_text(encoding="utf-8").splitlines()
    wanted_rows = Counter(compare.canonical(json.loads(line)) for line in lines)
    assert Counter(map(compare.canonical, compare.points(json.loads(printed.out)))) == wanted_rows


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[:9])
def test_each_row_comes_from_the_key_that_the_case_names(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = PARITY / case
    if metadata(folder)["exit"]:
        pytest.skip("a rejected case has no rows")
    main(["plan", "--base", str(folder / "base"), "--head", str(folder / "head"), "--format", "points"])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    wanted = [json.loads(line) for line in (folder / "expected.jsonl").read_text(encoding="utf-8").splitlines()]
    left_out = ("prefill-summary", "decode-summary")
    rows = [{name: value for name, value in row.items() if name not in left_out} for row in wanted]
    assert sorted(map(json.dumps, map(_sorted, found))) == sorted(map(json.dumps, map(_sorted, rows)))


def _sorted(row: dict[str, object]) -> dict[str, object]:
    return dict(sorted((name, json.dumps(value, sort_keys=True)) for name, value in row.items()))
