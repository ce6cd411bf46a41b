"""Purpose: join the artifacts of single jobs into the aggregates that checks, dashboards and the reuse validation read.

Source: evidence.md 2.2, 3.1 and workflows.md 6. `results_bmk` holds every benchmark row, `eval_results_all` one row per
configuration, concurrency and task, `run-stats` the job counts per hardware, `job_events` the launch records.

Invariants: pure; nothing is deduplicated or judged here (that is `app.results.artifacts`); the same input gives the
same bytes, whatever the order of the files. A file that cannot be read is named in `problems` and costs its rows only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.results.artifacts import BENCHMARKS, EVALS, RUN_STATS, ArtifactFile, Artifacts, newest_result, raw_eval_names
from app.results.eval_files import ResultFile, Score, is_result_file, read_object, read_results
from app.results.identity import is_multinode, plain

JOB_EVENTS = ("job_events", "events.jsonl")
METADATA = ("changelog-metadata", "changelog_metadata.json")
_TOPOLOGY = (
    "tp",
    "ep",
    "prefill_tp",
    "prefill_ep",
    "prefill_num_workers",
    "decode_tp",
    "decode_ep",
    "decode_num_workers",
)
_ATTENTION = ("dp_attention", "prefill_dp_attention", "decode_dp_attention")


@dataclass(frozen=True)
class Collected:
    """Aggregates by (artifact, member) and the files that could not be read, a sentence each."""

    files: Mapping[tuple[str, str], bytes]
    problems: tuple[str, ...]


def _dump(value: object) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=True).encode() + b"\n"


def benchmark_rows(artifacts: Artifacts) -> tuple[list[Mapping[str, Any]], list[str]]:
    """Every row of every `bmk_*` artifact in the order of names, and what could not be read."""
    rows: list[Mapping[str, Any]] = []
    problems: list[str] = []
    for artifact in sorted(name for name in artifacts if name.startswith("bmk_")):
        for member, item in sorted(artifacts[artifact].items()):
            if not member.endswith(".json"):
                continue
            found = _objects(item.content)
            if found is None:
                problems.append(f"{artifact}/{member} is not JSON; re-run the job that wrote it")
            rows.extend(found or [])
    return rows, problems


def _objects(content: bytes) -> list[Mapping[str, Any]] | None:
    try:
        value = json.loads(content)
    except ValueError:
        return None
    return [row for row in (value if isinstance(value, list) else [value]) if isinstance(row, dict)]


def _whole(value: object, default: int) -> int:
    text = plain(value)
    return int(text) if text.isdigit() else default


def eval_row(
    meta: Mapping[str, Any], concurrency: int, score: Score, result: ResultFile, source: str
) -> dict[str, Any]:
    """One row of `agg_eval_all.json` (field names and spellings of evidence.md 2.2)."""
    row: dict[str, Any] = {
        "is_multinode": is_multinode(meta),
        "model_prefix": plain(meta.get("infmax_model_prefix") or meta.get("model_prefix")),
        "model": str(meta.get("model", "")),
        "hw": str(meta.get("hw", "")).upper(),
        "framework": plain(meta.get("framework")),
        "precision": plain(meta.get("precision")),
        "spec_decoding": plain(meta.get("spec_decoding")) or "none",
        "isl": _whole(meta.get("isl"), 0),
        "osl": _whole(meta.get("osl"), 0),
        "conc": concurrency,
        "task": score.task,
        "em_strict": score.strict,
        "em_strict_se": score.strict_error,
        "em_flexible": score.flexible,
        "em_flexible_se": score.flexible_error,
        "n_eff": score.samples,
        "source": source,
        "infrastructure_success": result.integration_error is None and score.value is not None,
        "integration_error": result.integration_error,
        "score": score.value,
        "score_name": score.name,
        "score_se": score.error,
    }
    row.update({name: _whole(meta.get(name), 1) for name in _TOPOLOGY})
    row.update({name: plain(meta.get(name)) or "false" for name in _ATTENTION})
    if meta.get("eval_suite"):
        row["eval_suite"] = meta["eval_suite"]
    if "disagg" in meta:
        row["disagg"] = plain(meta["disagg"]) == "true"
    return row


def _eval_directory(artifact: str, files: Mapping[str, ArtifactFile]) -> tuple[list[dict[str, Any]], list[str]]:
    meta_file = files.get("meta_env.json")
    meta = read_object(meta_file.content) if meta_file else None
    if meta is None:
        return [], [f"{artifact} has no readable meta_env.json; re-run the eval job"]
    results = [read_results(name, item.content) for name, item in sorted(files.items()) if is_result_file(name)]
    batched = isinstance(meta.get("completed_eval_concs"), list)
    concurrencies = meta["completed_eval_concs"] if batched else [meta.get("conc")]
    rows: list[dict[str, Any]] = []
    problems: list[str] = []
    for concurrency in concurrencies:
        mine = [item for item in results if not batched or item.concurrency == _whole(concurrency, 0)]
        if not mine:
            problems.append(f"{artifact} has no result file for concurrency {concurrency}; re-run the eval job")
            continue
        newest = newest_result(mine, files)
        source = f"{artifact}/{newest.path}"
        problems.extend(f"{source}: {complaint}" for complaint in newest.problems)
        rows.extend(eval_row(meta, _whole(concurrency, 0), score, newest, source) for score in newest.scores)
    return rows, problems


def eval_rows(artifacts: Artifacts) -> tuple[list[dict[str, Any]], list[str]]:
    """One row per configuration, concurrency and task of every raw eval directory, and what could not be read."""
    rows: list[dict[str, Any]] = []
    problems: list[str] = []
    for artifact in raw_eval_names(artifacts):
        found, complaints = _eval_directory(artifact, artifacts[artifact])
        rows.extend(found)
        problems.extend(complaints)
    return rows, problems


def job_events(artifacts: Artifacts) -> tuple[list[Mapping[str, Any]], list[str]]:
    """The launch records of every attempt, in the order of names."""
    events: list[Mapping[str, Any]] = []
    problems: list[str] = []
    for artifact in sorted(name for name in artifacts if name.startswith("job_event_")):
        for member, item in sorted(artifacts[artifact].items()):
            event = read_object(item.content)
            if event is None:
                problems.append(f"{artifact}/{member} is not a JSON object; the launch record of that job is lost")
            else:
                events.append(event)
    return events, problems


def run_stats(events: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Job counts per hardware over all attempts: {"<hw>": {"n_success": i, "total": i}}."""
    stats: dict[str, dict[str, int]] = {}
    for event in events:
        counts = stats.setdefault(str(event.get("hw") or "unknown"), {"n_success": 0, "total": 0})
        counts["total"] += 1
        counts["n_success"] += event.get("outcome") == "success"
    return stats


def collect(artifacts: Artifacts, plan: Mapping[str, Any] | None = None) -> Collected:
    """The aggregates of one run. `plan` is the planner's matrix; its `changelog_metadata` becomes an artifact."""
    rows, problems = benchmark_rows(artifacts)
    evals, eval_problems = eval_rows(artifacts)
    events, event_problems = job_events(artifacts)
    files: dict[tuple[str, str], bytes] = {}
    if rows:
        files[BENCHMARKS] = _dump(rows)
    if raw_eval_names(artifacts):
        files[EVALS] = _dump(evals)
    if events:
        files[RUN_STATS] = _dump(run_stats(events))
        files[JOB_EVENTS] = b"".join(json.dumps(event, sort_keys=True).encode() + b"\n" for event in events)
    if plan is not None and isinstance(plan.get("changelog_metadata"), Mapping):
        files[METADATA] = _dump(plan["changelog_metadata"])
    return Collected(files, (*problems, *eval_problems, *event_problems))
