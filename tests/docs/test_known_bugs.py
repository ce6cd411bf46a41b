"""Purpose: docs/known-bugs.md is true: its tests exist, no kind is missing; and the kinds that no other room tests."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from app.checkout.revisions import text_diff
from app.decide.actions import Stage
from app.decide.core import decide
from app.launch.install import MODES, render
from app.planner.changelog_gate import Change, check_changelog
from app.results.identity import agentic_identity
from app.verdict.engine import judge
from app.verdict.render import markdown
from tests.decide.pull_states import SERVICE, remark, run, state, with_label
from tests.planner.conftest import CHANGELOG
from tests.planner.test_changelog_gate import FIRST, NEW, SECOND, files
from tests.support.bundles import good

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT.parent / "shared" / "spec" / "known-bugs.md"
PAGE = (ROOT / "docs" / "known-bugs.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| ([12]\.\w+) \|.*\| (.+) \|$", PAGE, re.MULTILINE))
# GitHub refuses a workflow with an expression in a longer scalar.
EXPRESSION_LIMIT = 21_000


@cache
def _module(path: str) -> tuple[set[str], set[str]]:
    """Names of the test functions and all texts of a test file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return names, texts


@pytest.mark.parametrize("row", ROWS)
def test_every_named_test_exists(row: str) -> None:
    named = re.findall(r"`(tests/[^:`]+)::(\w+)(?:\[([^`]+)\])?`", ROWS[row])
    assert named, "each kind names its test"
    assert len(named) == ROWS[row].count("::"), "each test is written as `file::test[row]`"
    for path, function, case in named:
        names, texts = _module(path)
        assert function in names, f"{path} has no {function}"
        assert not case or case in texts, f"{path} has no row {case!r}"


def test_every_kind_of_the_specification_has_a_row() -> None:
    if not SPEC.is_file():
        pytest.skip("the folder shared with the specification is not beside this repository")
    parts = SPEC.read_text(encoding="utf-8").split("## Part ")[1:]
    kinds = [f"{part[0]}.{number}" for part in parts for number in re.findall(r"^\| (\d+) \|", part, re.MULTILINE)]
    assert kinds
    assert [kind for kind in kinds if kind not in ROWS] == []


def test_no_scalar_of_a_workflow_comes_near_githubs_limit() -> None:
    for mode in MODES:
        for name, text in render(mode).items():
            longest = max(len(scalar) for scalar in _scalars(YAML(typ="safe").load(text)))
            assert longest < EXPRESSION_LIMIT / 4, name


def _scalars(node: Any) -> list[str]:
    if isinstance(node, dict):
        return [text for value in node.values() for text in _scalars(value)]
    if isinstance(node, list):
        return [text for value in node for text in _scalars(value)]
    return [str(node)]


def test_a_pass_mentions_nobody() -> None:
    text = markdown(judge(good().bundle), signer="reviewer", escalate_to=("maintainer",))
    outside_code = re.sub(r"`[^`]*`", "", text)
    assert "PASS" in text
    assert not re.search(r"@\w", outside_code)


def _jobs(mode: str) -> dict[str, Any]:
    return dict(YAML(typ="safe").load(render(mode)["run-sweep.yml"])["jobs"])


@pytest.mark.parametrize("mode", MODES)
def test_families_wait_for_a_canary_that_succeeded_or_was_skipped(mode: str) -> None:
    families = [job for job in _jobs(mode).values() if "canary" in job.get("needs", [])]
    waiting = [str(job["if"]) for job in families if "strategy" in job]
    assert waiting
    assert all('contains(fromJSON(\'["success", "skipped"]\'), needs.canary.result)' in text for text in waiting)


def test_the_control_workflow_never_cancels_a_run() -> None:
    control = YAML(typ="safe").load(render("actions")["sweepgate.yml"])
    assert control["concurrency"]["cancel-in-progress"] is False


def test_staging_carries_the_date_on_which_the_run_was_made() -> None:
    yesterday = 1_798_761_500.0  # 2026-12-31T23:58:20Z
    asked = remark("/stage-results 500", at=yesterday + 600)
    labelled = with_label(state(), "full-sweep-fail-fast", at=yesterday - 60)
    given = replace(labelled, runs=(run(500, at=yesterday),), remarks=(asked,))
    actions = decide(given, SERVICE).actions
    assert [action.run_date for action in actions if isinstance(action, Stage)] == ["2026-12-31"]


def test_an_identity_with_a_nested_value_is_counted_like_any_other() -> None:
    row = {"hw": "gb200-nv", "kv_offload_backend": {"name": "disk", "sizes": [1, 2]}}
    other = {"hw": "gb200-nv", "kv_offload_backend": {"sizes": [1, 2], "name": "disk"}}
    assert len({agentic_identity(row), agentic_identity(other)}) == 1


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "lenient"])
def test_spaces_on_an_old_separator_line_do_not_matter(strict: bool) -> None:
    base = f"{FIRST}  \n{SECOND}"
    before, after = files(base), files(f"{base}\n{NEW}")
    diff = text_diff(before.files[CHANGELOG], after.files[CHANGELOG])
    assert check_changelog(Change(before, after, *diff, None), strict=strict) == []
