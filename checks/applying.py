"""Purpose: the common answer of `applies` rules: what is looked at, or why there is nothing, or that nobody can tell.

Invariant: while something of the scope is undecided (a launch closure that cannot be narrowed), "nothing is affected"
is not known, so the row is "could not be verified", never N/A (rules.md, "Across checks").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from app.planner.scope import AffectedKey, Scope
from app.planner.selection import matching
from app.target.changelog import ChangelogEntry
from app.target.tree import OCTOBER_ROOT
from checks.contract import CannotVerify, NotApplicable, Unverified

T = TypeVar("T")

NOTHING_AFFECTED = "no benchmark point is affected"
REMOVALS_ONLY = "removals only: no point is added or changed"

WHAT = "what the pull request affects"


def found_or(scope: Scope, found: Sequence[T], reason: str) -> Sequence[T] | NotApplicable:
    """`found`, or N/A with the reason, which is the removals' where the change only takes points away.

    Raises CannotVerify where the scope is undecided.
    """
    if found:
        return found
    if scope.undecided:
        raise CannotVerify([Unverified(WHAT, undecided) for undecided in scope.undecided])
    only_removals = bool(scope.keys) and all(removal_only(key) for key in scope.keys)
    return NotApplicable(REMOVALS_ONLY if only_removals else reason)


def entries_of(scope: Scope, key: str) -> tuple[ChangelogEntry, ...]:
    """Appended changelog entries that name a config key (`*` in a name stands for any run of characters)."""
    return tuple(entry for entry in scope.entries if any(matching(name, [key]) for name in entry.config_keys))


def removal_only(key: AffectedKey) -> bool:
    """True for a key of which the pull request only takes points away."""
    return key.only_removes


def throughput_keys(scope: Scope) -> tuple[AffectedKey, ...]:
    """Affected keys whose throughput must be measured: not those that only lose points or only ask for evals."""
    kept = []
    for key in scope.keys:
        entries = entries_of(scope, key.key)
        evals_alone = bool(entries) and all(entry.evals_only or entry.all_evals for entry in entries)
        if key.points and not removal_only(key) and (key.added or not evals_alone):
            kept.append(key)
    return tuple(kept)


def listed(names: Sequence[str], shown: int = 3) -> str:
    """`a, b and c`, cut after `shown` names: `a, b, c and 4 more`."""
    unique = list(dict.fromkeys(names))
    if len(unique) > shown:
        return f"{', '.join(unique[:shown])} and {len(unique) - shown} more"
    if len(unique) < 2:
        return "".join(unique)
    return f"{', '.join(unique[:-1])} and {unique[-1]}"


def short(path: str) -> str:
    """A path as people name it in a sentence: without the October root, at most its last two parts."""
    parts = path.removeprefix(OCTOBER_ROOT).split("/")
    return "/".join(parts) if len(parts) <= 2 else "…/" + "/".join(parts[-2:])
