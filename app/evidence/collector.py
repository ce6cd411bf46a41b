"""Purpose: gathers the evidence of one pull request into a `Bundle`: a small graph of sources, walked in rounds.

Each source is a function of what earlier rounds brought; within a round sources run side by side on a few threads,
each with its own outcome. One source that fails never stops the others: it is recorded as missing, with the reason.

    round 1  state (pull request, commits, files, comments, labels), then activity, permissions, runs
    round 2  files at head, merge base, target tip and sign-off base; teams; jobs, artifacts, logs of the chosen run
    round 3  files that the masters name (recipes); files at the measured and the signed commit
    round 4  outside hosts: upstream recipe (named by the sign-off), draft checkpoints (named by recipes), overview

Invariants: comments of bots, our own included, are never evidence. SHAs are frozen by the first read. Outside hosts are
asked only for what an applicable check needs. Tokens never enter a record. The bundle's content does not depend on the
order in which answers arrive.
Accepted race: comments and runs that appear while gathering are not seen; the next verdict sees them.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from app.evidence import outside, wanted
from app.evidence.bundle import Bundle, SourceStatus, blob_name
from app.evidence.reads import NotVisible, PullRequestGone, Reads, State
from app.facts import evidence_run, log_facts
from app.facts.base import Context, Facts, MissingFact
from app.facts.github import PullRequest
from app.facts.makers import Content, makers
from app.facts.repository import OtherTrees, Ownership
from app.facts.sign_off import SignedComment, SignOffs
from app.facts.signing import is_sign_off, signed_at
from app.facts.sweep import EvidenceRun
from app.policy import Policy
from app.target.tree import Layout, Tree

LOG = logging.getLogger("sweepgate.evidence")
THREADS = 6
EVIDENCE_ARTIFACTS = ("bmk_", "results_bmk", "eval_results_all", "changelog-metadata", "run-stats")
MAX_ARTIFACTS = 400

OutsideNeeds = Callable[[Facts], frozenset[str]]


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
class _Gathering:
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


def collect(reads: Reads, request: Request, outside_needs: OutsideNeeds) -> Bundle:
    """Gather everything. Raises PullRequestGone where the pull request does not exist or cannot be seen."""
    state = reads.pull_request_state(request.repository, request.number)
    gathering = _Gathering(request, state, request.policy_of(state.policy_file))
    _put_state(gathering)
    _choose_sign_off(gathering)
    with ThreadPoolExecutor(THREADS) as pool:
        _round(pool, gathering, reads, (_activity, _permissions, _runs, _first_files))
        _remember_signed_head(gathering)
        _round(pool, gathering, reads, (_teams, _run_details, _named_files))
        _round(pool, gathering, reads, (_other_files, _logs, _artifacts))
        needed = outside_needs(gathering.facts())
        jobs = [source for name, source in _OUTSIDE.items() if name in needed]
        _round(pool, gathering, reads, jobs)
        for name in _OUTSIDE:
            if name not in needed:
                gathering.lack(name, "no applicable check needs it")
    return _bundle(gathering)


Source = Callable[["_Gathering", Reads], None]


class _NotGathered(Exception):  # noqa: N818
    """A source builds on an earlier one that is not there; the message names that one and its reason."""


def _earlier(gathering: _Gathering, name: str) -> Any:
    """What an earlier round brought. Raises _NotGathered."""
    if name not in gathering.sources:
        status = gathering.statuses.get(name)
        raise _NotGathered(f"{name}: {status.reason if status is not None else 'was not gathered'}")
    return gathering.sources[name]


def _round(pool: ThreadPoolExecutor, gathering: _Gathering, reads: Reads, sources: Sequence[Source]) -> None:
    for done in [pool.submit(source, gathering, reads) for source in sources]:
        done.result()


def _guarded(*names: str) -> Callable[[Source], Source]:
    """A source that fails is recorded as missing under its names; the others go on."""

    def wrap(source: Source) -> Source:
        def guarded(gathering: _Gathering, reads: Reads) -> None:
            try:
                source(gathering, reads)
            except Exception as error:
                LOG.warning("source %s failed: %s", names[0], error)
                why = str(error) if isinstance(error, MissingFact | _NotGathered) else reads.reason(error)
                for name in names:
                    if name not in gathering.statuses or gathering.statuses[name].ok is False:
                        gathering.lack(name, why)

        return guarded

    return wrap


def _put_state(gathering: _Gathering) -> None:
    state = gathering.state
    gathering.put("pull_request", state.pull_request)
    gathering.put("commits", state.commits)
    people = [comment for comment in state.comments if comment["author"]["type"] != "Bot"]
    gathering.put("comments", people)
    gathering.put("labels", state.labels)


def _choose_sign_off(gathering: _Gathering) -> None:
    """The asked-for sign-off, else the newest live one."""
    from app.facts.records import CommentRecord

    comments = [CommentRecord.model_validate(raw) for raw in gathering.sources["comments"]]
    signed = [comment for comment in comments if is_sign_off(comment)]
    asked = gathering.request.sign_off
    if asked is not None:
        signed = [comment for comment in signed if (comment.kind, comment.id) == asked]
    if signed:
        newest = max(signed, key=lambda comment: (signed_at(comment), comment.id))
        gathering.sign_off = {"kind": newest.kind, "id": newest.id}


def _remember_signed_head(gathering: _Gathering) -> None:
    """What our marker remembers counts only where the activity does not reach back to the sign-off."""
    remembered = gathering.request.signed_head
    signed = _live_sign_off(gathering.facts(), gathering.sign_off) if remembered else None
    if signed is not None and signed.signed_head is None:
        gathering.sign_off = {**gathering.sign_off, "signed_head": remembered}


@_guarded("activity")
def _activity(gathering: _Gathering, reads: Reads) -> None:
    record = gathering.state.pull_request
    gathering.put("activity", reads.branch_activity(record["head_repository"], record["head_ref"]))


@_guarded("permissions")
def _permissions(gathering: _Gathering, reads: Reads) -> None:
    """Permission of everybody whose word may count: signers, people who typed a command, and their editors."""
    found: dict[str, Any] = {}
    for login in _people(gathering):
        try:
            found[login] = reads.permission(gathering.request.repository, login)
        except Exception as error:
            found[login] = reads.reason(error)
    gathering.put("permissions", found)


def _people(gathering: _Gathering) -> list[str]:
    from app.commands import parse
    from app.facts.records import CommentRecord

    people: dict[str, None] = {}
    for raw in gathering.sources["comments"]:
        comment = CommentRecord.model_validate(raw)
        if comment.author.is_bot:
            continue
        if is_sign_off(comment) or parse(comment.body, kind=comment.kind):
            people.setdefault(comment.author.login)
            if comment.editor and comment.editor != comment.author.login:
                people.setdefault(comment.editor)
    return sorted(people)


@_guarded("runs")
def _runs(gathering: _Gathering, reads: Reads) -> None:
    record = gathering.state.pull_request
    workflow = gathering.policy.sweep.workflow
    gathering.put("runs", reads.workflow_runs(record["repository"], record["head_ref"], workflow, _pinned(gathering)))


def _pinned(gathering: _Gathering) -> tuple[int, ...]:
    """Run ids that comments name: they are read even where the branch's list does not show them."""
    from app.commands import parse

    found: dict[int, None] = {}
    for raw in gathering.sources["comments"]:
        for command in parse(raw["body"], kind=raw["kind"]):
            if command.run_id is not None:
                found.setdefault(command.run_id)
    return tuple(list(found)[-5:])


