"""Purpose: which generated rows get an evaluation: one call of the incumbent's generator in its evals-only mode.

Source: formats.md 2.3, matrix-parity.md rule 8. August pools agentic single-node rows by (model, runner, framework,
precision); October also by speculation, attention mode and image, gives every multi-node deployment at least one
evaluation, runs vendor suites and keeps one evaluation per identity.

Invariants: selection groups span all keys of one call, so two keys of one changelog entry can share a pick. The order
of rows is the generator's; of equals the first wins. Rows without a concurrency of 16 or more get no fixed-sequence
evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.planner.points import FIXED, Rules
from app.planner.rows import Generated

FLOOR: Final = 16
VENDOR_SUITES: Final = {"kimik3": "kimi_tool_call_schema_full", "minimaxm3": "minimax_m3_full"}
_LENGTHS: Final = (8192, 1024)
_DEPLOYMENT: Final = ("model", "runner", "framework", "precision")
_FIXED_SINGLE: Final = (*_DEPLOYMENT, "isl", "osl", "spec-decoding", "dp-attn")
_APP_IDENTITY: Final = (
    *("model", "model-prefix", "runner", "framework", "precision", "spec-decoding", "disagg"),
    *("tp", "pp", "ep", "dp-attn", "eval-framework", "eval-suite", "isl", "osl", "conc", "eval-conc"),
)
_AGENTIC_OCTOBER: Final = (*_DEPLOYMENT, "spec-decoding", "dp-attn", "image")


@dataclass(frozen=True, slots=True)
class EvalRow:
    """One evaluation: the generator's row with its evaluation fields, and the search-space row it comes from."""

    made: Generated
    row: Mapping[str, Any]
    concurrencies: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    made: Generated
    conc: int | list[int]
    name: str

    @property
    def high(self) -> int:
        return max(self.conc) if isinstance(self.conc, list) else self.conc

    @property
    def concurrencies(self) -> list[int]:
        return list(self.conc) if isinstance(self.conc, list) else [self.conc]

    @property
    def fields(self) -> Mapping[str, Any]:
        return self.made.fields


def evaluations(
    made: Sequence[Generated], rules: Rules, *, every: bool = False, min_prefill_ep: int | None = None
) -> list[EvalRow]:
    """Evaluations of one call over the given rows. `every` is `all-evals`; `min_prefill_ep` drops multi-node rows."""
    rows = [_Row(part, conc, name) for part in made for conc, name in part.rows]
    picked = _every(rows) if every else _subset(rows, rules)
    if rules is Rules.OCTOBER:
        picked = [_lm_eval(found) for found in picked] + _vendor(rows)
    if min_prefill_ep is not None:
        picked = [found for found in picked if _prefill_ep(found) >= min_prefill_ep]
    return picked


def _prefill_ep(found: EvalRow) -> float:
    prefill = found.row.get("prefill")
    return float("inf") if prefill is None else prefill.get("ep") or 1


def _pools(rows: Iterable[_Row]) -> dict[tuple[str, bool], list[_Row]]:
    """Rows that may be evaluated, by (scenario, multi-node): fixed-sequence ones only in 8k1k."""
    pools: dict[tuple[str, bool], list[_Row]] = {}
    for row in rows:
        if row.made.scenario != FIXED or (row.fields["isl"], row.fields["osl"]) == _LENGTHS:
            pools.setdefault((row.made.scenario, row.made.multinode), []).append(row)
    return pools


def _every(rows: list[_Row]) -> list[EvalRow]:
    found: list[EvalRow] = []
    for (scenario, multinode), pool in _pools(rows).items():
        if not multinode:
            found.extend(_marked(row, row.conc) for row in pool)
            continue
        for group in _grouped(pool, _topology).values():
            union = sorted({conc for row in group for conc in row.concurrencies})
            extra = {"eval-all-concs": True} if scenario == FIXED else {"eval-conc": union[-1]}
            found.append(_marked(group[0], union, **extra))
    return found


def _subset(rows: list[_Row], rules: Rules) -> list[EvalRow]:
    choose: dict[tuple[str, bool], Callable[[list[_Row]], list[EvalRow]]] = {
        (FIXED, False): _fixed_single,
        (FIXED, True): _highest_per_topology,
    }
    found: list[EvalRow] = []
    for kind, pool in _pools(rows).items():
        if kind in choose:
            found.extend(choose[kind](pool))
        elif kind[1]:
            found.extend(_agentic_multi(pool, rules))
        else:
            names = _AGENTIC_OCTOBER if rules is Rules.OCTOBER else _DEPLOYMENT
            found.extend(_marked(row, row.conc) for row in _highest(pool, _by(names)))
    return found


