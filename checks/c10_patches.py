"""Purpose: check 10: the serving stack is the image's own; a patch needs a waiver that covers exactly it.

Looked at is the whole effective launch of the affected points, not the added lines: setup scripts and launch scripts
of the closure, mounts, environment hooks and package installs. A target reached through a variable counts if it
resolves into engine or transport roots (policy).

Invariants: comments, removed lines and branches that the point cannot reach never count. A script that cannot be read
and a target that cannot be decided are "could not be verified". A waiver names the key, the image and the script: an
image bump without an edit of it is not covered. Source: rules.md 10; evidence.md 8; verdicts.md, check 10.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from app.facts.base import Facts
from app.facts.effective import image_of
from app.facts.repository import HeadTree
from app.facts.sign_off import SignOff
from app.planner.points import Point
from app.planner.scope import AffectedKey, Scope
from app.target.flags import canonical_image
from app.target.tree import NotRecorded, Tree
from app.target.waiver import Waiver, parse_waiver
from checks.applying import found_or, listed
from checks.contract import (
    FAIL,
    NA,
    PASS,
    CannotVerify,
    CheckResult,
    Finding,
    Help,
    NotApplicable,
    Optional,
    Unverified,
    check,
    failed,
    passed,
)
from checks.launch_evidence import launches_of
from checks.script_edits import Edit

RULES = {
    "10.none": "Nothing in the effective launch changes engine or transport.",
    "10.waiver": "A waiver in this pull request covers the patch: key, image and script, with all sections, linked.",
    "10.harness": "srt-slurm itself, client packages, config files written for the engine are no patches.",
    "10.unreachable": "Comments, removed lines and unreachable branches never count.",
    "10.patch-file": "`patch`, `git apply` and .patch files on engine roots fail.",
    "10.in-place": "Heredocs, sed, awk, cp or mv onto engine roots fail, also through a variable.",
    "10.mount": "A mount over engine files fails.",
    "10.wheel": "Installing another build of engine or transport fails.",
    "10.hook": "sitecustomize, PYTHONPATH or LD_PRELOAD hooks into the engine fail.",
    "10.rebuild": "Rebuilding engine or transport from a tree fails.",
    "10.setup-script": "Setup scripts that a recipe names belong to the launch; unreadable ones could not be verified.",
    "10.no-waiver": "A patch without a waiver file for this pull request fails.",
    "10.waiver-scope": "A waiver that does not name the key, the image or the script fails.",
    "10.waiver-sections": "A waiver without one of its sections fails.",
    "10.waiver-link": "A waiver that the sign-off does not link fails.",
    "10.undecided": "A target that cannot be decided could not be verified.",
}

_PASSES = ("10.none", "10.waiver", "10.harness", "10.unreachable")

HELP = Help(
    rule="Engine and transport run as the image ships them; a patch needs a complete waiver.",
    passes_when=tuple(f"{key}: {RULES[key]}" for key in _PASSES),
    fails_when=tuple(f"{key}: {text}" for key, text in RULES.items() if key not in _PASSES),
    fix="Use an image that has the change, or add docs/waiver/<PR>.md for this key, image and script and link it.",
    source="review rules, check 10; roots and packages: policy patches",
)

SECTIONS = {
    "scope": "what it covers",
    "change": "what is patched",
    "reason": "why the image cannot run unmodified",
    "upstream": "the upstream link",
    "removal": "the removal plan",
}


def applies(scope: Scope) -> object | NotApplicable:
    """a config is affected"""
    return found_or(scope, scope.points, "no config is affected")


@dataclass
class _Ledger:
    edits: dict[Edit, list[tuple[AffectedKey, Point]]] = field(default_factory=dict)
    missing: list[Unverified] = field(default_factory=list)


@check(
    number=10,
    name="No engine patches",
    applies=applies,
    needs=(Optional(HeadTree), Optional(SignOff)),
    may=(PASS, FAIL, NA),
    help=HELP,
)
def no_engine_patches(facts: Facts, scope: Scope) -> CheckResult:
    ledger = _Ledger()
    for key in scope.keys:
        for point in key.submitted:
            _collect(ledger, facts, key, point)
    findings: list[Finding] = []
    covered: dict[str, list[str]] = {}
    for edit, launched in ledger.edits.items():
        if edit.undecided:
            ledger.missing.append(Unverified(f"{edit.what} ({edit.where})", edit.undecided))
            continue
        problem, waiver = _waived(facts, edit, launched)
        if problem is not None:
            findings.append(problem)
        else:
            covered.setdefault(waiver, []).append(edit.script)
    if findings:
        return failed(findings[0].found, findings)
    if ledger.missing:
        raise CannotVerify(dict.fromkeys(ledger.missing))
    if covered:
        said = [f"{waiver} covers the patch of {listed(scripts)}" for waiver, scripts in covered.items()]
        return passed("; ".join(said))
    return passed("nothing in the effective launch changes engine or transport")


def _collect(ledger: _Ledger, facts: Facts, key: AffectedKey, point: Point) -> None:
    try:
        for launch in launches_of(point, facts):
            for edit in launch.edits:
                ledger.edits.setdefault(edit, []).append((key, point))
    except CannotVerify as cannot:
        ledger.missing.extend(cannot.missing)


def _waived(facts: Facts, edit: Edit, launched: list[tuple[AffectedKey, Point]]) -> tuple[Finding | None, str]:
    """What the waiver lacks for this edit, or the path of the one that covers it."""
    head = facts.get(HeadTree)
    keys = list(dict.fromkeys(key.key for key, _ in launched))
    expected = f"an unmodified image, or a waiver for {listed(keys)}"
    if head is None:
        return Finding(edit.where, f"{edit.what} ({listed(keys)})", expected, HELP.fix), ""
    waiver = _waiver(head.tree, facts.number)
    if waiver is None:
        path = f"{head.tree.layout.waivers}{facts.number}.md"
        found = f"{edit.what} ({listed(keys)}), and there is no waiver {path}"
        return Finding(edit.where, found, expected, HELP.fix), ""
    lacks = list(_lacks(waiver, facts, edit, launched))
    if lacks:
        found = f"{edit.what}; the waiver {waiver.path} {listed(lacks)}"
        return Finding(edit.where, found, expected, f"Complete {waiver.path} and link it in the sign-off."), ""
    return None, waiver.path


def _waiver(tree: Tree, number: int) -> Waiver | None:
    path = f"{tree.layout.waivers}{number}.md"
    try:
        content = tree.read(path)
    except NotRecorded as unseen:
        raise CannotVerify([Unverified("the waiver", str(unseen))]) from None
    return None if content is None else parse_waiver(path, content, tree.revision)


def _lacks(waiver: Waiver, facts: Facts, edit: Edit, launched: list[tuple[AffectedKey, Point]]) -> Iterator[str]:
    for key in dict.fromkeys(key.key for key, _ in launched):
        if not waiver.names(key):
            yield f"does not name {key}"
    for image in dict.fromkeys(_image(key, point) for key, point in launched):
        if not waiver.names(image) and not waiver.names(image.partition("@")[0]):
            yield f"does not name the image {image.partition('@')[0]}"
    script = edit.script.rsplit("/", 1)[-1]
    if not waiver.names(edit.script) and script not in waiver.text:
        yield f"does not name {script}"
    for subject in waiver.missing:
        yield f"does not say {SECTIONS[subject]}"
    signed = facts.get(SignOff)
    if signed is None or waiver.path.rsplit("docs/", 1)[-1] not in signed.signed.comment.body:
        yield "is not linked in the sign-off"


def _image(key: AffectedKey, point: Point) -> str:
    return canonical_image(image_of(point, "" if key.head is None else key.head.image))
