"""Purpose: findings on lines that the pull request changed, as annotations of the verdict's check run.

Invariants: only lines that differ between merge base and head are annotated (others cannot be shown beside the
change); each place once per check; texts are plain, GitHub shows them as text.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from app.facts.base import Facts
from app.facts.repository import HeadTree, MergeBaseTree
from app.target.source import FileLine
from app.target.tree import Tree
from app.verdict.engine import Verdict
from checks.contract import Status

LEVELS = {Status.FAIL: "failure", Status.WARN: "warning"}
MAX_MESSAGE = 1_000


@dataclass(frozen=True, slots=True)
class Annotation:
    """`level`: failure or warning. `line` counts from 1 in the head's file."""

    path: str
    line: int
    level: str
    title: str
    message: str


def annotate(verdict: Verdict, facts: Facts) -> tuple[Annotation, ...]:
    """In row order. Empty without both trees."""
    head, base = facts.get(HeadTree), facts.get(MergeBaseTree)
    if head is None or base is None:
        return ()
    lines: dict[str, frozenset[int]] = {}
    found: dict[tuple[int, str, int], Annotation] = {}
    for row in verdict.rows:
        if row.status not in LEVELS:
            continue
        for finding in row.result.findings:
            where = finding.where
            if not isinstance(where, FileLine):
                continue
            if where.path not in lines:
                lines[where.path] = changed_lines(base.tree, head.tree, where.path)
            if where.line in lines[where.path]:
                message = f"Found {finding.found}; expected {finding.expected}. {finding.next_step}"[:MAX_MESSAGE]
                title = f"Check {row.number} ({row.name})"
                note = Annotation(where.path, where.line, LEVELS[row.status], title, message)
                found.setdefault((row.number, where.path, where.line), note)
    return tuple(found.values())


def changed_lines(base: Tree, head: Tree, path: str) -> frozenset[int]:
    """Lines (from 1) of a head file that the merge base does not have; none for a file that was not read."""
    if not head.knows(path) or not base.knows(path):
        return frozenset()
    new, old = head.read(path), base.read(path)
    if new is None or new == old:
        return frozenset()
    after = new.decode(errors="replace").splitlines()
    before = (old or b"").decode(errors="replace").splitlines()
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    changed = (range(start, end) for tag, _, _, start, end in matcher.get_opcodes() if tag in ("replace", "insert"))
    return frozenset(line + 1 for lines in changed for line in lines)