def _fixed_single(pool: list[_Row]) -> list[EvalRow]:
    """Every row at the highest and at the upper-median concurrency of its group."""
    allowed = [row for row in pool if row.high >= FLOOR]
    wanted: dict[Any, set[int]] = {}
    group_of = _by(_FIXED_SINGLE)
    for group, rows in _grouped(allowed, group_of).items():
        distinct = sorted({row.high for row in rows})
        wanted[group] = {distinct[-1], distinct[len(distinct) // 2]}
    return [_marked(row, row.conc) for row in allowed if row.high in wanted[group_of(row)]]


def _highest_per_topology(pool: list[_Row]) -> list[EvalRow]:
    picked = _highest([row for row in pool if row.high >= FLOOR], _topology)
    return [_marked(row, row.conc, **{"eval-conc": row.high}) for row in picked]


def _agentic_multi(pool: list[_Row], rules: Rules) -> list[EvalRow]:
    picked = _highest([row for row in pool if row.high >= FLOOR], _topology)
    if rules is Rules.OCTOBER:
        deployment = _by(_DEPLOYMENT)
        served = {deployment(row) for row in picked}
        picked += _highest([row for row in pool if deployment(row) not in served], deployment)
    return [_marked(row, row.conc, **{"eval-conc": row.high}) for row in picked]


def _highest(rows: Iterable[_Row], group_of: Callable[[_Row], Any]) -> list[_Row]:
    """The row with the highest concurrency of each group, in generator order; the first of equals."""
    return [max(group, key=lambda row: row.high) for group in _grouped(rows, group_of).values()]


def _grouped(rows: Iterable[_Row], group_of: Callable[[_Row], Any]) -> dict[Any, list[_Row]]:
    groups: dict[Any, list[_Row]] = {}
    for row in rows:
        groups.setdefault(group_of(row), []).append(row)
    return groups


def _by(names: Sequence[str]) -> Callable[[_Row], Any]:
    return lambda row: tuple(row.fields[name] for name in names)


def _topology(row: _Row) -> Any:
    return frozen(row.fields)


def frozen(value: Any) -> Any:
    """A hashable stand-in that is equal iff the plain value is equal."""
    if isinstance(value, Mapping):
        return frozenset((name, frozen(item)) for name, item in value.items())
    if isinstance(value, list):
        return tuple(frozen(item) for item in value)
    return value


def _marked(row: _Row, conc: int | list[int], **extra: Any) -> EvalRow:
    fields = {**row.fields, "conc": conc, "exp-name": row.name, "run-eval": True, "eval-only": True, **extra}
    return EvalRow(row.made, fields, tuple(conc) if isinstance(conc, list) else (conc,))


def _lm_eval(found: EvalRow) -> EvalRow:
    return EvalRow(found.made, {**found.row, "eval-framework": "lm-eval", "eval-suite": ""}, found.concurrencies)


def _vendor(rows: list[_Row]) -> list[EvalRow]:
    """October: agentic rows of these models run the vendor's suite at every concurrency, beside the usual pick."""
    found = []
    for row in rows:
        suite = VENDOR_SUITES.get(row.fields["model-prefix"])
        if suite is None or row.made.scenario == FIXED:
            continue
        extra = {"eval-conc": row.high} if row.made.multinode else {}
        found.append(_marked(row, row.conc, **extra, **{"eval-framework": "vendor", "eval-suite": suite}))
    return found


def deduplicated(found: Sequence[EvalRow]) -> list[EvalRow]:
    """October: one evaluation per identity as the app sees it; a row without KV offloading wins, else the first."""
    kept: dict[Any, EvalRow] = {}
    for candidate in found:
        identity = _app_identity(candidate.row)
        known = kept.get(identity)
        if known is None or (_offloads(known.row) and not _offloads(candidate.row)):
            kept[identity] = candidate
    chosen = {id(row) for row in kept.values()}
    return [row for row in found if id(row) in chosen]


def _offloads(row: Mapping[str, Any]) -> bool:
    return bool(row.get("kv-offloading", "none") != "none")


def _app_identity(row: Mapping[str, Any]) -> Any:
    pools = tuple(
        tuple(row[pool].get(name) for name in ("num-worker", "tp", "pp", "ep", "dp-attn"))
        for pool in ("prefill", "decode")
        if pool in row
    )
    return tuple(frozen(row.get(name)) for name in _APP_IDENTITY), pools
