"""Purpose: the reuse validation of a run's downloaded artifacts (evidence.md 4): are they whole and consistent.

The input is one folder per artifact, as `Artifacts`. Eval reruns are collapsed first (the newest sound result that an
aggregate row names wins), then every rule is checked; all problems are reported, not only the first.

Invariants: pure; the artifacts are compared with each other only, never with the planned matrix; names of artifacts
group files, identity comes from JSON fields (app.results.identity).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.results.eval_files import ResultFile, is_result_file, read_object, read_results, stamp
from app.results.identity import (
    Identity,
    agentic_identity,
    benchmark_identity,
    eval_identity,
    fixed_identity,
    is_agentic,
    plain,
    spell,
)
from app.target.source import FileLine, Problem

BENCHMARKS = ("results_bmk", "agg_bmk.json")
EVALS = ("eval_results_all", "agg_eval_all.json")
RUN_STATS = ("run-stats", "run_stats.json")
AGENTIC_POINT = "bmk_agentic_"
AGENTIC_RAW = "agentic_"
NOT_RAW_EVALS = ("eval_results_all", "eval_server_logs_", "eval_gpu_metrics_")


@dataclass(frozen=True, slots=True)
class ArtifactFile:
    """One member. `content` is empty for members that no rule reads; `modified_ns` is the file time in nanoseconds."""

    content: bytes = b""
    modified_ns: int = 0


Artifacts = Mapping[str, Mapping[str, ArtifactFile]]


@dataclass(frozen=True, slots=True)
class Collapsed:
    """An eval identity that several raw directories hold: which one was kept, which were set aside."""

    identity: Identity
    kept: str
    dropped: tuple[str, ...]


@dataclass(frozen=True)
class ArtifactReport:
    """The outcome. `counts` has the number of fixed-sequence rows, agentic points and eval rows seen."""

    problems: tuple[Problem, ...]
    collapsed: tuple[Collapsed, ...]
    counts: Mapping[str, int]

    @property
    def accepted(self) -> bool:
        return not self.problems


def wanted(artifact: str, member: str) -> bool:
    """True for members whose content a rule reads; the rest may stay unread (raw traces are large)."""
    return member.endswith(".json") and (not artifact.startswith(AGENTIC_RAW))


def raw_eval_names(artifacts: Iterable[str]) -> list[str]:
    return sorted(name for name in artifacts if name.startswith("eval_") and not name.startswith(NOT_RAW_EVALS))


def _problem(path: str, rule: str, found: str, fix: str) -> Problem:
    return Problem(FileLine(path), rule, found if len(found) <= 240 else found[:237] + "...", fix)


RERUN_COLLECTOR = "Re-run the collector job of the source run, or choose another run."
RERUN_JOB = "Re-run the job that produced it, or choose another run."


@dataclass
class _Report:
    problems: list[Problem] = field(default_factory=list)

    def add(self, path: str, rule: str, found: str, fix: str) -> None:
        self.problems.append(_problem(path, rule, found, fix))

    def equal_sets(
        self, path: str, what: str, aggregate: set[Identity], raw: set[Identity], sides: tuple[str, str]
    ) -> None:
        for extra, side, other in ((aggregate - raw, sides[0], sides[1]), (raw - aggregate, sides[1], sides[0])):
            if extra:
                shown = "; ".join(spell(item) for item in sorted(extra)[:3])
                more = f" and {len(extra) - 3} more" if len(extra) > 3 else ""
                self.add(
                    path,
                    f"{what} must be the same in {side} and {other}.",
                    f"only in {side}: {shown}{more}",
                    RERUN_COLLECTOR,
                )

    def unique(self, path: str, what: str, identities: Sequence[Identity]) -> None:
        for identity, times in Counter(identities).items():
            if times > 1:
                self.add(path, f"{what} must be unique.", f"{times} times: {spell(identity)}", RERUN_COLLECTOR)


def read_rows(path: str, content: bytes, report: _Report | None = None) -> list[Mapping[str, Any]]:
    """The rows of an aggregate or point file: an array of objects, or one object. Defects go to `report`."""
    report = report or _Report()
    try:
        value = json.loads(content)
    except ValueError as error:
        report.add(path, "A result file must be JSON.", str(error), RERUN_JOB)
        return []
    rows = value if isinstance(value, list) else [value]
    if bad := [index for index, row in enumerate(rows) if not isinstance(row, dict)]:
        report.add(path, "A result file holds objects.", f"element {bad[0]} is none", RERUN_JOB)
    return [row for row in rows if isinstance(row, dict)]


def _aggregate(artifacts: Artifacts, place: tuple[str, str], report: _Report) -> list[Mapping[str, Any]] | None:
    artifact, member = place
    files = artifacts.get(artifact)
    if files is None:
        return None
    if member not in files:
        report.add(f"{artifact}/{member}", f"{artifact} holds {member}.", "no such file", RERUN_COLLECTOR)
        return []
    return read_rows(f"{artifact}/{member}", files[member].content, report)


def _check_fixed(rows: Sequence[Mapping[str, Any]], artifacts: Artifacts, report: _Report) -> None:
    report.unique("/".join(BENCHMARKS), "Fixed-sequence rows", [fixed_identity(row) for row in rows])
    if not rows:
        return
    stats = artifacts.get(RUN_STATS[0], {}).get(RUN_STATS[1])
    if stats is None or read_object(stats.content) is None:
        found = "no file" if stats is None else "not a JSON object"
        rule = "run-stats must be there when fixed-sequence rows exist."
        report.add("/".join(RUN_STATS), rule, found, RERUN_COLLECTOR)


def _agentic_points(artifacts: Artifacts, report: _Report) -> list[Identity]:
    points: list[Identity] = []
    for artifact in sorted(artifacts):
        if not artifact.startswith(AGENTIC_POINT):
            continue
        files = {name: item for name, item in artifacts[artifact].items() if name.endswith(".json")}
        if not files:
            report.add(artifact, "An agentic point artifact holds a result file.", "no JSON file", RERUN_JOB)
        for member, item in sorted(files.items()):
            rows = read_rows(f"{artifact}/{member}", item.content, report)
            points.extend(agentic_identity(row) for row in rows)
    return points


def _check_agentic(rows: Sequence[Mapping[str, Any]] | None, artifacts: Artifacts, report: _Report) -> int:
    points = _agentic_points(artifacts, report)
    report.unique("bmk_agentic_*", "Agentic points", points)
    if rows is not None:
        aggregate = [agentic_identity(row) for row in rows]
        report.unique("/".join(BENCHMARKS), "Agentic rows", aggregate)
        sides = ("results_bmk", "the bmk_agentic_* files")
        report.equal_sets("/".join(BENCHMARKS), "Agentic points", set(aggregate), set(points), sides)
    expected = {name.removeprefix("bmk_") for name in artifacts if name.startswith(AGENTIC_POINT)}
    raw = {name for name in artifacts if name.startswith(AGENTIC_RAW)}
    for name in sorted(expected - raw):
        report.add(name, "Each bmk_agentic_* artifact has its raw agentic_* artifact.", f"{name} is missing", RERUN_JOB)
    for name in sorted(raw - expected):
        rule = "Each raw agentic_* artifact has its bmk_agentic_* artifact."
        report.add(name, rule, f"bmk_{name} is missing", RERUN_JOB)
    return len(points)


@dataclass(frozen=True)
class _RawEval:
    """One usable result of a raw eval directory: its identity, where it stands and how new it is."""

    identity: Identity
    artifact: str
    member: str
    age: tuple[object, ...]
    sound: bool


def _concurrencies(meta: Mapping[str, Any]) -> tuple[list[int], str]:
    """The concurrencies of a raw directory and what is wrong with them ("" where nothing is)."""
    if "eval_concs" not in meta:
        value = meta.get("conc")
        text = plain(value)
        if not text.isdigit() or int(text) <= 0:
            return [], f"conc is {json.dumps(value)}, not a whole number above 0"
        return [int(text)], ""
    lists = {name: meta.get(name, []) for name in ("eval_concs", "completed_eval_concs", "failed_eval_concs")}
    for name, values in lists.items():
        bad = not isinstance(values, list) or any(
            isinstance(v, bool) or not isinstance(v, int) or v <= 0 for v in values
        )
        if bad or len(set(values)) != len(values):
            return [], f"{name} is {json.dumps(values)}, not a list of different whole numbers above 0"
    expected, completed, failed = (set(values) for values in lists.values())
    if completed & failed:
        return [], f"completed and failed concurrencies overlap: {sorted(completed & failed)}"
    if completed | failed != expected:
        return [], f"completed {sorted(completed)} and failed {sorted(failed)} do not add up to {sorted(expected)}"
    if failed:
        return [], f"concurrencies {sorted(failed)} failed"
    return sorted(completed), ""


def newest_result(results: Sequence[ResultFile], files: Mapping[str, ArtifactFile]) -> ResultFile:
    """The newest by the time in the name, else by file time, then by name."""
    return max(results, key=lambda item: _age(item.path, files[item.path]))


def _age(member: str, item: ArtifactFile) -> tuple[object, ...]:
    name = member.rsplit("/", 1)[-1]
    time = stamp(name)
    return (1, time, 0, name) if time else (0, (), item.modified_ns, name)


def _raw_directory(artifact: str, files: Mapping[str, ArtifactFile], report: _Report) -> list[_RawEval]:
    meta_path = f"{artifact}/meta_env.json"
    meta_file = files.get("meta_env.json")
    meta = read_object(meta_file.content) if meta_file else None
    if meta is None:
        found = "no file" if meta_file is None else "not a JSON object"
        report.add(meta_path, "A raw eval directory holds the object meta_env.json.", found, RERUN_JOB)
        return []
    suite = meta.get("eval_suite")
    if suite is not None and (not isinstance(suite, str) or not suite.strip()):
        report.add(meta_path, "eval_suite is a text or absent.", json.dumps(suite), RERUN_JOB)
    concurrencies, complaint = _concurrencies(meta)
    if complaint:
        report.add(meta_path, "A raw eval directory names complete concurrencies.", complaint, RERUN_JOB)
    results = [read_results(name, item.content) for name, item in sorted(files.items()) if is_result_file(name)]
    found_rows: list[_RawEval] = []
    for concurrency in concurrencies:
        mine = [item for item in results if "eval_concs" not in meta or item.concurrency == concurrency]
        if not mine:
            rule = "A raw eval directory holds a result file for each concurrency."
            report.add(artifact, rule, f"none for concurrency {concurrency}", RERUN_JOB)
            continue
        newest = newest_result(mine, files)
        sound = _judge(artifact, newest, report)
        age = _age(newest.path, files[newest.path])
        identities = [eval_identity(meta, concurrency=concurrency, task=score.task) for score in newest.scores]
        found_rows.extend(_RawEval(identity, artifact, newest.path, age, sound) for identity in identities)
    return found_rows


def _judge(artifact: str, newest: ResultFile, report: _Report) -> bool:
    """Report what is wrong with the newest result of a concurrency; True where nothing is."""
    path = f"{artifact}/{newest.path}"
    if newest.integration_error is not None:
        rule = "An eval result has no integration_error."
        report.add(path, rule, json.dumps(newest.integration_error)[:200], RERUN_JOB)
    for complaint in newest.problems:
        report.add(path, "An eval result has finite scores in [0, 1] and counts above 0.", complaint, RERUN_JOB)
    return newest.integration_error is None and not newest.problems


def _collapse(raw: Sequence[_RawEval], sources: Sequence[str]) -> tuple[list[_RawEval], list[Collapsed]]:
    """Keep one raw result for each identity: the newest sound one that an aggregate row's `source` names."""
    groups: dict[Identity, list[_RawEval]] = {}
    for item in raw:
        groups.setdefault(item.identity, []).append(item)
    kept: list[_RawEval] = []
    collapsed: list[Collapsed] = []
    for identity, items in groups.items():
        if len(items) == 1:
            kept.extend(items)
            continue
        newest = max(items, key=lambda item: item.age)
        named = any(newest.artifact in source.split("/") for source in sources)
        if not (newest.sound and named):
            kept.extend(items)
            continue
        kept.append(newest)
        dropped = tuple(sorted(item.artifact for item in items if item is not newest))
        collapsed.append(Collapsed(identity, newest.artifact, dropped))
    return kept, collapsed


