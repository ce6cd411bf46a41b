"""Purpose: the delta of an append-only sweep: the points that head has and base has not, or why it is none.

Source: formats.md 5, matrix-parity.md rule 10. Six rules: every entry is append-only and asks for nothing of evals;
selected keys exist at base; nothing unselected changed; every base curve is at head with all its concurrencies; the
delta is not empty; each new row falls in a visual series of base that has one image, its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.planner.evals import frozen
from app.planner.points import AGENTIC, FIXED, Rules
from app.planner.rows import Generated, generate
from app.target.changelog import ChangelogEntry
from app.target.masters import MasterEntry
from app.target.runners import Runners
from app.target.source import FileLine, Problem, RejectedInput, reject
from app.target.tree import Layout

_OUTSIDE: Final = ("scenarios",)
_SERIES: Final = ("model", "model-prefix", "precision", "framework", "runner")


@dataclass(frozen=True, slots=True)
class Inventory:
    """Masters and runners of one revision."""

    entries: Mapping[str, MasterEntry]
    runners: Runners
    layout: Layout


@dataclass(frozen=True, slots=True)
class DeltaRow:
    """New concurrencies of one row: an int for a single-node row, a list for a multi-node row."""

    made: Generated
    conc: int | list[int]
    name: str


@dataclass(frozen=True, slots=True)
class Selected:
    """What an entry selects: a key and its scenarios."""

    key: str
    scenarios: tuple[str, ...]
    entry: ChangelogEntry


def check_entries(entries: Sequence[ChangelogEntry], *, all_evals: bool, evals_only: bool) -> None:
    """Rule 1. Raises RejectedInput."""
    problems = [
        Problem(
            entry.where,
            "Append-only entries and others cannot be mixed in one change.",
            "no `append-only: true`",
            "Split the change, or mark every entry.",
        )
        for entry in entries
        if not entry.append_only
    ]
    if all_evals or evals_only:
        modifier = "all-evals" if all_evals else "evals-only"
        rule = "An append-only sweep takes no evals modifier."
        problems.append(Problem(entries[0].where, rule, modifier, f"Remove {modifier}."))
    if problems:
        raise RejectedInput(problems)


def delta(base: Inventory, head: Inventory, selected: Sequence[Selected], rules: Rules) -> list[DeltaRow]:
    """Rules 2 to 6 and the new rows, in head's order. Raises RejectedInput."""
    wanted: dict[str, dict[str, Selected]] = {}
    for choice in selected:
        wanted.setdefault(choice.key, {}).update(dict.fromkeys(choice.scenarios, choice))
    _unselected_unchanged(base, head, wanted)
    old = _generated(base, wanted, rules)
    new = _generated(head, wanted, rules)
    if not old:
        raise reject(selected[0].entry.where, "An append-only sweep needs base points.", "none", "Drop append-only.")
    known = _concurrencies(old, base.layout, rules)
    problems = _kept(known, _concurrencies(new, head.layout, rules), selected[0].entry)
    rows = list(_added(new, known, head.layout, rules))
    if not rows and not problems:
        rule = "An append-only sweep must add a point."
        problems.append(Problem(selected[0].entry.where, rule, "none is new", "Add a concurrency or drop append-only."))
    problems.extend(_foreign(old, rows))
    if problems:
        raise RejectedInput(problems)
    return rows


def _unselected_unchanged(base: Inventory, head: Inventory, wanted: Mapping[str, Mapping[str, Selected]]) -> None:
    """Rules 2 and 3."""
    problems: list[Problem] = []
    for key in dict.fromkeys([*head.entries, *base.entries]):
        old, new = base.entries.get(key), head.entries.get(key)
        if key in wanted:
            problems.extend(_selected_entry(old, new, wanted[key]))
        elif old is None or new is None or old.data != new.data:
            where = (new or old or next(iter(head.entries.values()))).where
            state = "new" if old is None else "removed" if new is None else "changed"
            rule = "An append-only change may not touch keys that no entry selects."
            problems.append(Problem(where, rule, f"{key} is {state}", "Undo it or move it to another change."))
    if problems:
        raise RejectedInput(problems)


