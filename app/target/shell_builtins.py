"""Purpose: the builtins of an evaluated shell: declarations, echo and printf, cd, read, eval, control, tests.

Invariants: `eval` of text that is not known taints the state: variables that are unset afterwards may be set. `read`
takes a line of the input, so that loops over known text end.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.target.shell_assign import assigned
from app.target.shell_programs import output_of
from app.target.shell_state import Leave, Value
from app.target.shell_syntax import named
from app.target.shell_text import (
    Word,
    hole,
    is_known,
    joined,
    known_part,
    printf,
    shown,
    split_fields,
    whole,
)

if TYPE_CHECKING:
    from app.target.shell_run import Shell


def run_declaration(shell: Shell, node: Any) -> None:
    """export, declare, local, readonly, typeset."""
    kind = node.children[0].type
    options = ""
    for child in named(node):
        text = shell.script.text(child)
        if child.type == "variable_assignment":
            name, value = assigned(shell, child)
            if name is not None and value is not None:
                _declared(shell, kind, options, name, value)
        elif text.startswith("-"):
            options += text.lstrip("-")
        elif child.type == "variable_name" or re.fullmatch(r"[A-Za-z_]\w*", text):
            _declared(shell, kind, options, text, None)
        else:
            for field in shell.words.fields(child):
                name, equals, value_text = field.partition("=")
                _declared(
                    shell,
                    kind,
                    options,
                    name,
                    Word(value_text, field.where) if equals else None,
                )
    shell.status = True


def _declared(shell: Shell, kind: str, options: str, name: str, value: Value | None) -> None:
    local = kind == "local" or (kind in ("declare", "typeset") and "g" not in options and shell.in_function())
    if local and name not in shell.saved:
        shell.saved[name] = shell.state.variables.get(name)
        if value is None:
            shell.state.variables.pop(name, None)
    if value is not None:
        shell.state.variables[name] = value
    elif "A" in options:
        shell.state.variables[name] = {}
    elif "a" in options:
        shell.state.variables.setdefault(name, ())
    if kind == "export" or "x" in options:
        shell.state.exported = shell.state.exported - {name} if "n" in options else shell.state.exported | {name}


def _exit(kind: str) -> Callable[[Shell, Sequence[Word], Any], None]:
    def leave(shell: Shell, words: Sequence[Word], _node: Any) -> None:
        if words and kind in ("exit", "return"):
            shell.status = words[0] == "0" if is_known(words[0]) else None
        raise Leave(kind)

    return leave


def _echo(name: str) -> Callable[[Shell, Sequence[Word], Any], None]:
    def write(shell: Shell, words: Sequence[Word], _node: Any) -> None:
        if name == "printf" and words[:1] == ["-v"] and len(words) > 2:
            shell.state.variables[str(words[1])] = Word(printf(words[2], words[3:]), words[1].where)
        else:
            shell.write(output_of([name, *words], "") or "")
        shell.status = True

    return write


def _cd(shell: Shell, words: Sequence[Word], _node: Any) -> None:
    target = next(
        (word for word in words if not word.startswith("-")),
        Word(hole("HOME", "set by the machine")),
    )
    if is_known(target) and is_known(shell.state.cwd):
        shell.state.cwd = posixpath.normpath(posixpath.join(shell.state.cwd, target))
    else:
        shell.state.cwd = target if is_known(target) and target.startswith("/") else hole(shown(target), "a folder")
    shell.status = True


def _pwd(shell: Shell, _words: Sequence[Word], _node: Any) -> None:
    shell.write(f"{shell.state.cwd}\n")
    shell.status = True


def _set(shell: Shell, words: Sequence[Word], _node: Any) -> None:
    if "--" in words:
        shell.state.arguments = tuple(words[[str(word) for word in words].index("--") + 1 :])
    elif words and not words[0].startswith(("-", "+")):
        shell.state.arguments = tuple(words)
    shell.status = True


def _shift(shell: Shell, words: Sequence[Word], _node: Any) -> None:
    named_count = whole(words[0]) if words else None
    count = 1 if named_count is None else named_count
    shell.status = len(shell.state.arguments) >= count
    if shell.status:
        shell.state.arguments = shell.state.arguments[count:]


def _eval(shell: Shell, words: Sequence[Word], node: Any) -> None:
    text = joined(words)
    if not is_known(text) and not known_part(text).strip():
        where = shell.script.place(node)
        shell.record.open(where, f"eval of {shown(text)}: any variable may be set there")
        shell.state.tainted = f"may be set by the eval in line {where.line}"
        shell.status = None
        return
    outer = shell.script
    shell.script = outer.fragment(text, node)
    try:
        shell.run(shell.script.root)
    finally:
        shell.script = outer


def _exec(shell: Shell, words: Sequence[Word], node: Any) -> None:
    if words:
        shell.start(words, node)
        _exit("exit")(shell, (), node)


def _read(shell: Shell, words: Sequence[Word], _node: Any) -> None:
    names, array = [], None
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word.startswith("-"):
            if "a" in word:
                array = str(rest.pop(0)) if rest else None
            elif word[-1] in "dptnu" and rest:
                rest.pop(0)
        else:
            names.append(str(word))
    if shell.stdin == "":
        shell.status = False
        return
    line, newline, left = shell.stdin.partition("\n")
    separators = shell.words.value("IFS")
    fields = split_fields(line, " \t" if separators is None else separators) if separators != "" else [line]
    if array is not None:
        shell.state.variables[array] = tuple(Word(field) for field in fields)
    for place, name in enumerate(names or (["REPLY"] if array is None else [])):
        last = place == len(names) - 1
        value = " ".join(fields[place:]) if last else (fields[place] if place < len(fields) else "")
        shell.state.variables[name] = Word(value)
    unknown = not is_known(line)
    shell.stdin = shell.stdin if unknown and not newline else left
    shell.status = None if unknown else True


def _mapfile(shell: Shell, words: Sequence[Word], _node: Any) -> None:
    name = next((str(word) for word in reversed(words) if not word.startswith("-")), "MAPFILE")
    shell.state.variables[name] = tuple(Word(line) for line in shell.stdin.splitlines())
    shell.status = True


def _test(shell: Shell, words: Sequence[Word], _node: Any) -> None:
    shell.status = shell.tests.words([word for word in words if word != "]"])


def _let(shell: Shell, words: Sequence[Word], node: Any) -> None:
    numbers = [shell.words.number_of(word, node) for word in words]
    shell.status = None if None in numbers else bool(numbers and numbers[-1])


def _status(value: bool | None) -> Callable[[Shell, Sequence[Word], Any], None]:
    def give(shell: Shell, _words: Sequence[Word], _node: Any) -> None:
        shell.status = value

    return give


BUILTINS: Mapping[str, Callable[[Shell, Sequence[Word], Any], None]] = {
    "exit": _exit("exit"),
    "return": _exit("return"),
    "break": _exit("break"),
    "continue": _exit("continue"),
    "echo": _echo("echo"),
    "printf": _echo("printf"),
    "cd": _cd,
    "pwd": _pwd,
    "set": _set,
    "shift": _shift,
    "eval": _eval,
    "exec": _exec,
    "read": _read,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "test": _test,
    "[": _test,
    "let": _let,
    ":": _status(True),
    "true": _status(True),
    "false": _status(False),
    "trap": _status(True),
    "wait": _status(True),
    "shopt": _status(True),
    "type": _status(None),
    "getopts": _status(None),
}
