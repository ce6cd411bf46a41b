"""Purpose: the review checklist: what a sign-off lacks, malformed boxes, explanations, placeholders."""

from __future__ import annotations

import pytest

from app.target.checklist import TRIGGER, compare, parse_signoff, parse_template
from app.target.source import RejectedInput

TEMPLATE = f"""# PR Review Checklist

Fill in the form:

## Template
```
{TRIGGER}, I have reviewed this and have:
- [ ] Verified that this is the latest version of [CHECKLIST.md](https://github.com/o/r/blob/main/docs/CHECKLIST.md)
- [ ] Verified that this PR passes evals. Please link to the GitHub Action workflow that shows this.
- [ ] Verified that every recipe in this PR is documented in the [cookbook](https://docs.example/cookbook):
  - [ ] I linked the corresponding upstream PR and verified that it is **MERGED**.
- [ ] If this PR uses `append-only: true`, verified that it only adds generated points.
- [ ] If any of the above criteria cannot reasonably be satisfied, I have provided additional reasoning below.

### Additional detail section:
- insert any additional info here

Signed: `FILL_IN_GITHUB_USERNAME`
```

- [ ] not an item of the template
"""


def template():  # type: ignore[no-untyped-def]
    return parse_template("docs/CHECKLIST.md", TEMPLATE.encode())


def filled(**changes: str) -> str:
    text = TEMPLATE.split("```")[1].replace("[ ]", "[x]").replace("FILL_IN_GITHUB_USERNAME", "reviewer")
    text = text.replace("- insert any additional info here", "- Run: https://github.com/o/r/actions/runs/1")
    for before, after in changes.items():
        text = text.replace(before, after)
    return text


def replaced(before: str, after: str) -> str:
    text = filled()
    assert before in text
    return text.replace(before, after)


def test_the_template_is_what_stands_in_the_fence() -> None:
    found = template()
    assert [item.line for item in found.items] == [8, 9, 10, 11, 12, 13]
    assert [item.level for item in found.items] == [0, 0, 0, 1, 0, 0]
    assert [item.conditional for item in found.items] == [False] * 5 + [True]


def test_a_template_without_items_is_refused_not_passed() -> None:
    with pytest.raises(RejectedInput, match="0 items"):
        parse_template("docs/CHECKLIST.md", b"# Nothing\n```\nno boxes\n```\n")


def test_a_filled_template_is_complete() -> None:
    signoff = parse_signoff(filled())
    assert compare(template(), signoff).complete
    assert (signoff.signed_by, signoff.trigger_line) == ("reviewer", 2)
    assert [(link.url, link.detail) for link in signoff.links][-1] == ("https://github.com/o/r/actions/runs/1", True)


def test_an_unfilled_template_is_open_everywhere_and_unsigned() -> None:
    signoff = parse_signoff(TEMPLATE.split("```")[1])
    found = compare(template(), signoff)
    assert (len(found.unticked), found.missing, found.extra) == (5, (), ())
    assert signoff.signed_by is None
    assert signoff.detail == ()


EVALS = "- [x] Verified that this PR passes evals."
SAME = [
    ("an upper-case tick", EVALS, "- [X] Verified that this PR passes evals."),
    ("a star as bullet", EVALS, "* [x] Verified that this PR passes evals."),
    ("a number as bullet", EVALS, "2. [x] Verified that this PR passes evals."),
    ("other case and dashes", EVALS, "- [x] verified THAT this PR – passes evals"),
    ("a leading Doesn't apply", EVALS, "- [x] Doesn't apply: Verified that this PR passes evals."),
    ("an appended address", "that shows this.", "that shows this. https://github.com/o/r/actions/runs/2"),
    ("an appended link", "that shows this.", "that shows this. [run](https://github.com/o/r/actions/runs/2)"),
    ("an appended sentence", "that shows this.", "that shows this. See the table."),
    ("a link as plain text", "[CHECKLIST.md](https://github.com/o/r/blob/main/docs/CHECKLIST.md)", "CHECKLIST.md"),
    ("a line break inside the item", "this PR passes evals. Please", "this PR passes evals.\n  Please"),
    ("a value in the box", EVALS, "- [run 12] Verified that this PR passes evals."),
]


