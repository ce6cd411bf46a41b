"""Purpose: what goes wrong, with real parts: act runs of gates that hold, and launches that fail in every way."""

from __future__ import annotations

from pathlib import Path

from proof.parts import Parts
from proof.story import Transcript


def play(folder: Path, found: Parts, told: Transcript, workspace: object) -> None:
    """All drills."""
