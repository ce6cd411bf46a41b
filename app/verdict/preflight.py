"""Purpose: `sweepgate preflight`: what a local checkout can know before anything is pushed, and what is asked later.

The same checks as a verdict, on the work tree against the merge base with the target branch. Evidence that only GitHub
has is missing on purpose; the rows that need it are told as "later", with what they will ask for.

Invariants: nothing is sent anywhere. A row is judged by the same code as in a verdict; a later row is never a pass.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from app.checkout.revisions import (
    Unreadable,
    directory_tree,
    git_tree,
    merge_base,
    top_folder,
    worktree_changes,
)
from app.evidence.bundle import SourceStatus
from app.facts.base import Context, Fact, Facts, Maker
from app.facts.github import ChangedFiles
from app.facts.makers import FACT_KINDS, Content, makers
from app.facts.records import FileRecord
from app.facts.repository import HeadTree, MergeBaseTree, Ownership, TargetTree
from app.facts.sweep import PlanRows
from app.planner.plan import PlanOptions, plan
from app.planner.scope import Scope, compute_scope
from app.policy import Policy, PolicyError
from app.target.source import RejectedInput
from app.target.tree import Layout, Tree
from app.verdict import engine, render
from app.verdict.assess import recheck_days
from app.verdict.policies import POLICY_PATH, policy_of_default_branch, shipped
from checks.contract import COULD_NOT, Status, Unverified

LATER = "LATER"
ONLY_GITHUB = "only GitHub has it"
DEFAULT_BASES = ("origin/main", "origin/master", "main", "master")


@dataclass(frozen=True)
class Preflight:
    """Judged rows, rows that wait for evidence, and what a submitter will be asked for."""

    verdict: engine.Verdict
    later: frozenset[int]
    evals: tuple[str, ...]
    owners: Mapping[str, tuple[str, ...]]
    deadlines: tuple[str, ...]
    upstream: tuple[str, ...]

    @property
    def failed(self) -> bool:
        return any(row.status is Status.FAIL and row.number not in self.later for row in self.verdict.rows)


def preflight(folder: str, base: str = "", day: date | None = None, policy: Policy | None = None) -> Preflight:
    """Judge the work tree that `folder` is in. Raises Unreadable, RejectedInput, PolicyError."""
    root = top_folder(folder)
    target = git_tree(root, base) if base else _default_target(root)
    start = git_tree(root, merge_base(root, target.revision, "HEAD"))
    head = directory_tree(root)
    changed = worktree_changes(root, start.revision)
    effective = policy or _policy(target)
    context = Context(effective, day or datetime.now(UTC).date(), effective.repository, 0, "")
    facts = Facts(_makers(target, start, head, changed), context)
    scope = engine.scope_of(facts)
    if isinstance(scope, Unverified):
        compute_scope(start, head, changed)
    verdict = engine.judge_facts(facts, scope, "")
    later = frozenset(row.number for row in verdict.rows if row.result.reason.startswith(COULD_NOT))
    return Preflight(
        verdict,
        later,
        _evals(facts),
        _owners(facts, changed),
        recheck_days(facts, scope) if isinstance(scope, Scope) else (),
        _upstream(scope, effective) if isinstance(scope, Scope) else (),
    )


def _default_target(root: str) -> Tree:
    for name in DEFAULT_BASES:
        try:
            return git_tree(root, name)
        except Unreadable:
            continue
    raise Unreadable(f"None of {', '.join(DEFAULT_BASES)} is a revision here. Name the target with --base.")


def _policy(target: Tree) -> Policy:
    """The target's own policy file, else the shipped one of its layout: a checkout needs the words of the house."""
    content = target.files.get(POLICY_PATH)
    if content is None:
        return shipped("inferencex" if target.layout is Layout.OCTOBER else "inferencex-august")
    return policy_of_default_branch(content, repository="")


