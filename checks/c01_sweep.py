"""Purpose: check 1: every planned point and eval was measured by an executed, passing job on a commit of this pull
request that is the same measurement as the head.

Jobs decide, not the run's colour: a skipped family proves nothing, collectors never count, canary and family jobs are
counted together. A failed run is fine only where exactly the missing points are not in the plan any more.

Invariants: runs of forks, runs of a pull request that edits the sweep workflows, and runs under a modifier that blocks
reuse are no evidence. The run's attempt is part of the answer. Nothing is parsed from artifact names.
Source: rules.md 1; workflows.md 5 and 6; design.md 5; verdicts.md, check 1.
"""

from __future__ import annotations

from collections.abc import Iterable

from app.facts.base import Facts, Missing
from app.facts.evidence_run import NO_RUN, is_family, measured_commit, touches_workflows
from app.facts.github import ChangedFiles, LabelTimeline, PullRequest
from app.facts.records import JobRecord, RunRecord
from app.facts.repository import HeadTree, OtherTrees
from app.facts.sign_off import SignOff
from app.facts.sweep import BenchmarkRows, ChangelogMetadata, EvidenceRun, Jobs, PlanRows, ResultRow
from app.planner.plan import PlannedRow
from app.planner.points import Point
from app.planner.same_measurement import Comparison
from app.planner.scope import Scope
from app.planner.selection import matching
from app.target.source import FileLine
from checks.applying import (
    NOTHING_AFFECTED,
    WHAT,
    found_or,
    listed,
    removal_only,
    throughput_keys,
)
from checks.contract import (
    FAIL,
    NA,
    PASS,
    CannotVerify,
    CheckResult,
    Comment,
    Finding,
    Help,
    Job,
    NotApplicable,
    Optional,
    Required,
    Row,
    Unverified,
    check,
    failed,
    passed,
)
from checks.coverage import Coverage, concurrencies, cover, label_of, one_job_each, relabelled, rows_of, surplus_rows
from checks.run_labels import blocking_labels
from checks.sameness import compared, files_of, findings, undecided

RULES = {
    "1.green": "Every planned point and eval has an executed, passing job of the evidence run.",
    "1.earlier-commit": "The run may be of an earlier commit in the pull request if that is the same measurement.",
    "1.own-lanes": "Only the families that the plan has rows for need to run; the others may be skipped.",
    "1.canary": "The canary job counts for its point, together with the family's jobs.",
    "1.attempt": "The last attempt of each job counts; the row names the run's attempt.",
    "1.list": "A multi-node fixed-sequence job covers its whole list of concurrencies.",
    "1.dropped": "Failed points are fine where exactly these are not in the plan any more.",
    "1.carrier": "A changelog-only carrier is covered by its authorised source run, also as second parent.",
    "1.removals": "Points that are only removed need no run (N/A).",
    "1.no-run": "No benchmark or eval job ran on any commit of the pull request.",
    "1.skipped": "A planned point or eval was skipped, or its job did not execute.",
    "1.collector": "A passing collector is not evidence.",
    "1.failed-job": "The job of a planned point or eval did not pass.",
    "1.unfinished": "The run has not ended.",
    "1.rebased": "The run's commit is not in the pull request any more.",
    "1.other-measurement": "The run's commit is not the same measurement as the head.",
    "1.labels": "Labels of a row changed (kv-offloading, dram-utilization) and the point was not measured again.",
    "1.row": "A job passed and the run has no result row of its point.",
    "1.surplus": "The run holds a point that the head does not plan.",
    "1.unplanned": "An affected point is in no plan: no changelog entry names its key.",
    "1.fork": "Runs of a fork are no evidence.",
    "1.workflow-edit": "A pull request that edits the sweep workflows has no evidence of its own.",
    "1.modifier": "The run was made under evals-only or agentx-fast.",
    "1.undecided": "What the pull request affects cannot be narrowed.",
}

RELABELLED = "labels changed, points not re-measured"

_PASSES = (
    "1.green",
    "1.earlier-commit",
    "1.own-lanes",
    "1.canary",
    "1.attempt",
    "1.list",
    "1.dropped",
    "1.carrier",
    "1.removals",
)

