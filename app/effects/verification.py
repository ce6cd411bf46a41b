"""Purpose: the service's verdict: gathers evidence through GitHub, judges it, and gives the texts to publish.

Implements `app.effects.verify.Verify` on `app.verdict.assess`. With a folder for records, each bundle is kept there
under its digest, so that any published verdict can be replayed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import date
from pathlib import Path

from app.decide.state import Measurement
from app.effects.github import translated
from app.effects.ports import NotThere
from app.effects.verify import VerdictText, VerifyRequest
from app.evidence.bundle import Bundle, write_bundle
from app.evidence.reads import PullRequestGone, Reads
from app.policy import Policy
from app.verdict.assess import assess, gather
from app.verdict.changes import moved_line
from app.verdict.measurement import measure

LOG = logging.getLogger("sweepgate.verification")

ReadsOf = Callable[[str], Reads]
PolicyOf = Callable[[str, bytes | None], Policy]


class Verification:
    """Callable that answers one verification. Thread-safe: it keeps nothing between calls."""

    def __init__(
        self, reads_of: ReadsOf, policy_of: PolicyOf, today: Callable[[], date], records: Path | None = None
    ) -> None:
        self._reads_of = reads_of
        self._policy_of = policy_of
        self._today = today
        self._records = records

    def __call__(self, request: VerifyRequest) -> VerdictText:
        bundle = self._gather(request)
        assessment = assess(bundle, previous=request.previous, moved=self._moved(request, bundle))
        if self._records is not None:
            write_bundle(bundle, self._records / bundle.digest)
        verdict = assessment.verdict
        return VerdictText(
            header=verdict.header,
            body=assessment.comment,
            payload=assessment.payload(),
            check_title=f"{verdict.header} for {verdict.assessed_commit[:7]}",
            full_text=assessment.full_text,
            annotations=assessment.annotations,
        )

    def _moved(self, request: VerifyRequest, bundle: Bundle) -> str:
        """How the head moved since the last verdict and whether it is still the same measurement; "" if it did not."""
        before = str((request.previous or {}).get("assessed", ""))
        if not before or before == bundle.head_sha:
            return ""
        reads = self._reads_of(bundle.repository)
        try:
            found = measure(reads, bundle.repository, bundle.merge_base_sha, bundle.head_sha, before)
        except Exception as error:
            LOG.warning("comparison with %s failed: %s", before[:7], reads.reason(error))
            found = Measurement(None)
        commits = [commit["sha"] for commit in bundle.sources.get("commits", ())]
        return moved_line(found, before, commits)

    def _gather(self, request: VerifyRequest) -> Bundle:
        """Raises the errors of app.effects.ports where the pull request itself cannot be read."""
        ref = request.state.ref
        sign_off = (request.sign_off.kind, request.sign_off.id) if request.sign_off is not None else None
        try:
            with translated():
                return gather(
                    self._reads_of(ref.repository),
                    ref.repository,
                    ref.number,
                    self._today(),
                    lambda content: self._policy_of(ref.repository, content),
                    sign_off,
                    request.signed_head,
                )
        except PullRequestGone as gone:
            raise NotThere(str(gone)) from gone
