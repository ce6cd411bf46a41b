"""Purpose: one verdict of a live pull request: collect, judge, render. The one path for service, Actions and laptop.

Invariants: the verdict speaks of the head at the first read. Which outside hosts are asked is decided by the checks
that apply: evidence is gathered for them and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import checks
from app.evidence.bundle import Bundle
from app.evidence.collector import Request, collect
from app.evidence.reads import Reads
from app.facts.base import Facts
from app.facts.sign_off import SignOff
from app.planner.scope import Scope
from app.policy import Policy
from app.verdict import changes, engine, render
from app.verdict.annotations import Annotation, annotate
from checks.c07_models import deadlines
from checks.contract import NotApplicable


@dataclass(frozen=True)
class Assessment:
    """A verdict, the bundle it rests on, its texts, and the date from which it may change by itself."""

    verdict: engine.Verdict
    bundle: Bundle
    comment: str
    full_text: str
    annotations: tuple[Annotation, ...]
    signed_head: str | None
    recheck_on: str | None

    def payload(self) -> dict[str, Any]:
        """What the comment's marker keeps of the verdict."""
        return {
            "statuses": changes.statuses(self.verdict),
            "header": self.verdict.header,
            "bundle_digest": self.verdict.bundle_digest,
            "policy_digest": self.verdict.policy_digest,
            "signed_head": self.signed_head,
            "recheck_on": self.recheck_on,
        }


def outside_needs(facts: Facts) -> frozenset[str]:
    """Sources that an applicable check declares. Without a scope: all of them."""
    scope = engine.scope_of(facts)
    needed: set[str] = set()
    for check in checks.all_checks():
        if isinstance(scope, Scope):
            applicable = check.applies(scope)
            if isinstance(applicable, NotApplicable) or not applicable:
                continue
        needed.update(source for kind in check.reads for source in kind.sources)
    return frozenset(needed)


def gather(
    reads: Reads,
    repository: str,
    number: int,
    review_date: date,
    policy_of: Callable[[bytes | None], Policy],
    sign_off: tuple[str, int] | None = None,
    signed_head: str | None = None,
) -> Bundle:
    """The bundle of one pull request. `signed_head` as our marker remembers it. Raises PullRequestGone."""
    request = Request(repository, number, review_date, policy_of, sign_off, signed_head)
    return collect(reads, request, outside_needs)


def assess(
    bundle: Bundle,
    *,
    previous: Mapping[str, Any] | None = None,
    moved: str = "",
    policy_source: str = "default branch",
) -> Assessment:
    """Judge a gathered bundle and render it. `moved` says how the head moved since the previous verdict."""
    verdict = engine.judge(bundle, policy_source=policy_source)
    policy = Policy.model_validate(dict(bundle.policy))
    facts = engine.facts_of(bundle, policy, date.fromisoformat(bundle.review_date))
    found = facts.get(SignOff)
    signed = found.signed if found is not None else None
    signer = signed.login if signed is not None else ""
    signed_head = signed.signed_head if signed is not None else None
    changed = changes.changed_line(verdict, previous, moved)
    comment = render.markdown(verdict, signer=signer, escalate_to=policy.escalation.core_maintainers, changed=changed)
    notes = annotate(verdict, facts)
    return Assessment(verdict, bundle, comment, render.text(verdict), notes, signed_head, _recheck_on(facts))


def _recheck_on(facts: Facts) -> str | None:
    """The day after the nearest last allowed day of an affected model: then check 7 may turn."""
    scope = engine.scope_of(facts)
    days = [last for last, _ in deadlines(facts, scope)] if isinstance(scope, Scope) else []
    return (min(days) + timedelta(days=1)).isoformat() if days else None


def recheck_days(facts: Facts, scope: Scope) -> tuple[str, ...]:
    """Last allowed days that still lie ahead, in words."""
    return tuple(f"{what} may be submitted until {last}" for last, what in deadlines(facts, scope))
