"""Purpose: server commands as published pages write them: in fenced code, in HTML `pre` elements, in flag lists.

Invariants: text is only tokenised, never run. A flag's values are the words behind it up to the next flag; a flag
that stands alone has no values (it is true). Placeholders such as `{{PORT}}` are kept as they stand.
"""

from __future__ import annotations

import html
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

SERVERS = (
    "sglang.launch_server",
    "sglang serve",
    "vllm serve",
    "vllm.entrypoints.openai.api_server",
    "dynamo.sglang",
    "dynamo.vllm",
)
_FENCE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<mark>`{3,}|~{3,})[^\n]*\n(?P<code>.*?)^[ \t]*(?P=mark)", re.MULTILINE | re.DOTALL
)
_PRE = re.compile(r"<pre\b[^>]*>(.*?)</pre>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[^>]+>")
_CONTINUED = re.compile(r"\\\s*\n\s*")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_FLAG = re.compile(r"-{1,2}[A-Za-z]")


@dataclass(frozen=True)
class Command:
    """One process of a published recipe. `args` maps a flag as written (with dashes) to its values, none for a switch.

    `kind` is "worker", "dynamo-frontend", ...; `role` "agg", "prefill", "decode" or "" where the page does not say.
    """

    kind: str
    role: str
    program: str
    args: Mapping[str, Sequence[str]]
    env: Mapping[str, str]
    workers: int | None = None
    nodes_per_worker: int | None = None


def flags_of(text: str | Iterable[str]) -> dict[str, list[str]]:
    """`--a 1 --b --c x y` as {"--a": ["1"], "--b": [], "--c": ["x", "y"]}. The last of a repeated flag wins."""
    words = _words(text) if isinstance(text, str) else list(text)
    flags: dict[str, list[str]] = {}
    current: list[str] | None = None
    for word in words:
        if _FLAG.match(word):
            name, equals, value = word.partition("=")
            current = [value] if equals else []
            flags[name] = current
        elif current is not None:
            current.append(word)
    return flags


def commands(text: str) -> Iterator[Command]:
    """Server commands in fenced code or `pre` elements of a page, in order."""
    for code in _code(text):
        for line in _CONTINUED.sub(" ", code).splitlines():
            server = next((name for name in SERVERS if name in line), None)
            if server is not None and not line.lstrip().startswith("#"):
                yield _command(line, server)


def _code(text: str) -> Iterator[str]:
    for fence in _FENCE.finditer(text):
        yield fence["code"]
    for pre in _PRE.finditer(text):
        yield html.unescape(_TAG.sub("", pre[1]))


def _command(line: str, server: str) -> Command:
    words = _words(line)
    env: dict[str, str] = {}
    for word in words:
        if word in ("env", "export"):
            continue
        if not _ASSIGNMENT.match(word):
            break
        name, _, value = word.partition("=")
        env[name] = value
    position = line.index(server) + len(server)
    args = flags_of(line[position:])
    rest = _words(line[position:])
    if server == "vllm serve" and rest and not rest[0].startswith("-"):
        args.setdefault("--model", [rest[0]])
    return Command("worker", "", server, args, env)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split()
