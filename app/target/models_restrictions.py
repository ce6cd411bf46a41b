"""Purpose: what a piece of MODELS.md prose forbids: scenarios, precisions, arms, from which day on.

Texts seen: "Single-turn 8k1k (removed 2026-08-04, [#2493](...))", "all bf16 recipes (removed ...)", "Agentic coding
non-DSpark arm (deprecated from day 0)", "Single-turn 1k8k (GLM-5 only)", "Agentic coding, non-MTP".

Invariants: a text that names neither a scenario nor a precision forbids nothing. A ban without a day holds always.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from app.target.markdown_blocks import without_markup
from app.target.source import FileLine

_SCENARIOS = re.compile(r"agentic[ -]coding|(?<!\d)(?P<isl>\d+)k(?P<osl>\d+)k?(?!\d)", re.IGNORECASE)
_PREFIX = re.compile(r"`([a-z0-9][a-z0-9._-]*)`")
_PRECISION = re.compile(r"\b(?:nv|mx)?(?:bf16|fp16|fp8|fp4|int8|int4)\b", re.IGNORECASE)
_EVERY_PRECISION_USE = re.compile(r"\ball\s+\S+\s+recipes\b|\brecipes\b", re.IGNORECASE)
_ARM = re.compile(r"\bnon-(?P<arm>[A-Za-z0-9]+)", re.IGNORECASE)
_ONLY = re.compile(r"\((?P<name>[^()]+?) only\)")
_REMOVED = re.compile(r"(?:removed|retired|deprecated|since|enacted)[^()]*?(?P<day>\d{4}-\d{2}-\d{2})", re.IGNORECASE)
_ALWAYS = re.compile(r"from day (?:0|zero)", re.IGNORECASE)


@dataclass(frozen=True)
class Restriction:
    """One ban. `prefixes` () means every model, `scenarios` None every scenario, `precisions` () every precision.

    `arm` is the draft whose absence is banned ("non-DSpark"). `first_day` is the first day of the ban, None for
    always. `only` narrows it to one model of a row that names several. A `retirement` ends the whole model.
    """

    text: str
    where: FileLine
    prefixes: tuple[str, ...]
    scenarios: tuple[str, ...] | None
    first_day: date | None
    precisions: tuple[str, ...] = ()
    arm: str = ""
    only: str = ""
    retirement: bool = False

    @property
    def last_day(self) -> date | None:
        """The last allowed day."""
        return self.first_day - timedelta(days=1) if self.first_day else None

    def banned_on(self, day: date) -> bool:
        return self.first_day is None or day >= self.first_day

    def covers(self, prefix: str, scenario: str, precision: str, drafting: bool) -> bool:
        """True where a configuration is what this ban speaks of, whatever the day."""
        if self.prefixes and prefix not in self.prefixes:
            return False
        if self.scenarios is not None and scenario not in self.scenarios:
            return False
        if self.precisions and precision.casefold() not in self.precisions:
            return False
        return not (self.arm and drafting)

    def meant_for(self, prefix: str, name: str, prefixes: tuple[str, ...]) -> bool:
        """False where the text is limited to another model of the same row ("GLM-5 only")."""
        if not self.only:
            return True
        wanted = _squeezed(self.only)
        names = {_squeezed(part) for part in re.split(r"\s*/\s*", name)} | {_squeezed(other) for other in prefixes}
        return wanted not in names or wanted == _squeezed(prefix)

    def told(self, prefix: str) -> str:
        """The ban in one line."""
        day = f" (last allowed day {self.last_day})" if self.last_day else ""
        return f"{prefix}: {'retired' if self.retirement else 'deprecated'}: {self.text}{day}"


def _squeezed(text: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", text.casefold())


def scenarios_in(text: str) -> tuple[str, ...]:
    """The scenario keys that a text names, in order."""
    found: list[str] = []
    for match in _SCENARIOS.finditer(without_markup(text)):
        key = f"{match['isl']}k{match['osl']}k" if match["isl"] else "agentic-coding"
        if key not in found:
            found.append(key)
    return tuple(found)


def prefixes_in(cell: str) -> tuple[str, ...]:
    """Model prefixes: the code spans of a cell."""
    return tuple(dict.fromkeys(match.group(1) for match in _PREFIX.finditer(cell)))


def top_level_parts(cell: str) -> Iterator[str]:
    """A cell split at the commas outside parentheses and brackets."""
    depth, start = 0, 0
    for place, character in enumerate(cell):
        if character in "([":
            depth += 1
        elif character in ")]":
            depth = max(0, depth - 1)
        elif character == "," and depth == 0:
            yield cell[start:place]
            start = place + 1
    yield cell[start:]


def calendar_day(text: str) -> date | None:
    """The day that `YYYY-MM-DD` names; None where the calendar has no such day."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def restrictions_in(
    text: str,
    where: FileLine,
    prefixes: tuple[str, ...],
    since: Callable[[str], date | None],
    first_day: date | None = None,
) -> Iterator[Restriction]:
    """What a text forbids for `prefixes`. `since` gives the day from which a scenario is deprecated for all models,
    used where the text has no day of its own; `first_day` is the day that the text's heading gives."""
    plain = without_markup(text)
    scenarios = scenarios_in(plain)
    precisions = tuple(sorted({match.group().casefold() for match in _PRECISION.finditer(plain)}))
    if not scenarios and not precisions:
        return
    removed, arm, only = _REMOVED.search(plain), _ARM.search(plain), _ONLY.search(plain)
    day = (calendar_day(removed["day"]) if removed else None) or first_day
    label = re.sub(r"\s*(?:\([^()]*\)|\[\^[^\]]*\])", "", plain).strip() or plain
    label = label if len(label) <= 80 else f"{', '.join(scenarios)}"
    shared = (arm["arm"].casefold() if arm else "", only["name"].strip() if only else "")
    if precisions and (not scenarios or _EVERY_PRECISION_USE.search(plain)):
        yield Restriction(label, where, prefixes, None, day, precisions, *shared)
        return
    always = _ALWAYS.search(plain) is not None
    for scenario in scenarios:
        first = day or (None if always else since(scenario))
        yield Restriction(label, where, prefixes, (scenario,), first, precisions, *shared)
