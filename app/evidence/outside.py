"""Purpose: evidence from outside hosts: the upstream recipe that a sign-off links, and the draft checkpoints.

Invariants: only links of the known upstream repositories and documentation hosts are followed (the fetcher holds the
allow-list again); every link keeps its place in the sign-off; a link that cannot be read keeps its reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from app.evidence.reads import Reads
from app.facts.base import Facts
from app.facts.repository import HeadTree, MergeBaseTree
from app.facts.sign_off import SignedComment
from app.planner.points import Point
from app.planner.scope import compute_scope
from app.target.closure import LaunchClosure
from app.target.recipe import EffectiveRecipe
from app.target.speculation import speculation_of

MAX_LINKS = 12
MAX_CHECKPOINTS = 6

_URL = re.compile(r"https?://[^\s<>()\[\]\"'`]+", re.IGNORECASE)
_PULL = re.compile(r"^https://github\.com/([\w.-]+/[\w.-]+)/pull/([1-9]\d{0,8})(?:[/?#].*)?$", re.ASCII)
UPSTREAM_REPOSITORIES = frozenset(("sgl-project/sglang", "vllm-project/recipes", "vllm-project/vllm"))
PAGE_HOSTS = ("https://docs.sglang.io/", "https://recipes.vllm.ai/", "https://docs.sglang.ai/")

Store = Callable[[bytes], str]


def upstream(reads: Reads, signed: SignedComment, store: Store) -> list[dict[str, Any]]:
    """Records of `upstream`, in the order of the links."""
    return [_link(reads, signed, line, url, store) for line, url in links(signed.comment.body)[:MAX_LINKS]]


def links(text: str) -> list[tuple[int, str]]:
    """(line, URL) of upstream pull requests and published pages, each once. Lines count from 1."""
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        for match in _URL.findall(line):
            url = match.rstrip(".,;:!?")
            pull = _PULL.match(url)
            if (pull and pull[1] in UPSTREAM_REPOSITORIES) or url.startswith(PAGE_HOSTS):
                found.setdefault(url, number)
    return [(line, url) for url, line in found.items()]


def _link(reads: Reads, signed: SignedComment, line: int, url: str, store: Store) -> dict[str, Any]:
    pull = _PULL.match(url)
    record: dict[str, Any] = {
        "link": url,
        "comment_id": signed.comment.id,
        "line": line,
        "kind": "pull_request" if pull else "page",
        "repository": pull[1] if pull else "",
        "number": int(pull[2]) if pull else 0,
        "state": "",
        "merged_at": "",
        "merge_sha": "",
        "contained": None,
        "files": {},
        "problem": "",
    }
    try:
        if pull:
            state = reads.upstream_pull_request(pull[1], int(pull[2]))
            record |= {"state": state.state, "merged_at": state.merged_at, "merge_sha": state.merge_sha}
            record |= {"contained": state.contained}
            record["files"] = {path: store(content) for path, content in sorted(state.files.items())}
        else:
            record["files"] = {url: store(reads.page(url))}
    except Exception as error:
        record["problem"] = reads.reason(error)
    return record


def checkpoints(reads: Reads, facts: Facts, store: Store) -> list[dict[str, Any]]:
    """Records of `checkpoints`: standalone drafts, else the served checkpoint itself, of speculative points."""
    records = []
    for repository, revision in _named(facts)[:MAX_CHECKPOINTS]:
        record: dict[str, Any] = {"repository": repository, "revision": revision, "sha": "", "problem": ""}
        try:
            found = reads.checkpoint(repository, revision)
            record["sha"] = found.sha
            record["files"] = {name: store(content) for name, content in sorted(found.files.items())}
            record["headers"] = {name: store(content) for name, content in sorted(found.headers.items())}
        except Exception as error:
            record |= {"files": {}, "headers": {}, "problem": reads.reason(error)}
        records.append(record)
    return records


def _named(facts: Facts) -> list[tuple[str, str]]:
    from app.facts.github import ChangedFiles

    scope = compute_scope(
        facts[MergeBaseTree].tree, facts[HeadTree].tree, facts[ChangedFiles].paths, closure=LaunchClosure()
    )
    found = {_checkpoint_of(point) for point in scope.speculative_points}
    return sorted((name, "main") for name in found if name and re.fullmatch(r"[\w.-]+/[\w.-]+", name, re.ASCII))


def _checkpoint_of(point: Point) -> str:
    if isinstance(point.recipe, EffectiveRecipe):
        speculation = speculation_of(point.recipe)
        if speculation is not None and speculation.draft_model:
            return speculation.draft_model.removeprefix("hf:")
    return str(point.row.get("model", ""))
