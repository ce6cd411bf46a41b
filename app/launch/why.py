"""Purpose: `sweepgate why RUN`: the failed jobs of a run, the first failing layer of each, and what may run again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from app.results.triage import Diagnosis, JobEvidence, Rules, diagnose_run, read_rules, retry_plan
from app.target.yaml_reader import read_yaml
from app.words.denial import DENIALS


def read_shipped_rules(path: Path) -> Rules:
    """The triage rules. Raises RejectedInput with every problem of the file."""
    return read_rules(read_yaml(path.read_bytes(), str(path)).value, str(path))


def _told(diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "job": diagnosis.job,
        "layer": diagnosis.layer,
        "rule": diagnosis.rule,
        "where": {"log": diagnosis.source, "line": diagnosis.line},
        "quoted": diagnosis.quoted,
        "remedy": diagnosis.remedy,
        "retriable": diagnosis.retriable,
    }


def report(jobs: Sequence[JobEvidence], rules: Rules, attempt: int) -> dict[str, Any]:
    """The JSON form: `failed` (real failures first), counts, and what `/retry-failed` would do."""
    diagnoses = diagnose_run(jobs, rules)
    cancelled = {job.job for job in jobs if job.conclusion == "cancelled"}
    plan = retry_plan(diagnoses, cancelled, attempt)
    return {
        "failed": [_told(item) for item in diagnoses if item.job not in cancelled],
        "cancelled": sorted(cancelled),
        "passed": sum(job.conclusion == "success" for job in jobs),
        "retry": {
            "again": [item.job for item in plan.again],
            "refused": [item.job for item in plan.refused],
            "problem": DENIALS[plan.problem][0].format_map(plan.values) if plan.problem else "",
        },
    }


def print_text(told: Mapping[str, Any]) -> None:
    """The report for a person on stdout."""
    for item in told["failed"]:
        where = item["where"]
        place = f" ({where['log']}:{where['line']})" if where["line"] else f" ({where['log']})" if where["log"] else ""
        print(f"{item['job']}\n  failed in layer {item['layer']}, rule {item['rule']}{place}")
        if item["quoted"]:
            print(f"  > {item['quoted']}")
        print(f"  {item['remedy']}")
    if told["cancelled"]:
        print(f"{len(told['cancelled'])} more were cancelled when it failed.")
    retry = told["retry"]
    if retry["problem"]:
        print(retry["problem"])
    else:
        print(f"Comment /retry-failed to run {len(retry['again'])} of {len(told['failed'])} again.")
