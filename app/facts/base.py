"""Purpose: how typed evidence reaches a check: one value of each kind, or a reason why it is missing.

A `Fact` kind names the sources (files of a bundle) that it is made from; the engine asks the checks for the union of
kinds, and the collector for the union of sources. Values are made lazily and at most once for each verdict.

Invariants: a check sees a view restricted to what it declared; reading anything else raises `UndeclaredFact`, which is
a bug of ours and never a silent pass. Reading a declared but missing fact raises `MissingFact`, which the engine
turns into "could not be verified".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import ClassVar, TypeVar

from app.policy import Policy


class Fact:
    """Base of all typed evidence. `title` is what a person calls it in "could not be verified: <title>"."""

    title: ClassVar[str] = ""
    sources: ClassVar[tuple[str, ...]] = ()


F = TypeVar("F", bound=Fact)


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a fact is not there: the source that is missing and the reason, in a few words."""

    source: str
    reason: str


class MissingFact(Exception):  # noqa: N818
    """A declared fact is not there."""

    def __init__(self, kind: type[Fact], missing: Missing) -> None:
        super().__init__(f"{missing.source}: {missing.reason}")
        self.kind = kind
        self.missing = missing


class UndeclaredFact(Exception):  # noqa: N818
    """A check read a fact that it did not declare: a bug in the check."""


Maker = Callable[["Facts"], "Fact | Missing"]


@dataclass(frozen=True)
class Context:
    """What every check may read without declaring it: whose pull request, under which policy, reviewed on which day."""

    policy: Policy = field(default_factory=lambda: Policy(name="default"))
    review_date: date = date(2026, 1, 1)
    repository: str = ""
    number: int = 0
    head_sha: str = ""


class Facts:
    """All facts of one verdict, made when first read.

    `makers` maps a kind to a function that gets the unrestricted `Facts` (facts may build on others) and returns the
    value or `Missing`. A maker that raises `MissingFact` passes that reason on.
    """

    def __init__(
        self,
        makers: Mapping[type[Fact], Maker],
        context: Context | None = None,
        allowed: frozenset[type[Fact]] | None = None,
    ) -> None:
        self.context = context or Context()
        self._makers = makers
        self._allowed = allowed
        self._made: dict[type[Fact], Fact | Missing] = {}

    @classmethod
    def of(cls, *values: Fact | tuple[type[Fact], Missing], context: Context | None = None) -> Facts:
        """Facts from ready values, for tests: a value, or (kind, Missing) for one that is not there."""
        pairs = (value if isinstance(value, tuple) else (type(value), value) for value in values)
        made: dict[type[Fact], Fact | Missing] = dict(pairs)

        def maker(value: Fact | Missing) -> Maker:
            return lambda _facts: value

        return cls({kind: maker(value) for kind, value in made.items()}, context)

    @property
    def policy(self) -> Policy:
        return self.context.policy

    @property
    def review_date(self) -> date:
        return self.context.review_date

    @property
    def repository(self) -> str:
        return self.context.repository

    @property
    def number(self) -> int:
        return self.context.number

    @property
    def head_sha(self) -> str:
        return self.context.head_sha

    def restricted(self, kinds: Iterable[type[Fact]] | None) -> Facts:
        """The same facts, readable only in `kinds` (None: all); values are shared, nothing is made twice."""
        view = Facts(self._makers, self.context, None if kinds is None else frozenset(kinds))
        view._made = self._made
        return view

    def put(self, value: Fact) -> None:
        """Set a value that no maker can know, such as the rows judged so far."""
        self._made[type(value)] = value

    def state(self, kind: type[F]) -> F | Missing:
        """The value, or why it is missing."""
        if self._allowed is not None and kind not in self._allowed:
            raise UndeclaredFact(f"{kind.__name__} was read but not declared in needs")
        if kind not in self._made:
            self._made[kind] = self._make(kind)
        return self._made[kind]  # type: ignore[return-value]

    def _make(self, kind: type[Fact]) -> Fact | Missing:
        maker = self._makers.get(kind)
        if maker is None:
            return Missing(kind.title or kind.__name__, "was not gathered")
        try:
            return maker(self.restricted(None))
        except MissingFact as absent:
            return absent.missing

    def __getitem__(self, kind: type[F]) -> F:
        """The value. Raises MissingFact where it is not there."""
        value = self.state(kind)
        if isinstance(value, Missing):
            raise MissingFact(kind, value)
        return value

    def get(self, kind: type[F]) -> F | None:
        """The value, or None where it is not there."""
        value = self.state(kind)
        return None if isinstance(value, Missing) else value