HELP = Help(
    rule="Every planned point and eval ran and passed, on a commit of this pull request that measures the head.",
    passes_when=tuple(f"{key}: {RULES[key]}" for key in _PASSES),
    fails_when=tuple(f"{key}: {text}" for key, text in RULES.items() if key not in _PASSES),
    fix="Let the sweep run again for the points named (remove and re-add the sweep label), or pin a run that has them.",
    source="review rules, check 1",
)


def applies(scope: Scope) -> object | NotApplicable:
    """a benchmark point is affected, and not only by removals"""
    return found_or(scope, [key for key in scope.keys if not removal_only(key)], NOTHING_AFFECTED)


@check(
    number=1,
    name="Passing sweep on in-PR commit",
    applies=applies,
    needs=(
        Required(PullRequest),
        Required(ChangedFiles),
        Required(HeadTree),
        Optional(EvidenceRun),
        Optional(PlanRows),
        Optional(Jobs),
        Optional(BenchmarkRows),
        Optional(ChangelogMetadata),
        Optional(LabelTimeline),
        Optional(OtherTrees),
        Optional(SignOff),
    ),
    may=(PASS, FAIL, NA),
    help=HELP,
)
def sweep(facts: Facts, scope: Scope) -> CheckResult:
    """First whether any run can be evidence, then its commit, then job by job."""
    barred = _barred(facts)
    if barred is not None:
        return barred
    unplanned = _unplanned(facts, scope)
    if unplanned:
        why = _why_unplanned(facts)
        told = f"{listed([point.label for point in unplanned], 4)} of {listed([point.key for point in unplanned])}"
        return failed(
            f"{told} is affected and in no plan: {why}", [_unplanned_finding(one, why) for one in unplanned[:10]]
        )
    run = _run(facts)
    if isinstance(run, CheckResult):
        return run
    comparison = _comparison(run, facts, scope)
    rows = facts[PlanRows].plan.rows
    covered = one_job_each([cover(row, _jobs_of(run, facts)) for row in rows], facts[Jobs].of_run(run.id))
    faults = [*_relabelled(comparison, covered, facts), *_differences(comparison)]
    if not faults:
        faults = [*(_fault(one, run) for one in covered if one.job is None), *_row_faults(covered, facts, run)]
    notes = _notes(run, facts)
    if faults:
        return failed(_reason(run, covered, comparison, faults), [*faults, *notes])
    unseen = [*undecided(comparison), *(Unverified(WHAT, reason) for reason in scope.undecided)]
    if unseen:
        raise CannotVerify(unseen, notes)
    return passed(_praise(run, covered, comparison, facts), notes)


def _barred(facts: Facts) -> CheckResult | None:
    """Why no run of this pull request can be evidence."""
    if facts[PullRequest].from_fork:
        step = "Re-anchor the commits on a branch of this repository and let a sweep run there."
        reason = "fork runs are no evidence; re-anchor on a branch of this repository"
        return failed(reason, [Finding(Job(0, "pull request"), reason, "a branch of this repository", step)])
    edited = touches_workflows(facts[ChangedFiles])
    if not edited:
        return None
    step = "Land the workflow change in a pull request of its own first."
    reason = f"{listed(edited)} {'decides' if len(edited) == 1 else 'decide'} how sweeps run: land that change first"
    return failed(
        reason, [Finding(FileLine(path), f"{path} is changed", "no change of workflows", step) for path in edited]
    )


def _unplanned(facts: Facts, scope: Scope) -> list[Point]:
    """Affected points that no planned throughput row covers."""
    plan = facts.state(PlanRows)
    if isinstance(plan, Missing):
        if scope.entries:
            raise CannotVerify([Unverified(plan.source, plan.reason)])
        planned: set[tuple[str, int, str]] = set()
    else:
        measured = [row for row in plan.plan.rows if not row.is_eval]
        planned = {(row.config_key, conc, _length(row)) for row in measured for conc in row.concurrencies}
    found = []
    for key in throughput_keys(scope):
        found += [point for point in key.submitted if (key.key, point.concurrency, _length(point)) not in planned]
    return found


def _length(one: PlannedRow | Point) -> str:
    return f"{one.row.get('isl', '')}/{one.row.get('osl', '')}"


def _why_unplanned(facts: Facts) -> str:
    if "evals-only" in facts[PullRequest].record.labels:
        return "the label evals-only plans no throughput; remove it"
    return "name the key in an appended changelog entry"


