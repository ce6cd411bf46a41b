"""Purpose: launch commands of the SGLang cookbook: the generated AgentX snippets, the deployment configurations, and
commands in fenced code of a page.

Source: evidence.md 10.1. A snippet is `export const agentx = { JSON }` behind comment lines. A block may be a
reference to another cell's block (`ref`), or start from a block of the cell's submitted router (`from`), each with a
`diff`; a point may patch the blocks of its cell.

Invariants: nothing is executed; a file that is not of the expected form raises `UnreadablePage` with the reason.
References are followed at most `MAX_REFERENCES` deep, so a circle is an error and not a loop.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.facts.commands_in_text import Command, flags_of

MAX_REFERENCES = 8
_SNIPPET = re.compile(r"export\s+const\s+agentx\s*=\s*")
_CONFIG = re.compile(r"export\s+const\s+config\s*=\s*")


class UnreadablePage(ValueError):  # noqa: N818
    """A published file is not of the form that its kind promises."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a cell's commands were taken from: commit and pull request of the benchmark repository, and its status."""

    sha: str
    pull_request: str
    status: str


@dataclass(frozen=True)
class PagePoint:
    """One concurrency group of a cell: its blocks after the point's patches."""

    concurrencies: tuple[int, ...]
    golden_al: str
    blocks: tuple[Command, ...]


@dataclass(frozen=True)
class Cell:
    """One submission on the page. `router` is the submitted one: "sglang" or "dynamo"."""

    id: str
    config_key: str
    hardware: str
    checkpoint: str
    image: str
    router: str
    provenance: Provenance
    points: tuple[PagePoint, ...]

    def for_concurrency(self, concurrency: int) -> tuple[PagePoint, ...]:
        return tuple(point for point in self.points if concurrency in point.concurrencies)


class Snippet:
    """A parsed AgentX snippet. Cells are resolved when asked for, by config key."""

    def __init__(self, text: str) -> None:
        self._data = _snippet_data(text)
        cells = self._data.get("cells")
        if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
            raise UnreadablePage("the snippet has no list of cells")
        self._cells: list[dict[str, Any]] = cells

    @staticmethod
    def recognises(text: str) -> bool:
        return _SNIPPET.search(text) is not None

    @property
    def config_keys(self) -> tuple[str, ...]:
        return tuple(str(cell.get("configKey", "")) for cell in self._cells)

    def cells_of(self, key: str) -> tuple[Cell, ...]:
        """Cells that mirror a config key, in page order. Raises UnreadablePage where a reference leads nowhere."""
        return tuple(
            self._cell(index) for index, cell in enumerate(self._cells) if str(cell.get("configKey", "")) == key
        )

    def _cell(self, index: int) -> Cell:
        raw = self._cells[index]
        router = str(raw.get("submitted", "sglang"))
        blocks = self._blocks(index, router)
        provenance = _mapping(raw.get("prov"))
        return Cell(
            id=str(raw.get("id", "")),
            config_key=str(raw.get("configKey", "")),
            hardware=str(raw.get("hw", "")),
            checkpoint=str(raw.get("ckpt", "")),
            image=str(raw.get("image", "")),
            router=router,
            provenance=Provenance(
                str(provenance.get("sha", "")), str(provenance.get("pr", "")), str(provenance.get("status", ""))
            ),
            points=tuple(_point(point, router, blocks) for point in _sequence(raw.get("points"))),
        )

    def _blocks(self, index: int, router: str) -> list[dict[str, Any]]:
        count = len(self._raw_blocks(index, router))
        return [self._block(index, router, position, 0) for position in range(count)]

    def _raw_blocks(self, index: int, router: str) -> Sequence[Any]:
        if not 0 <= index < len(self._cells):
            raise UnreadablePage(f"a block refers to cell {index}, which does not exist")
        routers = _mapping(self._cells[index].get("routers"))
        return _sequence(_mapping(routers.get(router)).get("blocks"))

    def _block(self, index: int, router: str, position: int, depth: int) -> dict[str, Any]:
        if depth > MAX_REFERENCES:
            raise UnreadablePage("blocks refer to each other in a circle")
        blocks = self._raw_blocks(index, router)
        if not 0 <= position < len(blocks):
            raise UnreadablePage(f"a block refers to block {position} of {router}, which does not exist")
        raw = _mapping(blocks[position])
        base: dict[str, Any] = {}
        if "ref" in raw:
            target = _sequence(raw["ref"])
            if len(target) != 3 or not isinstance(target[0], int) or not isinstance(target[2], int):
                raise UnreadablePage("a block reference is not [cell, router, block]")
            base = self._block(target[0], str(target[1]), target[2], depth + 1)
        elif "from" in raw:
            submitted = str(self._cells[index].get("submitted", "sglang"))
            other = submitted if submitted != router else _other_router(router)
            base = self._block(index, other, int(raw["from"]), depth + 1)
        own = {key: value for key, value in raw.items() if key not in ("ref", "from", "diff")}
        block = {**base, **own}
        if "envRef" in own:
            block["env"] = self._shared_env(own["envRef"])
        return _patched(block, _mapping(raw.get("diff")))

    def _shared_env(self, index: Any) -> Mapping[str, Any]:
        shared = _sequence(self._data.get("envs"))
        if not isinstance(index, int) or not 0 <= index < len(shared):
            raise UnreadablePage(f"a block refers to shared environment {index}, which does not exist")
        return _mapping(shared[index])


