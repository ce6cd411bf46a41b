"""Purpose: the edge to folders of downloaded artifacts: one sub-folder for each artifact, as the download action leaves
them.

Invariants: only members that a rule reads are loaded, each at most 64 MiB; links that lead outside are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from app.results.artifacts import ArtifactFile, wanted

LARGEST = 64 * 1024 * 1024


class UnreadableFolder(Exception):  # noqa: N818
    """The folder cannot be read as artifacts; the message says what was expected."""


def read_artifacts(folder: Path, wants: Callable[[str, str], bool] = wanted) -> dict[str, Mapping[str, ArtifactFile]]:
    """Artifacts by name, members by path inside. Content is loaded where `wants(artifact, member)`.

    Raises UnreadableFolder for a folder that is not there and for a member above the size limit.
    """
    if not folder.is_dir():
        raise UnreadableFolder(f"{folder} is no folder. Give the folder that holds one sub-folder for each artifact.")
    root = folder.resolve()
    found: dict[str, Mapping[str, ArtifactFile]] = {}
    for artifact in sorted(path for path in folder.iterdir() if path.is_dir()):
        members: dict[str, ArtifactFile] = {}
        for path in sorted(artifact.rglob("*")):
            if not path.is_file() or not path.resolve().is_relative_to(root):
                continue
            member = path.relative_to(artifact).as_posix()
            members[member] = _read(path) if wants(artifact.name, member) else ArtifactFile()
        found[artifact.name] = members
    return found


def _read(path: Path) -> ArtifactFile:
    facts = path.stat()
    if facts.st_size > LARGEST:
        raise UnreadableFolder(f"{path} has {facts.st_size} bytes, the limit is {LARGEST}. Remove it or split it.")
    return ArtifactFile(path.read_bytes(), facts.st_mtime_ns)


def write_files(folder: Path, files: Mapping[tuple[str, str], bytes]) -> None:
    """Write members by (artifact, path) below `folder`."""
    for (artifact, member), content in files.items():
        target = folder / artifact / member
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
