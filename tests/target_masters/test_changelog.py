"""Purpose: changelog entries: schema, difference by value, added lines of a text diff, writing, retired keys."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from app.target.changelog import Added, ChangelogEntry, difference, read_added, read_changelog
from app.target.changelog_text import appended, entry_text
from app.target.deprecated import read_deprecated
from app.target.source import FileLine, RejectedInput
from app.target.tree import Tree
from tests.target_masters.conftest import MakeTree

ENTRY = """\
- config-keys:
    - model-a
  description:
    - "Retune"
  pr-link: XXX
"""
OTHER = ENTRY.replace("model-a", "model-b")


def test_an_entry_has_its_defaults_and_its_first_line(make_tree: MakeTree) -> None:
    (entry,) = read_changelog(make_tree(changelog=f"# log\n\n{ENTRY}"))
    assert (entry.config_keys, entry.description, entry.pr_link) == (("model-a",), ("Retune",), "XXX")
    assert str(entry.where) == "perf-changelog.yaml:3:1"
    assert entry.scenarios == ("fixed-seq-len", "agentic-coding")
    assert not (entry.evals_only or entry.all_evals or entry.no_evals or entry.append_only)


def test_an_absent_changelog_has_no_entries() -> None:
    assert read_changelog(Tree("", {}, complete=True)) == ()


@pytest.mark.parametrize(
    ("extra", "rule"),
    [
        pytest.param("  colour: red\n", "no field `colour`", id="an unknown field"),
        pytest.param("  evals-only: maybe\n", "true or false", id="a flag in words"),
        pytest.param("  scenario-type: agentic-coding\n", "must be a list", id="a scenario outside a list"),
        pytest.param("  scenario-type: []\n", "must be a list", id="no scenario"),
        pytest.param("  scenario-type: [chat]\n", "must be a list of", id="an unknown scenario"),
        pytest.param("  eval-min-prefill-ep: 0\n", "1 or more", id="a threshold of zero"),
        pytest.param("  eval-min-prefill-ep: true\n", "1 or more", id="a threshold that is a flag"),
        pytest.param(
            "  append-only: true\n  evals-only: true\n", "cannot be combined", id="append-only with evals-only"
        ),
        pytest.param("  append-only: true\n  all-evals: true\n", "cannot be combined", id="append-only with all-evals"),
        pytest.param(
            "  append-only: true\n  eval-min-prefill-ep: 2\n", "cannot be combined", id="append-only with a threshold"
        ),
        pytest.param("  no-evals: true\n  evals-only: true\n", "cannot be combined", id="no-evals with evals-only"),
        pytest.param(
            "  no-evals: true\n  eval-min-prefill-ep: 2\n", "cannot be combined", id="no-evals with a threshold"
        ),
    ],
)
def test_a_field_is_refused(make_tree: MakeTree, extra: str, rule: str) -> None:
    with pytest.raises(RejectedInput) as caught:
        read_changelog(make_tree(changelog=ENTRY + extra))
    assert rule in caught.value.problems[0].rule
    assert caught.value.problems[0].where.line >= 6


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param(ENTRY.replace("- model-a", "- 5"), "list of texts", id="a number as key"),
        pytest.param(ENTRY.replace("    - model-a\n", ""), "list of texts", id="no key"),
        pytest.param(ENTRY.replace("  pr-link: XXX\n", ""), "needs `pr-link`", id="no link"),
        pytest.param(ENTRY.replace("XXX", "4343"), "must be text", id="a number as link"),
        pytest.param(ENTRY.replace('"Retune"', "2026-08-21"), "list of texts", id="a date as description"),
        pytest.param("- just text\n", "must be a mapping", id="a text as entry"),
    ],
)
def test_a_broken_entry_is_refused(make_tree: MakeTree, text: str, rule: str) -> None:
    with pytest.raises(RejectedInput, match=rule):
        read_changelog(make_tree(changelog=text))


def test_the_difference_is_by_value_wherever_the_entry_stands(make_tree: MakeTree) -> None:
    base = make_tree(changelog=f"{ENTRY}\n{OTHER}")
    moved = make_tree(changelog=f"{OTHER.replace('- model-b', '- model-b  # note')}\n\n{ENTRY}")
    assert difference(base, moved).added == ()
    assert difference(base, moved).removed == ()


def test_an_entry_in_the_middle_and_a_repeated_one_count_as_added(make_tree: MakeTree) -> None:
    base = make_tree(changelog=f"{ENTRY}\n{OTHER}")
    head = make_tree(changelog=f"{ENTRY}\n{ENTRY.replace('model-a', 'model-c')}\n{OTHER}\n{ENTRY}")
    found = difference(base, head)
    assert [(entry.config_keys, entry.where.line) for entry in found.added] == [(("model-c",), 7), (("model-a",), 19)]
    assert found.removed == ()


def test_an_edited_entry_is_one_removal_and_one_addition(make_tree: MakeTree) -> None:
    found = difference(make_tree(changelog=ENTRY), make_tree(changelog=ENTRY.replace("Retune", "Tune")))
    assert (found.added[0].description, found.removed[0].description) == (("Tune",), ("Retune",))


def test_a_broken_base_entry_is_not_this_changes_fault(make_tree: MakeTree) -> None:
    broken = ENTRY.replace("pr-link", "link")
    found = difference(make_tree(changelog=broken), make_tree(changelog=f"{broken}\n{OTHER}"))
    assert [entry.config_keys for entry in found.added] == [("model-b",)]


def test_new_entries_of_a_file_without_base_are_all_added(make_tree: MakeTree) -> None:
    found = difference(Tree("", {"x": b""}, complete=True), make_tree(changelog=ENTRY))
    assert len(found.added) == 1


def test_added_lines_are_parsed_on_their_own_and_keep_their_numbers() -> None:
    lines = tuple(ENTRY.splitlines())
    (entry,) = read_added(Added(("", *lines), tuple(range(40, 46))), "perf-changelog.yaml")
    assert str(entry.where) == "perf-changelog.yaml:41:1"


def test_added_lines_that_are_no_entries_are_refused_at_their_line() -> None:
    with pytest.raises(RejectedInput, match=r"perf-changelog.yaml:12:\d+: .*valid YAML"):
        read_added(Added(("    - model-x", "  pr-link: XXX"), (11, 12)), "perf-changelog.yaml")


TEXT = st.text(min_size=1, max_size=20).filter(lambda text: "\0" not in text and text.isprintable())
ENTRIES = st.builds(
    ChangelogEntry,
    config_keys=st.lists(TEXT, min_size=1, max_size=3).map(tuple),
    description=st.lists(TEXT, min_size=1, max_size=3).map(tuple),
    pr_link=TEXT,
    where=st.just(FileLine("perf-changelog.yaml", 1, 1)),
    scenario_type=st.none() | st.just(("agentic-coding",)),
    evals_only=st.booleans(),
    all_evals=st.booleans(),
    eval_min_prefill_ep=st.none() | st.integers(1, 64),
)


@settings(max_examples=120, deadline=None)
@given(ENTRIES)
def test_a_written_entry_reads_back_equal_and_leaves_the_bytes_before_it(entry: ChangelogEntry) -> None:
    before = ENTRY.encode()
    after = appended(before, entry)
    assert after.startswith(before + b"\n- config-keys:")
    tree = Tree("", {"perf-changelog.yaml": after}, complete=True)
    assert read_changelog(tree)[1] == entry
    assert yaml.safe_load(entry_text(entry))[0]["config-keys"] == list(entry.config_keys)


def test_appending_leaves_one_empty_line_whatever_the_file_ends_with() -> None:
    entry = ChangelogEntry(("k",), ("d",), "XXX", FileLine("f"))
    assert appended(b"", entry).startswith(b"- config-keys:")
    assert appended(b"- a\n\n", entry).startswith(b"- a\n\n- config-keys:")
    assert appended(b"- a", entry).startswith(b"- a\n\n- config-keys:")


def test_a_retired_key_is_known_by_its_file_and_reason() -> None:
    files = {
        "configs/deprecated/alpha-old-master.yaml": b"# Retired on 2026-08-07:\n# engine gone\nold-key:\n  image: x\n",
        "configs/deprecated/broken.yaml": b"a: [\n",
        "configs/deprecated/notes.md": b"text",
    }
    found = read_deprecated(Tree("", files, complete=True))
    assert str(found["old-key"].where) == "configs/deprecated/alpha-old-master.yaml:3:1"
    assert found["old-key"].reason == "Retired on 2026-08-07: engine gone"
    assert list(found) == ["old-key"]