@pytest.mark.parametrize(("before", "after"), [row[1:] for row in SAME], ids=[row[0] for row in SAME])
def test_an_item_written_otherwise_is_the_same_item(before: str, after: str) -> None:
    found = compare(template(), parse_signoff(replaced(before, after)))
    assert (found.missing, found.unticked, found.extra) == ((), (), ())


MALFORMED = [
    ("an empty box without a space", "- [] Verified that this PR passes evals.", False),
    ("spaces around the tick", "- [ x ] Verified that this PR passes evals.", True),
    ("no space after the box", "- [x]Verified that this PR passes evals.", True),
    ("a typographic bullet", "• [x] Verified that this PR passes evals.", True),
    ("a box without a bullet", "[x] Verified that this PR passes evals.", True),
    ("a tick of another kind", "- [✓] Verified that this PR passes evals.", True),
    ("a dash in the box", "- [-] Verified that this PR passes evals.", False),
    ("a cross in the box", "- [✗] Verified that this PR passes evals.", False),
    ("a refusal in the box", "- [No] Verified that this PR passes evals.", False),
    ("a promise in the box", "- [TODO] Verified that this PR passes evals.", False),
]


@pytest.mark.parametrize(("line", "ticked"), [row[1:] for row in MALFORMED], ids=[row[0] for row in MALFORMED])
def test_a_malformed_box_is_an_item_and_says_so(line: str, ticked: bool) -> None:
    found = compare(template(), parse_signoff(replaced(EVALS, line)))
    assert found.missing == ()
    (answer,) = [answer for answer in found.answered if answer.wanted.line == 9]
    assert answer.given.malformed
    assert answer.given.ticked is ticked
    assert len(found.unticked) == (0 if ticked else 1)


HIDDEN = [
    ("a code fence", "```\n{}\n```"),
    ("a quote", "> {}"),
    ("an HTML comment", "<!-- {} -->"),
    ("indented code", "\n\n        {}\n\n"),
]


@pytest.mark.parametrize("frame", [row[1] for row in HIDDEN], ids=[row[0] for row in HIDDEN])
def test_what_stands_in_hidden_text_is_no_item(frame: str) -> None:
    item = f"{EVALS} Please link to the GitHub Action workflow that shows this."
    text = filled().replace(f"{item}\n", "") + "\n\nend\n\n" + frame.replace("{}", item) + "\n"
    found = compare(template(), parse_signoff(text))
    assert [item.line for item in found.missing] == [9]


def test_a_trigger_in_a_quote_is_no_sign_off() -> None:
    assert parse_signoff(f"> {TRIGGER}, I have reviewed\n\nthanks").trigger_line is None


def test_an_item_that_the_template_lacks_is_extra() -> None:
    found = compare(template(), parse_signoff(filled() + "\n- [x] Verified something of my own\n"))
    assert [item.text for item in found.extra] == ["Verified something of my own"]
    assert found.complete


def test_the_conditional_last_item_may_stay_open() -> None:
    found = compare(template(), parse_signoff(replaced("[x] If any of the above", "[ ] If any of the above")))
    assert found.complete


OPEN = "[ ] If this PR uses `append-only: true`"
EXPLAINED = [
    ("by the item itself", "generated points.", "generated points. N/A, no entry is append-only", True),
    ("by a leading Doesn't apply", OPEN, "[ ] Doesn't apply. If this PR uses `append-only: true`", True),
    (
        "by the detail section",
        "- Run: https",
        "- append-only: no generated point was added, so that item stays open\n- Run: https",
        True,
    ),
    ("not by an unrelated detail", "- Run: https", "- The image was bumped\n- Run: https", False),
]


@pytest.mark.parametrize(
    ("before", "after", "explained"), [row[1:] for row in EXPLAINED], ids=[row[0] for row in EXPLAINED]
)
def test_an_open_item_may_be_explained(before: str, after: str, explained: bool) -> None:
    text = replaced("[x] If this PR uses", "[ ] If this PR uses")
    assert before in text
    found = compare(template(), parse_signoff(text.replace(before, after)))
    assert (len(found.explained), len(found.unticked)) == ((1, 0) if explained else (0, 1))


def test_a_nested_item_that_is_left_out_is_missing() -> None:
    line = "  - [x] I linked the corresponding upstream PR and verified that it is **MERGED**.\n"
    found = compare(template(), parse_signoff(replaced(line, "")))
    assert [item.line for item in found.missing] == [11]
