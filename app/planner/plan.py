"""Purpose: a changelog delta -> the sweep matrix that the incumbent prints, each row with the lines it comes from.

Source: matrix-parity.md "Generation rules", formats.md 2. `plan` is one function for the command line, the service and
the workflow; `points` (app.planner.points) answers what a key would run, this what a pull request runs.

Invariants: entries with `all-evals` come first, then file order; of several entries the first that names a (key,
scenario) wins, for throughput and evaluations separately. Evaluations are never trimmed and have no fingerprint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from app.planner.evals import EvalRow, deduplicated, evaluations, frozen
from app.planner.points import AGENTIC, FIXED, Rules, bound_recipe, fingerprint_of, with_nodes
from app.planner.rows import Generated, generate, length_name
from app.planner.selection import selected_keys
from app.target.changelog import Added, ChangelogEntry, difference, read_added
from app.target.masters import read_masters
from app.target.runners import read_runners
from app.target.source import FileLine, Problem, RejectedInput, reject
from app.target.tree import NotRecorded, Tree

if TYPE_CHECKING:
    from app.target.masters import MasterEntry
    from app.target.recipe import EffectiveRecipe
    from app.target.runners import Runners

FAST_DURATION: Final = 1200
EVAL_BUCKETS: Final = {
    (FIXED, False): "evals",
    (AGENTIC, False): "agentic_evals",
    (FIXED, True): "multinode_evals",
    (AGENTIC, True): "multinode_agentic_evals",
}


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """`added` and `deleted` come from a text diff of the changelog; without them the parsed difference counts.

    `base_ref` and `head_ref` are only printed. `rules` default to those of head's layout.
    """

    trim_conc: bool = False
    all_evals: bool = False
    evals_only: bool = False
    agentx_fast: bool = False
    rules: Rules | None = None
    added: Added | None = None
    deleted: Added | None = None
    base_ref: str = ""
    head_ref: str = ""


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """One row of the matrix. `bucket` is "single_node.8k1k", "multi_node.agentic", "evals", ...

    `row` has the incumbent's fields; `entry` is the changelog entry's line, `master` the search-space row's.
    """

    bucket: str
    config_key: str
    row: Mapping[str, Any]
    is_eval: bool
    concurrencies: tuple[int, ...]
    entry: FileLine
    master: FileLine


@dataclass(frozen=True, slots=True)
class Plan:
    """A sweep. `rows` holds throughput rows in entry order, then evaluations."""

    rows: tuple[PlannedRow, ...]
    entries: tuple[ChangelogEntry, ...]
    rules: Rules
    base_ref: str = ""
    head_ref: str = ""

    def matrix(self) -> dict[str, Any]:
        """The incumbent's JSON: empty throughput groups are absent, evaluation lists are always there."""
        found: dict[str, Any] = {}
        for row in self.rows:
            group, _, name = row.bucket.partition(".")
            if name:
                found.setdefault(group, {}).setdefault(name, []).append(dict(row.row))
            else:
                found.setdefault(group, []).append(dict(row.row))
        for name in EVAL_BUCKETS.values():
            found.setdefault(name, [])
        found["changelog_metadata"] = self._metadata()
        return found

    def _metadata(self) -> dict[str, Any]:
        return {
            "base_ref": self.base_ref,
            "head_ref": self.head_ref,
            "entries": [metadata_of(entry, self.rules) for entry in self.entries],
        }


def metadata_of(entry: ChangelogEntry, rules: Rules) -> dict[str, Any]:
    """A changelog entry as the matrix and the `changelog-metadata` artifact carry it."""
    found: dict[str, Any] = {
        "config-keys": list(entry.config_keys),
        "description": list(entry.description),
        "pr-link": entry.pr_link,
        "evals-only": entry.evals_only,
        "all-evals": entry.all_evals,
        "append-only": entry.append_only,
    }
    if rules is Rules.OCTOBER:
        found["no-evals"] = entry.no_evals
    if entry.eval_min_prefill_ep is not None:
        found["eval-min-prefill-ep"] = entry.eval_min_prefill_ep
    if entry.scenario_type is not None:
        found["scenario-type"] = list(entry.scenario_type)
    return found