def _unplanned_finding(point: Point, why: str) -> Finding:
    step = f"{why[:1].upper()}{why[1:]}, and let the sweep run."
    return Finding(point.master, f"{point.key} {point.label} is affected and in no plan", "a planned point", step)


def _run(facts: Facts) -> RunRecord | CheckResult:
    """The evidence run, or the row where there is none that counts."""
    state = facts.state(EvidenceRun)
    if isinstance(state, Missing):
        if not state.reason.startswith(NO_RUN):
            raise CannotVerify([Unverified(state.source, state.reason)])
        step = "Put one sweep label on the pull request and wait for the run."
        reason = f"no benchmark or eval job counts on any commit of this pull request ({state.reason})"
        return failed(reason, [Finding(Job(0, "sweep"), state.reason, "a completed sweep", step)])
    run = state.run
    blocking = blocking_labels(facts, run)
    if blocking:
        names = listed(sorted(blocking))
        reason = f"run {run.id} was made under {names}: it is no evidence"
        step = f"Remove {names} and let a full sweep run."
        return failed(reason, [Finding(Job(run.id, "setup"), reason, "a full sweep", step)])
    if run.status != "completed":
        reason = f"run {run.id} is {run.status}; wait for its end"
        return failed(reason, [Finding(Job(run.id, "run"), run.status, "a completed run", "Wait for its end.")])
    return run


def _comparison(run: RunRecord, facts: Facts, scope: Scope) -> Comparison:
    metadata = facts.get(ChangelogMetadata)
    sha = measured_commit(run, metadata.data if metadata else None)
    if sha is None:
        raise CannotVerify(
            [Unverified(f"run {run.id}", "its changelog-metadata does not name the commit of its title")]
        )
    if sha not in facts[PullRequest].commit_shas and not _carried(sha, facts):
        reason = f"its commit {sha[:7]} is neither in the pull request nor carried by a changelog-only commit"
        raise CannotVerify([Unverified(f"run {run.id}", reason)])
    return compared(facts, scope, sha, _keys(scope, metadata))


def _carried(sha: str, facts: Facts) -> bool:
    """True for the source of a recovery: the pull request changes only the changelog and merges the source commit."""
    changelog = facts[HeadTree].tree.layout.changelog
    merged = any(sha in commit.parents[1:] for commit in facts[PullRequest].commits)
    return merged and facts[ChangedFiles].paths == (changelog,)


def _keys(scope: Scope, metadata: ChangelogMetadata | None) -> list[str]:
    """Keys affected at the head, and those that the run was planned for."""
    keys = [key.key for key in scope.keys]
    known = [entry.key for entry in scope.head_entries]
    entries = metadata.data.get("entries") if metadata else None
    for entry in entries if isinstance(entries, list) else ():
        names = entry.get("config-keys") if isinstance(entry, dict) else None
        for name in names if isinstance(names, list) else ():
            keys += matching(str(name), known)
    return keys


def _jobs_of(run: RunRecord, facts: Facts) -> list[JobRecord]:
    """Matrix jobs of the run, each name once: its last attempt, and of several jobs in it one that did not pass."""
    latest: dict[str, JobRecord] = {}
    for job in facts[Jobs].of_run(run.id):
        if is_family(job.name):
            known = latest.get(job.name)
            if known is None or (job.attempt, known.conclusion == "success") > (known.attempt, False):
                latest[job.name] = job
    return list(latest.values())


def _measured(covered: Iterable[Coverage], facts: Facts) -> tuple[ResultRow, ...]:
    """Benchmark rows of the run. Only where no benchmark job passed there need be none (a failed canary)."""
    if any(one.job is not None and not one.row.is_eval for one in covered):
        return facts[BenchmarkRows].rows
    known = facts.get(BenchmarkRows)
    return () if known is None else known.rows


def _relabelled(comparison: Comparison, covered: list[Coverage], facts: Facts) -> list[Finding]:
    """Points whose labels changed without a new measurement: between the commits, or against the run's rows."""
    told = [(FileLine(one.path, 1, 0, comparison.after), one.what) for one in comparison.differences if one.labels_only]
    if not comparison.differences:
        throughput = [one.row for one in covered if not one.row.is_eval]
        measured = _measured(covered, facts)
        told = [(row.master, f"{row.config_key} {what}") for row in throughput for what in relabelled(row, measured)]
    step = "Let the sweep run again for these points, or take the label change back."
    return [Finding(where, f"{RELABELLED}: {what}", "points measured under their labels", step) for where, what in told]


