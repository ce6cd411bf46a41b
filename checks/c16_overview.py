"""Purpose: check 16: the NVIDIA overview page lists the model with a linked recipe for the engine.

The unit is a pair (model, engine) on NVIDIA SKUs: rows are display names (policy), the column follows the serving
path, and Dynamo paths have their own table. Invariants: the page is compared as published when it was gathered; a
page that no longer has the expected table is "could not be verified", not an empty cell.
Source: rules.md 16; evidence.md 9.2; verdicts.md, check 16.
"""

from __future__ import annotations

from collections.abc import Mapping

from app.facts.base import Facts
from app.facts.effective import engine_of, through_dynamo
from app.facts.outside import OverviewPage
from app.facts.overview_page import Table, column_of, table_with, tables
from app.planner.points import Point
from app.planner.scope import NVIDIA_SKUS, Scope, sku_of
from app.policy import OverviewPolicy
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
    Page,
    Required,
    Unverified,
    check,
    failed,
    passed,
)

RULES = {
    "16.linked": "The model's row has a populated cell with a link in the column of the serving path.",
    "16.no-row": "A model without a row fails.",
    "16.empty": "An empty cell, or one without a link, fails.",
    "16.names": "Rows are display names; the policy maps each model prefix to its names.",
    "16.dynamo": "A Dynamo path is looked up in the Dynamo table, a direct server in the framework table.",
    "16.nvidia": "Only NVIDIA SKUs are looked at; AMD alone is N/A.",
    "16.no-column": "An engine for which the page has no column is N/A.",
}

HELP = Help(
    rule="Every affected (model, engine) pair on NVIDIA SKUs has a linked recipe on the NVIDIA overview page.",
    passes_when=tuple(
        f"{key}: {RULES[key]}" for key in ("16.linked", "16.names", "16.dynamo", "16.nvidia", "16.no-column")
    ),
    fails_when=tuple(f"{key}: {RULES[key]}" for key in ("16.no-row", "16.empty")),
    fix="Ask for the recipe to be listed on the overview page, or add the model's display name to the policy.",
    source="review rules, check 16; names and columns: policy overview",
)

_LABELS = {"sglang": "SGLang", "vllm": "vLLM", "trtllm": "TRT-LLM"}


def applies(scope: Scope) -> object | NotApplicable:
    """a point on an NVIDIA SKU is served by an engine that the page has a column for"""
    found = [point for point in scope.points if _sku(point) in NVIDIA_SKUS and engine_of(point) in _LABELS]
    if not found and scope.points and not any(_sku(point) in NVIDIA_SKUS for point in scope.points):
        return found_or(scope, found, "no NVIDIA SKU is affected")
    reason = "no affected engine has a column on the page" if scope.points else "no benchmark config is affected"
    return found_or(scope, found, reason)


def _sku(point: Point) -> str:
    return sku_of(str(point.row["runner"]))


@check(
    number=16,
    name="NVIDIA overview",
    applies=applies,
    needs=(Required(OverviewPage),),
    may=(PASS, FAIL, NA),
    help=HELP,
)
def nvidia_overview(facts: Facts, scope: Scope) -> CheckResult:
    page, policy = facts[OverviewPage], facts.policy.overview
    found = tables(page.content)
    findings: list[Finding] = []
    unverified: list[Unverified] = []
    said: list[str] = []
    for (prefix, column), points in _pairs(scope, policy).items():
        skus = listed(sorted({_sku(point).upper() for point in points}))
        table = table_with(found, column)
        names = _names(prefix, points, policy)
        if table is None:
            unverified.append(Unverified(f"the {column} column of the overview page", "no table of the page has it"))
            continue
        row = table.row(names)
        if row is None:
            findings.append(_no_row(page.url, table, names, column, skus, prefix in policy.names))
            continue
        finding, link = _cell(page.url, table, row, column, skus)
        if finding is not None:
            findings.append(finding)
        else:
            said.append(f"{row}, {column} cell links {link} ({skus})")
    if findings:
        return failed(findings[0].found, findings)
    if unverified:
        raise CannotVerify(unverified)
    return passed(f"the overview page lists {listed(said)}")


def _pairs(scope: Scope, policy: OverviewPolicy) -> Mapping[tuple[str, str], list[Point]]:
    """(model prefix, column of the page) -> points."""
    found: dict[tuple[str, str], list[Point]] = {}
    for point in scope.points:
        engine = engine_of(point)
        if _sku(point) not in NVIDIA_SKUS or engine not in _LABELS:
            continue
        short = "trt" if engine == "trtllm" else engine
        if through_dynamo(point):
            column = policy.dynamo_columns.get(f"dynamo-{short}", f"Dynamo + {_LABELS[engine]}")
        else:
            column = policy.columns.get(short, _LABELS[engine])
        found.setdefault((str(point.row.get("model-prefix", "")), column), []).append(point)
    return found


def _names(prefix: str, points: list[Point], policy: OverviewPolicy) -> tuple[str, ...]:
    """Display names from the policy, else what the model repository is called."""
    if prefix in policy.names:
        return policy.names[prefix]
    return (prefix, *dict.fromkeys(str(point.row.get("model", "")).rsplit("/", 1)[-1] for point in points))


def _no_row(url: str, table: Table, names: tuple[str, ...], column: str, skus: str, known: bool) -> Finding:
    hint = "" if known else " Or add its display name to overview.names of the policy."
    return Finding(
        Page(url, table.heading),
        f"the table '{table.heading}' has no row for {listed(names)} ({column}, {skus})",
        f"a row {names[0]} with a linked {column} cell",
        f"Ask for the model to be listed on the overview page.{hint}",
    )


def _cell(url: str, table: Table, row: str, column: str, skus: str) -> tuple[Finding | None, str]:
    """What is wrong with a cell, or the link it has."""
    cell = table.rows[row].get(column_of(table, column) or column)
    if cell is not None and cell.populated and cell.links:
        return None, cell.links[0]
    state = "is empty" if cell is None or not cell.populated else f"says '{cell.text}' without a link"
    return (
        Finding(
            Page(url, f"{table.heading}: {row}"),
            f"the {column} cell of {row} {state} ({skus})",
            "a cell that links the published recipe",
            "Ask for the recipe to be linked on the overview page.",
        ),
        "",
    )
