"""Purpose: the two gates of a changelog change: the lenient one of a pull request and the byte-strict one of a merge.

Source: formats.md 4.2 and 4.3. Lenient: the incumbent's gate (final newline, no deleted line, valid entries, known
keys, a matrix that can be generated); an entry that is not at the physical end is a warning. Strict: head is base plus
well separated entries at its end, or base with corrected pr-links, byte for byte.

Invariant: history breaks some of these rules, so only what the change itself does is judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from app.planner.plan import PlanOptions, plan
from app.target.changelog import REPOSITORY, Added, ChangelogEntry, difference, read_changelog
from app.target.source import Problem, RejectedInput
from app.target.tree import Tree

_START: Final = "- config-keys:"
_LINK: Final = "  pr-link:"


class Level(Enum):
    """Only errors fail the gate."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Message:
    """One finding: the file, its line at head (0: the whole file), a short rule name, what is wrong, the next step."""

    path: str
    line: int
    rule: str
    message: str
    fix: str
    level: Level = Level.ERROR

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.level.value}: {self.message} {self.fix} [{self.rule}]"


@dataclass(frozen=True, slots=True)
class Change:
    """A changelog change: both revisions, git's text diff (added, deleted) and the pull request's number if known."""

    base: Tree
    head: Tree
    added: Added
    deleted: Added
    pull_request: int | None = None
    repository: str = REPOSITORY

    @property
    def path(self) -> str:
        return self.head.layout.changelog

    @property
    def before(self) -> bytes:
        return self.base.read(self.base.layout.changelog) or b""

    @property
    def after(self) -> bytes:
        return self.head.read(self.path) or b""


def check_changelog(change: Change, *, strict: bool) -> list[Message]:
    """Every finding of one gate, errors first, then by line. Raises NotRecorded where a file was not gathered."""
    gate = _Gate(change)
    if strict:
        gate.strict()
    else:
        gate.lenient()
    return sorted(gate.found, key=lambda message: (message.level is Level.WARNING, message.line, message.rule))


