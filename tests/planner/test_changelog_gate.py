"""Purpose: the lenient and the byte-strict gate of a changelog change: each rule, its line and its fix."""

from __future__ import annotations

import pytest

from app.checkout.revisions import text_diff
from app.planner.changelog_gate import Change, Level, Message, check_changelog
from app.target.tree import Tree
from tests.planner.conftest import CHANGELOG, NVIDIA
from tests.planner.made_entries import single
from tests.support.made_masters import RUNNERS, changelog_entry

MASTERS = single("k", "tp: 8, conc-list: [4]") + single("k2", "tp: 8, conc-list: [4]", model="mo2")
FIRST, SECOND = changelog_entry(["k"], 1), changelog_entry(["k2"], "XXX").replace("XXX", "XXX")
BASE = f"{FIRST}\n{SECOND}"
NEW = changelog_entry(["k"]).replace("Retune", "Retune again")


def files(log: str | bytes) -> Tree:
    content = log if isinstance(log, bytes) else log.encode()
    found = {NVIDIA: MASTERS.encode(), "configs/runners.yaml": RUNNERS.encode(), CHANGELOG: content}
    return Tree("", found, complete=True)


def gate(head: str | bytes, base: str | bytes = BASE, *, strict: bool = True, pr: int | None = None) -> list[Message]:
    before, after = files(base), files(head)
    diff = text_diff(before.files[CHANGELOG], after.files[CHANGELOG])
    return check_changelog(Change(before, after, *diff, pr), strict=strict)


def told(messages: list[Message]) -> list[tuple[int, str, str]]:
    return [(message.line, message.rule, message.level.value) for message in messages]


GOOD = [
    pytest.param(f"{BASE}\n{NEW}", BASE, id="one entry at the end"),
    pytest.param(f"{BASE}\n{NEW}\n{NEW.replace('again', 'once more')}", BASE, id="two entries"),
    pytest.param(f"{BASE}\n{NEW}", f"{BASE}\n", id="the base ends in an empty line"),
    pytest.param(NEW, "", id="the first entry of all"),
]


@pytest.mark.parametrize(("head", "base"), GOOD)
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "lenient"])
def test_passes(head: str, base: str, strict: bool) -> None:
    assert gate(head, base, strict=strict) == []


CORRECTED = BASE.replace("pr-link: XXX", "pr-link: https://github.com/SemiAnalysisAI/InferenceX/pull/77")


def test_a_corrected_link_passes_strictly_and_is_a_deletion_leniently() -> None:
    assert gate(CORRECTED) == []
    assert told(gate(CORRECTED, strict=False)) == [(0, "deletion", "error")]


MORE = NEW.replace("again", "once more")
OTHER_FIRST = "- pr-link: XXX\n  description: [x]\n  config-keys: [k]\n"
STRICT = [
    pytest.param(BASE, BASE, 0, "no-entry", id="nothing changed"),
    pytest.param(f"{BASE}\n{NEW}".rstrip("\n"), BASE, 20, "final-newline", id="no newline at the end"),
    pytest.param(f"{BASE}\n{NEW}\n", BASE, 21, "final-newline", id="an empty line at the end"),
    pytest.param(f"{BASE}{NEW}", BASE, 14, "separator", id="no empty line before the entry"),
    pytest.param(f"{BASE}\n\n{NEW}", BASE, 14, "separator", id="two empty lines before the entry"),
    pytest.param(f"{BASE}\n# note\n{NEW}", BASE, 14, "separator", id="a comment before the entry"),
    pytest.param(f"{BASE}\n{NEW}\n\n{MORE}", BASE, 23, "separator", id="two empty lines between entries"),
    pytest.param(f"{BASE}\n{NEW}{MORE}", BASE, 21, "separator", id="no empty line between entries"),
    pytest.param(f"{FIRST}\n{NEW}\n{SECOND}", BASE, 8, "position", id="an entry in the middle"),
    pytest.param(f"{CORRECTED}\n{NEW}", BASE, 8, "mixed", id="a correction beside an entry"),
    pytest.param(CORRECTED.replace("/pull/77", "/issues/77"), BASE, 8, "pr-link", id="a correction to no pull request"),
    pytest.param(CORRECTED.replace('"New image"', "New image"), BASE, 5, "bytes", id="a correction that touches more"),
    pytest.param(BASE.replace('"New image"', "New image"), BASE, 5, "bytes", id="a reformatted entry"),
    pytest.param(f"{SECOND}\n{FIRST}", BASE, 2, "bytes", id="entries in another order"),
    pytest.param(SECOND, BASE, 0, "removed", id="an entry removed"),
    pytest.param(BASE.replace("Retune", "Tune", 1), BASE, 0, "removed", id="an entry edited"),
    pytest.param(f"# head\n{BASE}\n{NEW}", BASE, 1, "bytes", id="a comment before everything"),
    pytest.param(f"{BASE}\n{NEW}".replace("again", "a\tgain"), BASE, 18, "characters", id="a tab"),
    pytest.param(f"{BASE}\n{NEW}".replace("again", "again\r"), BASE, 18, "characters", id="a carriage return"),
    pytest.param(f"{BASE}\n{NEW}".replace("again", "a\0gain"), BASE, 18, "schema", id="a NUL byte"),
    pytest.param(f"{BASE}\n{OTHER_FIRST}", BASE, 15, "first-field", id="another field first"),
    pytest.param(f"{BASE}\n{NEW}  colour: red\n", BASE, 21, "schema", id="an unknown field"),
    pytest.param(f"{BASE}\n{changelog_entry(['gone'])}", BASE, 15, "plan", id="an unknown key"),
    pytest.param(f"{BASE}\n{NEW.replace('XXX', 'TBD')}", BASE, 15, "pr-link", id="an unknown placeholder"),
]


