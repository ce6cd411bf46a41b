"""Purpose: every rule of formats.md 1: a valid entry passes, each broken rule is told at its line."""

from __future__ import annotations

import pytest

from app.target.masters import MasterEntry, read_masters
from app.target.source import RejectedInput
from app.target.tree import NotRecorded, Tree
from tests.target_masters.conftest import MakeTree

FIXED = """\
model-fp4-alpha-sglang:
  image: example/engine:v1
  model: example/model
  model-prefix: model
  runner: alpha
  precision: fp4
  framework: sglang
  multinode: false
  scenarios:
    fixed-seq-len:
    - isl: 8192
      osl: 1024
      search-space:
      - { tp: 8, ep: 1, conc-start: 4, conc-end: 64 }
"""
AGENTIC = FIXED[: FIXED.index("    fixed-seq-len")].replace("runner: alpha", "runner: cluster:alpha") + (
    "    agentic-coding:\n"
    "    - dram-utilization: 0.80\n"
    "      search-space:\n"
    "      - { tp: 8, kv-offloading: dram, kv-offload-backend: { name: hicache }, conc-list: [8, 16] }\n"
)
POOLS = (
    "      - conc-list: [16, 32]\n"
    "        prefill: { num-worker: 1, tp: 4, ep: 4, dp-attn: true }\n"
    "        decode: { num-worker: 2, tp: 4, ep: 4, dp-attn: true }\n"
)
DISAGG = FIXED.replace("multinode: false", "multinode: true\n  disagg: true\n  kv-p2p-transfer: nixl").replace(
    "      - { tp: 8, ep: 1, conc-start: 4, conc-end: 64 }\n", POOLS
)
AGGREGATE = FIXED.replace("multinode: false", "multinode: true").replace(
    "      - { tp: 8, ep: 1, conc-start: 4, conc-end: 64 }\n",
    "      - { num-nodes: 2, worker: { tp: 16, ep: 1, dp-attn: false }, conc-list: [1, 2] }\n",
)


def read(make_tree: MakeTree, text: str) -> dict[str, MasterEntry]:
    return read_masters(make_tree(nvidia=text))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(FIXED, id="fixed single-node"),
        pytest.param(AGENTIC, id="agentic with offloading"),
        pytest.param(DISAGG, id="disaggregated"),
        pytest.param(AGGREGATE, id="one aggregated worker over nodes"),
        pytest.param(DISAGG.replace("\n  disagg: true\n  kv-p2p-transfer: nixl", ""), id="pools without disagg"),
        pytest.param(FIXED.replace("tp: 8, ep: 1", "tp: 8, ep: null, dp-attn: null"), id="null ep and dp-attn"),
        pytest.param(FIXED.replace("ep: 1", "srt-recipe: a/b.yaml:override_x"), id="a recipe in the old layout"),
        pytest.param(FIXED.replace("ep: 1", 'router: { name: r, version: "1.0" }'), id="a router in a row"),
        pytest.param(FIXED.replace("osl: 1024", "osl: 1024\n      require-power: true"), id="power on 8k1k"),
        pytest.param(AGENTIC.replace("0.80", "1"), id="the whole memory"),
    ],
)
def test_is_valid(make_tree: MakeTree, text: str) -> None:
    assert list(read(make_tree, text)) == ["model-fp4-alpha-sglang"]


