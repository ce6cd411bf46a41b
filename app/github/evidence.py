"""Purpose: the reads of one verification, in the words of the evidence collector (its Protocol `Reads`).

Records come back as plain JSON in the shapes of `app.facts.records`. What was read once in a verification is not asked
for again: the state carries policy, layout and tip; the log archive uses the jobs that were read before.

Invariants: nothing volatile enters a record (no addresses of hosts, no tokens, no counts).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.github import graphql
from app.github.checkpoint import read_checkpoint
from app.github.client import GitHub
from app.github.errors import NotThere, Unreadable, reason
from app.github.reads import (
    Actor,
    CheckpointFiles,
    Comparison,
    FilesAnswer,
    JobRead,
    NotVisible,
    PullRead,
    PullRequestGone,
    RunRead,
    Said,
    State,
    UpstreamState,
)

Record = dict[str, Any]
POLICY = "HEAD:.github/sweepgate.yml"
MOST_UPSTREAM_FILES = 40


class EvidenceReads:
    """The reads of one verification. Make a new one for each; methods may run side by side."""

    def __init__(self, github: GitHub) -> None:
        self._github = github
        self._jobs: dict[tuple[int, int], list[JobRead]] = {}

    def pull_request_state(self, repository: str, number: int) -> State:
        """The pull request by one GraphQL request, with the policy file and the layout of its head."""
        october = f"refs/pull/{number}/head:inferencex-e2e"
        try:
            pull = self._github.pull_request(repository, number, beside=(POLICY, october))
        except NotThere:
            raise PullRequestGone(f"{repository}#{number} does not exist, or this token may not see it") from None
        return State(
            pull_request=_pull(pull),
            commits=[{"sha": one.sha, "parents": list(one.parents), "message": one.message} for one in pull.commits],
            comments=[_said(one) for one in pull.said],
            labels=_labels(pull),
            target_sha=pull.target_sha,
            october=pull.folders[october],
            policy_file=pull.found[POLICY],
        )

    def compare(self, repository: str, base: str, head: str) -> Comparison:
        """Merge base and changed files, by one request."""
        merge_base, files, _ = self._github.compare(repository, base, head)
        records = [{"path": one.path, "status": one.status, "previous_path": one.previous_path} for one in files]
        return Comparison(merge_base, records)

    def branch_activity(self, repository: str, branch: str) -> list[Record]:
        return [
            {
                "id": one.id,
                "before": one.before,
                "after": one.after,
                "ref": one.ref,
                "timestamp": one.at,
                "actor": one.actor.login,
                "kind": one.kind,
            }
            for one in self._github.activity(repository, branch)
        ]

    def permission(self, repository: str, login: str) -> dict[str, str]:
        held = self._github.permission(repository, login)
        return {"permission": held.permission, "role_name": held.role_name}

    def team_members(self, name: str) -> Sequence[str]:
        """Raises NotVisible where the token may not see them."""
        return self._github.team_members(name)

    def files(
        self,
        repository: str,
        wishes: Mapping[str, tuple[Sequence[str], Sequence[str]]],
        history: tuple[str, str, str] | None = None,
    ) -> FilesAnswer:
        """Files and whole folders by revision; `history` = (sha, path, not after)."""
        asked = history if history is not None and history[2] else None
        found, version = self._github.files(repository, wishes, asked)
        return FilesAnswer(found, *(version or ("", b"")))

    def workflow_runs(self, repository: str, branch: str, workflow: str, ids: Sequence[int]) -> list[Record]:
        """Runs of a workflow on a branch, newest first, and those of `ids` that the list does not show.

        A branch without runs may have dispatched ones (service mode), which stand on the default branch: then those.
        """
        listed = self._github.runs(repository, workflow, branch=branch)
        listed = listed or self._github.runs(repository, workflow, event="workflow_dispatch")
        runs = {run.id: run for run in listed}
        for run_id in ids:
            if run_id not in runs and (found := self._run(repository, run_id)) is not None:
                runs[run_id] = found
        ordered = sorted(runs.values(), key=lambda run: (run.created_at, run.id), reverse=True)
        return [_run(run, repository) for run in ordered]

    def _run(self, repository: str, run_id: int) -> RunRead | None:
        try:
            return self._github.run(repository, run_id)
        except NotThere:
            return None

    def jobs(self, repository: str, run_id: int, attempt: int) -> list[Record]:
        self._jobs[run_id, attempt] = found = self._github.jobs(repository, run_id, attempt)
        return [
            {
                "id": job.id,
                "run_id": job.run_id,
                "attempt": job.attempt,
                "name": job.name,
                "status": job.status,
                "conclusion": job.conclusion,
                "runner_name": job.runner_name,
                "steps": job.steps,
                "head_sha": job.head_sha,
            }
            for job in found
        ]

    def artifacts(self, repository: str, run_id: int) -> list[Record]:
        return [
            {"id": one.id, "run_id": run_id, "name": one.name, "expired": one.expired, "size": one.size}
            for one in self._github.artifacts(repository, run_id)
        ]

    def artifact_members(self, repository: str, artifact_id: int, size: int) -> Mapping[str, bytes]:
        return self._github.artifact_files(repository, artifact_id, size)

    def run_logs(self, repository: str, run_id: int, attempt: int) -> Mapping[str, str]:
        """Log text by job name. Two jobs of one name: the last one's, as their records cannot be told apart."""
        jobs = self._jobs.get((run_id, attempt)) or self._github.jobs(repository, run_id, attempt)
        texts = self._github.run_logs(repository, run_id, attempt, jobs)
        return {job.name: texts[job.id].decode("utf-8", "replace") for job in jobs if job.id in texts}

    def upstream_pull_request(self, repository: str, number: int) -> UpstreamState:
        """An upstream pull request and its files at its default branch's tip, by two GraphQL requests."""
        return _upstream(self._github, repository, number)

    def checkpoint(self, repository: str, revision: str) -> CheckpointFiles:
        return read_checkpoint(self._github.fetcher, repository, revision)

    def page(self, url: str) -> bytes:
        return self._github.fetcher.page(url)

    def reason(self, error: Exception) -> str:
        """What went wrong in a few words for a person."""
        if isinstance(error, (NotVisible, PullRequestGone)):
            return str(error)
        return reason(error)


