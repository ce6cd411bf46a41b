"""Purpose: one revision of the target repository as bytes by path, without saying where the bytes come from.

A `Tree` is filled by `app.checkout` (a directory, a git revision) or from a bundle. Paths are repository paths with
forward slashes, the October prefix `inferencex-e2e/` included.

Invariants: a path that was never looked at is not the same as a path that is absent at that revision. `read` gives
None only for what is known to be absent; for what was not looked at it raises `NotRecorded`, so that nobody mistakes
missing evidence for a missing file. Layouts are never mixed: a tree with any path below `inferencex-e2e/` is October.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

OCTOBER_ROOT = "inferencex-e2e/"


class NotRecorded(Exception):  # noqa: N818
    """The path was not part of what was gathered at this revision: nothing can be said about it."""

    def __init__(self, path: str, revision: str) -> None:
        super().__init__(f"{path} was not read at {revision[:7] or 'this revision'}")
        self.path = path
        self.revision = revision


class Layout(Enum):
    """Where the files of one revision stand: at the root (August) or below `inferencex-e2e/` (October)."""

    AUGUST = "august"
    OCTOBER = "october"

    @property
    def root(self) -> str:
        return OCTOBER_ROOT if self is Layout.OCTOBER else ""

    @property
    def masters(self) -> tuple[str, str]:
        """Master configs in the incumbent's reading order: AMD first."""
        return (f"{self.root}configs/amd-master.yaml", f"{self.root}configs/nvidia-master.yaml")

    @property
    def runners(self) -> str:
        return f"{self.root}configs/runners.yaml"

    @property
    def changelog(self) -> str:
        return f"{self.root}perf-changelog.yaml"

    @property
    def recipes(self) -> str:
        """Folder that holds `single_node/` and `multi_node/`."""
        return f"{self.root}benchmarks/"

    @property
    def fragments(self) -> str:
        return f"{self.root}configs/srt-recipes/"

    @property
    def deprecated(self) -> str:
        return f"{self.root}configs/deprecated/"

    @property
    def golden_curves(self) -> str:
        return f"{self.root}infx/golden_al_distribution/" if self.root else "golden_al_distribution/"

    @property
    def thresholds(self) -> str:
        return f"{self.root}infx/evals/thresholds.yaml" if self.root else "utils/evals/thresholds.yaml"

    @property
    def models_md(self) -> str:
        return f"{self.root}docs/MODELS.md" if self.root else "MODELS.md"

    @property
    def checklist(self) -> str:
        return f"{self.root}docs/PR_REVIEW_CHECKLIST.md"

    @property
    def waivers(self) -> str:
        return f"{self.root}docs/waiver/"


@dataclass(frozen=True)
class Tree:
    """Bytes by repository path at one revision.

    `files` may be lazy (reading from git or disk when asked). `absent` are paths known not to exist. With
    `complete=True` every path not in `files` is absent. `folders` were read whole.
    """

    revision: str
    files: Mapping[str, bytes]
    absent: frozenset[str] = field(default_factory=frozenset)
    complete: bool = False
    forced_layout: Layout | None = None
    folders: frozenset[str] = field(default_factory=frozenset)

    @property
    def layout(self) -> Layout:
        if self.forced_layout is not None:
            return self.forced_layout
        october = any(path.startswith(OCTOBER_ROOT) for path in self.files)
        return Layout.OCTOBER if october else Layout.AUGUST

    def read(self, path: str) -> bytes | None:
        """Raw bytes, None where the path is known to be absent. Raises NotRecorded otherwise."""
        content = self.files.get(path)
        if content is not None:
            return content
        if self.complete or path in self.absent:
            return None
        raise NotRecorded(path, self.revision)

    def identity(self, path: str) -> bytes | str | None:
        """What tells two versions of a file apart: its Git blob id where the files know it, else its bytes.

        None where the path is absent. Raises NotRecorded as `read` does. Compare only trees of the same source.
        """
        blob_ids: Mapping[str, str] | None = getattr(self.files, "blob_ids", None)
        return self.read(path) if blob_ids is None else blob_ids.get(path)

    def knows(self, path: str) -> bool:
        return self.complete or path in self.absent or path in self.files

    def lists(self, folder: str) -> bool:
        """True where every file below a folder was looked at."""
        return self.complete or folder in self.folders

    def below(self, prefix: str) -> Iterator[str]:
        """Recorded paths that start with `prefix`, sorted."""
        return iter(sorted(path for path in self.files if path.startswith(prefix)))
