"""Purpose: which job and which result row of a run cover a planned row (checks 1 and 2).

Invariants: a planned row is covered by an executed, passing matrix job whose name says the same model, precision,
runner, framework, topology, labels and concurrency; canary and family jobs alike. Collectors are never asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.facts.records import JobRecord
from app.facts.sweep import ResultRow
from app.planner.plan import PlannedRow
from app.results.curves import lengths
from app.results.job_names import JobName, family_of, mismatch, parse_job
from app.results.rows import (
    LABEL_FIELDS,
    concurrency,
    differing,
    eval_concurrencies,
    planned_fields,
    real,
)
from checks.applying import listed


@dataclass(frozen=True)
class Coverage:
    """A planned row and the job that measured it, or why none did. `nearest` names the job that came closest."""

    row: PlannedRow
    job: JobRecord | None
    why: str = ""
    nearest: str = ""


def label_of(row: PlannedRow) -> str:
    """`c10`, `8k1k c1-c64`, `eval c32`: a planned row as people name it."""
    concs = row.concurrencies
    if row.is_eval:
        return f"eval c{listed([str(conc) for conc in eval_concurrencies(row.row)], 4)}"
    length = f"{lengths(row.row['isl'], row.row['osl'])} " if "isl" in row.row else ""
    return f"{length}c{concs[0]}" if len(concs) == 1 else f"{length}c{min(concs)}-c{max(concs)}"


def cover(row: PlannedRow, jobs: Iterable[JobRecord]) -> Coverage:
    """The passing job of a planned row. A job of the row that did not pass, or was skipped, says why it does not."""
    of_row: list[JobRecord] = []
    skipped = ""
    for job in jobs:
        name = parse_job(job.name)
        if name is None:
            if job.conclusion == "skipped" and family_of(job.name) == _family(row):
                skipped = job.name
            continue
        if _same_kind(name, row) and not mismatch(name, row.row):
            of_row.append(job)
    passing = [job for job in of_row if job.executed and job.conclusion == "success"]
    if passing:
        return Coverage(row, passing[0])
    if of_row:
        job = of_row[-1]
        ran = "did not run" if not job.executed else f"ended with {job.conclusion}"
        ran = ran if job.status == "completed" else f"is {job.status}"
        return Coverage(row, None, f"its job {ran}", job.name)
    if skipped:
        return Coverage(row, None, f"the family `{family_of(skipped)}` was skipped", skipped)
    return Coverage(row, None, "it has no job in the run")


def one_job_each(covered: Sequence[Coverage], jobs: Iterable[JobRecord]) -> list[Coverage]:
    """Rows of different keys may share a job name: there as many jobs must have passed as rows are planned."""
    passes = Counter(job.name for job in jobs if job.executed and job.conclusion == "success")
    why = "the only job of this name measured another planned row"
    found = []
    for one in covered:
        name = one.job.name if one.job is not None else ""
        passes[name] -= 1
        found.append(Coverage(one.row, None, why, name) if name and passes[name] < 0 else one)
    return found


def _family(row: PlannedRow) -> str:
    """Caller name of the row's family, such as `single-node 8k1k` or `multi-node agentic eval`."""
    multi = "multi-node " if "prefill" in row.row else ""
    agentic = "isl" not in row.row
    if row.is_eval:
        return f"{multi}{'agentic ' if agentic else ''}eval"
    if agentic:
        return f"{multi}agentic"
    return f"{multi or 'single-node '}{lengths(row.row['isl'], row.row['osl'])}"


def _same_kind(name: JobName, row: PlannedRow) -> bool:
    """Same family (a canary stands for any benchmark family) and all concurrencies of the row in the job."""
    if name.is_eval != row.is_eval:
        return False
    agentic = "isl" not in row.row
    if row.is_eval:
        family = "agentic" if agentic else "eval"
        wanted = eval_concurrencies(row.row)
    else:
        family = "agentic" if agentic else lengths(row.row["isl"], row.row["osl"])
        wanted = row.concurrencies
    return name.family in (family, "canary") and set(wanted) <= set(name.concurrencies)


def rows_of(row: PlannedRow, measured: Iterable[ResultRow]) -> list[ResultRow]:
    """Benchmark result rows of a planned row."""
    fields = planned_fields(row.row)
    return [one for one in measured if concurrency(one.data) in row.concurrencies and not differing(fields, one.data)]


def relabelled(row: PlannedRow, measured: Sequence[ResultRow]) -> list[str]:
    """Points of a planned row whose result rows differ from the plan in labels alone."""
    if row.is_eval:
        return []
    fields = planned_fields(row.row)
    found = []
    for conc in row.concurrencies:
        of_conc = [one for one in measured if concurrency(one.data) == conc]
        exact = [one for one in of_conc if not differing(fields, one.data)]
        if exact and not any(_other_budget(row, one) for one in exact):
            continue
        near = [one for one in of_conc if differing(fields, one.data) <= LABEL_FIELDS]
        names = sorted({name for one in near for name in differing(fields, one.data)}) or ["dram-utilization"]
        if near:
            found.append(f"c{conc} ({', '.join(names).replace('_', '-')})")
    return found


def _other_budget(row: PlannedRow, one: ResultRow) -> bool:
    """True where the row was measured with another DRAM budget than the plan's."""
    planned, measured = real(row.row.get("total-cpu-dram-gb")), real(one.data.get("allocated_cpu_dram_gb"))
    return planned is not None and measured is not None and planned != measured


def surplus_rows(rows: Iterable[PlannedRow], measured: Iterable[ResultRow]) -> list[ResultRow]:
    """Result rows that no planned throughput row stands for."""
    planned = [(planned_fields(row.row), row.concurrencies) for row in rows if not row.is_eval]
    return [
        one
        for one in measured
        if not any(concurrency(one.data) in concs and not differing(fields, one.data) for fields, concs in planned)
    ]


def concurrencies(job_name: str) -> tuple[int, ...]:
    """Concurrencies that a matrix job's name says; none for other jobs."""
    name = parse_job(job_name)
    return name.concurrencies if name is not None else ()


def names_row(job_name: str, row: PlannedRow) -> bool:
    """True where a job's name describes a planned row."""
    name = parse_job(job_name)
    return name is not None and _same_kind(name, row) and not mismatch(name, row.row)
