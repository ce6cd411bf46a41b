"""Purpose: assignments of an evaluated shell: words, arrays, associative arrays, elements, `+=`.

Invariants: values are immutable; `+=` builds a new one. An element behind an index that is not known makes the whole
array unknown.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from app.target import shell_arithmetic
from app.target.shell_flow import MAX_PASSES
from app.target.shell_state import Value
from app.target.shell_syntax import named
from app.target.shell_text import Word, hole, is_known

if TYPE_CHECKING:
    from app.target.shell_run import Shell

_PAIR = re.compile(r"\[([^\]]+)\]=(.*)\Z", re.DOTALL)


def run_assignment(shell: Shell, node: Any) -> None:
    # The status of an assignment is that of its last command substitution.
    shell.status = True
    name, value = assigned(shell, node)
    if name is not None and value is not None:
        shell.state.variables[name] = value


def run_assignments(shell: Shell, node: Any) -> None:
    shell.run_all(node.named_children)


def assigned(shell: Shell, node: Any) -> tuple[str | None, Value | None]:
    """Name and new value of one assignment node."""
    target = node.child_by_field_name("name")
    value = node.child_by_field_name("value")
    adding = any(child.type == "+=" for child in node.children)
    if target.type == "subscript":
        return _element_assigned(shell, target, value, adding)
    name = shell.script.text(target)
    if value is not None and value.type == "array":
        return name, _array(shell, name, value, adding)
    word = Word("", shell.script.place(node)) if value is None else shell.words.text(value)
    if word.where is None or word.where.path == "":
        word = Word(word, shell.script.place(node))
    if adding:
        old = shell.state.variables.get(name)
        if isinstance(old, tuple):
            return name, (Word(f"{old[0] if old else ''}{word}", word.where), *old[1:])
        word = Word(f"{shell.words.value(name) or ''}{word}", shell.script.place(node))
    return name, word


def _array(shell: Shell, name: str, value: Any, adding: bool) -> Value:
    old = shell.state.variables.get(name)
    pairs = [match for item in named(value) if (match := _PAIR.match(shell.script.text(item)))]
    if pairs and len(pairs) == len(list(named(value))):
        new = {
            shell.words.fragment(pair[1].strip("\"'"), value): Word(shell.words.fragment(pair[2], value))
            for pair in pairs
        }
        return {**old, **new} if adding and isinstance(old, dict) else new
    items = tuple(field for item in named(value) for field in shell.words.fields(item))
    if not adding or old is None:
        return items
    return (*old, *items) if isinstance(old, tuple) else (old, *items) if isinstance(old, Word) else items


def _element_assigned(shell: Shell, target: Any, value: Any, adding: bool) -> tuple[str, Value]:
    name = shell.script.text(target.child_by_field_name("name"))
    index = shell.words.text(target.child_by_field_name("index"))
    word = shell.words.text(value) if value is not None else Word("")
    old = shell.state.variables.get(name)
    if isinstance(old, dict) or (is_known(index) and not re.fullmatch(r"[\w+*/$ -]*", index)):
        return name, {**(old if isinstance(old, dict) else {}), str(index): word}
    number = shell_arithmetic.evaluate(index, shell.words.numeric, lambda _name, _value: None)
    items = list(old) if isinstance(old, tuple) else [old] if isinstance(old, Word) else []
    if number is None or not 0 <= number < MAX_PASSES:
        return name, (Word(hole(name, "an index that is not known"), shell.script.place(target)),)
    items.extend([Word("")] * (number + 1 - len(items)))
    items[number] = Word(f"{items[number]}{word}", word.where) if adding else word
    return name, tuple(items)
