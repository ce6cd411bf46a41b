"""Purpose: MODELS.md as typed rows, notices and engine assignments, and whether a model and scenario may be submitted.

Source: formats.md 8, rules.md 7, evidence.md 11. A notice's heading date is the LAST allowed day; "removed" and
"retired" dates in the table are the first day on which it is not. What is "not yet enacted" bans nothing.

Invariants: a prefix without a row is `found=False`, never allowed. What the prose leaves open (a scenario that the row
does not name, a limit that cannot be read) is `allowed=None` with the cell quoted, for a person to read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, timedelta

from app.target.markdown_blocks import Block, Heading, Paragraph, Table, blocks, without_markup
from app.target.models_restrictions import (
    Restriction,
    calendar_day,
    prefixes_in,
    restrictions_in,
    scenarios_in,
    top_level_parts,
)
from app.target.source import FileLine, reject

_LIMITED = re.compile(r"\blimited to (?P<list>[a-z0-9/, ]+?)(?:\band (?P<last>[a-z]+\d+))?(?=[^a-z0-9/, ]|\Z)")
_ONLY = re.compile(r"\((?P<arm>[A-Za-z0-9.+-]+) only\)")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_HEADING_DATE = re.compile(r"(?P<month>[A-Z][a-z]+) (?P<day>\d{1,2}), (?P<year>\d{4})")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_ALWAYS = date.min
_DRAFTS: dict[str, frozenset[str]] = {
    "mtp": frozenset({"mtp", "nextn", "eagle"}),
    "eagle3": frozenset({"eagle3", "eagle"}),
    "eagle": frozenset({"eagle", "eagle3", "nextn", "mtp"}),
}


def scenario_key(scenario: str, isl: int | None = None, osl: int | None = None) -> str:
    """agentic-coding, 8k1k, 1k1k, 1k8k or <isl>_<osl> from a scenario name and lengths ("fixed-8k1k" is "8k1k")."""
    if isl is not None and osl is not None:
        named = {(8192, 1024): "8k1k", (1024, 1024): "1k1k", (1024, 8192): "1k8k"}
        return named.get((isl, osl), f"{isl}_{osl}")
    return scenario.removeprefix("fixed-") if scenario != "fixed-seq-len" else scenario


@dataclass(frozen=True)
class ScenarioRow:
    """One row of the Scenarios table; `since` is the first day on which a deprecated scenario is not allowed."""

    key: str
    name: str
    deprecated: bool
    since: date | None
    where: FileLine


@dataclass(frozen=True)
class ModelRow:
    """One row of the support matrix, cells as written. `retired` is the first day without any active scenario."""

    name: str
    prefixes: tuple[str, ...]
    added: str
    active: str
    deprecated: str
    where: FileLine

    @property
    def is_retired(self) -> bool:
        return re.match(r"none\b", self.active, re.IGNORECASE) is not None

    @property
    def retired(self) -> date | None:
        match = _DATE.search(self.active) if self.is_retired else None
        return calendar_day(match.group()) if match else None


@dataclass(frozen=True)
class EngineRow:
    """One row of the engine mapping table: the model's first-class engines and agreed drafts, cells as written."""

    name: str
    prefixes: tuple[str, ...]
    engines: str
    drafts: str
    where: FileLine

    def names(self, engine: str) -> bool:
        return re.search(rf"\b{re.escape(engine)}\b", self.engines, re.IGNORECASE) is not None


@dataclass(frozen=True)
class ModelStatus:
    """Whether a configuration may be submitted on a day. `deadline` is its last allowed day, where one is known.

    `allowed` is None where the text needs a reader; `found` is False where the prefix has no row.
    """

    allowed: bool | None
    reason: str
    where: FileLine
    deadline: date | None = None
    found: bool = True


