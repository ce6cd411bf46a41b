"""Purpose: the grammar of comments, row by row of table B and of the known bugs of other bots."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from app.commands import PROBLEMS, USAGE, as_json, parse

RUN = 39404635036


def shown(text: str, **options: object) -> list[str]:
    """Each command as "name value" or "name !problem-code"."""
    out = []
    for command in parse(text, **options):  # type: ignore[arg-type]
        if command.problem:
            out.append(f"{command.name} !{command.problem.code}")
        else:
            values = [command.run_id, command.check, command.reason, command.until]
            out.append(" ".join([command.name, *(str(value) for value in values if value is not None)]))
    return out


TABLE_B = {
    "pinned reuse": (f"/use {RUN}", [f"use {RUN}"]),
    "pinned reuse below a remark": (f"lgtm\n/use {RUN}", [f"use {RUN}"]),
    "bare use": ("/use", ["use !run-id-missing"]),
    "use with a word": ("/use abc", ["use !run-id-invalid"]),
    "use with text after the ID": ("/use 12 please", ["use !extra-text"]),
    "use with a hash": ("/use #12", ["use !run-id-invalid"]),
    "use with the ID on the next line": ("/use\n123", ["use !run-id-next-line"]),
    "use inside a sentence": ("please /use 123", []),
    "use in capitals": ("/USE 123", []),
    "use without a space": ("/use123", []),
    "another word that begins with use": ("/user 1", []),
    "quoted use": ("> /use 123", []),
    "use in a code span": ("`/use 123`", []),
    "reuse without ID": ("/reuse-sweep-run", ["reuse-sweep-run"]),
    "reuse with ID": ("/reuse-sweep-run 123", ["reuse-sweep-run 123"]),
    "reuse with text after the ID": ("/reuse-sweep-run 123 now", ["reuse-sweep-run !extra-text"]),
    "two uses": ("/use 1\n/use 2", ["use 1", "use 2"]),
    "stage without ID": ("/stage-results", ["stage-results"]),
    "stage with ID": ("/stage-results 123", ["stage-results 123"]),
    "stage with a word": ("/stage-results abc", ["stage-results !run-id-invalid"]),
    "stage with two IDs": ("/stage-results 1 2", ["stage-results !extra-text"]),
    "stage with a letter too many": ("/stage-resultsX", ["stage-results !extra-text"]),
    "stage on its own line of a longer comment": ("ready\n\n/stage-results 5", ["stage-results 5"]),
}

CONTEXTS = {
    "fenced with backticks": ("```\n/use 1\n```", []),
    "fenced with tildes": ("~~~\n/use 1\n~~~", []),
    "a fence that never ends": ("```\n/use 1", []),
    "indented as code": ("text\n\n    /use 1", []),
    "indented by three spaces": ("   /use 1", ["use 1"]),
    "code span over several lines": ("`a\n/use 1\nb`", []),
    "HTML comment": ("<!-- \n/use 1\n-->", []),
    "HTML comment that never ends": ("<!--\n\n/use 1", []),
    "HTML comment inside a paragraph": ("a <!--\n/use 1\n--> b", []),
    "text of a link": ("[a\n/use 1\nb](http://example.invalid)", []),
    "lazy continuation of a quote": ("> quoted\n/use 1", []),
    "after a quote and a blank line": ("> quoted\n\n/use 1", ["use 1"]),
    "list item": ("- /use 1", []),
    "heading": ("# /use 1", []),
    "table cell": ("| a |\n| - |\n| /use 1 |", []),
    "HTML blockquote": ("<blockquote>\n\n/use 1\n\n</blockquote>", []),
    "HTML blockquote after a closing tag of another name": ("<blockquote>\n\n</code>\n\n/use 1\n\n</blockquote>", []),
    "HTML blockquote closed in a comment only": ("<blockquote>\n\n<!-- </blockquote> -->\n\n/use 1", []),
    "HTML blockquote closed in an attribute only": ("<blockquote>\n\n<b x='</blockquote>'>\n\n/use 1", []),
    "after an HTML comment that names a quote": ("<!-- <blockquote> -->\n\n/use 1", ["use 1"]),
    "after an HTML blockquote": ("<blockquote>\n\nx\n\n</blockquote>\n\n/use 1", ["use 1"]),
    "HTML pre": ("<pre>\n/use 1\n\n/use 2\n</pre>", []),
    "inline HTML code": ("see <code>\n/use 1\n</code>", []),
    "opened details": ("<details>\n\n/use 1\n\n</details>", ["use 1"]),
    "separator line directly below": ("/use 1\n---\nsent from a phone", ["use 1"]),
    "windows line ends": ("hi\r\n/use 1\r\n", ["use 1"]),
    "old line ends": ("hi\r/use 1\r", ["use 1"]),
    "trailing spaces": ("/use 1   ", ["use 1"]),
    "tab as separator": ("/use\t1", ["use 1"]),
    "non-breaking space as separator": ("/use\u00a01", ["use 1"]),
    "zero-width characters": ("\u200b/use \u200d1\ufeff", ["use 1"]),
    "full-width digits": ("/use １２", ["use !run-id-digits"]),
    "Arabic digits": ("/use ١٢", ["use !run-id-digits"]),
    "direction marks": ("/use \u202e1", ["use !direction-marks"]),
    "zero": ("/use 0", ["use !run-id-invalid"]),
    "more digits than an ID can have": ("/use 99999999999999999999", ["use !run-id-invalid"]),
    "number beyond the range": ("/use 9999999999999999999", ["use !run-id-invalid"]),
    "line separator character is no line end": ("x\u2028/use 1", []),
    "emphasised lines around": ("*a\n/use 1\nb*", ["use 1"]),
    "escaped slash": ("\\/use 1", []),
    "mention before": ("@bot /use 1", []),
}

OTHERS = {
    "verify": ("/verify", ["verify"]),
    "verify with text": ("/verify now please", ["verify !extra-text"]),
    "retry": ("/retry-failed", ["retry-failed"]),
    "merge": ("/merge", ["merge"]),
    "help": ("/sweepgate help", ["help"]),
    "help misspelt": ("/sweepgate halp", ["help !unknown"]),
    "the bare name": ("/sweepgate", ["help !unknown"]),
    "exception": ("/except 14 agreed in the meeting", ["except 14 agreed in the meeting"]),
    "exception with a date": ("/except 7 late until 2026-12-31", ["except 7 late 2026-12-31"]),
    "exception until something": ("/except 7 until it lands", ["except 7 until it lands"]),
    "exception with a wrong date": ("/except 7 late until 2026-13-31", ["except !date-invalid"]),
    "exception with a loose date": ("/except 7 late until 1.12.2026", ["except !date-invalid"]),
    "exception without number": ("/except", ["except !check-missing"]),
    "exception with a name": ("/except golden because", ["except !check-invalid"]),
    "exception without reason": ("/except 7", ["except !reason-missing"]),
    "exception with a date only": ("/except 7 until 2026-12-31", ["except !reason-missing"]),
    "exception with a long reason": ("/except 7 " + "x" * 501, ["except !reason-long"]),
    "swapped letters": ("/verfiy", ["verify !did-you-mean"]),
    "a letter missing": ("/stage-result 5", ["stage-results !did-you-mean"]),
    "old short form": ("/reuse 5", ["reuse-sweep-run !did-you-mean"]),
    "capitals of a long name": ("/Verify", ["verify !did-you-mean"]),
    "command of another bot": ("/retest", []),
    "a path": ("/etc/passwd", []),
    "a sentence that begins with a slash word": ("/verifying that this holds", []),
}


@pytest.mark.parametrize(("text", "expected"), TABLE_B.values(), ids=TABLE_B.keys())
def test_table_b(text: str, expected: list[str]) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(("text", "expected"), CONTEXTS.values(), ids=CONTEXTS.keys())
def test_where_a_command_counts(text: str, expected: list[str]) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(("text", "expected"), OTHERS.values(), ids=OTHERS.keys())
def test_the_other_commands(text: str, expected: list[str]) -> None:
    assert shown(text) == expected


def test_compat_reads_code_as_the_incumbent_does() -> None:
    assert shown("```\n/use 1\n```", compat=True) == ["use 1"]
    assert shown("> /use 1", compat=True) == []


def test_a_review_counts_and_an_inline_comment_does_not() -> None:
    assert shown("/use 1", kind="review") == ["use 1"]
    assert shown("/use 1", kind="review_comment") == []


def test_lines_are_counted_in_the_text_as_written() -> None:
    assert [command.line for command in parse("a\r\n\r\n/use 1\r\n\r\n```\r\n/use 2\r\n```\r\n/verify")] == [3, 8]


def test_only_a_comment_that_holds_nothing_else_is_whole() -> None:
    assert [command.whole for command in parse("\n /use 1 \n\n")] == [True]
    assert [command.whole for command in parse("lgtm\n\n/use 1")] == [False]
    assert [command.whole for command in parse("/use 1\n<!-- x -->")] == [False]


def test_json_form_is_the_documented_one() -> None:
    assert as_json(parse(f"/use {RUN}")[0]) == {"command": "use", "run_id": RUN, "line": 1}
    assert list(as_json(parse(f"/use {RUN}")[0])) == ["command", "run_id", "line"]
    assert as_json(parse("/except 3 why until 2026-12-01")[0]) == {
        "command": "except",
        "check": 3,
        "reason": "why",
        "until": "2026-12-01",
        "line": 1,
    }
    assert set(as_json(parse("/use")[0])) == {"command", "problem", "line"}


def test_the_digest_names_what_is_asked_and_not_the_text_around_it() -> None:
    first, second = parse("typo hree\n\n/use 1")[0], parse("typo here, fixed\n\n\n/use 1")[0]
    assert first.digest == second.digest
    assert first.digest != parse("x\n/use 2")[0].digest


def test_every_problem_ends_with_what_to_type() -> None:
    for text in PROBLEMS.values():
        assert text.rstrip("?.`").rstrip().endswith(("{usage}", "of them", "its line", "by hand")), text


def test_until_is_a_date() -> None:
    assert parse("/except 1 a until 2026-02-28")[0].until == date(2026, 2, 28)


PIECES = st.lists(
    st.one_of(
        st.text(max_size=12),
        st.sampled_from([*(USAGE.values()), "`", "```", "<!--", "-->", "> ", "\n", "\r\n", "    ", "[", "](x)", "<a>"]),
        st.sampled_from(["\ue000", "\ue001", "\ue0000\ue001", "\0", "\u202e", "/", "/except 1 until 0"]),
    ),
    max_size=20,
).map("".join)


@settings(max_examples=300, deadline=None)
@given(PIECES, st.booleans())
def test_no_text_raises(text: str, compat: bool) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    for command in parse(text, compat=compat):
        assert 1 <= command.line <= lines
        assert as_json(command)["line"] == command.line


@given(st.integers(1, 2**63 - 1), st.sampled_from(["use", "reuse-sweep-run", "stage-results"]))
def test_every_run_id_is_read_back(run: int, name: str) -> None:
    assert shown(f"/{name} {run}") == [f"{name} {run}"]


def large_table(columns: int, rows: int) -> str:
    return f"{'|a' * columns}|\n{'|-' * columns}|\n" + "/use 2\n" * rows


def test_tables_that_are_too_large_to_lay_out_hold_no_command_and_cost_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rules: list[object] = []
    enable = MarkdownIt.enable

    def recorded(self: MarkdownIt, names: str) -> MarkdownIt:
        rules.append(names)
        return enable(self, names)

    monkeypatch.setattr(MarkdownIt, "enable", recorded)
    small = large_table(3, 3)
    assert shown(f"/use 1\n\n{small}\n/use 3") == ["use 1", "use 3"]
    assert rules == ["table"]
    large = f"{large_table(200, 200)}\n" * 20
    assert shown(f"/use 1\n\n{large}\n/use 3") == ["use 1", "use 3"]
    assert rules == ["table"]


def test_a_long_hostile_comment_stays_linear() -> None:
    text = "/use 1\n" * 9000
    assert len(parse(text)) == 9000
    assert parse("x " + "`" * 60000 + "\n/use 1")