def plan(base: Tree, head: Tree, options: PlanOptions | None = None) -> Plan:
    """The sweep of the changelog entries that head adds to base.

    Raises RejectedInput with every problem of the changelog, the masters, the runners file or the selected rows;
    NotRecorded where a needed file was not gathered.
    """
    options = options or PlanOptions()
    rules = options.rules or Rules.of(head.layout)
    entries = added_entries(base, head, options)
    work = _Work(base, head, rules, options, entries)
    appending = any(entry.append_only for entry in entries)
    throughput = work.append_only() if appending else work.throughput()
    rows = [*throughput, *([] if appending else work.evaluations())]
    return Plan(tuple(rows), entries, rules, options.base_ref, options.head_ref)


def added_entries(base: Tree, head: Tree, options: PlanOptions) -> tuple[ChangelogEntry, ...]:
    """The appended entries; at least one. Raises RejectedInput for removed or changed entries."""
    path = head.layout.changelog
    start = FileLine(path, 1, 0, head.revision)
    if options.added is not None:
        refuse_deletions(options.deleted, path, head.revision)
        if not any(line.strip() for line in options.added.lines):
            raise reject(start, "The changelog must have a new entry.", "no added line", "Append an entry.")
        entries = read_added(options.added, path, head.revision)
    else:
        change = difference(base, head)
        if change.removed:
            raise RejectedInput([_removed(entry, path, head.revision) for entry in change.removed])
        entries = change.added
    if not entries:
        raise reject(start, "The changelog must have a new entry.", "none", "Append an entry for the changed keys.")
    return entries


def refuse_deletions(deleted: Added | None, path: str, sha: str) -> None:
    """The incumbent's gate: no line with content may go. Raises RejectedInput."""
    gone = [] if deleted is None else list(zip(deleted.lines, deleted.numbers, strict=True))
    problems = [
        Problem(
            FileLine(path, number, 0, sha),
            "Lines of the changelog may not be deleted or changed.",
            line.strip()[:120],
            "Restore the line; correct an entry by appending another.",
        )
        for line, number in gone
        if line.strip()
    ]
    if problems:
        raise RejectedInput(problems)


def _removed(entry: ChangelogEntry, path: str, sha: str) -> Problem:
    names = ", ".join(entry.config_keys) or "entry"
    where = FileLine(path, entry.where.line, 0, sha)
    rule = "Entries of the base may not be removed or changed (line of the base)."
    return Problem(where, rule, names[:120], "Restore the entry; correct it by appending another.")


