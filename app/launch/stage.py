"""Purpose: copy what a job left into the folders that the workflow uploads, and judge it by the gates.

    out/results/  result rows        -> bmk_<RESULT> or bmk_agentic_<RESULT>
    out/raw/      the client's files -> agentic_<RESULT>
    out/eval/     eval files         -> eval_<RESULT>
    out/logs/     server and job log -> server_logs_<RESULT>

Invariants: everything is staged before anything is judged, so that a failed gate still leaves its evidence; a full
disk is a LaunchError, not a traceback.
"""

from __future__ import annotations

import errno
import json
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from app.launch.errors import LaunchError
from app.launch.gates import agentic_gate, eval_gate, fixed_gate, same_point
from app.launch.prepare import RESULTS, Ready
from app.launch.row import LaunchRow
from app.results.eval_files import is_result_file, read_results
from app.target.source import RejectedInput
from app.target.thresholds import Thresholds

EVALS = "eval"
NOT_UPLOADED = ("inputs.json", "profile_export_raw.jsonl")
_AGAIN = "Read the client's log, then run the job again."


def disk_error(error: OSError) -> LaunchError:
    """What a failed write means: a full disk, or else an internal error that names the file."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        message = f"No space is left for {error.filename or 'a result file'}."
        return LaunchError("disk-full", message, "Free space on this runner, then run the job again.")
    return LaunchError("internal", f"{error.filename or 'a file'} could not be used: {error.strerror}.", "Report it.")


def stage_logs(ready: Ready, logs: list[Path], out: Path) -> None:
    """Copy the job's and the server's log; missing ones are left out."""
    folder = out / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    for log in (*logs, ready.job.folder / "server.log", ready.job.recipe, ready.job.script):
        if log.is_file():
            shutil.copyfile(log, folder / log.name)


def _wait_for(find: Callable[[], list[Path]], seconds: float) -> list[Path]:
    """Result files may appear a moment after the job's end on a shared file system."""
    deadline = time.monotonic() + seconds
    while not (found := find()) and time.monotonic() < deadline:
        time.sleep(0.2)
    return found


def result_files(row: LaunchRow, folder: Path) -> list[Path]:
    """The result rows that the client wrote: `<RESULT>*.json`, for fixed sequences `agg_<RESULT>*.json`."""
    prefix = row.result_name if row.agentic else f"agg_{row.result_name}"
    return sorted(path for path in folder.glob(f"{prefix}*.json") if path.is_file())


def _read_row(path: Path) -> Mapping[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except ValueError as error:
        raise LaunchError("result-invalid", f"{path.name} is not JSON: {error}.", _AGAIN) from None
    if not isinstance(value, dict):
        raise LaunchError("result-invalid", f"{path.name} holds no object.", _AGAIN)
    return value


def stage_results(ready: Ready, out: Path) -> list[str]:
    """Stage and judge benchmark rows; the names of staged files. Raises LaunchError where a gate is broken."""
    row, gates = ready.row, ready.site.gates
    source = ready.job.folder / RESULTS
    files = _wait_for(lambda: result_files(row, source), gates.result_wait_seconds)
    _copy_tree(source, out / "raw", skip={path.name for path in files} | set(NOT_UPLOADED) | {EVALS})
    if not files:
        message = f"The client left no {'' if row.agentic else 'agg_'}{row.result_name}*.json in {RESULTS}/."
        raise LaunchError("result-missing", message, _AGAIN)
    (out / RESULTS).mkdir(parents=True, exist_ok=True)
    for path in files:
        shutil.copyfile(path, out / RESULTS / path.name)
    for path in files:
        value = _read_row(path)
        gate = agentic_gate if row.agentic else fixed_gate
        if broken := same_point(row, value) or gate(value, gates):
            raise broken
    return [f"{RESULTS}/{path.name}" for path in files]


def _copy_tree(source: Path, target: Path, skip: set[str]) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=lambda _folder, names: skip.intersection(names))


def meta_env(row: LaunchRow) -> dict[str, Any]:
    """The identity that a raw eval directory carries (evidence.md 2.2)."""
    data = row.data
    meta: dict[str, Any] = {
        "is_multinode": row.multinode,
        "infmax_model_prefix": row.text("model-prefix"),
        "model": row.text("model"),
        "hw": row.hardware,
        "framework": row.text("framework"),
        "precision": row.text("precision"),
        "spec_decoding": row.text("spec-decoding", "none"),
        "isl": str(data.get("isl", 0)),
        "osl": str(data.get("osl", 0)),
        "recipe_fingerprint": row.text("recipe-fingerprint"),
        "conc": row.concurrencies[0],
    }
    if row.multinode:
        for pool in ("prefill", "decode"):
            block = data.get(pool) or {}
            meta |= {f"{pool}_{name}": block.get(name, 1) for name in ("tp", "pp", "ep")}
            meta[f"{pool}_num_workers"] = block.get("num-worker", 1)
            meta[f"{pool}_dp_attention"] = str(block.get("dp-attn") is True).lower()
    else:
        meta |= {"tp": data.get("tp", 1), "pp": data.get("pp", 1), "ep": data.get("ep") or 1}
        meta |= {"dcp_size": data.get("dcp-size", 1), "pcp_size": data.get("pcp-size", 1)}
        meta["dp_attention"] = str(data.get("dp-attn") is True).lower()
    if row.text("eval-suite"):
        meta["eval_suite"] = row.text("eval-suite")
    return meta


def stage_evals(ready: Ready, out: Path) -> list[str]:
    """Stage and judge eval files; the names of staged files. Raises LaunchError where a gate is broken."""
    row = ready.row
    source = ready.job.folder / RESULTS / EVALS

    def find() -> list[Path]:
        return sorted(path for path in source.rglob("*.json") if is_result_file(path.name))

    files = _wait_for(find, ready.site.gates.result_wait_seconds)
    _copy_tree(source, out / EVALS, skip=set())
    (out / EVALS).mkdir(parents=True, exist_ok=True)
    if not (out / EVALS / "meta_env.json").exists():
        (out / EVALS / "meta_env.json").write_text(json.dumps(meta_env(row), indent=1, sort_keys=True) + "\n")
    names = [path.relative_to(source).as_posix() for path in files]
    results = [read_results(name, path.read_bytes()) for name, path in zip(names, files, strict=True)]
    thresholds = _thresholds(ready)
    if broken := eval_gate(results, row, thresholds, row.concurrencies):
        raise broken
    return [f"{EVALS}/{name}" for name in names]


def _thresholds(ready: Ready) -> Thresholds:
    path = ready.trusted.layout.thresholds
    content = ready.trusted.read(path)
    try:
        return Thresholds.parse(path, b"{}" if content is None else content, ready.trusted.revision)
    except RejectedInput as rejected:
        message = str(rejected.problems[0])
        raise LaunchError("bad-policy", message, "Correct the thresholds on the target branch.") from None


def stage(ready: Ready, logs: list[Path], out: Path, *, judge: bool) -> list[str]:
    """Stage logs, and where the job ended well its results. Raises LaunchError for a broken gate or a full disk."""
    try:
        stage_logs(ready, logs, out)
        if not judge:
            _copy_tree(ready.job.folder / RESULTS, out / "raw", skip={*NOT_UPLOADED, EVALS})
            return []
        staged = [] if ready.row.eval_only else stage_results(ready, out)
        return staged + (stage_evals(ready, out) if ready.row.runs_eval else [])
    except OSError as error:
        raise disk_error(error) from None
