"""Purpose: the contract between the engine and the checks: what a check declares, what it is given, what it returns.

A check is a pure function of typed facts in its own file, registered together with its help by `@check`. The
register refuses a check without help, a second check with the same number, and a status that was not declared.

Invariants:
- `applies` reads only the `Scope`. An inapplicable row is N/A, whatever else is missing.
- A check may read only the facts it declared in `needs`; reading another raises `UndeclaredFact` (app.facts.base).
- "Could not be verified" is one helper, `unverified()`: FAIL, or WARN for the advisory checks 4, 14 and 15.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING

from app.target.source import FileLine

if TYPE_CHECKING:
    from app.facts.base import Fact, Facts
    from app.planner.scope import Scope


class Status(Enum):
    """Outcome of one row. N/A counts as a pass in the header."""

    PASS = "PASS"  # noqa: S105
    FAIL = "FAIL"
    WARN = "WARN"
    NA = "N/A"


PASS, FAIL, WARN, NA = Status.PASS, Status.FAIL, Status.WARN, Status.NA

COULD_NOT = "could not be verified"


@dataclass(frozen=True, slots=True)
class Job:
    """A job of a workflow run."""

    run: int
    job: str


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a result artifact: `key` names the row, such as "c10" or "gsm8k c32"."""

    artifact: str
    key: str


@dataclass(frozen=True, slots=True)
class LogSpan:
    """A line of a job's log, counted from 1."""

    job: str
    line: int


@dataclass(frozen=True, slots=True)
class Comment:
    """A line of a comment or review, counted from 1."""

    id: int
    line: int


@dataclass(frozen=True, slots=True)
class Page:
    """A published page. `anchor` narrows it, such as a table row."""

    url: str
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Body:
    """A line of the pull request's description."""

    line: int


Where = FileLine | Job | Row | LogSpan | Comment | Page | Body


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found: where, what stands there, what was expected, the next step (one sentence each)."""

    where: Where
    found: str
    expected: str
    next_step: str


@dataclass(frozen=True, slots=True)
class Unverified:
    """A source of evidence that could not be seen, and why."""

    source: str
    reason: str


@dataclass(frozen=True)
class CheckResult:
    """What a check says. `reason` is one English line without a trailing newline."""

    status: Status
    reason: str
    findings: tuple[Finding, ...] = ()
    unverified: tuple[Unverified, ...] = ()


def passed(reason: str, findings: Iterable[Finding] = ()) -> CheckResult:
    """PASS. Findings of a pass are notes."""
    return CheckResult(Status.PASS, reason, tuple(findings))


def failed(reason: str, findings: Iterable[Finding] = ()) -> CheckResult:
    return CheckResult(Status.FAIL, reason, tuple(findings))


def warned(reason: str, findings: Iterable[Finding] = ()) -> CheckResult:
    return CheckResult(Status.WARN, reason, tuple(findings))


def not_applicable(reason: str) -> CheckResult:
    return CheckResult(Status.NA, reason)


class CannotVerify(Exception):  # noqa: N818
    """Raised inside a check when evidence is missing; the engine turns it into the row "could not be verified: ...".

    `findings` keep what was already seen, so that nothing found is lost.
    """

    def __init__(self, missing: Iterable[Unverified], findings: Iterable[Finding] = ()) -> None:
        self.missing = tuple(missing)
        self.findings = tuple(findings)
        super().__init__("; ".join(f"{item.source}: {item.reason}" for item in self.missing))


def cannot_verify(source: str, reason: str, findings: Iterable[Finding] = ()) -> CannotVerify:
    return CannotVerify([Unverified(source, reason)], findings)


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """Returned by `applies` when the check has nothing to look at; the reason becomes the row."""

    reason: str


@dataclass(frozen=True, slots=True)
class Required:
    """Without this fact the row can be neither PASS nor N/A."""

    fact: type[Fact]


@dataclass(frozen=True, slots=True)
class Optional:
    """Read when it is there."""

    fact: type[Fact]


@dataclass(frozen=True, slots=True, init=False)
class AnyOf:
    """At least one of these facts must be there."""

    facts: tuple[type[Fact], ...]

    def __init__(self, *facts: type[Fact]) -> None:
        object.__setattr__(self, "facts", facts)


Need = Required | Optional | AnyOf


def declared(needs: Iterable[Need]) -> frozenset[type[Fact]]:
    """Every fact kind that a list of needs allows a check to read."""
    kinds: set[type[Fact]] = set()
    for need in needs:
        kinds.update(need.facts if isinstance(need, AnyOf) else (need.fact,))
    return frozenset(kinds)


@dataclass(frozen=True)
class Help:
    """What a person needs to know of a check; feeds `sweepgate explain`, the page and docs/checks."""

    rule: str
    passes_when: tuple[str, ...]
    fails_when: tuple[str, ...]
    fix: str
    source: str


Applies = Callable[["Scope"], "object | NotApplicable"]
Judge = Callable[["Facts", "Scope"], CheckResult]


@dataclass(frozen=True)
class Check:
    """A registered check. `may` are the statuses its code may give."""

    number: int
    name: str
    applies: Applies
    needs: tuple[Need, ...]
    may: frozenset[Status]
    help: Help
    judge: Judge

    @property
    def advisory(self) -> bool:
        """True for the checks that may WARN and never FAIL."""
        return Status.FAIL not in self.may

    @property
    def unverified_status(self) -> Status:
        return Status.WARN if self.advisory else Status.FAIL

    @property
    def reads(self) -> frozenset[type[Fact]]:
        return declared(self.needs)


@dataclass
class Register:
    """All checks by number. Numbers never move; checks of others start at 100."""

    _checks: dict[int, Check] = field(default_factory=dict)

    def add(self, new: Check) -> None:
        if new.number in self._checks:
            raise ValueError(f"check {new.number} is registered twice")
        text = (new.help.rule, *new.help.passes_when, *new.help.fails_when, new.help.fix, new.help.source)
        if not new.help.passes_when or not new.help.fails_when or not all(part.strip() for part in text):
            raise ValueError(f"check {new.number} has no complete help")
        self._checks[new.number] = new

    def all(self) -> tuple[Check, ...]:
        return tuple(self._checks[number] for number in sorted(self._checks))

    def by_number(self) -> Mapping[int, Check]:
        return MappingProxyType(self._checks)


REGISTER = Register()


def check(
    *,
    number: int,
    name: str,
    applies: Applies,
    needs: tuple[Need, ...],
    may: tuple[Status, ...],
    help: Help,  # noqa: A002
    register: Register = REGISTER,
) -> Callable[[Judge], Judge]:
    """Register the decorated function as a check. Raises ValueError for a double number or missing help."""

    def enter(judge: Judge) -> Judge:
        register.add(Check(number, name, applies, needs, frozenset(may), help, judge))
        return judge

    return enter
