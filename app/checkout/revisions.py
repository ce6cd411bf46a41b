"""Purpose: a directory or a git revision of the target repository as a lazily read `Tree`, and the text diff of a file.

Git runs as a subprocess, for reading only, with hooks, external diffs and lazy fetches off. Symlinks and paths that
leave the repository are refused with a clear error, never followed. Reads are bounded in size.

Accepted race: a directory may change while it is read; each file is read once per tree.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from app.target.changelog import Added
from app.target.source import FileLine, RejectedInput, reject
from app.target.tree import OCTOBER_ROOT, Layout, Tree
from app.target.yaml_faults import MAX_BYTES

_READ_LIMIT: Final = MAX_BYTES + 1
_SKIPPED: Final = frozenset((".git", ".venv", "node_modules", "__pycache__"))


class Unreadable(Exception):  # noqa: N818  (it names the input)
    """The directory, repository or revision cannot be read at all: exit status 2."""


def open_tree(name: str, repository: str = ".") -> Tree:
    """A directory as it stands, or a revision of the git repository at `repository`. Raises Unreadable."""
    if os.path.isdir(name):  # noqa: PTH112  (pathlib would cost the command line 4 ms)
        return directory_tree(name)
    return git_tree(repository, name)


def open_pair(base: str, head: str, repository: str = ".", *, two_dot: bool = False) -> tuple[Tree, Tree]:
    """Base and head of a change. An empty `head` is the directory of the repository as it stands.

    A base revision stands for its merge base with head, so that what only the base gained is no part of the change;
    `two_dot` takes it as it is (the incumbent's way). Raises Unreadable.
    """
    after = open_tree(head or repository, repository)
    if os.path.isdir(base):  # noqa: PTH112
        return directory_tree(base), after
    before = git_tree(repository, base)
    if two_dot or (head and not after.revision):
        return before, after
    common = _git(repository, "merge-base", before.revision, after.revision or "HEAD").decode().strip()
    return (git_tree(repository, common) if common and common != before.revision else before), after


def directory_tree(root: str) -> Tree:
    """The files below a directory; those that are asked for are read, and no others."""
    files = DirectoryFiles(root)
    return Tree("", files, complete=True, forced_layout=_layout(os.path.isdir(files.absolute(OCTOBER_ROOT))))  # noqa: PTH112


def git_tree(repository: str, revision: str) -> Tree:
    """The files of a commit. Raises Unreadable for an unknown revision or no repository."""
    if revision.startswith("-") or not revision.strip():
        raise Unreadable(f"`{revision}` is neither a directory nor a git revision.")
    sha = _git(repository, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").decode().strip()
    if not sha:
        raise Unreadable(f"`{revision}` is neither a directory nor a revision of the git repository {repository}.")
    files = GitFiles(repository, sha)
    layout = _layout(any(path.startswith(OCTOBER_ROOT) for path in files.blob_ids))
    files.prefetch([*layout.masters, layout.runners, layout.changelog])
    return Tree(sha, files, complete=True, forced_layout=layout)


def _layout(october: bool) -> Layout:
    return Layout.OCTOBER if october else Layout.AUGUST


def _refuse_outside(path: str) -> None:
    if path.startswith("/") or ".." in path.split("/") or "\0" in path:
        fix = "Name a file below the repository's root."
        raise reject(FileLine(path[:200], 1), "A path may not leave the repository.", path, fix, 1)


def _refuse_link(path: str) -> RejectedInput:
    fix = "Replace the link with the file itself."
    return reject(FileLine(path, 1), "Symbolic links are not followed.", path, fix, 1)


class DirectoryFiles(Mapping[str, bytes]):
    """Regular files below a directory by relative path, read when asked for and kept."""

    def __init__(self, root: str) -> None:
        self._root = os.path.abspath(root)  # noqa: PTH100
        self._read: dict[str, bytes] = {}

    def absolute(self, path: str) -> str:
        return os.path.join(self._root, path)  # noqa: PTH118

    def __getitem__(self, path: str) -> bytes:
        content = self._read.get(path)
        if content is None:
            content = self._read[path] = self._load(path)
        return content

    def _load(self, path: str) -> bytes:
        _refuse_outside(path)
        place = self._root
        for part in path.split("/"):
            place = os.path.join(place, part)  # noqa: PTH118
            try:
                mode = os.lstat(place).st_mode
            except (OSError, ValueError):
                raise KeyError(path) from None
            if stat.S_ISLNK(mode):
                raise _refuse_link(path)
        if not stat.S_ISREG(mode):
            raise KeyError(path)
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(_READ_LIMIT)

    def __iter__(self) -> Iterator[str]:
        for folder, folders, names in os.walk(self._root):
            folders[:] = sorted(name for name in folders if name not in _SKIPPED)
            for name in sorted(names):
                place = os.path.join(folder, name)  # noqa: PTH118
                if stat.S_ISREG(os.lstat(place).st_mode):
                    yield os.path.relpath(place, self._root).replace(os.sep, "/")

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, path: object) -> bool:
        try:
            return isinstance(path, str) and self[path] is not None
        except KeyError:
            return False


class GitFiles(Mapping[str, bytes]):
    """Regular files of one commit by path. `blob_ids` lets two commits be compared without reading."""

    def __init__(self, repository: str, sha: str) -> None:
        self._repository = repository
        self.blob_ids: dict[str, str] = {}
        self._links: set[str] = set()
        self._read: dict[str, bytes] = {}
        for record in _git(repository, "ls-tree", "-r", "-z", "--full-tree", sha, check=True).split(b"\0"):
            facts, _, path = record.partition(b"\t")
            if not path:
                continue
            mode, kind, blob = facts.decode().split(" ")
            name = path.decode(errors="surrogateescape")
            if mode == "120000":
                self._links.add(name)
            elif kind == "blob":
                self.blob_ids[name] = blob

    def __getitem__(self, path: str) -> bytes:
        _refuse_outside(path)
        if path in self._links:
            raise _refuse_link(path)
        blob = self.blob_ids[path]
        if blob not in self._read:
            self.prefetch([path])
        return self._read[blob]

    def prefetch(self, paths: Iterable[str]) -> None:
        """Reads several files in one git process."""
        wanted = list(dict.fromkeys(self.blob_ids[path] for path in paths if path in self.blob_ids))
        wanted = [blob for blob in wanted if blob not in self._read]
        if not wanted:
            return
        request = "".join(f"{blob}\n" for blob in wanted).encode()
        answer, offset = _git(self._repository, "cat-file", "--batch", stdin=request, check=True), 0
        for blob in wanted:
            header, offset = answer[offset : answer.index(b"\n", offset)], answer.index(b"\n", offset) + 1
            name, _, size = header.decode().partition(" blob ")
            if name != blob or not size.isdigit():
                raise Unreadable(f"git does not have the content of blob {blob}; fetch the repository fully.")
            self._read[blob] = answer[offset : offset + int(size)]
            offset += int(size) + 1

    def __iter__(self) -> Iterator[str]:
        return iter(self.blob_ids)

    def __len__(self) -> int:
        return len(self.blob_ids)

    def __contains__(self, path: object) -> bool:
        return path in self.blob_ids


def changed_paths(repository: str, base: str, head: str) -> tuple[str, ...]:
    """Paths that differ between two commits, of renames both."""
    listing = _git(repository, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", base, head, check=True)
    return tuple(path.decode(errors="surrogateescape") for path in listing.split(b"\0") if path)


def merge_base(repository: str, one: str, other: str) -> str:
    """SHA of the newest common commit. Raises Unreadable where there is none."""
    return _git(repository, "merge-base", one, other, check=True).decode().strip()


def top_folder(folder: str) -> str:
    """Root of the work tree that a folder is in. Raises Unreadable outside one."""
    return _git(folder, "rev-parse", "--show-toplevel", check=True).decode(errors="surrogateescape").strip()


def worktree_changes(repository: str, base: str) -> tuple[str, ...]:
    """Paths of the work tree that differ from a commit: committed, staged, edited and new ones; of renames both."""
    tracked = _git(repository, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", base, "--", check=True)
    new = _git(repository, "ls-files", "--others", "--exclude-standard", "-z", check=True)
    return tuple(sorted({path.decode(errors="surrogateescape") for path in (tracked + new).split(b"\0") if path}))


def text_diff(before: bytes, after: bytes) -> tuple[Added, Added]:
    """(added, deleted) lines of git's line diff with their numbers, as the incumbent reads them.

    A line that starts with `++` (or `--`) disappears, as it does upstream: its diff line looks like a file header.
    """
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, name) for name in ("base", "head")]  # noqa: PTH118
        for name, content in zip(names, (before, after), strict=True):
            with open(name, "wb") as file:  # noqa: PTH123
                file.write(content)
        output = _git(folder, "diff", "--no-index", "--no-color", "--no-ext-diff", "--no-textconv", "--text", *names)
    return _lines(output.decode(errors="surrogateescape").replace("\r\n", "\n").split("\n"))


def _lines(output: Sequence[str]) -> tuple[Added, Added]:
    found: dict[str, tuple[list[str], list[int]]] = {"+": ([], []), "-": ([], [])}
    numbers = {"+": 0, "-": 0}
    inside = False
    for line in output:
        sign = line[:1]
        if line.startswith("@@ "):
            inside = True
            old, new = line.split(" ")[1:3]
            numbers = {"-": int(old[1:].split(",")[0]), "+": int(new[1:].split(",")[0])}
            continue
        if not inside:
            continue
        if sign in found and not line.startswith(sign * 3):
            found[sign][0].append(line[1:])
            found[sign][1].append(numbers[sign])
        for side in ("+", "-"):
            if sign in (side, " "):
                numbers[side] += 1
    added, deleted = (Added(tuple(lines), tuple(places)) for lines, places in (found["+"], found["-"]))
    return added, deleted


def _git(folder: str, *arguments: str, stdin: bytes | None = None, check: bool = False) -> bytes:
    """Output of one read-only git command. Raises Unreadable where git is missing or, with `check`, fails."""
    import subprocess

    settings = ("core.fsmonitor=false", "diff.algorithm=default", "diff.indentHeuristic=true", "core.quotePath=false")
    options = [part for setting in settings for part in ("-c", setting)]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", "-C", folder, *options, *arguments],
            input=stdin,
            capture_output=True,
            env=environment,
            check=False,
        )
    except FileNotFoundError:
        raise Unreadable(f"git or the directory {folder} is not there; install git or correct the path.") from None
    if check and done.returncode:
        reason = done.stderr.decode(errors="replace").strip().splitlines()
        raise Unreadable(f"git {arguments[0]} failed in {folder}: {reason[-1] if reason else 'no reason given'}")
    return done.stdout
