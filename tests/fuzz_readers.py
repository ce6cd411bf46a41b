"""Purpose: `make fuzz`: random changes to the target's files must be read or refused, never crash, hang or eat memory.

Every reader of the target's files gets mutated seeds: bytes flipped, cut, doubled and swapped, and tokens that mean
something to YAML, Markdown or shell put in. Allowed outcomes are a value, RejectedInput and NotRecorded.

Run alone: `python -m tests.fuzz_readers --seconds 60 [--seed N]`. A failure prints the reader, the seed and the input's
repr, and saves the input beside the system's temporary files; the exit status is then 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from app.planner.changelog_gate import Change, check_changelog
from app.planner.changes import changed
from app.planner.plan import PlanOptions, plan
from app.planner.points import Rules
from app.planner.priority import read_weights
from app.target.changelog import Added, difference, read_added, read_changelog
from app.target.checklist import parse_signoff, parse_template
from app.target.codeowners import Codeowners
from app.target.deprecated import read_deprecated
from app.target.golden import read_curve
from app.target.masters import read_masters
from app.target.models_md import ModelsTable
from app.target.recipes import read_recipe
from app.target.runners import read_runners
from app.target.shell import evaluate
from app.target.source import RejectedInput
from app.target.thresholds import Thresholds
from app.target.tree import NotRecorded, Tree
from app.target.waiver import parse_waiver
from app.target.yaml_blocks import read_blocks
from app.target.yaml_reader import read_yaml
from tests.support import made_masters as made

SLOWEST_SECONDS = 2.0
MASTER, RUNNERS, LOG = "configs/nvidia-master.yaml", "configs/runners.yaml", "perf-changelog.yaml"
RECIPE, SCRIPT = "benchmarks/multi_node/srt-slurm-recipes/x/agentic.yaml", "runners/launch_alpha.sh"
MASTERS = made.master(4).encode()
LOGGED = made.changelog([made.key(0), made.key(1, "agentic")]).encode()
NEW = b"\n" + made.changelog_entry([made.key(2, "disagg")]).encode()

RECIPE_SEED = b"""\
base:
  schema: 2
  name: example
  engine: sglang
  resources: { gpu_type: alpha, gpus_per_node: 4 }
  roles: { agg: { nodes: 1, workers: 1, gpus: 4, args: { tensor-parallel-size: 4, speculative-algorithm: EAGLE } } }
override_c1: { roles: { agg: { args: { max-running-requests: 1 } } }, benchmark: { env: { CONC: '1' } } }
zip_override_more:
  roles: { agg: { args: { max-running-requests: [2, 4] } } }
  benchmark: { env: { CONC: ['2', '4'] } }
