"""Purpose: what a job of the sweep says it runs: its check-run name read into fields, and whether that is a plan row.

Form (workflows.md 6 and table C): `<family> / [klaud | ]p4.750 | <prefix> <precision> <runner> <framework> TP4/EP4
[spec] [dram KV offload] [backend] c10[ | eval-only| | eval]`; multi-node jobs have `2P (TP8/EP8/DPA) x 1D (TP16)`
and `c1xc2`. Empty parts may leave double spaces, the family's own slash may be doubled.

Invariants: pure, never raises; a name of another form gives None. A planned row is compared in every field that the
name carries.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.results.identity import plain

_FAMILY = re.compile(
    r"(?P<multi>multi-node )?(?P<name>canary|agentic eval|agentic|eval)\s*/"
    r"|(?P<nodes>single|multi)-node (?P<length>\S+)\s*/"
)
_PRIORITY = re.compile(r"p\d+\.\d{3}")
_SIZES = re.compile(r"(TP|PP|DCP|PCP|EP)(\d+)")
_POOLS = re.compile(r"(?:(?P<p>\d+)P )?\((?P<prefill>[^)]*)\)(?: x (?:(?P<d>\d+)D )?\((?P<decode>[^)]*)\))?")
_CONC = re.compile(r"c(\d+(?:x\d+)*)")
_OFFLOAD = re.compile(r"(?P<kind>\S+) KV offload(?: (?P<backend>\S+))?")
_FIELDS = {"TP": "tp", "PP": "pp", "DCP": "dcp-size", "PCP": "pcp-size", "EP": "ep"}
_SPECS = ("mtp", "draft_model", "eagle", "eagle3", "dspark", "dflash")


@dataclass(frozen=True)
class JobName:
    """A matrix job. `family` is agentic, eval, canary or a length (8k1k); `pools` are worker sizes by role."""

    family: str
    multinode: bool
    is_eval: bool
    prefix: str
    precision: str
    runner: str
    framework: str
    sizes: Mapping[str, int]
    pools: Mapping[str, Mapping[str, int]]
    spec: str
    offload: str
    backend: str
    concurrencies: tuple[int, ...]


def family_of(name: str) -> str:
    """The caller part of a check-run name (`agentic`, `single-node 8k1k`), "" where it is no matrix family."""
    match = _FAMILY.match(name)
    return match.group().rstrip("/ ").strip() if match else ""


def parse_job(name: str) -> JobName | None:
    """The fields of a matrix job's name; None for collectors, gates, skipped families and other forms."""
    family = _FAMILY.match(name)
    if family is None:
        return None
    parts = [" ".join(part.split()) for part in name[family.end() :].lstrip(" /").split("|")]
    parts = parts[1:] if parts[0] == "klaud" else parts
    if len(parts) < 2 or not _PRIORITY.fullmatch(parts[0]):
        return None
    words = parts[1].split(" ")
    conc = _CONC.fullmatch(words[-1])
    if len(words) < 6 or conc is None:
        return None
    rest = " ".join(words[4:-1])
    offload = _OFFLOAD.search(rest)
    pools = _POOLS.search(rest)
    kind = family["name"] or family["length"]
    if "eval-only" in parts[2:] and not kind.endswith("eval"):
        return None
    return JobName(
        family=kind.removesuffix(" eval"),
        multinode=bool(family["multi"]) or family["nodes"] == "multi",
        is_eval=kind.endswith("eval") or (len(parts) > 2 and parts[2].startswith("eval")),
        prefix=words[0],
        precision=words[1],
        runner=words[2],
        framework=_long(words[3]),
        sizes={} if pools else _sizes(words[4]),
        pools=_pools(pools) if pools else {},
        spec=next((word for word in words[4:-1] if word in _SPECS), "none"),
        offload=offload["kind"] if offload else "none",
        backend=(offload["backend"] or "") if offload else "",
        concurrencies=tuple(int(value) for value in conc.group(1).split("x")),
    )


def _long(framework: str) -> str:
    """`dyn-sgl` -> `dynamo-sglang`."""
    parts = [{"dyn": "dynamo", "sgl": "sglang"}.get(part, part) for part in framework.split("-")]
    return "-".join(parts)


def _sizes(text: str) -> dict[str, int]:
    sizes = {_FIELDS[name]: int(size) for name, size in _SIZES.findall(text)}
    return {**sizes, "dp-attn": int("DPA" in text.split("/"))}


def _pools(match: re.Match[str]) -> dict[str, dict[str, int]]:
    pools = {"prefill": _sizes(match["prefill"])}
    if match["p"]:
        pools["prefill"]["num-worker"] = int(match["p"])
    if match["decode"] is not None:
        pools["decode"] = _sizes(match["decode"]) | ({"num-worker": int(match["d"])} if match["d"] else {})
    return pools


def mismatch(job: JobName, row: Mapping[str, Any]) -> frozenset[str]:
    """Names of the planned row's fields that the job's name contradicts; empty where the job runs the row.

    Concurrency and family are the caller's to compare.
    """
    pairs = {
        "model-prefix": (job.prefix, plain(row.get("model-prefix"))),
        "precision": (job.precision, plain(row.get("precision"))),
        "runner": (job.runner.lower(), plain(row.get("runner"))),
        "framework": (job.framework, plain(row.get("framework"))),
        "spec-decoding": (job.spec, plain(row.get("spec-decoding")) or "none"),
    }
    if "isl" not in row:
        backend = row.get("kv-offload-backend")
        name = backend.get("name") if isinstance(backend, Mapping) else backend
        pairs["kv-offloading"] = (job.offload, plain(row.get("kv-offloading")) or "none")
        if job.backend:
            pairs["kv-offload-backend"] = (job.backend, plain(name))
    wrong = {field for field, (named, planned) in pairs.items() if named.lower() != planned}
    if job.multinode != ("prefill" in row):
        wrong.add("multinode")
    elif "prefill" in row:
        wrong |= {pool for pool, sizes in job.pools.items() if not _fits(sizes, row.get(pool) or {})}
    elif not _fits(job.sizes, row):
        wrong.add("topology")
    return frozenset(wrong)


def _fits(sizes: Mapping[str, int], worker: Mapping[str, Any]) -> bool:
    """Sizes that the name leaves out are 1; the number of workers counts only where the name has it."""
    for field in ("tp", "pp", "dcp-size", "pcp-size", "ep"):
        if sizes.get(field, 1) != int(worker.get(field) or 1):
            return False
    if bool(sizes.get("dp-attn")) != bool(worker.get("dp-attn")):
        return False
    return "num-worker" not in sizes or sizes["num-worker"] == int(worker.get("num-worker") or 0)
