"""Purpose: typed facts from hosts outside the repository: upstream recipes, draft checkpoints, the overview page.

Invariant: a source that could not be read carries its reason in `problem`; it is never left out silently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from app.facts.base import Fact
from app.facts.records import CheckpointRecord, UpstreamRecord


@dataclass(frozen=True)
class UpstreamRecipe:
    """One linked upstream recipe and the raw bytes of its files by path."""

    record: UpstreamRecord
    files: Mapping[str, bytes]


@dataclass(frozen=True)
class UpstreamRecipes(Fact):
    title: ClassVar[str] = "the upstream recipe"
    sources: ClassVar[tuple[str, ...]] = ("upstream",)
    all: tuple[UpstreamRecipe, ...]


@dataclass(frozen=True)
class DraftCheckpoint:
    """A checkpoint as its host serves it: `config` files raw by name, safetensors `headers` raw JSON by shard."""

    record: CheckpointRecord
    files: Mapping[str, bytes]
    headers: Mapping[str, bytes]


@dataclass(frozen=True)
class DraftCheckpoints(Fact):
    title: ClassVar[str] = "the draft checkpoint"
    sources: ClassVar[tuple[str, ...]] = ("checkpoints",)
    by_repository: Mapping[str, DraftCheckpoint]


@dataclass(frozen=True)
class OverviewPage(Fact):
    """The NVIDIA overview page, raw (Markdown or HTML)."""

    title: ClassVar[str] = "the NVIDIA overview page"
    sources: ClassVar[tuple[str, ...]] = ("overview",)
    url: str
    content: bytes
