"""Purpose: check 1, rule by rule: jobs of the evidence run against the plan, and the commit that it measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.facts.evidence_run import NO_RUN
from app.facts.github import LabelTimeline
from app.facts.records import Account, CommitRecord, LabelEventRecord
from app.facts.sweep import BenchmarkRows, EvidenceRun, Jobs, PlanRows
from app.planner.job_names import check_run_name
from tests.checks.sweep_story import BASE, EARLIER, HEAD, NVIDIA, RUN, Sweep, a_job, a_run
from tests.support.bundles import flipped, good

AGENTIC = "dsv4-fp4-b200-vllm-agentic-dspark"
FIXED = "dsr1-fp4-b200-sglang-mtp"
DISAGG = "kimik3-fp4-gb300-dynamo-vllm-agentic-dspark-disagg"
RECIPE = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/dsv4/vllm/b200-fp4-mtp/agentic.yaml"
C80 = " c80"


def agentic(**changes: Any) -> Sweep:
    return Sweep.of(AGENTIC, **changes)


def without(part: str) -> Sweep:
    sweep = agentic()
    sweep.jobs = [job for job in sweep.jobs if part not in job.name]
    return sweep


def canary() -> Sweep:
    """The lowest point ran as the canary and is not in the family."""
    sweep = agentic()
    row = sweep.plan().rows[0]
    sweep.jobs[0] = a_job(0, check_run_name(row.bucket, row.row, 3.5, is_canary=True))
    sweep.jobs += [a_job(90, "single-node 8k1k /", conclusion="skipped", runner_name="", steps=0)]
    return sweep


def second_attempt(conclusion: str) -> Sweep:
    sweep = agentic().job(C80, conclusion="failure")
    again = next(job for job in sweep.jobs if C80 in job.name and "eval" not in job.name)
    sweep.jobs.append(again.model_copy(update={"id": 900, "attempt": 2, "conclusion": conclusion}))
    sweep.jobs = [job.model_copy(update={"conclusion": "success"}) if "eval" in job.name else job for job in sweep.jobs]
    sweep.run = a_run(attempt=2)
    return sweep


def earlier(change: Callable[[dict[str, bytes]], None] = lambda tree: None, sha: str = EARLIER) -> Sweep:
    """The run measured an earlier commit of the pull request, whose files differ as `change` says."""
    sweep = agentic(run=a_run(sha=sha))
    sweep.commits.insert(0, CommitRecord(sha=sha, parents=(BASE,)))
    tree = dict(sweep.head)
    change(tree)
    sweep.trees[sha] = tree
    return sweep


def swap(path: str, old: str, new: str) -> Callable[[dict[str, bytes]], None]:
    def change(tree: dict[str, bytes]) -> None:
        assert old.encode() in tree[path]
        tree[path] = tree[path].replace(old.encode(), new.encode())

    return change


def dropped(conclusion: str) -> Sweep:
    """A retune whose run measured c80 as well; the head has taken that point out."""
    sweep = (
        Sweep().edit(RECIPE, "max-num-batched-tokens: 8192", "max-num-batched-tokens: 4096").names(AGENTIC).measure()
    )
    sweep.job(C80, conclusion=conclusion)
    full = dict(sweep.head)
    sweep.edit(NVIDIA, "conc-list: [24, 48, 80]", "conc-list: [24, 48]")
    row = next(row for row in sweep.plan().rows if row.is_eval and 48 in row.concurrencies)
    sweep.jobs.append(a_job(91, check_run_name(row.bucket, row.row, 3.5)))
    sweep.run = a_run(sha=EARLIER, conclusion="failure")
    sweep.commits.insert(0, CommitRecord(sha=EARLIER, parents=(BASE,)))
    sweep.trees[EARLIER] = full
    return sweep


def carrier(*, only_changelog: bool = True) -> Sweep:
    """A recovery: the head merges the source commit and changes the changelog alone."""
    sweep = agentic(run=a_run(sha=EARLIER))
    sweep.commits = [CommitRecord(sha=HEAD, parents=(BASE, EARLIER))]
    sweep.trees[EARLIER] = dict(sweep.head)
    if not only_changelog:
        sweep.changed.append("inferencex-e2e/docs/notes.md")
    return sweep


def removal() -> Sweep:
    return Sweep().edit(NVIDIA, "conc-list: [24, 48, 80]", "conc-list: [24, 48]")


def no_run() -> Sweep:
    return agentic().lose(EvidenceRun, f"{NO_RUN}: the sweep workflow has not run for this pull request")


def skipped_family() -> Sweep:
    sweep = without("agentic / ")
    sweep.jobs += [
        a_job(90, "agentic /", conclusion="skipped", runner_name="", steps=0),
        a_job(91, "collect-results / collect-results"),
        a_job(92, "collect-evals / collect-evals"),
    ]
    return sweep


def relabelled_budget() -> Sweep:
    sweep = agentic()
    for row in sweep.rows:
        if row["kv_offloading"] == "dram":
            row["allocated_cpu_dram_gb"] = 100
    return sweep


def relabelled_commit() -> Sweep:
    """Since the measured commit only the label of c1, c3 and c6 changed."""
    to_dram = "kv-offloading: dram, kv-offload-backend: { name: native }, spec-decoding: mtp, conc-list: [1, 3, 6]"
    sweep = earlier()
    sweep.edit(NVIDIA, "kv-offloading: none, spec-decoding: mtp, conc-list: [1, 3, 6]", to_dram)
    return sweep.edit(RECIPE, "KV_OFFLOADING: none", "KV_OFFLOADING: dram")


def surplus() -> Sweep:
    sweep = agentic()
    sweep.rows.append({**sweep.rows[-1], "conc": 96})
    return sweep


def unplanned() -> Sweep:
    """c100 is added and no changelog entry names the key."""
    return Sweep().edit(NVIDIA, "conc-list: [24, 48, 80]", "conc-list: [24, 48, 80, 100]")


def fork() -> Sweep:
    return agentic(pull={"head_repository": "outsider/InferenceX"})


def edits_workflow(path: str) -> Sweep:
    sweep = agentic()
    sweep.changed.append(path)
    return sweep


def under(label: str) -> Sweep:
    event = LabelEventRecord(
        id="L1", action="labeled", label=label, actor="maintainer", created_at="2026-10-20T09:59:00Z"
    )
    return agentic(label_events=[event])


def undecided() -> Sweep:
    sweep = agentic()
    sweep.head["inferencex-e2e/runners/launch_mi.sh"] = b"echo\n"
    sweep.changed.append("inferencex-e2e/runners/launch_mi.sh")
    return sweep


def dispatched(**changes: Any) -> Sweep:
    sweep = agentic(metadata={"head_ref": HEAD, "entries": [{"config-keys": [AGENTIC]}]})
    bot = Account(login=sweep.policy.sweep.bot, type="Bot")
    sweep.run = a_run(sha=BASE, event="workflow_dispatch", head_branch="main", actor=bot, **changes)
    return sweep


REFORMAT = swap(RECIPE, "\n", "\n\n")
OTHER_FLAG = swap(RECIPE, "max-num-batched-tokens: 12288", "max-num-batched-tokens: 6144")


@pytest.mark.parametrize(
    ("make", "status", "text"),
    [
        pytest.param(
            agentic,
            "PASS",
            "run 4001 attempt 1 on aaaaaaa (the head): 6 of 6 benchmark jobs and 2 of 2 eval jobs passed",
            id="1.green: an agentic key",
        ),
        pytest.param(lambda: Sweep.of(FIXED), "PASS", "5 of 5 benchmark jobs", id="1.green: a fixed-sequence key"),
        pytest.param(lambda: Sweep.of(DISAGG), "PASS", "2 of 2 eval jobs", id="1.green: multi-node disaggregated"),
        pytest.param(dispatched, "PASS", "on aaaaaaa (the head)", id="1.green: a run that we dispatched"),
        pytest.param(
            lambda: earlier(REFORMAT),
            "PASS",
            "on eeeeeee, same measurement as the head (6 points",
            id="1.earlier-commit: a reformatted recipe",
        ),
        pytest.param(canary, "PASS", "6 of 6 benchmark jobs", id="1.canary 1.own-lanes: canary and family together"),
        pytest.param(lambda: second_attempt("success"), "PASS", "attempt 2", id="1.attempt: a re-run job passed"),
        pytest.param(
            lambda: second_attempt("failure"), "FAIL", "ended with failure", id="1.attempt: the last attempt counts"
        ),
        pytest.param(
            lambda: dropped("failure"),
            "PASS",
            "its other jobs are not planned",
            id="1.dropped: exactly the failed point left the plan",
        ),
        pytest.param(
            lambda: dropped("success"),
            "FAIL",
            "holds c80, which the head does not plan",
            id="1.surplus: a measured point was taken out",
        ),
        pytest.param(carrier, "PASS", "same measurement as the head", id="1.carrier: the source is a second parent"),
        pytest.param(
            lambda: carrier(only_changelog=False),
            "FAIL",
            "could not be verified: run 4001",
            id="1.carrier: another file changes too",
        ),
        pytest.param(removal, "N/A", "removals only", id="1.removals"),
        pytest.param(no_run, "FAIL", "no benchmark or eval job counts on any commit", id="1.no-run"),
        pytest.param(
            skipped_family, "FAIL", "the family `agentic` was skipped", id="1.skipped 1.collector: green collectors"
        ),
        pytest.param(
            lambda: agentic().job(C80, runner_name="", steps=0),
            "FAIL",
            "its job did not run",
            id="1.skipped: a job without a runner",
        ),
        pytest.param(lambda: without(C80), "FAIL", "c80: it has no job in the run", id="1.skipped: no job at all"),
        pytest.param(
            lambda: without("eval"), "FAIL", "eval c6: it has no job in the run", id="1.skipped: the evals did not run"
        ),
        pytest.param(
            lambda: agentic().job(C80, conclusion="failure"),
            "FAIL",
            "2 of 8 planned jobs without a pass; c80: its job ended with failure",
            id="1.failed-job",
        ),
        pytest.param(
            lambda: agentic(run=a_run(status="in_progress", conclusion=None)),
            "FAIL",
            "run 4001 is in_progress",
            id="1.unfinished",
        ),
        pytest.param(
            lambda: agentic(run=a_run(sha="d" * 40)),
            "FAIL",
            "its commit ddddddd is neither in the pull request nor carried",
            id="1.rebased",
        ),
        pytest.param(
            lambda: earlier(OTHER_FLAG),
            "FAIL",
            "measured eeeeeee, which is not the head's measurement: …/b200-fp4-mtp/agentic.yaml",
            id="1.other-measurement: the recipe changed since",
        ),
        pytest.param(
            relabelled_budget,
            "FAIL",
            "labels changed, points not re-measured",
            id="1.labels: another DRAM budget than the measured one",
        ),
        pytest.param(
            relabelled_commit,
            "FAIL",
            "labels changed, points not re-measured",
            id="1.labels: kv-offloading changed since the measured commit",
        ),
        pytest.param(surplus, "FAIL", "holds c96, which the head does not plan", id="1.surplus: a row of no point"),
        pytest.param(
            unplanned, "FAIL", "is affected and in no plan: name the key in an appended", id="1.unplanned: no entry"
        ),
        pytest.param(
            lambda: agentic(labels=("full-sweep-enabled", "evals-only")),
            "FAIL",
            "evals-only plans no throughput",
            id="1.unplanned: the label evals-only is on",
        ),
        pytest.param(fork, "FAIL", "re-anchor on a branch of this repository", id="1.fork"),
        pytest.param(
            lambda: edits_workflow(".github/workflows/run-sweep.yml"),
            "FAIL",
            "land that change first",
            id="1.workflow-edit: a workflow",
        ),
        pytest.param(
            lambda: edits_workflow(".github/actions/setup/action.yml"),
            "FAIL",
            "land that change first",
            id="1.workflow-edit: a composite action",
        ),
        pytest.param(lambda: under("agentx-fast"), "FAIL", "made under agentx-fast", id="1.modifier"),
        pytest.param(
            lambda: agentic().lose(LabelTimeline),
            "FAIL",
            "could not be verified: the labels when run 4001 was made",
            id="1.modifier: without the label timeline nobody knows",
        ),
        pytest.param(
            lambda: agentic(pull={"labels": ("full-sweep-enabled", "untold")}),
            "FAIL",
            "the timeline does not tell when untold was added",
            id="1.modifier: a timeline that does not account for today's labels",
        ),
        pytest.param(undecided, "FAIL", "could not be verified: what the pull request affects", id="1.undecided"),
        pytest.param(
            lambda: agentic().lose(Jobs), "FAIL", "could not be verified: the jobs", id="without jobs nobody knows"
        ),
        pytest.param(
            lambda: agentic().lose(PlanRows), "FAIL", "could not be verified: the sweep plan", id="without the plan"
        ),
        pytest.param(
            lambda: agentic().lose(BenchmarkRows),
            "FAIL",
            "could not be verified: the benchmark result rows",
            id="without rows",
        ),
        pytest.param(
            lambda: earlier(lambda tree: tree.clear()),
            "FAIL",
            "could not be verified: same measurement of eeeeeee and aaaaaaa",
            id="1.other-measurement: an unreadable earlier commit is not equal",
        ),
        pytest.param(Sweep, "N/A", "no benchmark point is affected", id="nothing is affected"),
    ],
)
def test_rules_of_check_1(make: Callable[[], Sweep], status: str, text: str) -> None:
    row = make().row(1)
    assert (row.status.value, text in row.reason) == (status, True), row.reason


def test_a_job_that_passed_without_a_row_is_found() -> None:
    """1.row"""
    sweep = agentic()
    sweep.rows = [row for row in sweep.rows if row["conc"] != 80]
    row = sweep.row(1)
    assert (row.status.value, row.findings[0].found) == ("FAIL", "c80 passed without a result row")
    assert row.findings[0].where.run == RUN


def test_a_multi_node_job_covers_its_whole_list() -> None:
    """1.list"""
    sweep = Sweep()
    entry = """
