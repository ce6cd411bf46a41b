"""Purpose: which config keys a changelog entry selects: exact keys, and `*` for any run of characters.

Source: formats.md 4.1. Only `*` is special and the whole key must match; `?` is literal. Order is that of the masters,
duplicates are dropped. An unknown key and a pattern without a match are errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable

from app.target.changelog import ChangelogEntry
from app.target.source import Problem, RejectedInput


def matching(pattern: str, keys: Iterable[str]) -> list[str]:
    """Keys that a name selects, in their own order; empty where there is none."""
    if "*" not in pattern:
        return [key for key in keys if key == pattern]
    expression = re.compile(".*".join(map(re.escape, re.split(r"\*+", pattern))), re.DOTALL)
    return [key for key in keys if expression.fullmatch(key)]


Hint = Callable[[str], str]
"""What else is known about a name that is no config key, as a sentence; "" where nothing is."""


def selected_keys(entry: ChangelogEntry, keys: Collection[str], hint: Hint | None = None) -> list[str]:
    """All keys of an entry. Raises RejectedInput with every name that selects nothing."""
    found: dict[str, None] = {}
    problems: list[Problem] = []
    for name in entry.config_keys:
        names = [name] if name in keys else matching(name, keys) if "*" in name else []
        if not names:
            problems.append(_unknown(entry, name, keys, hint))
        found.update(dict.fromkeys(names))
    if problems:
        raise RejectedInput(problems)
    return list(found)


def _unknown(entry: ChangelogEntry, name: str, keys: Collection[str], hint: Hint | None) -> Problem:
    if "*" in name:
        fix = "Correct the pattern, or add the key to a master."
        return Problem(entry.where, "A pattern must match a config key of a master.", name, fix)
    known = hint(name) if hint is not None else ""
    close = "" if known else _closest(name, keys)
    fix = known or (f"Did you mean `{close}`? Else add the key to a master." if close else "Add it to a master.")
    return Problem(entry.where, "A config key must stand in a master config.", name, fix)


def _closest(name: str, keys: Iterable[str]) -> str:
    from difflib import get_close_matches

    found = get_close_matches(name, list(keys), n=1, cutoff=0.8)
    return found[0] if found else ""
