"""Purpose: the one comment with the links of a finished sweep: performance and accuracy."""

from __future__ import annotations


def results(*, site: str, run_id: int, conclusion: str, run_url: str) -> str:
    """Two links, then how the run ended. `site` is the results site without a final slash."""
    return (
        f"[View unofficial run (performance)]({site}/inference?unofficialRun={run_id})\n"
        f"[View unofficial run (accuracy)]({site}/evaluation?unofficialRun={run_id})\n\n"
        f"Run [{run_id}]({run_url}) ended with `{conclusion}`. To reuse it, type `/use {run_id}`. · "
        f"运行 {run_id} 已结束（`{conclusion}`）。如需复用，请输入 `/use {run_id}`。\n"
    )
