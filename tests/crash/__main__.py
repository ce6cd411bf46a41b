"""Purpose: `make crash`: kill -9 at every fault point on both databases, then the disturbed story; figures on stdout.

    python -m tests.crash [--database sqlite|postgresql] [--only TEXT ...] [--parallel N] [--pulls N]

One line a point: database, point, ok or MISS, seconds. Exits 1 on a miss. `--only` keeps the points whose name holds
one of the texts (`--only none` leaves the story alone); `--pulls 0` leaves the disturbed story out.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

from tests.crash import disturbed, matrix
from tests.support.postgres import shared_server


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description="Crash matrix and disturbed story.")
    parser.add_argument("--database", choices=matrix.DATABASES, action="append", help="both where left out")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="points whose name holds TEXT")
    parser.add_argument("--parallel", type=int, default=4, help="strikes at a time (default 4)")
    parser.add_argument("--pulls", type=int, default=200, help="pull requests of the disturbed story (default 200)")
    return parser.parse_args(given)


def chosen(database: str, only: list[str]) -> list[str]:
    return [point for point in matrix.points(database) if not only or any(part in point for part in only)]


def strikes(databases: list[str], only: list[str], parallel: int) -> list[matrix.Result]:
    """Strike every chosen point; prints a line as each ends."""
    wanted = [(database, point) for database in databases for point in chosen(database, only)]
    if not wanted:
        return []
    results = []
    with ThreadPoolExecutor(parallel) as pool:
        expected = dict(zip(databases, pool.map(matrix.undisturbed, databases), strict=True))
        running = [pool.submit(matrix.strike, point, database, expected[database]) for database, point in wanted]
        for done in as_completed(running):
            result = done.result()
            results.append(result)
            print(line(result), flush=True)
    return results


def line(result: matrix.Result) -> str:
    told = f"{result.database:<10} {result.point:<40} {'ok' if result.ok else 'MISS':<4} {result.seconds:5.1f} s"
    return told if result.ok else told + "\n    " + result.detail.replace("\n", "\n    ")


def main() -> int:
    options = arguments()
    databases = options.database or list(matrix.DATABASES)
    if "postgresql" in databases:
        shared_server()
    started = time.monotonic()
    results = strikes(databases, options.only, options.parallel)
    for database in databases:
        mine = [result for result in results if result.database == database]
        missed = [result.point for result in mine if not result.ok]
        print(f"{database}: {len(mine)} fault points, {len(mine) - len(missed)} ok, missed: {missed or 'none'}")
    told = disturbed.compare(options.pulls) if options.pulls else None
    if told:
        print(told.line())
    print(f"{time.monotonic() - started:.0f} s in all")
    return int(any(not result.ok for result in results) or bool(told and not told.ok))


if __name__ == "__main__":
    sys.exit(main())
