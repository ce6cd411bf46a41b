"""Purpose: the repository files of a bundle: which are read at which revision, in the collector's rounds.

Round one needs the list of changed files; later rounds read what masters name, and the same files at other commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from app.evidence import wanted
from app.evidence.gathering import (
    Gathering,
    Wanted,
    earlier,
    grow_tree,
    guarded,
    live_sign_off,
    put_tree,
    tree_of,
    wishes,
)
from app.evidence.reads import Reads
from app.facts import evidence_run
from app.facts.records import CommentRecord
from app.facts.signing import signed_at
from app.facts.sweep import ChangelogMetadata, EvidenceRun
from app.target.changelog import difference
from app.target.tree import Layout, Tree

MAX_LAUNCH_ROUNDS = 5


@guarded("changed_files", "tree_head", "tree_merge_base", "tree_target", "tree_signoff_base")
def first_files(gathering: Gathering, reads: Reads) -> None:
    state, record = gathering.state, gathering.state.pull_request
    comparison = reads.compare(record["repository"], state.target_sha, record["head_sha"])
    gathering.merge_base = comparison.merge_base
    gathering.put("changed_files", comparison.files)
    changed = _changed_paths(comparison.files)
    layout = wanted.layout_of(changed, state.october)
    head = wanted.head_files(layout, changed, gathering.request.number)
    folders = wanted.launch_directories(layout)
    trees = (
        Wanted("tree_head", record["head_sha"], head, folders),
        Wanted("tree_merge_base", comparison.merge_base, head, folders),
        Wanted("tree_target", state.target_sha, wanted.target_files(layout), wanted.directories(layout)),
    )
    history = (state.target_sha, layout.checklist, _signed_time(gathering))
    answer = reads.files(record["repository"], wishes(trees), history=history)
    for tree in trees:
        put_tree(gathering, tree, answer.files.get(tree.sha, {}))
    if answer.history_sha:
        then = Wanted("tree_signoff_base", answer.history_sha, (layout.checklist,), ())
        put_tree(gathering, then, {layout.checklist: answer.history_content})
    else:
        gathering.lack("tree_signoff_base", f"{layout.checklist} has no version before the sign-off")


def _changed_paths(files: Iterable[Mapping[str, Any]]) -> list[str]:
    """New and, for renames, old paths."""
    return [path for file in files for path in (file["path"], file.get("previous_path", "")) if path]


def _signed_time(gathering: Gathering) -> str:
    for raw in gathering.sources["comments"]:
        if (raw["kind"], raw["id"]) == (gathering.sign_off.get("kind"), gathering.sign_off.get("id")):
            return signed_at(CommentRecord.model_validate(raw))
    return ""


@guarded("tree_named")
def named_files(gathering: Gathering, reads: Reads) -> None:
    """Recipes, scripts and curves that the affected blocks of the masters name, at head and merge base."""
    record = gathering.state.pull_request
    head, base = tree_of(gathering, "tree_head"), tree_of(gathering, "tree_merge_base")
    layout = head.layout
    paths = _names(head, base, layout, gathering)
    gathering.statuses.pop("tree_named", None)
    if not paths:
        return
    trees = [Wanted("", sha, paths, ()) for sha in (record["head_sha"], gathering.merge_base)]
    answer = reads.files(record["repository"], wishes(trees))
    for name, sha in (("tree_head", record["head_sha"]), ("tree_merge_base", gathering.merge_base)):
        found = answer.files.get(sha, {})
        grow_tree(gathering, name, {path: found.get(path) for path in paths})


def _names(head: Tree, base: Tree, layout: Layout, gathering: Gathering) -> tuple[str, ...]:
    masters = [[tree.files.get(path, b"") for path in layout.masters] for tree in (base, head)]
    named = [key for entry in difference(base, head).added for key in entry.config_keys]
    changed = [file["path"] for file in gathering.sources["changed_files"]]
    blocks = wanted.differing_blocks(masters[0], masters[1], named)
    blocks += wanted.blocks_naming([*masters[0], *masters[1]], changed)
    known = {*head.files, *head.absent} & {*base.files, *base.absent}
    return tuple(path for path in wanted.named_recipes(blocks, layout) if path not in known)


@guarded("tree_launch")
def launch_files(gathering: Gathering, reads: Reads) -> None:
    """Scripts that launching the affected keys reads, at head and merge base; what one names is asked for next."""
    record = gathering.state.pull_request
    changed = _changed_paths(gathering.sources["changed_files"])
    for _ in range(MAX_LAUNCH_ROUNDS):
        head, base = tree_of(gathering, "tree_head"), tree_of(gathering, "tree_merge_base")
        paths = wanted.unread_launch_files(base, head, changed)
        if not paths:
            return
        trees = [Wanted("", sha, paths, ()) for sha in (record["head_sha"], gathering.merge_base)]
        answer = reads.files(record["repository"], wishes(trees))
        for name, sha in (("tree_head", record["head_sha"]), ("tree_merge_base", gathering.merge_base)):
            found = answer.files.get(sha, {})
            grow_tree(gathering, name, {path: found.get(path) for path in paths})


@guarded("tree_measured", "tree_signed")
def other_files(gathering: Gathering, reads: Reads) -> None:
    """The same files at the measured and the signed commit, where these are not the head."""
    record = gathering.state.pull_request
    facts = gathering.facts()
    shas = {}
    run, metadata = facts.get(EvidenceRun), facts.get(ChangelogMetadata)
    if run is not None:
        measured = evidence_run.measured_commit(run.run, metadata.data if metadata is not None else None)
        shas["tree_measured"] = measured or ""
    signed = live_sign_off(facts, gathering.sign_off)
    if signed is not None and signed.signed_head:
        shas["tree_signed"] = signed.signed_head
    known = {commit["sha"] for commit in gathering.state.commits}
    wanted_shas = {name: sha for name, sha in shas.items() if sha != record["head_sha"] and sha in known}
    if not wanted_shas:
        return
    head = earlier(gathering, "tree_head")
    paths = sorted({*head["files"], *head["absent"]})
    trees = [Wanted(name, sha, paths, head["folders"]) for name, sha in wanted_shas.items()]
    answer = reads.files(record["repository"], wishes(trees))
    for tree in trees:
        put_tree(gathering, tree, answer.files.get(tree.sha, {}))
