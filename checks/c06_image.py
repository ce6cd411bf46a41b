"""Purpose: check 6: open-source engines run upstream images, and come before a vendor's own engine.

Invariants: the engine is that of the serving path, not of the label; `#` in an image is `/`; the earlier entry of an
open-source engine is looked up at the merge base, so a pull request cannot bring its own. A tag counts only if the
run pulled it. Source: rules.md 6; verdicts.md, check 6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from app.facts.base import Facts
from app.facts.effective import engine_of, image_of, logs_of
from app.facts.sweep import BenchmarkRows, JobLogs
from app.planner.points import Point
from app.planner.scope import AffectedKey, Scope, sku_of
from app.policy import EnginePolicy
from app.target.flags import canonical_image
from app.target.masters import MasterEntry
from checks.applying import found_or, listed
from checks.contract import (
    FAIL,
    NA,
    PASS,
    AnyOf,
    CannotVerify,
    CheckResult,
    Finding,
    Help,
    NotApplicable,
    Unverified,
    check,
    failed,
    passed,
)

RULES = {
    "6.upstream": "An open-source engine runs an image of its upstream organisation (registry in the policy).",
    "6.not-upstream": "An open-source engine on an image of another organisation fails.",
    "6.families": "Engine families count as their engine: dynamo-vllm, llmd-vllm and vllm-disagg are vllm.",
    "6.hash": "`#` in an image means `/`.",
    "6.ordered": "A vendor engine needs an open-source entry for the same model and SKU at the merge base.",
    "6.no-earlier": "A vendor engine without such an earlier entry fails; one added by the same pull request is none.",
    "6.sku": "The SKU is the runner without `cluster:`, cut at the first `-`.",
    "6.pulled": "The tag was pulled in the run.",
    "6.not-pulled": "A run that used another image fails, if only for one point.",
}

HELP = Help(
    rule="Open-source engines run their upstream image, and a vendor's engine comes second.",
    passes_when=tuple(
        f"{key}: {RULES[key]}" for key in ("6.upstream", "6.families", "6.hash", "6.ordered", "6.pulled")
    ),
    fails_when=tuple(f"{key}: {RULES[key]}" for key in ("6.not-upstream", "6.no-earlier", "6.sku", "6.not-pulled")),
    fix="Use the upstream image, or submit vLLM or SGLang for this model and SKU first.",
    source="review rules, check 6; upstream organisations: policy engines.upstream_organisations",
)


def applies(scope: Scope) -> object | NotApplicable:
    """a master-config entry or an image changes"""
    return found_or(scope, [key for key in scope.keys if _changes(key)], "no master-config entry or image changes")


def _changes(key: AffectedKey) -> bool:
    if key.head is None or not key.submitted:
        return False
    if key.base is None or dict(key.base.data) != dict(key.head.data):
        return True
    return _images(key.points, key.head.image) != _images(key.base_points, key.base.image)


def _images(points: Iterable[Point], master: str) -> set[str]:
    return {canonical_image(image_of(point, master)) for point in points}


@check(
    number=6,
    name="Upstream image / engine order",
    applies=applies,
    needs=(AnyOf(JobLogs, BenchmarkRows),),
    may=(PASS, FAIL, NA),
    help=HELP,
)
def upstream_image(facts: Facts, scope: Scope) -> CheckResult:
    policy = facts.policy.engines
    pulled = _Pulled(facts.get(JobLogs), facts.get(BenchmarkRows))
    findings: list[Finding] = []
    unverified: list[Unverified] = []
    said: list[str] = []
    for key in (key for key in scope.keys if _changes(key)):
        entry = key.head
        if entry is None:
            continue
        for image, points in _by_image(key, entry).items():
            family = _family(points, entry, policy)
            findings += _organisation(entry, image, family, policy)
            findings += pulled.other_images(entry, image, points)
            unverified += pulled.unseen(entry, image, points)
            said.append(f"{image.partition('@')[0]} for {family}")
        findings += _order(key, entry, scope, policy)
    if findings:
        return failed(findings[0].found, findings)
    if unverified:
        raise CannotVerify(unverified)
    return passed(f"{listed(said)}; {_ordering(scope, policy)}; pulled in the run")


def _by_image(key: AffectedKey, entry: MasterEntry) -> Mapping[str, list[Point]]:
    found: dict[str, list[Point]] = {}
    for point in key.points:
        found.setdefault(canonical_image(image_of(point, entry.image)), []).append(point)
    return found or {canonical_image(entry.image): []}


def _family(points: list[Point], entry: MasterEntry, policy: EnginePolicy) -> str:
    """The engine family: of the serving path where a recipe is bound, else of the framework label."""
    engines = {engine_of(point) for point in points} - {None}
    if len(engines) == 1:
        engine = str(engines.pop())
        return "trt" if engine == "trtllm" else engine
    for family, frameworks in policy.families.items():
        if entry.framework in frameworks:
            return family
    return entry.framework


def _organisation(entry: MasterEntry, image: str, family: str, policy: EnginePolicy) -> Iterator[Finding]:
    wanted = policy.upstream_organisations.get(family, ())
    named = policy.image_aliases.get(image, image)
    if not wanted or any(named.startswith(f"{organisation}/") for organisation in wanted):
        return
    yield Finding(
        entry.where,
        f"{entry.key} serves {family} from {image.partition('@')[0]}, which is not an upstream image",
        f"an image of {listed([f'{organisation}/' for organisation in wanted])}",
        f"Use the upstream {family} image that has the change, or submit it upstream first.",
    )


def _order(key: AffectedKey, entry: MasterEntry, scope: Scope, policy: EnginePolicy) -> Iterator[Finding]:
    family = _family(list(key.points), entry, policy)
    if family in policy.open_source or _earlier(entry, scope, policy):
        return
    sku = sku_of(entry.runner)
    yield Finding(
        entry.where,
        f"{entry.key} submits {family} for {entry.model_prefix} on {sku} before any open-source engine",
        f"an entry of {listed(policy.open_source)} for {entry.model_prefix} on {sku} at the merge base",
        "Submit vLLM or SGLang for this model and SKU first.",
    )


def _earlier(entry: MasterEntry, scope: Scope, policy: EnginePolicy) -> str:
    """Key of an open-source entry for the same model and SKU at the merge base, "" where there is none."""
    for other in scope.base_entries:
        same = other.model_prefix == entry.model_prefix and sku_of(other.runner) == sku_of(entry.runner)
        if same and _family([], other, policy) in policy.open_source:
            return other.key
    return ""


def _ordering(scope: Scope, policy: EnginePolicy) -> str:
    vendors = [
        key.head
        for key in scope.keys
        if key.head is not None and _family(list(key.points), key.head, policy) not in policy.open_source
    ]
    if not vendors:
        return "open-source engines only, so the engine order does not apply"
    return f"after {listed([_earlier(entry, scope, policy) for entry in vendors])}"


@dataclass(frozen=True)
class _Pulled:
    """Images that the run used, from job logs and result rows."""

    logs: JobLogs | None
    rows: BenchmarkRows | None

    def _of(self, point: Point) -> list[list[str]]:
        """What each log and each result row of a point names. A log may name other containers beside the engine's."""
        told = [
            [value.value for value in log.images] for log in logs_of(point, () if self.logs is None else self.logs.all)
        ]
        for row in () if self.rows is None else self.rows.rows:
            data = row.data
            same = data.get("infmax_model_prefix") == point.row.get("model-prefix") and data.get("image")
            if same and row.concurrency == point.concurrency and _row_fits(data, point):
                told.append([str(data["image"])])
        return [[canonical_image(image) for image in images] for images in told if images]

    def unseen(self, entry: MasterEntry, image: str, points: list[Point]) -> Iterator[Unverified]:
        if points and not any(self._of(point) for point in points):
            yield Unverified(
                f"the image that {entry.key} pulled", f"no log or result row names {image.partition('@')[0]}"
            )

    def other_images(self, entry: MasterEntry, image: str, points: list[Point]) -> Iterator[Finding]:
        """One job on another image is a finding, however many ran the right one."""
        others: dict[str, list[Point]] = {}
        for point in points:
            for seen in self._of(point):
                if not any(_same_image(image, other) for other in seen):
                    others.setdefault(listed(sorted(set(seen))), []).append(point)
        for seen_there, where in others.items():
            at = "" if len(where) >= len(points) else f" at {listed(list(dict.fromkeys(p.label for p in where)))}"
            yield Finding(
                entry.where,
                f"the run pulled {seen_there}{at}, not {image.partition('@')[0]}",
                f"a run that pulls {image}",
                "Sweep again with the image of the master config.",
            )


def _row_fits(data: Mapping[str, object], point: Point) -> bool:
    pairs = (("framework", "framework"), ("precision", "precision"))
    return all(str(data.get(name, point.row.get(field))) == str(point.row.get(field)) for name, field in pairs)


def _same_image(wanted: str, seen: str) -> bool:
    """Equal references; a digest on one side only is not compared."""
    name, _, digest = wanted.partition("@")
    other, _, other_digest = seen.partition("@")
    return name == other and (not digest or not other_digest or digest == other_digest)
