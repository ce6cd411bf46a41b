"""Purpose: which labels that block reuse were on the pull request when a run was made (checks 1 and 4).

Invariant: a timeline that is missing, or that does not account for the labels of today, tells nothing (CannotVerify).
"""

from __future__ import annotations

from app.facts.base import Facts, Missing
from app.facts.evidence_run import labels_at_start
from app.facts.github import LabelTimeline, PullRequest
from app.facts.records import RunRecord
from checks.contract import cannot_verify

_END_OF_TIME = "9999-12-31T23:59:59Z"


def blocking_labels(facts: Facts, run: RunRecord) -> frozenset[str]:
    """Modifiers under which the run is no evidence and cannot be reused."""
    timeline = facts.state(LabelTimeline)
    source = f"the labels when run {run.id} was made"
    if isinstance(timeline, Missing):
        raise cannot_verify(source, timeline.reason)
    untold = sorted(frozenset(facts[PullRequest].record.labels) - timeline.active_at(_END_OF_TIME))
    if untold:
        raise cannot_verify(source, f"the timeline does not tell when {untold[0]} was added")
    at_start = labels_at_start(run, timeline) or frozenset()
    return at_start & frozenset(facts.policy.sweep.not_reusable)
