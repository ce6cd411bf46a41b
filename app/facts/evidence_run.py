"""Purpose: chooses the run that counts as evidence, among the runs of the sweep workflow that were gathered.

A live reuse pin decides where its run can be evidence at all; else the newest successful run whose jobs did something;
else the newest completed one; else the newest one that still runs, so that the row can say what is wrong with it.

Invariants: runs of forks, of other workflows, of other events and of commits that left the pull request are never
chosen. A run of which no matrix job executed (a gated no-op, an unrelated label) is chosen only if nothing else is
there. Runs are looked at by their record; a passing run proves nothing by itself, jobs and rows decide (check 1).
Accepted race: a run that starts while evidence is gathered is not seen; the next verdict sees it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.facts.base import Facts
from app.facts.github import ChangedFiles, Comments, LabelTimeline, Permissions, PullRequest
from app.facts.pins import Pin, Pins, reuse_pins
from app.facts.records import JobRecord, RunRecord
from app.facts.sweep import EvidenceRun, Jobs
from app.policy import Policy

NO_RUN = "no sweep run counts"
"""Begins the reason where runs were read and none can be evidence: a finding, not missing evidence."""

DISPATCH = "workflow_dispatch"
_TITLE = re.compile(r"#(?P<number>\d{1,9}) @ (?P<sha>[0-9a-f]{7,40})\b")
_FAMILY = re.compile(r"^(multi-node )?(agentic|agentic eval|eval|canary) /|^(single|multi)-node \S+ /")


def choose(runs: Iterable[RunRecord], facts: Facts) -> EvidenceRun | str:
    """The evidence run, or why there is none. Reads comments, permissions, labels and jobs where they are there."""
    question = _Question.of(facts)
    newest_first = sorted(runs, key=lambda run: (run.created_at, run.id), reverse=True)
    reasons = {run.id: question.exclusion(run) for run in newest_first}
    eligible = [run for run in newest_first if not reasons[run.id]]
    if not eligible:
        return _nothing(newest_first, reasons)
    pinned = [run for run in eligible if question.pin and run.id == question.pin.run_id]
    chosen = pinned[0] if pinned else max(eligible, key=question.rank)
    if pinned or (question.pin and question.pin.run_id is None and question.rank(chosen)[0] == SUCCESS):
        pinned_by = question.pin.comment.id if question.pin else 0
    else:
        pinned_by = 0
    others = tuple((run, reasons[run.id] or question.passed_over(run, chosen)) for run in newest_first)
    return EvidenceRun(chosen, pinned_by, tuple((run, why) for run, why in others if run.id != chosen.id))


def pins_of(facts: Facts) -> Pins:
    """The live reuse pin of the pull request. Raises MissingFact without comments."""
    return reuse_pins(facts[Comments].all, facts.get(Permissions), facts.policy.commands)


def in_pull_request(sha: str, pull: PullRequest) -> bool:
    """True for a commit of the pull request, or one merged into it as a later parent (a recovery carrier)."""
    return sha in pull.commit_shas or any(sha in commit.parents[1:] for commit in pull.commits)


def measured_commit(run: RunRecord, metadata: Mapping[str, Any] | None) -> str | None:
    """The commit that a run measured: its head, or for our own dispatched runs what `changelog-metadata` names.

    None where the metadata names no commit, or another one than the run's title.
    """
    if run.event != DISPATCH:
        return run.head_sha
    head, named = (metadata or {}).get("head_ref"), _TITLE.search(run.title)
    if not isinstance(head, str) or not re.fullmatch("[0-9a-f]{40}", head):
        return None
    return None if named is not None and not head.startswith(named["sha"]) else head


def labels_at_start(run: RunRecord, labels: LabelTimeline | None) -> frozenset[str] | None:
    """Labels on the pull request when the run was created; None where the timeline is missing."""
    return None if labels is None else labels.active_at(run.created_at)


def is_family(name: str) -> bool:
    """True for the check-run name of a benchmark, eval or canary matrix job (workflows.md, table C)."""
    return _FAMILY.match(name) is not None


RUNNING, IDLE, ENDED, SUCCESS = 0, 1, 2, 3


@dataclass(frozen=True)
class _Question:
    pull: PullRequest
    policy: Policy
    pin: Pin | None
    labels: LabelTimeline | None
    jobs: tuple[JobRecord, ...]

    @classmethod
    def of(cls, facts: Facts) -> _Question:
        comments, jobs = facts.get(Comments), facts.get(Jobs)
        pin = None if comments is None else pins_of(facts).live
        found = jobs.all if jobs is not None else ()
        return cls(facts[PullRequest], facts.policy, pin, facts.get(LabelTimeline), found)

    def exclusion(self, run: RunRecord) -> str:
        """Why a run can never be evidence for this pull request; empty where it can."""
        record, sweep = self.pull.record, self.policy.sweep
        if run.path.split("@", 1)[0] != sweep.workflow:
            return f"it is a run of {run.path or 'another workflow'}, not of {sweep.workflow}"
        if run.repository and run.repository != record.repository:
            return f"it ran in {run.repository}: runs of a fork are no evidence"
        if run.event == DISPATCH:
            return self._dispatch_exclusion(run)
        if run.event != "pull_request":
            return f"its event is {run.event}, not pull_request"
        if self.pull.from_fork:
            return "the pull request comes from a fork: its runs are no evidence"
        if not in_pull_request(run.head_sha, self.pull):
            return f"its commit {run.head_sha[:7]} is not in the pull request any more"
        return ""

    def _dispatch_exclusion(self, run: RunRecord) -> str:
        record = self.pull.record
        if run.actor.login != self.policy.sweep.bot or not run.actor.is_bot:
            return f"it was dispatched by {run.actor.login}, not by {self.policy.sweep.bot}"
        if run.head_branch != record.default_branch:
            return f"it was dispatched on {run.head_branch}, not on {record.default_branch}"
        if self.pull.from_fork:
            return "the pull request comes from a fork: its runs are no evidence"
        named = _TITLE.search(run.title)
        if named is None or int(named["number"]) != record.number:
            return "its title does not name this pull request"
        if not any(commit.sha.startswith(named["sha"]) for commit in self.pull.commits):
            return f"its commit {named['sha'][:7]} is not in the pull request any more"
        return ""

    def rank(self, run: RunRecord) -> tuple[int, str, int]:
        return (self._tier(run), run.created_at, run.id)

    def _tier(self, run: RunRecord) -> int:
        if run.status != "completed":
            return RUNNING
        mine = [job for job in self.jobs if job.run_id == run.id]
        if mine and not any(job.executed and is_family(job.name) for job in mine):
            return IDLE
        made_under = labels_at_start(run, self.labels) or frozenset()
        if run.conclusion != "success" or made_under & frozenset(self.policy.sweep.not_reusable):
            return ENDED
        return SUCCESS

    def passed_over(self, run: RunRecord, chosen: RunRecord) -> str:
        tier = self._tier(run)
        if tier == RUNNING:
            return "it still runs"
        if tier == IDLE:
            return "none of its benchmark or eval jobs ran"
        if self.pin is not None and self.pin.run_id == chosen.id:
            return f"run {chosen.id} is pinned"
        if tier == ENDED:
            return f"it ended with {run.conclusion}"
        return f"run {chosen.id} is newer"


def _nothing(runs: list[RunRecord], reasons: Mapping[int, str]) -> str:
    if not runs:
        return f"{NO_RUN}: the sweep workflow has not run for this pull request"
    shown = "; ".join(f"run {run.id}: {reasons[run.id]}" for run in runs[:3])
    more = f"; and {len(runs) - 3} more" if len(runs) > 3 else ""
    return f"{NO_RUN}: {shown}{more}"


def touches_workflows(files: ChangedFiles) -> tuple[str, ...]:
    """Changed files that decide how a sweep runs: with one of them no run of the pull request is evidence."""
    return tuple(path for path in files.paths if path.startswith((".github/workflows/", ".github/actions/")))
