"""Purpose: check 3: the sign-off links a merged or published upstream recipe whose commands are what ran.

Applies to every affected vLLM or SGLang config: aggregated or disaggregated, one node or many, Dynamo or not; the
path follows frontend and engine of the recipe, so that a direct server is never asked for Dynamo commands.

Invariants: only links of this sign-off count; an upstream pull request is merged and its default branch contains it.
A setting is excluded only if the policy calls it harness-only, or it is missing on the page and the sign-off names
it. Source: rules.md 3; evidence.md 10; verdicts.md, check 3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from app.facts.base import Facts
from app.facts.effective import engine_of, image_of
from app.facts.outside import UpstreamRecipe, UpstreamRecipes
from app.facts.repository import GoldenCurves, HeadTree
from app.facts.sign_off import SignOff
from app.facts.sweep import JobLogs
from app.planner.points import Point
from app.planner.scope import AffectedKey, Scope
from app.policy import RecipePolicy
from checks.applying import found_or, listed
from checks.contract import (
    FAIL,
    NA,
    PASS,
    CannotVerify,
    CheckResult,
    Comment,
    Finding,
    Help,
    NotApplicable,
    Optional,
    Page,
    Required,
    Unverified,
    check,
    failed,
    passed,
)
from checks.point_evidence import labels, one_log, recipe_of
from checks.upstream_comparison import Difference, context_of
from checks.upstream_pages import Match, Pages, best_match

RULES = {
    "3.merged": "A linked upstream pull request is merged and its default branch contains the merge.",
    "3.published": "A linked published page counts like a merged pull request.",
    "3.equal": "Flags, variables, image, topology and router of each role equal the page's, point by point.",
    "3.alias": "Aliases and defaults of the policy are equal: NEXTN is EAGLE, quantization is auto-detected.",
    "3.harness-only": "Harness-only settings of the policy do not count.",
    "3.named-exclusion": "A setting that the page lacks does not count where the sign-off names it.",
    "3.path": "A direct server is compared with direct commands, a Dynamo path with Dynamo commands.",
    "3.no-link": "A sign-off without a link fails.",
    "3.none-exists": "A sign-off that says that no upstream recipe exists fails.",
    "3.other-comment": "A link that only another comment has does not count.",
    "3.own-repository": "A link to a pull request of this repository does not count.",
    "3.open": "An upstream pull request that is still open, or closed without a merge, fails.",
    "3.not-contained": "A merge that the default branch does not contain fails.",
    "3.old-page": "A link to the retired cookbook repository needs a current page too.",
    "3.other-engine": "A recipe of another engine does not cover the config.",
    "3.other-model": "A recipe for another model, SKU or checkpoint fails.",
    "3.missing-setting": "A setting that the page does not have fails.",
    "3.contradiction": "A setting that the page gives another value fails.",
    "3.missing-point": "A concurrency without a command on the page fails.",
    "3.image": "Another image on the page fails.",
    "3.golden-al": "A golden acceptance length on the page that is not the curve's fails.",
    "3.auto-default": "A default that the policy does not know for engine, image, model and SKU is a difference.",
    "3.unreadable": "A page that cannot be read or parsed could not be verified.",
}

_PASSES = ("3.merged", "3.published", "3.equal", "3.alias", "3.harness-only", "3.named-exclusion", "3.path")

HELP = Help(
    rule="The sign-off links a merged or published upstream recipe, and its commands are the ones that ran.",
    passes_when=tuple(f"{key}: {RULES[key]}" for key in _PASSES),
    fails_when=tuple(f"{key}: {text}" for key, text in RULES.items() if key not in _PASSES),
    fix="Merge the recipe upstream with these settings, link it in the sign-off, name settings left out on purpose.",
    source="review rules, check 3; aliases, defaults and harness-only settings: policy recipes",
)

ENGINES = ("sglang", "vllm")
_NONE_EXISTS = re.compile(
    r"\bno (?:such )?(?:upstream |official |public )?(?:recipe|page|cookbook)s?\b.{0,40}\b(?:exists?|available|yet)\b"
    r"|\bupstream recipe (?:does not|doesn['’]t) exist\b|\bnot (?:yet )?(?:upstreamed|published upstream)\b",
    re.IGNORECASE,
)
_RETIRED = ("sgl-project/sgl-cookbook", "sgl-project/sgl-docs")


def applies(scope: Scope) -> object | NotApplicable:
    """a point is served by vLLM or SGLang"""
    found = [point for point in scope.points if engine_of(point) in ENGINES]
    return found_or(scope, found, "no affected point is served by vLLM or SGLang")


@dataclass
class _Ledger:
    """What was found over all keys."""

    findings: list[Finding] = field(default_factory=list)
    missing: list[Unverified] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    said: list[str] = field(default_factory=list)


@check(
    number=3,
    name="Upstream recipe",
    applies=applies,
    needs=(Required(SignOff), Required(UpstreamRecipes), Optional(JobLogs), Optional(GoldenCurves), Optional(HeadTree)),
    may=(PASS, FAIL, NA),
    help=HELP,
)
def upstream_recipe(facts: Facts, scope: Scope) -> CheckResult:
    linked = _links(facts)
    ledger = _Ledger()
    accepted: dict[str, list[UpstreamRecipe]] = {}
    wanted = {str(engine_of(point)) for point in scope.points} & set(ENGINES)
    for engine in sorted(wanted):
        accepted[engine] = list(_accepted(ledger, linked, engine, facts))
    if ledger.findings:
        return failed(ledger.findings[0].found, ledger.findings)
    for engine in sorted(wanted):
        if not accepted[engine]:
            continue
        pages = Pages(accepted[engine])
        for key in scope.keys:
            points = [point for point in key.submitted if engine_of(point) == engine]
            if points:
                _judge_key(ledger, facts, key, points, pages)
    if ledger.findings:
        more = f" ({len(ledger.findings) - 1} more)" if len(ledger.findings) > 1 else ""
        return failed(f"{ledger.findings[0].found}{more}", [*ledger.findings, *ledger.notes])
    if ledger.missing:
        raise CannotVerify(dict.fromkeys(ledger.missing), ledger.notes)
    sources = listed([_named(recipe) for recipes in accepted.values() for recipe in recipes])
    return passed(f"{sources}; {'; '.join(ledger.said)}", ledger.notes)


def _links(facts: Facts) -> list[UpstreamRecipe]:
    """Upstream recipes that this sign-off links. Raises nothing: an empty list is judged by the caller."""
    signed = facts[SignOff].signed
    return [recipe for recipe in facts[UpstreamRecipes].all if recipe.record.comment_id == signed.comment.id]


def _accepted(ledger: _Ledger, linked: list[UpstreamRecipe], engine: str, facts: Facts) -> Iterator[UpstreamRecipe]:
    """Links of the engine that are merged or published; findings where none is, or where one is not merged."""
    policy = facts.policy.recipes
    own = [recipe for recipe in linked if _of_engine(recipe, engine, policy)]
    if not own:
        ledger.findings.append(_no_link(facts, linked, engine))
        return
    current = [recipe for recipe in own if recipe.record.repository not in _RETIRED]
    if not current:
        record = own[0].record
        found = f"{_named(own[0])} is in a retired repository"
        step = "Link the current page or pull request as well."
        where = Comment(record.comment_id, record.line)
        ledger.findings.append(Finding(where, found, "a current page of the engine's documentation", step))
    for recipe in own:
        problem = _not_merged(recipe)
        if recipe.record.problem:
            ledger.missing.append(Unverified(f"the upstream recipe {_named(recipe)}", recipe.record.problem))
        elif problem is not None:
            ledger.findings.append(problem)
        elif recipe.record.kind == "pull_request" and recipe.record.contained is None:
            reason = "whether the default branch contains the merge is not known"
            ledger.missing.append(Unverified(f"the upstream recipe {_named(recipe)}", reason))
        else:
            yield recipe


def _of_engine(recipe: UpstreamRecipe, engine: str, policy: RecipePolicy) -> bool:
    record = recipe.record
    if record.kind == "pull_request":
        return record.repository in policy.repositories.get(engine, ())
    address = record.link.split("://", 1)[-1]
    return record.kind == "page" and address.startswith(policy.pages.get(engine, ()))


def _no_link(facts: Facts, linked: list[UpstreamRecipe], engine: str) -> Finding:
    """Why no link counts: none at all, another comment's, one of this repository, another engine's."""
    signed = facts[SignOff].signed
    where = Comment(signed.comment.id, signed.checklist.trigger_line or 1)
    name = {"sglang": "SGLang", "vllm": "vLLM"}[engine]
    expected = f"a link to a merged {name} recipe, or a published page, in the sign-off's detail section"
    step = f"Link the {name} recipe in the sign-off and let it be verified again."
    own = next((recipe for recipe in linked if recipe.record.repository.lower() == facts.repository.lower()), None)
    elsewhere = [recipe for recipe in facts[UpstreamRecipes].all if recipe not in linked]
    if own is not None:
        place = Comment(own.record.comment_id, own.record.line)
        return Finding(
            place, f"the linked recipe {own.record.link} is a pull request of this repository", expected, step
        )
    if linked:
        place = Comment(linked[0].record.comment_id, linked[0].record.line)
        return Finding(place, f"{_named(linked[0])} is no {name} recipe", expected, step)
    if elsewhere:
        record = elsewhere[0].record
        place = Comment(record.comment_id, record.line)
        return Finding(place, f"{_named(elsewhere[0])} is linked only in another comment", expected, step)
    says = next((line for line in signed.checklist.detail if _NONE_EXISTS.search(line.text)), None)
    if says is not None:
        place = Comment(signed.comment.id, says.line)
        return Finding(place, f"the sign-off says that no upstream {name} recipe exists", expected, step)
    return Finding(where, f"the sign-off links no upstream {name} recipe", expected, step)


def _not_merged(recipe: UpstreamRecipe) -> Finding | None:
    record = recipe.record
    if record.kind != "pull_request":
        return None
    where = Comment(record.comment_id, record.line)
    if not record.merged_at:
        state = record.state.lower() or "not merged"
        found = (
            f"{_named(recipe)} is {state}, not merged" if state != "not merged" else f"{_named(recipe)} is not merged"
        )
        return Finding(where, found, "a merged upstream pull request", "Sign again when it is merged.")
    if record.contained is False:
        found = f"the default branch of {record.repository} does not contain {_named(recipe)}"
        return Finding(where, found, "a merge that the default branch contains", "Link the recipe that is published.")
    return None


def _named(recipe: UpstreamRecipe) -> str:
    record = recipe.record
    if record.kind != "pull_request":
        return record.link.split("://", 1)[-1]
    merged = f" merged {record.merged_at[:10]}" if record.merged_at else ""
    return f"{record.repository}#{record.number}{merged}"


def _judge_key(ledger: _Ledger, facts: Facts, key: AffectedKey, points: list[Point], pages: Pages) -> None:
    logs = facts.get(JobLogs)
    groups: dict[Difference, list[Point]] = {}
    matched: dict[str, list[Point]] = {}
    used_logs = 0
    for point in points:
        recipe = recipe_of(point, facts.get(HeadTree))
        log = one_log(point, () if logs is None else logs.all)
        used_logs += log is not None
        image = image_of(point, "" if key.head is None else key.head.image)
        context = context_of(point, recipe.engine, facts.policy.recipes, image)
        match = best_match(pages, point, recipe, log, context, facts.get(GoldenCurves), facts.policy.thinking_mode)
        if match is None:
            _no_match(ledger, key, pages, point)
            return
        matched.setdefault(match.title, []).append(point)
        for difference in _kept(ledger, facts, match):
            groups.setdefault(difference, []).append(point)
    for difference, differing in groups.items():
        ledger.findings.append(_finding(key, difference, differing, pages))
    if not groups:
        effective = "recipe and job log" if used_logs == len(points) else "recipe"
        ledger.said.append(f"{listed(list(matched))} equals the effective command ({effective}) of {_counted(points)}")


def _counted(points: list[Point]) -> str:
    return f"all {len(points)} points" if len(points) > 1 else points[0].label


def _kept(ledger: _Ledger, facts: Facts, match: Match) -> Iterator[Difference]:
    """Differences that count: settings that the page lacks and the sign-off names are notes."""
    signed = facts[SignOff].signed
    for difference in match.differences:
        line = _named_in(difference.name, signed.comment.body) if difference.missing_on_page else 0
        if line:
            where = Comment(signed.comment.id, line)
            note = Finding(where, f"{difference} and the sign-off names it", "named exclusions", "Nothing to do.")
            if note not in ledger.notes:
                ledger.notes.append(note)
        else:
            yield difference


def _named_in(name: str, body: str) -> int:
    """Line of a comment that names a flag or variable; 0 where none does."""
    wanted = re.compile(rf"(?<![\w-])(?:--)?{re.escape(name.removeprefix('--'))}(?![\w-])")
    for number, line in enumerate(body.splitlines(), 1):
        if wanted.search(line) and "[" not in line.lstrip()[:5]:
            return number
    return 0


def _finding(key: AffectedKey, difference: Difference, points: list[Point], pages: Pages) -> Finding:
    where = difference.where or points[0].master
    role = f" of {difference.role}" if difference.role not in ("", "agg") else ""
    theirs = difference.theirs if difference.theirs is not None else f"{difference.name} left out"
    return Finding(
        where,
        f"{pages.name} differs for {labels(points)} of {key.key}{role}: {difference}",
        f"what the page says: {theirs}",
        "Bring the upstream page and the recipe to the same setting, or name it in the sign-off if the page lacks it.",
    )


def _no_match(ledger: _Ledger, key: AffectedKey, pages: Pages, point: Point) -> None:
    """No command on the pages is for this config."""
    if pages.problems:
        ledger.missing += [Unverified(f"the upstream page {path}", reason) for path, reason in pages.problems]
    if ledger.missing:
        return
    url = pages.url
    if not pages.known:
        ledger.missing.append(Unverified(f"the upstream recipe {pages.name}", "no file of it was gathered"))
        return
    found = f"{pages.name} has no command for {key.key} ({point.label})"
    if pages.has_key(key.key):
        step = f"Publish the command of {point.label}."
    else:
        step = "Link the recipe of this model, SKU and engine."
        found = f"{pages.name} covers other models or SKUs, not {key.key}"
    ledger.findings.append(Finding(Page(url), found, f"a published command for {key.key} {point.label}", step))
