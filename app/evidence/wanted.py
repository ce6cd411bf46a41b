"""Purpose: which repository files a verdict needs, at which revision. Pure; the collector fetches what it names.

Round one needs only the list of changed files. Round two reads what round one's masters and changelog name: the
recipes of keys that may be affected, the curves, the scripts. A path that is named but does not exist is recorded as
absent; a path that nobody named stays unknown, and whoever reads it is told so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from app.planner.scope import compute_scope
from app.target.closure import LaunchClosure, launcher_folders
from app.target.source import RejectedInput
from app.target.tree import OCTOBER_ROOT, Layout, NotRecorded, Tree

CODEOWNERS = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
POLICY = ".github/sweepgate.yml"
MAX_RECIPES = 400
MAX_LAUNCH_FILES = 600

_RECIPE = re.compile(rb"""(?:srt-recipe|eval-srt-recipe):\s*['"]?([^\s'",}\]#]+)""")
_CONFIG_FILE = re.compile(rb"""(?:EVAL_)?(?:CONFIG_FILE|SRT_RECIPE)=([^\s'",}\]#]+)""")
_KEY = re.compile(rb"^([^\s#:'\"][^:\n]*):\s*(?:#.*)?$", re.MULTILINE)


def layout_of(changed: Iterable[str], head_has_october_master: bool) -> Layout:
    """Layout of the head: October where its master exists there or any changed file lies below its root."""
    october = head_has_october_master or any(path.startswith(OCTOBER_ROOT) for path in changed)
    return Layout.OCTOBER if october else Layout.AUGUST


def head_files(layout: Layout, changed: Iterable[str], number: int) -> tuple[str, ...]:
    """Round one at the head and the merge base."""
    fixed = (*layout.masters, layout.runners, layout.changelog, f"{layout.waivers}{number}.md")
    trusted_twins = (layout.thresholds, layout.models_md)
    return tuple(dict.fromkeys((*fixed, *trusted_twins, *changed)))


def target_files(layout: Layout) -> tuple[str, ...]:
    """Round one at the target branch tip: the files that the trust table reads there."""
    return (*CODEOWNERS, layout.thresholds, layout.models_md, layout.checklist, layout.runners, *layout.masters)


def directories(layout: Layout) -> tuple[str, ...]:
    """Folders read whole (they are small): golden curves and shared recipe fragments."""
    return (layout.golden_curves.rstrip("/"), layout.fragments.rstrip("/"))


def launch_directories(layout: Layout) -> tuple[str, ...]:
    """Folders read whole where measurements are compared: those above and the launcher's own modules."""
    return (*directories(layout), *launcher_folders(layout))


def unread_launch_files(base: Tree, head: Tree, changed: Iterable[str]) -> tuple[str, ...]:
    """Files that launching an affected key reads at either revision and that were not gathered yet.

    What is gathered may name more: ask again until nothing is named. At most MAX_LAUNCH_FILES.
    """
    closure = LaunchClosure()
    try:
        for key in compute_scope(base, head, changed, closure=closure).keys:
            for entry, tree in ((key.base, base), (key.head, head)):
                if entry is not None:
                    closure(entry, tree)
    except (NotRecorded, RejectedInput):
        return ()
    return closure.unread()[:MAX_LAUNCH_FILES]


def named_recipes(master_blocks: Iterable[bytes], layout: Layout) -> tuple[str, ...]:
    """Recipe paths that blocks of a master name, as repository paths, without selectors, at most MAX_RECIPES."""
    found: dict[str, None] = {}
    for block in master_blocks:
        for match in (*_RECIPE.findall(block), *_CONFIG_FILE.findall(block)):
            path = match.decode("utf-8", "replace").split(":", 1)[0].lstrip("/")
            for candidate in _candidates(path, layout):
                found.setdefault(candidate)
    return tuple(list(found)[:MAX_RECIPES])


def _candidates(path: str, layout: Layout) -> tuple[str, ...]:
    """Places where a named recipe may stand (formats.md 1.3 and 3.5)."""
    if path.startswith(layout.root + "benchmarks/"):
        return (path,)
    if path.startswith("benchmarks/"):
        return (layout.root + path,)
    below = path.removeprefix("recipes/")
    folders = ("multi_node", "single_node")
    return tuple(f"{layout.recipes}{folder}/srt-slurm-recipes/{below}" for folder in folders)


def blocks(master: bytes) -> Mapping[str, bytes]:
    """A master split at its column-0 keys: key -> raw block. Text before the first key is left out."""
    starts = [(match.start(), match.group(1)) for match in _KEY.finditer(master)]
    ends = [start for start, _ in starts[1:]] + [len(master)] * bool(starts)
    return {
        name.decode("utf-8", "replace").strip(): master[start:end]
        for (start, name), end in zip(starts, ends, strict=True)
    }


def differing_blocks(base: Iterable[bytes], head: Iterable[bytes], named: Iterable[str]) -> tuple[bytes, ...]:
    """Blocks that differ between two revisions of the masters, both sides, and the blocks of named keys.

    `named` are keys or patterns with `*` from appended changelog entries.
    """
    before, after = _merged(base), _merged(head)
    patterns = [re.compile(".*".join(re.escape(part) for part in name.split("*"))) for name in named]
    wanted = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    wanted |= {key for key in {*before, *after} if any(pattern.fullmatch(key) for pattern in patterns)}
    return tuple(block for key in sorted(wanted) for side in (before, after) if (block := side.get(key)) is not None)


def _merged(masters: Iterable[bytes]) -> dict[str, bytes]:
    merged: dict[str, bytes] = {}
    for master in masters:
        merged.update(blocks(master))
    return merged


def blocks_naming(masters: Iterable[bytes], paths: Iterable[str]) -> tuple[bytes, ...]:
    """Blocks that name one of these recipe files (a recipe edit affects its keys)."""
    tails = [path.rsplit("srt-slurm-recipes/", 1)[-1].encode() for path in paths if "srt-slurm-recipes/" in path]
    return tuple(
        block for master in masters for block in blocks(master).values() if any(tail in block for tail in tails)
    )