def _pull(pull: PullRead) -> Record:
    return {
        "repository": pull.repository,
        "number": pull.number,
        "title": pull.title,
        "body": pull.body,
        "author": _account(pull.author),
        "association": pull.association,
        "state": pull.state,
        "draft": pull.draft,
        "merged": pull.merged,
        "head_sha": pull.head_sha,
        "head_ref": pull.head_ref,
        "head_repository": pull.head_repository,
        "base_ref": pull.base_ref,
        "labels": list(pull.labels),
        "default_branch": pull.default_branch,
    }


def _account(actor: Actor) -> Record:
    return {"login": actor.login, "id": actor.id, "type": actor.kind}


def _said(one: Said) -> Record:
    return {
        "kind": one.kind,
        "id": one.id,
        "author": _account(one.author),
        "association": one.association,
        "body": one.body,
        "created_at": one.created_at,
        "updated_at": one.updated_at,
        "editor": None if one.editor is None else one.editor.login,
        "url": one.url,
        "state": one.state,
        "commit_sha": one.commit_sha if one.kind == "review" else "",
    }


def _labels(pull: PullRead) -> list[Record]:
    return [
        {"id": each.id, "action": each.kind, "label": each.label, "actor": each.actor.login, "created_at": each.at}
        for each in pull.timeline
        if each.kind in ("labeled", "unlabeled")
    ]


def _run(run: RunRead, repository: str) -> Record:
    return {
        "id": run.id,
        "attempt": run.attempt,
        "event": run.event,
        "status": run.status,
        "conclusion": run.conclusion,
        "path": run.path,
        "head_sha": run.head_sha,
        "head_branch": run.head_branch,
        "actor": _account(run.actor),
        "title": run.title,
        "created_at": run.created_at,
        "repository": repository,
        "url": run.url,
    }


UPSTREAM = """query Upstream($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    defaultBranchRef { name }
    pullRequest(number: $number) {
      state mergedAt baseRefName mergeCommit { oid } changedFiles files(first: 100) { nodes { path changeType } }
    }
  }
}"""


def _upstream(github: GitHub, repository: str, number: int) -> UpstreamState:
    owner, name = repository.split("/")
    variables = {"owner": owner, "name": name, "number": number}
    node = graphql.ask(github.transport, UPSTREAM, variables, repository)["repository"]
    pull = node["pullRequest"]
    merge_sha = (pull["mergeCommit"] or {}).get("oid", "")
    if pull["state"] != "MERGED" or not merge_sha:
        return UpstreamState(pull["state"], pull["mergedAt"] or "", merge_sha, None)
    kept = [each["path"] for each in pull["files"]["nodes"] if each["changeType"] != "DELETED"]
    if pull["changedFiles"] > 100 or len(kept) > MOST_UPSTREAM_FILES:
        raise Unreadable(f"{repository}#{number} changes more than {MOST_UPSTREAM_FILES} files; link the page instead")
    contained, files = _at_tip(github, repository, merge_sha, kept)
    return UpstreamState(pull["state"], pull["mergedAt"], merge_sha, contained, files)


def _at_tip(github: GitHub, repository: str, merge_sha: str, paths: Sequence[str]) -> tuple[bool, dict[str, bytes]]:
    """Whether the default branch holds a commit, and files at its tip."""
    owner, name = repository.split("/")
    told = [graphql.quoted(f"HEAD:{path}") for path in paths]
    objects = " ".join(f"o{n}: object(expression: {one}) {{ {graphql.BLOB} }}" for n, one in enumerate(told))
    text = f"""query Tip($owner: String!, $name: String!, $sha: String!) {{
      repository(owner: $owner, name: $name) {{ defaultBranchRef {{ compare(headRef: $sha) {{ aheadBy }} }} {objects} }}
    }}"""
    variables = {"owner": owner, "name": name, "sha": merge_sha}
    node = graphql.ask(github.transport, text, variables, repository)["repository"]
    contained = node["defaultBranchRef"]["compare"]["aheadBy"] == 0
    files: dict[str, bytes] = {}
    for number, path in enumerate(paths):
        blob = node[f"o{number}"]
        if blob is not None and blob["__typename"] == "Blob":
            file = graphql.file_node(blob)
            files[path] = github.blob(repository, file.oid) if file.content is None else file.content
    return contained, files
