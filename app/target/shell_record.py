"""Purpose: what the evaluation of a launch script gives: commands, files it writes, scripts it reaches, what is open.

Invariants: `certain` is False for what stands behind a condition that could not be decided. Words may hold holes
(`app.target.shell_text`): parts that are not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.target.shell_text import Word, is_known, shown
from app.target.source import FileLine


@dataclass(frozen=True, slots=True)
class Command:
    """One program that the script starts, with the environment that it would see."""

    words: tuple[Word, ...]
    env: Mapping[str, Word]
    where: FileLine
    certain: bool
    stdin: str = ""

    @property
    def program(self) -> str:
        return str(self.words[0]) if self.words else ""

    @property
    def known(self) -> bool:
        return all(map(is_known, self.words))

    def __str__(self) -> str:
        return " ".join(shown(word) for word in self.words)


@dataclass(frozen=True, slots=True)
class Written:
    """A file that the script writes with a redirection, and its text."""

    path: str
    text: str
    where: FileLine
    certain: bool


@dataclass(frozen=True, slots=True)
class Open:
    """Something that could not be decided, and where. `entering` is the path where it is about entering a script."""

    where: FileLine
    what: str
    entering: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True)
class Evaluated:
    """One script, evaluated for one point. `scripts` are the repository's scripts that were entered (sourced or
    started), the evaluated one first; `files` all repository files that a command or a redirection names. `finished`
    is False where the bounds were reached: then nothing after that is known. `unread` are repository files that the
    evaluation asked for and that were not gathered."""

    script: str
    commands: tuple[Command, ...]
    written: tuple[Written, ...]
    scripts: tuple[str, ...]
    files: frozenset[str]
    undecided: tuple[Open, ...]
    read: frozenset[str]
    finished: bool = True
    unread: frozenset[str] = frozenset()

    def content_of(self, path: str) -> Written | None:
        """The last text written to a file."""
        return next((file for file in reversed(self.written) if file.path == path), None)


MAX_STEPS = 30_000
MAX_COMMANDS = 5_000
MAX_AT_PLACE = 64
MAX_TEXT = 1_000_000
MAX_LETTERS = 20_000_000


class BoundReached(Exception):  # noqa: N818
    """The script is larger than what is evaluated."""


@dataclass
class Record:
    """Collects what an evaluation finds; shared by all shells of one evaluation. `branches` counts undecided ones."""

    commands: list[Command] = field(default_factory=list)
    written: list[Written] = field(default_factory=list)
    scripts: dict[str, None] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)
    undecided: dict[Open, None] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)
    unread: set[str] = field(default_factory=set)
    at_place: dict[FileLine, int] = field(default_factory=dict)
    steps: int = 0
    letters: int = 0
    branches: int = 0

    def step(self) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS or len(self.commands) > MAX_COMMANDS:
            raise BoundReached

    def charge(self, amount: int) -> None:
        """Counts letters that are expanded, printed or written, so that texts which double do not grow on."""
        self.letters += amount
        if self.letters > MAX_LETTERS:
            raise BoundReached

    def command(self, command: Command) -> bool:
        """Records a command; a loop's repetitions at one place only up to MAX_AT_PLACE. False where it is not kept."""
        count = self.at_place.get(command.where, 0)
        self.at_place[command.where] = count + 1
        if count < MAX_AT_PLACE:
            self.commands.append(command)
        elif count == MAX_AT_PLACE:
            self.open(command.where, f"repeated more than {MAX_AT_PLACE} times")
        return count < MAX_AT_PLACE

    def open(self, where: FileLine, what: str, entering: str = "") -> None:
        if len(self.undecided) < 500:
            self.undecided[Open(where, what, entering)] = None

    def result(self, script: str, finished: bool) -> Evaluated:
        return Evaluated(
            script,
            tuple(self.commands),
            tuple(self.written),
            tuple(self.scripts),
            frozenset(self.files),
            tuple(self.undecided),
            frozenset(self.read),
            finished,
            frozenset(self.unread),
        )
