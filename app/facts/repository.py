"""Purpose: typed facts from the target repository's files, each read from the revision that the trust table names.

Trust (design.md 5): CODEOWNERS, thresholds, existing golden curves, runners and deprecations come from the target
branch tip; masters, recipes, launchers, changelog and waiver from the head; the checklist from the base at sign-off
time and the target tip. A new curve, MODELS.md row or threshold at the head counts only where the target has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from app.facts.base import Fact
from app.target.checklist import Template
from app.target.codeowners import Codeowners
from app.target.golden import Curve
from app.target.models_md import ModelsTable
from app.target.thresholds import Thresholds
from app.target.tree import Tree


@dataclass(frozen=True)
class HeadTree(Fact):
    title: ClassVar[str] = "files at the head"
    sources: ClassVar[tuple[str, ...]] = ("tree_head",)
    tree: Tree


@dataclass(frozen=True)
class MergeBaseTree(Fact):
    title: ClassVar[str] = "files at the merge base"
    sources: ClassVar[tuple[str, ...]] = ("tree_merge_base",)
    tree: Tree


@dataclass(frozen=True)
class TargetTree(Fact):
    title: ClassVar[str] = "files at the target branch tip"
    sources: ClassVar[tuple[str, ...]] = ("tree_target",)
    tree: Tree


@dataclass(frozen=True)
class OtherTrees(Fact):
    """Files at the measured and the signed commit, by SHA, where these are not the head."""

    title: ClassVar[str] = "files at the measured and signed commits"
    sources: ClassVar[tuple[str, ...]] = ("tree_measured", "tree_signed")
    by_sha: Mapping[str, Tree]


@dataclass(frozen=True)
class Ownership(Fact):
    title: ClassVar[str] = "CODEOWNERS at the target branch tip"
    sources: ClassVar[tuple[str, ...]] = ("tree_target",)
    codeowners: Codeowners


@dataclass(frozen=True)
class EvalThresholds(Fact):
    """`target` decides; `head` may only raise or add."""

    title: ClassVar[str] = "eval thresholds at the target branch tip"
    sources: ClassVar[tuple[str, ...]] = ("tree_target", "tree_head")
    target: Thresholds
    head: Thresholds | None


@dataclass(frozen=True)
class GoldenCurves(Fact):
    """Curves by name (file stem). `from_head` are names that only the head has; `edited` differ from the target."""

    title: ClassVar[str] = "golden acceptance-length curves"
    sources: ClassVar[tuple[str, ...]] = ("tree_target", "tree_head")
    curves: Mapping[str, Curve]
    from_head: frozenset[str]
    edited: frozenset[str]


@dataclass(frozen=True)
class Models(Fact):
    """MODELS.md at the target tip, and at the head (which counts only for prefixes without a row at the target)."""

    title: ClassVar[str] = "MODELS.md at the target branch tip"
    sources: ClassVar[tuple[str, ...]] = ("tree_target", "tree_head")
    target: ModelsTable
    head: ModelsTable | None


@dataclass(frozen=True)
class ChecklistTemplates(Fact):
    """The review template at sign-off time and at the target tip."""

    title: ClassVar[str] = "the review checklist template"
    sources: ClassVar[tuple[str, ...]] = ("tree_target", "tree_signoff_base")
    at_sign_off: Template
    at_tip: Template