@dataclass(frozen=True)
class ModelsTable:
    """A MODELS.md file."""

    path: str
    scenarios: tuple[ScenarioRow, ...]
    rows: tuple[ModelRow, ...]
    restrictions: tuple[Restriction, ...]
    engines: tuple[EngineRow, ...] = field(default_factory=tuple)
    sha: str = ""

    @classmethod
    def parse(cls, path: str, content: bytes, sha: str = "") -> ModelsTable:
        """The tables and notices of a file. Raises RejectedInput where there is no model support matrix."""
        return _parsed(path, content, sha)

    def row(self, prefix: str) -> ModelRow | None:
        """The row that names a prefix; a row without prefixes is matched by its class name."""
        named = next((row for row in self.rows if prefix in row.prefixes), None)
        wanted = _squeezed(prefix)
        return named or next((row for row in self.rows if not row.prefixes and _squeezed(row.name) == wanted), None)

    def engine_row(self, prefix: str) -> EngineRow | None:
        return next((row for row in self.engines if prefix in row.prefixes), None)

    def status(
        self, prefix: str, scenario: str, *, precision: str, drafting: bool, method: str | None, date: date
    ) -> ModelStatus:
        """May this model, scenario, precision and draft be submitted on `date` (a UTC day)?

        `scenario` is a `scenario_key`; `method` the speculative method of the point, None without a draft.
        """
        row = self.row(prefix)
        if row is None:
            reason = f"{self.path} has no row for {prefix}"
            return ModelStatus(None, reason, FileLine(self.path, 1, 0, self.sha), found=False)
        bans = [
            restriction
            for restriction in self._of(row, prefix)
            if restriction.covers(prefix, scenario, precision, drafting)
        ]
        banned = [ban for ban in bans if ban.banned_on(date)]
        if banned:
            worst = min(banned, key=lambda ban: (not ban.retirement, ban.first_day or _ALWAYS, ban.where))
            return ModelStatus(False, worst.told(prefix), worst.where, worst.last_day)
        return self._standing(row, prefix, scenario, precision, method if drafting else None, bans)

    def _of(self, row: ModelRow, prefix: str) -> Iterable[Restriction]:
        yield from self.restrictions
        for scenario in self.scenarios:
            if scenario.deprecated:
                yield Restriction(
                    f"{scenario.name}, for all models", scenario.where, (), (scenario.key,), scenario.since
                )
        if row.is_retired:
            yield Restriction(row.name, row.where, (prefix,), None, row.retired, retirement=True)
        for part in top_level_parts(row.deprecated):
            for restriction in restrictions_in(part, row.where, (prefix,), lambda key: self._since(key) or row.retired):
                if restriction.meant_for(prefix, row.name, row.prefixes):
                    yield restriction

    def _since(self, scenario: str) -> date | None:
        return next((row.since for row in self.scenarios if row.key == scenario), None)

    def _standing(
        self, row: ModelRow, prefix: str, scenario: str, precision: str, method: str | None, bans: list[Restriction]
    ) -> ModelStatus:
        """What the row itself says of a configuration that no ban forbids today."""
        deadline = min((ban.last_day for ban in bans if ban.last_day), default=None)
        active = without_markup(row.active)
        part = _part_of(active, scenario)
        if deadline is None or part is not None:
            limit = _limit(active, precision) if not any(ban.precisions for ban in bans) else ""
            limit = limit or (_arm_limit(part, precision, method) if part else "")
            if limit:
                return ModelStatus(False, f"{prefix} {scenario} is active {limit}", row.where)
        if part is None and deadline is None:
            reason = f"{prefix} names {scenario} neither as active nor as deprecated: {active!r}"
            return ModelStatus(None, reason, row.where)
        reason = f"{prefix} {scenario} is allowed until {deadline}" if deadline else f"{prefix} {scenario} is active"
        return ModelStatus(True, reason, row.where, deadline)


def _limit(active: str, precision: str) -> str:
    """How the cell limits precisions, where it does not allow this one."""
    limited = _LIMITED.search(active.casefold())
    if limited is None:
        return ""
    precisions = re.findall(r"[a-z]+\d+", f"{limited['list']} {limited['last'] or ''}")
    return "" if precision in precisions else f"with {'/'.join(precisions)} only, this is {precision}"


def _arm_limit(part: str, precision: str, method: str | None) -> str:
    """How a qualifier such as "(DSpark only)" excludes this configuration."""
    only = _ONLY.search(part)
    if only is None:
        return ""
    arm = only["arm"].casefold()
    if re.fullmatch(r"[a-z]+\d+", arm) and arm.startswith(("fp", "bf", "int", "nvfp", "mxfp")):
        return "" if arm == precision else f"with {arm} only, this is {precision}"
    return "" if arm in drafts_of(method) else f"with {only['arm']} only, this has {method or 'no draft'}"


def drafts_of(method: str | None) -> frozenset[str]:
    """The names under which MODELS.md may know a method (NextN and EAGLE with a shipped head are MTP)."""
    if method is None:
        return frozenset()
    name = method.casefold()
    return frozenset({name}) | frozenset(arm for arm, methods in _DRAFTS.items() if name in methods)


