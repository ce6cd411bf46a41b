"""Documentation is held true: what is generated is fresh, what exists is documented, what is shown is real."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import checks
from app.cli import FAST_VERBS
from app.cli_verbs import app as verbs
from app.settings import Settings
from app.verdict import engine, render
from app.verdict.explain import explain_text
from tests.support.bundles import good

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["docs_generate"] = module
    spec.loader.exec_module(module)
    return module


GENERATOR = _generator()
GENERATED = {path.relative_to(ROOT).as_posix(): content for path, content in GENERATOR.files()}


@pytest.mark.parametrize("path", sorted(GENERATED))
def test_generated_page_is_fresh(path: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == GENERATED[path], "run `make docs`"


def test_there_are_eighteen_checks_with_their_names() -> None:
    assert [check.number for check in checks.all_checks()] == list(range(18))


@pytest.mark.parametrize("check", checks.all_checks(), ids=lambda check: f"check {check.number}")
def test_check_explains_itself(check: checks.Check) -> None:
    text = explain_text(check.number)
    assert text is not None
    assert check.help.rule in text
    assert check.applies.__doc__, "applies needs one line that docs/checks/README.md shows"


@pytest.mark.parametrize("check", checks.all_checks(), ids=lambda check: f"check {check.number}")
def test_every_rule_of_the_check_is_named_by_a_test(check: checks.Check) -> None:
    rules = GENERATOR.rules_of(check)
    assert rules, "a check states its rules in RULES"
    named = GENERATOR.tests_by_rule()
    assert [identifier for identifier in rules if identifier not in named] == []


def test_advisory_checks_are_four_fourteen_and_fifteen() -> None:
    assert [check.number for check in checks.all_checks() if check.advisory] == [4, 14, 15]


def test_every_verb_stands_in_the_command_line_page() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    typer_verbs = [command.name or command.callback.__name__ for command in verbs.registered_commands]
    typer_verbs += [group.name for group in verbs.registered_groups]
    missing = [
        verb
        for verb in (*FAST_VERBS, *typer_verbs)
        if f"sweepgate {verb}" not in page.replace("run_event", "run-event")
    ]
    assert missing == []


def test_every_setting_stands_in_the_operations_page() -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    missing = [name for name in Settings.model_fields if f"SWEEPGATE_{name.upper()}" not in page]
    assert missing == []


def test_readme_is_short_and_names_the_two_commands() -> None:
    assert len(README.splitlines()) < 150
    assert "make run" in README
    assert "make test" in README


def test_readme_shows_the_real_verdict() -> None:
    text = render.markdown(engine.judge(good().bundle)).strip()
    assert text in README


def test_links_between_documents_lead_somewhere() -> None:
    broken = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if not re.match(r"https?://|mailto:", target) and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)} -> {target}")
    assert broken == []


def test_every_python_module_states_its_purpose() -> None:
    lacking = []
    for path in sorted((ROOT / "app").rglob("*.py")) + sorted((ROOT / "checks").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if text.strip() and not text.startswith('"""Purpose: '):
            lacking.append(path.relative_to(ROOT).as_posix())
    assert lacking == []


def test_no_lock_file_names_an_index() -> None:
    for lock in sorted(ROOT.glob("requirements*.lock")):
        assert not re.search(r"^--|https?://", lock.read_text(encoding="utf-8"), re.MULTILINE), lock.name


def test_explain_prints_on_the_command_line() -> None:
    done = subprocess.run([sys.executable, "-m", "app.cli", "explain", "11"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0
    assert "Agentic golden AL" in done.stdout