dsr1-fp8-gb200-dynamo-sglang:
  image: lmsysorg/sglang:v1
  model: deepseek-ai/DeepSeek-R1-0528
  model-prefix: dsr1
  runner: cluster:gb200-nv
  precision: fp8
  framework: dynamo-sglang
  multinode: true
  disagg: true
  kv-p2p-transfer: nixl
  scenarios:
    fixed-seq-len:
    - isl: 8192
      osl: 1024
      search-space:
      - conc-list: [4, 16, 64]
        prefill: { num-worker: 1, tp: 8, ep: 8, dp-attn: true }
        decode: { num-worker: 2, tp: 8, ep: 1, dp-attn: false }
"""
    for tree in (sweep.base, sweep.head):
        tree[NVIDIA] += entry.encode()
    sweep.names("dsr1-fp8-gb200-dynamo-sglang").measure()
    throughput = [job for job in sweep.jobs if "eval" not in job.name]
    assert [job.name.split("|")[1].split()[-1] for job in throughput] == ["c4x16x64"]
    assert "1 of 1 benchmark job and 1 of 1 eval job passed" in sweep.row(1).reason
    sweep.job("c4x16x64", conclusion="failure")
    assert "8k1k c4-c64: its job ended with failure" in sweep.row(1).reason


def test_a_run_that_the_sign_off_links_by_mistake_is_told() -> None:
    editor = good()
    with editor.record("comments") as comments:
        for one in comments:
            one["body"] = one["body"].replace("actions/runs/39404635036", "actions/runs/39404635035")
    row = next(row for row in editor.verdict().rows if row.number == 1)
    assert row.status.value == "PASS"
    assert {finding.found for finding in row.result.findings} == {"the sign-off links run 39404635035"}


def fail_job(concurrency: int):
    editor = good()
    with editor.record("jobs") as jobs:
        next(job for job in jobs if job["name"].endswith(f"c{concurrency}"))["conclusion"] = "failure"
    with editor.record("runs") as runs:
        runs[0]["conclusion"] = "failure"
    return editor


def other_commit():
    """The run is of a commit that was rebased out."""
    editor = good()
    with editor.record("runs") as runs:
        runs[0]["head_sha"] = "0" * 39 + "1"
    return editor


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: fail_job(8), id="1.failed-job: one point of the story failed"),
        pytest.param(lambda: fail_job(20), id="1.failed-job: another point, pinned all the same"),
    ],
)
def test_one_change_of_the_story_flips_this_row_alone(make) -> None:
    assert flipped(good().rows(), make().rows()) == {1: "FAIL"}


def test_a_rebased_run_leaves_no_evidence_for_any_row_that_needs_it() -> None:
    """1.rebased: the rows of jobs, evals and curves fall together."""
    rows = flipped(good().rows(), other_commit().rows())
    assert rows[1] == "FAIL"
    assert {1, 2, 4, 14} <= set(rows)
