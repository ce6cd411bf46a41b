"""Purpose: the one comment on a finished sweep: links to performance and accuracy, how it ended, why jobs failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from app.words.escape import code

MOST_FAILURES = 5


class Failure(Protocol):
    """What the comment says of one failed job (app.results.triage.Diagnosis)."""

    @property
    def job(self) -> str: ...

    @property
    def layer(self) -> str: ...

    @property
    def quoted(self) -> str: ...

    @property
    def remedy(self) -> str: ...

    @property
    def remedy_zh(self) -> str: ...

    @property
    def retriable(self) -> bool: ...


def results(*, site: str, run_id: int, conclusion: str, run_url: str, failures: Sequence[Failure] = ()) -> str:
    """Two links, how the run ended, then a line a failed job. `site` is the results site without a final slash."""
    lines = [
        f"[View unofficial run (performance)]({site}/inference?unofficialRun={run_id})",
        f"[View unofficial run (accuracy)]({site}/evaluation?unofficialRun={run_id})",
        "",
        f"Run [{run_id}]({run_url}) ended with `{conclusion}`. To reuse it, type `/use {run_id}`. · "
        f"运行 {run_id} 已结束（`{conclusion}`）。如需复用，请输入 `/use {run_id}`。",
    ]
    if failures:
        lines += ["", *(_failure(item) for item in failures[:MOST_FAILURES]), *_rest(failures)]
    return "\n".join(lines) + "\n"


def _failure(item: Failure) -> str:
    """Job, first failing layer, what was seen, the remedy in both languages."""
    seen = f": {code(item.quoted)}" if item.quoted else ""
    return f"- {code(item.job)} failed in layer {item.layer}{seen}. {item.remedy} · {item.remedy_zh}"


def _rest(failures: Sequence[Failure]) -> list[str]:
    more = len(failures) - MOST_FAILURES
    told = [f"- and {more} more; read the run. · 另有 {more} 个；请查看该运行。"] if more > 0 else []
    if all(item.retriable for item in failures):
        told += ["", "Type `/retry-failed` to run the failed jobs again. · 输入 `/retry-failed` 重新运行失败的作业。"]
    return told
