"""Purpose: `sweepgate pareto FILE|- [--plot out.svg]`: the frontier of given curves as JSON (design.md 12).

Input: `[{"key", "points": [{"x", "y"}]}]`. Output: one JSON list with status, counts and frontier of each curve.
Exit 0 also where a curve has too few points (that is advice, and stands in `status`), 1 for an input that breaks the
rules (no curve, empty or doubled key), 2 for usage and for what cannot be read or written.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.results.frontier import CurveInputError, as_json, read_curves


class _UnreadableError(Exception):
    """The file is not there or not JSON."""


def main(argv: Sequence[str]) -> int:
    """Run the verb (`argv[0]`); results on stdout, messages on stderr. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="sweepgate pareto",
        description="Frontier of curves: x is a latency in seconds, y a throughput per GPU; 5 points or more pass.",
    )
    parser.add_argument("file", metavar="FILE|-", help="JSON list of {'key', 'points': [{'x', 'y'}]}; - reads stdin")
    parser.add_argument("--plot", metavar="OUT.SVG", help="also draw the points and the frontier into this file")
    try:
        options = parser.parse_args(list(argv[1:]))
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        value = _read(options.file)
        curves = read_curves(value)
        if options.plot:
            _draw(value, curves, options.plot)
    except _UnreadableError as problem:
        print(problem, file=sys.stderr)
        return 2
    except CurveInputError as problem:
        print(f"{options.file}: {problem}", file=sys.stderr)
        return 1
    print(json.dumps(as_json(curves), ensure_ascii=False))
    return 0


def _read(name: str) -> Any:
    try:
        raw = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise _UnreadableError(f"{name}: {error.strerror or error}; give a JSON file that can be read, or -.") from None
    try:
        return json.loads(raw)
    except json.JSONDecodeError as error:
        where = f"{name}:{error.lineno}:{error.colno}"
        raise _UnreadableError(f"{where}: this is not JSON ({error.msg}); give a list of curves.") from None
    except (UnicodeDecodeError, RecursionError, ValueError):
        raise _UnreadableError(f"{name}: this is not JSON in UTF-8; give a list of curves.") from None


def _draw(value: Any, curves: Sequence[Any], target: str) -> None:
    from app.results.plot import Panel, svg

    panels = (Panel(curve["points"], coverage) for curve, coverage in zip(value, curves, strict=True))
    try:
        Path(target).write_text(svg(panels), encoding="utf-8")
    except OSError as error:
        raise _UnreadableError(f"{target}: {error.strerror or error}; give a file name that can be written.") from None


if __name__ == "__main__":
    sys.exit(main(sys.argv))
