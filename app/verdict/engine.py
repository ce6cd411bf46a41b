"""Purpose: runs every registered check on one bundle and returns the verdict. One path for service, job and laptop.

Invariants: the same bundle and tool give the same verdict. `applies` is asked first. A missing Required fact (or all
of an AnyOf) makes an applicable row "could not be verified", whatever the check would say. An exception inside a
check becomes "could not be verified (internal error, id)" and the other rows go on. A policy may lower FAIL to WARN,
never "could not be verified". A check that reads the other rows runs last.
"""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date

import checks
from app.evidence.bundle import Bundle
from app.facts.base import Context, Fact, Facts, Missing, MissingFact
from app.facts.exceptions import Granted, granted_exceptions
from app.facts.github import ChangedFiles
from app.facts.makers import Content, makers
from app.facts.other_rows import OtherRows
from app.facts.repository import HeadTree, MergeBaseTree
from app.planner.scope import Scope, compute_scope
from app.policy import Policy, read_policy
from app.target.closure import LaunchClosure
from app.target.source import RejectedInput
from app.target.tree import NotRecorded, Tree
from checks.contract import (
    COULD_NOT,
    AnyOf,
    CannotVerify,
    Check,
    CheckResult,
    NotApplicable,
    Required,
    Status,
    Unverified,
    not_applicable,
)

SCOPE_NEEDS: tuple[type[Fact], ...] = (HeadTree, MergeBaseTree, ChangedFiles)


@dataclass(frozen=True)
class VerdictRow:
    """One row. `lowered`: the policy turned FAIL into WARN; `excepted_by`: who granted an exception."""

    number: int
    name: str
    result: CheckResult
    lowered: bool = False
    excepted_by: str = ""

    @property
    def status(self) -> Status:
        return self.result.status


@dataclass(frozen=True)
class Verdict:
    """All rows, in number order. `header` is PASS, WARN or REJECTED."""

    repository: str
    number: int
    assessed_commit: str
    bundle_digest: str
    policy_digest: str
    policy_source: str
    review_date: str
    rows: tuple[VerdictRow, ...]
    internal_errors: tuple[str, ...] = ()

    @property
    def header(self) -> str:
        standing = [row for row in self.rows if row.status is Status.FAIL]
        if any(not row.excepted_by for row in standing):
            return "REJECTED"
        if standing or any(row.status is Status.WARN for row in self.rows):
            return "WARN"
        return "PASS"


def judge(
    bundle: Bundle,
    *,
    review_date: date | None = None,
    policy: Policy | None = None,
    policy_source: str = "bundle",
    registered: Iterable[Check] | None = None,
) -> Verdict:
    """Run the checks on a bundle. Raises PolicyError where the bundle's own policy is not valid."""
    effective = policy or read_policy(dict(bundle.policy), path="bundle.json policy")
    facts = facts_of(bundle, effective, review_date or date.fromisoformat(bundle.review_date))
    return judge_facts(facts, scope_of(facts), bundle.digest, policy_source, registered)


def judge_facts(
    facts: Facts,
    scope: Scope | Unverified,
    bundle_digest: str,
    policy_source: str = "bundle",
    registered: Iterable[Check] | None = None,
) -> Verdict:
    """Run the checks on facts, wherever these come from."""
    grants = granted_exceptions(facts, facts.head_sha)
    errors: list[str] = []
    wanted = tuple(registered if registered is not None else checks.all_checks())
    results: dict[int, CheckResult] = {}
    for check in sorted(wanted, key=lambda one: OtherRows in one.reads):
        if OtherRows in check.reads:
            facts.put(OtherRows({number: result.status.value for number, result in results.items()}))
        results[check.number] = _row(check, facts, scope, errors)
    rows = [_settle(check, results[check.number], facts.policy, grants.get(check.number)) for check in wanted]
    return Verdict(
        repository=facts.repository,
        number=facts.number,
        assessed_commit=facts.head_sha,
        bundle_digest=bundle_digest,
        policy_digest=facts.policy.digest,
        policy_source=policy_source,
        review_date=facts.review_date.isoformat(),
        rows=tuple(rows),
        internal_errors=tuple(errors),
    )