@_guarded("changed_files", "tree_head", "tree_merge_base", "tree_target", "tree_signoff_base")
def _first_files(gathering: _Gathering, reads: Reads) -> None:
    state, record = gathering.state, gathering.state.pull_request
    comparison = reads.compare(record["repository"], state.target_sha, record["head_sha"])
    gathering.merge_base = comparison.merge_base
    gathering.put("changed_files", comparison.files)
    changed = [path for file in comparison.files for path in (file["path"], file.get("previous_path", "")) if path]
    layout = wanted.layout_of(changed, state.october)
    head = wanted.head_files(layout, changed, gathering.request.number)
    folders = wanted.directories(layout)
    trees = (
        _Wanted("tree_head", record["head_sha"], head, folders),
        _Wanted("tree_merge_base", comparison.merge_base, head, folders),
        _Wanted("tree_target", state.target_sha, wanted.target_files(layout), folders),
    )
    history = (state.target_sha, layout.checklist, _signed_time(gathering))
    answer = reads.files(record["repository"], _wishes(trees), history=history)
    for tree in trees:
        _put_tree(gathering, tree, answer.files.get(tree.sha, {}))
    if answer.history_sha:
        then = _Wanted("tree_signoff_base", answer.history_sha, (layout.checklist,), ())
        _put_tree(gathering, then, {layout.checklist: answer.history_content})
    else:
        gathering.lack("tree_signoff_base", f"{layout.checklist} has no version before the sign-off")


