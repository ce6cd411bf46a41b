"""Purpose: makes every fact from the content of a bundle, lazily, each from the revision that the trust table names.

Invariants: a maker returns `Missing` (or raises `MissingFact`) with the source's own reason where the source was not
gathered; it never invents an empty value for it. A record that does not fit its model is "unreadable", never ignored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from app.facts import evidence_run, signing
from app.facts.base import Fact, Facts, Maker, Missing, MissingFact
from app.facts.github import (
    BranchActivity,
    ChangedFiles,
    Comments,
    LabelTimeline,
    Permissions,
    PullRequest,
    Teams,
)
from app.facts.outside import (
    DraftCheckpoint,
    DraftCheckpoints,
    OverviewPage,
    UpstreamRecipe,
    UpstreamRecipes,
)
from app.facts.records import (
    ActivityRecord,
    ArtifactRecord,
    CheckpointRecord,
    CommentRecord,
    CommitRecord,
    FileRecord,
    JobLogRecord,
    JobRecord,
    LabelEventRecord,
    PageRecord,
    PermissionRecord,
    PullRequestRecord,
    RunRecord,
    TeamRecord,
    TreeRecord,
    UpstreamRecord,
)
from app.facts.repository import (
    ChecklistTemplates,
    EvalThresholds,
    GoldenCurves,
    HeadTree,
    MergeBaseTree,
    Models,
    OtherTrees,
    Ownership,
    TargetTree,
)
from app.facts.sign_off import SignOff, SignOffs
from app.facts.sweep import (
    Artifacts,
    BenchmarkRows,
    ChangelogMetadata,
    EvalRows,
    EvidenceRun,
    JobLogs,
    Jobs,
    PlanRows,
    ResultRow,
)
from app.target.checklist import Template, parse_template
from app.target.codeowners import Codeowners
from app.target.golden import read_curve
from app.target.models_md import ModelsTable
from app.target.source import RejectedInput
from app.target.thresholds import Thresholds
from app.target.tree import NotRecorded, Tree

CODEOWNERS_PATHS = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
MAX_RESULT_ROWS = 20_000

T = TypeVar("T")


class Status(Protocol):
    @property
    def ok(self) -> bool: ...
    @property
    def reason(self) -> str: ...


@dataclass(frozen=True)
class Content:
    """What a bundle holds: parsed sources by name, their statuses, raw blobs by SHA-256, and the chosen sign-off."""

    sources: Mapping[str, Any]
    statuses: Mapping[str, Status]
    blobs: Mapping[str, bytes]
    sign_off: Mapping[str, Any]

    def parsed(self, name: str, shape: Any, kind: type[Fact]) -> Any:
        """A source as typed records. Raises MissingFact with the source's reason."""
        status = self.statuses.get(name)
        if status is None or not status.ok or name not in self.sources:
            reason = status.reason if status is not None and status.reason else "was not gathered"
            raise MissingFact(kind, Missing(kind.title, reason))
        try:
            return _adapter(shape).validate_python(self.sources[name])
        except ValidationError as errors:
            first = errors.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise MissingFact(kind, Missing(kind.title, f"sources/{name}.json is unreadable at {place}")) from None

    def blob(self, name: str, kind: type[Fact]) -> bytes:
        content = self.blobs.get(name)
        if content is None:
            raise MissingFact(kind, Missing(kind.title, f"blob {name[:12]} is missing from the bundle"))
        return content


_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}


def _adapter(shape: Any) -> TypeAdapter[Any]:
    if shape not in _ADAPTERS:
        _ADAPTERS[shape] = TypeAdapter(shape)
    return _ADAPTERS[shape]


def _tree(content: Content, source: str, kind: type[Fact]) -> Tree:
    record: TreeRecord = content.parsed(source, TreeRecord, kind)
    files = {path: content.blob(blob, kind) for path, blob in record.files.items()}
    return Tree(record.revision, files, frozenset(record.absent), folders=frozenset(record.folders))


def _read(tree: Tree, path: str, kind: type[Fact]) -> bytes:
    """Bytes of a trusted file, or MissingFact that names the path."""
    try:
        content = tree.read(path)
    except NotRecorded as unseen:
        raise MissingFact(kind, Missing(kind.title, str(unseen))) from None
    if content is None:
        raise MissingFact(kind, Missing(kind.title, f"{path} does not exist at {tree.revision[:7]}"))
    return content


def _parsed_file(read: Callable[[], T], kind: type[Fact]) -> T:
    try:
        return read()
    except RejectedInput as rejected:
        raise MissingFact(kind, Missing(kind.title, f"is unreadable: {rejected.problems[0]}")) from None