class _Work:
    """The rows of one plan."""

    def __init__(
        self,
        base: Tree,
        head: Tree,
        rules: Rules,
        options: PlanOptions,
        entries: Sequence[ChangelogEntry],
    ) -> None:
        self.base, self.head, self.rules, self.options = base, head, rules, options
        self.masters: Mapping[str, MasterEntry] = read_masters(head)
        self.runners: Runners = read_runners(head)
        ordered = sorted(entries, key=lambda entry: not entry.all_evals)
        self.keys = self._keys(ordered)

    def _keys(self, entries: Sequence[ChangelogEntry]) -> list[tuple[ChangelogEntry, list[str]]]:
        problems: list[Problem] = []
        found = []
        for entry in entries:
            try:
                found.append((entry, selected_keys(entry, self.masters, self._whereabouts)))
            except RejectedInput as rejected:
                problems.extend(rejected.problems)
        if problems:
            raise RejectedInput(problems)
        return found

    def _whereabouts(self, key: str) -> str:
        """What a submitter should know about a key that head's masters do not have."""
        from app.target.deprecated import read_deprecated

        retired = read_deprecated(self.head).get(key)
        if retired is not None:
            return f"It is retired ({retired.where}): remove it from `config-keys`."
        try:
            removed = key in read_masters(self.base)
        except (RejectedInput, NotRecorded):
            removed = False
        return "This change removes it from the masters: remove it from `config-keys` too." if removed else ""

    def _calls(self, wanted: Iterable[ChangelogEntry]) -> Iterator[tuple[ChangelogEntry, list[Generated]]]:
        """Generator calls: for each entry one per distinct set of scenarios not seen before."""
        allowed = [id(entry) for entry in wanted]
        seen: set[tuple[str, str]] = set()
        for entry, keys in self.keys:
            if id(entry) not in allowed:
                continue
            calls: dict[tuple[str, ...], list[str]] = {}
            for key in keys:
                unseen = tuple(name for name in entry.scenarios if (key, name) not in seen)
                seen.update((key, name) for name in unseen)
                if unseen:
                    calls.setdefault(unseen, []).append(key)
            for scenarios, names in calls.items():
                yield entry, self._generated(names, scenarios)

    def _generated(self, keys: Iterable[str], scenarios: Sequence[str]) -> list[Generated]:
        return [made for key in keys for made in generate(self.masters[key], self.runners, self.rules, scenarios)]

    def throughput(self) -> list[PlannedRow]:
        if self.options.evals_only:
            return []
        wanted = [entry for entry, _ in self.keys if not (entry.evals_only or entry.all_evals)]
        rows = [
            _Measured(made, conc, name, entry)
            for entry, call in self._calls(wanted)
            for made in call
            for conc, name in made.rows
        ]
        return self._finished(rows)

    def append_only(self) -> list[PlannedRow]:
        from app.planner.append_only import DeltaRow, Inventory, Selected, check_entries, delta

        entries = [entry for entry, _ in self.keys]
        check_entries(entries, all_evals=self.options.all_evals, evals_only=self.options.evals_only)
        before = Inventory(read_masters(self.base), read_runners(self.base), self.base.layout)
        after = Inventory(self.masters, self.runners, self.head.layout)
        selected = [Selected(key, entry.scenarios, entry) for entry, keys in self.keys for key in keys]
        owner = {(choice.key, name): choice.entry for choice in reversed(selected) for name in choice.scenarios}
        rows: list[DeltaRow] = delta(before, after, selected, self.rules)
        return self._finished(
            [_Measured(row.made, row.conc, row.name, owner[row.made.key, row.made.scenario]) for row in rows]
        )

    def _finished(self, rows: list[_Measured]) -> list[PlannedRow]:
        if self.options.trim_conc:
            rows = trimmed(rows)
        finish = _Finish(self.head, self.rules, self.options.agentx_fast)
        found = [finish.row(row) for row in rows]
        if finish.problems:
            raise RejectedInput(finish.problems)
        return found

    def evaluations(self) -> list[PlannedRow]:
        wanted = [entry for entry, _ in self.keys if not entry.no_evals]
        found: list[tuple[EvalRow, ChangelogEntry]] = []
        for entry, call in self._calls(wanted):
            every = self.options.all_evals or entry.all_evals
            made = evaluations(call, self.rules, every=every, min_prefill_ep=entry.eval_min_prefill_ep)
            found.extend((row, entry) for row in made)
        if self.rules is Rules.OCTOBER:
            kept = {id(row) for row in deduplicated([row for row, _ in found])}
            found = [pair for pair in found if id(pair[0]) in kept]
        return [_eval_row(row, entry) for row, entry in found]


@dataclass(frozen=True, slots=True)
class _Measured:
    """One throughput row before its fingerprint."""

    made: Generated
    conc: int | list[int]
    name: str
    entry: ChangelogEntry

    @property
    def concurrencies(self) -> tuple[int, ...]:
        return tuple(self.conc) if isinstance(self.conc, list) else (self.conc,)


