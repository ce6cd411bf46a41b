"""Purpose: why jobs of a run failed, asked of GitHub, by the rules that ship in configs/triage.yaml."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from app.effects.ports import Reader
from app.results.triage import Diagnosis, RetryPlan, Rules, diagnose_run, read_rules, retry_plan
from app.target.yaml_reader import read_yaml

RULES = Path(__file__).resolve().parents[2] / "configs" / "triage.yaml"


@cache
def rules() -> Rules:
    """The shipped rules. Raises RejectedInput for a file that is not one."""
    return read_rules(read_yaml(RULES.read_bytes(), str(RULES)).value, str(RULES))


def failures(reader: Reader, repository: str, run_id: int) -> tuple[list[Diagnosis], frozenset[str]]:
    """Diagnoses of the newest attempt, real failures first, and the names of jobs that were only cancelled."""
    jobs = reader.job_evidence(repository, run_id)
    return diagnose_run(jobs, rules()), frozenset(job.job for job in jobs if job.conclusion == "cancelled")


def retry_plan_of(reader: Reader, repository: str, run_id: int, attempt: int) -> RetryPlan:
    """What `/retry-failed` may run again."""
    diagnoses, cancelled = failures(reader, repository, run_id)
    return retry_plan(diagnoses, cancelled, attempt)
