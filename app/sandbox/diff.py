"""Purpose: the changed files between two trees as GitHub lists them: status, counts, patch.

Invariants: a patch starts at its first hunk header (GitHub gives no file header) and is absent for binary files.
A file that vanished and one that appeared are one rename if they are equal, or alike in at least half of their lines.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from app.sandbox.git import GitStore

ALIKE = 0.5
CONTEXT = 3


@dataclass(frozen=True)
class FileChange:
    """One changed file. `previous` is the old path of a rename, else ""."""

    path: str
    status: str
    sha: str
    additions: int
    deletions: int
    patch: str | None
    previous: str = ""


def changed_files(git: GitStore, old: Mapping[str, str], new: Mapping[str, str]) -> list[FileChange]:
    """Every path that differs, sorted by path."""
    gone = {path for path in old if path not in new}
    fresh = {path for path in new if path not in old}
    renames = _renames(git, old, new, gone, fresh)
    changes = []
    for path in sorted(set(old) | set(new)):
        if path in renames.values() or old.get(path) == new.get(path):
            continue
        before, after = old.get(renames.get(path, path), ""), new.get(path, "")
        patch, added, removed = _patch(git.blobs.get(before, b""), git.blobs.get(after, b""))
        status = "renamed" if path in renames else "added" if not before else "modified" if after else "removed"
        changes.append(FileChange(path, status, after or before, added, removed, patch, renames.get(path, "")))
    return changes


def _renames(
    git: GitStore, old: Mapping[str, str], new: Mapping[str, str], gone: set[str], fresh: set[str]
) -> dict[str, str]:
    """New path to old path."""
    found: dict[str, str] = {}
    for path in sorted(fresh):
        scored = [
            (_likeness(git.blobs[old[was]], git.blobs[new[path]]), was)
            for was in sorted(gone)
            if was not in found.values()
        ]
        best = max(scored, default=(0.0, ""))
        if best[0] >= ALIKE:
            found[path] = best[1]
    return found


@lru_cache(maxsize=256)
def _likeness(old: bytes, new: bytes) -> float:
    if old == new:
        return 1.0
    matcher = difflib.SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() >= ALIKE and matcher.quick_ratio() >= ALIKE else 0.0


@lru_cache(maxsize=512)
def _patch(old: bytes, new: bytes) -> tuple[str | None, int, int]:
    """Unified hunks, lines added, lines removed."""
    if b"\0" in old or b"\0" in new:
        return None, 0, 0
    before, after = (text.decode("utf-8", "replace").splitlines(keepends=True) for text in (old, new))
    same = _shared(before, after)
    tail = _shared(before[same:][::-1], after[same:][::-1])
    start, tail = max(0, same - CONTEXT), max(0, tail - CONTEXT)
    cut = (before[start : len(before) - tail], after[start : len(after) - tail])
    lines: list[str] = []
    added = removed = 0
    for group in difflib.SequenceMatcher(None, *cut, autojunk=False).get_grouped_opcodes(CONTEXT):
        lines.append(_header(group, start))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [" " + text for text in cut[0][i1:i2]]
                continue
            lines += ["-" + text for text in cut[0][i1:i2]] + ["+" + text for text in cut[1][j1:j2]]
            added, removed = added + j2 - j1, removed + i2 - i1
    return "\n".join(_ended(line) for line in lines), added, removed


def _shared(one: list[str], other: list[str]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _header(group: list[tuple[str, int, int, int, int]], start: int) -> str:
    old, new = (group[0][1], group[-1][2]), (group[0][3], group[-1][4])

    def span(first: int, last: int) -> str:
        length = last - first
        line = start + first + (1 if length else 0)
        return f"{line}" if length == 1 else f"{line},{length}"

    return f"@@ -{span(*old)} +{span(*new)} @@"


def _ended(line: str) -> str:
    if line.startswith("@@") or line.endswith("\n"):
        return line.rstrip("\n")
    return line + "\n\\ No newline at end of file"
