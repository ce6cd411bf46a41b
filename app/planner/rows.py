"""Purpose: one master entry -> generated rows, as the incumbent's generator makes them before any selection.

Source: formats.md 2.1, 2.2 and matrix-parity.md "Generation rules" 3 to 7. Fixed single-node and all agentic rows
carry one concurrency, fixed multi-node rows the whole list.

Invariants: `Generated.fields` holds no `conc`, `exp-name` or fingerprint: it is what the row fingerprint hashes, and it
is shared by all rows of one search-space row. DRAM budgets are exact (integers, truncated), never floating point.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.planner.points import AGENTIC, FIXED, Rules
from app.target.masters import MasterEntry
from app.target.runners import Hardware, Runners
from app.target.source import FileLine, reject

DURATION: Final = 3600
HOST_DRAM_MIB: Final = 2_861_022
STEP: Final = 2
_MIB: Final = 1 << 20
_LENGTHS: Final[dict[tuple[int, int], str]] = {(1024, 1024): "1k1k", (8192, 1024): "8k1k"}


@dataclass(frozen=True, slots=True)
class Generated:
    """The rows of one search-space row: common `fields`, and (concurrency or list, exp-name) for each row."""

    key: str
    scenario: str
    multinode: bool
    fields: Mapping[str, Any]
    rows: tuple[tuple[int | list[int], str], ...]
    steps: tuple[Any, ...]
    entry: MasterEntry

    @property
    def master(self) -> FileLine:
        """The search-space row's place."""
        return self.entry.line_of(*self.steps)

    def row(self, index: int) -> dict[str, Any]:
        """One generator row with its concurrency and name."""
        conc, name = self.rows[index]
        return {**self.fields, "conc": conc, "exp-name": name}


def length_name(isl: int, osl: int) -> str:
    """`8k1k` for 8192/1024, `1k1k` for 1024/1024, else `<isl>_<osl>`."""
    return _LENGTHS.get((isl, osl), f"{isl}_{osl}")


def concurrencies(row: Mapping[str, Any]) -> list[int]:
    """A list as written, a range doubling from its start and always with its end."""
    if "conc-list" in row:
        return list(row["conc-list"])
    found, end = [], row["conc-end"]
    value = row["conc-start"]
    while value < end:
        found.append(value)
        value *= STEP
    return [*found, end]


def generate(
    entry: MasterEntry, runners: Runners, rules: Rules, scenarios: Iterable[str] = (FIXED, AGENTIC)
) -> list[Generated]:
    """All rows of an entry in the given scenarios: fixed-sequence first, then agentic, each in file order.

    Raises RejectedInput where a DRAM budget cannot be computed (unknown hardware, a replica that does not fit).
    """
    wanted = frozenset(scenarios)
    found: list[Generated] = []
    for scenario in (FIXED, AGENTIC):
        if scenario in wanted and scenario in entry.scenarios:
            found.extend(_scenario(entry, scenario, runners, rules))
    return found


def _scenario(entry: MasterEntry, scenario: str, runners: Runners, rules: Rules) -> list[Generated]:
    hardware = runners.hardware.get(entry.runner)
    memo_key = ("rows", scenario, rules, hardware)
    rows = entry.memo.get(memo_key)
    if rows is None:
        rows = entry.memo[memo_key] = tuple(_entry_rows(entry, scenario, hardware, rules))
    return [
        Generated(entry.key, scenario, entry.multinode, fields, pairs, steps, entry) for fields, pairs, steps in rows
    ]


Rows = tuple[dict[str, Any], tuple[tuple[int | list[int], str], ...], tuple[Any, ...]]


def _entry_rows(entry: MasterEntry, scenario: str, hardware: Hardware | None, rules: Rules) -> Iterable[Rows]:
    for block_index, block in enumerate(entry.scenarios[scenario]):
        for index, row in enumerate(block["search-space"]):
            steps = ("scenarios", scenario, block_index, "search-space", index)
            fields = _identity(entry, row)
            if scenario == FIXED:
                _fixed(fields, entry, block, row)
            else:
                _agentic(fields, entry, block, row, _Node(hardware, entry, steps))
            _extras(fields, entry, block, row, hardware, rules)
            yield fields, _named(entry, scenario, fields, concurrencies(row)), steps


