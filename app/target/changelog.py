"""Purpose: perf-changelog.yaml (formats.md 4) as typed entries with lines. Owner room: app.target."""

from __future__ import annotations

from dataclasses import dataclass

from app.target.source import FileLine


@dataclass(frozen=True)
class ChangelogEntry:
    """One entry. `scenario_type` None means both scenarios. `where` is the entry's first line."""

    config_keys: tuple[str, ...]
    description: tuple[str, ...]
    pr_link: str
    where: FileLine
    scenario_type: tuple[str, ...] | None = None
    evals_only: bool = False
    all_evals: bool = False
    no_evals: bool = False
    append_only: bool = False
    eval_min_prefill_ep: int | None = None
