"""Purpose: the story of a label that ends in measured points, told with real parts, as a transcript.

Pull request in the stand-in -> label -> dispatch by the service -> plan -> canary -> 4 more points and an eval through
Slurm -> one point fails on purpose (its node goes down) -> triage, fail-fast, /retry-failed -> artifacts -> results
comment -> sign-off -> verdict whose Pareto row is computed from the measured rows -> a push under /use, gated without a
job. Every step waits for what it says; nothing is assumed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.demo.stage import wait_for
from app.launch.artifact_folder import read_artifacts
from app.launch.evidence import jobs_of_folder
from app.launch.install import CANARIES, FAMILIES
from app.launch.summary import RULES, rows_of, summary
from app.launch.why import read_shipped_rules, report
from app.results.artifacts import BENCHMARKS, check_artifacts
from app.results.curves import curves_of
from app.results.frontier import coverage
from app.sandbox.pull import PullRequest
from app.sandbox.runs import Run
from proof.runner import Runner
from proof.slurm import Cluster
from proof.target_repository import RECIPE, Target, more_points

BOT = "sweepgate[bot]"
POINTS = (2, 3, 4, 6)
LABEL = "full-sweep-fail-fast"
LONGEST_RUN = 600.0
# What the verdict must refuse here: the policy knows GSM8K and vendor suites, not this machine's eval of 24 questions;
# and this engine comes before vLLM and SGLang.
REFUSED = {2: "eval c6", 6: "before any open-source engine"}
SIGN_OFF = """As a PR reviewer and CODEOWNER, I have reviewed this and have:
- [x] Verified that the sweep passed on a commit of this pull request. {run}
- [x] Verified that the evals pass. {run}
"""


class Broken(Exception):  # noqa: N818
    """A step did not do what it must; the message says what was expected and found."""


@dataclass
class Transcript:
    """Says each step with its time, on stdout and into a file."""

    path: Path
    begun: float = field(default_factory=time.monotonic)

    def say(self, text: str) -> None:
        line = f"[{time.monotonic() - self.begun:6.1f} s] {text}"
        self._put(line)

    def block(self, text: str) -> None:
        self._put("\n".join(f"           | {line}" for line in text.rstrip().splitlines()))

    def _put(self, text: str) -> None:
        print(text, flush=True)
        with self.path.open("a") as file:
            file.write(text + "\n")


def must(true: object, expected: str, found: object = "") -> None:
    """Raises Broken where `true` does not hold."""
    if not true:
        raise Broken(f"expected: {expected}; found: {found}")


def tell(target: Target, runner: Runner, cluster: Cluster, told: Transcript) -> None:
    """The whole story. Raises Broken or TooLate at the first step that does not hold."""
    pull = open_pull_request(target, told)
    run, failing = sweep_with_a_failure(pull, cluster, told)
    explain_failure(pull, run, failing, runner, told)
    retry(pull, run, runner, told)
    measured(run, runner, told)
    verdict(pull, run, told)
    gated_push(pull, target, told)
    must(cluster.jobs() == [], "no Slurm job is left", cluster.jobs())
    told.say("squeue shows no job: nothing was left behind")


def open_pull_request(target: Target, told: Transcript) -> PullRequest:
    target.commit("more-points", more_points(target, POINTS), "Measure more points")
    body = "Adds concurrency 2, 3, 4 and 6 to the CPU config, one recipe variant each."
    pull = target.remote.pull_request("more-points", author="author", title="Measure more points", body=body, number=7)
    told.say(f"the author opens pull request #{pull.number} at {pull.head_sha[:12]}")
    return pull


def sweep_with_a_failure(pull: PullRequest, cluster: Cluster, told: Transcript) -> tuple[Run, int]:
    """Label, dispatch, and a node that goes down under the second point of the agentic family."""
    pull.apply_label("maintainer", LABEL)
    told.say(f"a maintainer applies {LABEL}")
    run = wait_for(lambda: newest(pull), "the service to dispatch the sweep", 60)
    told.say(f"the service dispatches run {run.id}: {run.title} (actor {run.actor})")
    failing = wait_for(
        lambda: second_point(run, cluster),
        "the second point of the family to run",
        LONGEST_RUN,
    )
    node = cluster.run("sinfo", "--noheader", "--format=%n")
    cluster.run("scontrol", "update", f"nodename={node}", "state=down", "reason=proof")
    told.say(f"while c{failing} runs, node {node} goes down")
    wait_for(lambda: not cluster.jobs(), "Slurm to give the job up", 60)
    wait_for(lambda: resumed(cluster, node), "the node to come back", 60)
    wait_for(lambda: run.status == "completed", "the run to end", LONGEST_RUN)
    told.say(f"the node is back; run {run.id} ended with {run.conclusion}")
    told.block("\n".join(f"{job.conclusion or 'in progress':10} {job.name}" for job in run.latest_jobs(1)))
    must(run.conclusion == "failure", "the run failed", run.conclusion)
    names_are_table_c(run)
    return run, failing


def resumed(cluster: Cluster, node: str) -> bool:
    """Ask for the node's return; Slurm refuses while it still clears the node."""
    try:
        cluster.run("scontrol", "update", f"nodename={node}", "state=resume")
    except subprocess.CalledProcessError:
        return "idle" in cluster.run("sinfo", "--noheader", "--format=%t")
    return True


