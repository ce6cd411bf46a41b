"""Purpose: is another commit of a pull request the same measurement as its head (design: "Same measurement")?

Reads the files that the affected keys need at three revisions (merge base, head, the other commit) and compares. Asked
by the service for reuse pins and stale sign-offs; a verdict compares from its own bundle.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.decide.state import Measurement
from app.evidence import wanted
from app.evidence.file_sources import MAX_LAUNCH_ROUNDS
from app.evidence.reads import Reads
from app.planner.same_measurement import compare_measurement
from app.planner.scope import compute_scope
from app.target.changelog import difference
from app.target.closure import LaunchClosure
from app.target.source import RejectedInput
from app.target.tree import NotRecorded, Tree


def measure(reads: Reads, repository: str, merge_base: str, head: str, other: str) -> Measurement:
    """Same, different (with the files that differ), or undecidable (None)."""
    if head == other:
        return Measurement(True)
    gathered = _Gathered(reads, repository, merge_base, head, other)
    gathered.everything()
    start, ours, theirs = (gathered.tree(sha) for sha in (merge_base, head, other))
    closure = LaunchClosure()
    try:
        keys = [
            key.key
            for tree in (ours, theirs)
            for key in compute_scope(start, tree, gathered.changed, closure=closure).keys
        ]
        compared = compare_measurement(theirs, ours, keys, closure=closure)
    except (NotRecorded, RejectedInput):
        return Measurement(None)
    if compared.undecided:
        return Measurement(None, compared.paths)
    return Measurement(compared.same, compared.paths)


class _Gathered:
    """Files at the merge base and both commits, read in rounds: what one round brings names the next."""

    def __init__(self, reads: Reads, repository: str, merge_base: str, head: str, other: str) -> None:
        self.reads, self.repository = reads, repository
        self.merge_base, self.commits = merge_base, (head, other)
        changed: dict[str, None] = {}
        for sha in self.commits:
            for file in reads.compare(repository, merge_base, sha).files:
                changed.update(dict.fromkeys(path for path in (file["path"], file.get("previous_path", "")) if path))
        self.changed = tuple(changed)
        self.layout = wanted.layout_of(changed, False)
        self.folders = wanted.launch_directories(self.layout)
        self.found: dict[str, dict[str, bytes | None]] = {sha: {} for sha in (merge_base, *self.commits)}

    def everything(self) -> None:
        self._read(wanted.head_files(self.layout, self.changed, 0), self.folders)
        self._read(self._recipes())
        for _ in range(MAX_LAUNCH_ROUNDS):
            self._read(paths := self._launch_files())
            if not paths:
                return

    def tree(self, sha: str) -> Tree:
        found = self.found[sha]
        files = {path: content for path, content in found.items() if content is not None}
        absent = frozenset(path for path, content in found.items() if content is None)
        return Tree(sha, files, absent, folders=frozenset(self.folders))

    def _read(self, paths: Sequence[str], folders: Sequence[str] = ()) -> None:
        if not paths and not folders:
            return
        answer = self.reads.files(self.repository, dict.fromkeys(self.found, (paths, folders))).files
        for sha, found in self.found.items():
            found.update(answer[sha])

    def _recipes(self) -> tuple[str, ...]:
        masters = {sha: [self.found[sha].get(path) or b"" for path in self.layout.masters] for sha in self.found}
        start = self.tree(self.merge_base)
        trees = [self.tree(sha) for sha in self.commits]
        named = [key for tree in trees for entry in difference(start, tree).added for key in entry.config_keys]
        blocks = [
            block
            for sha in self.commits
            for block in wanted.differing_blocks(masters[self.merge_base], masters[sha], named)
        ]
        return wanted.named_recipes(blocks, self.layout)

    def _launch_files(self) -> tuple[str, ...]:
        start = self.tree(self.merge_base)
        unread = (wanted.unread_launch_files(start, self.tree(sha), self.changed) for sha in self.commits)
        return tuple(dict.fromkeys(path for paths in unread for path in paths))