def _known(tree: Tree, path: str) -> bytes | None:
    """Bytes, or None where the path is absent or was not read."""
    return tree.read(path) if tree.knows(path) else None


def _pull_request(content: Content, _facts: Facts) -> PullRequest:
    return PullRequest(
        content.parsed("pull_request", PullRequestRecord, PullRequest),
        content.parsed("commits", tuple[CommitRecord, ...], PullRequest),
    )


def _permissions(content: Content, _facts: Facts) -> Permissions:
    raw = content.parsed("permissions", dict[str, PermissionRecord | str], Permissions)
    return Permissions(
        {login.lower(): value for login, value in raw.items() if isinstance(value, PermissionRecord)},
        {login.lower(): value for login, value in raw.items() if isinstance(value, str)},
    )


def _teams(content: Content, _facts: Facts) -> Teams:
    raw = content.parsed("teams", dict[str, TeamRecord], Teams)
    return Teams({name.lower(): team for name, team in raw.items()})


def _activity(content: Content, _facts: Facts) -> BranchActivity:
    """Hosts list the newest update first; updates of one second keep their order."""
    updates: tuple[ActivityRecord, ...] = content.parsed("activity", tuple[ActivityRecord, ...], BranchActivity)
    oldest_first = list(reversed(updates))
    return BranchActivity(tuple(sorted(oldest_first, key=lambda update: update.timestamp)))


def _other_trees(content: Content, _facts: Facts) -> OtherTrees:
    trees = [
        _tree(content, source, OtherTrees)
        for source in OtherTrees.sources
        if source in content.statuses and content.statuses[source].ok
    ]
    return OtherTrees({tree.revision: tree for tree in trees})


def _ownership(_content: Content, facts: Facts) -> Ownership:
    tree = facts[TargetTree].tree
    for path in CODEOWNERS_PATHS:
        found = _known(tree, path)
        if found is not None:
            return Ownership(Codeowners.parse(path, found))
    raise MissingFact(Ownership, Missing(Ownership.title, f"no CODEOWNERS file at {tree.revision[:7]}"))


def _thresholds(_content: Content, facts: Facts) -> EvalThresholds:
    target, head = facts[TargetTree].tree, facts[HeadTree].tree
    path = target.layout.thresholds
    raw = _read(target, path, EvalThresholds)
    mine = _parsed_file(lambda: Thresholds.parse(path, raw), EvalThresholds)
    theirs = _known(head, head.layout.thresholds)
    head_table = None
    if theirs is not None and theirs != raw:
        head_table = _parsed_file(lambda: Thresholds.parse(head.layout.thresholds, theirs), EvalThresholds)
    return EvalThresholds(mine, head_table)


def _golden_curves(_content: Content, facts: Facts) -> GoldenCurves:
    target, head = facts[TargetTree].tree, facts[HeadTree].tree
    ours = _curve_files(target)
    theirs = _curve_files(head)
    looked = target.lists(target.layout.golden_curves.rstrip("/"))
    from_head = {
        name for name, (path, _) in theirs.items() if name not in ours and (looked or target.knows(_at(target, path)))
    }
    edited = {name for name, (_, raw) in theirs.items() if name in ours and ours[name][1] != raw}
    chosen = {**{name: theirs[name] for name in from_head}, **ours}
    curves = {}
    for name, (path, raw) in sorted(chosen.items()):
        curves[name] = _parsed_file(lambda p=path, r=raw: read_curve(p, r), GoldenCurves)  # type: ignore[misc]
    return GoldenCurves(curves, frozenset(from_head), frozenset(edited))


def _at(tree: Tree, path: str) -> str:
    return tree.layout.golden_curves + path.rsplit("/", 1)[-1]


def _curve_files(tree: Tree) -> dict[str, tuple[str, bytes]]:
    folder = tree.layout.golden_curves
    return {
        path.rsplit("/", 1)[-1].removesuffix(".yaml"): (path, tree.files[path])
        for path in tree.below(folder)
        if path.endswith(".yaml")
    }


def _models(_content: Content, facts: Facts) -> Models:
    target, head = facts[TargetTree].tree, facts[HeadTree].tree
    path = target.layout.models_md
    raw = _read(target, path, Models)
    mine = _parsed_file(lambda: ModelsTable.parse(path, raw), Models)
    theirs = _known(head, head.layout.models_md)
    head_table = None
    if theirs is not None and theirs != raw:
        head_table = _parsed_file(lambda: ModelsTable.parse(head.layout.models_md, theirs), Models)
    return Models(mine, head_table)


