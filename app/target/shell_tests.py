"""Purpose: `[ ]`, `[[ ]]` and `test`: true, false, or not decidable.

Invariants: a comparison with a hole is decided only where its known ends already contradict the other side. Tests of
files are decided for repository paths; files of the machine are not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from app.target.shell_patterns import matches, searched
from app.target.shell_text import is_known, known_part, whole
from app.target.shell_words import Words

_NUMERIC: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda left, right: left == right,
    "-ne": lambda left, right: left != right,
    "-gt": lambda left, right: left > right,
    "-ge": lambda left, right: left >= right,
    "-lt": lambda left, right: left < right,
    "-le": lambda left, right: left <= right,
}
_FILES = ("-f", "-e", "-d", "-s", "-r", "-x", "-L", "-w")


class Files(Protocol):
    """What is known of files."""

    def file_exists(self, path: str, kind: str) -> bool | None:
        """Whether a path exists (`kind` is the test's operator); None where that is the machine's matter."""
        ...

    def is_set(self, name: str) -> bool | None:
        """Whether a variable is set."""
        ...


class Tests:
    """Evaluates test expressions with the words of one shell."""

    def __init__(self, words: Words, files: Files) -> None:
        self._words, self._files = words, files

    def command(self, node: Any, text: str) -> bool | None:
        """A `[ ]` or `[[ ]]` node. Single brackets with -a or -o are not decided: their parse is ambiguous."""
        inner = [child for child in node.named_children if child.type != "comment"]
        if len(inner) != 1 or (not text.startswith("[[") and re.search(r"\s-[ao]\s", text)):
            return None
        return self._expression(inner[0], double=text.startswith("[["))

    def _expression(self, node: Any, double: bool) -> bool | None:
        if node.type == "parenthesized_expression":
            return self._expression(node.named_children[0], double)
        if node.type == "unary_expression":
            return self._unary(node, double)
        if node.type == "binary_expression":
            return self._binary(node, double)
        return _not_empty(self._words.text(node))

    def _unary(self, node: Any, double: bool) -> bool | None:
        operator = node.children[0].text.decode()
        operand = node.children[-1]
        if operator == "!":
            inner = self._expression(operand, double)
            return None if inner is None else not inner
        return self._one(operator, self._words.text(operand))

    def _one(self, operator: str, text: str) -> bool | None:
        if operator in ("-n", "-z"):
            filled = _not_empty(text)
            return filled if filled is None or operator == "-n" else not filled
        if operator == "-v":
            return self._files.is_set(text) if is_known(text) else None
        if operator in _FILES:
            return self._files.file_exists(text, operator)
        return None

    def _binary(self, node: Any, double: bool) -> bool | None:
        left, right = (
            node.child_by_field_name("left"),
            node.child_by_field_name("right"),
        )
        operator = node.child_by_field_name("operator")
        if left is None or right is None or operator is None:
            return None
        name = operator.text.decode()
        if name in ("&&", "||"):
            return self._joined(name, left, right, double)
        if name in _NUMERIC:
            return self._compared(name, left, right)
        text = self._words.text(left)
        if name == "=~":
            return self._matched(text, right)
        if name in ("=", "==", "!="):
            same = self._same(text, right, double)
            return same if same is None or name != "!=" else not same
        other = self._words.text(right)
        if name in ("<", ">") and is_known(text) and is_known(other):
            return text < other if name == "<" else text > other
        return None

    def _joined(self, name: str, left: Any, right: Any, double: bool) -> bool | None:
        first = self._expression(left, double)
        if first is not None and first is (name == "||"):
            return first
        second = self._expression(right, double)
        if first is None:
            return second if second is not None and second is (name == "||") else None
        return second

    def _compared(self, name: str, left: Any, right: Any) -> bool | None:
        numbers = [self._words.number_of(self._words.text(side), side) for side in (left, right)]
        if numbers[0] is None or numbers[1] is None:
            return None
        return _NUMERIC[name](numbers[0], numbers[1])

    def _same(self, text: str, right: Any, double: bool) -> bool | None:
        literal = self._words.text(right)
        if text == literal and is_known(text):
            return True
        if not double:
            return equal(text, literal)
        pattern = self._words.pattern(right)
        decided = matches(pattern, text)
        if decided is None and pattern == re.escape(literal):
            return equal(text, literal)
        return decided

    def _matched(self, text: str, right: Any) -> bool | None:
        raw = right.text.decode() if right.type == "regex" else self._words.text(right)
        return searched(raw, text)

    def words(self, words: Sequence[str]) -> bool | None:
        """The `test` command with its expanded words: one or two operands, or a comparison."""
        if words[:1] == ["!"]:
            inner = self.words(words[1:])
            return None if inner is None else not inner
        if len(words) == 1:
            return _not_empty(words[0])
        if len(words) == 2:
            return self._one(words[0], words[1])
        if len(words) == 3 and words[1] in ("=", "==", "!="):
            same = equal(words[0], words[2])
            return same if same is None or words[1] != "!=" else not same
        if len(words) == 3 and words[1] in _NUMERIC:
            left, right = whole(words[0]), whole(words[2])
            return None if left is None or right is None else _NUMERIC[words[1]](left, right)
        return None


def _not_empty(text: str) -> bool | None:
    if is_known(text):
        return text != ""
    return True if known_part(text) else None


def equal(left: str, right: str) -> bool | None:
    """Equality of two texts; with a hole only False, where the known ends already differ."""
    if is_known(left) and is_known(right):
        return left == right
    if left == right:
        return True
    if is_known(left):
        left, right = right, left
    if not is_known(right):
        return None
    start, end = (
        re.split("[\ue000]", left, maxsplit=1)[0],
        re.split("[\ue002]", left)[-1],
    )
    return None if right.startswith(start) and right.endswith(end) else False