def _makers(target: Tree, start: Tree, head: Tree, changed: tuple[str, ...]) -> Mapping[type[Fact], Maker]:
    """Makers of a bundle without sources; the trees and the list of files come from the checkout."""
    remote = {source: SourceStatus(False, ONLY_GITHUB) for kind in FACT_KINDS for source in kind.sources}
    known = dict(makers(Content({}, remote, {}, {})))
    files = tuple(FileRecord(path=path, status="modified") for path in changed)
    ready: dict[type[Fact], Fact] = {
        HeadTree: HeadTree(head),
        MergeBaseTree: MergeBaseTree(start),
        TargetTree: TargetTree(target),
        ChangedFiles: ChangedFiles(files),
    }

    def given(value: Fact) -> Maker:
        return lambda _facts: value

    known.update({kind: given(value) for kind, value in ready.items()})
    known[PlanRows] = lambda facts: PlanRows(plan(facts[MergeBaseTree].tree, facts[HeadTree].tree, PlanOptions()))
    return known


def _evals(facts: Facts) -> tuple[str, ...]:
    """Evals that the sweep will run, one line each."""
    try:
        planned = facts.get(PlanRows)
    except RejectedInput:
        return ()
    if planned is None:
        return ()
    lines = []
    for row in planned.plan.rows:
        if row.is_eval:
            shown = "x".join(str(concurrency) for concurrency in row.concurrencies)
            lines.append(f"{row.config_key} c{shown} ({row.bucket})")
    return tuple(lines)


def _owners(facts: Facts, changed: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    """Changed path -> owners who may sign, core teams left out."""
    ownership = facts.get(Ownership)
    if ownership is None:
        return {}
    core = {f"@{team}".lower() for team in facts.policy.owners.core_teams}
    found = {}
    for path in changed:
        rule = ownership.codeowners.rule_for(path)
        owners = tuple(owner for owner in (rule.owners if rule else ()) if owner.lower() not in core)
        if owners:
            found[path] = owners
    return found


def _upstream(scope: Scope, policy: Policy) -> tuple[str, ...]:
    """Engines whose upstream recipe the sign-off must link."""
    families = {framework: family for family, names in policy.engines.families.items() for framework in names}
    wanted = {families.get(str(point.row["framework"]), "") for point in scope.points}
    return tuple(sorted(family for family in wanted if family in policy.engines.open_source))


def to_json(found: Preflight) -> dict[str, Any]:
    """The verdict's JSON, with what is asked later beside it."""
    value = render.to_json(found.verdict)
    value["header"] = "REJECTED" if found.failed else "PASS"
    value["preflight"] = {
        "later": sorted(found.later),
        "evals": list(found.evals),
        "owners": {path: list(owners) for path, owners in found.owners.items()},
        "deadlines": list(found.deadlines),
        "upstream_recipes": list(found.upstream),
    }
    return value


def text(found: Preflight) -> str:
    """One line a row, then what is asked later."""
    lines = []
    for row in found.verdict.rows:
        status = LATER if row.number in found.later else row.status.value
        lines.append(f"{row.number:>3}  {status:<5}  {row.name}: {row.result.reason.removeprefix(COULD_NOT + ': ')}")
        if status in (Status.FAIL.value, Status.WARN.value):
            lines += [
                f"            {render.where_text(finding.where)}: found {finding.found}; "
                f"expected {finding.expected}. {finding.next_step}"
                for finding in row.result.findings
            ]
    lines += ["", "Asked later:"]
    lines += [f"  eval of {line}" for line in found.evals] or ["  no eval"]
    lines += [f"  upstream recipe for {engine_name}: link it in the sign-off" for engine_name in found.upstream]
    people = sorted({owner for owners in found.owners.values() for owner in owners})
    lines.append(f"  sign-off by one of {', '.join(people)}" if people else "  no sign-off beyond a core maintainer's")
    lines += [f"  deadline: {line}" for line in found.deadlines]
    return "\n".join(render.plain_line(line) for line in lines) + "\n"


def preflight_command(folder: Path, base: str, output: str, day: date | None) -> int:
    """0 nothing found, 1 a finding or a rejected input, 2 no checkout."""
    import json

    try:
        found = preflight(str(folder), base, day)
    except Unreadable as error:
        print(f"{str(error).rstrip('.')}. Check --repo and --base.", file=sys.stderr)
        return 2
    except PolicyError as error:
        print(error, file=sys.stderr)
        return 2
    except RejectedInput as rejected:
        print(rejected, file=sys.stderr)
        return 1
    if output == "json":
        sys.stdout.write(json.dumps(to_json(found), indent=1, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(text(found))
    return 1 if found.failed else 0
