"""Purpose: the rules of formats.md 1 for one master entry, each broken one told with its place, finding and fix.

Written by hand rather than with a model library: the planner checks 200 entries and 750 rows in a few milliseconds and
must start fast. Types are strict: a quoted number is not a number.

Source: formats.md 1.1-1.3. Fields of both generations are accepted in both layouts (`srt-recipe` came before the move
to `inferencex-e2e/`, `CONFIG_FILE=` stayed after it); `power` and `require-power` likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from app.target.source import FileLine, Problem
from app.target.yaml_blocks import Block
from app.target.yaml_reader import Marks

FIXED: Final = "fixed-seq-len"
AGENTIC: Final = "agentic-coding"
SPEC_DECODING: Final = ("mtp", "draft_model", "none")
CLUSTER: Final = "cluster:"
LARGEST: Final = 1_000_000_000


def _text(value: Any) -> bool:
    return value.__class__ is str


def _filled(value: Any) -> bool:
    return value.__class__ is str and bool(value)


def _positive(value: Any) -> bool:
    return value.__class__ is int and 0 < value <= LARGEST


def _flag(value: Any) -> bool:
    return value.__class__ is bool


def _positives(value: Any) -> bool:
    return value.__class__ is list and bool(value) and all(map(_positive, value))


def _settings(value: Any) -> bool:
    return value.__class__ is list and all(item.__class__ is str for item in value)


def _mapping(value: Any) -> bool:
    return value.__class__ is dict


def _sequence(value: Any) -> bool:
    return value.__class__ is list and bool(value)


def _share(value: Any) -> bool:
    return value.__class__ in (int, float) and 0 < value <= 1


def _inside(value: Any) -> bool:
    """A path below the repository, perhaps with a selector behind a colon."""
    return _filled(value) and not value.startswith("/") and ".." not in value.split("/")


def _maybe(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or kind(value)


def _offloading(value: Any) -> bool:
    if value.__class__ is list:
        return bool(value) and all(item in ("dram", "nvme") for item in value)
    return value in ("none", "dram")


Kind = tuple[Callable[[Any], bool], str]
TEXT: Final[Kind] = (_text, "text")
FILLED: Final[Kind] = (_filled, "text that is not empty")
POSITIVE: Final[Kind] = (_positive, "a whole number above 0, at most a billion")
PATH: Final[Kind] = (_inside, "a path inside the repository")
FLAG: Final[Kind] = (_flag, "true or false")
MAPPING: Final[Kind] = (_mapping, "a mapping")
SEQUENCE: Final[Kind] = (_sequence, "a list with at least one item")
SPEC: Final[Kind] = (lambda value: value in SPEC_DECODING, "mtp, draft_model or none")

TOP: Final[dict[str, Kind]] = {
    **dict.fromkeys(("image", "model", "model-prefix", "runner", "precision", "framework"), FILLED),
    "multinode": FLAG,
    "disagg": FLAG,
    "router": MAPPING,
    "kv-p2p-transfer": FILLED,
    "srt-recipe-dir": PATH,
    "scenarios": MAPPING,
}
TOP_REQUIRED: Final = (
    "image",
    "model",
    "model-prefix",
    "runner",
    "precision",
    "framework",
    "multinode",
    "scenarios",
)
BLOCK: Final[dict[str, dict[str, Kind]]] = {
    FIXED: {"isl": POSITIVE, "osl": POSITIVE, "require-power": FLAG, "search-space": SEQUENCE},
    AGENTIC: {"dram-utilization": (_share, "a number above 0 and at most 1"), "search-space": SEQUENCE},
}
_A: Final = {FIXED: f"A {FIXED}", AGENTIC: f"An {AGENTIC}"}
BLOCK_REQUIRED: Final = {FIXED: ("isl", "osl", "search-space"), AGENTIC: ("search-space",)}

_COMMON: Final[dict[str, Kind]] = {
    "spec-decoding": SPEC,
    "conc-list": (_positives, "a list of whole numbers above 0"),
    "conc-start": POSITIVE,
    "conc-end": POSITIVE,
    "router": MAPPING,
    "srt-recipe": PATH,
    "eval-srt-recipe": PATH,
}
_PARALLEL: Final[dict[str, Kind]] = {
    "tp": POSITIVE,
    **dict.fromkeys(("pp", "dcp-size", "pcp-size"), POSITIVE),
    "ep": (_maybe(_positive), "a whole number above 0, at most a billion"),
    "dp-attn": (_maybe(_flag), "true or false"),
}
_MULTI: Final[dict[str, Kind]] = {
    "kv-p2p-transfer": FILLED,
    **dict.fromkeys(("worker", "prefill", "decode"), MAPPING),
    "num-nodes": POSITIVE,
    "power": FLAG,
}
_OFFLOAD: Final[dict[str, Kind]] = {
    "kv-offloading": (_offloading, "none or dram"),
    "kv-offload-backend": MAPPING,
}
ROW: Final[dict[tuple[str, bool], dict[str, Kind]]] = {
    (FIXED, False): {**_COMMON, **_PARALLEL},
    (FIXED, True): {**_COMMON, **_MULTI},
    (AGENTIC, False): {**_COMMON, **_PARALLEL, **_OFFLOAD},
    (AGENTIC, True): {
        **_COMMON,
        **_MULTI,
        **_OFFLOAD,
        "ep": _PARALLEL["ep"],
        "dp-attn": _PARALLEL["dp-attn"],
    },
}
WORKER: Final[dict[str, Kind]] = {
    "num-worker": (lambda value: value.__class__ is int and 0 <= value <= LARGEST, "a whole number, 0 or more"),
    **_PARALLEL,
    "hardware": FILLED,
    "additional-settings": (_settings, 'a list of "NAME=value" texts'),
}
WORKER_REQUIRED: Final = ("num-worker", "tp", "ep", "dp-attn")
ROUTER: Final[dict[str, Kind]] = {"name": FILLED, "version": FILLED}
BACKEND: Final[dict[str, Kind]] = {"name": FILLED, "version": FILLED}


def problems_of(block: Block) -> list[Problem]:
    """Every broken rule of one entry; empty for a valid one."""
    check = _Check(block.marks, block.where)
    if not _filled(block.key):
        check.add(None, None, "A config key must be text.", block.key, "Quote it or rename it.", 1)
    elif "*" in block.key:
        check.add(None, None, "A config key may not contain `*`.", block.key, "Rename it.")
    if check.is_mapping(block.value, block.where, "An entry must be a mapping."):
        _entry(check, block.value)
    return check.problems


class _Check:
    """Collects problems and knows where the nodes of one entry stand."""

    def __init__(self, marks: Marks, default: FileLine) -> None:
        self.marks, self.default = marks, default
        self.problems: list[Problem] = []

    def at(self, container: Any, key: Any) -> FileLine:
        return self.marks.place(container, key) or self.default

    def add(self, container: Any, key: Any, rule: str, found: object, fix: str, severity: int = 2) -> None:
        shown = str(found)
        shown = shown if len(shown) <= 120 else shown[:117] + "..."
        self.problems.append(Problem(self.at(container, key), rule, shown, fix, severity))

    def is_mapping(self, value: Any, where: FileLine, rule: str) -> bool:
        if value.__class__ is dict:
            return True
        fix = "Write it as `name: value` lines."
        self.problems.append(Problem(where, rule, f"{value!r:.80}", fix, 1))
        return False

    def fields(self, mapping: Mapping[str, Any], kinds: Mapping[str, Kind], what: str) -> bool:
        """Unknown names and wrong types; true if all is well."""
        before = len(self.problems)
        for name, value in mapping.items():
            kind = kinds.get(name)
            if kind is None:
                known = ", ".join(kinds)
                fix = "Remove it or correct the name."
                self.add(mapping, name, f"{what} has no such field; known are {known}.", name, fix, 1)
            elif not kind[0](value):
                self.add(mapping, name, f"`{name}` must be {kind[1]}.", f"{value!r}", f"Write {kind[1]}.")
        return len(self.problems) == before

    def required(self, mapping: Mapping[str, Any], names: tuple[str, ...], what: str, where: FileLine) -> None:
        for name in names:
            if name not in mapping:
                rule = f"{what} needs `{name}`."
                self.problems.append(Problem(where, rule, f"no `{name}`", f"Add `{name}`.", 1))


def _entry(check: _Check, entry: dict[str, Any]) -> None:
    check.fields(entry, TOP, "An entry")
    check.required(entry, TOP_REQUIRED, "An entry", check.default)
    multinode, disagg = entry.get("multinode") is True, entry.get("disagg") is True
    if disagg and not multinode:
        check.add(entry, "disagg", "`disagg: true` needs `multinode: true`.", "disagg: true", "Set multinode: true.")
    if "kv-p2p-transfer" in entry and not multinode:
        rule = "`kv-p2p-transfer` is for multi-node entries."
        check.add(entry, "kv-p2p-transfer", rule, entry["kv-p2p-transfer"], "Remove it.")
    if "router" in entry:
        _router(check, entry, "router")
    scenarios = entry.get("scenarios")
    if scenarios.__class__ is not dict:
        return
    if not scenarios:
        check.add(entry, "scenarios", "An entry needs at least one scenario.", "none", f"Add {FIXED} or {AGENTIC}.", 1)
    if AGENTIC in scenarios and _filled(entry.get("runner")) and not entry["runner"].startswith(CLUSTER):
        rule = f"An entry with {AGENTIC} needs an exact fleet as runner (`{CLUSTER}<id>`)."
        check.add(entry, "runner", rule, entry["runner"], f"Use a `{CLUSTER}` label of runners.yaml.")
    rows = _scenarios(check, scenarios, multinode, disagg)
    _scope(check, entry, rows, "router", needed=False)
    _scope(check, entry, rows, "kv-p2p-transfer", needed=disagg)


def _scenarios(check: _Check, scenarios: dict[str, Any], multinode: bool, disagg: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for scenario, blocks in scenarios.items():
        where = check.at(scenarios, scenario)
        if scenario not in BLOCK:
            fix = f"Use {FIXED} or {AGENTIC}."
            check.add(scenarios, scenario, "There is no such scenario.", scenario, fix, 1)
        elif not _sequence(blocks):
            check.add(scenarios, scenario, f"`{scenario}` must be a list of blocks.", f"{blocks!r}", "Add a block.", 1)
        else:
            for index, block in enumerate(blocks):
                where = check.at(blocks, index)
                if check.is_mapping(block, where, "A scenario block must be a mapping."):
                    rows.extend(_block(check, block, scenario, multinode, disagg, where))
    return rows


def _block(
    check: _Check, block: dict[str, Any], scenario: str, multinode: bool, disagg: bool, where: FileLine
) -> list[dict[str, Any]]:
    check.fields(block, BLOCK[scenario], f"{_A[scenario]} block")
    check.required(block, BLOCK_REQUIRED[scenario], f"{_A[scenario]} block", where)
    if block.get("require-power") is True and (block.get("isl"), block.get("osl")) != (8192, 1024):
        check.add(block, "require-power", "`require-power` is for 8192/1024 only.", "true", "Remove it.")
    space = block.get("search-space")
    rows = [row for row in space if row.__class__ is dict] if space.__class__ is list else []
    for index, row in enumerate(space if space.__class__ is list else ()):
        place = check.at(space, index)
        if check.is_mapping(row, place, "A search-space row must be a mapping."):
            _row(check, row, scenario, multinode, disagg, place)
    if scenario == AGENTIC and "dram-utilization" not in block:
        for index, row in enumerate(rows):
            if _uses_dram(row.get("kv-offloading", "none")):
                rule = "A block with `kv-offloading: dram` needs `dram-utilization`."
                check.add(space, index, rule, "no dram-utilization", "Add `dram-utilization` to the block.")
                break
    return rows


def _uses_dram(value: Any) -> bool:
    return bool(value == "dram" or (value.__class__ is list and "dram" in value))


def _row(check: _Check, row: dict[str, Any], scenario: str, multinode: bool, disagg: bool, where: FileLine) -> None:
    what = f"A {'multi' if multinode else 'single'}-node {scenario} row"
    if not check.fields(row, ROW[scenario, multinode], what):
        return
    _concurrencies(check, row, where)
    if "router" in row:
        _router(check, row, "router")
    if multinode:
        _topology(check, row, disagg, where)
    else:
        check.required(row, ("tp",), what, where)
        _divides(check, row)
    if scenario == AGENTIC:
        _offload(check, row, multinode, where)


def _concurrencies(check: _Check, row: dict[str, Any], where: FileLine) -> None:
    ranged, listed = "conc-start" in row or "conc-end" in row, "conc-list" in row
    if ranged == listed:
        rule = "A row needs either `conc-list` or `conc-start` and `conc-end`."
        check.problems.append(Problem(where, rule, "both" if listed else "neither", "Keep exactly one form."))
    elif ranged:
        check.required(row, ("conc-start", "conc-end"), "A concurrency range", where)
        start, end = row.get("conc-start", 1), row.get("conc-end", row.get("conc-start", 1))
        if start > end:
            check.add(row, "conc-end", "`conc-start` may not exceed `conc-end`.", f"{start} > {end}", "Swap them.")


def _divides(check: _Check, holder: dict[str, Any]) -> None:
    tensor, context = holder.get("tp"), holder.get("dcp-size", 1)
    if tensor and context and tensor % context:
        check.add(holder, "dcp-size", "`dcp-size` must divide `tp`.", f"tp {tensor}, dcp-size {context}", "Change one.")


def _topology(check: _Check, row: dict[str, Any], disagg: bool, where: FileLine) -> None:
    pools = [name for name in ("worker", "prefill", "decode") if name in row]
    if pools not in (["worker"], ["prefill", "decode"]):
        rule = "A multi-node row needs either `worker` or `prefill` and `decode`."
        check.problems.append(Problem(where, rule, ", ".join(pools) or "neither", "Keep exactly one form.", 1))
        return
    for name in pools:
        _worker(check, row, name)
    if disagg and "worker" in row:
        check.add(row, "worker", "`disagg: true` needs `prefill` and `decode`.", "worker", "Write both pools.")
    if disagg and "num-nodes" in row:
        check.add(row, "num-nodes", "`num-nodes` is for `disagg: false`.", row["num-nodes"], "Remove it.")
    if not disagg and "worker" in row:
        check.required(row, ("num-nodes",), "A row with `worker`", where)


def _worker(check: _Check, row: dict[str, Any], name: str) -> None:
    worker, where = row[name], check.at(row, name)
    if not check.fields(worker, WORKER, f"`{name}`"):
        return
    needed = WORKER_REQUIRED[1:] if name == "worker" else WORKER_REQUIRED
    check.required(worker, needed, f"`{name}`", where)
    _divides(check, worker)
    if name == "prefill" and ("hardware" in worker) != ("hardware" in row["decode"]):
        rule = "`hardware` belongs in both `prefill` and `decode`, or in neither."
        check.problems.append(Problem(where, rule, "in one of them", "Add it to the other or remove it."))


def _offload(check: _Check, row: dict[str, Any], multinode: bool, where: FileLine) -> None:
    if not multinode:
        check.required(row, ("kv-offloading",), "A single-node agentic row", where)
    offloads = row.get("kv-offloading", "none") != "none"
    if offloads and "kv-offload-backend" not in row:
        rule = "KV offloading needs `kv-offload-backend`."
        check.add(row, "kv-offloading", rule, row["kv-offloading"], "Add `kv-offload-backend: { name: ... }`.")
    elif not offloads and "kv-offload-backend" in row:
        rule = "`kv-offload-backend` is for rows with KV offloading."
        check.add(row, "kv-offload-backend", rule, row["kv-offload-backend"], "Remove it or set kv-offloading.")
    elif offloads:
        backend, place = row["kv-offload-backend"], check.at(row, "kv-offload-backend")
        check.fields(backend, BACKEND, "`kv-offload-backend`")
        check.required(backend, ("name",), "`kv-offload-backend`", place)


def _router(check: _Check, holder: dict[str, Any], name: str) -> None:
    router, where = holder[name], check.at(holder, name)
    if router.__class__ is not dict:
        return
    if check.fields(router, ROUTER, "`router`") and router.get("version", "").startswith("image:"):
        fix = "Write the version itself."
        check.add(router, "version", "A router version may not start with `image:`.", router["version"], fix)
    check.required(router, ("name", "version"), "`router`", where)


def _scope(check: _Check, entry: dict[str, Any], rows: list[dict[str, Any]], name: str, *, needed: bool) -> None:
    """Declared at the top level or in rows, never both; `needed`: at the top level or in every row."""
    if name in entry:
        for row in rows:
            if name in row:
                rule = f"`{name}` may stand at the top level or in rows, not in both."
                check.add(row, name, rule, f"{row[name]}", "Remove one of the two.")
        return
    if needed:
        missing = [row for row in rows if name not in row]
        if missing:
            rule = f"`disagg: true` needs `{name}`, at the top level or in every row."
            found = f"{len(missing)} of {len(rows)} rows have none"
            check.add(entry, "disagg", rule, found, f"Add `{name}` to the entry.")
