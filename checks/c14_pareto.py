"""Purpose: check 14 (advisory): every affected curve has five or more points on its frontier, from this run's rows.

A curve is what the dashboard draws (app.results.curves): several config keys can share one; P90 and P75 stay apart.

Invariants: only rows of the evidence run count; other dates and runs are never pooled. A curve without points is
listed. It may WARN and never FAIL, and stays WARN when an admin has recorded a bypass for the assessed commit.
Source: rules.md 14; evidence.md 5; verdicts.md, check 14.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.facts.base import Facts
from app.facts.exceptions import granted_exceptions
from app.facts.github import BranchActivity, Comments, Permissions
from app.facts.sweep import BenchmarkRows, EvidenceRun, ResultRow
from app.planner.scope import Scope
from app.planner.series import series_sizes
from app.results.curves import AGENTIC_SCENARIO, Curve, Series, curves_of, series_of, series_of_planned
from app.results.frontier import RECOMMENDED_POINTS, Coverage, coverage, sparkline
from app.results.identity import plain
from checks.applying import NOTHING_AFFECTED, found_or, listed, throughput_keys
from checks.contract import (
    NA,
    PASS,
    WARN,
    CheckResult,
    Finding,
    Help,
    NotApplicable,
    Optional,
    Required,
    Row,
    check,
    passed,
    warned,
)

NUMBER = 14

RULES = {
    "14.five": "Every affected curve has at least five frontier points.",
    "14.percentiles": "P90 and P75 are curves of their own and are never pooled.",
    "14.shared": "Config keys, topologies and images that map to one series are merged before the frontier is taken.",
    "14.unknown-hardware": "A hardware base that is not known still forms a curve.",
    "14.mixed": "Simulated and real acceptance on one series is said.",
    "14.canonical": "Where points carry the canonical flag, only flagged frontier points count.",
    "14.few": "Fewer than five frontier points.",
    "14.partial": "Fewer than five in this run while the series has more planned points that were not re-run.",
    "14.invalid": "A point without two real numbers above zero.",
    "14.unmeasured": "An affected curve without any point in the run.",
    "14.unreadable": "Result rows that cannot be read or are missing.",
    "14.bypass": "A bypass by an admin for the assessed commit is told; the row stays WARN.",
}

_PASSES = ("14.five", "14.percentiles", "14.shared", "14.unknown-hardware", "14.mixed", "14.canonical")

HELP = Help(
    rule="Every affected performance curve of the evidence run has five or more points on its frontier (advisory).",
    passes_when=tuple(f"{key}: {RULES[key]}" for key in _PASSES),
    fails_when=tuple(f"{key}: {text}" for key, text in RULES.items() if key not in _PASSES),
    fix="Measure more points of the curve, or ask a core maintainer with admin role for `/except 14 <reason>`.",
    source="review rules, check 14",
)


def applies(scope: Scope) -> object | NotApplicable:
    """throughput of an affected key must be measured"""
    return found_or(scope, throughput_keys(scope), NOTHING_AFFECTED)


@check(
    number=NUMBER,
    name="Pareto coverage",
    applies=applies,
    needs=(
        Required(BenchmarkRows),
        Required(EvidenceRun),
        Optional(Comments),
        Optional(Permissions),
        Optional(BranchActivity),
    ),
    may=(PASS, WARN, NA),
    help=HELP,
)
def pareto(facts: Facts, scope: Scope) -> CheckResult:
    """Curves of the affected series, their frontiers, and what is thin."""
    measured = facts[BenchmarkRows]
    wanted = {series_of_planned(point.row): key.key for key in throughput_keys(scope) for point in key.points}
    rows = [row for row in measured.rows if series_of(row.data) in wanted]
    judged = [_Judged.of(curve) for curve in curves_of(row.data for row in rows)]
    judged += [_Judged.of(Curve(series, "", ())) for series in wanted if not any(j.series == series for j in judged)]
    run = facts[EvidenceRun].run.id
    findings = [finding for one in judged for finding in _findings(one, rows, run, scope)]
    findings += [_unreadable(problem) for problem in measured.problems]
    text = "; ".join(_told(series, [one for one in judged if one.series == series]) for series in sorted(wanted))
    text = f"{text}{_mixture(rows, judged)}{_sharing(scope, wanted)}"
    if not findings:
        return passed(text)
    return warned(f"{text}; {_next(facts)}", findings)


@dataclass(frozen=True)
class _Judged:
    curve: Curve
    coverage: Coverage

    @classmethod
    def of(cls, curve: Curve) -> _Judged:
        return cls(curve, coverage(curve.key, curve.points))

    @property
    def series(self) -> Series:
        return self.curve.series


def _told(series: Series, curves: list[_Judged]) -> str:
    """`musespark gb200_sglang fp4 AgentX: 7 of 11 points on the frontier at P90 (...) and P75 (...)`."""
    parts: list[str] = []
    counts: dict[tuple[int, int], list[_Judged]] = {}
    for one in curves:
        counts.setdefault((len(one.coverage.frontier), one.coverage.measured_points), []).append(one)
    for (kept, measured), members in counts.items():
        at = " and ".join(f"{one.curve.percentile} {sparkline(one.coverage)}".strip() for one in members)
        parts.append(f"{kept} of {measured} points on the frontier" + (f" at {at}" if at else ""))
    note = "" if series.known_hardware else " (hardware not in the known list)"
    return f"{series}: {', '.join(parts)}{note}"


def _findings(one: _Judged, rows: list[ResultRow], run: int, scope: Scope) -> Iterable[Finding]:
    if one.coverage.enough:
        return
    invalid = [
        point["label"] for point, judged in zip(one.curve.points, _valid(one.curve.points), strict=True) if not judged
    ]
    artifact = next((row.artifact for row in rows if series_of(row.data) == one.series), f"results of run {run}")
    where = Row(artifact, one.curve.key.strip())
    if invalid:
        found = f"{listed(invalid, 4)} without two real numbers above zero"
        yield Finding(where, found, "a latency and a throughput for each point", "Re-run these points.")
    kept = len(one.coverage.frontier)
    if kept >= RECOMMENDED_POINTS:
        return
    found = f"{kept} frontier points of {one.coverage.measured_points} measured"
    if one.coverage.restricted:
        found += ", by the canonical flag"
    more = _not_rerun(one.series, rows, scope)
    if more:
        found = f"{one.coverage.measured_points} in this run; {more} more in the series were not re-run"
    step = "Measure more points of this series, or ask a core maintainer for a recorded bypass."
    yield Finding(where, found, f"{RECOMMENDED_POINTS} frontier points", step)


def _valid(points: Iterable[Mapping[str, Any]]) -> list[bool]:
    return [coverage("one", [point]).invalid_points == 0 for point in points]


def _not_rerun(series: Series, rows: list[ResultRow], scope: Scope) -> int:
    """Planned points of the series, over all keys at the head, beyond the measured ones."""
    planned = series_sizes(scope.head_entries).get(series, 0)
    return max(0, planned - sum(1 for row in rows if series_of(row.data) == series))


def _unreadable(problem: str) -> Finding:
    artifact, _, rest = problem.partition(":")
    return Finding(Row(artifact, ""), rest.strip() or problem, "readable result rows", "Upload the artifact again.")


def _mixture(rows: list[ResultRow], judged: list[_Judged]) -> str:
    """What is said where one AgentX series holds points with simulated and with real acceptance."""
    told = []
    for series in dict.fromkeys(one.series for one in judged if one.series.scenario == AGENTIC_SCENARIO):
        drafts = [plain(row.data.get("spec_decoding")) not in ("", "none") for row in rows]
        mine = [draft for draft, row in zip(drafts, rows, strict=True) if series_of(row.data) == series]
        if any(mine) and not all(mine):
            told.append(f"{sum(mine)} points with simulated and {len(mine) - sum(mine)} with real acceptance")
    return f" ({'; '.join(told)})" if told else ""


def _sharing(scope: Scope, wanted: Mapping[Series, str]) -> str:
    """What is said where several affected keys share a series."""
    keys: dict[Series, set[str]] = {series: set() for series in wanted}
    for key in throughput_keys(scope):
        for point in key.points:
            keys[series_of_planned(point.row)].add(key.key)
    shared = [sorted(names) for names in keys.values() if len(names) > 1]
    return "".join(f" ({listed(names)} share a series)" for names in shared)


def _next(facts: Facts) -> str:
    """The escalation: who must answer, or who has."""
    grant = granted_exceptions(facts, facts.head_sha).get(NUMBER)
    if grant is not None:
        return f"bypass recorded by @{grant.login} for {facts.head_sha[:7]}"
    return f"{RECOMMENDED_POINTS} are recommended: measure more, or a core maintainer records `/except 14 <reason>`"
