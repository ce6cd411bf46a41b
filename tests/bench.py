"""Purpose: `make bench`: prints every figure of docs/performance.md, measured now, each beside its target.

Figures live beside their rooms as `tests/bench_*.py` with `figures()` -> rows (what, measured, target, verdict).
Nothing here fails a build: times are noisy, and budgets on counts are tests.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time

from rich.console import Console
from rich.table import Table

MODULES = ("bench_checks", "bench_plan", "bench_frontier", "bench_service")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--only", choices=MODULES, help="one group of figures")
    chosen = parser.parse_args().only
    out = Console(width=140)
    for name in (chosen,) if chosen else MODULES:
        started = time.monotonic()
        rows = importlib.import_module(f"tests.{name}").figures()
        table = Table("what", "measured", "target", "held", title=name.removeprefix("bench_"))
        for row in rows:
            table.add_row(*row)
        out.print(table)
        out.print(f"[dim]{time.monotonic() - started:.0f} s[/dim]")
    return 0


if __name__ == "__main__":
    sys.exit(main())