def newest(pull: PullRequest) -> Run | None:
    return pull.repo.runs[-1] if pull.repo.runs else None


def second_point(run: Run, cluster: Cluster) -> int | None:
    """The concurrency of the point that Slurm runs now, once one point of the agentic family has passed."""
    passed = [job for job in run.latest_jobs() if job.conclusion == "success" and job.name.startswith("agentic / ")]
    live = [line.split() for line in cluster.jobs()]
    if not passed or not live or live[0][-1] != "RUNNING":
        return None
    shown = cluster.run("scontrol", "show", "job", live[0][0], "--oneliner")
    script = re.search(r"Command=(\S+)", shown)
    text = Path(script.group(1)).read_text() if script else ""
    found = re.search(r"^export CONC=(\d+)$", text, re.MULTILINE)
    return int(found.group(1)) if found and "export EVAL_ONLY=false" in text else None


def names_are_table_c(run: Run) -> None:
    """Every job bears a name of table C."""
    gates = ("check-changelog", "setup", "canary-select", "upload-changelog-metadata", "calc-success-rate",
             "collect-results / collect-results", "collect-evals / collect-evals",
             "collect-job-events / collect-job-events", "comment-unofficial-run-visualizer")  # fmt: skip
    families = tuple(family.name for family in (*CANARIES, *FAMILIES))
    collectors = ("collect-results", "collect-evals", "collect-job-events")
    strange = [job.name for job in run.jobs if not job.name.startswith(families) and job.name not in gates + collectors]
    must(not strange, "names of table C", strange)


def explain_failure(pull: PullRequest, run: Run, failing: int, runner: Runner, told: Transcript) -> None:
    folder = runner.workspace.artifacts / str(run.id)
    failed = report(jobs_of_folder(folder), read_shipped_rules(RULES), 1)["failed"]
    must(
        len(failed) == 1 and f"conc{failing}_" in failed[0]["job"],
        f"exactly c{failing} failed",
        failed,
    )
    told.say(f"sweepgate why: layer {failed[0]['layer']}, rule {failed[0]['rule']}: {failed[0]['quoted']}")
    told.block(failed[0]["remedy"])
    cut = [job.name for job in run.latest_jobs(1) if job.conclusion == "cancelled"]
    must(
        len(cut) == len(POINTS) - 2,
        "fail-fast cancelled the points that had not started",
        cut,
    )
    told.say(f"fail-fast: {len(cut)} points that had not started were cancelled, the eval family went on")
    comment = said(pull, "ended with")
    told.say("the results comment says it:")
    told.block(comment)
    must(failed[0]["remedy"] in comment, "the comment names the remedy", comment)


def said(pull: PullRequest, part: str) -> str:
    """The bot's comment with these words, once it is there."""

    def find() -> str | None:
        bodies = [one.body for one in pull.comment_list("issue") if one.author == BOT and part in one.body]
        return bodies[-1] if bodies else None

    return wait_for(find, f"a comment with {part!r}", 60)


