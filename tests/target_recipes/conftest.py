"""Purpose: the folder of real files, where it is there."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_files() -> Path:
    """The folder of real files next to the repository."""
    folder = Path(__file__).resolve().parents[2] / "../shared/inferencex"
    if not folder.is_dir():
        pytest.skip("../shared/inferencex is not there: the real recipes are not part of a clone")
    return folder.resolve()
