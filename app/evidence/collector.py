"""Purpose: gathers the evidence of one pull request into a `Bundle`: a small graph of sources, walked in rounds.

Each source is a function of what earlier rounds brought; within a round sources run side by side on a few threads,
each with its own outcome. One source that fails never stops the others: it is recorded as missing, with the reason.

    round 1  state (pull request, commits, files, comments, labels), then activity, permissions, runs
             and the files at head, merge base, target tip and sign-off base
    round 2  teams and permissions of owners; jobs and artifacts of the chosen run; files that the masters name
    round 3  logs and artifact members; scripts that launching the affected keys reads
    round 4  files at the measured and the signed commit; outside hosts: upstream recipe (named by the sign-off), draft
             checkpoints (named by recipes), overview

Invariants: comments of bots, our own included, are never evidence. SHAs are frozen by the first read. Outside hosts are
asked only for what an applicable check needs. Tokens never enter a record. The bundle's content does not depend on the
order in which answers arrive.
Accepted race: comments and runs that appear while gathering are not seen; the next verdict sees them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from app.commands import parse
from app.evidence import outside
from app.evidence.bundle import Bundle, SourceStatus
from app.evidence.file_sources import first_files, launch_files, named_files, other_files
from app.evidence.gathering import (
    Gathering,
    Request,
    Source,
    bundle_of,
    earlier,
    guarded,
    live_sign_off,
    run_round,
)
from app.evidence.reads import NotVisible, PullRequestGone, Reads
from app.facts import evidence_run, log_facts
from app.facts.base import Facts
from app.facts.records import CommentRecord
from app.facts.repository import Ownership
from app.facts.sign_off import SignOffs
from app.facts.signing import is_sign_off, signed_at
from app.facts.sweep import EvidenceRun
from app.policy import Policy
from app.target.codeowners import Codeowners

THREADS = 6
EVIDENCE_ARTIFACTS = ("bmk_", "results_bmk", "eval_results_all", "changelog-metadata", "run-stats")
MAX_ARTIFACTS = 400
MAX_OWNERS = 12

OutsideNeeds = Callable[[Facts], frozenset[str]]


def collect(reads: Reads, request: Request, outside_needs: OutsideNeeds) -> Bundle:
    """Gather everything. Raises PullRequestGone where the pull request does not exist or cannot be seen."""
    state = reads.pull_request_state(request.repository, request.number)
    gathering = Gathering(request, state, request.policy_of(state.policy_file))
    _put_state(gathering)
    _choose_sign_off(gathering)
    with ThreadPoolExecutor(THREADS) as pool:
        run_round(pool, gathering, reads, (_activity, _permissions, _runs, first_files))
        _remember_signed_head(gathering)
        run_round(pool, gathering, reads, (_owners, _run_details, named_files))
        run_round(pool, gathering, reads, (_logs, _artifacts, launch_files))
        needed = outside_needs(gathering.facts())
        hosts = [source for name, source in _OUTSIDE.items() if name in needed]
        run_round(pool, gathering, reads, (other_files, *hosts))
        for name in _OUTSIDE:
            if name not in needed:
                gathering.lack(name, "no applicable check needs it")
    return bundle_of(gathering)


def _put_state(gathering: Gathering) -> None:
    state = gathering.state
    gathering.put("pull_request", state.pull_request)
    gathering.put("commits", state.commits)
    people = [comment for comment in state.comments if comment["author"]["type"] != "Bot"]
    gathering.put("comments", people)
    gathering.put("labels", state.labels)


def _choose_sign_off(gathering: Gathering) -> None:
    """The asked-for sign-off, else the newest live one."""
    comments = [CommentRecord.model_validate(raw) for raw in gathering.sources["comments"]]
    signed = [comment for comment in comments if is_sign_off(comment)]
    asked = gathering.request.sign_off
    if asked is not None:
        signed = [comment for comment in signed if (comment.kind, comment.id) == asked]
    if signed:
        newest = max(signed, key=lambda comment: (signed_at(comment), comment.id))
        gathering.sign_off = {"kind": newest.kind, "id": newest.id}


def _remember_signed_head(gathering: Gathering) -> None:
    """What our marker remembers counts only where the activity does not reach back to the sign-off."""
    remembered = gathering.request.signed_head
    signed = live_sign_off(gathering.facts(), gathering.sign_off) if remembered else None
    if signed is not None and signed.signed_head is None:
        gathering.sign_off = {**gathering.sign_off, "signed_head": remembered}


@guarded("activity")
def _activity(gathering: Gathering, reads: Reads) -> None:
    record = gathering.state.pull_request
    gathering.put("activity", reads.branch_activity(record["head_repository"], record["head_ref"]))


@guarded("permissions")
def _permissions(gathering: Gathering, reads: Reads) -> None:
    """Permission of everybody whose word may count: signers, people who typed a command, and their editors."""
    gathering.put("permissions", _permissions_of(_people(gathering), gathering, reads))


def _permissions_of(logins: Iterable[str], gathering: Gathering, reads: Reads) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for login in logins:
        try:
            found[login] = reads.permission(gathering.request.repository, login)
        except Exception as error:
            found[login] = reads.reason(error)
    return found


def _people(gathering: Gathering) -> list[str]:
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


@guarded("runs")
def _runs(gathering: Gathering, reads: Reads) -> None:
    record = gathering.state.pull_request
    workflow = gathering.policy.sweep.workflow
    gathering.put("runs", reads.workflow_runs(record["repository"], record["head_ref"], workflow, _pinned(gathering)))


def _pinned(gathering: Gathering) -> tuple[int, ...]:
    """Run ids that comments name: they are read even where the branch's list does not show them."""
    found: dict[int, None] = {}
    for raw in gathering.sources["comments"]:
        for command in parse(raw["body"], kind=raw["kind"]):
            if command.run_id is not None:
                found.setdefault(command.run_id)
    return tuple(list(found)[-5:])


