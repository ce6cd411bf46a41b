"""Purpose: the repository files of the reference story, read from `app/sandbox/reference/`.

Invariant: `base` holds the whole small repository, `head` only the files that the pull request changes.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

MATERIAL = Path(__file__).resolve().parents[1] / "reference"


@lru_cache(maxsize=2)
def files(side: str) -> dict[str, bytes]:
    """Repository path to bytes of "base" or "head"."""
    folder = MATERIAL / side
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def text(name: str) -> str:
    """A text of the material, such as sign_off.md."""
    return (MATERIAL / name).read_text(encoding="utf-8")
