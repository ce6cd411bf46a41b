"""Purpose: shell words: quoting, expansions, word splitting, arrays; from syntax nodes to texts with their line.

Invariants: a word that is one variable or one array element keeps the line where that was assigned. What cannot be
known becomes a hole in the text, never an empty string. Path names are not globbed: `*.yaml` stays as written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from app.target import shell_arithmetic
from app.target.shell_expansions import OPERATOR, Operation, Part, operated
from app.target.shell_patterns import glob_regex
from app.target.shell_record import BoundReached
from app.target.shell_state import State, Value, first_word, is_machine
from app.target.shell_syntax import Script, named
from app.target.shell_text import (
    Word,
    hole,
    is_known,
    joined,
    known_part,
    shown,
    split_fields,
    unescaped,
    whole,
)

MAX_FIELDS = 20_000
_EXPANSION = re.compile(
    r"\$\{(?P<indirect>!)?(?P<length>#(?=[\w@*]))?(?P<name>[A-Za-z_]\w*|\d+|[@*#?$!-])(?P<rest>.*)\}\Z",
    re.DOTALL,
)
_PLAIN = re.compile(r"[^$`\"'\\]*\Z")


class Host(Protocol):
    """What words need of the shell that evaluates them."""

    state: State
    script: Script

    def substitution(self, node: Any) -> str:
        """The output of a command substitution, without its trailing newlines."""
        ...

    def read(self, name: str) -> Value | None:
        """A variable, counted as read; None where it is unset."""
        ...

    def special(self, name: str) -> str:
        """`$?`, `$$`, `$!`, `$-`, `$0`."""
        ...

    def charge(self, amount: int) -> None:
        """Counts the letters that are worked on. Raises BoundReached where they are more than is evaluated."""
        ...


class Words:
    """Expands the words of one shell."""

    def __init__(self, host: Host) -> None:
        self._host = host

    # -- words ---------------------------------------------------------------------------------------------------

    def fields(self, *nodes: Any) -> list[Word]:
        """All fields of a word after expansion and splitting; `nodes` stand without a blank between them."""
        where = self._host.script.place(nodes[0])
        done: list[Word] = []
        current: list[str] | None = None
        for part in (part for node in nodes for part in self._parts(node)):
            if part.many is not None and part.quoted:
                for place, element in enumerate(part.many):
                    if place and current is not None:
                        done.append(_assembled(current, where))
                        current = None
                    current = [*(current or []), element]
            elif part.quoted:
                current = [*(current or []), part.text]
            else:
                text = part.text if part.many is None else joined(part.many)
                current = self._split(text, current, done, where)
        found = [*done, _assembled(current, where)] if current is not None else done
        self._charge(found)
        return found

    def _charge(self, words: list[Word]) -> None:
        if len(words) > MAX_FIELDS:
            raise BoundReached
        self._host.charge(sum(map(len, words)))

    @staticmethod
    def _split(text: str, current: list[str] | None, done: list[Word], where: Any) -> list[str] | None:
        """Adds an unquoted expansion: its first field joins the open one, the last stays open."""
        pieces = split_fields(text)
        if text[:1].isspace() and current is not None:
            done.append(_assembled(current, where))
            current = None
        for place, piece in enumerate(pieces):
            if place and current is not None:
                done.append(_assembled(current, where))
                current = None
            kept = text if isinstance(text, Word) and piece == text else piece
            current = [*(current or []), kept]
        if text[-1:].isspace() and current is not None and pieces:
            done.append(_assembled(current, where))
            return None
        return current

    def text(self, node: Any) -> Word:
        """A word without splitting: the right side of an assignment, a case subject, an operand of [[ ]]."""
        parts = [part.text if part.many is None else joined(part.many) for part in self._parts(node)]
        found = _assembled(parts, self._host.script.place(node))
        self._charge([found])
        return found

    def pattern(self, node: Any) -> str:
        """A word as a regular expression: unquoted parts are shell patterns, quoted parts are literal."""
        result = ""
        for part in self._parts(node, pattern=True):
            text = part.text if part.many is None else joined(part.many)
            if not is_known(text):
                return hole(shown(text), "a pattern that is not known")
            result += re.escape(text) if part.quoted else glob_regex(text)
        return result

    # -- parts ---------------------------------------------------------------------------------------------------

    def _parts(self, node: Any, pattern: bool = False) -> Iterator[Part]:
        kind = node.type
        script = self._host.script
        if kind in ("concatenation", "command_name"):
            for child in node.children:
                yield from self._parts(child, pattern)
        elif kind == "string":
            yield from self._quoted(node)
        elif kind == "raw_string":
            yield Part(script.text(node)[1:-1])
        elif kind == "ansi_c_string":
            yield Part(unescaped(script.text(node)[2:-1]))
        elif kind == "translated_string":
            yield from self._parts(node.children[-1])
        elif kind in (
            "simple_expansion",
            "expansion",
            "command_substitution",
            "arithmetic_expansion",
        ):
            yield self._expanded(node, in_quotes=False)
        elif kind == "process_substitution":
            yield Part(hole("a process substitution", "its output is a file"))
        else:
            text = script.text(node)
            yield Part(text if pattern else _unescaped_word(text), quoted=not pattern)

    def _quoted(self, node: Any) -> Iterator[Part]:
        """The parts of a double-quoted string; what stands between its children is literal."""
        script = self._host.script
        place, end = node.start_byte + 1, node.end_byte - 1
        empty = True
        for child in node.named_children:
            if child.type == "string_content":
                continue
            if child.start_byte > place:
                yield Part(_unescaped_string(script.between(place, child.start_byte)))
                empty = False
            part = self._expanded(child, in_quotes=True)
            empty = empty and part.many is None
            yield part
            place = child.end_byte
        if place < end:
            yield Part(_unescaped_string(script.between(place, end)))
        elif empty and not node.named_children:
            yield Part("")

    def heredoc(self, body: Any) -> str:
        """The text of a here-document with its expansions."""
        script = self._host.script
        result, place = "", body.start_byte
        for child in body.named_children:
            if child.type == "heredoc_content":
                continue
            result += _unescaped_string(script.between(place, child.start_byte), heredoc=True)
            part = self._expanded(child, in_quotes=True)
            result += part.text if part.many is None else joined(part.many)
            place = child.end_byte
        return result + _unescaped_string(script.between(place, body.end_byte), heredoc=True)

    def _expanded(self, node: Any, in_quotes: bool) -> Part:
        """An expansion. The parser counts blanks and line ends in front of one to it: they stay literal in quotes."""
        text = self._host.script.text(node)
        start = max(min((at for mark in "$`" if (at := text.find(mark)) >= 0), default=0), 0)
        part = self._expansion(node, text[start:], in_quotes)
        front = _unescaped_string(text[:start]) if in_quotes else ""
        if not front:
            return part
        if part.many is not None:
            return part._replace(text="", many=(Word(front + joined(part.many)),))
        return part._replace(text=front + part.text)

    def _expansion(self, node: Any, text: str, in_quotes: bool) -> Part:
        if node.type == "simple_expansion":
            return self._simple(text[1:], in_quotes)
        if node.type == "command_substitution":
            return Part(self._host.substitution(node), in_quotes)
        if node.type == "arithmetic_expansion":
            value = self.arithmetic(node)
            why = "arithmetic on what is not known"
            return Part(hole(shown(text), why) if value is None else str(value), in_quotes)
        if node.type == "expansion":
            return self._braced(text, node, in_quotes)
        return Part(self.text(node), in_quotes)

    # -- variables -----------------------------------------------------------------------------------------------

    def _simple(self, name: str, in_quotes: bool) -> Part:
        """`$name`; of `$1x` only the first digit is the name, which the parser does not tell apart."""
        if len(name) < 2 or name[0] not in "0123456789":
            return self._variable(name, None, in_quotes)
        return Part(self._variable(name[0], None, in_quotes).text + name[1:], in_quotes)

    def _variable(self, name: str, index: str | None, in_quotes: bool) -> Part:
        if name in ("@", "*"):
            return self._elements(self._host.state.arguments, name, in_quotes)
        if index in ("@", "*"):
            value = self._host.read(name)
            if isinstance(value, Mapping):
                return self._elements(tuple(value.values()), index, in_quotes)
            elements = value if isinstance(value, tuple) else (value,) if isinstance(value, Word) else ()
            return self._elements(elements, index, in_quotes)
        word = self.value(name, index)
        return Part("" if word is None else word, in_quotes)

    @staticmethod
    def _elements(elements: tuple[Word, ...], how: str, in_quotes: bool) -> Part:
        if in_quotes and how == "*":
            return Part(joined(elements))
        return Part("", in_quotes, elements)

    def value(self, name: str, index: str | None = None) -> Word | None:
        """`$name` or `${name[index]}`; None where it is unset. A machine's variable is a hole."""
        place = whole(name)
        if place:
            arguments = self._host.state.arguments
            return arguments[place - 1] if place <= len(arguments) else None
        if name in ("#", "?", "$", "!", "-", "0"):
            return Word(self._host.special(name))
        value = self._host.read(name)
        if value is None:
            why = "set by the machine" if is_machine(name) else self._host.state.tainted
            return Word(hole(name, why)) if why else None
        if index is None or isinstance(value, Word):
            return first_word(value) if index in (None, "0") else None
        return self._element(name, value, index)

    def _element(self, name: str, value: Value, index: str) -> Word | None:
        if isinstance(value, Mapping):
            return value.get(index) if is_known(index) else Word(hole(f"{name}[{shown(index)}]", "an index"))
        number = self.number(index)
        if number is None or isinstance(value, Word):
            return Word(hole(f"{name}[{shown(index)}]", "an index that is not known"))
        return value[number] if -len(value) <= number < len(value) else None

    def _braced(self, text: str, node: Any, in_quotes: bool) -> Part:
        match = _EXPANSION.match(text)
        if match is None:
            return Part(hole(text, "an expansion that is not understood"), in_quotes)
        name, rest = match["name"], match["rest"]
        index: str | None = None
        if rest.startswith("["):
            end = _bracket_end(rest)
            index, rest = self.fragment(rest[1:end], node), rest[end + 1 :]
        if match["length"]:
            return Part(self._length(name, index), in_quotes)
        if match["indirect"]:
            return self._indirect(name, index, in_quotes)
        base = self._variable(name, index, in_quotes)
        operator = OPERATOR.match(rest)
        if operator is None:
            return base
        found = index in ("@", "*") or name in ("@", "*") or self.value(name, index) is not None
        return operated(self, self._host, base, found, Operation(operator[0], rest[operator.end() :], name, node))

    def _length(self, name: str, index: str | None) -> str:
        part = self._variable(name, index, True)
        if part.many is not None or name in ("@", "*"):
            many = part.many or ()
            unknown = any(not known_part(element) and not is_known(element) for element in many)
            return hole(f"#{name}", "an array that is not known") if unknown else str(len(many))
        return str(len(part.text)) if is_known(part.text) else hole(f"#{name}", "a text that is not known")

    def _indirect(self, name: str, index: str | None, in_quotes: bool) -> Part:
        value = self._host.read(name)
        if index in ("@", "*"):
            keys = list(value) if isinstance(value, Mapping) else [str(n) for n in range(len(value or ()))]
            return Part("", in_quotes, tuple(Word(key) for key in keys))
        target = self.value(name)
        if target is None or not is_known(target):
            return Part(hole(f"!{name}", "an indirect name"), in_quotes)
        return self._variable(str(target), None, in_quotes)

    # -- fragments and numbers -----------------------------------------------------------------------------------

    def fragment(self, text: str, node: Any) -> str:
        """The expansion of a piece of shell text inside another word (a default, an index)."""
        if _PLAIN.match(text):
            return text
        if '"' in text or "'" in text:
            return joined(self._inside(text, node, ": ", ""))
        return joined(self._inside(text, node, ': "', '"'))

    def fragment_pattern(self, text: str, node: Any) -> str:
        """The pattern in a piece of shell text, as a regular expression."""
        if len(text) > 1 and text[0] == text[-1] == '"':
            inner = self.fragment(text[1:-1], node)
            return re.escape(inner) if is_known(inner) else inner
        if len(text) > 1 and text[0] == text[-1] == "'":
            return re.escape(text[1:-1])
        inner = joined(self._inside(text, node, ': "', '"')) if "$" in text else text
        return glob_regex(inner) if is_known(inner) else inner

    def _inside(self, text: str, node: Any, before: str, after: str) -> list[Word]:
        outer = self._host.script
        piece = outer.fragment(f"{before}{text}{after}", node)
        self._host.script = piece
        try:
            command = next(
                (child for child in piece.root.named_children if child.type == "command"),
                None,
            )
            if command is None:
                return [Word(hole(text, "an expansion that is not understood"))]
            return [field for argument in list(named(command))[1:] for field in self.fields(argument)]
        finally:
            self._host.script = outer

    def arithmetic(self, node: Any) -> int | None:
        """The value of `$(( ))` or `(( ))`; None where it is not known."""
        script = self._host.script
        inner = re.sub(r"\A\$?\(\(|\)\)\Z", "", script.text(node).strip())
        return self.number_of(inner, node)

    def number_of(self, text: str, node: Any) -> int | None:
        """The value of arithmetic text."""
        return self.number(self.fragment(text, node) if "$" in text or "`" in text else text)

    def number(self, text: str) -> int | None:
        """The value of arithmetic text without expansions."""
        return shell_arithmetic.evaluate(text, self.numeric, self._assign)

    def numeric(self, name: str, index: int | None) -> str | None:
        """A variable as arithmetic reads it."""
        return self.value(name, None if index is None else str(index))

    def _assign(self, name: str, value: str) -> None:
        self._host.state.variables[name] = Word(value)


def _assembled(parts: list[str] | None, where: Any) -> Word:
    """One word; a single part that knows its own place keeps it."""
    texts = [part for part in parts or [] if part]
    if len(texts) == 1 and isinstance(texts[0], Word) and texts[0].where is not None:
        return texts[0]
    return Word("".join(texts), where)


def _unescaped_word(text: str) -> str:
    return re.sub(
        r"\\(\n|.)",
        lambda match: "" if match[1] == "\n" else match[1],
        text,
        flags=re.DOTALL,
    )


def _unescaped_string(text: str, heredoc: bool = False) -> str:
    escaped = "$`\\" if heredoc else '$`"\\'
    return re.sub(
        r"\\(\n|.)",
        lambda match: "" if match[1] == "\n" else match[1] if match[1] in escaped else match[0],
        text,
        flags=re.DOTALL,
    )


def _bracket_end(text: str) -> int:
    depth = 0
    for place, character in enumerate(text):
        depth += {"[": 1, "]": -1}.get(character, 0)
        if depth == 0:
            return place
    return len(text)
