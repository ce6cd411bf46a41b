"""Purpose: the steps of run-sweep.yml (`sweepgate sweep check|gate|plan|select|summary`): environment in, job outputs
out.

Values of a pull request reach these steps only as environment variables and files, never as shell text. Outputs go to
GITHUB_OUTPUT where it is set, else to stdout. Exit 0 go on (or skip, as the outputs say), 1 this sweep must not run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.target.source import RejectedInput

SKIP = "[skip-sweep]"


def main(argv: Sequence[str]) -> int:
    """Run one step; `argv` begins with `sweep`. Returns the exit code."""
    from app.launch.sweep import SweepProblem

    try:
        options = _parser().parse_args(list(argv)[1:])
    except SystemExit as stop:
        return int(stop.code or 0)
    run = {"check": _check, "gate": _gate, "plan": _plan, "select": _select, "summary": _summary}[options.step]
    try:
        return run(options)
    except (SweepProblem, RejectedInput) as problem:
        print(f"::error::{str(problem).replace(chr(10), '%0A')}")
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sweepgate sweep", allow_abbrev=False, description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    check = steps.add_parser("check", help="labels, head commit, earlier runs", allow_abbrev=False)
    check.add_argument("--checkout", type=Path, required=True)
    check.add_argument("--runs", type=Path, help="the API's list of runs of this workflow")
    steps.add_parser("gate", help="is an authorised run reused instead?", allow_abbrev=False)
    plan = steps.add_parser("plan", help="the matrix of the appended entries", allow_abbrev=False)
    plan.add_argument("--checkout", type=Path, required=True)
    select = steps.add_parser("select", help="canary and families", allow_abbrev=False)
    select.add_argument("--plan", type=Path, required=True)
    select.add_argument("--canary", required=True, choices=("true", "false"))
    summary = steps.add_parser("summary", help="results and failures as Markdown", allow_abbrev=False)
    summary.add_argument("folder", type=Path)
    return parser


def _output(values: Mapping[str, str]) -> None:
    """Write job outputs: one line each; values are JSON or words, which hold no line break."""
    lines = "".join(f"{name}={value}\n" for name, value in values.items())
    target = os.environ.get("GITHUB_OUTPUT")
    if target:
        with Path(target).open("a") as file:
            file.write(lines)
    else:
        sys.stdout.write(lines)


def _skip(reason: str) -> int:
    print(f"::notice::{reason}")
    _output({"skip": "true"})
    return 0


def _git(checkout: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(checkout), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        from app.launch.sweep import SweepProblem

        raise SweepProblem(f"git {arguments[0]} failed in {checkout}: {done.stderr.strip()[:200]}. Check the commits.")
    return done.stdout.strip()


def _check(options: argparse.Namespace) -> int:
    from app.checkout.revisions import changed_paths
    from app.decide.paths import sweep_machinery
    from app.launch.sweep import SweepProblem, older_run, read_labels
    from app.policy import SweepPolicy

    env = os.environ
    labels = read_labels(env.get("SWEEP_LABELS", "").split(), SweepPolicy())
    if not labels.primary:
        return _skip("No primary sweep label is present. Add exactly one to measure.")
    if options.runs is not None:
        runs = json.loads(options.runs.read_text()).get("workflow_runs", [])
        older = older_run(runs, env["SWEEP_KEY"], int(env["GITHUB_RUN_ID"]))
        if older is not None:
            return _skip(f"Run {older} already has this sweep's key. Look at that run.")
    head = env["HEAD_SHA"]
    if SKIP in _git(options.checkout, "show", "--no-patch", "--format=%B", head):
        return _skip(f"The head commit says {SKIP}. Push a commit without it to measure.")
    base = _git(options.checkout, "merge-base", env["BASE_SHA"], head)
    touched = sweep_machinery(changed_paths(str(options.checkout), base, head))
    if touched:
        raise SweepProblem(f"This pull request changes {touched[0]}. Land the workflow change first, then measure.")
    print(f"{labels.primary} {' '.join(labels.modifiers)}".strip())
    _output({"skip": "false"})
    return 0


def _gate(_options: argparse.Namespace) -> int:
    from app.sweep_gate import ask

    answer = ask(os.environ)
    if answer.problem:
        print(f"::error::{answer.problem}")
        return 1
    if not answer.start:
        return _skip(answer.reason)
    _output({"skip": "false"})
    return 0


def _plan(options: argparse.Namespace) -> int:
    from app.checkout.revisions import git_tree, text_diff
    from app.launch.sweep import Scheduling, read_labels, sweep_of
    from app.planner.plan import PlanOptions, plan
    from app.planner.priority import read_weights
    from app.policy import SweepPolicy

    env = os.environ
    words = env.get("SWEEP_LABELS", "").split()
    labels = read_labels(words, SweepPolicy())
    head_sha = env["HEAD_SHA"]
    base_sha = _git(options.checkout, "merge-base", env["BASE_SHA"], head_sha)
    base, head = git_tree(str(options.checkout), base_sha), git_tree(str(options.checkout), head_sha)
    added, deleted = text_diff(*((tree.read(tree.layout.changelog) or b"") for tree in (base, head)))
    found = plan(
        base,
        head,
        PlanOptions(
            trim_conc=labels.trim,
            all_evals="all-evals" in labels.modifiers,
            evals_only="evals-only" in labels.modifiers,
            agentx_fast="agentx-fast" in labels.modifiers,
            added=added,
            deleted=deleted,
            base_ref=base_sha,
            head_ref=head_sha,
        ),
    )
    attempt = int(env.get("GITHUB_RUN_ATTEMPT", "1"))
    scheduling = Scheduling(env.get("SWEEPGATE_SCHEDULER") == "on", env.get("GITHUB_RUN_ID", ""), attempt)
    sweep = sweep_of(found, read_weights(head), words, scheduling)
    _output(
        {
            "plan": sweep.text(),
            "fail_fast": str(labels.fail_fast).lower(),
            "wants_canary": str(labels.wants_canary).lower(),
            "changelog_metadata": json.dumps(found.matrix()["changelog_metadata"], separators=(",", ":")),
            "base_sha": env["BASE_SHA"],
        }
    )
    for bucket, jobs in sweep.jobs.items():
        print(f"{bucket}: {len(jobs)} jobs")
        for job in jobs:
            print(f"  {job['name']}")
    return 0


def _select(options: argparse.Namespace) -> int:
    from app.launch.sweep import read_sweep, selection

    outputs = selection(read_sweep(options.plan.read_text()), with_canary=options.canary == "true")
    _output(outputs)
    for name, value in outputs.items():
        if count := len(json.loads(value)):
            print(f"{name}: {count}")
    return 0


def _summary(options: argparse.Namespace) -> int:
    from app.launch.summary import summary

    sys.stdout.write(summary(options.folder))
    return 0
