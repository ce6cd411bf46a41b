"""Purpose: commits, trees and blobs in memory, with the few questions that GitHub answers about them.

Blob and tree ids are git's own (SHA-1 over the object), so a client may check what it read. A commit's id is derived
from its content unless the story fixes it. Forks share one store, as they do on GitHub.

Invariants: objects never change. Every file is a regular file (mode 100644); links, submodules and execute bits are
left out on purpose: no answer that the client reads shows them.
"""

from __future__ import annotations

import difflib
import hashlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

Paths = Mapping[str, str]


def blob_id(content: bytes) -> str:
    """Git's id of a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class Commit:
    """`tree` maps each path to its blob id. `author` is a login; times are seconds since 1970."""

    sha: str
    tree: Paths
    parents: tuple[str, ...]
    message: str
    author: str
    authored_at: float
    committed_at: float


@dataclass
class GitStore:
    """All objects of one repository and its forks."""

    blobs: dict[str, bytes] = field(default_factory=dict)
    commits: dict[str, Commit] = field(default_factory=dict)
    _tree_ids: dict[str, dict[str, str]] = field(default_factory=dict)

    def add_blob(self, content: bytes) -> str:
        sha = blob_id(content)
        self.blobs[sha] = content
        return sha

    def commit(
        self,
        parents: tuple[str, ...],
        changes: Mapping[str, bytes | None],
        message: str,
        author: str,
        at: float,
        sha: str = "",
        tree: Paths | None = None,
    ) -> Commit:
        """Add a commit: `tree` (default: the first parent's) with `changes`; a path with None is deleted."""
        inherited = self.commits[parents[0]].tree if parents else {}
        paths = dict(tree if tree is not None else inherited)
        for path, content in changes.items():
            if content is None:
                paths.pop(path, None)
            else:
                paths[path] = self.add_blob(content)
        told = f"{sorted(paths.items())}{parents}{message}{author}{at}"
        new_sha = sha or hashlib.sha1(told.encode(), usedforsecurity=False).hexdigest()
        made = Commit(new_sha, paths, parents, message, author, at, at)
        self.commits[new_sha] = made
        return made

    def read(self, sha: str, path: str) -> bytes | None:
        """A file's bytes at a commit; None where the commit or the path does not exist."""
        commit = self.commits.get(sha)
        blob = commit.tree.get(path) if commit else None
        return None if blob is None else self.blobs[blob]

    def ancestors(self, sha: str) -> list[str]:
        """The commit and everything reachable from it, newest first by distance."""
        seen: dict[str, None] = {}
        queue = deque([sha])
        while queue:
            current = queue.popleft()
            if current not in seen and current in self.commits:
                seen[current] = None
                queue.extend(self.commits[current].parents)
        return list(seen)

    def merge_base(self, one: str, other: str) -> str:
        """The best common ancestor, "" where the histories have none in common."""
        reachable = set(self.ancestors(one))
        common = [sha for sha in self.ancestors(other) if sha in reachable]
        # what is common is closed under ancestry, so every older one is the parent of another common one
        older = {parent for sha in common for parent in self.commits[sha].parents}
        best = [sha for sha in common if sha not in older]
        return best[0] if best else ""

    def between(self, base: str, head: str) -> list[Commit]:
        """Commits reachable from head and not from base, oldest first."""
        known = set(self.ancestors(base)) if base else set()
        fresh = [sha for sha in self.ancestors(head) if sha not in known]
        return [self.commits[sha] for sha in reversed(fresh)]

    def tree_ids(self, commit: Commit) -> dict[str, str]:
        """Git's tree id of every folder of a commit; the root is ""."""
        if commit.sha in self._tree_ids:
            return self._tree_ids[commit.sha]
        below: dict[str, list[tuple[str, str, str]]] = {"": []}
        for path, blob in commit.tree.items():
            folder, _, name = path.rpartition("/")
            for part in _parents(folder):
                below.setdefault(part, [])
            below.setdefault(folder, []).append(("100644", name, blob))
        ids: dict[str, str] = {}
        for folder in sorted(below, key=_depth, reverse=True):
            ids[folder] = _tree_id(below[folder])
            if folder:
                parent, _, name = folder.rpartition("/")
                below[parent].append(("40000", name, ids[folder]))
        self._tree_ids[commit.sha] = ids
        return ids

    def merge(self, base: str, ours: str, theirs: str) -> tuple[dict[str, str], list[str]]:
        """Three-way merge by lines: the merged paths, and the paths in conflict."""
        old, mine, other = (self.commits[sha].tree if sha else {} for sha in (base, ours, theirs))
        merged, conflicts = dict(mine), []
        for path in {*old, *mine, *other}:
            was, here, there = old.get(path), mine.get(path), other.get(path)
            if there in (was, here):
                continue
            if here == was:
                merged.pop(path, None)
                if there is not None:
                    merged[path] = there
                continue
            text = None if None in (was, here, there) else self._merge_lines(was or "", here or "", there or "")
            if text is None:
                conflicts.append(path)
            else:
                merged[path] = self.add_blob(text)
        return merged, sorted(conflicts)

    def _merge_lines(self, base: str, ours: str, theirs: str) -> bytes | None:
        """The merged text, None where both sides changed the same or neighbouring lines differently."""
        old, here, there = (self.blobs[blob].splitlines(keepends=True) for blob in (base, ours, theirs))
        mine, other = _edits(old, here), _edits(old, there)
        if any(_touch(one, two) and one != two for one in mine for two in other):
            return None
        out: list[bytes] = []
        at = 0
        for start, end, new in sorted({*mine, *other}):
            out += [*old[at:start], *new]
            at = end
        return b"".join(out + old[at:])


Edit = tuple[int, int, tuple[bytes, ...]]


def _edits(old: list[bytes], new: list[bytes]) -> list[Edit]:
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(i1, i2, tuple(new[j1:j2])) for tag, i1, i2, j1, j2 in codes if tag != "equal"]


def _touch(one: Edit, two: Edit) -> bool:
    return one[0] <= two[1] and two[0] <= one[1]


def _depth(folder: str) -> int:
    return folder.count("/") + 1 if folder else 0


def _parents(folder: str) -> list[str]:
    parts = folder.split("/") if folder else []
    return ["/".join(parts[: depth + 1]) for depth in range(len(parts))]


def _tree_id(entries: list[tuple[str, str, str]]) -> str:
    ordered = sorted(entries, key=lambda entry: entry[1] + ("/" if entry[0] == "40000" else ""))
    content = b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(sha) for mode, name, sha in ordered)
    return hashlib.sha1(b"tree %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