def retry(pull: PullRequest, run: Run, runner: Runner, told: Transcript) -> None:
    pull.comment("maintainer", "/retry-failed")
    told.say("the maintainer comments /retry-failed")
    wait_for(lambda: run.attempt == 2, "the second attempt", 60)
    wait_for(
        lambda: (run.id, 2) in runner.done and run.status == "completed",
        "the second attempt to end",
        LONGEST_RUN,
    )
    told.say(f"attempt 2 ended with {run.conclusion}")
    told.block("\n".join(f"{job.conclusion or 'in progress':10} {job.name}" for job in run.latest_jobs(2)))
    must(run.conclusion == "success", "the second attempt passes", run.conclusion)
    again = [text for text in log_lines(runner, run, 2) if "submitted job" in text]
    kept = [text for text in log_lines(runner, run, 2) if "already finished" in text]
    must(
        len(again) == len(POINTS) - 1,
        "only unfinished rows were submitted again",
        again,
    )
    told.say(f"{len(again)} rows were submitted again, {len(kept)} were kept from attempt 1")


def log_lines(runner: Runner, run: Run, attempt: int) -> Iterable[str]:
    return [line for job in runner.done[run.id, attempt].jobs.values() for line in job.log]


def measured(run: Run, runner: Runner, told: Transcript) -> None:
    folder = runner.workspace.artifacts / str(run.id)
    checked = check_artifacts(read_artifacts(folder))
    must(
        checked.accepted,
        "the artifacts pass the reuse validation",
        [str(item) for item in checked.problems],
    )
    told.say(f"artifacts pass the reuse validation: {dict(checked.counts)}")
    told.say("measured on this machine:")
    told.block(summary(folder))
    curve = p90(rows_of(folder, BENCHMARKS))
    must(
        curve.measured_points == len(POINTS) + 1,
        "five measured points",
        curve.measured_points,
    )


def p90(rows: list[Mapping[str, Any]]) -> Any:
    curve = next(one for one in curves_of(rows) if one.percentile == "P90")
    return coverage(curve.key, list(curve.points))


def verdict(pull: PullRequest, run: Run, told: Transcript) -> None:
    url = f"https://github.com/{pull.repo.full_name}/actions/runs/{run.id}"
    pull.comment("maintainer", f"/use {run.id}")
    told.say(f"the maintainer comments /use {run.id}")
    pull.comment("reviewer", SIGN_OFF.format(run=url))
    told.say("the reviewer signs off")
    body = said(pull, "Assessed commit")
    told.say("the verdict:")
    told.block(body)
    artifacts = [artifact for artifact in run.artifacts if artifact.name == BENCHMARKS[0]]
    must(artifacts, "the run has results_bmk", [one.name for one in run.artifacts])
    row = next((line for line in body.splitlines() if "Check 14" in line), "")
    must(f"of {len(POINTS) + 1} points on the frontier" in row, "check 14 counts the five measured points", row)
    must("Check 1 (Passing sweep on in-PR commit): PASS" in body, "check 1 accepts the run", body)
    failing = {int(number): reason for number, reason in re.findall(r"Check (\d+) \([^)]*\): FAIL — (.*)", body)}
    must(set(failing) == set(REFUSED), f"the verdict refuses checks {sorted(REFUSED)} and no other", failing)
    for number, why in REFUSED.items():
        must(why in failing[number], f"check {number} refuses because {why!r}", failing[number])


def gated_push(pull: PullRequest, target: Target, told: Transcript) -> None:
    """Under `/use`, a push that changes no measurement: no run may start."""
    before = len(target.remote.runs)
    text = target.text(RECIPE)
    sha = target.commit(
        "more-points",
        {RECIPE: text + "# a comment changes no measurement\n"},
        "Say why",
    )
    told.say(f"the author pushes {sha[:12]}: a comment in the recipe")
    body = wait_for(lambda: assessed(pull, sha), "a verdict of the new head", 120)
    must(
        len(target.remote.runs) == before,
        "no run starts under /use",
        len(target.remote.runs),
    )
    told.say("no run was started; the verdict now speaks of the new head:")
    told.block("\n".join(line for line in body.splitlines() if "Changed since" in line or "Assessed" in line))


def assessed(pull: PullRequest, sha: str) -> str | None:
    bodies = [one.body for one in pull.comment_list("issue") if one.author == BOT]
    return next((body for body in bodies if f"Assessed commit: `{sha}`" in body), None)


def fail(message: str) -> int:
    print(f"sweep-proof: {message}", file=sys.stderr)
    return 1