def _other_router(router: str) -> str:
    return "sglang" if router == "dynamo" else "dynamo"


def _snippet_data(text: str) -> dict[str, Any]:
    start = _SNIPPET.search(text)
    if start is None:
        raise UnreadablePage("the file does not export `agentx`")
    try:
        data, _ = json.JSONDecoder().raw_decode(text, start.end())
    except (ValueError, RecursionError) as fault:
        raise UnreadablePage(f"the snippet is not JSON: {fault}") from None
    if not isinstance(data, dict):
        raise UnreadablePage("the snippet is not an object")
    return data


def _point(raw: Any, router: str, blocks: Sequence[Mapping[str, Any]]) -> PagePoint:
    point = _mapping(raw)
    patches = _sequence(_mapping(point.get("patch")).get(router))
    patched = [
        _patched(dict(block), _mapping(patches[position])) if position < len(patches) and patches[position] else block
        for position, block in enumerate(blocks)
    ]
    concurrencies = tuple(int(value) for value in _sequence(point.get("concs")) if isinstance(value, int | str))
    golden = point.get("goldenAL")
    return PagePoint(concurrencies, "" if golden is None else str(golden), tuple(map(_command, patched)))


def _patched(block: dict[str, Any], diff: Mapping[str, Any]) -> dict[str, Any]:
    """A block with a diff applied: a flag or variable set to null is removed."""
    if not diff:
        return block
    args = {str(entry[0]): list(entry[1:]) for entry in _sequence(block.get("args")) if _sequence(entry)}
    for flag, values in _mapping(diff.get("args")).items():
        if values is None:
            args.pop(flag, None)
        else:
            args[flag] = list(values) if isinstance(values, list) else [values]
    env = {**_mapping(block.get("env")), **_mapping(diff.get("env"))}
    env = {name: value for name, value in env.items() if value is not None}
    return {**block, "args": [[flag, *values] for flag, values in args.items()], "env": env}


def _command(block: Mapping[str, Any]) -> Command:
    args = {str(entry[0]): [str(value) for value in entry[1:]] for entry in _sequence(block.get("args")) if entry}
    return Command(
        kind=str(block.get("kind", "worker")),
        role=str(block.get("role", "")),
        program=str(block.get("cmd", "")),
        args=args,
        env={str(name): str(value) for name, value in _mapping(block.get("env")).items()},
        workers=_count(block.get("workers")),
        nodes_per_worker=_count(block.get("nodes_per_worker")),
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []


_MATCH = re.compile(r"\bmatch:\s*\{(?P<match>[^{}]*)\}")
_PAIR = re.compile(r"(\w+):\s*[\"']([^\"']*)[\"']")
_NAMES = re.compile(r"\bmodelNames:\s*\{(?P<names>[^{}]*)\}")
_NAME = re.compile(r"[\"']([^\"']+)[\"']\s*:\s*[\"']([^\"']+)[\"']")
_STRING = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'")
_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)


@dataclass(frozen=True)
class Deployment:
    """One cell of a deployment configuration: its hardware, quantization, strategy and command."""

    hardware: str
    quantization: str
    strategy: str
    model: str
    command: Command


def is_deployment_config(text: str) -> bool:
    return _CONFIG.search(text) is not None and _MATCH.search(text) is not None


def deployments(text: str) -> Iterator[Deployment]:
    """Cells of a `config` snippet (a JavaScript literal: read by pattern, nothing is evaluated)."""
    source = _COMMENT.sub("", text)
    names = _NAMES.search(source)
    models = dict(_NAME.findall(names["names"])) if names else {}
    found = list(_MATCH.finditer(source))
    for position, match in enumerate(found):
        end = found[position + 1].start() if position + 1 < len(found) else len(source)
        where = dict(_PAIR.findall(match["match"]))
        body = source[match.end() : end]
        flags = " ".join(_strings_of(body, "flags"))
        env = dict(entry.split("=", 1) for entry in _strings_of(body, "env") if "=" in entry)
        model = models.get(f"{where.get('variant', 'default')}|{where.get('quant', '')}", "")
        command = Command("worker", where.get("role", "agg"), "sglang.launch_server", flags_of(flags), env, None, None)
        yield Deployment(where.get("hw", ""), where.get("quant", ""), where.get("strategy", ""), model, command)


def _strings_of(body: str, name: str) -> list[str]:
    start = re.search(rf"\b{name}:\s*\[", body)
    if start is None:
        return []
    strings: list[str] = []
    position = start.end()
    while position < len(body) and body[position] != "]":
        string = _STRING.match(body, position)
        if string is None:
            position += 1
            continue
        strings.append(string[1] if string[1] is not None else string[2])
        position = string.end()
    return strings