def _checklists(content: Content, facts: Facts) -> ChecklistTemplates:
    def template(tree: Tree) -> Template:
        raw = _read(tree, tree.layout.checklist, ChecklistTemplates)
        return _parsed_file(lambda: parse_template(tree.layout.checklist, raw), ChecklistTemplates)

    tip = template(facts[TargetTree].tree)
    return ChecklistTemplates(template(_tree(content, "tree_signoff_base", ChecklistTemplates)), tip)


def _evidence_run(content: Content, facts: Facts) -> EvidenceRun:
    runs = content.parsed("runs", tuple[RunRecord, ...], EvidenceRun)
    chosen = evidence_run.choose(runs, facts)
    if isinstance(chosen, str):
        raise MissingFact(EvidenceRun, Missing(EvidenceRun.title, chosen))
    return chosen


def _jobs(content: Content, _facts: Facts) -> Jobs:
    return Jobs(content.parsed("jobs", tuple[JobRecord, ...], Jobs))


def _artifacts(content: Content, _facts: Facts) -> Artifacts:
    return Artifacts(content.parsed("artifacts", tuple[ArtifactRecord, ...], Artifacts))


def _json_members(
    content: Content, artifacts: Iterable[ArtifactRecord], kind: type[Fact]
) -> tuple[list[tuple[str, str, Any]], list[str]]:
    """(artifact, member, parsed JSON) of every .json member, and the members that are not JSON.

    Raises MissingFact for an artifact that could not be had: its rows may be there, so that they lack is not known.
    """
    read: list[tuple[str, str, Any]] = []
    problems: list[str] = []
    for artifact in artifacts:
        if artifact.problem or artifact.expired:
            reason = f"{artifact.name}: {artifact.problem or 'the artifact has expired'}"
            raise MissingFact(kind, Missing(kind.title, reason))
        for member, blob in sorted(artifact.files.items()):
            if not member.endswith(".json"):
                continue
            try:
                raw = content.blob(blob, kind)
                value = json.loads(raw)
                if b"\\ud" in raw.lower():
                    json.dumps(value, ensure_ascii=False).encode()  # refuses half characters: no output can hold them
                read.append((artifact.name, member, value))
            except (ValueError, RecursionError):
                problems.append(f"{artifact.name}/{member}: not JSON")
    return read, problems


def _rows(content: Content, artifacts: Iterable[ArtifactRecord], kind: type[Fact]) -> tuple[list[ResultRow], list[str]]:
    members, problems = _json_members(content, artifacts, kind)
    rows: list[ResultRow] = []
    for artifact, member, value in members:
        for index, row in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(row, dict):
                problems.append(f"{artifact}/{member}: row {index} is not an object")
            elif len(rows) >= MAX_RESULT_ROWS:
                problems.append(f"more than {MAX_RESULT_ROWS} rows; the rest was not read")
                return rows, problems
            else:
                rows.append(ResultRow(artifact, member, index, row))
    return rows, problems


def _benchmark_rows(content: Content, facts: Facts) -> BenchmarkRows:
    """Rows of the point artifacts `bmk_*`; the collector's `results_bmk` only where there are none."""
    found = facts[Artifacts].all
    points = [artifact for artifact in found if artifact.name.startswith("bmk_")]
    collected = [artifact for artifact in found if artifact.name == "results_bmk"]
    rows, problems = _rows(content, points or collected, BenchmarkRows)
    if not points and not collected:
        raise MissingFact(BenchmarkRows, Missing(BenchmarkRows.title, "the run has no bmk_* or results_bmk artifact"))
    return BenchmarkRows(tuple(rows), tuple(problems))


def _eval_rows(content: Content, facts: Facts) -> EvalRows:
    found = [artifact for artifact in facts[Artifacts].all if artifact.name == "eval_results_all"]
    if not found:
        raise MissingFact(EvalRows, Missing(EvalRows.title, "the run has no eval_results_all artifact"))
    rows, problems = _rows(content, found, EvalRows)
    return EvalRows(tuple(rows), tuple(problems))


def _changelog_metadata(content: Content, facts: Facts) -> ChangelogMetadata:
    found = [artifact for artifact in facts[Artifacts].all if artifact.name == "changelog-metadata"]
    members, problems = _json_members(content, found, ChangelogMetadata)
    if not members or not isinstance(members[0][2], dict):
        reason = problems[0] if problems else "the run has no changelog-metadata artifact"
        raise MissingFact(ChangelogMetadata, Missing(ChangelogMetadata.title, reason))
    return ChangelogMetadata(members[0][2])


def _job_logs(content: Content, _facts: Facts) -> JobLogs:
    return JobLogs(content.parsed("job_logs", tuple[JobLogRecord, ...], JobLogs))


