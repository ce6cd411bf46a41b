"""Purpose: the verbs of sweeps on the command line: launch, collect, artifacts check, why, install.

Invariants: JSON or the answer on stdout, everything else on stderr; exit 0 fine, 1 a finding or a failed job, 2 usage
or unreadable input, 128+n for a launch that signal n stopped. Imports are lazy: a job pays for what it uses.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.target.source import RejectedInput

AGGREGATES = {
    "results": "results_bmk",
    "evals": "eval_results_all",
    "stats": "run-stats",
    "events": "job_events",
    "metadata": "changelog-metadata",
}
SHIPPED = Path(__file__).resolve().parents[1] / "configs"


def main(argv: Sequence[str] | None = None) -> int:
    """Dispatch one verb; `argv` begins with the verb. Returns the exit code."""
    try:
        arguments = _parser().parse_args(list(sys.argv[1:] if argv is None else argv))
    except SystemExit as stop:
        return int(stop.code or 0)
    run = {
        "launch": _launch,
        "collect": _collect,
        "artifacts": _artifacts,
        "why": _why,
        "install": _install,
    }[arguments.verb]
    return run(arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sweepgate", allow_abbrev=False)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    _launch_arguments(verbs.add_parser("launch", help="run one planned row on this runner", allow_abbrev=False))
    collect = verbs.add_parser("collect", help="join a run's artifacts into aggregates", allow_abbrev=False)
    collect.add_argument("folder", type=Path, metavar="DIR", help="one sub-folder for each artifact")
    collect.add_argument("--out", type=Path, help="where aggregates go (default: DIR)")
    collect.add_argument("--plan", type=Path, help="the planner's matrix, for changelog-metadata")
    collect.add_argument("--only", choices=tuple(AGGREGATES), help="only these aggregates")
    artifacts = verbs.add_parser("artifacts", help="validate a run's artifacts", allow_abbrev=False)
    artifacts.add_argument("what", choices=("check",))
    artifacts.add_argument("folder", type=Path, metavar="DIR", help="one sub-folder for each artifact")
    artifacts.add_argument("--format", choices=("json", "text"), default="json")
    why = verbs.add_parser("why", help="why jobs of a run failed, and what may run again", allow_abbrev=False)
    why.add_argument("run", metavar="RUN", help="a folder with the run's artifacts")
    why.add_argument("--attempt", type=int, default=1, help="attempt of the run, for what may run again")
    why.add_argument("--format", choices=("json", "text"), default="text")
    install = verbs.add_parser("install", help="write or update the workflows of a repository", allow_abbrev=False)
    install.add_argument("--repo", type=Path, required=True, metavar="DIR")
    install.add_argument("--mode", choices=("service", "actions"), help="how sweeps start (default: as installed)")
    install.add_argument("--check", action="store_true", help="write nothing; exit 1 where files differ")
    return parser


def _launch_arguments(parser: argparse.ArgumentParser) -> None:
    env = os.environ
    scratch = env.get("RUNNER_TEMP", "/tmp")  # noqa: S108  (the runner's own scratch folder where there is one)
    parser.add_argument("--row", type=Path, required=True, help="a row of the planned matrix, as JSON")
    parser.add_argument("--checkout", type=Path, default=Path(), help="the measured checkout (default: here)")
    parser.add_argument("--sha", default="", help="the commit that the checkout must be at")
    parser.add_argument("--trusted", type=Path, help="a checkout of the target branch, for curves and thresholds")
    parser.add_argument("--out", type=Path, default=Path(scratch, "sweepgate-out"), help="where results are staged")
    parser.add_argument("--work", type=Path, default=Path(scratch, "sweepgate-work"), help="seen by compute nodes")
    parser.add_argument("--policy", type=Path, default=env.get("SWEEPGATE_LAUNCH_POLICY") or SHIPPED / "launch.yaml")
    parser.add_argument("--keep", type=Path, default=env.get("SWEEPGATE_KEEP") or None, help="finished rows, by run")
    parser.add_argument("--upload-failed", metavar="NAME", help="note in --out that an artifact was not stored")


def _fail(message: str, code: int = 2) -> int:
    print(message, file=sys.stderr)
    return code


def _print(value: Any) -> None:
    print(json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False))


def _launch(arguments: argparse.Namespace) -> int:
    from app.launch.drive import launch, note_upload_failure
    from app.launch.errors import LaunchError
    from app.launch.prepare import Options

    env = os.environ
    out, work = arguments.out.resolve(), arguments.work.resolve()
    if arguments.upload_failed:
        return note_upload_failure(out, arguments.upload_failed)
    if not arguments.row.is_file():
        return _fail(f"{arguments.row} is not there. Give --row the JSON of one planned row.")
    state = env.get("SWEEPGATE_STATE") or Path(env.get("RUNNER_TOOL_CACHE") or "/tmp", "sweepgate-state")  # noqa: S108
    attempt = env.get("GITHUB_RUN_ATTEMPT", "1")
    options = Options(
        row_file=arguments.row,
        policy_file=Path(arguments.policy),
        checkout=arguments.checkout.resolve(),
        out=out,
        work=work,
        state=Path(state),
        sha=arguments.sha,
        trusted=arguments.trusted.resolve() if arguments.trusted else None,
        runner=env.get("RUNNER_NAME") or "local",
        runner_given=bool(env.get("RUNNER_NAME")),
        run_id=env.get("GITHUB_RUN_ID", ""),
        attempt=int(attempt) if attempt.isdigit() else 1,
        thinking=env.get("THINKING_MODE") or "thinking_on",
        keep=Path(arguments.keep) if arguments.keep else None,
        fast=env.get("AGENTX_FAST") == "true",
    )
    try:
        return launch(options)
    except LaunchError as error:
        return _fail(str(error))


def _collect(arguments: argparse.Namespace) -> int:
    from app.launch.artifact_folder import UnreadableFolder, read_artifacts, write_files
    from app.results.collect import collect

    try:
        plan = json.loads(arguments.plan.read_text()) if arguments.plan else None
        artifacts = read_artifacts(arguments.folder)
    except UnreadableFolder as error:
        return _fail(str(error))
    except (OSError, ValueError) as error:
        return _fail(f"{arguments.plan} is no readable plan: {error}. Give the JSON of `sweepgate plan`.")
    found = collect(artifacts, plan)
    wanted = {AGGREGATES[arguments.only]} if arguments.only else set(AGGREGATES.values())
    files = {place: content for place, content in found.files.items() if place[0] in wanted}
    write_files(arguments.out or arguments.folder, files)
    for problem in found.problems:
        print(f"warning: {problem}.", file=sys.stderr)
    _print({"written": sorted("/".join(place) for place in files), "problems": list(found.problems)})
    return 1 if found.problems else 0


def _artifacts(arguments: argparse.Namespace) -> int:
    from app.launch.artifact_folder import UnreadableFolder, read_artifacts
    from app.results.artifacts import check_artifacts, report_json

    try:
        report = check_artifacts(read_artifacts(arguments.folder))
    except UnreadableFolder as error:
        return _fail(str(error))
    if arguments.format == "json":
        _print(report_json(report))
    else:
        for problem in report.problems:
            print(problem)
        counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in report.counts.items())
        verdict = "can be reused" if report.accepted else "cannot be reused: choose another run or re-run its jobs"
        print(f"{counts}; the artifacts {verdict}.")
    return 0 if report.accepted else 1


def _why(arguments: argparse.Namespace) -> int:
    from app.launch.evidence import jobs_of_folder
    from app.launch.why import print_text, read_shipped_rules, report

    try:
        rules = read_shipped_rules(SHIPPED / "triage.yaml")
    except RejectedInput as error:
        return _fail(str(error))
    folder = Path(arguments.run)
    if folder.is_dir():
        jobs, attempt = jobs_of_folder(folder), arguments.attempt
    else:
        return _fail(f"{arguments.run} is no folder. Download the run's artifacts and give their folder.")
    if not jobs:
        return _fail(f"{arguments.run} holds nothing of a run. Download the run's artifacts and give their folder.")
    told = report(jobs, rules, attempt)
    if arguments.format == "json":
        _print(told)
    else:
        print_text(told)
    return 1 if told["failed"] else 0


def _install(arguments: argparse.Namespace) -> int:
    from app.launch.install import InstallProblem, install

    try:
        return install(arguments.repo, arguments.mode, check=arguments.check)
    except InstallProblem as problem:
        return _fail(str(problem))


if __name__ == "__main__":
    sys.exit(main())