"""
CURVE_SEED = b"# Source\nexample-model:\n  thinking_on: {1: 1.79, 2: 2.27}\n  thinking_off:\n    1: 1.9\n"
MODELS_SEED = b"""\
# Models
## Deprecation Notice
### Friday, August 7, 2026
Old arms are gone.
## Model support matrix
| Model architecture class | Prefix | Date added | Active scenarios | Deprecated scenarios |
|---|---|---|---|---|
| Example | `mo`, `mo2` | 2026-07-01 ([#1](https://example.invalid/1)) | Agentic coding | 1k1k (removed 2026-08-01) |
"""
CHECKLIST_SEED = (
    b"# Review\n```\nAs a PR reviewer and CODEOWNER, I have\n- [ ] looked at everything\n- [x] and more\n```\n"
)
SCRIPT_SEED = b"""\
#!/bin/bash
set -e
source lib.sh
if [[ "$CONC" -gt 8 ]]; then ARGS=(--tp 8); else ARGS=(--tp "${TP:-4}"); fi
for i in 1 2 3; do echo "$i"; done
exec python3 -m engine.server "${ARGS[@]}" --model "$MODEL"
"""

Reader = Callable[[bytes], object]
YAML_TOKENS = (
    *(b"&a ", b"*a", b"<<: ", b"!!int ", b"---\n", b"...\n", b"? ", b": ", b"- ", b"[", b"]", b"{", b"}", b"|\n"),
    *(b"null", b"~", b"yes", b"010", b"1e3", b".inf", b".nan", b"-1", b"0", b"9" * 30, b"2026-13-01", b"1:30", b"true"),
    *(b"\t", b"\r\n", b"\n\n", b"  ", b"'", b'"', b"#", b"%YAML 1.2\n"),
    *(b"- config-keys:\n", b"append-only: true\n", b"scenarios:\n", b"conc-list: []\n"),
)
BYTE_TOKENS = (b"\0", b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"x" * 300, b"../", b"/etc/passwd")
TEXT_TOKENS = (b"| ", b"```\n", b"- [x] ", b"@", b"`", b"<!--", b"${x", b"$(", b"fi\n", b"done\n", b"<<E\n")
TOKENS = (*YAML_TOKENS, *BYTE_TOKENS, *TEXT_TOKENS)


def tree(**more: bytes) -> Tree:
    """A whole small repository with some files replaced; names are those of `NAMED`."""
    files = {MASTER: MASTERS, RUNNERS: made.RUNNERS.encode(), LOG: LOGGED}
    files |= {NAMED[name]: content for name, content in more.items()}
    return Tree("", files, complete=True)


NAMED = {
    "master": MASTER,
    "runners": RUNNERS,
    "log": LOG,
    "recipe": RECIPE,
    "script": SCRIPT,
    "deprecated": "configs/deprecated/old-master.yaml",
    "priority": "configs/ci-priority.yaml",
}


def gate(content: bytes) -> object:
    lines = tuple(content.decode(errors="replace").split("\n"))
    added = Added(lines, tuple(range(1, len(lines) + 1)))
    change = Change(tree(), tree(log=LOGGED + content), added, Added((), ()))
    return check_changelog(change, strict=False), check_changelog(change, strict=True)


def added_lines(content: bytes) -> object:
    lines = tuple(content.decode(errors="surrogateescape").split("\n"))
    return read_added(Added(lines, tuple(range(1, len(lines) + 1))), LOG)


def planned(rules: Rules) -> Reader:
    return lambda content: plan(tree(), tree(master=content, log=LOGGED + NEW), PlanOptions(rules=rules)).matrix()


READERS: dict[str, tuple[Reader, bytes]] = {
    "yaml": (lambda content: read_yaml(content, "f.yaml"), MASTERS),
    "blocks": (lambda content: read_blocks(content, "f.yaml"), MASTERS),
    "items": (lambda content: read_blocks(content, "f.yaml", items=True), LOGGED),
    "masters": (lambda content: read_masters(tree(master=content)), MASTERS),
    "runners": (lambda content: read_runners(tree(runners=content)), made.RUNNERS.encode()),
    "changelog": (lambda content: read_changelog(tree(log=content)), LOGGED),
    "difference": (lambda content: difference(tree(), tree(log=content)), LOGGED + NEW),
    "added lines": (added_lines, NEW),
    "gates": (gate, NEW),
    "plan august": (planned(Rules.AUGUST), MASTERS),
    "plan october": (planned(Rules.OCTOBER), MASTERS),
    "changed": (lambda content: changed(tree(), tree(master=content)), MASTERS),
    "deprecated": (lambda content: read_deprecated(tree(deprecated=content)), MASTERS),
    "priority": (lambda content: read_weights(tree(priority=content)), b"base-score: 1.0\nadjustments: {agentic: 1}\n"),
    "recipe": (lambda content: read_recipe(tree(recipe=content), RECIPE), RECIPE_SEED),
    "golden curve": (lambda content: read_curve("golden/x.yaml", content), CURVE_SEED),
    "thresholds": (lambda content: Thresholds.parse("t.yaml", content), b'{"default": {"gsm8k": 0.9}, "models": {}}'),
    "models": (lambda content: ModelsTable.parse("MODELS.md", content), MODELS_SEED),
    "code owners": (lambda content: Codeowners.parse("CODEOWNERS", content), b"* @org/core\n/a/**/b-*/ @a @b\n"),
    "checklist": (lambda content: parse_template("c.md", content), CHECKLIST_SEED),
    "sign-off": (lambda content: parse_signoff(content.decode(errors="replace")), CHECKLIST_SEED),
    "waiver": (lambda content: parse_waiver("docs/waiver/1.md", content), b"# Waiver\nkey: mo\nimage: x\n"),
    "script": (lambda content: evaluate(tree(script=content), SCRIPT, {"CONC": "4"}), SCRIPT_SEED),
}


def mutated(seed: bytes, chance: random.Random) -> bytes:
    """The seed with one to six changes."""
    content = bytearray(seed)
    for _ in range(chance.randint(1, 6)):
        place = chance.randrange(len(content) + 1)
        length = chance.choice((1, 1, 4, 20, 200))
        kind = chance.randrange(6)
        if kind == 0:
            content[place : place + length] = b""
        elif kind == 1:
            content[place:place] = chance.choice(TOKENS)
        elif kind == 2:
            content[place : place + length] = chance.choice(TOKENS)
        elif kind == 3:
            content[place:place] = content[place : place + length] * chance.choice((1, 2, 50))
        elif kind == 4 and place < len(content):
            content[place] = chance.randrange(256)
        else:
            other = chance.randrange(len(content) + 1)
            content[place:place] = content[other : other + length]
    return bytes(content)


def attempt(reader: Reader, content: bytes) -> str:
    """ "" where the outcome is allowed, else what happened."""
    started = time.perf_counter()
    try:
        reader(content)
    except (RejectedInput, NotRecorded):
        pass
    except RecursionError:
        return "RecursionError"
    except Exception:
        return traceback.format_exc()
    took = time.perf_counter() - started
    return f"took {took:.1f} s" if took > SLOWEST_SECONDS else ""


def fuzz(seconds: float, seed: int) -> int:
    """Runs until the time is up. Returns the number of failures, one a reader at most."""
    chance = random.Random(seed)
    runs, failed = dict.fromkeys(READERS, 0), set[str]()
    end = time.monotonic() + seconds
    while time.monotonic() < end and len(failed) < len(READERS):
        for name, (reader, start) in READERS.items():
            if name in failed:
                continue
            content = mutated(start, chance)
            runs[name] += 1
            problem = attempt(reader, content)
            if problem:
                failed.add(name)
                tell(name, seed, content, problem)
    print(f"{sum(runs.values()):,} inputs to {len(READERS)} readers with seed {seed}, {len(failed)} failed")
    return len(failed)


def tell(name: str, seed: int, content: bytes, problem: str) -> None:
    with tempfile.NamedTemporaryFile(prefix=f"fuzz-{name.replace(' ', '-')}-", delete=False) as file:
        file.write(content)
    print(f"{name}, seed {seed}: {problem}\n{content[:600]!r}\nsaved as {Path(file.name)}", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None, help="default: the clock")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else time.time_ns() % 1_000_000
    return 1 if fuzz(options.seconds, seed) else 0


if __name__ == "__main__":
    sys.exit(main())
