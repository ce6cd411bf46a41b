"""Purpose: check 12: an append-only entry adds points to existing curves and touches nothing that was measured before.

Three layers: the planner's six rules on rows; equal recipes and commands of every existing point (a recipe edit is
invisible to row hashes); and no other changed file that existing points could reach.

Invariants: what cannot be shown to be out of reach is "could not be verified", never a pass.
Source: rules.md 12; formats.md 5; verdicts.md, check 12.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from app.facts.base import Facts
from app.facts.github import PullRequest
from app.facts.repository import HeadTree, MergeBaseTree
from app.planner.plan import Plan, PlanOptions, plan
from app.planner.same_measurement import Comparison, compare_measurement
from app.planner.scope import AffectedKey, Scope
from app.target.source import Problem, RejectedInput
from app.target.tree import Tree
from checks.applying import entries_of, listed, short
from checks.contract import (
    FAIL,
    NA,
    PASS,
    CannotVerify,
    CheckResult,
    Finding,
    Help,
    NotApplicable,
    Required,
    Unverified,
    check,
    failed,
    passed,
)
from checks.sameness import files_of, findings

RULES = {
    "12.added": "Only new points run; every existing point is still there with the same recipe and commands.",
    "12.unmixed": "All entries of the change are append-only, and no evals modifier is set.",
    "12.known-key": "Every selected key exists at base and head.",
    "12.unselected": "Keys and scenarios that no entry selects are unchanged; no scenario is added or removed.",
    "12.kept": "No existing concurrency is removed or changes its row.",
    "12.delta": "At least one point is new.",
    "12.series": "Each new point falls in an existing series with one image, its own.",
    "12.commands": "The effective recipe and commands of every existing point are equal.",
    "12.closure": "Any other changed file of the launch is shown to be out of reach for existing points.",
}

HELP = Help(
    rule="An append-only change adds points to existing same-image curves and changes no existing point.",
    passes_when=(f"12.added: {RULES['12.added']}",),
    fails_when=tuple(f"{key}: it breaks this: {text}" for key, text in RULES.items() if key != "12.added"),
    fix="Take the change of existing points out, or drop append-only so that they are measured again.",
    source="review rules, check 12",
)

_HARMLESS = (".md", ".txt", ".png", ".svg")


def applies(scope: Scope) -> object | NotApplicable:
    """an appended changelog entry is append-only"""
    return scope.append_only_entries or NotApplicable("no appended entry is append-only")


@check(
    number=12,
    name="Append-only",
    applies=applies,
    needs=(Required(HeadTree), Required(MergeBaseTree), Required(PullRequest)),
    may=(PASS, FAIL, NA),
    help=HELP,
)
def append_only(facts: Facts, scope: Scope) -> CheckResult:
    """Rows, then effective settings, then reach."""
    base, head = facts[MergeBaseTree].tree, facts[HeadTree].tree
    labels = facts[PullRequest].record.labels
    options = PlanOptions(all_evals="all-evals" in labels, evals_only="evals-only" in labels)
    try:
        planned = plan(base, head, options)
    except RejectedInput as rejected:
        return _rejected(rejected.problems)
    keys = [key for key in scope.keys if any(entry.append_only for entry in entries_of(scope, key.key))]
    compared = compare_measurement(base, head, [key.key for key in keys], scope.rules, scope.closure)
    existing = replace(compared, differences=tuple(one for one in compared.differences if not one.is_new))
    if existing.paths:
        reason = f"existing points change: {files_of(existing)}"
        step = "Take the change of existing points out, or drop append-only."
        return failed(f"{reason}; {_points(existing)}", findings(existing, step))
    unseen = [Unverified("existing points", reason) for reason in existing.undecided]
    unseen += list(_out_of_reach(scope, keys, head))
    if unseen:
        raise CannotVerify(dict.fromkeys(unseen))
    return passed(_praise(planned, existing))


def _rejected(problems: list[Problem]) -> CheckResult:
    first = problems[0]
    more = f"; and {len(problems) - 1} more" if len(problems) > 1 else ""
    reason = f"{first.rule.rstrip('.')}: {first.found}{more}"
    return failed(reason, [Finding(one.where, one.found, one.rule, one.fix) for one in problems[:20]])


def _points(existing: Comparison) -> str:
    gone = [f"{point.label} is gone" for point in existing.dropped]
    return listed([*(difference.what for difference in existing.differences), *gone], 4)


def _out_of_reach(scope: Scope, keys: list[AffectedKey], head: Tree) -> Iterator[Unverified]:
    """Changed files that existing points might reach: launch files of the keys, and code of unknown use."""
    for reason in scope.undecided:
        yield Unverified("existing points", reason)
    launched = [key.key for key in keys if "launch" in key.why]
    if launched:
        yield Unverified(f"existing points of {listed(launched)}", "their launch reads a changed file")
    known = {head.layout.changelog, head.layout.runners, head.layout.thresholds, *head.layout.masters}
    recipes = (
        f"{head.layout.recipes}single_node/srt-slurm-recipes/",
        f"{head.layout.recipes}multi_node/srt-slurm-recipes/",
    )
    folders = (*recipes, head.layout.fragments, head.layout.deprecated, head.layout.golden_curves, ".github/")
    for path in scope.changed_files:
        if path in known or path.endswith(_HARMLESS) or (path.startswith(folders) and path.endswith((".yaml", ".yml"))):
            continue
        yield Unverified(short(path), "it is not shown to be out of reach for existing points")


def _praise(planned: Plan, existing: Comparison) -> str:
    added = [f"c{conc}" for row in planned.rows for conc in row.concurrencies]
    keys = listed([row.config_key for row in planned.rows])
    kept = f"{existing.points} existing {'point keeps its' if existing.points == 1 else 'points keep their'} recipe"
    return f"{listed(added, 6)} added to {keys}; {kept} and commands"
