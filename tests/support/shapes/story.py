"""Purpose: a pull request as a story: files, what its servers really run, what its people say. `build` makes a bundle.

Invariants: logs, result rows and upstream pages are made from `servers`, which each shape writes down by hand beside
its recipe text; a recipe that is read wrongly then disagrees with its own evidence. A change of a story is one
`replace` or `edited`, so that everything made from it stays consistent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.support.shapes import ground

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Server:
    """One serving role of one job: its command's flags (a switch is True) and variables.

    `config` is the engine configuration that TensorRT-LLM is given in a file; `program` replaces the engine's usual.
    """

    role: str
    args: Mapping[str, object]
    env: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, object] = field(default_factory=dict)
    program: str = ""

    def with_args(self, **args: object) -> Server:
        """Other flags; `_` stands for `-`, None takes a flag away."""
        changed = {**self.args, **{name.replace("_", "-"): value for name, value in args.items()}}
        return replace(self, args={name: value for name, value in changed.items() if value is not None})


@dataclass(frozen=True)
class Loads:
    """What a server prints while it loads target and draft; `draft` "" where nothing drafts."""

    target: str = ""
    quant: str = ""
    cache: str = ""
    draft: str = ""
    draft_quant: str = ""
    draft_dtype: str = "torch.bfloat16"
    draft_cache: str = ""


@dataclass(frozen=True)
class Upstream:
    """A link of the sign-off. `files` maps path (or URL) to text."""

    link: str
    files: Mapping[str, str]
    repository: str = ""
    number: int = 0
    state: str = "MERGED"
    merged_at: str = "2026-10-19T20:00:00Z"
    contained: bool | None = True
    problem: str = ""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint: its config.json, and tensor name -> (dtype, shape) of its one shard."""

    repository: str
    config: Mapping[str, object]
    tensors: Mapping[str, tuple[str, list[int]]]
    problem: str = ""


Servers = Callable[[Row, int], tuple[Server, ...]]
Point = tuple[float, float]


def frontier(_row: Row, conc: int) -> Point:
    """(latency in seconds, tokens/s per GPU): every point of a series lies on the frontier."""
    return 4.0 + conc * 0.5, 900.0 + conc * 40.0


@dataclass(frozen=True)
class Story:
    """One pull request. `head` holds the changed files alone; None is a removed file. `target` None: the base."""

    name: str
    number: int
    title: str
    body: str
    files: Mapping[str, str]
    head: Mapping[str, str | None]
    target: Mapping[str, str] | None = None
    engine: str = "sglang"
    image: str = ""
    servers: Servers = lambda _row, _conc: ()
    loads: Loads = Loads()
    accepted: str = ""
    simulated: Mapping[int, str] = field(default_factory=dict)
    upstream: tuple[Upstream, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    overview: str = ""
    details: tuple[str, ...] = ()
    answers: Mapping[str, str] = field(default_factory=dict)
    measured: Callable[[Row, int], Point] = frontier
    score: float = 0.961
    requests: Mapping[str, int] = field(default_factory=lambda: {"POST /v1/chat/completions": 6})
    log_lines: tuple[str, ...] = ()
    srt_slurm: str = ground.SRT_SLURM
    label: str = "non-canary-full-sweep-enabled"
    swept: bool = True
    used: bool = True
    policy: str = "inferencex"
    day: str = ground.DAY

    def at_head(self, path: str) -> str:
        text = self.head.get(path, self.files.get(path))
        assert text is not None, path
        return text

    def edited(self, path: str, old: str, new: str, *, of_old: bool = False) -> Story:
        """Text of a file replaced at the head; with `of_old` at the base too. Fails where it is not there."""
        story = self
        if of_old:
            assert old in self.files[path], f"{old!r} is not in {path}"
            story = replace(story, files={**story.files, path: story.files[path].replace(old, new)})
            if path not in story.head:
                return story
        text = story.at_head(path)
        assert old in text, f"{old!r} is not in {path}"
        return replace(story, head={**story.head, path: text.replace(old, new)})

    def serving(self, change: Callable[[Server], Server], role: str = "") -> Story:
        """The same story with other servers (of one role, where given)."""
        before = self.servers

        def servers(row: Row, conc: int) -> tuple[Server, ...]:
            return tuple(change(one) if role in ("", one.role) else one for one in before(row, conc))

        return replace(self, servers=servers)

    def with_page(self, change: Callable[[str], str], link: int = 0) -> Story:
        """The same story with another text in every file of an upstream link."""
        one = self.upstream[link]
        changed = replace(one, files={path: change(text) for path, text in one.files.items()})
        return replace(self, upstream=(*self.upstream[:link], changed, *self.upstream[link + 1 :]))
