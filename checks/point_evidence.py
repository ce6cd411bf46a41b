"""Purpose: what several checks do with the points of a scope: a point's recipe, its logs, where a setting stands.

Invariants: a point without a readable recipe or log is never skipped: it raises "could not be verified" with its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from app.facts.effective import Effective, logs_of
from app.facts.records import JobLogRecord, LogValue
from app.facts.repository import HeadTree
from app.target.recipe import EffectiveRecipe, Unbound
from app.target.source import FileLine
from checks.applying import listed
from checks.contract import Finding, LogSpan, cannot_verify

if TYPE_CHECKING:
    from app.planner.points import Point


def recipe_of(point: Point, head: HeadTree | None = None) -> EffectiveRecipe:
    """The bound recipe of a point, or its launch script at the head in that shape. Raises CannotVerify."""
    recipe = point.recipe
    if isinstance(recipe, EffectiveRecipe):
        return recipe
    if isinstance(recipe, Unbound):
        raise cannot_verify(f"the recipe of {point.key} {point.label}", recipe.reason)
    if head is None:
        raise cannot_verify(f"the launch script of {point.key} {point.label}", "files at the head were not gathered")
    from checks.script_launch import script_recipe

    return script_recipe(head.tree, point)


def labels(points: Iterable[Point], among: Sequence[Point] = ()) -> str:
    """Short names of points for a sentence: `c1, c2 and 9 more`; `c1-c8` where they are neighbours in `among`."""
    named = [point.label for point in points]
    order = [point.label for point in among]
    if len(named) > 2 and named[0] in order:
        start = order.index(named[0])
        if order[start : start + len(named)] == named:
            return f"{named[0]}-{named[-1]}"
    return listed(named)


def told(said: Mapping[str, Sequence[Point]], among: Sequence[Point]) -> str:
    """Statements and the points that each holds for: `A (c1-c8); B (c10-c32)`, `A, all 11 points`."""
    if len(said) == 1:
        text, points = next(iter(said.items()))
        return f"{text}, all {len(points)} points" if len(points) > 1 else f"{text} ({points[0].label})"
    return "; ".join(f"{text} ({labels(points, among)})" for text, points in said.items())


@dataclass
class PointFindings:
    """Findings of single points; the same thing found at several points becomes one finding that names them."""

    held: dict[Finding, list[Point]] = field(default_factory=dict)

    def add(self, point: Point, finding: Finding) -> None:
        """`{at}` in the finding's text stands for the points."""
        points = self.held.setdefault(finding, [])
        if point not in points:
            points.append(point)

    def all(self, among: Sequence[Point]) -> list[Finding]:
        """Findings in the order in which they were first seen."""
        return [
            replace(finding, found=finding.found.replace("{at}", labels(points, among)))
            for finding, points in self.held.items()
        ]


def reason_of(findings: Sequence[Finding]) -> str:
    """The first finding's text, and how many more there are."""
    more = f" ({len(findings) - 1} more)" if len(findings) > 1 else ""
    return f"{findings[0].found}{more}"


def one_log(point: Point, logs: Iterable[JobLogRecord]) -> JobLogRecord | None:
    """The log of the point's newest job; None where there is none."""
    found = logs_of(point, logs)
    return max(found, key=lambda log: (log.run_id, log.job_id)) if found else None


def sound_log(point: Point, logs: Iterable[JobLogRecord]) -> JobLogRecord:
    """The log of a point. Raises CannotVerify where there is none, or it contradicts itself."""
    log = one_log(point, logs)
    if log is None:
        raise cannot_verify(
            f"the job log of {point.label}", f"no log of a job of {point.key} {point.label} was gathered"
        )
    if log.problem:
        raise cannot_verify(f"the job log of {point.label}", log.problem)
    return log


def line_of(log: JobLogRecord, value: LogValue) -> LogSpan:
    return LogSpan(log.job_name, value.line)


def place(effective: Effective) -> FileLine | LogSpan:
    """Where a setting was decided: the recipe's line, else the log's."""
    if effective.setting is not None:
        return effective.setting.where
    return LogSpan(effective.job, effective.line)