def facts_of(bundle: Bundle, policy: Policy, review_date: date) -> Facts:
    """Lazy facts of a bundle."""
    content = Content(bundle.sources, bundle.statuses, bundle.blobs, bundle.sign_off)
    context = Context(policy, review_date, bundle.repository, bundle.number, bundle.head_sha)
    return Facts(makers(content), context)


def scope_of(facts: Facts) -> Scope | Unverified:
    """The scope, or which evidence it lacks: then every row is "could not be verified"."""
    try:
        base, head = facts[MergeBaseTree].tree, facts[HeadTree].tree
        changed = facts[ChangedFiles].paths
        if not changed and _differ(base, head):
            return Unverified(ChangedFiles.title, "the list is empty, although files differ from the merge base")
        return compute_scope(base, head, changed, closure=LaunchClosure())
    except MissingFact as absent:
        return Unverified(absent.missing.source, absent.missing.reason)
    except NotRecorded as unseen:
        return Unverified("files of the pull request", str(unseen))
    except RejectedInput as rejected:
        return Unverified("what the pull request affects", f"the configuration is rejected: {rejected.problems[0]}")


def _differ(base: Tree, head: Tree) -> bool:
    both = (path for path in {*base.files, *head.files} if base.knows(path) and head.knows(path))
    return any(base.identity(path) != head.identity(path) for path in both)


def _row(check: Check, facts: Facts, scope: Scope | Unverified, errors: list[str]) -> CheckResult:
    try:
        if isinstance(scope, Unverified):
            return _unverified(check, [scope])
        applicable = check.applies(scope)
        if isinstance(applicable, NotApplicable) or not applicable:
            return not_applicable(applicable.reason if isinstance(applicable, NotApplicable) else "nothing to look at")
        missing = _missing(check, facts)
        if missing:
            return _unverified(check, missing)
        result = check.judge(facts.restricted(check.reads), scope)
    except MissingFact as absent:
        return _unverified(check, [Unverified(absent.missing.source, absent.missing.reason)])
    except CannotVerify as cannot:
        return replace(_unverified(check, cannot.missing), findings=cannot.findings)
    except NotRecorded as unseen:
        return _unverified(check, [Unverified("files of the pull request", str(unseen))])
    except Exception as error:
        text = "".join(traceback.format_exception(error))
        code = hashlib.sha256(f"{check.number} {type(error).__name__} {error}".encode()).hexdigest()[:8]
        errors.append(f"check {check.number}, internal error {code}: {text}")
        gone = Unverified("the check itself", f"internal error {code}")
        return CheckResult(check.unverified_status, f"{COULD_NOT} (internal error, {code})", (), (gone,))
    if result.status not in check.may:
        errors.append(f"check {check.number} gave {result.status.value}, which it does not declare")
        gone = Unverified("the check itself", "internal error: undeclared status")
        return CheckResult(check.unverified_status, f"{COULD_NOT} (internal error, status)", (), (gone,))
    return replace(result, reason=" ".join(result.reason.split()))


def _missing(check: Check, facts: Facts) -> list[Unverified]:
    lacking = []
    for need in check.needs:
        if isinstance(need, Required):
            state = facts.state(need.fact)
            if isinstance(state, Missing):
                lacking.append(Unverified(state.source, state.reason))
        elif isinstance(need, AnyOf):
            states = [facts.state(kind) for kind in need.facts]
            if all(isinstance(state, Missing) for state in states):
                lacking.extend(Unverified(s.source, s.reason) for s in states if isinstance(s, Missing))
    return list(dict.fromkeys(lacking))


def _unverified(check: Check, missing: Iterable[Unverified]) -> CheckResult:
    named = tuple(missing)
    shown = "; ".join(f"{item.source} ({item.reason})" for item in named[:3])
    more = f"; and {len(named) - 3} more" if len(named) > 3 else ""
    return CheckResult(check.unverified_status, " ".join(f"{COULD_NOT}: {shown}{more}".split()), (), named)


def _settle(check: Check, result: CheckResult, policy: Policy, grant: Granted | None) -> VerdictRow:
    lowered = result.status is Status.FAIL and not result.unverified and policy.checks.lower.get(check.number) == "WARN"
    settled = replace(result, status=Status.WARN) if lowered else result
    excepted = grant.login if grant is not None and settled.status is Status.FAIL else ""
    return VerdictRow(check.number, check.name, settled, lowered, excepted)
