"""Purpose: the planner's figures of design.md 11: a cold plan beside one pure-Python load of the large master, warm
plans and changed keys, peak memory, growth.

The cold plan runs in its own process, on masters of which one scalar in every block was altered first, so that nothing
could have been known before. Without ../shared generated masters of the same size stand in.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from app.checkout.revisions import directory_tree
from app.planner.changes import changed
from app.planner.plan import plan
from app.target.tree import Tree
from app.target.yaml_blocks import forget_blocks
from tests.support import made_masters as made

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT / ".." / "shared" / "cases" / "parity"
CASE = "5eb64485eeef8cb0d9ff3760131af8a8d3bfa890"
NVIDIA, AMD, RUNNERS, CHANGELOG = (
    "configs/nvidia-master.yaml",
    "configs/amd-master.yaml",
    "configs/runners.yaml",
    "perf-changelog.yaml",
)
REPEATS = 7
Figure = tuple[str, str, str, str]

YARDSTICK = (
    "import sys, time, yaml\n"
    "text = open(sys.argv[1]).read()\n"
    "start = time.perf_counter()\n"
    "yaml.safe_load(text)\n"
    "print(time.perf_counter() - start)\n"
)
MEMORY = (
    "import sys\n"
    "from app.cli import main\n"
    "main(sys.argv[1:])\n"
    "print(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')), file=sys.stderr)\n"
)


def figures() -> list[Figure]:
    """(what, measured, target, held) of every figure."""
    with tempfile.TemporaryDirectory() as folder:
        base, head = prepared(Path(folder))
        return [cold(base, head), memory(base, head), warm_plan(base, head), warm_changed(base, head), *growth()]


def prepared(folder: Path) -> tuple[Path, Path]:
    """Base and head directories with one scalar in every block of the masters altered."""
    source = SHARED / CASE
    base, head = folder / "base", folder / "head"
    if source.is_dir():
        for side, target in (("base", base), ("head", head)):
            for name in (NVIDIA, AMD, RUNNERS, CHANGELOG):
                write(target / name, (source / side / name).read_text(encoding="utf-8"))
    else:
        write_generated(base, keys=208, entries=770, new=0)
        write_generated(head, keys=208, entries=770, new=2)
    for target in (base, head):
        for name in (NVIDIA, AMD):
            write(target / name, altered((target / name).read_text(encoding="utf-8")))
    return base, head


def altered(text: str) -> str:
    """The image of every entry gets another tag."""
    return re.sub(r"(?m)^(  image: \S+?)(['\"]?)$", r"\g<1>-altered\g<2>", text)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_generated(folder: Path, *, keys: int, entries: int, new: int) -> None:
    names = [made.key(number, made.KINDS[number % len(made.KINDS)]) for number in range(keys)]
    write(folder / NVIDIA, made.master(keys - keys // 4))
    write(folder / AMD, made.master(keys // 4, first=keys - keys // 4))
    write(folder / RUNNERS, made.RUNNERS)
    logged = [names[number % keys] for number in range(entries)]
    text = made.changelog(logged)
    for name in names[:new]:
        text += "\n" + made.changelog_entry([name])
    write(folder / CHANGELOG, text)


def cold(base: Path, head: Path) -> Figure:
    """Whole process against one pure-Python load of head's large master, taken in turns."""
    arguments = [sys.executable, "-m", "app.cli", "plan", "--base", str(base), "--head", str(head)]
    plans, loads = [], []
    for _ in range(REPEATS):
        plans.append(timed(lambda: subprocess.run(arguments, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)))
        done = subprocess.run(
            [sys.executable, "-c", YARDSTICK, str(head / NVIDIA)], check=True, capture_output=True, text=True
        )
        loads.append(float(done.stdout))
    took, yardstick = statistics.median(plans), statistics.median(loads)
    ratio = took / yardstick
    measured = f"{took * 1000:.0f} ms = {ratio:.2f} of a pure safe_load ({yardstick * 1000:.0f} ms)"
    return "plan, whole process, cold", measured, "<= 0.38", held(ratio <= 0.38)


def memory(base: Path, head: Path) -> Figure:
    """Peak resident memory of that process."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, "plan", "--base", str(base), "--head", str(head)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    found = re.search(r"VmHWM:\s+(\d+) kB", done.stderr)
    megabytes = int(found[1]) / 1024 if found else float("nan")
    return "plan, peak memory", f"{megabytes:.0f} MB", "< 150 MB", held(megabytes < 150)


def warm_plan(base: Path, head: Path) -> Figure:
    """In process, every head new in one block of the large master."""
    before = directory_tree(str(base))
    plan(before, directory_tree(str(head)))
    took = statistics.median(timed(partial(plan, before, tree)) for tree in edited(head))
    return "plan, warm, one block new", f"{took * 1000:.1f} ms", "<= 50 ms", held(took <= 0.05)


def warm_changed(base: Path, head: Path) -> Figure:
    before = directory_tree(str(base))
    changed(before, directory_tree(str(head)))
    took = statistics.median(timed(partial(changed, before, tree)) for tree in edited(head))
    return "changed keys, warm, one block new", f"{took * 1000:.1f} ms", "<= 50 ms", held(took <= 0.05)


def edited(head: Path) -> list[Tree]:
    """Heads that differ from each other in one block each."""
    files = {name: (head / name).read_bytes() for name in (NVIDIA, AMD, RUNNERS, CHANGELOG)}
    places = [found.end() for found in re.finditer(rb"(?m)^  image: \S+?-altered", files[NVIDIA])]
    content = files[NVIDIA]
    return [
        Tree("", {**files, NVIDIA: content[:place] + b"-again" + content[place:]}, complete=True)
        for place in places[:REPEATS]
    ]


def growth() -> list[Figure]:
    """Cold in process: keys grow to 500 with the changelog at 1,000 entries, entries to 5,000 with 125 keys."""
    keys = [_grown(keys=count, entries=1000) for count in (125, 250, 500)]
    entries = [_grown(keys=125, entries=count) for count in (1250, 2500, 5000)]
    return [
        _curve("plan, cold in process, 125 / 250 / 500 keys", keys),
        _curve("plan, cold in process, 1,250 / 2,500 / 5,000 entries", entries),
    ]


def _curve(what: str, took: list[float]) -> Figure:
    shown = " / ".join(f"{value * 1000:.0f}" for value in took) + " ms"
    return what, shown, "4 times the size: < 6 times", held(took[-1] < 6 * took[0])


def _grown(*, keys: int, entries: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        base, head = Path(folder) / "base", Path(folder) / "head"
        write_generated(base, keys=keys, entries=entries, new=0)
        write_generated(head, keys=keys, entries=entries, new=2)

        def once() -> float:
            forget_blocks()
            return timed(lambda: plan(directory_tree(str(base)), directory_tree(str(head))))

        return min(once() for _ in range(3))


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def held(well: bool) -> str:
    return "yes" if well else "NO"


if __name__ == "__main__":
    for row in figures():
        print("  ".join(row))