def _check_evals(artifacts: Artifacts, report: _Report) -> tuple[int, list[Collapsed]]:
    """Checks raw eval directories and their aggregate; problems of directories that lost a rerun are left out."""
    aggregate = _aggregate(artifacts, EVALS, report)
    sources = [str(row.get("source", "")) for row in aggregate or []]
    by_directory: dict[str, _Report] = {}
    raw: list[_RawEval] = []
    for name in raw_eval_names(artifacts):
        by_directory[name] = _Report()
        raw.extend(_raw_directory(name, artifacts[name], by_directory[name]))
    kept, collapsed = _collapse(raw, sources)
    lost = {name for item in collapsed for name in item.dropped} - {item.artifact for item in kept}
    for name, found in by_directory.items():
        if name not in lost:
            report.problems.extend(found.problems)
    if aggregate is None:
        if by_directory:
            report.add("/".join(EVALS), "Raw evals need eval_results_all.", "no such artifact", RERUN_COLLECTOR)
        return 0, collapsed
    path = "/".join(EVALS)
    if not aggregate:
        report.add(path, "eval_results_all has at least one row.", "no row", RERUN_COLLECTOR)
    identities = [eval_identity(row) for row in aggregate]
    report.unique(path, "Eval rows", identities)
    report.unique("eval_*", "Raw eval results", [item.identity for item in kept])
    sides = ("eval_results_all", "the raw eval_* directories")
    report.equal_sets(path, "Eval rows", set(identities), {item.identity for item in kept}, sides)
    return len(aggregate), collapsed


