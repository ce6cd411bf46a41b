"""Purpose: every applicable check without each of its needs: never PASS, never N/A, and the row says what lacks.

The reference bundle lacks an append-only entry and Dynamo TensorRT-LLM; checks 12 and 17 are tried on shapes that have
them. `READ_ALSO` lists every optional need whose absence leaves its row as it is, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date

import pytest

import checks
from app.evidence.bundle import Bundle
from app.facts.base import Fact, Facts, Missing
from app.planner.scope import Scope
from app.policy import read_policy
from app.verdict.engine import SCOPE_NEEDS, VerdictRow, facts_of, judge_facts, scope_of
from checks.contract import COULD_NOT, FAIL, NA, PASS, AnyOf, Check, Need, NotApplicable, Optional
from tests.support.bundles import Editor, good
from tests.support.shapes import (
    append_only,
    atom_mi355x,
    no_config,
    removals,
    sglang_disagg,
    trtllm_metrics,
    vllm_fixed,
)
from tests.support.shapes.build import build

DOWN = "HTTP 503 from the host"
OUTSIDE = ("upstream", "checkpoints", "overview")
SWEEP = ("runs", "jobs", "artifacts", "job_logs")
FILES_OF_SCOPE = (
    "configs/nvidia-master.yaml",
    "configs/amd-master.yaml",
    "configs/runners.yaml",
    "perf-changelog.yaml",
)

MADE: Mapping[str, Callable[[], Editor]] = {
    "the reference bundle": good,
    "the append-only shape": lambda: build(append_only.story()),
    "the TensorRT-LLM shape": lambda: build(trtllm_metrics.story()),
    "the SGLang shape": lambda: build(sglang_disagg.story()),
    "the vLLM shape": lambda: build(vllm_fixed.story()),
    "the ATOM shape": lambda: build(atom_mi355x.story()),
    "removals only": lambda: build(removals.story()),
    "no config": lambda: build(no_config.story()),
}
_OTHER_THAN_REFERENCE = {12: "the append-only shape", 17: "the TensorRT-LLM shape"}
_BUNDLES: dict[str, Bundle] = {}

READ_ALSO: Mapping[tuple[int, str], str] = {
    (0, "Teams"): "the signer is a named owner, so that no team decides",
    (
        1,
        "ChangelogMetadata",
    ): "the run's own head is the pull request's head; the artifact is asked for dispatched runs",
    (1, "OtherTrees"): "the measured commit is the head",
    (1, "SignOff"): "only read for a link to another run, which is a note",
    (2, "BenchmarkRows"): "the job log names the image too; the test below takes both",
    (2, "JobLogs"): "a result row names the image too; the test below takes both",
    (3, "JobLogs"): "the recipe gives the command too, and the row says which was used",
    (3, "GoldenCurves"): "only compares the page's own golden value with the curve; check 11 requires the curve",
    (4, "ChangelogMetadata"): "the run's own head is the pull request's head",
    (4, "OtherTrees"): "the measured commit is the head",
    (5, "OtherTrees"): "the signed commit is the head",
    (5, "OtherRows"): "only turns an open item into a note, and none is open",
    (8, "JobLogs"): "the recipe gives the settings too, and the row says which was used",
    (8, "DraftCheckpoints"): "only asked whether an override equals the checkpoint's own value, and there is none",
    (10, "SignOff"): "only asked for the link to a waiver, and nothing is patched",
    (11, "SignOff"): "only asked for a value's source where there is no golden curve",
    (14, "Comments"): "only a recorded bypass is read there",
    (14, "Permissions"): "only a recorded bypass is read there",
    (14, "BranchActivity"): "only a recorded bypass is read there",
}


def bundle_of(name: str) -> Bundle:
    if name not in _BUNDLES:
        _BUNDLES[name] = MADE[name]().bundle
    return _BUNDLES[name]


def facts_without(bundle: Bundle, kinds: Iterable[type[Fact]]) -> Facts:
    """The facts of a bundle; those of `kinds` are missing, for themselves and for every fact made from them."""
    policy = read_policy(dict(bundle.policy), path="bundle.json policy")
    facts = facts_of(bundle, policy, date.fromisoformat(bundle.review_date))
    missing = Facts.of(*((kind, Missing(kind.title, DOWN)) for kind in kinds), context=facts.context)
    return Facts({**facts._makers, **missing._makers}, facts.context)


def rows_without(bundle: Bundle, kinds: Iterable[type[Fact]]) -> dict[int, VerdictRow]:
    facts = facts_without(bundle, kinds)
    verdict = judge_facts(facts, scope_of(facts), bundle.digest)
    assert not verdict.internal_errors
    return {row.number: row for row in verdict.rows}


def kinds_of(need: Need) -> tuple[type[Fact], ...]:
    return need.facts if isinstance(need, AnyOf) else (need.fact,)


def wanted(*, optional: bool) -> Iterator[object]:
    for check in checks.all_checks():
        name = _OTHER_THAN_REFERENCE.get(check.number, "the reference bundle")
        for need in check.needs:
            if isinstance(need, Optional) is optional:
                titles = " and ".join(kind.title or kind.__name__ for kind in kinds_of(need))
                yield pytest.param(check, need, name, id=f"check {check.number} without {titles} on {name}")


def said_missing(check: Check, row: VerdictRow) -> bool:
    unverified = row.status is check.unverified_status and bool(row.result.unverified)
    return unverified and row.result.reason.startswith(COULD_NOT)


@pytest.mark.parametrize(("check", "need", "name"), list(wanted(optional=False)))
def test_without_what_it_requires_a_row_could_not_be_verified(check: Check, need: Need, name: str) -> None:
    bundle = bundle_of(name)
    assert rows_without(bundle, ())[check.number].status is PASS
    row = rows_without(bundle, kinds_of(need))[check.number]
    assert said_missing(check, row), (row.status, row.result.reason)
    assert DOWN in row.result.reason


@pytest.mark.parametrize(("check", "need", "name"), list(wanted(optional=True)))
def test_without_what_it_may_read_a_row_could_not_be_verified_or_is_listed(
    check: Check, need: Optional, name: str
) -> None:
    row = rows_without(bundle_of(name), (need.fact,))[check.number]
    listed = (check.number, need.fact.__name__) in READ_ALSO
    assert row.status is PASS if listed else said_missing(check, row), (row.status, row.result.reason)


def test_every_listed_exception_is_a_need_of_its_check() -> None:
    optional = {
        (check.number, need.fact.__name__)
        for check in checks.all_checks()
        for need in check.needs
        if isinstance(need, Optional)
    }
    assert set(READ_ALSO) <= optional
    assert all(READ_ALSO.values())


def test_an_eval_whose_image_neither_log_nor_row_names_could_not_be_verified() -> None:
    from app.facts.sweep import BenchmarkRows, JobLogs

    row = rows_without(bundle_of("the reference bundle"), (JobLogs, BenchmarkRows))[2]
    assert row.status is FAIL
    assert row.result.reason.startswith(f"{COULD_NOT}: the image of eval c32")


@pytest.mark.parametrize("kind", SCOPE_NEEDS, ids=lambda kind: f"no row is N/A without {kind.title}")
@pytest.mark.parametrize("name", MADE)
def test_without_what_applies_reads_no_row_passes_or_is_inapplicable(name: str, kind: type[Fact]) -> None:
    rows = rows_without(bundle_of(name), (kind,))
    wrong = {check.number for check in checks.all_checks() if not said_missing(check, rows[check.number])}
    assert not wrong


@pytest.mark.parametrize("at", ["tree_head", "tree_merge_base"])
@pytest.mark.parametrize("path", FILES_OF_SCOPE, ids=lambda path: f"no row is N/A where {path} was not read")
def test_a_shared_file_that_was_not_read_leaves_no_row_verified(path: str, at: str) -> None:
    editor = good()
    with editor.record(at) as tree:
        del tree["files"][f"inferencex-e2e/{path}"]
    rows = {row.number: row for row in editor.verdict().rows}
    wrong = {check.number for check in checks.all_checks() if not said_missing(check, rows[check.number])}
    assert not wrong


@pytest.mark.parametrize("at", ["tree_head", "tree_merge_base"])
@pytest.mark.parametrize("name", MADE)
def test_a_file_that_was_not_read_makes_no_row_inapplicable(name: str, at: str) -> None:
    """Each recorded file in turn: what was PASS, FAIL or WARN does not become N/A, and no claim is called wrong."""
    before = MADE[name]().rows()
    applicable = {number for number, (status, _) in before.items() if status != NA.value}
    for path in bundle_of(name).sources[at]["files"]:
        if "/golden_al_distribution/" in path:
            continue  # never read by `applies`: twenty files a tree
        editor = MADE[name]()
        with editor.record(at) as tree:
            del tree["files"][path]
        rows = editor.rows()
        assert not {number for number in applicable if rows[number][0] == NA.value}, path
        assert "contradicted: " not in rows[15][1], (path, rows[15])


def inapplicable(bundle: Bundle) -> set[int]:
    facts = facts_without(bundle, ())
    scope = scope_of(facts)
    assert isinstance(scope, Scope)
    return {check.number for check in checks.all_checks() if isinstance(check.applies(scope), NotApplicable)}


@pytest.mark.parametrize("name", MADE)
def test_an_inapplicable_row_stays_inapplicable_with_every_host_down(name: str) -> None:
    numbers = inapplicable(bundle_of(name))
    assert numbers
    before = MADE[name]().rows()
    for down in (OUTSIDE, (*OUTSIDE, *SWEEP)):
        editor = MADE[name]()
        for source in down:
            editor.drop(source)
        after = editor.rows()
        assert {number: after[number] for number in numbers} == {number: before[number] for number in numbers}
        assert {after[number][0] for number in numbers} == {NA.value}
