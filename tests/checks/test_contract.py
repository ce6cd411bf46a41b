"""The check contract: what registers, what a check may read, and what the engine makes of missing evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from app.facts.base import Fact, Facts, Missing, MissingFact, UndeclaredFact
from app.planner.points import Rules
from app.planner.scope import Scope
from app.target.tree import Layout
from app.verdict import engine
from checks.contract import (
    FAIL,
    NA,
    PASS,
    WARN,
    AnyOf,
    Check,
    Help,
    NotApplicable,
    Optional,
    Register,
    Required,
    cannot_verify,
    check,
    passed,
    warned,
)

HELP = Help("rule", ("passes",), ("fails",), "fix", "source")
SCOPE = Scope(Layout.OCTOBER, Rules.OCTOBER, (), (), ())


@dataclass(frozen=True)
class Apples(Fact):
    title: ClassVar[str] = "the apples"
    count: int


@dataclass(frozen=True)
class Pears(Fact):
    title: ClassVar[str] = "the pears"
    count: int


def made(
    judge: Any, needs: tuple[Any, ...] = (Required(Apples),), applies: Any = lambda scope: True, may: Any = (PASS, FAIL)
) -> Check:
    register = Register()
    check(number=100, name="Fruit", applies=applies, needs=needs, may=may, help=HELP, register=register)(judge)
    return register.all()[0]


def row(one: Check, facts: Facts, errors: list[str] | None = None) -> Any:
    return engine._row(one, facts, SCOPE, errors if errors is not None else [])


def test_a_check_without_help_does_not_register() -> None:
    with pytest.raises(ValueError, match="no complete help"):
        check(
            number=1, name="x", applies=bool, needs=(), may=(PASS,), help=Help("", (), (), "", ""), register=Register()
        )(lambda facts, scope: passed("x"))


def test_a_number_registers_once() -> None:
    register = Register()
    enter = check(number=1, name="x", applies=bool, needs=(), may=(PASS,), help=HELP, register=register)
    enter(lambda facts, scope: passed("x"))
    with pytest.raises(ValueError, match="registered twice"):
        enter(lambda facts, scope: passed("x"))


def test_reading_an_undeclared_fact_raises() -> None:
    facts = Facts.of(Apples(1), Pears(2)).restricted([Apples])
    assert facts[Apples].count == 1
    with pytest.raises(UndeclaredFact):
        facts[Pears]


def test_a_check_that_reads_an_undeclared_fact_is_an_internal_error_and_never_a_pass() -> None:
    errors: list[str] = []
    result = row(made(lambda facts, scope: passed(str(facts[Pears].count))), Facts.of(Apples(1), Pears(1)), errors)
    assert result.status is FAIL
    assert result.reason.startswith("could not be verified (internal error")
    assert "Pears" in errors[0]


def test_a_missing_required_fact_is_never_a_pass() -> None:
    facts = Facts.of((Apples, Missing("the apples", "HTTP 503")))
    result = row(made(lambda facts, scope: passed("fine")), facts)
    assert result.status is FAIL
    assert result.reason == "could not be verified: the apples (HTTP 503)"
    assert [(gone.source, gone.reason) for gone in result.unverified] == [("the apples", "HTTP 503")]


def test_a_missing_required_fact_warns_in_an_advisory_check() -> None:
    advisory = made(lambda facts, scope: passed("fine"), may=(PASS, WARN))
    assert row(advisory, Facts.of()).status is WARN


def test_one_of_two_alternatives_is_enough() -> None:
    one = made(lambda facts, scope: passed("fine"), needs=(AnyOf(Apples, Pears),))
    assert row(one, Facts.of(Pears(1))).status is PASS
    assert row(one, Facts.of()).status is FAIL


def test_an_optional_fact_may_be_missing() -> None:
    one = made(lambda facts, scope: passed(str(facts.get(Apples))), needs=(Optional(Apples),))
    assert row(one, Facts.of()).reason == "None"


def test_an_inapplicable_row_is_not_applicable_with_all_evidence_missing() -> None:
    one = made(lambda facts, scope: passed("fine"), applies=lambda scope: NotApplicable("no fruit"))
    result = row(one, Facts.of())
    assert (result.status, result.reason) == (NA, "no fruit")


def test_without_a_scope_no_row_is_not_applicable() -> None:
    one = made(lambda facts, scope: passed("fine"), applies=lambda scope: NotApplicable("no fruit"))
    gone = engine.Unverified("files of the pull request", "were not read")
    result = engine._row(one, Facts.of(Apples(1)), gone, [])
    assert result.status is FAIL
    assert result.reason.startswith("could not be verified: files of the pull request")


def test_evidence_that_a_check_finds_missing_keeps_what_it_found() -> None:
    def judge(facts: Facts, scope: Scope) -> Any:
        raise cannot_verify("the pits", "no pit in the log")

    assert row(made(judge), Facts.of(Apples(1))).reason == "could not be verified: the pits (no pit in the log)"


def test_an_exception_in_a_check_does_not_reach_the_other_rows() -> None:
    def judge(facts: Facts, scope: Scope) -> Any:
        raise ZeroDivisionError("boom")

    errors: list[str] = []
    result = row(made(judge), Facts.of(Apples(1)), errors)
    assert result.status is FAIL
    assert "internal error" in result.reason
    assert "boom" in errors[0]


def test_a_status_that_was_not_declared_is_refused() -> None:
    assert row(made(lambda facts, scope: warned("hm")), Facts.of(Apples(1))).status is FAIL


def test_a_fact_that_builds_on_a_missing_one_passes_its_reason_on() -> None:
    facts = Facts({Apples: lambda facts: Apples(facts[Pears].count)})
    with pytest.raises(MissingFact, match="the pears"):
        facts[Apples]


def test_facts_are_made_once_for_all_checks() -> None:
    made_count = []

    def maker(_facts: Facts) -> Fact:
        made_count.append(1)
        return Apples(1)

    facts = Facts({Apples: maker})
    assert facts.restricted([Apples])[Apples] is facts.restricted([Apples])[Apples]
    assert len(made_count) == 1
