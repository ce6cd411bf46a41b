"""Purpose: small repositories to plan on: two masters, a runners file and a changelog, as trees or directories."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from app.planner.flat import flat_row
from app.planner.plan import Plan
from app.target.tree import Tree
from tests.support import made_masters as made

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared"
NVIDIA, AMD = "configs/nvidia-master.yaml", "configs/amd-master.yaml"
RUNNERS, CHANGELOG = "configs/runners.yaml", "perf-changelog.yaml"
OLD = made.changelog_entry(["any-key"], 1)


def tree(
    nvidia: str, log: str = "", *, amd: str = "", runners: str = made.RUNNERS, root: str = "", **more: str
) -> Tree:
    """A complete tree; the changelog holds one old entry and `log` behind it."""
    files = {NVIDIA: nvidia, AMD: amd, RUNNERS: runners, CHANGELOG: OLD + ("\n" + log if log else ""), **more}
    return Tree("", {f"{root}{path}": text.encode() for path, text in files.items()}, complete=True)


def entry(keys: Iterable[str], extra: str = "") -> str:
    """A new changelog entry."""
    return made.changelog_entry(keys, extra=extra)


def buckets(plan: Plan) -> dict[str, list[Any]]:
    """The concurrencies by bucket, in the plan's order."""
    found: dict[str, list[Any]] = {}
    for row in plan.rows:
        found.setdefault(row.bucket, []).append(row.row["conc"])
    return found


def canonical(plan: Plan) -> Counter[str]:
    """All rows as comparable text, without order."""
    return Counter(json.dumps(flat_row(row), sort_keys=True) for row in plan.rows)


Write = Callable[[Path, Tree], Path]


@pytest.fixture
def write() -> Write:
    """Writes a tree as a directory."""

    def write_tree(folder: Path, files: Tree) -> Path:
        for path, content in files.files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        return folder

    return write_tree


def metadata(case: Path) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads((case / "meta.json").read_text(encoding="utf-8"))
    return found