def _signed_time(gathering: _Gathering) -> str:
    for raw in gathering.sources["comments"]:
        if (raw["kind"], raw["id"]) == (gathering.sign_off.get("kind"), gathering.sign_off.get("id")):
            from app.facts.records import CommentRecord

            return signed_at(CommentRecord.model_validate(raw))
    return ""


@dataclass(frozen=True)
class _Wanted:
    """One tree of the bundle: its source name, revision, and the paths and whole folders it asks for."""

    name: str
    sha: str
    paths: Sequence[str]
    folders: Sequence[str]

    def owns(self, path: str) -> bool:
        return path in self.paths or any(path.startswith(f"{folder}/") for folder in self.folders)


def _wishes(trees: Iterable[_Wanted]) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Union of what trees at the same revision ask for."""
    merged: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
    for tree in trees:
        paths, folders = merged.get(tree.sha, ((), ()))
        merged[tree.sha] = (
            tuple(dict.fromkeys((*paths, *tree.paths))),
            tuple(dict.fromkeys((*folders, *tree.folders))),
        )
    return merged


def _put_tree(gathering: _Gathering, tree: _Wanted, found: Mapping[str, bytes | None]) -> None:
    mine = {path: content for path, content in found.items() if content is not None and tree.owns(path)}
    files = {path: gathering.store(content) for path, content in sorted(mine.items())}
    absent = sorted(set(tree.paths) - set(files))
    gathering.put(tree.name, {"revision": tree.sha, "files": files, "absent": absent, "problems": {}})


def _grow_tree(gathering: _Gathering, name: str, found: Mapping[str, bytes | None]) -> None:
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


@_guarded("teams")
def _teams(gathering: _Gathering, reads: Reads) -> None:
    """Membership of the teams that own a changed file: only where a signer is not a named owner."""
    facts = gathering.facts()
    owners = facts[Ownership].codeowners
    paths = [file["path"] for file in _earlier(gathering, "changed_files")]
    names = {
        owner.removeprefix("@").lower()
        for path in paths
        if (rule := owners.rule_for(path)) is not None
        for owner in rule.owners
        if "/" in owner
    }
    found = {}
    for name in sorted(names):
        try:
            found[name] = {"visible": True, "members": sorted(reads.team_members(name))}
        except NotVisible:
            found[name] = {"visible": False, "members": []}
    gathering.put("teams", found)


def _chosen_run(gathering: _Gathering) -> EvidenceRun:
    return gathering.facts()[EvidenceRun]


@_guarded("jobs", "artifacts", "job_logs")
def _run_details(gathering: _Gathering, reads: Reads) -> None:
    run = _chosen_run(gathering).run
    gathering.put("jobs", reads.jobs(gathering.request.repository, run.id, run.attempt))
    gathering.put("artifacts", reads.artifacts(gathering.request.repository, run.id))


@_guarded("artifacts")
def _artifacts(gathering: _Gathering, reads: Reads) -> None:
    """Members of the result artifacts. One that cannot be read keeps its entry, with the problem."""
    if not gathering.statuses.get("artifacts", SourceStatus(False)).ok:
        return
    filled = []
    for artifact in gathering.sources["artifacts"][:MAX_ARTIFACTS]:
        entry = dict(artifact)
        if artifact["name"].startswith(EVIDENCE_ARTIFACTS) and not artifact["expired"]:
            try:
                members = reads.artifact_members(gathering.request.repository, artifact["id"], artifact["size"])
                entry["files"] = {path: gathering.store(content) for path, content in sorted(members.items())}
            except Exception as error:
                entry["problem"] = reads.reason(error)
        filled.append(entry)
    gathering.put("artifacts", filled)


@_guarded("job_logs")
def _logs(gathering: _Gathering, reads: Reads) -> None:
    """Facts of the executed matrix jobs' logs; the whole run's logs come as one zip."""
    run = _chosen_run(gathering).run
    jobs = [job for job in _earlier(gathering, "jobs") if evidence_run.is_family(job["name"]) and job["steps"] > 0]
    texts = reads.run_logs(gathering.request.repository, run.id, run.attempt)
    records = []
    for job in jobs:
        text = texts.get(job["name"])
        if text is None:
            continue
        facts = log_facts.extract(text, job_id=job["id"], run_id=run.id, job_name=job["name"])
        records.append(facts.model_dump(mode="json"))
    gathering.put("job_logs", records)


@_guarded("tree_named")
def _named_files(gathering: _Gathering, reads: Reads) -> None:
    """Recipes, scripts and curves that the affected blocks of the masters name, at head and merge base."""
    record = gathering.state.pull_request
    head, base = _tree_of(gathering, "tree_head"), _tree_of(gathering, "tree_merge_base")
    layout = head.layout
    paths = _names(head, base, layout, gathering)
    gathering.statuses.pop("tree_named", None)
    if not paths:
        return
    trees = [_Wanted("", sha, paths, ()) for sha in (record["head_sha"], gathering.merge_base)]
    answer = reads.files(record["repository"], _wishes(trees))
    for name, sha in (("tree_head", record["head_sha"]), ("tree_merge_base", gathering.merge_base)):
        found = answer.files.get(sha, {})
        _grow_tree(gathering, name, {path: found.get(path) for path in paths})


def _tree_of(gathering: _Gathering, name: str) -> Tree:
    raw = _earlier(gathering, name)
    files = {path: gathering.blobs[blob] for path, blob in raw["files"].items()}
    return Tree(raw["revision"], files, frozenset(raw["absent"]))


def _names(head: Tree, base: Tree, layout: Layout, gathering: _Gathering) -> tuple[str, ...]:
    from app.target.changelog import difference

    masters = [[tree.files.get(path, b"") for path in layout.masters] for tree in (base, head)]
    named = [key for entry in difference(base, head).added for key in entry.config_keys]
    changed = [file["path"] for file in gathering.sources["changed_files"]]
    blocks = wanted.differing_blocks(masters[0], masters[1], named)
    blocks += wanted.blocks_naming([*masters[0], *masters[1]], changed)
    known = {*head.files, *head.absent} & {*base.files, *base.absent}
    return tuple(path for path in wanted.named_recipes(blocks, layout) if path not in known)


@_guarded("tree_measured", "tree_signed")
def _other_files(gathering: _Gathering, reads: Reads) -> None:
    """The same files at the measured and the signed commit, where these are not the head."""
    record = gathering.state.pull_request
    facts = gathering.facts()
    shas = {}
    with contextlib.suppress(MissingFact):
        shas["tree_measured"] = facts[EvidenceRun].run.head_sha
    signed = _live_sign_off(facts, gathering.sign_off)
    if signed is not None and signed.signed_head:
        shas["tree_signed"] = signed.signed_head
    known = {commit["sha"] for commit in gathering.state.commits}
    wanted_shas = {name: sha for name, sha in shas.items() if sha != record["head_sha"] and sha in known}
    if not wanted_shas:
        return
    head = _earlier(gathering, "tree_head")
    paths = sorted({*head["files"], *head["absent"]})
    trees = [_Wanted(name, sha, paths, ()) for name, sha in wanted_shas.items()]
    answer = reads.files(record["repository"], _wishes(trees))
    for tree in trees:
        _put_tree(gathering, tree, answer.files.get(tree.sha, {}))


def _live_sign_off(facts: Facts, wanted_one: Mapping[str, Any]) -> SignedComment | None:
    for signed in facts[SignOffs].all:
        if (signed.comment.kind, signed.comment.id) == (wanted_one.get("kind"), wanted_one.get("id")):
            return signed
    return None


@_guarded("upstream")
def _upstream(gathering: _Gathering, reads: Reads) -> None:
    signed = _live_sign_off(gathering.facts(), gathering.sign_off)
    records = [] if signed is None else outside.upstream(reads, signed, gathering.store)
    gathering.put("upstream", records)


@_guarded("checkpoints")
def _checkpoints(gathering: _Gathering, reads: Reads) -> None:
    gathering.put("checkpoints", outside.checkpoints(reads, gathering.facts(), gathering.store))


@_guarded("overview")
def _overview(gathering: _Gathering, reads: Reads) -> None:
    url = gathering.policy.overview.url
    gathering.put("overview", {"url": url, "blob": gathering.store(reads.page(url)), "problem": ""})


_OUTSIDE: dict[str, Source] = {"upstream": _upstream, "checkpoints": _checkpoints, "overview": _overview}


def _bundle(gathering: _Gathering) -> Bundle:
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


def _used(gathering: _Gathering) -> dict[str, bytes]:
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


__all__ = ["OtherTrees", "PullRequest", "PullRequestGone", "Request", "collect"]