def _identity(entry: MasterEntry, row: Mapping[str, Any]) -> dict[str, Any]:
    data = entry.data
    fields = {name: data[name] for name in ("image", "model", "model-prefix", "precision", "framework", "runner")}
    fields["spec-decoding"] = row.get("spec-decoding", "none")
    for name in ("router", "kv-p2p-transfer"):
        value = row.get(name, data.get(name))
        if value is not None:
            fields[name] = value
    return fields


def recipe_fields(entry: MasterEntry) -> Iterator[tuple[str, dict[str, Any]]]:
    """(scenario, the fields of a row that name its recipes) for every row, without computing anything else of it."""
    for scenario in entry.scenarios:
        for block in entry.scenarios[scenario]:
            for row in block["search-space"]:
                fields: dict[str, Any] = {"framework": entry.framework, **(_pools(row) if entry.multinode else {})}
                for name in ("srt-recipe", "eval-srt-recipe"):
                    if name in row:
                        fields[name] = _recipe_path(entry, row[name])
                yield scenario, fields


def _fixed(fields: dict[str, Any], entry: MasterEntry, block: Mapping[str, Any], row: Mapping[str, Any]) -> None:
    isl, osl = block["isl"], block["osl"]
    fields.update({"isl": isl, "osl": osl, "max-model-len": isl + osl + 256})
    fields.update({"disagg": entry.disagg, "run-eval": False})
    fields.update(_pools(row) if entry.multinode else _parallelism(row))


def _parallelism(holder: Mapping[str, Any]) -> dict[str, Any]:
    ep, attention = holder.get("ep"), holder.get("dp-attn")
    return {
        "tp": holder["tp"],
        "pp": holder.get("pp", 1),
        "dcp-size": holder.get("dcp-size", 1),
        "pcp-size": holder.get("pcp-size", 1),
        "ep": 1 if ep is None else ep,
        "dp-attn": False if attention is None else attention,
    }


def _pools(row: Mapping[str, Any]) -> dict[str, Any]:
    """Prefill and decode; one aggregate `worker` becomes a prefill pool and a decode pool of no workers."""
    if "worker" in row:
        worker = _pool({"num-worker": 1, **row["worker"]})
        decode = {name: value for name, value in worker.items() if name != "additional-settings"}
        return {"prefill": worker, "decode": {**decode, "num-worker": 0}}
    return {"prefill": _pool(row["prefill"]), "decode": _pool(row["decode"])}


def _pool(worker: Mapping[str, Any]) -> dict[str, Any]:
    return {"pp": 1, "dcp-size": 1, "pcp-size": 1, **worker}


def _agentic(
    fields: dict[str, Any], entry: MasterEntry, block: Mapping[str, Any], row: Mapping[str, Any], node: _Node
) -> None:
    fields.update(_pools(row) if entry.multinode else _parallelism(row))
    if entry.multinode:
        fields["disagg"] = entry.disagg
    fields["kv-offloading"] = row.get("kv-offloading", "none")
    if "kv-offload-backend" in row:
        fields["kv-offload-backend"] = row["kv-offload-backend"]
    fields["total-cpu-dram-gb"] = 0
    if _uses_dram(fields["kv-offloading"]):
        worker = fields["prefill"] if entry.multinode else fields
        gpus = worker["tp"] * worker["pp"] * worker["pcp-size"]
        fields["total-cpu-dram-gb"] = node.budget(gpus, block["dram-utilization"], entry.multinode)
    fields.update({"duration": DURATION, "scenario-type": AGENTIC})


def _uses_dram(offloading: Any) -> bool:
    return bool(offloading == "dram" or (isinstance(offloading, list) and "dram" in offloading))


@dataclass(frozen=True, slots=True)
class _Node:
    """The node that a row runs on, and where to point when it does not fit."""

    hardware: Hardware | None
    entry: MasterEntry
    steps: tuple[Any, ...]

    def budget(self, gpus: int, utilization: float, multinode: bool) -> int:
        """Decimal GB of host memory for one replica's share of a node, truncated (formats.md 2.2)."""
        hardware = self.hardware
        if hardware is None or hardware.available_dram_mib is None:
            rule = f"DRAM offloading needs node facts for runner {self.entry.runner}."
            raise self._refused(rule, "none in runners.yaml", "Add the label's hardware record.")
        per_node = hardware.gpus_per_node
        if gpus > per_node and not multinode:
            rule = f"A single-node row may use {per_node} GPUs on {self.entry.runner}."
            raise self._refused(rule, f"{gpus} GPUs", "Lower tp, pp or pcp-size.")
        larger, smaller = max(gpus, per_node), min(gpus, per_node)
        if multinode and larger % smaller:
            rule = f"A replica must divide a node of {per_node} GPUs or fill whole nodes."
            raise self._refused(rule, f"{gpus} GPUs", "Change the prefill worker's tp, pp or pcp-size.")
        numerator, denominator = _exact(utilization)
        memory = min(hardware.available_dram_mib, HOST_DRAM_MIB) * _MIB
        return memory * numerator * min(gpus, per_node) // (denominator * per_node * 10**9)

    def _refused(self, rule: str, found: str, fix: str) -> Exception:
        return reject(self.entry.line_of(*self.steps), rule, found, fix)


