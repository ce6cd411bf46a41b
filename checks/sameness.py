"""Purpose: what checks 1, 4 and 5 share: is the head still the same measurement as an earlier commit?

Invariant: a commit whose files were not gathered is never taken for equal (CannotVerify).
"""

from __future__ import annotations

from collections.abc import Iterable

from app.facts.base import Facts, Missing
from app.facts.repository import HeadTree, OtherTrees
from app.planner.same_measurement import Comparison, compare_measurement
from app.planner.scope import Scope
from app.target.source import FileLine
from checks.applying import listed, short
from checks.contract import Finding, Unverified, cannot_verify


def compared(facts: Facts, scope: Scope, sha: str, keys: Iterable[str]) -> Comparison:
    """The comparison of an earlier commit with the head. Raises CannotVerify where its files were not gathered."""
    head = facts[HeadTree].tree
    if sha == facts.head_sha:
        return Comparison(sha, sha)
    others = facts.state(OtherTrees)
    tree = None if isinstance(others, Missing) else others.by_sha.get(sha)
    if tree is None:
        reason = others.reason if isinstance(others, Missing) else "were not gathered"
        raise cannot_verify(f"files at {sha[:7]}", reason)
    return compare_measurement(tree, head, keys, scope.rules, scope.closure)


def undecided(comparison: Comparison) -> tuple[Unverified, ...]:
    """What the comparison could not see."""
    pair = f"same measurement of {comparison.before[:7]} and {comparison.after[:7]}"
    return tuple(Unverified(pair, reason) for reason in comparison.undecided)


def files_of(comparison: Comparison) -> str:
    """The files that break the sameness, as people name them."""
    return listed([short(path) for path in comparison.paths])


def findings(comparison: Comparison, step: str) -> list[Finding]:
    """One finding for each file that differs, with the points it changes."""
    by_path: dict[str, list[str]] = {}
    for difference in comparison.differences:
        by_path.setdefault(difference.path, []).append(difference.what)
    for point in comparison.dropped:
        by_path.setdefault(point.master.path, []).append(f"{point.label} is gone")
    expected = f"the same measurement as {comparison.before[:7]}"
    return [
        Finding(FileLine(path, 1, 0, comparison.after), listed(what, 4), expected, step)
        for path, what in by_path.items()
    ]