def _plan_rows(_content: Content, facts: Facts) -> PlanRows:
    from app.planner.plan import PlanOptions, plan

    base, head = facts[MergeBaseTree].tree, facts[HeadTree].tree
    labels = facts[PullRequest].record.labels
    options = PlanOptions(all_evals="all-evals" in labels, evals_only="evals-only" in labels)
    try:
        return PlanRows(plan(base, head, options))
    except (RejectedInput, NotRecorded) as rejected:
        first = rejected.problems[0] if isinstance(rejected, RejectedInput) else rejected
        raise MissingFact(PlanRows, Missing(PlanRows.title, f"the planner rejects it: {first}")) from None


def _upstream(content: Content, _facts: Facts) -> UpstreamRecipes:
    records = content.parsed("upstream", tuple[UpstreamRecord, ...], UpstreamRecipes)
    return UpstreamRecipes(
        tuple(
            UpstreamRecipe(record, {path: content.blob(blob, UpstreamRecipes) for path, blob in record.files.items()})
            for record in records
        )
    )


def _checkpoints(content: Content, _facts: Facts) -> DraftCheckpoints:
    records = content.parsed("checkpoints", tuple[CheckpointRecord, ...], DraftCheckpoints)

    def blobs(names: Mapping[str, str]) -> dict[str, bytes]:
        return {name: content.blob(blob, DraftCheckpoints) for name, blob in names.items()}

    return DraftCheckpoints(
        {record.repository: DraftCheckpoint(record, blobs(record.files), blobs(record.headers)) for record in records}
    )


def _overview(content: Content, _facts: Facts) -> OverviewPage:
    record: PageRecord = content.parsed("overview", PageRecord, OverviewPage)
    if record.problem or not record.blob:
        raise MissingFact(OverviewPage, Missing(OverviewPage.title, record.problem or "was not gathered"))
    return OverviewPage(record.url, content.blob(record.blob, OverviewPage))


def _sign_offs(content: Content, facts: Facts) -> SignOffs:
    return signing.sign_offs(facts, content.sign_off)


def _sign_off(content: Content, facts: Facts) -> SignOff:
    wanted = (content.sign_off.get("kind"), content.sign_off.get("id"))
    for signed in facts[SignOffs].all:
        if (signed.comment.kind, signed.comment.id) == wanted:
            return SignOff(signed)
    raise MissingFact(SignOff, Missing(SignOff.title, "no live sign-off comment was found"))


def _simple(kind: type[Fact], source: str, shape: Any) -> Callable[[Content, Facts], Fact]:
    return lambda content, _facts: kind(content.parsed(source, shape, kind))  # type: ignore[call-arg]


def _tree_fact(kind: type[Fact]) -> Callable[[Content, Facts], Fact]:
    return lambda content, _facts: kind(_tree(content, kind.sources[0], kind))  # type: ignore[call-arg]


_MAKERS: dict[type[Fact], Callable[[Content, Facts], Fact]] = {
    PullRequest: _pull_request,
    ChangedFiles: _simple(ChangedFiles, "changed_files", tuple[FileRecord, ...]),
    Comments: _simple(Comments, "comments", tuple[CommentRecord, ...]),
    Permissions: _permissions,
    Teams: _teams,
    LabelTimeline: _simple(LabelTimeline, "labels", tuple[LabelEventRecord, ...]),
    BranchActivity: _activity,
    HeadTree: _tree_fact(HeadTree),
    MergeBaseTree: _tree_fact(MergeBaseTree),
    TargetTree: _tree_fact(TargetTree),
    OtherTrees: _other_trees,
    Ownership: _ownership,
    EvalThresholds: _thresholds,
    GoldenCurves: _golden_curves,
    Models: _models,
    ChecklistTemplates: _checklists,
    EvidenceRun: _evidence_run,
    Jobs: _jobs,
    Artifacts: _artifacts,
    BenchmarkRows: _benchmark_rows,
    EvalRows: _eval_rows,
    ChangelogMetadata: _changelog_metadata,
    JobLogs: _job_logs,
    PlanRows: _plan_rows,
    UpstreamRecipes: _upstream,
    DraftCheckpoints: _checkpoints,
    OverviewPage: _overview,
    SignOffs: _sign_offs,
    SignOff: _sign_off,
}

FACT_KINDS: tuple[type[Fact], ...] = tuple(_MAKERS)


def makers(content: Content) -> Mapping[type[Fact], Maker]:
    """Makers of every fact kind for one bundle's content."""

    def bound(make: Callable[[Content, Facts], Fact]) -> Maker:
        return lambda facts: make(content, facts)

    return {kind: bound(make) for kind, make in _MAKERS.items()}
