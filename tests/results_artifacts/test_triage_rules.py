"""Triage: the shipped rules, the first failing layer, and what may run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.effects.triage import rules
from app.launch.errors import RETRIABLE
from app.results.triage import (
    Diagnosis,
    JobEvidence,
    Log,
    diagnose,
    diagnose_run,
    event_of_log,
    evidence_of_log,
    read_rules,
    retry_plan,
)
from app.target.source import RejectedInput
from app.words.denial import DENIALS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("There are multiple conflicting sweep labels: a, b.", "conflicting-labels"),
        ("EACCES: permission denied, unlink '/home/runner/_work/x'", "workspace-permissions"),
        ("pyxis: user namespace: operation not permitted", "user-namespace"),
        ("OSError: [Errno 28] No space left on device", "disk-full"),
        ("fatal: reference is not a tree: abc", "checkout-failed"),
        ("sbatch: error: invalid partition specified: x", "slurm-refused"),
        ("*** JOB 4 ON n CANCELLED AT 2026-10-21 DUE TO NODE FAILURE ***", "job-vanished"),
        ("*** JOB 4 ON n CANCELLED AT 2026-10-21 DUE TO TIME LIMIT ***", "time-limit"),
        ("manifest for x:y not found: manifest unknown", "image-missing"),
        ("OSError: [Errno 98] Address already in use", "port-in-use"),
        ("torch.OutOfMemoryError: CUDA out of memory.", "out-of-memory"),
        ("Failed to CreateArtifact: Failed to make request", "upload-failed"),
    ],
)
def test_a_line_names_its_rule(line: str, rule: str) -> None:
    found = diagnose(JobEvidence("agentic / c1", "failure", (Log("job log", f"fine\n{line}\nmore"),)), rules())
    assert (found.rule, found.line, found.quoted) == (rule, 2, line)


def test_the_first_failing_layer_wins_over_a_later_one() -> None:
    text = "torch.OutOfMemoryError: CUDA out of memory\nsbatch: error: Batch job submission failed\n"
    found = diagnose(JobEvidence("x", "failure", (Log("job log", text),)), rules())
    assert found.layer == "slurm"


def test_the_launchers_error_counts_like_a_line() -> None:
    event = {"error": {"type": "eval-scores", "message": "gsm8k is 0.5"}}
    found = diagnose(JobEvidence("x", "failure", (), event), rules())
    assert (found.rule, found.retriable, found.source) == ("eval-below-threshold", False, "job_event.json")


def test_a_job_log_carries_its_launch_record() -> None:
    text = 'x job_event {"error": null}\n2026Z job_event {"error": {"type": "disk-full", "message": "m"}}\ntail'
    assert event_of_log(text) == {"error": {"type": "disk-full", "message": "m"}}
    assert event_of_log("job_event {torn") is None
    assert diagnose(evidence_of_log("x", "failure", text), rules()).rule == "disk-full"


def test_an_unknown_failure_is_said_and_not_retriable() -> None:
    found = diagnose(JobEvidence("x", "failure", (Log("job log", "nothing known"),)), rules())
    assert (found.layer, found.retriable) == ("unknown", False)


def test_every_error_type_of_the_launcher_has_one_rule_of_the_same_retriability() -> None:
    for kind, retriable in RETRIABLE.items():
        fitting = [rule for rule in rules().rules if kind in rule.errors]
        assert len(fitting) == 1, kind
        assert fitting[0].retriable is retriable, kind


def test_passed_jobs_are_left_out_and_cancelled_ones_come_last() -> None:
    jobs = [JobEvidence("c", "cancelled"), JobEvidence("s", "success"), JobEvidence("f", "failure")]
    assert [one.job for one in diagnose_run(jobs, rules())] == ["f", "c"]


def bad(job: str, retriable: bool) -> Diagnosis:
    return Diagnosis(job, "slurm", "r", "", 0, "", "Do it.", "做。", retriable)


@pytest.mark.parametrize(
    ("failures", "cancelled", "attempt", "again", "problem"),
    [
        pytest.param([bad("a", True)], [], 1, ["a"], "", id="one failure of the cluster"),
        pytest.param([bad("a", True), bad("b", False)], ["b"], 1, ["a"], "", id="a cancelled sibling does not hold"),
        pytest.param(
            [bad("a", True), bad("b", False)], [], 1, [], "retry-not-retriable", id="one that a rerun cannot mend"
        ),
        pytest.param([bad("a", True)], [], 2, ["a"], "", id="the second retry"),
        pytest.param([bad("a", True)], [], 3, [], "retry-limit", id="no third retry"),
        pytest.param([], [], 1, [], "retry-nothing", id="nothing failed"),
    ],
)
def test_retries(failures: list[Diagnosis], cancelled: list[str], attempt: int, again: list[str], problem: str) -> None:
    plan = retry_plan(failures, cancelled, attempt)
    assert ([one.job for one in plan.again], plan.problem) == (again, problem)
    if problem:
        assert DENIALS[problem][0].format_map(plan.values)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ([], "lists layers and rules"),
        ({"layers": ["a"], "rules": [{"id": "x", "layer": "b", "retriable": True}]}, "layer is one of a"),
        ({"layers": ["a"], "rules": [{"id": "x", "layer": "a", "retriable": "no"}]}, "retriable is true or false"),
        ({"layers": ["a"], "rules": [{"layer": "a", "retriable": True, "match": "("}]}, "id is a text"),
        (
            {
                "layers": ["a"],
                "rules": [{"id": "i", "remedy": "r", "remedy_zh": "z", "layer": "a", "retriable": True, "match": "("}],
            },
            "regular expression",
        ),
        (
            {"layers": ["a"], "rules": [{"id": "i", "remedy": "r", "remedy_zh": "z", "layer": "a", "retriable": True}]},
            "match or errors",
        ),
        ({"layers": ["a"], "rules": [{"idd": 1}]}, "known keys are"),
    ],
)
def test_a_rules_file_that_is_wrong_is_told_where(value: object, found: str) -> None:
    with pytest.raises(RejectedInput, match=found):
        read_rules(value)
