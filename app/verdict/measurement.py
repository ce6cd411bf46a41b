"""Purpose: is another commit of a pull request the same measurement as its head (design: "Same measurement")?

Reads the files that the affected keys need at three revisions (merge base, head, the other commit) and compares. Asked
by the service for reuse pins and stale sign-offs; a verdict compares from its own bundle.
"""

from __future__ import annotations

from collections.abc import Mapping

from app.decide.state import Measurement
from app.evidence import wanted
from app.evidence.reads import Reads
from app.planner.same_measurement import compare_measurement
from app.planner.scope import compute_scope
from app.target.changelog import difference
from app.target.source import RejectedInput
from app.target.tree import NotRecorded, Tree


def measure(reads: Reads, repository: str, merge_base: str, head: str, other: str) -> Measurement:
    """Same, different (with the files that differ), or undecidable (None)."""
    if head == other:
        return Measurement(True)
    changed, trees = _trees(reads, repository, merge_base, head, other)
    try:
        scope = compute_scope(trees[merge_base], trees[head], changed)
        keys = [key.key for key in scope.keys]
        theirs = compute_scope(trees[merge_base], trees[other], changed)
        keys += [key.key for key in theirs.keys]
        compared = compare_measurement(trees[other], trees[head], keys)
    except (NotRecorded, RejectedInput):
        return Measurement(None)
    if compared.undecided:
        return Measurement(None, compared.paths)
    return Measurement(compared.same, compared.paths)


def _trees(
    reads: Reads, repository: str, merge_base: str, head: str, other: str
) -> tuple[tuple[str, ...], dict[str, Tree]]:
    """Changed paths between the merge base and both commits, and the trees."""
    shas = (merge_base, head, other)
    changed: dict[str, None] = {}
    for sha in (head, other):
        for file in reads.compare(repository, merge_base, sha).files:
            changed.update(dict.fromkeys(path for path in (file["path"], file.get("previous_path", "")) if path))
    layout = wanted.layout_of(changed, False)
    paths = wanted.head_files(layout, changed, 0)
    folders = wanted.directories(layout)
    found = reads.files(repository, dict.fromkeys(shas, (paths, folders))).files
    masters = {sha: [found[sha].get(path) or b"" for path in layout.masters] for sha in shas}
    first = {sha: _tree(sha, found[sha]) for sha in shas}
    named = [
        key
        for sha in (head, other)
        for entry in difference(first[merge_base], first[sha]).added
        for key in entry.config_keys
    ]
    blocks = wanted.differing_blocks(masters[merge_base], masters[head], named)
    blocks += wanted.differing_blocks(masters[merge_base], masters[other], named)
    recipes = wanted.named_recipes(blocks, layout)
    if recipes:
        more = reads.files(repository, dict.fromkeys(shas, (recipes, ()))).files
        first = {sha: _tree(sha, {**found[sha], **more[sha]}) for sha in shas}
    return tuple(changed), first


def _tree(sha: str, found: Mapping[str, bytes | None]) -> Tree:
    files = {path: content for path, content in found.items() if content is not None}
    return Tree(sha, files, frozenset(path for path, content in found.items() if content is None))
