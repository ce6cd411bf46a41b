"""Purpose: what the collector's sources share: the state of one gathering, guarded sources, trees of a bundle.

Invariants: a source that fails leaves its names missing with a reason, and never stops another one. Trees at the same
revision are asked for in one read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from app.evidence.bundle import Bundle, SourceStatus, blob_name
from app.evidence.reads import Reads, State
from app.facts.base import Context, Facts, MissingFact
from app.facts.makers import Content, makers
from app.facts.sign_off import SignedComment, SignOffs
from app.policy import Policy
from app.target.tree import Tree

LOG = logging.getLogger("sweepgate.evidence")


@dataclass(frozen=True)
class Request:
    """Which pull request, which sign-off (kind and id; None: the newest), on which day.

    `policy_of` turns the policy file of the default branch (None: there is none) into the effective policy.
    `signed_head` is the head that the sign-off signed as our trusted marker remembers it, for when the branch's
    activity does not reach back that far.
    """

    repository: str
    number: int
    review_date: date
    policy_of: Callable[[bytes | None], Policy]
    sign_off: tuple[str, int] | None = None
    signed_head: str | None = None


@dataclass
class Gathering:
    """What has been gathered so far. Records are plain JSON; blobs are raw bytes by SHA-256."""

    request: Request
    state: State
    policy: Policy
    sources: dict[str, Any] = field(default_factory=dict)
    statuses: dict[str, SourceStatus] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    sign_off: dict[str, Any] = field(default_factory=dict)
    merge_base: str = ""

    def put(self, name: str, value: Any) -> None:
        self.sources[name] = value
        self.statuses[name] = SourceStatus(True)

    def lack(self, name: str, reason: str) -> None:
        self.sources.pop(name, None)
        self.statuses[name] = SourceStatus(False, " ".join(reason.split())[:300])

    def store(self, content: bytes) -> str:
        name = blob_name(content)
        self.blobs[name] = content
        return name

    def facts(self) -> Facts:
        content = Content(self.sources, self.statuses, self.blobs, self.sign_off)
        record = self.state.pull_request
        request = self.request
        context = Context(self.policy, request.review_date, request.repository, request.number, record["head_sha"])
        return Facts(makers(content), context)


Source = Callable[["Gathering", Reads], None]


class NotGathered(Exception):  # noqa: N818
    """A source builds on an earlier one that is not there; the message names that one and its reason."""


def earlier(gathering: Gathering, name: str) -> Any:
    """What an earlier round brought. Raises NotGathered."""
    if name not in gathering.sources:
        status = gathering.statuses.get(name)
        raise NotGathered(f"{name}: {status.reason if status is not None else 'was not gathered'}")
    return gathering.sources[name]


def run_round(pool: ThreadPoolExecutor, gathering: Gathering, reads: Reads, sources: Sequence[Source]) -> None:
    for done in [pool.submit(source, gathering, reads) for source in sources]:
        done.result()


def guarded(*names: str) -> Callable[[Source], Source]:
    """A source that fails is recorded as missing under its names; the others go on."""

    def wrap(source: Source) -> Source:
        def safe(gathering: Gathering, reads: Reads) -> None:
            try:
                source(gathering, reads)
            except Exception as error:
                LOG.warning("source %s failed: %s", names[0], error)
                why = str(error) if isinstance(error, MissingFact | NotGathered) else reads.reason(error)
                for name in names:
                    if name not in gathering.statuses or gathering.statuses[name].ok is False:
                        gathering.lack(name, why)

        return safe

    return wrap


@dataclass(frozen=True)
class Wanted:
    """One tree of the bundle: its source name, revision, and the paths and whole folders it asks for."""

    name: str
    sha: str
    paths: Sequence[str]
    folders: Sequence[str]

    def owns(self, path: str) -> bool:
        return path in self.paths or any(path.startswith(f"{folder}/") for folder in self.folders)


def wishes(trees: Iterable[Wanted]) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Union of what trees at the same revision ask for."""
    merged: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
    for tree in trees:
        paths, folders = merged.get(tree.sha, ((), ()))
        merged[tree.sha] = (
            tuple(dict.fromkeys((*paths, *tree.paths))),
            tuple(dict.fromkeys((*folders, *tree.folders))),
        )
    return merged


def put_tree(gathering: Gathering, tree: Wanted, found: Mapping[str, bytes | None]) -> None:
    mine = {path: content for path, content in found.items() if content is not None and tree.owns(path)}
    files = {path: gathering.store(content) for path, content in sorted(mine.items())}
    absent = sorted(set(tree.paths) - set(files))
    folders = sorted(tree.folders)
    gathering.put(
        tree.name, {"revision": tree.sha, "files": files, "absent": absent, "folders": folders, "problems": {}}
    )


def grow_tree(gathering: Gathering, name: str, found: Mapping[str, bytes | None]) -> None:
    tree = gathering.sources[name]
    files = dict(tree["files"])
    absent = set(tree["absent"])
    for path, content in found.items():
        if content is None:
            absent.add(path)
        else:
            files[path] = gathering.store(content)
            absent.discard(path)
    gathering.put(name, {**tree, "files": dict(sorted(files.items())), "absent": sorted(absent)})


def tree_of(gathering: Gathering, name: str) -> Tree:
    raw = earlier(gathering, name)
    files = {path: gathering.blobs[blob] for path, blob in raw["files"].items()}
    return Tree(raw["revision"], files, frozenset(raw["absent"]), folders=frozenset(raw["folders"]))


def live_sign_off(facts: Facts, wanted_one: Mapping[str, Any]) -> SignedComment | None:
    for signed in facts[SignOffs].all:
        if (signed.comment.kind, signed.comment.id) == (wanted_one.get("kind"), wanted_one.get("id")):
            return signed
    return None


def bundle_of(gathering: Gathering) -> Bundle:
    record, request = gathering.state.pull_request, gathering.request
    return Bundle(
        repository=request.repository,
        number=request.number,
        head_sha=record["head_sha"],
        merge_base_sha=gathering.merge_base,
        target_sha=gathering.state.target_sha,
        base_ref=record["base_ref"],
        review_date=request.review_date.isoformat(),
        policy=gathering.policy.canonical(),
        sign_off=gathering.sign_off,
        statuses=gathering.statuses,
        sources=gathering.sources,
        blobs=_used(gathering),
    )


def _used(gathering: Gathering) -> dict[str, bytes]:
    """Blobs that some source names: nothing else belongs to the content."""
    named: set[str] = set()
    _names_in(gathering.sources, named, gathering.blobs)
    return {name: gathering.blobs[name] for name in sorted(named)}


def _names_in(value: Any, named: set[str], known: Mapping[str, bytes]) -> None:
    if isinstance(value, str):
        if value in known:
            named.add(value)
    elif isinstance(value, Mapping):
        for inner in value.values():
            _names_in(inner, named, known)
    elif isinstance(value, Iterable):
        for inner in value:
            _names_in(inner, named, known)
