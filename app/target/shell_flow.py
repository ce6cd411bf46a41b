"""Purpose: branches and loops of an evaluated shell: if, case, lists, while, for.

Invariants: a known condition chooses its branch; an unknown one takes all that are possible and merges them. A loop
whose end is not known is passed once, and what it changes is not known afterwards. Passes are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from app.target.shell_patterns import matches
from app.target.shell_syntax import named
from app.target.shell_tests import equal
from app.target.shell_text import Word, hole, is_known, known_part, shown

if TYPE_CHECKING:
    from app.target.shell_run import Shell

MAX_PASSES = 5_000
MAX_OPEN_PASSES = 12


def condition(shell: Shell, nodes: Sequence[Any]) -> bool | None:
    shell.status = True
    shell.run_all(nodes)
    return shell.status


def run_if(shell: Shell, node: Any) -> None:
    arms: list[tuple[list[Any] | None, list[Any]]] = []
    tests: list[Any] = []
    body: list[Any] = []
    in_test = True
    for child in node.children:
        if child.type == "then":
            in_test = False
        elif child.type == "elif_clause":
            arms.append((tests, body))
            tests, body, in_test = *_elif_parts(child), False
        elif child.type == "else_clause":
            arms.append((tests, body))
            tests, body = [], [*child.named_children]
            arms.append((None, body))
            _run_arms(shell, arms, node)
            return
        elif child.is_named:
            (tests if in_test else body).append(child)
    arms.append((tests, body))
    _run_arms(shell, arms, node)


def _run_arms(shell: Shell, arms: Sequence[tuple[list[Any] | None, list[Any]]], node: Any) -> None:
    if not arms:
        shell.status = True
        return
    tests, body = arms[0]
    decided = True if tests is None else condition(shell, tests)
    if decided is True:
        shell.run_all(body)
    elif decided is False:
        _run_arms(shell, arms[1:], node)
    else:
        why = _why(shell, node, shell.script.text(tests[0]) if tests else "")
        shell.record.open(shell.script.place(node), why)
        shell.either(
            [lambda: shell.run_all(body), lambda: _run_arms(shell, arms[1:], node)],
            node,
            why,
        )


def run_case(shell: Shell, node: Any) -> None:
    subject = shell.words.text(node.child_by_field_name("value"))
    items = [child for child in node.named_children if child.type == "case_item"]
    _run_items(shell, subject, items, node)


def _run_items(shell: Shell, subject: Word, items: Sequence[Any], node: Any) -> None:
    if not items:
        return
    patterns = items[0].children_by_field_name("value")
    body = [child for child in items[0].named_children if child not in patterns]
    decided: bool | None = False
    for pattern in patterns:
        matched = _case_matches(shell, subject, pattern)
        decided = matched if matched is True else (None if matched is None or decided is None else False)
        if decided is True:
            break
    if decided is True:
        shell.run_all(body)
    elif decided is False:
        _run_items(shell, subject, items[1:], node)
    else:
        why = _why(shell, node, f"case {shown(subject)}")
        shell.record.open(shell.script.place(node), why)
        shell.either(
            [
                lambda: shell.run_all(body),
                lambda: _run_items(shell, subject, items[1:], node),
            ],
            node,
            why,
        )


def _case_matches(shell: Shell, subject: Word, pattern: Any) -> bool | None:
    regex = shell.words.pattern(pattern)
    decided = matches(regex, subject)
    literal = re.sub(r"\\(.)", r"\1", regex)
    return equal(subject, literal) if decided is None and re.escape(literal) == regex else decided


def run_list(shell: Shell, node: Any) -> None:
    left, operator, right = node.children[0], node.children[1].type, node.children[-1]
    shell.run(left)
    chained(shell, operator, right, node)


def chained(shell: Shell, operator: str, right: Any, node: Any) -> None:
    """`&& right` or `|| right` after the last status."""
    if shell.status is None:
        why = _why(shell, node, shell.script.text(node))
        shell.either([lambda: shell.run(right), lambda: None], node, why)
    elif shell.status is (operator == "&&"):
        shell.run(right)


def run_negated(shell: Shell, node: Any) -> None:
    shell.run(next(iter(named(node))))
    shell.status = None if shell.status is None else not shell.status


def run_while(shell: Shell, node: Any) -> None:
    wanted = node.children[0].type == "while"
    tests = [child for child in node.children_by_field_name("condition") if child.is_named]
    body = node.child_by_field_name("body")

    def step() -> bool | None:
        decided = condition(shell, tests)
        return decided if decided is None or wanted else not decided

    _loop(shell, step, lambda: shell.run_all(body.named_children), node)


def run_c_for(shell: Shell, node: Any) -> None:
    text = shell.script.text(node)
    header = text[text.index("((") + 2 : text.index("))")].split(";")
    body = node.child_by_field_name("body")
    first, test, step = (*header, "", "", "")[:3]
    shell.words.number_of(first, node)

    def once() -> None:
        shell.run_all(body.named_children)

    def check() -> bool | None:
        number = shell.words.number_of(test, node) if test.strip() else 1
        return None if number is None else number != 0

    _loop(shell, check, once, node, after=lambda: shell.words.number_of(step, node))


def _loop(
    shell: Shell,
    check: Callable[[], bool | None],
    once: Callable[[], None],
    node: Any,
    after: Callable[[], object] | None = None,
) -> None:
    def passes() -> None:
        unsure = 0
        for _ in range(MAX_PASSES):
            shell.record.step()
            decided = check()
            if decided is False:
                break
            if decided is None or unsure >= MAX_OPEN_PASSES:
                _open_ended(shell, once, node)
                break
            unsure += _pass(shell, once, node)
            if after is not None:
                after()

    shell.framed("loop", passes, "break", node)
    shell.status = True


def _open_ended(shell: Shell, once: Callable[[], None], node: Any) -> None:
    """A loop that may go on any number of times: one more pass, and what it changes is not known afterwards."""
    why = _why(shell, node, "a loop whose end is not known")
    shell.record.open(shell.script.place(node), why)
    before = dict(shell.state.variables)
    _maybe(shell, lambda: _pass(shell, once, node), node, why)
    where = shell.script.place(node)
    for name, value in shell.state.variables.items():
        if before.get(name) != value:
            shell.state.variables[name] = Word(hole(name, why), where)


def _maybe(shell: Shell, run: Callable[[], object], node: Any, why: str) -> None:
    """Something that may happen or not."""

    def happens() -> None:
        run()

    shell.either([happens, lambda: None], node, why)


def _why(shell: Shell, node: Any, text: str) -> str:
    short = " ".join(shown(text).split())[:60]
    return f"line {shell.script.place(node).line}: {short}"


def _pass(shell: Shell, once: Callable[[], None], node: Any) -> bool:
    """One pass of a loop; True where something in it could not be decided."""
    branches = shell.record.branches
    shell.framed("pass", once, "continue", node)
    return shell.record.branches > branches


def run_for(shell: Shell, node: Any) -> None:
    name = shell.script.text(node.child_by_field_name("variable"))
    values = node.children_by_field_name("value")
    words = [field for value in values for field in _for_fields(shell, value)]
    if not values and " in " not in shell.script.text(node).split("\n", 1)[0]:
        words = list(shell.state.arguments)
    body = node.child_by_field_name("body")

    def once() -> None:
        shell.run_all(body.named_children)

    def passes() -> None:
        unsure = 0
        for word in words[:MAX_PASSES]:
            shell.record.step()
            if unsure >= MAX_OPEN_PASSES:
                shell.state.variables[name] = Word(hole(name, _why(shell, node, "a long loop")), word.where)
                _open_ended(shell, once, node)
                break
            shell.state.variables[name] = word
            if is_known(word) or known_part(word):
                unsure += _pass(shell, once, node)
            else:
                _open_ended(shell, once, node)

    shell.framed("loop", passes, "break", node)
    shell.status = True


def _for_fields(shell: Shell, node: Any) -> list[Word]:
    match = re.fullmatch(r"\{(\d{1,18})\.\.(\d{1,18})\}", shell.script.text(node))
    if match is None:
        return shell.words.fields(node)
    first, last = int(match[1]), int(match[2])
    numbers = range(first, last + 1) if first <= last else range(first, last - 1, -1)
    return [Word(str(number), shell.script.place(node)) for number in numbers[:MAX_PASSES]]


def _elif_parts(node: Any) -> tuple[list[Any], list[Any]]:
    tests: list[Any] = []
    body: list[Any] = []
    in_test = True
    for child in node.children:
        if child.type == "then":
            in_test = False
        elif child.is_named:
            (tests if in_test else body).append(child)
    return tests, body
