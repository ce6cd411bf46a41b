"""Purpose: which changed paths make a pull request ours, in both layouts of the target repository."""

from __future__ import annotations

from collections.abc import Iterable

CHANGELOG = "perf-changelog.yaml"
_ROOTS = ("inferencex-e2e/", "")
_WORKFLOWS = (".github/workflows/", ".github/actions/")


def _inside(path: str) -> str:
    return next(path.removeprefix(root) for root in _ROOTS if path.startswith(root))


def is_changelog(path: str) -> bool:
    return _inside(path) == CHANGELOG


def is_benchmark(path: str) -> bool:
    """A master configuration, anything under benchmarks, or the changelog."""
    inside = _inside(path)
    is_master = inside.removeprefix(".github/").startswith("configs/") and inside.endswith("-master.yaml")
    return is_master or inside.startswith("benchmarks/") or inside == CHANGELOG


def touches_benchmarks(paths: Iterable[str]) -> bool:
    return any(is_benchmark(path) for path in paths)


def touches_changelog(paths: Iterable[str]) -> bool:
    return any(is_changelog(path) for path in paths)


def sweep_machinery(paths: Iterable[str]) -> tuple[str, ...]:
    """Changed files that decide how sweeps run; such a pull request gets none."""
    return tuple(sorted(path for path in paths if path.startswith(_WORKFLOWS)))