def _selected_entry(
    old: MasterEntry | None, new: MasterEntry | None, chosen: Mapping[str, Selected]
) -> Iterable[Problem]:
    choice = next(iter(chosen.values()))
    if old is None or new is None:
        rule = "A key of an append-only entry must exist at base and head."
        yield Problem(choice.entry.where, rule, choice.key, "Drop append-only for a new key.")
        return
    if old.scenarios.keys() != new.scenarios.keys():
        rule = "An append-only change may not add or remove a scenario."
        yield Problem(new.line_of("scenarios"), rule, ", ".join(new.scenarios), "Drop append-only.")
        return
    untouched = [name for name in new.scenarios if name not in chosen]
    for name in untouched:
        if old.scenarios[name] != new.scenarios[name]:
            rule = "A scenario that no append-only entry selects may not change."
            yield Problem(new.line_of("scenarios", name), rule, name, "Undo it or select the scenario.")
    if untouched:
        for name in dict.fromkeys([*old.data, *new.data]):
            if name not in _OUTSIDE and old.data.get(name) != new.data.get(name):
                rule = "Fields of the whole entry may not change while a scenario is not selected."
                yield Problem(new.line_of(name), rule, name, "Undo it or drop append-only.")


def _generated(side: Inventory, wanted: Mapping[str, Mapping[str, Selected]], rules: Rules) -> list[Generated]:
    return [made for key, chosen in wanted.items() for made in generate(side.entries[key], side.runners, rules, chosen)]


def _curve(made: Generated, layout: Layout, rules: Rules) -> Any:
    """All fields of a row but concurrency and name. October reads `CONFIG_FILE=` as the recipe that it names."""
    fields = dict(made.fields)
    if rules is Rules.OCTOBER and "prefill" in fields:
        from app.target.recipes import recipe_reference

        fields["srt-recipe"] = recipe_reference(layout, made.fields)
        settings = [
            setting
            for setting in fields["prefill"].get("additional-settings", ())
            if not setting.startswith("CONFIG_FILE=")
        ]
        fields["prefill"] = {**fields["prefill"], "additional-settings": settings}
    return frozen(fields)


def _concurrencies(made: Iterable[Generated], layout: Layout, rules: Rules) -> dict[Any, set[int]]:
    found: dict[Any, set[int]] = {}
    for part in made:
        known = found.setdefault(_curve(part, layout, rules), set())
        for conc, _ in part.rows:
            known.update(conc if isinstance(conc, list) else [conc])
    return found


def _kept(base: Mapping[Any, set[int]], head: Mapping[Any, set[int]], entry: ChangelogEntry) -> list[Problem]:
    """Rule 4."""
    problems = []
    for curve, known in base.items():
        lost = sorted(known - head.get(curve, set()))
        if lost:
            model = next((value for name, value in curve if name == "model-prefix"), "")
            rule = "An append-only change may not change or remove an existing point."
            found = f"{model} at concurrency {', '.join(map(str, lost))}"
            problems.append(Problem(entry.where, rule, found, "Restore it or drop append-only."))
    return problems


def _added(new: Iterable[Generated], known: Mapping[Any, set[int]], layout: Layout, rules: Rules) -> Iterable[DeltaRow]:
    """Rule 5: rows with only their new concurrencies."""
    for made in new:
        had = known.get(_curve(made, layout, rules), set())
        for conc, name in made.rows:
            if isinstance(conc, list):
                fresh = [value for value in conc if value not in had]
                if fresh:
                    yield DeltaRow(made, fresh, name)
            elif conc not in had:
                yield DeltaRow(made, conc, name)


def _foreign(old: Iterable[Generated], rows: Iterable[DeltaRow]) -> Iterable[Problem]:
    """Rule 6."""
    images: dict[Any, set[str]] = {}
    for made in old:
        images.setdefault(_series(made), set()).add(made.fields["image"])
    seen: set[FileLine] = set()
    for row in rows:
        found, where = images.get(_series(row.made)), row.made.master
        if where in seen:
            continue
        seen.add(where)
        if found is None:
            rule = "A new point must fall in an existing visual series."
            yield Problem(where, rule, "no base row of this series", "Drop append-only.")
        elif found != {row.made.fields["image"]}:
            rule = "A new point must use the one image of its series."
            text = f"{row.made.fields['image']}; base has {', '.join(sorted(found))}"
            yield Problem(where, rule, text, "Use the series' image or drop append-only.")


def _series(made: Generated) -> Any:
    fields = made.fields
    fixed = made.scenario == FIXED
    return (
        tuple(fields[name] for name in _SERIES),
        fields.get("disagg", False),
        FIXED if fixed else AGENTIC,
        (fields["isl"], fields["osl"], fields["spec-decoding"]) if fixed else None,
        frozen(fields.get("kv-offloading", "none")) != "none",
        tuple(fields.get(pool, {}).get("hardware") for pool in ("prefill", "decode")),
    )