BROKEN = [
    pytest.param(FIXED, "image: example/engine:v1\n  ", "", "1:1", "needs `image`", id="no image"),
    pytest.param(FIXED, "  model: ", "  colour: red\n  model: ", "3:3", "no such field", id="an unknown field"),
    pytest.param(FIXED, "model-prefix: model", "model-prefix: 5", "4:3", "must be text", id="a number as prefix"),
    pytest.param(FIXED, "precision: fp4", 'precision: ""', "6:3", "not empty", id="an empty precision"),
    pytest.param(FIXED, "multinode: false", 'multinode: "no"', "8:3", "true or false", id="a quoted flag"),
    pytest.param(FIXED, "false", "false\n  disagg: true", "9:3", "needs `multinode: true`", id="disagg on one node"),
    pytest.param(FIXED, "false", "false\n  kv-p2p-transfer: nixl", "9:3", "multi-node", id="transfer on one node"),
    pytest.param(FIXED, "tp: 8", "tp: 8.5", "14:11", "whole number", id="half a GPU"),
    pytest.param(FIXED, "tp: 8", 'tp: "8"', "14:11", "whole number", id="a quoted number"),
    pytest.param(FIXED, "tp: 8", "tp: true", "14:11", "whole number", id="a flag as number"),
    pytest.param(FIXED, "tp: 8, ", "", "14:9", "needs `tp`", id="a row without tp"),
    pytest.param(FIXED, "ep: 1", "epp: 1", "14:18", "no such field", id="a misspelt row field"),
    pytest.param(FIXED, "ep: 1", "dcp-size: 3", "14:18", "must divide `tp`", id="dcp that does not divide"),
    pytest.param(FIXED, "ep: 1", "pp: 0", "14:18", "above 0", id="no pipeline stage"),
    pytest.param(FIXED, "ep: 1", "spec-decoding: eagle", "14:18", "mtp, draft_model or none", id="unknown drafting"),
    pytest.param(FIXED, "ep: 1", "kv-offloading: none", "14:18", "no such field", id="offloading of fixed rows"),
    pytest.param(FIXED, "ep: 1", "conc-list: [1]", "14:9", "either `conc-list`", id="range and list"),
    pytest.param(FIXED, ", conc-start: 4, conc-end: 64", "", "14:9", "either `conc-list`", id="no concurrency"),
    pytest.param(FIXED, "conc-start: 4, ", "", "14:9", "needs `conc-start`", id="half a range"),
    pytest.param(FIXED, "conc-start: 4", "conc-start: 65", "14:41", "may not exceed", id="a range backwards"),
    pytest.param(FIXED, "conc-start: 4, conc-end: 64", "conc-list: []", "14:25", "whole numbers", id="an empty list"),
    pytest.param(FIXED, "conc-start: 4, conc-end: 64", "conc-list: [0]", "14:25", "whole numbers", id="zero users"),
    pytest.param(FIXED, "isl: 8192", "isl: 8k", "11:7", "whole number", id="a length in words"),
    pytest.param(FIXED, "isl: 8192", "isl: 1024\n      require-power: true", "12:7", "8192/1024", id="power on 1k1k"),
    pytest.param(FIXED, "fixed-seq-len", "fixed", "10:5", "no such scenario", id="an unknown scenario"),
    pytest.param(
        FIXED,
        "      search-space:\n      - { tp: 8, ep: 1, conc-start: 4, conc-end: 64 }\n",
        "",
        "11:7",
        "needs `search-space`",
        id="no rows",
    ),
    pytest.param(
        FIXED,
        "- { tp: 8, ep: 1, conc-start: 4, conc-end: 64 }",
        "- eight",
        "14:9",
        "must be a mapping",
        id="a text as row",
    ),
    pytest.param(FIXED, "ep: 1", "router: { name: r }", "14:18", "needs `version`", id="a router without version"),
    pytest.param(
        FIXED,
        "ep: 1",
        'router: { name: r, version: "image:x" }',
        "14:37",
        "may not start",
        id="a router version by image",
    ),
    pytest.param(FIXED, "ep: 1", "srt-recipe: ../secret.yaml", "14:18", "inside the repository", id="a path upwards"),
    pytest.param(FIXED, "ep: 1", "srt-recipe: /etc/passwd", "14:18", "inside the repository", id="an absolute path"),
    pytest.param(
        AGENTIC, "runner: cluster:alpha", "runner: alpha", "5:3", "exact fleet", id="agentic on a broad label"
    ),
    pytest.param(
        AGENTIC, "dram-utilization: 0.80\n      ", "", "12:9", "needs `dram-utilization`", id="no share of memory"
    ),
    pytest.param(AGENTIC, "0.80", "1.2", "11:7", "at most 1", id="more than all memory"),
    pytest.param(AGENTIC, "kv-offloading: dram, ", "", "13:9", "needs `kv-offloading`", id="offloading unsaid"),
    pytest.param(
        AGENTIC, "kv-offloading: dram", "kv-offloading: none", "13:39", "rows with KV offloading", id="a backend unused"
    ),
    pytest.param(
        AGENTIC, ", kv-offload-backend: { name: hicache }", "", "13:18", "needs `kv-offload-backend`", id="no backend"
    ),
    pytest.param(AGENTIC, "name: hicache", 'version: "1"', "13:39", "needs `name`", id="a backend without name"),
    pytest.param(
        DISAGG, "  kv-p2p-transfer: nixl\n", "", "9:3", "needs `kv-p2p-transfer`", id="disagg without transfer"
    ),
    pytest.param(
        DISAGG,
        "conc-list: [16, 32]",
        "conc-list: [16, 32]\n        kv-p2p-transfer: ucx",
        "17:9",
        "not in both",
        id="transfer at both levels",
    ),
    pytest.param(
        DISAGG,
        "        decode: { num-worker: 2, tp: 4, ep: 4, dp-attn: true }\n",
        "",
        "16:9",
        "either `worker`",
        id="no decode pool",
    ),
    pytest.param(DISAGG, "num-worker: 1, ", "", "17:9", "needs `num-worker`", id="a pool without workers"),
    pytest.param(DISAGG, "num-worker: 1", "num-worker: -1", "17:20", "0 or more", id="negative workers"),
    pytest.param(DISAGG, "num-worker: 1", "num-worker: false", "17:20", "0 or more", id="a flag as worker count"),
    pytest.param(
        DISAGG, "num-worker: 1", "num-worker: 1, hardware: h100", "17:9", "in both", id="hardware of one pool"
    ),
    pytest.param(
        DISAGG,
        "num-worker: 1",
        "num-worker: 1, additional-settings: [1]",
        "17:35",
        "NAME=value",
        id="a number as setting",
    ),
    pytest.param(
        DISAGG,
        "conc-list: [16, 32]",
        "conc-list: [16, 32]\n        num-nodes: 2",
        "17:9",
        "`disagg: false`",
        id="nodes of a disaggregated row",
    ),
    pytest.param(
        DISAGG,
        "conc-list: [16, 32]",
        "conc-list: [16, 32]\n        tp: 4",
        "17:9",
        "no such field",
        id="tp beside pools",
    ),
    pytest.param(AGGREGATE, "num-nodes: 2, ", "", "14:9", "needs `num-nodes`", id="a worker without nodes"),
    pytest.param(FIXED, "model-fp4-alpha-sglang", '"model-*"', "1:1", "may not contain `*`", id="a star in a key"),
    pytest.param(FIXED, "model-fp4-alpha-sglang", "12", "1:1", "must be text", id="a number as key"),
]


