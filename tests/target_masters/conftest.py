"""Purpose: small trees of the target's files for these tests."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.target.tree import Tree

NVIDIA, AMD = "configs/nvidia-master.yaml", "configs/amd-master.yaml"
RUNNERS, CHANGELOG = "configs/runners.yaml", "perf-changelog.yaml"

MakeTree = Callable[..., Tree]


@pytest.fixture
def make_tree() -> MakeTree:
    """A complete tree from texts, by short names or paths; `root` moves all of it below a folder."""
    names = {"nvidia": NVIDIA, "amd": AMD, "runners": RUNNERS, "changelog": CHANGELOG}

    def make(root: str = "", /, **texts: str) -> Tree:
        files = {f"{root}{names.get(name, name)}": text.encode() for name, text in texts.items()}
        return Tree("", files, complete=True)

    return make
