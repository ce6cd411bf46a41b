"""Purpose: an invalid policy file is told on the head of each pull request that is looked at, as a check run.

The last valid policy stays in force meanwhile (app.flows.access). When the file is valid again, the check run of that
head says so. Nothing is written where nothing changed.
"""

from __future__ import annotations

import hashlib

from app.effects.context import Context
from app.effects.ports import CheckRunText, Refused
from app.words.policy import POLICY_CHECK, policy_told


def tell_policy(problem: str, context: Context) -> None:
    """`problem` is empty where the file is in force. A plain token may not write check runs: then the log tells."""
    state = context.state
    known = next((run for run in state.check_runs if run.name == POLICY_CHECK), None)
    if state.state != "open" or (known is None and not problem):
        return
    digest = hashlib.sha256(problem.encode()).hexdigest()[:12]
    key = f"policy-{digest if problem else 'ok'}"
    if known is not None and known.external_id == key:
        return
    title, summary = policy_told(problem)
    told = CheckRunText(POLICY_CHECK, key, "completed", "failure" if problem else "success", title, summary)
    try:
        context.writer.put_check_run(state.ref.repository, state.head_sha, told, known.id if known else None)
    except Refused as error:
        context.journal.audit("sweepgate", "no-check-run", {"reason": str(error), "policy": problem[:500]})
