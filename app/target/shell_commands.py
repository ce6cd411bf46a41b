"""Purpose: simple commands: functions, builtins, modelled text programs, scripts that are sourced or started, the rest.

Invariants: nothing is run. A program that is not modelled is recorded, prints a hole, and its status is not known; a
few that only prepare the ground (mkdir, cp, sleep, ...) count as successful.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from app.target.shell_assign import assigned
from app.target.shell_builtins import BUILTINS
from app.target.shell_programs import output_of
from app.target.shell_redirect import file_text
from app.target.shell_state import Leave, State, Value
from app.target.shell_syntax import Script
from app.target.shell_text import Word, hole, is_known, joined, known_part, shown

if TYPE_CHECKING:
    from app.target.shell_run import Shell

MAX_CHILDREN = 8
_LAUNCHERS = ("srun", "docker", "timeout", "salloc", "mpirun", "ssh", "xargs")
_SHELLS = ("bash", "sh", "dash", "zsh")
_SILENT = frozenset(
    (
        *(
            "mkdir",
            "rm",
            "cp",
            "mv",
            "chmod",
            "chown",
            "touch",
            "ln",
            "sync",
            "sleep",
            "kill",
            "pkill",
        ),
        *("ulimit", "umask", "hash", "alias", "disown", "scancel"),
    )
)
"""Programs that print nothing and are taken to succeed."""
_WRAPPERS = frozenset(
    (
        "sudo",
        "nohup",
        "time",
        "stdbuf",
        "numactl",
        "nice",
        "ionice",
        "setsid",
        "command",
        "builtin",
        "env",
    )
)


def run_command(shell: Shell, node: Any) -> None:
    """One simple command: its assignments, its words, its own here-string."""
    assignments = [child for child in node.named_children if child.type == "variable_assignment"]
    name = node.child_by_field_name("name")
    if name is None:
        shell.run_all(assignments)
        return
    words: list[Word] = []
    for nodes in _adjoining([name, *node.children_by_field_name("argument")]):
        words.extend(shell.words.fields(*nodes))
    words.extend(shell.extra)
    shell.extra = ()
    stdin = shell.stdin
    for redirect in node.children_by_field_name("redirect"):
        if redirect.type == "herestring_redirect":
            shell.stdin = f"{shell.words.text(redirect.named_children[-1])}\n"
    given = dict(_pairs(shell, assignments))
    start(shell, words, given, node)
    if not any(word in ("read", "mapfile", "readarray") for word in words[:1]):
        shell.stdin = stdin


def _adjoining(nodes: Sequence[Any]) -> list[list[Any]]:
    """Nodes of one word together: the parser parts a word where an escaped expansion stands between quotes."""
    groups: list[list[Any]] = []
    for node in nodes:
        if groups and groups[-1][-1].end_byte == node.start_byte:
            groups[-1].append(node)
        else:
            groups.append([node])
    return groups


def _pairs(shell: Shell, assignments: Sequence[Any]) -> list[tuple[str, Word]]:
    found = []
    for assignment in assignments:
        name, value = assigned(shell, assignment)
        if name is not None and isinstance(value, Word):
            found.append((name, value))
    return found


def start(shell: Shell, words: Sequence[Word], given: Mapping[str, Word], node: Any) -> None:
    """Runs expanded words: a function, a builtin, or a program with `given` in its environment."""
    if not words:
        shell.state.variables.update(given)
        return
    name = str(words[0])
    function = shell.state.functions.get(name)
    if function is not None:
        _with(shell, given, lambda: shell.call(function, words[1:], node))
        return
    builtin = source if name in ("source", ".") else BUILTINS.get(name)
    if builtin is not None:
        _with(shell, given, lambda: builtin(shell, words[1:], node))
        return
    if name in _WRAPPERS and len(words) > 1:
        _unwrapped(shell, words, given, node)
        return
    _program(shell, words, given, node)


def _with(shell: Shell, given: Mapping[str, Word], run: Callable[[], None]) -> None:
    """Runs with temporary variables in front of the command."""
    before: dict[str, Value | None] = {name: shell.state.variables.get(name) for name in given}
    shell.state.variables.update(given)
    try:
        run()
    finally:
        for name, value in before.items():
            if value is None:
                shell.state.variables.pop(name, None)
            else:
                shell.state.variables[name] = value


def _unwrapped(shell: Shell, words: Sequence[Word], given: Mapping[str, Word], node: Any) -> None:
    """`sudo cmd`, `env A=1 cmd`: the command behind the wrapper."""
    rest = list(words[1:])
    more = dict(given)
    while rest and (rest[0].startswith("-") or re.match(r"[A-Za-z_]\w*=", rest[0])):
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if equals and not word.startswith("-"):
            more[name] = Word(value, word.where)
    if words[0] in ("command", "builtin") and words[1].startswith("-"):
        shell.write(hole(f"command -v {' '.join(rest)}", "a program of the machine"))
        shell.status = True if rest and rest[0] in shell.state.functions else None
    elif rest:
        start(shell, rest, more, node)


def _program(shell: Shell, words: Sequence[Word], given: Mapping[str, Word], node: Any) -> None:
    env = {**shell.state.environment(), **given}
    shell.record_command(words, env, node)
    if not is_known(words[0]) and not known_part(words[0]):
        shell.record.open(shell.script.place(node), f"starts {shown(words[0])}, which is not known")
        shell.status = None
        return
    child = _child(shell, words)
    if child is not None:
        inside = _container_env(words) if posixpath.basename(known_part(words[0])) == "docker" else env
        _run_child(shell, child, inside, node)
        return
    if posixpath.basename(words[0]) == "tee":
        for path in words[1:]:
            if not path.startswith("-"):
                shell.record_written(path, shell.stdin, node)
    stdin = shell.stdin
    if words[0] == "cat" and len(words) > 1 and all(not word.startswith("-") for word in words[1:]):
        stdin, words = (
            joined((file_text(shell, word) for word in words[1:]), ""),
            words[:1],
        )
    text = "" if posixpath.basename(words[0]) in _SILENT else output_of(words, stdin)
    shell.write(hole(f"output of {shown(words[0])}", "a program is not run") if text is None else text)
    shell.status = True if text is not None else None


# -- scripts ---------------------------------------------------------------------------------------------------------


def _child(shell: Shell, words: Sequence[Word]) -> tuple[str, Sequence[Word]] | None:
    """("-c", (text, ...)) or (path, arguments) of a shell script that a command starts, also through srun or docker."""
    first = posixpath.basename(known_part(words[0]))
    for place, word in enumerate(words):
        if posixpath.basename(word) in _SHELLS and (place == 0 or first in _LAUNCHERS):
            return _after_shell(words[place + 1 :])
    if first == "sbatch":
        place = next(
            (place for place, word in enumerate(words) if place and _is_script(shell, word)),
            0,
        )
        return (words[place], words[place + 1 :]) if place else None
    return (words[0], words[1:]) if _is_script(shell, words[0]) else None


def _container_env(words: Sequence[Word]) -> dict[str, Word]:
    """What `docker run` passes on: its `-e NAME=value` options."""
    found: dict[str, Word] = {}
    for option, value in pairwise(words):
        name, equals, text = value.partition("=")
        if option in ("-e", "--env") and equals:
            found[name] = Word(text, value.where)
    return found


def _after_shell(words: Sequence[Word]) -> tuple[str, Sequence[Word]] | None:
    rest = list(words)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if "c" in option.lstrip("-") and not option.startswith("--"):
            return ("-c", rest)
    return (rest[0], rest[1:]) if rest else None


def _is_script(shell: Shell, word: str) -> bool:
    inside = shell.repository_path(word) if "/" in word or word.endswith((".sh", ".slurm")) else None
    content = shell.content(inside) if inside else None
    return content is not None and (inside or "").endswith((".sh", ".slurm", ".bash"))


def _run_child(shell: Shell, child: tuple[str, Sequence[Word]], env: Mapping[str, Word], node: Any) -> None:
    from app.target.shell_run import Shell

    name, arguments = child
    script: Script | None
    if name == "-c":
        text = arguments[0] if arguments else Word("")
        script, arguments = shell.script.fragment(text, node), arguments[1:]
    else:
        script = opened(shell, name, node)
    shell.status = None
    if script is None or shell.children >= MAX_CHILDREN:
        return
    state = State(dict(env), frozenset(env), {}, shell.state.cwd, tuple(arguments))
    inner = Shell(shell.tree, script, state, shell.record, shell.depth)
    inner.children, inner.certain, inner.stdin = (
        shell.children + 1,
        shell.certain,
        shell.stdin,
    )
    with suppress(Leave):
        inner.run(script.root)
    shell.write("".join(inner.output))


def opened(shell: Shell, name: str, node: Any) -> Script | None:
    """A script of the repository by a path that the shell uses; what cannot be opened is noted."""
    where = shell.script.place(node)
    if not is_known(name):
        shell.record.open(where, f"enters {shown(name)}, which is not known", name)
        return None
    inside = shell.repository_path(name)
    if inside is None:
        shell.record.open(where, f"enters {name}, which is not in the repository", name)
        return None
    content = shell.content(inside)
    if content is None:
        shell.record.open(where, f"enters {inside}, which is not there or was not gathered", name)
        return None
    shell.record.scripts[inside] = None
    return Script.of(inside, content, shell.tree.revision)


def source(shell: Shell, words: Sequence[Word], node: Any) -> None:
    """`source path [arguments]`: the script runs in this shell."""
    script = opened(shell, words[0], node) if words else None
    if script is None or len(shell.sources) > MAX_CHILDREN:
        shell.status = None
        return
    outer, given = shell.script, shell.state.arguments
    shell.script = script
    shell.sources.append(script.path)
    if len(words) > 1:
        shell.state.arguments = tuple(words[1:])
    try:
        shell.framed("script", lambda: shell.run(script.root), "return", script.root)
    finally:
        shell.script = outer
        shell.sources.pop()
        shell.state.arguments = given
    shell.status = True
