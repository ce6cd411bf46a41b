"""Purpose: what several checks do with the points of a scope: a point's recipe, its logs, where a setting stands.

Invariants: a point without a readable recipe or log is never skipped: it raises "could not be verified" with its name.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from app.facts.effective import Effective, logs_of
from app.facts.records import JobLogRecord, LogValue
from app.target.recipe import EffectiveRecipe, Unbound
from app.target.source import FileLine
from checks.applying import listed
from checks.contract import LogSpan, cannot_verify

if TYPE_CHECKING:
    from app.planner.points import Point


def recipe_of(point: Point) -> EffectiveRecipe:
    """The bound recipe of a point. Raises CannotVerify where there is none."""
    recipe = point.recipe
    if isinstance(recipe, EffectiveRecipe):
        return recipe
    if isinstance(recipe, Unbound):
        raise cannot_verify(f"the recipe of {point.key} {point.label}", recipe.reason)
    raise cannot_verify(f"the launch script of {point.key} {point.label}", "its commands could not be evaluated")


def labels(points: Iterable[Point]) -> str:
    """Short names of points for a sentence: `c1, c2 and 9 more`."""
    return listed([point.label for point in points])


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
