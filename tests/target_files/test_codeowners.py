"""Purpose: CODEOWNERS by GitHub's documented rules, where the libraries get it wrong included."""

from __future__ import annotations

import pytest

from app.target.codeowners import MAX_BYTES, Codeowners

MATCHES = [
    ("a star owns everything", "*", ["a", "a/b/c"], []),
    ("a bare name owns it at any depth", "name", ["name", "x/name", "name/y", "x/name/y"], ["names", "x/aname"]),
    ("an extension owns files at any depth", "*.js", ["a.js", "x/y/a.js"], ["a.jsx"]),
    ("a leading slash anchors at the root", "/build", ["build", "build/x"], ["x/build"]),
    ("a trailing slash owns what is below", "apps/", ["apps/a", "x/apps/a/b"], ["apps"]),
    ("an anchored folder owns what is below it only", "/docs/", ["docs/a", "docs/b/c"], ["x/docs/a", "docs"]),
    ("an inner slash anchors", "src/core", ["src/core", "src/core/x"], ["x/src/core"]),
    ("a last star owns direct children only", "docs/*", ["docs/a.md"], ["docs/x/a.md", "x/docs/a.md"]),
    ("a last star with an extension", "docs/*.md", ["docs/a.md"], ["docs/x/a.md", "docs/a.txt"]),
    ("two stars in front", "**/logs", ["logs", "a/logs", "a/b/logs/x"], ["logs2"]),
    ("two stars behind", "apps/**", ["apps/a", "apps/a/b"], ["apps", "x/apps/a"]),
    ("two stars between match no segment too", "a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb"]),
    ("two stars and a trailing slash", "foo/**/", ["foo/a/b"], ["foo/a", "foo"]),
    ("a star stays within a segment", "/a*/b", ["ax/b", "a/b"], ["ax/y/b"]),
    ("a question mark is one character", "/a?c", ["abc", "a c"], ["ac", "a/c", "abbc"]),
    ("a directory pattern matches whole segments", "**/gb200-*/", ["x/gb200-fp4/a.yaml"], ["x/my-gb200-fp4/a.yaml"]),
    (
        "the reference pull request's pattern",
        "/inferencex-e2e/benchmarks/*_node/srt-slurm-recipes/**/gb200-*/",
        ["inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/musespark/sglang/gb200-fp4-mtp/agentic.yaml"],
        [
            "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/musespark/sglang/gb300-fp4/agentic.yaml",
            "inferencex-e2e/benchmarks/single_node/x/srt-slurm-recipes/gb200-fp4/a.yaml",
            "benchmarks/single_node/srt-slurm-recipes/gb200-fp4/a.yaml",
        ],
    ),
    ("an escaped space", r"my\ docs/a.md", ["my docs/a.md"], ["my/docs/a.md", "x/my docs/a.md"]),
    ("an escaped space in a bare name stays unanchored", r"foo\ bar.txt", ["foo bar.txt", "x/foo bar.txt"], ["foo"]),
    ("a pattern does not match a part of a name with a space", "foo", ["foo"], ["my foo", "foo bar"]),
    ("paths with spaces below a pattern", "/docs/*", ["docs/a b.md"], ["docs/a b/c.md"]),
    ("dots are literal", "a.b", ["a.b"], ["axb"]),
    ("case matters", "README.md", ["README.md"], ["readme.md"]),
    ("a hash inside a word is literal", "a#b", ["a#b"], ["a"]),
    ("a single slash owns nothing", "/", [], ["a", "a/b"]),
    ("a star below the root owns files of the root", "/*", ["a"], ["a/b"]),
]


@pytest.mark.parametrize(("pattern", "owned", "other"), [row[1:] for row in MATCHES], ids=[row[0] for row in MATCHES])
def test_a_pattern_owns_its_paths(pattern: str, owned: list[str], other: list[str]) -> None:
    owners = Codeowners.parse("CODEOWNERS", f"{pattern} @a\n".encode())
    assert owners.problems == ()
    assert {path: owners.owners_of(path) for path in owned} == dict.fromkeys(owned, ("@a",))
    assert {path: owners.owners_of(path) for path in other} == dict.fromkeys(other, ())


def test_the_last_matching_rule_wins_even_without_owners() -> None:
    owners = Codeowners.parse("CODEOWNERS", b"* @all\n/docs/ @docs\n/docs/free.md\n")
    assert owners.owners_of("x") == ("@all",)
    assert owners.owners_of("docs/a") == ("@docs",)
    assert owners.owners_of("docs/free.md") == ()
    rule = owners.rule_for("docs/free.md")
    assert rule is not None
    assert (rule.line, rule.pattern, rule.where.path) == (3, "/docs/free.md", "CODEOWNERS")


LINES = [
    ("owners of every kind", "x @a @org/team-one me@example.org", ("@a", "@org/team-one", "me@example.org")),
    ("names in an inline comment own nothing", "*.py @a # see @bob", ("@a",)),
    ("a name glued to a hash is a comment", "*.py @a #@bob", ("@a",)),
    ("tabs and trailing spaces separate", "\t*.py\t@a  \t", ("@a",)),
    ("a line end of Windows", "*.py @a\r", ("@a",)),
]


@pytest.mark.parametrize(("line", "expected"), [row[1:] for row in LINES], ids=[row[0] for row in LINES])
def test_owners_of_a_line(line: str, expected: tuple[str, ...]) -> None:
    (rule,) = Codeowners.parse("CODEOWNERS", f"{line}\n".encode()).rules
    assert rule.owners == expected


INVALID = [
    ("a negation", "!docs/ @b", "negation"),
    ("a character range", "[ab].md @b", "ranges"),
    ("an unterminated range", "a[b.md @b", "ranges"),
    ("an escaped hash", r"\#a @b", "escape #"),
    ("an owner that is none", "docs/ bob", "bob is no @login"),
    ("an owner with a comma", "docs/ @b,", "@b, is no"),
    ("a team with two slashes", "docs/ @a/b/c", "is no @login"),
]


@pytest.mark.parametrize(("line", "words"), [row[1:] for row in INVALID], ids=[row[0] for row in INVALID])
def test_an_invalid_line_is_skipped_and_reported(line: str, words: str) -> None:
    owners = Codeowners.parse("CODEOWNERS", f"* @a\n{line}\nx @c\n".encode())
    assert [rule.pattern for rule in owners.rules] == ["*", "x"]
    (problem,) = owners.problems
    assert problem.where.line == 2
    assert words in problem.rule
    assert owners.owners_of("docs/a") == ("@a",)


def test_a_byte_order_mark_does_not_hide_the_first_rule() -> None:
    assert Codeowners.parse("CODEOWNERS", b"\xef\xbb\xbf*.py @a\n").owners_of("x.py") == ("@a",)


def test_a_file_above_three_megabytes_is_ignored_as_github_does() -> None:
    owners = Codeowners.parse("CODEOWNERS", b"* @a\n" + b"#" * MAX_BYTES)
    assert owners.rules == ()
    assert "3 MB" in owners.problems[0].rule


def test_a_rule_for_every_path_is_a_catch_all() -> None:
    owners = Codeowners.parse("CODEOWNERS", b"* @a\n** @a\n/docs/** @a\n*.md @a\n")
    assert [rule.catch_all for rule in owners.rules] == [True, True, False, False]


def test_many_stars_match_in_bounded_time() -> None:
    owners = Codeowners.parse("CODEOWNERS", b"**/a*a*a*a*a*a*a*a*/**/b @a\n")
    assert owners.owners_of("/".join(["a" * 30] * 6) + "/c") == ()