def check_artifacts(artifacts: Artifacts) -> ArtifactReport:
    """Validate the artifacts of one run for reuse. Never raises on bad content."""
    report = _Report()
    rows = _aggregate(artifacts, BENCHMARKS, report)
    fixed = [row for row in rows or [] if not is_agentic(row)]
    agentic = None if rows is None else [row for row in rows if is_agentic(row)]
    _check_fixed(fixed, artifacts, report)
    points = _check_agentic(agentic, artifacts, report)
    evals, collapsed = _check_evals(artifacts, report)
    if not (fixed or points or evals or agentic):
        fix = "Choose a run that measured something, or add the sweep label again."
        report.add(".", "A reusable run has result rows.", "no row of any kind", fix)
    counts = {"fixed_rows": len(fixed), "agentic_points": points, "eval_rows": evals}
    return ArtifactReport(tuple(report.problems), tuple(collapsed), counts)


def report_json(report: ArtifactReport) -> dict[str, Any]:
    """The JSON form of `sweepgate artifacts check` (docs/sweeps.md)."""
    return {
        "accepted": report.accepted,
        "counts": dict(report.counts),
        "problems": [
            {"where": problem.where.path, "rule": problem.rule, "found": problem.found, "fix": problem.fix}
            for problem in report.problems
        ],
        "collapsed": [
            {"identity": spell(item.identity), "kept": item.kept, "dropped": list(item.dropped)}
            for item in report.collapsed
        ],
    }


__all__ = [
    "ArtifactFile",
    "ArtifactReport",
    "Artifacts",
    "Collapsed",
    "benchmark_identity",
    "check_artifacts",
    "raw_eval_names",
    "read_rows",
    "report_json",
    "wanted",
]
