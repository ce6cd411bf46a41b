"""Purpose: generated masters, runners files and changelogs of any size, in the target's format, for tests and benches.

Everything here is invented; nothing is taken from a real master.
"""

from __future__ import annotations

from collections.abc import Iterable

RUNNERS = """\
labels:
  alpha:
    - alpha-one_00
    - alpha-one_01
  cluster:alpha-one:
    - alpha-one_00
    - alpha-one_01
  cluster:beta-two:
    - beta-two_00
hardware:
  cluster:alpha-one:
    available-cpu-dram-mib: 2_000_000
    gpus-per-node: 8
  cluster:beta-two:
    available-cpu-dram-mib: 860_160
    gpus-per-node: 4
"""

KINDS = ("fixed", "agentic", "disagg", "agentic-disagg")


def master(keys: int, *, first: int = 0) -> str:
    """A master with that many keys, of the four kinds in turn."""
    return "\n".join(entry(number, KINDS[number % len(KINDS)]) for number in range(first, first + keys))


def entry(number: int, kind: str = "fixed") -> str:
    """One entry: about 60 lines, as in life."""
    head = [
        f"# entry {number}, tuned by hand",
        f"{key(number, kind)}:",
        f"  image: example/engine:v1.{number}",
        f"  model: example/model-{number}",
        f"  model-prefix: model{number}",
        f"  runner: {'cluster:beta-two' if 'disagg' in kind else 'cluster:alpha-one'}",
        "  precision: fp4",
        f"  framework: {'dynamo-sglang' if 'disagg' in kind else 'sglang'}",
        f"  multinode: {str('disagg' in kind).lower()}",
    ]
    if "disagg" in kind:
        head += ["  disagg: true", "  kv-p2p-transfer: nixl", '  router: { name: example-router, version: "1.2.3" }']
    return "\n".join([*head, "  scenarios:", *_scenario(kind)]) + "\n"


def key(number: int, kind: str = "fixed") -> str:
    return f"model{number}-fp4-alpha-sglang-{kind}"


def _scenario(kind: str) -> list[str]:
    if kind == "fixed":
        rows = [f"      - {{ tp: {tp}, ep: {ep}, conc-start: 4, conc-end: 256 }}" for tp in (4, 8) for ep in (1, tp)]
        return [
            "    fixed-seq-len:",
            *(
                line
                for isl in (1024, 8192)
                for line in (f"    - isl: {isl}", "      osl: 1024", "      search-space:", *rows)
            ),
        ]
    if kind == "agentic":
        return [
            "    agentic-coding:",
            "    - dram-utilization: 0.80",
            "      search-space:",
            "      - { tp: 8, kv-offloading: none, spec-decoding: mtp, conc-list: [1, 2, 4, 8] }",
            "      - tp: 8",
            "        ep: 8",
            "        dp-attn: true",
            "        kv-offloading: dram",
            "        kv-offload-backend: { name: hicache }",
            "        conc-list: [16, 32, 64]",
        ]
    return ["    agentic-coding:", "    - search-space:", *_pools([32, 64])] if kind != "disagg" else _disagg_fixed()


def _disagg_fixed() -> list[str]:
    rows = [line for conc in ([16, 32], [64, 128], [256]) for line in _pools(conc)]
    return ["    fixed-seq-len:", "    - isl: 8192", "      osl: 1024", "      search-space:", *rows]


def _pools(conc: list[int]) -> list[str]:
    recipe = f"CONFIG_FILE=recipes/sglang/example/disagg-c{conc[-1]}.yaml"
    return [
        f"      - conc-list: {conc}",
        "        spec-decoding: mtp",
        "        prefill:",
        "          num-worker: 2",
        "          tp: 4",
        "          ep: 4",
        "          dp-attn: true",
        "          additional-settings:",
        f'          - "{recipe}"',
        "        decode:",
        "          num-worker: 1",
        "          tp: 8",
        "          ep: 8",
        "          dp-attn: true",
    ]


def changelog(keys: Iterable[str], *, first: int = 1) -> str:
    """One entry for each key, as the gate wants it."""
    return "\n".join(changelog_entry([name], number) for number, name in enumerate(keys, first))


def changelog_entry(keys: Iterable[str], number: int | str = "XXX", extra: str = "") -> str:
    """One entry with `extra` lines behind it."""
    names = "".join(f"    - {name}\n" for name in keys)
    link = number if number == "XXX" else f"https://github.com/SemiAnalysisAI/InferenceX/pull/{number}"
    lines = '  description:\n    - "Retune: higher concurrency"\n    - "New image"\n'
    return f"- config-keys:\n{names}{lines}  pr-link: {link}\n{extra}"
