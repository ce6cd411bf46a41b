"""Purpose: the serving commands of an evaluated launch script as engine, canonical arguments and environment.

The same shape as a recipe's role, so that speculation, pins and overrides are read by the same code. TRT-LLM's
configuration file is part of the arguments where the script writes it.

Invariants: `args` and `env` hold decided settings; what is not known stands in `undecided` with the reason. A table
(JSON text, TRT-LLM configuration) keeps its decided keys; its other leaves are shown as ${NAME} and named in
`undecided` by a dotted path. A server behind a condition that is not known is not `certain`.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.target.flags import canonical
from app.target.recipe import Setting
from app.target.shell_record import Command, Evaluated
from app.target.shell_text import Word, is_known, known_part, reasons, shown
from app.target.source import FileLine, RejectedInput
from app.target.yaml_scalars import BadScalar, plain_value

_MODULES = {
    "sglang.launch_server": "sglang",
    "vllm.entrypoints.openai.api_server": "vllm",
    "atom.entrypoints.openai_server": "atom",
    "atom.entrypoints.api_server": "atom",
    "tilert.server": "tilert",
}
_PROGRAMS = {"trtllm-serve": "trtllm", "tilert-serve": "tilert", "tilert": "tilert"}
_SUBCOMMANDS = {"vllm": "vllm", "sglang": "sglang"}
_CONFIG_FILES = ("config", "extra_llm_api_options", "extra_llm_api_options_file")
_VARIABLE = re.compile(r"[A-Za-z_]\w*=")


@dataclass(frozen=True)
class Server:
    """One serving command. `undecided` maps a flag or variable ("" for a whole word) to why it is not known."""

    engine: str
    command: Command
    args: Mapping[str, Setting]
    env: Mapping[str, Setting]
    undecided: Mapping[str, tuple[str, ...]]

    @property
    def certain(self) -> bool:
        return self.command.certain

    @property
    def where(self) -> FileLine:
        return self.command.where


def servers(evaluated: Evaluated) -> tuple[Server, ...]:
    """Every command of a script that serves a model, in order."""
    found = []
    for command in evaluated.commands:
        start = serving(command.words)
        if start is not None:
            found.append(_server(evaluated, command, *start))
    return tuple(found)


def serving(words: Sequence[Word]) -> tuple[str, int] | None:
    """The engine that a command starts, and the place of its first argument; None where it serves nothing."""
    for place, word in enumerate(words):
        program = posixpath.basename(known_part(word)) if place == 0 or words[place - 1] != "-m" else ""
        if program in _PROGRAMS:
            return _PROGRAMS[program], place + 1
        if program in _SUBCOMMANDS and place + 1 < len(words) and words[place + 1] == "serve":
            return _SUBCOMMANDS[program], place + 2
        if word in _MODULES and place and words[place - 1] == "-m":
            return _MODULES[word], place + 1
    return None


def _server(evaluated: Evaluated, command: Command, engine: str, start: int) -> Server:
    undecided: dict[str, tuple[str, ...]] = {}
    args: dict[str, Setting] = {}
    for flag, values, where in _flags(command, command.words[start:], undecided):
        name = canonical(engine, flag)
        why = tuple(dict.fromkeys(reason for value in values for reason in reasons(value)))
        if why and not (len(values) == 1 and _json_with_holes(name, values[0], undecided)):
            undecided[name] = why
            args.pop(name, None)
            continue
        if engine == "trtllm" and name in _CONFIG_FILES and values:
            args = {**_configured(evaluated, values[0], undecided), **args}
        args[name] = Setting(_value(values), where)
        if not why:
            undecided.pop(name, None)
    env = dict(_environment(command, start, undecided))
    return Server(engine, command, args, env, undecided)


def _flags(
    command: Command, words: Sequence[Word], undecided: dict[str, tuple[str, ...]]
) -> Iterator[tuple[str, list[Word], FileLine]]:
    """Flags with their values; words before the first flag (the model) are left out."""
    flag: tuple[str, FileLine] | None = None
    values: list[Word] = []
    for word in words:
        where = word.where or command.where
        if not is_known(word) and not known_part(word):
            undecided.setdefault("", reasons(word)) if flag is None or values else None
        if not _is_flag(word):
            values.append(word)
            continue
        if flag is not None:
            yield flag[0], values, flag[1]
        name, equals, value = word.partition("=")
        flag, values = (name, where), [Word(value, where)] if equals else []
    if flag is not None:
        yield flag[0], values, flag[1]


def _is_flag(word: str) -> bool:
    return word.startswith("--") or re.fullmatch(r"-[A-Za-z][\w-]*", word) is not None


def _value(values: Sequence[Word]) -> object:
    if not values:
        return True
    read = [_scalar(shown(value)) for value in values]
    return read[0] if len(read) == 1 else read


def _scalar(text: str) -> object:
    """A value as a recipe would hold it: numbers as numbers, everything else as text."""
    try:
        value = plain_value(text)
    except BadScalar:
        return str(text)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else str(text)


def _json_with_holes(name: str, value: Word, undecided: dict[str, tuple[str, ...]]) -> bool:
    """True for JSON whose holes stand in texts only: then its other keys are decided."""
    try:
        leaves = json.loads(value)
    except ValueError:
        return False
    if not isinstance(leaves, dict):
        return False
    undecided.update(_open_leaves(leaves, name))
    return True


def _open_leaves(value: object, path: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Dotted paths of texts with holes, and why."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _open_leaves(child, f"{path}.{key}")
    elif isinstance(value, list):
        for child in value:
            yield from _open_leaves(child, path)
    elif isinstance(value, str) and not is_known(value):
        yield path, reasons(value)


def _environment(command: Command, start: int, undecided: dict[str, tuple[str, ...]]) -> Iterator[tuple[str, Setting]]:
    """Exported variables, and those set in front of the program (`env A=1 program`)."""
    given = {
        word.partition("=")[0]: Word(word.partition("=")[2], word.where)
        for word in command.words[:start]
        if _VARIABLE.match(word)
    }
    for name, value in {**command.env, **given}.items():
        if is_known(value):
            yield name, Setting(str(value), value.where or command.where)
        else:
            undecided[name] = reasons(value)


def _configured(evaluated: Evaluated, path: Word, undecided: dict[str, tuple[str, ...]]) -> dict[str, Setting]:
    """The settings of a configuration file that the script writes."""
    from app.target.recipe_document import plain, read_document

    written = evaluated.content_of(str(path))
    if written is None:
        undecided[f"file {path}"] = (f"{path} is not written by the script",)
        return {}
    try:
        root = read_document(str(path), written.text.encode(), written.where.sha)
    except RejectedInput as rejected:
        undecided[f"file {path}"] = (shown(str(rejected.problems[0])),)
        return {}
    found: dict[str, Setting] = {}
    for name, node in root.value.items() if isinstance(root.value, dict) else ():
        value = plain(node)
        # The first line of the here-document stands below the line of its command.
        where = FileLine(written.where.path, written.where.line + node.line, 0, written.where.sha)
        undecided.update(_open_leaves(value, str(name)))
        found[str(name)] = Setting(_shown(value), where)
    return found


def _shown(value: object) -> object:
    if isinstance(value, dict):
        return {key: _shown(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_shown(child) for child in value]
    return shown(value) if isinstance(value, str) else value
