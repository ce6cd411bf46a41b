"""Purpose: check 5, rule by rule, on the recorded story: items, templates in time, the signed commit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.target.checklist import parse_template
from checks.c05_checklist import subject_of
from checks.contract import CheckResult
from tests.support.bundles import Editor, flipped, good

TEMPLATE = "inferencex-e2e/docs/PR_REVIEW_CHECKLIST.md"
MASTER = "inferencex-e2e/configs/nvidia-master.yaml"
RECIPE = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/musespark/sglang/gb200-fp4-mtp/agentic.yaml"
NEXT = "c" * 40
QUALITY = "- [x] Read the whole change and found its code quality no worse than what it replaces."
EVALS = "- [x] Verified that the evals of that sweep passed."
DYNAMO = "- [x] Doesn't apply: For Dynamo TRT-LLM benchmarks"
NEW_ITEM = "- [ ] Checked that the moon is full before asking a maintainer to merge.\n- [ ] If any of the above"


def row_5(editor: Editor) -> CheckResult:
    return next(row.result for row in editor.verdict().rows if row.number == 5)


def signed(*edits: tuple[str, str], **fields: object) -> Editor:
    """The story with text replaced in the sign-off, or fields of its comment."""
    editor = good()
    with editor.record("comments") as comments:
        sign_off = next(one for one in comments if one["id"] == editor.sign_off["id"])
        for old, new in edits:
            assert old in sign_off["body"], old
            sign_off["body"] = sign_off["body"].replace(old, new)
        sign_off.update(fields)
    return editor


def item_dropped(start: str) -> Editor:
    editor = good()
    with editor.record("comments") as comments:
        sign_off = next(one for one in comments if one["id"] == editor.sign_off["id"])
        lines = sign_off["body"].split("\n")
        kept = [line for line in lines if not line.startswith(start)]
        assert len(kept) == len(lines) - 1
        sign_off["body"] = "\n".join(kept)
    return editor


def abridged() -> Editor:
    editor = good()
    with editor.record("comments") as comments:
        sign_off = next(one for one in comments if one["id"] == editor.sign_off["id"])
        sign_off["body"] = "As a PR reviewer and CODEOWNER, I have reviewed this and have:\n- [x] Looked at it.\n"
    return editor


def new_item(*at: str) -> Editor:
    """The template has one more item at these revisions."""
    editor = good()
    for revision in at:
        editor.replace(TEMPLATE, "- [ ] If any of the above", NEW_ITEM, (revision,), 1)
    return editor


def pushed(change: Callable[[Editor], object]) -> Editor:
    """After the sign-off a second commit was pushed; `change` edits the head, the signed commit keeps its files."""
    editor = good()
    head = editor.sources["tree_head"]
    for source in ("tree_signed", "tree_measured"):
        editor.set_record(source, {**head, "files": dict(head["files"])})
    change(editor)
    with editor.record("commits") as commits:
        commits.append({"sha": NEXT, "parents": [head["revision"]], "message": "More"})
    with editor.record("activity") as activity:
        update = {**activity[0], "before": head["revision"], "after": NEXT, "id": 99, "kind": "push"}
        activity.append({**update, "timestamp": "2026-10-21T07:00:00Z"})
    return editor.at_head(NEXT)


def reformatted(editor: Editor) -> None:
    editor.replace(RECIPE, "# One variant a point", "# One variant for each point")


def retuned(editor: Editor) -> None:
    editor.replace(RECIPE, "prefill-decode-interval: 16", "prefill-decode-interval: 24")


def edited_by_author() -> Editor:
    """The sign-off is edited by its author after the push: it signs anew."""
    editor = pushed(retuned)
    with editor.record("comments") as comments:
        sign_off = next(one for one in comments if one["id"] == editor.sign_off["id"])
        sign_off.update(editor=sign_off["author"]["login"], updated_at="2026-10-21T08:00:00Z")
    return editor


@pytest.mark.parametrize(
    ("make", "status", "text"),
    [
        pytest.param(good, "PASS", "17 of 18 items ticked (the conditional one open)", id="5.complete 5.last-item"),
        pytest.param(
            lambda: signed(("- [x] Read the whole", "- [X] **Read** the whole")),
            "PASS",
            "17 of 18",
            id="5.complete: [X]",
        ),
        pytest.param(
            lambda: signed(
                (QUALITY, QUALITY.replace("[x]", "[ ]") + " See below why the quality is open: vendored snippet."),
            ),
            "PASS",
            "1 explained",
            id="5.explained: in the item itself",
        ),
        pytest.param(
            lambda: signed((QUALITY, QUALITY.replace("[x] Read", "[ ] Doesn't apply. Read"))),
            "PASS",
            "1 explained",
            id="5.explained: it does not apply",
        ),
        pytest.param(lambda: new_item("target"), "PASS", "17 of 18", id="5.newer-item: added after the sign-off"),
        pytest.param(
            lambda: new_item("target", "signoff_base"),
            "FAIL",
            'the item "Checked that the moon is full',
            id="5.missing: an item that stood in the template when it was signed",
        ),
        pytest.param(
            lambda: new_item("signoff_base"), "PASS", "17 of 19", id="5.newer-item: an item that has left the template"
        ),
        pytest.param(
            lambda: signed((DYNAMO, DYNAMO.replace("[x] Doesn't apply:", "[ ]"))),
            "PASS",
            "1 noted",
            id="5.not-applicable: an open item of a check that does not apply",
        ),
        pytest.param(
            lambda: signed((EVALS, EVALS.replace("[x]", "[ ]"))),
            "PASS",
            "1 noted",
            id="5.verified: an open item that check 2 has verified",
        ),
        pytest.param(
            lambda: item_dropped(EVALS), "PASS", "1 noted", id="5.verified: a missing item that check 2 has verified"
        ),
        pytest.param(
            lambda: item_dropped(QUALITY), "FAIL", 'the item "Read the whole change', id="5.missing: one item"
        ),
        pytest.param(abridged, "FAIL", "is missing", id="5.missing: an abridged private copy"),
        pytest.param(
            lambda: signed((QUALITY, QUALITY.replace("[x]", "[ ]"))),
            "FAIL",
            "is open without an explanation",
            id="5.open: a plain open box",
        ),
        pytest.param(
            lambda: signed((QUALITY, QUALITY.replace("[x]", "[]"))),
            "FAIL",
            "(the box is malformed)",
            id="5.open: a malformed box",
        ),
        pytest.param(
            lambda: signed(editor="maintainer"),
            "FAIL",
            "could not be verified: which commit was signed (it was last edited by maintainer",
            id="5.signed-head: somebody else edited it",
        ),
        pytest.param(
            lambda: good().drop("activity"),
            "FAIL",
            "could not be verified: which commit was signed",
            id="5.signed-head: no activity list",
        ),
        pytest.param(
            lambda: good().write(TEMPLATE, "# Nothing\n", ("target",)),
            "FAIL",
            "could not be verified: the review checklist template",
            id="5.template: a template without items",
        ),
        pytest.param(
            lambda: good().drop("tree_signoff_base"),
            "FAIL",
            "could not be verified: the review checklist template",
            id="5.template: the template at sign-off time was not gathered",
        ),
    ],
)
def test_rules_of_check_5(make: Callable[[], Editor], status: str, text: str) -> None:
    row = row_5(make())
    assert (row.status.value, text in row.reason) == (status, True), row.reason


@pytest.mark.parametrize(
    ("make", "status", "text"),
    [
        pytest.param(
            lambda: pushed(reformatted),
            "PASS",
            "; 1 commit since bdfb83f, same measurement (11 points",
            id="5.other-push: a comment changed",
        ),
        pytest.param(
            lambda: pushed(retuned),
            "FAIL",
            "the head is not the measurement that was signed at bdfb83f: …/gb200-fp4-mtp/agentic.yaml",
            id="5.new-head: a setting of c8 changed",
        ),
        pytest.param(edited_by_author, "PASS", "17 of 18", id="5.new-head: an edit by the author signs anew"),
        pytest.param(
            lambda: pushed(retuned).drop("tree_signed").drop("tree_measured"),
            "FAIL",
            "could not be verified: files at bdfb83f",
            id="5.new-head: files that were not gathered are not equal",
        ),
    ],
)
def test_pushes_after_the_sign_off(make: Callable[[], Editor], status: str, text: str) -> None:
    row = row_5(make())
    assert (row.status.value, text in row.reason) == (status, True), row.reason


def test_every_item_of_the_example_template_but_two_has_a_check() -> None:
    template = parse_template(TEMPLATE, good().read(TEMPLATE, "target").encode())
    subjects = {item.text[:40]: subject_of(item) for item in template.items}
    nobody = [text for text, subject in subjects.items() if subject is None]
    assert [text.split(" ")[0] for text in nobody] == ["Read", "If"]
    assert sorted(subject for subject in subjects.values() if subject) == sorted(
        [5, 1, 2, 9, 13, 11, 7, 8, 6, 6, 3, 3, 10, 12, 17, 14]
    )


def test_a_new_item_of_the_tip_is_a_note() -> None:
    """5.newer-item"""
    notes = [finding.found for finding in row_5(new_item("target")).findings]
    assert len(notes) == 1
    assert notes[0].endswith("was added to the template after the sign-off")


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: item_dropped(QUALITY), id="5.missing: the story without one item"),
        pytest.param(lambda: signed((QUALITY, QUALITY.replace("[x]", "[]"))), id="5.open: the story with an open box"),
        pytest.param(lambda: signed(editor="maintainer"), id="5.signed-head: a foreign edit"),
    ],
)
def test_one_change_of_the_story_flips_this_row_alone(make: Callable[[], Editor]) -> None:
    assert flipped(good().rows(), make().rows()) == {5: "FAIL"}