def trimmed(rows: Sequence[_Measured]) -> list[_Measured]:
    """`--trim-conc`: the lowest concurrency of each single-node shape; multi-node lists shrink to their minimum."""
    lowest: dict[Any, _Measured] = {}
    for row in rows:
        if isinstance(row.conc, int):
            shape = frozen(row.made.fields)
            known = lowest.get(shape)
            if known is None or row.conc < min(known.concurrencies):
                lowest[shape] = row
    kept = {id(row) for row in lowest.values()}
    return [
        _Measured(row.made, [min(row.conc)], row.name, row.entry) if isinstance(row.conc, list) else row
        for row in rows
        if isinstance(row.conc, list) or id(row) in kept
    ]


@dataclass(slots=True)
class _Finish:
    """Adds what the incumbent adds to a throughput row: fingerprint, defaults, bucket."""

    head: Tree
    rules: Rules
    fast: bool
    problems: list[Problem] = field(default_factory=list)
    plain: dict[int, str] = field(default_factory=dict)

    def row(self, measured: _Measured) -> PlannedRow:
        made = measured.made
        row = {**made.fields, "conc": measured.conc, "exp-name": measured.name}
        recipe = self._recipe(row, made) if self.rules is Rules.OCTOBER and "srt-recipe" in row else None
        row = dict(with_nodes(row, recipe, self.rules)) if recipe is not None else row
        shown = completed(row, made)
        shown["recipe-fingerprint"] = fingerprint_of(row, recipe, self.rules, self._plain(made))
        if self.fast and made.scenario == AGENTIC:
            shown["duration"] = FAST_DURATION
        group = "multi_node" if made.multinode else "single_node"
        name = "agentic" if made.scenario == AGENTIC else length_name(row["isl"], row["osl"])
        return PlannedRow(
            f"{group}.{name}", made.key, shown, False, measured.concurrencies, measured.entry.where, made.master
        )

    def _plain(self, made: Generated) -> str:
        """The row fingerprint, once for all rows of a search-space row."""
        from app.planner.fingerprint import row_fingerprint

        known = self.plain.get(id(made.fields))
        return known or self.plain.setdefault(id(made.fields), row_fingerprint(made.fields))

    def _recipe(self, row: Mapping[str, Any], made: Generated) -> EffectiveRecipe | None:
        """The recipe that serves the row, at each of its concurrencies; what is wrong with it goes to `problems`."""
        from app.target.recipe import Unbound

        found: EffectiveRecipe | None = None
        for conc in row["conc"] if isinstance(row["conc"], list) else [row["conc"]]:
            try:
                recipe = bound_recipe(self.head, {**row, "conc": [conc] if made.multinode else conc}, made.master)
            except RejectedInput as rejected:
                self._told(rejected.problems)
                return None
            if isinstance(recipe, Unbound):
                reason, _, fix = recipe.reason.partition(". ")
                rule = "A row needs exactly one recipe variant."
                self._told([Problem(made.master, rule, reason, fix or "Change the recipe or the row until one fits.")])
            else:
                found = found or recipe
        return found

    def _told(self, problems: Iterable[Problem]) -> None:
        self.problems.extend(problem for problem in problems if problem not in self.problems)


def completed(row: Mapping[str, Any], made: Generated) -> dict[str, Any]:
    """A generator row with the defaults that the incumbent prints."""
    shown = dict(row)
    if made.scenario == FIXED:
        shown.setdefault("eval-only", False)
        if made.multinode:
            shown.setdefault("eval-all-concs", False)
    for pool in ("prefill", "decode"):
        if pool in shown:
            shown[pool] = {"additional-settings": [], **shown[pool]}
    return shown


def _eval_row(found: EvalRow, entry: ChangelogEntry) -> PlannedRow:
    made = found.made
    bucket = EVAL_BUCKETS[made.scenario, made.multinode]
    return PlannedRow(bucket, made.key, completed(found.row, made), True, found.concurrencies, entry.where, made.master)