@guarded("teams")
def _owners(gathering: Gathering, reads: Reads) -> None:
    """Team members and permissions of owners, only for changed files that no signer owns by name."""
    facts = gathering.facts()
    paths = [file["path"] for file in earlier(gathering, "changed_files")]
    signers = {signed.login.lower() for signed in facts[SignOffs].all}
    people, teams = _unsigned_owners(facts[Ownership].codeowners, paths, signers, gathering.policy)
    found = {}
    for name in sorted(teams):
        try:
            found[name] = {"visible": True, "members": sorted(reads.team_members(name))}
        except NotVisible:
            found[name] = {"visible": False, "members": []}
    gathering.put("teams", found)
    known = dict(earlier(gathering, "permissions"))
    missing = sorted(people - {login.lower() for login in known})[:MAX_OWNERS]
    if missing:
        gathering.put("permissions", {**known, **_permissions_of(missing, gathering, reads)})


def _unsigned_owners(
    codeowners: Codeowners, paths: Iterable[str], signers: Set[str], policy: Policy
) -> tuple[set[str], set[str]]:
    """(logins, teams) that own changed files which no signer owns by name; core teams only where nothing else does."""
    core = {team.lower() for team in policy.owners.core_teams}
    people: set[str] = set()
    teams: set[str] = set()
    named = False
    for path in paths:
        rule = codeowners.rule_for(path)
        owners = {owner.removeprefix("@").lower() for owner in rule.owners} if rule is not None else set()
        if owners & signers:
            named = True
            continue
        people |= {owner for owner in owners if "/" not in owner and "@" not in owner}
        teams |= {owner for owner in owners if "/" in owner}
    return people, teams - core if named else teams


def _chosen_run(gathering: Gathering) -> EvidenceRun:
    return gathering.facts()[EvidenceRun]


@guarded("jobs", "artifacts", "job_logs")
def _run_details(gathering: Gathering, reads: Reads) -> None:
    run = _chosen_run(gathering).run
    gathering.put("jobs", reads.jobs(gathering.request.repository, run.id, run.attempt))
    gathering.put("artifacts", reads.artifacts(gathering.request.repository, run.id))


@guarded("artifacts")
def _artifacts(gathering: Gathering, reads: Reads) -> None:
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


@guarded("job_logs")
def _logs(gathering: Gathering, reads: Reads) -> None:
    """Facts of the executed matrix jobs' logs; the whole run's logs come as one zip."""
    run = _chosen_run(gathering).run
    jobs = [job for job in earlier(gathering, "jobs") if evidence_run.is_family(job["name"]) and job["steps"] > 0]
    texts = reads.run_logs(gathering.request.repository, run.id, run.attempt)
    records = []
    for job in jobs:
        text = texts.get(job["name"])
        if text is None:
            continue
        facts = log_facts.extract(text, job_id=job["id"], run_id=run.id, job_name=job["name"])
        records.append(facts.model_dump(mode="json"))
    gathering.put("job_logs", records)


@guarded("upstream")
def _upstream(gathering: Gathering, reads: Reads) -> None:
    signed = live_sign_off(gathering.facts(), gathering.sign_off)
    records = [] if signed is None else outside.upstream(reads, signed, gathering.store)
    gathering.put("upstream", records)


@guarded("checkpoints")
def _checkpoints(gathering: Gathering, reads: Reads) -> None:
    gathering.put("checkpoints", outside.checkpoints(reads, gathering.facts(), gathering.store))


@guarded("overview")
def _overview(gathering: Gathering, reads: Reads) -> None:
    url = gathering.policy.overview.url
    gathering.put("overview", {"url": url, "blob": gathering.store(reads.page(url)), "problem": ""})


_OUTSIDE: dict[str, Source] = {"upstream": _upstream, "checkpoints": _checkpoints, "overview": _overview}


__all__ = ["PullRequestGone", "Request", "collect"]