def _exact(value: float) -> tuple[int, int]:
    """The number as it is written, not as a binary fraction."""
    from decimal import Decimal

    return Decimal(str(value)).as_integer_ratio()


def _extras(
    fields: dict[str, Any],
    entry: MasterEntry,
    block: Mapping[str, Any],
    row: Mapping[str, Any],
    hardware: Hardware | None,
    rules: Rules,
) -> None:
    """Fields that October added: recipes, power and the number of nodes."""
    for name in ("srt-recipe", "eval-srt-recipe"):
        if name in row:
            fields[name] = _recipe_path(entry, row[name])
    if row.get("power") is not None:
        fields["power"] = row["power"]
    if block.get("require-power"):
        fields["require-power"] = True
    if rules is Rules.OCTOBER and entry.multinode:
        count = _node_count(row, fields, hardware)
        if count:
            fields["node-count"] = count


def _recipe_path(entry: MasterEntry, name: str) -> str:
    folder = entry.data.get("srt-recipe-dir")
    if folder is None:
        return name
    kind = "multi_node" if entry.multinode else "single_node"
    return f"benchmarks/{kind}/srt-slurm-recipes/{folder.strip('/')}/{name}"


def _node_count(row: Mapping[str, Any], fields: Mapping[str, Any], hardware: Hardware | None) -> int:
    """Nodes of a multi-node row: as written, else GPUs of each pool over GPUs of a node, rounded up; 0 if unknown."""
    if "num-nodes" in row:
        return int(row["num-nodes"])
    if hardware is None:
        return 0
    return sum(-(-pool_gpus(fields[name]) // hardware.gpus_per_node) for name in ("prefill", "decode"))


def pool_gpus(pool: Mapping[str, Any]) -> int:
    """GPUs of a worker pool. Decode context parallelism adds none (formats.md 1.3)."""
    return int(pool["num-worker"] * pool["tp"] * pool["pp"] * pool["pcp-size"])


def row_gpus(row: Mapping[str, Any]) -> int:
    """GPUs of one generated row."""
    if "prefill" in row:
        return pool_gpus(row["prefill"]) + pool_gpus(row["decode"])
    return int(row["tp"] * row["pp"] * row["pcp-size"])


def _named(
    entry: MasterEntry, scenario: str, fields: Mapping[str, Any], found: Sequence[int]
) -> tuple[tuple[int | list[int], str], ...]:
    prefix = entry.data["model-prefix"]
    if scenario == FIXED:
        name = f"{prefix}_{length_name(fields['isl'], fields['osl'])}"
        return ((list(found), name),) if entry.multinode else tuple((conc, name) for conc in found)
    backend = fields.get("kv-offload-backend", {}).get("name", "")
    if entry.multinode:
        offload = f"_kvdram-{backend}" if backend else ""
        pools = f"p{_pool_name(fields['prefill'])}_d{_pool_name(fields['decode'])}"
        return tuple(([conc], f"{prefix}_{pools}_conc{conc}{offload}") for conc in found)
    offload = f"kvdram-{backend}" if backend else "kvnone"
    drafting = "" if fields["spec-decoding"] == "none" else f"_spec-{fields['spec-decoding']}"
    return tuple((conc, f"{prefix}_tp{fields['tp']}_conc{conc}_{offload}{drafting}") for conc in found)


def _pool_name(pool: Mapping[str, Any]) -> str:
    expert = f"ep{pool['ep']}" if (pool.get("ep") or 1) > 1 else ""
    attention = "dpa" if pool.get("dp-attn") else ""
    return f"{pool['num-worker']}x{pool['tp']}{expert}{attention}"
