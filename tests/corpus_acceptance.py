"""Purpose: the golden acceptance-length table: what each AgentX search-space row with a draft resolves to.

One row for each speculative agentic row of the masters, and one for each variant of a recipe that no row names. The
readers and comparisons are those of check 11; a row that does not resolve says one reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from app.facts.repository import GoldenCurves, HeadTree
from app.facts.values import same_number
from app.planner.points import Point
from app.target.golden import read_curve
from app.target.recipe import Unbound
from app.target.recipes import bind, read_recipe, recipe_reference
from app.target.source import RejectedInput
from app.target.speculation import speculation_of
from app.target.tree import Tree
from checks.acceptance import Refused, golden_of, pins_of
from checks.c11_golden_al import DECISIVE
from checks.contract import CannotVerify
from checks.point_evidence import recipe_of
from checks.script_launch import undecided
from tests.corpus_points import AGENTIC, Submission, master_points

THINKING = "thinking_on"


@dataclass(frozen=True)
class Acceptance:
    """One row: `outcome` is equal, differs, mixed, unpinned, drafts nothing, or not resolved."""

    row: str
    engine: str
    outcome: str
    curve: str = ""
    length: str = ""
    value: str = ""
    reason: str = ""


@dataclass(frozen=True)
class _One:
    outcome: str
    engine: str = ""
    curve: str = ""
    length: int = 0
    value: str = ""
    reason: str = ""


def curves_of(tree: Tree) -> GoldenCurves:
    """The curves of a tree by name."""
    folder = tree.layout.golden_curves
    paths = [path for path in tree.below(folder) if path.endswith(".yaml")]
    known = {path.rsplit("/", 1)[-1].removesuffix(".yaml"): read_curve(path, tree.files[path]) for path in paths}
    return GoldenCurves(known, frozenset(), frozenset())


def master_table(tree: Tree) -> list[Acceptance]:
    """One row for each speculative agentic search-space row."""
    head, curves = HeadTree(tree), curves_of(tree)
    grouped: dict[tuple[str, int], list[Point]] = {}
    for key, points in master_points(tree).items():
        for point in points:
            if point.scenario == AGENTIC and point.speculative:
                grouped.setdefault((key, point.master.line), []).append(point)
    return [_row(f"{key} ({points[0].master})", points, head, curves) for (key, _), points in grouped.items()]


def recipe_table(tree: Tree, found: Iterable[Submission]) -> list[Acceptance]:
    """One row for each drafting agentic variant of a recipe that no master row names."""
    head, curves = HeadTree(tree), curves_of(tree)
    rows = []
    for one in found:
        for point in one.points if one.made else ():
            if point.scenario == AGENTIC and point.speculative:
                rows.append(_row(f"{one.path}:{point.key.rpartition(':')[2]}", [point], head, curves))
    return rows


def _row(name: str, points: list[Point], head: HeadTree, curves: GoldenCurves) -> Acceptance:
    seen = dict.fromkeys(_judged(point, head, curves) for point in points)
    drafting = [one for one in seen if one.outcome != "drafts nothing"] or list(seen)
    outcomes = {one.outcome for one in seen}
    first = drafting[0]
    if len(seen) == 1:
        return Acceptance(
            name, first.engine, first.outcome, first.curve, str(first.length or ""), first.value, first.reason
        )
    said = "; ".join(f"{one.outcome}: K={one.length} {one.value} {one.reason}".strip() for one in seen)
    outcome = first.outcome if len(outcomes) == 1 else "mixed"
    lengths = ", ".join(dict.fromkeys(str(one.length) for one in drafting))
    return Acceptance(name, first.engine, outcome, first.curve, lengths, first.value, said)


def _launched(point: Point, head: HeadTree) -> Point:
    """The point with its recipe as the harness reads it: of a doubled key the last one counts."""
    reference = recipe_reference(head.tree.layout, point.row)
    if not isinstance(point.recipe, Unbound) or reference is None or head.tree.read(reference[0]) is None:
        return point
    known = read_recipe(head.tree, *reference, AGENTIC, lenient=True)
    return replace(point, recipe=bind(known, point.row, multinode=point.multinode))


def _judged(point: Point, head: HeadTree, curves: GoldenCurves) -> _One:
    try:
        recipe = recipe_of(_launched(point, head), head)
        open_ = undecided(recipe, *DECISIVE)
        if open_:
            return _One("not resolved", recipe.engine, reason=open_)
        speculation = speculation_of(recipe)
        if speculation is None:
            return _One("drafts nothing", recipe.engine, reason="the point's effective settings have no draft")
        golden = golden_of(point, recipe.engine, speculation, curves, THINKING)
        pins = pins_of(point, recipe)
    except CannotVerify as cannot:
        return _One("not resolved", reason="; ".join(item.reason for item in cannot.missing))
    except Refused as refused:
        return _One("not resolved", recipe.engine, reason=refused.finding.found)
    except RejectedInput as rejected:
        return _One("not resolved", reason=str(rejected.problems[0]))
    known = (golden.engine, golden.curve_name, golden.length, str(golden.value))
    if not pins:
        return _One("unpinned", *known, "nothing pins it: real acceptance, unless the launcher injects it")
    wrong = [pin for pin in pins if not same_number(pin.acceptance_length, golden.value, 2)]
    if wrong:
        return _One("differs", *known, f"{wrong[0].variable}={wrong[0].value} ({wrong[0].where})")
    return _One("equal", *known)


def shown(rows: Iterable[Acceptance]) -> list[str]:
    """Lines of a table, one a row."""
    lines = []
    for row in rows:
        resolved = f"{row.curve} {THINKING}/{row.length} = {row.value}" if row.curve else "-"
        lines.append(" | ".join((row.row, row.engine or "-", resolved, row.outcome, row.reason or "-")))
    return lines


def counts(rows: Iterable[Acceptance]) -> str:
    """`195 rows: 190 equal, 4 differs`."""
    outcomes = Counter(row.outcome for row in rows)
    named = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.most_common())
    return f"{sum(outcomes.values())} rows: {named or 'none'}"
