"""Purpose: measured points and frontier of curves as one SVG picture, for pages and `sweepgate pareto --plot`.

Invariants: pure text; every label is escaped, characters that XML forbids are dropped; no script, no outside link;
the same input gives the same bytes. Points that do not count (evidence.md 5) are not drawn, their number is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from app.results.curves import curves_of
from app.results.frontier import Coverage, countable, coverage

WIDTH, HEIGHT = 720, 320
LEFT, RIGHT, TOP, BOTTOM = 72, 16, 40, 44
X_LABEL, Y_LABEL = "E2EL (s)", "total tokens/s per GPU"
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Panel:
    """One curve to draw: all its points and its frontier."""

    points: Sequence[Any]
    coverage: Coverage


def panels_of(rows: Iterable[Mapping[str, Any]]) -> tuple[Panel, ...]:
    """One panel for each curve of benchmark result rows."""
    return tuple(Panel(curve.points, coverage(curve.key, curve.points)) for curve in curves_of(rows))


def svg(panels: Iterable[Panel]) -> str:
    """One picture, the panels below each other. Coordinates are pixels."""
    drawn = list(panels)
    height = HEIGHT * max(1, len(drawn))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12" role="img">',
        "<title>Measured points and frontier</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for index, panel in enumerate(drawn):
        parts += [f'<g transform="translate(0,{HEIGHT * index})">', *_panel(panel), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel) -> list[str]:
    curve = panel.coverage
    count = f"{len(curve.frontier)} of {curve.measured_points} points on the frontier"
    invalid = f", {curve.invalid_points} do not count" if curve.invalid_points else ""
    parts = [f'<text x="{LEFT}" y="22" font-weight="bold">{_text(curve.key)}</text>']
    parts.append(f'<text x="{WIDTH - RIGHT}" y="22" text-anchor="end">{count}{invalid}</text>')
    points = [point for point in panel.points if isinstance(point, Mapping) and countable(point)]
    if not points:
        return [*parts, f'<text x="{WIDTH // 2}" y="{HEIGHT // 2}" text-anchor="middle">no point to draw</text>']
    across = _Scale(max(float(point["x"]) for point in points), LEFT, WIDTH - RIGHT)
    upward = _Scale(max(float(point["y"]) for point in points), HEIGHT - BOTTOM, TOP)
    parts += _axes(across, upward)
    for point in points:
        parts.append(_dot(across.at(point["x"]), upward.at(point["y"]), "#9aa5b1", point))
    line = " ".join(f"{across.at(point['x']):.1f},{upward.at(point['y']):.1f}" for point in curve.frontier)
    parts.append(f'<polyline points="{line}" fill="none" stroke="#0b66c3" stroke-width="2"/>')
    for point in curve.frontier:
        parts.append(_dot(across.at(point["x"]), upward.at(point["y"]), "#0b66c3", point))
    return parts


@dataclass(frozen=True, slots=True)
class _Scale:
    """From zero to the largest value, so that heights compare; all values are above zero."""

    high: float
    start: int
    end: int

    def at(self, value: float) -> float:
        return self.start + (self.end - self.start) * (float(value) / self.high)


def _axes(across: _Scale, upward: _Scale) -> list[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = [f'<path d="M{LEFT},{TOP} V{bottom} H{right}" fill="none" stroke="#52606d"/>']
    for step in range(5):
        x, y = across.high * (step / 4), upward.high * (step / 4)
        parts.append(f'<text x="{across.at(x):.1f}" y="{bottom + 16}" text-anchor="middle">{x:.4g}</text>')
        parts.append(f'<text x="{LEFT - 6}" y="{upward.at(y) + 4:.1f}" text-anchor="end">{y:.4g}</text>')
    parts.append(f'<text x="{(LEFT + right) // 2}" y="{HEIGHT - 8}" text-anchor="middle">{X_LABEL}</text>')
    parts.append(f'<text x="14" y="{HEIGHT // 2}" text-anchor="middle" transform="rotate(-90 14 {HEIGHT // 2})">')
    return [*parts, f"{Y_LABEL}</text>"]


def _dot(x: float, y: float, colour: str, point: Mapping[str, Any]) -> str:
    label = f"{point.get('label', '')} x {float(point['x']):.6g}, y {float(point['y']):.6g}".strip()
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"><title>{_text(label)}</title></circle>'


def _text(value: object) -> str:
    shown = _FORBIDDEN.sub("", str(value))
    return escape(shown if len(shown) <= 90 else shown[:89] + "…")
