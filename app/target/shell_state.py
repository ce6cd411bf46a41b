"""Purpose: the state of an evaluated shell: variables, exports, functions, folder; and the merge of two branches.

Where a condition cannot be decided, both branches run on copies and are merged: what is the same in both stays known,
everything else becomes a hole that names the condition.

Invariants: values are immutable (words, tuples of words, mappings that are replaced, never changed), so that copies are
shallow. A variable that neither the point, the workflow nor the script sets is unset, except for those of the machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from app.target.shell_text import Word, either, hole
from app.target.source import FileLine

Value = Word | tuple[Word, ...] | Mapping[str, Word]

WORKSPACE = "/workspace"
MACHINE = (
    *(
        "SLURM",
        "GITHUB_",
        "RUNNER_",
        "HIP_",
        "ROCR_",
        "CUDA_VISIBLE",
        "XDG_",
        "ENROOT_",
        "PMI",
        "OMPI_",
    ),
    *(
        "HOME",
        "USER",
        "PATH",
        "HOSTNAME",
        "LOGNAME",
        "SHELL",
        "TMPDIR",
        "PWD",
        "UID",
        "EUID",
        "RANDOM",
        "SECONDS",
    ),
    *(
        "MODEL_PATH",
        "RESULT_DIR",
        "RESULT_FILENAME",
        "HF_TOKEN",
        "HF_HUB_CACHE",
        "LD_LIBRARY_PATH",
        "PYTHONPATH",
    ),
    *("BASHPID", "PPID", "LINENO", "EPOCH", "HOSTTYPE", "OSTYPE"),
)
"""Variables, by the start of their name, that the machine sets: their value is not known here."""


class Leave(Exception):  # noqa: N818
    """Control leaves the current statement list: exit, return, break or continue."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Function:
    """A shell function: its body (a syntax node) and the script that defines it."""

    body: Any
    script: Any


@dataclass(slots=True)
class State:
    """What a shell knows while a script runs. `arguments` are $1, $2, ...; `cwd` is an absolute path.

    `tainted` says why an unset variable is not known to be unset (an `eval` of text that is not known).
    """

    variables: dict[str, Value] = field(default_factory=dict)
    exported: frozenset[str] = frozenset()
    functions: dict[str, Function] = field(default_factory=dict)
    cwd: str = WORKSPACE
    arguments: tuple[Word, ...] = ()
    tainted: str = ""

    def copy(self) -> State:
        return replace(self, variables=dict(self.variables), functions=dict(self.functions))

    def environment(self) -> dict[str, Word]:
        """What a program that is started now would see: exported variables that are set."""
        found: dict[str, Word] = {}
        for name in self.exported:
            value = self.variables.get(name)
            if isinstance(value, Word):
                found[name] = value
        return found


def is_machine(name: str) -> bool:
    """True for a variable that the machine may set."""
    return name.startswith(MACHINE)


def first_word(value: Value | None) -> Word | None:
    """What `$name` means for a value: the word itself, or the first of an array."""
    if value is None or isinstance(value, Word):
        return value
    if isinstance(value, tuple):
        return value[0] if value else None
    return value.get("0")


def _either_array(one: tuple[Word, ...], other: tuple[Word, ...], between: Word) -> tuple[Word, ...]:
    """An array that is one of two: equal elements at both ends, and a hole that may stand for any number between."""
    front = 0
    while front < min(len(one), len(other)) and one[front] == other[front]:
        front += 1
    back = 0
    while back < min(len(one), len(other)) - front and one[-1 - back] == other[-1 - back]:
        back += 1
    return (*one[:front], between, *one[len(one) - back :])


def merged(one: State, other: State, why: str, where: FileLine) -> State:
    """The state after a condition that could not be decided."""
    variables: dict[str, Value] = {}
    for name in {**one.variables, **other.variables}:
        left, right = one.variables.get(name), other.variables.get(name)
        if left is not None and left == right:
            variables[name] = left
        elif isinstance(left, Word) and isinstance(right, Word):
            variables[name] = Word(either(left, right, name, why), where)
        elif isinstance(left, tuple) and isinstance(right, tuple):
            variables[name] = _either_array(left, right, Word(hole(name, why), where))
        else:
            variables[name] = Word(hole(name, why), where)
    same = {
        name: function
        for name, function in {**one.functions, **other.functions}.items()
        if one.functions.get(name, function) == other.functions.get(name, function)
    }
    cwd = one.cwd if one.cwd == other.cwd else hole("PWD", why)
    arguments = one.arguments if one.arguments == other.arguments else (Word(hole("@", why), where),)
    return State(
        variables,
        one.exported | other.exported,
        same,
        cwd,
        arguments,
        one.tainted or other.tainted,
    )


@dataclass
class Frame:
    """A function, script or loop that control may leave; `left` are states and statuses that left it early."""

    kind: str
    left: list[tuple[State, bool | None]] = field(default_factory=list)