class _Gate:
    """Collects messages."""

    def __init__(self, change: Change) -> None:
        self.change = change
        self.found: list[Message] = []

    def add(self, line: int, rule: str, message: str, fix: str, level: Level = Level.ERROR) -> None:
        self.found.append(Message(self.change.path, line, rule, message, fix, level))

    def problems(self, problems: Iterable[Problem], rule: str) -> None:
        for problem in problems:
            message = f"{problem.rule} Found: {problem.found}."
            self.found.append(Message(problem.where.path, problem.where.line, rule, message, problem.fix))

    def lenient(self) -> None:
        change = self.change
        self._final_newline()
        deletions = [
            (line, number)
            for line, number in zip(change.deleted.lines, change.deleted.numbers, strict=True)
            if line.strip()
        ]
        for line, number in deletions:
            message = f"Line {number} of the base was deleted or changed: {line.strip()[:80]}"
            self.add(0, "deletion", message, "Restore it; correct an entry by appending another.")
        if not deletions:
            self._plan(PlanOptions(added=change.added, deleted=change.deleted))
            self._position(Level.WARNING)

    def _plan(self, options: PlanOptions) -> None:
        try:
            plan(self.change.base, self.change.head, options)
        except RejectedInput as rejected:
            self.problems(rejected.problems, "plan")

    def _final_newline(self) -> None:
        after = self.change.after
        if not after.endswith(b"\n"):
            self.add(after.count(b"\n") + 1, "final-newline", "The file must end with a newline.", "Add one.")

    def _position(self, level: Level) -> None:
        """Entries that stand before an entry of the base."""
        try:
            added = difference(self.change.base, self.change.head).added
            entries = read_changelog(self.change.head)
        except RejectedInput:
            return
        new = {entry.where.line for entry in added}
        old = [entry.where.line for entry in entries if entry.where.line not in new]
        for entry in added:
            if old and entry.where.line < old[-1]:
                message = f"The new entry is not at the end: an older one follows in line {old[-1]}."
                self.add(entry.where.line, "position", message, "Move it to the end of the file.", level)

    def strict(self) -> None:
        """Rules 1 to 6 of formats.md 4.2 (b)."""
        change = self.change
        self._characters()
        self._final_newline()
        try:
            entries = read_changelog(change.head)
            found = difference(change.base, change.head)
        except RejectedInput as rejected:
            self.problems(rejected.problems, "schema")
            return
        self._counted(entries)
        corrections, added, removed = _corrections(found.added, found.removed)
        for entry in removed:
            names = ", ".join(entry.config_keys)[:80]
            message = f"The base's entry for {names} (line {entry.where.line}) was removed or changed."
            self.add(0, "removed", message, "Restore it; correct an entry by appending another.")
        if corrections and added:
            message = "Corrections of old pr-links and new entries may not be mixed."
            self.add(corrections[0].where.line, "mixed", message, "Split them into two pull requests.")
        elif corrections:
            self._corrected(corrections)
        elif added and not removed:
            self._appended()
        elif not removed:
            self._unchanged()
        for entry in added:
            self._link(entry)
        if added and not self.found:
            self._plan(PlanOptions())

    def _characters(self) -> None:
        """Rule 1 on the lines that the change adds."""
        known = set(self.change.before.split(b"\n"))
        for number, line in enumerate(self.change.after.split(b"\n"), 1):
            if line in known:
                continue
            for code, name in ((b"\r", "a carriage return"), (b"\t", "a tab"), (b"\0", "a NUL byte")):
                if code in line:
                    self.add(number, "characters", f"The line holds {name}.", "Use spaces and plain line ends.")

    def _counted(self, entries: tuple[ChangelogEntry, ...]) -> None:
        """Rule 1: every entry starts with `- config-keys:` at column 1."""
        lines = self.change.after.decode(errors="replace").split("\n")
        old = set(self.change.before.decode(errors="replace").split("\n"))
        for entry in entries:
            first = lines[entry.where.line - 1]
            if not first.startswith(_START) and first not in old:
                self.add(entry.where.line, "first-field", f"An entry must start with `{_START}`.", "Move it up.")

    def _corrected(self, corrections: list[ChangelogEntry]) -> None:
        """Rules 2 and 5."""
        before, after = (content.decode(errors="replace").split("\n") for content in self._contents())
        for entry in corrections:
            if not self._canonical(entry.pr_link):
                message = f"A corrected pr-link must be https://github.com/{self.change.repository}/pull/<number>."
                self.add(entry.where.line, "pr-link", message, "Write the pull request's URL.")
        changed = [number for number, pair in enumerate(zip(before, after, strict=False), 1) if pair[0] != pair[1]]
        foreign = [number for number in changed if not after[number - 1].startswith(_LINK)]
        if len(before) != len(after) or len(changed) != len(corrections) or foreign:
            line = foreign[0] if foreign else changed[0]
            message = "A correction may change nothing but the `pr-link` lines."
            self.add(line, "bytes", message, "Restore every other line of the base.")

    def _contents(self) -> tuple[bytes, bytes]:
        return self.change.before, self.change.after

    def _appended(self) -> None:
        """Rule 4."""
        before, after = self._contents()
        if not after.startswith(before):
            known = len(self.found)
            self._position(Level.ERROR)
            if len(self.found) == known:
                line = _first_difference(before, after)
                message = "The bytes before the new entries differ from the base."
                self.add(line, "bytes", message, "Take the base's file as it is and append.")
            return
        suffix, line = after[len(before) :].decode(errors="replace"), before.count(b"\n") + 1
        starts = [_START] if before.endswith(b"\n\n") or not before else [f"\n{_START}"]
        if not suffix.startswith(tuple(starts)):
            message = f"One empty line and then `{_START}` must follow the base's last line."
            self.add(line, "separator", message, "Leave exactly one empty line before the entry.")
        lines = suffix.split("\n")
        entries = [index for index, text in enumerate(lines) if text.startswith(_START)]
        for index in entries[1:]:
            if lines[index - 1] or not lines[index - 2]:
                message = "Exactly one empty line must stand between two new entries."
                self.add(line + index, "separator", message, "Leave one empty line.")
        if after.endswith(b"\n\n"):
            self.add(after.count(b"\n"), "final-newline", "The file must end in one newline.", "Remove empty lines.")

    def _unchanged(self) -> None:
        """Rule 6."""
        before, after = self._contents()
        if before == after:
            self.add(0, "no-entry", "The change adds no entry.", "Append an entry for the changed keys.")
        else:
            message = "The file was reformatted: no entry was added or corrected."
            self.add(_first_difference(before, after), "bytes", message, "Take the base's file as it is.")

    def _link(self, entry: ChangelogEntry) -> None:
        """formats.md 4.3, on a pull request."""
        root = f"https://github.com/{self.change.repository}/pull/"
        number = self.change.pull_request
        own = self._canonical(entry.pr_link) if number is None else entry.pr_link == f"{root}{number}"
        if not own and entry.pr_link not in ("XXX", f"{root}XXX"):
            wanted = f"{root}{'<number>' if number is None else number}"
            message = f"pr-link must be {wanted} or XXX. Found: {entry.pr_link[:100]}."
            self.add(entry.where.line, "pr-link", message, "Correct the pr-link.")

    def _canonical(self, link: str) -> bool:
        return re.fullmatch(rf"https://github\.com/{re.escape(self.change.repository)}/pull/[0-9]+", link) is not None


def _corrections(
    added: tuple[ChangelogEntry, ...], removed: tuple[ChangelogEntry, ...]
) -> tuple[list[ChangelogEntry], list[ChangelogEntry], list[ChangelogEntry]]:
    """(corrected, new, gone): an added and a removed entry that differ in the pr-link alone are one correction."""
    gone = list(removed)
    corrected, new = [], []
    for entry in added:
        twin = next((old for old in gone if _without_link(old) == _without_link(entry)), None)
        if twin is None:
            new.append(entry)
        else:
            gone.remove(twin)
            corrected.append(entry)
    return corrected, new, gone


def _without_link(entry: ChangelogEntry) -> tuple[object, ...]:
    return tuple(value for name, value in vars(entry).items() if name not in ("pr_link", "where"))


def _first_difference(before: bytes, after: bytes) -> int:
    old, new = before.split(b"\n"), after.split(b"\n")
    for number, pair in enumerate(zip(old, new, strict=False), 1):
        if pair[0] != pair[1]:
            return number
    return min(len(old), len(new))
