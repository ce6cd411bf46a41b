"""Purpose: the recipe table: checks 8, 10, 11, 13 and 17 over the whole corpus as if each file were submitted today.

The checks are judged by the engine on facts of a local tree, as `sweepgate preflight` does. Job logs, checkpoints and
a sign-off are not there on purpose: what needs them is "could not be verified" and says so, never a pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

import checks
from app.evidence.bundle import SourceStatus
from app.facts.base import Context, Fact, Facts, Maker
from app.facts.github import ChangedFiles
from app.facts.makers import FACT_KINDS, Content, makers
from app.facts.records import FileRecord
from app.facts.repository import HeadTree, MergeBaseTree, TargetTree
from app.policy import Policy
from app.target.tree import Layout, Tree
from app.verdict import engine, render
from app.verdict.policies import shipped
from checks.contract import COULD_NOT
from tests.corpus_points import Submission

JUDGED = (8, 10, 11, 13, 17)
OFFLINE = "not gathered: the corpus is judged offline"
UNVERIFIED = "COULD NOT"
UNREAD = "NOT READ"


@dataclass(frozen=True)
class Outcome:
    """One check on one recipe. `status` is the check's, or COULD NOT (be verified), or NOT READ."""

    path: str
    made: bool
    number: int
    status: str
    reason: str
    findings: tuple[str, ...] = ()


def policy_of(layout: Layout) -> Policy:
    return shipped("inferencex" if layout is Layout.OCTOBER else "inferencex-august")


def judged(tree: Tree, found: Iterable[Submission], day: date) -> list[Outcome]:
    """The five checks on every submission, in its order."""
    wanted = tuple(check for check in checks.all_checks() if check.number in JUDGED)
    outcomes = []
    for one in found:
        if not one.points:
            outcomes += [Outcome(one.path, one.made, number, UNREAD, one.problem) for number in JUDGED]
            continue
        facts = _facts(tree, one.path, day)
        verdict = engine.judge_facts(facts, one.scope(tree.layout), "", registered=wanted)
        for row in verdict.rows:
            open_ = row.result.reason.startswith(COULD_NOT)
            findings = tuple(f"{render.where_text(f.where)}: {f.found}" for f in row.result.findings)
            status = UNVERIFIED if open_ else row.status.value
            outcomes.append(Outcome(one.path, one.made, row.number, status, row.result.reason, findings))
    return outcomes


def _facts(tree: Tree, path: str, day: date) -> Facts:
    gone = {source: SourceStatus(False, OFFLINE) for kind in FACT_KINDS for source in kind.sources}
    known = dict(makers(Content({}, gone, {}, {})))
    changed = ChangedFiles((FileRecord(path=path, status="modified"),))
    ready: tuple[Fact, ...] = (HeadTree(tree), MergeBaseTree(tree), TargetTree(tree), changed)

    def given(value: Fact) -> Maker:
        return lambda _facts: value

    known.update({type(value): given(value) for value in ready})
    return Facts(known, Context(policy_of(tree.layout), day, "", 0, ""))


def counts(outcomes: Iterable[Outcome]) -> list[str]:
    """One line a check: its statuses with their numbers."""
    counted: dict[int, Counter[str]] = {number: Counter() for number in JUDGED}
    for one in outcomes:
        counted[one.number][one.status] += 1
    return [
        f"check {number:>2}: " + ", ".join(f"{status} {count}" for status, count in sorted(found.items()))
        for number, found in counted.items()
    ]


def shown(outcomes: Iterable[Outcome]) -> list[str]:
    """One line a recipe with all five outcomes; below it each one that is neither PASS nor N/A, with its lines."""
    lines: list[str] = []
    by_path: dict[str, list[Outcome]] = {}
    for one in outcomes:
        by_path.setdefault(one.path, []).append(one)
    for path, rows in by_path.items():
        made = "  (no master row: one made point a variant)" if rows[0].made else ""
        lines.append(f"{path}{made}")
        lines.append("    " + "  ".join(f"{row.number}: {row.status}" for row in rows))
        if rows[0].status == UNREAD:
            lines.append(f"    {rows[0].reason}")
            continue
        for row in rows:
            if row.status not in ("PASS", "N/A"):
                lines.append(f"    {row.number} {row.status}: {row.reason}")
                lines += [f"        {finding}" for finding in row.findings]
            elif row.status == "N/A":
                lines.append(f"    {row.number} N/A: {row.reason}")
    return lines