def _squeezed(text: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", text.casefold())


def _part_of(active: str, scenario: str) -> str | None:
    """The part of an Active cell that names a scenario, with the qualifiers that follow it."""
    for part in re.split(r",(?![^(]*\))|\band\b(?![^(]*\))", active):
        if scenario in scenarios_in(part):
            return part
    return None


def _parsed(path: str, content: bytes, sha: str) -> ModelsTable:
    found = blocks(content.decode("utf-8-sig", errors="replace"))
    scenarios: list[ScenarioRow] = []
    rows: list[ModelRow] = []
    engines: list[EngineRow] = []
    for block in found:
        if not isinstance(block, Table):
            continue
        header = [cell.casefold() for cell in block.header]
        if header[:1] == ["scenario"] and "status" in header:
            scenarios += _scenario_rows(path, sha, block, header)
        elif "prefix" in header and any("active" in cell for cell in header):
            rows += _model_rows(path, sha, block, header)
        elif header[:1] == ["model"] and any("engine" in cell for cell in header):
            engines += _engine_rows(path, sha, block, header)
    if not rows:
        fix = "Keep the table with the columns Prefix, Active scenarios and Deprecated scenarios."
        raise reject(FileLine(path, 1, 0, sha), "MODELS.md needs its model support matrix.", "no such table", fix, 1)
    known = frozenset(prefix for row in rows for prefix in row.prefixes)
    notices = tuple(_notices(path, sha, found, known))
    return ModelsTable(path, tuple(scenarios), tuple(rows), notices, tuple(engines), sha)


def _column(header: list[str], *words: str) -> int:
    return next((place for place, cell in enumerate(header) if all(word in cell for word in words)), -1)


def _scenario_rows(path: str, sha: str, table: Table, header: list[str]) -> list[ScenarioRow]:
    rows = []
    for row in table.rows:
        status = without_markup(row.cells[_column(header, "status")])
        since = _DATE.search(status)
        deprecated = status.casefold().startswith("deprecated")
        for key in scenarios_in(row.cells[0]):
            first = calendar_day(since.group()) if deprecated and since else None
            where = FileLine(path, row.line, 0, sha)
            rows.append(ScenarioRow(key, without_markup(row.cells[0]), deprecated, first, where))
    return rows


def _model_rows(path: str, sha: str, table: Table, header: list[str]) -> list[ModelRow]:
    prefix, added = _column(header, "prefix"), _column(header, "added")
    active, deprecated = _column(header, "active"), _column(header, "deprecated")
    return [
        ModelRow(
            without_markup(row.cells[0]),
            prefixes_in(row.cells[prefix]),
            without_markup(row.cells[added]),
            row.cells[active],
            row.cells[deprecated],
            FileLine(path, row.line, 0, sha),
        )
        for row in table.rows
    ]


def _engine_rows(path: str, sha: str, table: Table, header: list[str]) -> list[EngineRow]:
    engines, drafts = _column(header, "engine"), _column(header, "draft")
    return [
        EngineRow(
            without_markup(row.cells[0]),
            prefixes_in(row.cells[0]),
            without_markup(row.cells[engines]),
            row.cells[drafts] if drafts >= 0 else "",
            FileLine(path, row.line, 0, sha),
        )
        for row in table.rows
    ]


def heading_day(text: str) -> date | None:
    """The day that a notice's heading names, such as "Monday, August 3, 2026"."""
    match = _HEADING_DATE.search(text)
    if match is None or match["month"] not in _MONTHS:
        return None
    try:
        return date(int(match["year"]), _MONTHS.index(match["month"]) + 1, int(match["day"]))
    except ValueError:
        return None


def _notices(path: str, sha: str, found: tuple[Block, ...], known: frozenset[str]) -> Iterable[Restriction]:
    """Restrictions of the dated notices: their tables, and sentences that name a last day, a scenario and a model."""
    day: date | None = None
    for place, block in enumerate(found):
        if isinstance(block, Heading):
            day = heading_day(block.text)
        elif day is None:
            continue
        elif isinstance(block, Table) and not _pending(found[place + 1 :]):
            yield from _table_notices(path, sha, block, day)
        elif isinstance(block, Paragraph):
            for sentence in re.split(r"(?<=[.!?])\s+", block.text):
                named = tuple(prefix for prefix in prefixes_in(sentence) if prefix in known)
                if "last day" in sentence and named:
                    where = FileLine(path, block.line, 0, sha)
                    yield from restrictions_in(sentence, where, named, lambda _: None, day + timedelta(days=1))


def _table_notices(path: str, sha: str, table: Table, day: date) -> Iterable[Restriction]:
    header = [cell.casefold() for cell in table.header]
    model, deprecated = _column(header, "model"), _column(header, "deprecated")
    if model < 0 or deprecated < 0:
        return
    for row in table.rows:
        where = FileLine(path, row.line, 0, sha)
        cell = row.cells[deprecated]
        yield from restrictions_in(cell, where, prefixes_in(row.cells[model]), lambda _: None, day + timedelta(days=1))


def _pending(following: tuple[Block, ...]) -> bool:
    """True where the paragraph right after a table says that it is not yet enacted."""
    after = following[0] if following else None
    return (
        isinstance(after, Paragraph)
        and re.search(r"not (?:yet )?enacted|pending", after.text, re.IGNORECASE) is not None
    )
