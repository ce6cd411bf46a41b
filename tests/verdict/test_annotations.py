"""Annotations: findings on changed lines, and no others."""

from __future__ import annotations

from app.facts.base import Facts
from app.facts.repository import HeadTree, MergeBaseTree
from app.target.source import FileLine
from app.target.tree import Tree
from app.verdict.annotations import annotate, changed_lines
from app.verdict.engine import Verdict, VerdictRow
from checks.contract import Body, Finding, failed, passed

BASE = Tree("b" * 40, {"a.yaml": b"one\ntwo\nthree\n"}, frozenset({"new.yaml"}))
HEAD = Tree("h" * 40, {"a.yaml": b"one\n2\nthree\nfour\n", "new.yaml": b"x\ny\n"})
FACTS = Facts.of(HeadTree(HEAD), MergeBaseTree(BASE))


def verdict(*rows: VerdictRow) -> Verdict:
    return Verdict("octo/bench", 1, "h" * 40, "", "", "bundle", "2026-10-21", rows)


def found(path: str, line: int) -> Finding:
    return Finding(FileLine(path, line), "this", "that", "Change it.")


def test_changed_lines_are_those_that_the_merge_base_lacks() -> None:
    assert changed_lines(BASE, HEAD, "a.yaml") == {2, 4}
    assert changed_lines(BASE, HEAD, "new.yaml") == {1, 2}
    assert changed_lines(BASE, HEAD, "unseen.yaml") == frozenset()


def test_a_finding_on_a_changed_line_is_annotated_once() -> None:
    row = VerdictRow(11, "Golden", failed("no", [found("a.yaml", 2), found("a.yaml", 2)]))
    (note,) = annotate(verdict(row), FACTS)
    assert (note.path, note.line, note.level) == ("a.yaml", 2, "failure")
    assert note.title == "Check 11 (Golden)"
    assert note.message == "Found this; expected that. Change it."


def test_other_lines_other_places_and_passes_are_not_annotated() -> None:
    rows = (
        VerdictRow(3, "Upstream", failed("no", [found("a.yaml", 1), Finding(Body(1), "a", "b", "c")])),
        VerdictRow(4, "Reuse", passed("yes", [found("a.yaml", 2)])),
    )
    assert annotate(verdict(*rows), FACTS) == ()