@pytest.mark.parametrize(("text", "old", "new", "place", "rule"), BROKEN)
def test_is_refused_at_its_line(make_tree: MakeTree, text: str, old: str, new: str, place: str, rule: str) -> None:
    assert old in text
    with pytest.raises(RejectedInput) as caught:
        read(make_tree, text.replace(old, new, 1))
    told = [(str(problem.where), problem.rule) for problem in caught.value.problems]
    assert any(where.endswith(f"master.yaml:{place}") and rule in said for where, said in told), told
    assert all(problem.fix.endswith(".") for problem in caught.value.problems)


def test_problems_of_all_entries_and_files_are_told_together(make_tree: MakeTree) -> None:
    other = FIXED.replace("model-fp4-alpha-sglang", "other").replace("tp: 8", "tp: none")
    tree = make_tree(nvidia=FIXED.replace("isl: 8192", "isl: x"), amd=other)
    with pytest.raises(RejectedInput) as caught:
        read_masters(tree)
    assert [str(problem.where) for problem in caught.value.problems] == [
        "configs/amd-master.yaml:14:11",
        "configs/nvidia-master.yaml:11:7",
    ]


def test_a_key_in_both_masters_is_refused(make_tree: MakeTree) -> None:
    with pytest.raises(RejectedInput, match=r"nvidia-master.yaml:1:1.*one master only.*amd-master.yaml:1:1"):
        read_masters(make_tree(nvidia=FIXED, amd=FIXED))


def test_amd_comes_first_and_each_file_keeps_its_order(make_tree: MakeTree) -> None:
    def named(*names: str) -> str:
        return "".join(FIXED.replace("model-fp4-alpha-sglang", name) for name in names)

    assert list(read_masters(make_tree(nvidia=named("b", "a"), amd=named("z", "c")))) == ["z", "c", "b", "a"]


def test_the_october_masters_stand_below_their_root(make_tree: MakeTree) -> None:
    tree = make_tree("inferencex-e2e/", nvidia=FIXED)
    entry = read_masters(tree)["model-fp4-alpha-sglang"]
    assert str(entry.where) == "inferencex-e2e/configs/nvidia-master.yaml:1:1"
    assert str(entry.line_of("scenarios", "fixed-seq-len", 0, "search-space", 0)).endswith(":14:9")


def test_an_unread_master_is_not_an_empty_one() -> None:
    with pytest.raises(NotRecorded):
        read_masters(Tree("a" * 40, {}))


def test_no_master_at_all_is_refused() -> None:
    with pytest.raises(RejectedInput, match="must have a master"):
        read_masters(Tree("", {}, complete=True))
