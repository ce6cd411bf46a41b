"""Purpose: the frontier of one curve and whether it has enough points (evidence.md 5, "upper right").

A curve is a series of measured points: x is a latency in seconds, y a throughput per GPU. The frontier keeps y rising
with x. A point counts only if both values are real numbers above zero; any other point makes the curve a warning.

Invariants: pure; linear after one sort; the answer does not depend on the order of the points, save which of two
points with equal coordinates carries the canonical flag (the first one).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from sys import float_info
from typing import Any, TypeGuard

RECOMMENDED_POINTS = 5
CANONICAL_FLAG = "isOnNormalizedInteractivityFrontier"
LARGEST = float_info.max

Number = int | float
Raw = Mapping[str, Any]


class CurveInputError(Exception):
    """The list of curves cannot be read as one. The message says where, what was expected and what to do."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Frontier of one curve. `frontier` keeps the given points (x ascending); `restricted` = the canonical flag ruled.

    `measured_points` counts every given point, `invalid_points` those without two real numbers above zero.
    """

    key: str
    measured_points: int
    invalid_points: int
    frontier: tuple[Raw, ...]
    restricted: bool = False

    @property
    def enough(self) -> bool:
        return self.invalid_points == 0 and len(self.frontier) >= RECOMMENDED_POINTS

    @property
    def status(self) -> str:
        """PASS or WARN; coverage never fails."""
        return "PASS" if self.enough else "WARN"


def coverage(key: str, points: Sequence[Any]) -> Coverage:
    """The frontier of one curve. Each point is a mapping with `x` and `y`; anything else counts as invalid."""
    order: list[tuple[Number, Number, int]] = []
    restricted = False
    for index, point in enumerate(points):
        if not isinstance(point, Mapping):
            continue
        restricted = restricted or CANONICAL_FLAG in point
        x, y = point.get("x"), point.get("y")
        if _counts(x) and _counts(y):
            order.append((x, -y, index))
    invalid = len(points) - len(order)
    order.sort()
    kept = _walk(order)
    frontier = tuple(points[index] for index in kept)
    if restricted:
        frontier = tuple(point for point in frontier if point.get(CANONICAL_FLAG) is True)
    return Coverage(key, len(points), invalid, frontier, restricted)


def _walk(order: Iterable[tuple[Number, Number, int]]) -> list[int]:
    """Indices on the frontier, from points sorted by x and, at equal x, by falling y: a plateau keeps distinct x."""
    kept: list[int] = []
    best: Number = 0
    last: Number = 0
    for x, negative, index in order:
        y = -negative
        if y > best or (y == best and x > last):
            kept.append(index)
            best, last = y, x
    return kept


def _counts(value: object) -> TypeGuard[Number]:
    """True for a finite number above zero; a bool is not a number here."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= LARGEST


def read_curves(value: object) -> tuple[Coverage, ...]:
    """Coverage of a parsed list of `{"key", "points": [{"x", "y"}]}`. Raises CurveInputError."""
    if not isinstance(value, list) or not value:
        raise CurveInputError("The input must be a list with at least one curve; give [{'key': ..., 'points': [...]}].")
    seen: set[str] = set()
    curves = []
    for position, curve in enumerate(value, 1):
        key, points = _parts(curve, position)
        if key in seen:
            raise CurveInputError(f"Curve {position}: the key {key!r} was given before; merge or rename the curves.")
        seen.add(key)
        curves.append(coverage(key, points))
    return tuple(curves)


def _parts(curve: object, position: int) -> tuple[str, list[Any]]:
    if not isinstance(curve, Mapping):
        raise CurveInputError(f"Curve {position}: a curve is an object with 'key' and 'points'; correct it.")
    key, points = curve.get("key"), curve.get("points")
    if not isinstance(key, str) or not key.strip():
        raise CurveInputError(f"Curve {position}: 'key' must be a text that is not empty; name the curve.")
    if not isinstance(points, list):
        raise CurveInputError(f"Curve {position} ({key}): 'points' must be a list; give [] for a curve without points.")
    return key, points


def as_json(curves: Iterable[Coverage]) -> list[dict[str, Any]]:
    """The stable JSON form of `sweepgate pareto` (design.md 12)."""
    return [
        {
            "key": curve.key,
            "status": curve.status,
            "measured_points": curve.measured_points,
            "invalid_points": curve.invalid_points,
            "frontier_points": len(curve.frontier),
            "frontier": [{"x": point["x"], "y": point["y"]} for point in curve.frontier],
        }
        for curve in curves
    ]


def countable(point: Raw) -> bool:
    """True where both values are numbers that a frontier may use."""
    return _counts(point.get("x")) and _counts(point.get("y"))


_BARS = "▁▂▃▄▅▆▇█"


def sparkline(curve: Coverage) -> str:
    """The frontier's y values as one character each, x ascending; empty for an empty frontier."""
    values = [float(point["y"]) for point in curve.frontier]
    if not values:
        return ""
    low, span = values[0], (values[-1] - values[0]) or 1.0
    return "".join(_BARS[round((value - low) / span * (len(_BARS) - 1))] for value in values)
