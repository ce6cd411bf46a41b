"""Purpose: how typed evidence reaches a check: one value of each kind, or a reason why it is missing.

A `Fact` kind names the sources (files of a bundle) that it is made from; the engine asks the checks for the union of
kinds, and the collector for the union of sources. Values are made lazily and at most once for each verdict.

Invariants: a check sees a view restricted to what it declared; reading anything else raises `UndeclaredFact`, which is
a bug of ours and never a silent pass. Reading a declared but missing fact raises `MissingFact`, which the engine
turns into "could not be verified".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeVar


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


class Facts:
    """All facts of one verdict, made when first read.

    `makers` maps a kind to a function that gets the unrestricted `Facts` (facts may build on others) and returns the
    value or `Missing`. A maker that raises `MissingFact` passes that reason on.
    """

    def __init__(self, makers: Mapping[type[Fact], Maker], allowed: frozenset[type[Fact]] | None = None) -> None:
        self._makers = makers
        self._allowed = allowed
        self._made: dict[type[Fact], Fact | Missing] = {}

    @classmethod
    def of(cls, *values: Fact) -> Facts:
        """Facts from ready values: for tests."""
        made: dict[type[Fact], Fact] = {type(value): value for value in values}

        def maker(value: Fact) -> Maker:
            return lambda _facts: value

        return cls({kind: maker(value) for kind, value in made.items()})

    def restricted(self, kinds: Iterable[type[Fact]]) -> Facts:
        """The same facts, readable only in `kinds`; values are shared, nothing is made twice."""
        view = Facts(self._makers, frozenset(kinds))
        view._made = self._made
        return view

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
        whole = self if self._allowed is None else Facts(self._makers)
        if whole is not self:
            whole._made = self._made
        try:
            return maker(whole)
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
