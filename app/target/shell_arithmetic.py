"""Purpose: shell arithmetic: `$(( ))`, `(( ))`, `for (( ))`, array indices. Runs nothing, never raises.

Invariants: the answer is a whole number, or None where a variable or a part is not known. An unset variable is 0, a
variable that holds an expression is evaluated. Work is bounded by the length of the text and a recursion depth.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from app.target.shell_text import is_known

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|\d+(?:#[0-9a-zA-Z]+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<operator>\*\*|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%<>=!~&|^?:(),\[\]]))"
)
_BINARY: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<=", ">=", "<", ">"),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_ASSIGNING = ("=", "+=", "-=", "*=", "/=", "%=")
MAX_DEPTH = 20
MAX_NUMBER = 1 << 64

Getter = Callable[[str, "int | None"], "str | None"]
Setter = Callable[[str, str], None]


class _Undecided(Exception):  # noqa: N818
    """A part of the expression is not known."""


def evaluate(text: str, get: Getter, put: Setter, depth: int = 0) -> int | None:
    """The value of an expression. `get(name, index)` gives a variable's text, None where it is unset; `put` assigns."""
    if not text.strip():
        return 0
    if not is_known(text) or depth > MAX_DEPTH:
        return None
    try:
        return _Parser(text, get, put, depth).whole()
    except _Undecided:
        return None


class _Parser:
    """Recursive descent over one expression."""

    def __init__(self, text: str, get: Getter, put: Setter, depth: int) -> None:
        self._get, self._put, self._depth = get, put, depth
        self._tokens: list[tuple[str, str]] = []
        self._place = 0
        place = 0
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                if text[place:].strip():
                    raise _Undecided
                break
            kind = str(match.lastgroup)
            self._tokens.append((kind, match[kind]))
            place = match.end()

    def whole(self) -> int:
        value = self._assignment()
        while self._take(","):
            value = self._assignment()
        if self._place < len(self._tokens):
            raise _Undecided
        return value

    def _peek(self) -> str:
        return self._tokens[self._place][1] if self._place < len(self._tokens) else ""

    def _take(self, *operators: str) -> str:
        if self._place < len(self._tokens):
            kind, text = self._tokens[self._place]
            if kind == "operator" and text in operators:
                self._place += 1
                return text
        return ""

    def _assignment(self) -> int:
        start = self._place
        if start + 1 < len(self._tokens) and self._tokens[start][0] == "name":
            name, operator = self._tokens[start][1], self._tokens[start + 1][1]
            if operator in _ASSIGNING:
                self._place += 2
                value = self._assignment()
                if operator != "=":
                    value = _apply(operator[:-1], self._variable(name), value)
                self._put(name, str(value))
                return value
        return self._conditional()

    def _conditional(self) -> int:
        condition = self._binary(0)
        if not self._take("?"):
            return condition
        first = self._assignment()
        if not self._take(":"):
            raise _Undecided
        second = self._assignment()
        return first if condition else second

    def _binary(self, level: int) -> int:
        if level == len(_BINARY):
            return self._power()
        left = self._binary(level + 1)
        while operator := self._take(*_BINARY[level]):
            right = self._binary(level + 1)
            left = _apply(operator, left, right)
        return left

    def _power(self) -> int:
        base = self._unary()
        if not self._take("**"):
            return base
        exponent = self._power()
        if not 0 <= exponent <= 64:
            raise _Undecided
        return _bounded(base**exponent)

    def _unary(self) -> int:
        if operator := self._take("++", "--"):
            name = self._name()
            value = self._variable(name) + (1 if operator == "++" else -1)
            self._put(name, str(value))
            return value
        if operator := self._take("!", "~", "-", "+"):
            value = self._unary()
            return {"!": int(not value), "~": ~value, "-": -value, "+": value}[operator]
        return self._postfix()

    def _postfix(self) -> int:
        if self._take("("):
            value = self._assignment()
            while self._take(","):
                value = self._assignment()
            if not self._take(")"):
                raise _Undecided
            return value
        if self._place >= len(self._tokens):
            raise _Undecided
        kind, text = self._tokens[self._place]
        self._place += 1
        if kind == "number":
            return _number(text)
        if kind != "name":
            raise _Undecided
        if self._take("["):
            index = self._assignment()
            if not self._take("]"):
                raise _Undecided
            return self._variable(text, index)
        value = self._variable(text)
        if operator := self._take("++", "--"):
            self._put(text, str(value + (1 if operator == "++" else -1)))
        return value

    def _name(self) -> str:
        if self._place < len(self._tokens) and self._tokens[self._place][0] == "name":
            self._place += 1
            return self._tokens[self._place - 1][1]
        raise _Undecided

    def _variable(self, name: str, index: int | None = None) -> int:
        text = self._get(name, index)
        if text is None:
            return 0
        value = evaluate(text, self._get, self._put, self._depth + 1)
        if value is None:
            raise _Undecided
        return value


def _number(text: str) -> int:
    try:
        if "#" in text:
            base, digits = text.split("#", 1)
            return int(digits, int(base))
        return int(text, 8) if text.startswith("0") and text.isdigit() and len(text) > 1 else int(text, 0)
    except ValueError:
        raise _Undecided from None


def _bounded(value: int) -> int:
    if abs(value) > MAX_NUMBER:
        raise _Undecided
    return value


def _apply(operator: str, left: int, right: int) -> int:
    if operator in ("/", "%"):
        if right == 0:
            raise _Undecided
        quotient = abs(left) // abs(right) * (1 if (left < 0) is (right < 0) else -1)
        return quotient if operator == "/" else left - quotient * right
    if operator in ("<<", ">>"):
        if not 0 <= right <= 64:
            raise _Undecided
        return _bounded(left << right if operator == "<<" else left >> right)
    simple: dict[str, Callable[[], int]] = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "&": lambda: left & right,
        "|": lambda: left | right,
        "^": lambda: left ^ right,
        "&&": lambda: int(bool(left) and bool(right)),
        "||": lambda: int(bool(left) or bool(right)),
        "==": lambda: int(left == right),
        "!=": lambda: int(left != right),
        "<": lambda: int(left < right),
        ">": lambda: int(left > right),
        "<=": lambda: int(left <= right),
        ">=": lambda: int(left >= right),
    }
    return _bounded(simple[operator]())
