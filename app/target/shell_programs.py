"""Purpose: what small text programs print, for command substitutions and pipelines: echo, printf, seq, sort, ...

Invariants: pure functions of arguments and input. None means "not modelled": the output is then a hole. Outputs are
bounded. Nothing is run.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence

from app.target.shell_text import is_known, printf, unescaped

MAX_LINES = 20_000
MAX_RANGE = 256
MAX_SUM = 500

Program = Callable[[Sequence[str], str], "str | None"]


def output_of(words: Sequence[str], stdin: str) -> str | None:
    """What a modelled program prints; None where it is not modelled or its input is not known."""
    program = _PROGRAMS.get(posixpath.basename(words[0])) if words else None
    if program is None:
        return None
    transparent = words[0] in ("echo", "printf", "cat", "tee")
    if not transparent and not all(map(is_known, (*words, stdin))):
        return None
    try:
        return program(words[1:], stdin)
    except (ValueError, IndexError, OverflowError, re.error):
        return None


def _echo(arguments: Sequence[str], _stdin: str) -> str:
    flags, rest = "", list(arguments)
    while rest and re.fullmatch(r"-[neE]+", rest[0]):
        flags += rest.pop(0)
    text = " ".join(rest)
    text = unescaped(text) if "e" in flags else text
    return text if "n" in flags else text + "\n"


def _printf(arguments: Sequence[str], _stdin: str) -> str:
    rest = list(arguments)
    if rest[:1] == ["--"]:
        rest.pop(0)
    return printf(rest[0], rest[1:]) if rest else ""


def _cat(arguments: Sequence[str], stdin: str) -> str | None:
    return stdin if all(argument in ("-", "-u") for argument in arguments) else None


def _seq(arguments: Sequence[str], _stdin: str) -> str | None:
    separator, rest = "\n", list(arguments)
    while rest and rest[0].startswith("-") and not re.fullmatch(r"-?\d+", rest[0]):
        flag = rest.pop(0)
        if flag.startswith("-s"):
            separator = flag[2:] or rest.pop(0)
        else:
            return None
    numbers = [int(number) for number in rest]
    first, step, last = {1: (1, 1, numbers[-1]), 2: (numbers[0], 1, numbers[-1])}.get(
        len(numbers), (numbers[0], numbers[1] if len(numbers) == 3 else 1, numbers[-1])
    )
    if step == 0:
        return None
    values = range(first, last + (1 if step > 0 else -1), step)
    if len(values) > MAX_LINES:
        return None
    return separator.join(map(str, values)) + "\n" if values else ""


def _sort(arguments: Sequence[str], stdin: str) -> str | None:
    flags = "".join(argument.lstrip("-") for argument in arguments if argument.startswith("-"))
    if not set(flags) <= set("nurV") or any(not argument.startswith("-") for argument in arguments):
        return None
    lines = stdin.splitlines()
    if "n" in flags or "V" in flags:
        lines.sort(
            key=lambda line: (
                float((re.match(r"\s*(-?\d+(?:\.\d+)?)", line) or ["", "0"])[1]),
                line,
            )
        )
    else:
        lines.sort()
    if "u" in flags:
        lines = list(dict.fromkeys(lines))
    if "r" in flags:
        lines.reverse()
    return _text(lines)


def _text(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n" if lines else ""


def _paste(arguments: Sequence[str], stdin: str) -> str | None:
    flags, separator, rest = "", "\t", list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        flag = rest.pop(0)[1:]
        if "d" in flag:
            before, _, after = flag.partition("d")
            flags, separator = flags + before, after or rest.pop(0)
        else:
            flags += flag
    if "s" not in flags or rest not in ([], ["-"]):
        return None
    return separator.join(stdin.splitlines()) + "\n"


def _tr(arguments: Sequence[str], stdin: str) -> str | None:
    rest = list(arguments)
    delete = rest[:1] == ["-d"]
    if delete:
        rest.pop(0)
    sets = [_expanded(unescaped(argument)) for argument in rest]
    if delete and len(sets) == 1:
        return "".join(character for character in stdin if character not in sets[0])
    if len(sets) != 2 or not sets[1] or arguments[0].startswith("-"):
        return None
    last = sets[1][-1]
    table = {one: sets[1][place] if place < len(sets[1]) else last for place, one in enumerate(sets[0])}
    return "".join(table.get(character, character) for character in stdin)


def _expanded(letters: str) -> str:
    names = {
        "[:upper:]": "A-Z",
        "[:lower:]": "a-z",
        "[:space:]": " \t\n\r",
        "[:digit:]": "0-9",
    }
    for name, meaning in names.items():
        letters = letters.replace(name, meaning)
    return re.sub(r"(.)-(.)", lambda match: _between(match[1], match[2]), letters, flags=re.DOTALL)


def _between(first: str, last: str) -> str:
    if ord(last) - ord(first) > MAX_RANGE:
        raise ValueError(f"{first}-{last}")
    return "".join(map(chr, range(ord(first), ord(last) + 1)))


def _lines_of(arguments: Sequence[str]) -> int:
    joined = " ".join(arguments)
    match = re.fullmatch(r"(?:-n\s*|-)?(\d+)", joined)
    if match is None and joined:
        raise ValueError(joined)
    return int(match[1]) if match else 10


def _head(arguments: Sequence[str], stdin: str) -> str:
    return _text(stdin.splitlines()[: _lines_of(arguments)])


def _tail(arguments: Sequence[str], stdin: str) -> str:
    count = _lines_of(arguments)
    return _text(stdin.splitlines()[-count:] if count else [])


def _wc(arguments: Sequence[str], stdin: str) -> str | None:
    counts = {
        "-l": stdin.count("\n"),
        "-w": len(stdin.split()),
        "-c": len(stdin.encode()),
    }
    return f"{counts[arguments[0]]}\n" if len(arguments) == 1 and arguments[0] in counts else None


def _cut(arguments: Sequence[str], stdin: str) -> str | None:
    options = dict(re.findall(r"-([df])\s*(\S+)", " ".join(arguments)))
    if not re.fullmatch(r"\d+", options.get("f", "")):
        return None
    separator, field = options.get("d", "\t").strip("'\""), int(options["f"]) - 1
    found = []
    for line in stdin.splitlines():
        parts = line.split(separator)
        found.append(line if len(parts) == 1 else (parts[field] if field < len(parts) else ""))
    return _text(found)


def _basename(arguments: Sequence[str], _stdin: str) -> str:
    name = posixpath.basename(arguments[0].rstrip("/"))
    suffix = arguments[1] if len(arguments) > 1 else ""
    return (name.removesuffix(suffix) if suffix != name else name) + "\n"


def _dirname(arguments: Sequence[str], _stdin: str) -> str:
    return (posixpath.dirname(arguments[0].rstrip("/")) or ".") + "\n"


_AWK = re.compile(r"BEGIN\s*\{\s*(?:print|printf\s+\"%[.\d]*[fgd](?:\\n)?\"\s*,)\s*(?P<sum>[-+*/().\d\s]+?)\s*\}\Z")


def _awk(arguments: Sequence[str], _stdin: str) -> str | None:
    """`awk "BEGIN{print (2.99-1)/3}"`: arithmetic on constants only."""
    short = len(arguments) == 1 and len(arguments[0]) <= MAX_SUM
    match = _AWK.match(arguments[0].strip()) if short else None
    value = _sum(match["sum"]) if match else None
    if match is None or value is None:
        return None
    form = re.search(r"%[.\d]*[fgd]", match[0])
    return (form[0] % value if form else f"{value:.6g}") + "\n"


def _sum(text: str) -> float | None:
    """A sum of numbers with + - * / and parentheses."""
    tokens = re.findall(r"\d+(?:\.\d+)?|\.\d+|[-+*/()]", text)

    def term() -> float:
        value = factor()
        while tokens and tokens[0] in "*/":
            operator, right = tokens.pop(0), factor()
            value = value * right if operator == "*" else value / right
        return value

    def factor() -> float:
        part = tokens.pop(0)
        if part == "(":
            value = total()
            tokens.pop(0)
            return value
        return -factor() if part == "-" else float(part)

    def total() -> float:
        value = term()
        while tokens and tokens[0] in "+-":
            operator, right = tokens.pop(0), term()
            value = value + right if operator == "+" else value - right
        return value

    try:
        value = total()
    except (ZeroDivisionError, IndexError, ValueError):
        return None
    return None if tokens else value


_SUBSTITUTE = re.compile(
    r"s(?P<mark>[/|#,@])(?P<from>(?:\\.|(?!(?P=mark))[^\\])*)(?P=mark)(?P<to>.*?)(?P=mark)(?P<flags>g?)\Z"
)


def _sed(arguments: Sequence[str], stdin: str) -> str | None:
    """`sed 's/[chars]/x/g'`: one substitution of literal characters or a simple class."""
    rest = [argument for argument in arguments if argument not in ("-e",)]
    match = _SUBSTITUTE.match(rest[0]) if len(rest) == 1 else None
    if match is None or re.search(r"[*+?^$(){}|]|\\[^/.|\[\]]", match["from"]) or re.search(r"[\\&]", match["to"]):
        return None
    pattern = match["from"].replace("\\/", "/")
    count = 0 if match["flags"] else 1
    return "\n".join(re.sub(pattern, match["to"], line, count=count) for line in stdin.split("\n"))


_PROGRAMS: Mapping[str, Program] = {
    "echo": _echo,
    "printf": _printf,
    "cat": _cat,
    "tee": lambda _arguments, stdin: stdin,
    "seq": _seq,
    "sort": _sort,
    "uniq": lambda arguments, stdin: (
        _text([line for place, line in enumerate(lines) if not place or line != lines[place - 1]])
        if not arguments and (lines := stdin.splitlines()) is not None
        else None
    ),
    "paste": _paste,
    "tr": _tr,
    "head": _head,
    "tail": _tail,
    "wc": _wc,
    "cut": _cut,
    "basename": _basename,
    "dirname": _dirname,
    "awk": _awk,
    "sed": _sed,
}