def _differences(comparison: Comparison) -> list[Finding]:
    """Files and points that differ in more than labels."""
    if all(one.labels_only for one in comparison.differences):
        return []
    return findings(comparison, "Remove and re-add the sweep label to measure the head.")


def _fault(one: Coverage, run: RunRecord) -> Finding:
    step = "Let this job run again, or take the point out of the plan."
    return Finding(Job(run.id, one.nearest or label_of(one.row)), one.why, "an executed, passing job", step)


def _row_faults(covered: list[Coverage], facts: Facts, run: RunRecord) -> list[Finding]:
    """Jobs that passed without a result row, and rows of points that the head does not plan."""
    throughput = [one for one in covered if not one.row.is_eval]
    measured = _measured(covered, facts)
    step = "Let this job run again."
    found = [
        Finding(Job(run.id, one.job.name), f"{label_of(one.row)} passed without a result row", "a result row", step)
        for one in throughput
        if one.job is not None and not rows_of(one.row, measured)
    ]
    failing = {conc for job in _jobs_of(run, facts) if job.conclusion != "success" for conc in concurrencies(job.name)}
    step = "Let the sweep run for the head's plan, or put the point back."
    for row in surplus_rows([one.row for one in throughput], measured):
        if row.concurrency not in failing:
            what = f"{row.artifact} holds c{row.concurrency}, which the head does not plan"
            found.append(Finding(Row(row.artifact, f"c{row.concurrency}"), what, "planned points only", step))
    return found


def _reason(run: RunRecord, covered: list[Coverage], comparison: Comparison, faults: list[Finding]) -> str:
    name = _name(run)
    if faults[0].found.startswith(RELABELLED):
        return f"{RELABELLED} by {name}{faults[0].found.removeprefix(RELABELLED)}"
    if comparison.differences:
        files = files_of(comparison)
        return f"{name} measured {comparison.before[:7]}, which is not the head's measurement: {files}"
    missing = [one for one in covered if one.job is None]
    if missing:
        first = f"{label_of(missing[0].row)}: {missing[0].why}"
        more = f"; and {len(missing) - 1} more" if len(missing) > 1 else ""
        return f"{name}: {len(missing)} of {len(covered)} planned jobs without a pass; {first}{more}"
    return f"{name}: {faults[0].found}"


def _notes(run: RunRecord, facts: Facts) -> list[Finding]:
    """A run that the sign-off links and that is not the evidence run: told, nothing more."""
    sign_off = facts.get(SignOff)
    if sign_off is None:
        return []
    notes = []
    for link in sign_off.signed.checklist.links:
        _, found, rest = link.url.partition("/actions/runs/")
        number = rest.split("/", 1)[0].split("?", 1)[0]
        if found and number.isdigit() and int(number) != run.id:
            where = Comment(sign_off.signed.comment.id, link.line)
            notes.append(
                Finding(where, f"the sign-off links run {number}", f"run {run.id} is the evidence", "Nothing to do.")
            )
    return notes


def _name(run: RunRecord) -> str:
    return f"run {run.id} attempt {run.attempt}"


def _praise(run: RunRecord, covered: list[Coverage], comparison: Comparison, facts: Facts) -> str:
    points = [one for one in covered if not one.row.is_eval]
    evals = [one for one in covered if one.row.is_eval]
    counts = []
    for found, word in ((points, "benchmark"), (evals, "eval")):
        if found:
            counts.append(f"{len(found)} of {len(found)} {word} {'job' if len(found) == 1 else 'jobs'}")
    commit = f"{comparison.before[:7]} (the head)"
    if comparison.before != facts.head_sha:
        commit = f"{comparison.before[:7]}, same measurement as the head ({comparison.told})"
    ended = (
        "" if run.conclusion == "success" else f"; the run ended with {run.conclusion}, its other jobs are not planned"
    )
    return f"{_name(run)} on {commit}: {' and '.join(counts)} passed{ended}"