@pytest.mark.parametrize(("head", "base", "line", "rule"), STRICT)
def test_strictly_refused(head: str | bytes, base: str, line: int, rule: str) -> None:
    found = gate(head, base)
    assert (line, rule, "error") in told(found), told(found)
    assert all(message.fix.endswith(".") for message in found)


@pytest.mark.parametrize(
    ("link", "number", "good"),
    [
        pytest.param("https://github.com/SemiAnalysisAI/InferenceX/pull/42", 42, True, id="this pull request"),
        pytest.param("https://github.com/SemiAnalysisAI/InferenceX/pull/41", 42, False, id="another pull request"),
        pytest.param("https://github.com/SemiAnalysisAI/InferenceX/pull/41", None, True, id="any, where it is unknown"),
        pytest.param("https://github.com/SemiAnalysisAI/InferenceX/pull/XXX", 42, True, id="the long placeholder"),
        pytest.param("XXX", 42, True, id="the placeholder"),
        pytest.param("https://github.com/other/fork/pull/42", 42, False, id="another repository"),
        pytest.param("https://github.com/SemiAnalysisAI/InferenceX/pull/42/files", 42, False, id="a page of it"),
    ],
)
def test_the_link_of_a_new_entry(link: str, number: int | None, good: bool) -> None:
    found = gate(f"{BASE}\n{NEW.replace('XXX', link)}", pr=number)
    assert told(found) == ([] if good else [(15, "pr-link", "error")])


def test_leniently_an_entry_in_the_middle_is_a_warning() -> None:
    found = gate(f"{FIRST}\n{NEW}\n{SECOND}", strict=False)
    assert told(found) == [(8, "position", "warning")]
    assert found[0].level is Level.WARNING


@pytest.mark.parametrize(
    ("head", "line", "rule"),
    [
        pytest.param(BASE, 1, "plan", id="nothing added"),
        pytest.param(SECOND, 0, "deletion", id="lines deleted"),
        pytest.param(f"{BASE}\n{NEW}".rstrip("\n"), 20, "final-newline", id="no newline at the end"),
        pytest.param(f"{BASE}\n{NEW}  - loose: [\n", 21, "plan", id="added lines that do not parse"),
        pytest.param(f"{BASE}\n{NEW}".replace("- k\n", "- q\n", 1), 0, "deletion", id="an old key renamed"),
        pytest.param(f"{BASE}\n{changelog_entry(['q'])}", 15, "plan", id="an unknown key"),
    ],
)
def test_leniently_refused(head: str, line: int, rule: str) -> None:
    found = gate(head, strict=False)
    assert (line, rule, "error") in told(found), told(found)


def test_a_deleted_empty_line_is_tolerated_leniently_only() -> None:
    base = f"{FIRST}\n\n{SECOND}"
    head = f"{FIRST}\n{SECOND}\n{NEW}"
    assert gate(head, base, strict=False) == []
    assert "bytes" in {message.rule for message in gate(head, base)}


def test_an_old_violation_is_not_held_against_a_new_entry() -> None:
    old = f"{FIRST}\n\n\n{SECOND}".replace("New image", "New\timage", 1)
    assert gate(f"{old}\n{NEW}", old) == []
