"""Purpose: GitHub's JSON for workflow runs, jobs, artifacts, check runs, statuses, commits, files, trees and Apps."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from app.sandbox.clock import iso
from app.sandbox.diff import FileChange
from app.sandbox.git import Commit
from app.sandbox.model import Activity, App, Artifact, CheckRun, CommitStatus, Installation, Job
from app.sandbox.shapes import repository, run_pulls, user

if TYPE_CHECKING:
    from app.sandbox.repository import Repository
    from app.sandbox.runs import Run
    from app.sandbox.world import World

Json = dict[str, Any]
NINETY_DAYS = 90 * 86400


def run(world: World, it: Run, attempt: int | None = None) -> Json:
    """A workflow run. An earlier attempt is shown as completed."""
    repo = it.repo
    url, page = f"{world.api_url}/repos/{repo.full_name}/actions/runs/{it.id}", f"{world.web}/{repo.full_name}"
    head = repo.git.commits.get(it.head_sha)
    workflow = repo.workflow_id(it.path)
    earlier = attempt is not None and attempt < it.attempt
    head_repo = world.find(it.head_repo) or repo
    return {
        "id": it.id,
        "node_id": f"WFR_{it.id}",
        "name": it.name,
        "display_title": it.title,
        "head_branch": it.head_branch,
        "head_sha": it.head_sha,
        "run_number": it.number,
        "run_attempt": attempt or it.attempt,
        "event": it.event,
        "status": "completed" if earlier else it.status,
        "conclusion": "failure" if earlier else it.conclusion,
        "path": it.path,
        "workflow_id": workflow,
        "url": url,
        "html_url": f"{page}/actions/runs/{it.id}",
        "created_at": iso(it.created_at),
        "updated_at": iso(it.updated_at),
        "run_started_at": iso(it.created_at),
        "actor": user(world, it.actor),
        "triggering_actor": user(world, it.triggering_actor or it.actor),
        "pull_requests": run_pulls(world, it),
        "check_suite_url": f"{world.api_url}/repos/{repo.full_name}/check-suites/{it.id}",
        **{f"{name}_url": f"{url}/{name}" for name in ("jobs", "logs", "artifacts", "cancel", "rerun")},
        "workflow_url": f"{world.api_url}/repos/{repo.full_name}/actions/workflows/{workflow}",
        "head_commit": None if head is None else _simple_commit(repo, head),
        "repository": repository(world, repo),
        "head_repository": repository(world, head_repo),
    }


def job(world: World, it: Run, one: Job) -> Json:
    api = f"{world.api_url}/repos/{it.repo.full_name}"
    return {
        "id": one.id,
        "node_id": f"CR_{one.id}",
        "run_id": it.id,
        "run_attempt": one.attempt,
        "run_url": f"{api}/actions/runs/{it.id}",
        "url": f"{api}/actions/jobs/{one.id}",
        "html_url": f"{world.web}/{it.repo.full_name}/actions/runs/{it.id}/job/{one.id}",
        "check_run_url": f"{api}/check-runs/{one.id}",
        "head_sha": it.head_sha,
        "head_branch": it.head_branch,
        "workflow_name": it.name,
        "name": one.name,
        "status": one.status,
        "conclusion": one.conclusion,
        "created_at": iso(one.started_at),
        "started_at": iso(one.started_at),
        "completed_at": None if one.completed_at is None else iso(one.completed_at),
        "labels": list(one.labels),
        "runner_id": 1 if one.runner else None,
        "runner_name": one.runner or None,
        "runner_group_id": 1 if one.runner else None,
        "runner_group_name": "Default" if one.runner else None,
        "steps": [
            {
                "name": step.name,
                "number": step.number,
                "status": "completed" if step.conclusion else "in_progress",
                "conclusion": step.conclusion or None,
                "started_at": iso(step.started_at),
                "completed_at": iso(step.completed_at),
            }
            for step in one.steps
        ],
    }


def artifact(world: World, it: Run, one: Artifact) -> Json:
    url = f"{world.api_url}/repos/{it.repo.full_name}/actions/artifacts/{one.id}"
    return {
        "id": one.id,
        "node_id": f"A_{one.id}",
        "name": one.name,
        "size_in_bytes": one.size,
        "url": url,
        "archive_download_url": f"{url}/zip",
        "expired": one.expired,
        "created_at": iso(one.created_at),
        "updated_at": iso(one.created_at),
        "expires_at": iso(one.created_at + NINETY_DAYS),
        "workflow_run": {
            "id": it.id,
            "repository_id": it.repo.id,
            "head_repository_id": it.repo.id,
            "head_branch": it.head_branch,
            "head_sha": it.head_sha,
        },
    }


def check_run(world: World, repo: Repository, it: CheckRun) -> Json:
    url = f"{world.api_url}/repos/{repo.full_name}/check-runs/{it.id}"
    app = next((each for each in world.apps.values() if each.slug == it.app), None)
    return {
        "id": it.id,
        "node_id": f"CR_{it.id}",
        "head_sha": it.sha,
        "name": it.name,
        "external_id": it.external_id,
        "url": url,
        "html_url": f"{world.web}/{repo.full_name}/runs/{it.id}",
        "details_url": it.details_url or None,
        "status": it.status,
        "conclusion": it.conclusion,
        "started_at": iso(it.started_at),
        "completed_at": None if it.completed_at is None else iso(it.completed_at),
        "output": {
            "title": it.title or None,
            "summary": it.summary or None,
            "text": it.text or None,
            "annotations_count": len(it.annotations),
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": {"id": it.id},
        "app": None if app is None else app_shape(world, app),
        "pull_requests": [],
    }


def check_annotations(world: World, repo: Repository, it: CheckRun) -> list[Json]:
    return [
        {
            "path": one.path,
            "blob_href": f"{world.web}/{repo.full_name}/blob/{it.sha}/{one.path}",
            "start_line": one.start_line,
            "end_line": one.end_line,
            "start_column": None,
            "end_column": None,
            "annotation_level": one.level,
            "title": one.title or None,
            "message": one.message,
            "raw_details": None,
        }
        for one in it.annotations
    ]


def status(world: World, repo: Repository, it: CommitStatus) -> Json:
    return {
        "id": it.id,
        "node_id": f"SC_{it.id}",
        "url": f"{world.api_url}/repos/{repo.full_name}/statuses/{it.sha}",
        "avatar_url": f"{world.web}/{it.creator}.png",
        "state": it.state,
        "description": it.description or None,
        "target_url": it.target_url or None,
        "context": it.context,
        "created_at": iso(it.at),
        "updated_at": iso(it.at),
        "creator": user(world, it.creator),
    }


def commit(world: World, repo: Repository, it: Commit, files: list[FileChange] | None = None) -> Json:
    """A commit; with `files` in the shape of the single one."""
    api, page = f"{world.api_url}/repos/{repo.full_name}", f"{world.web}/{repo.full_name}/commit/{it.sha}"
    made: Json = {
        "sha": it.sha,
        "node_id": f"C_{it.sha}",
        "url": f"{api}/commits/{it.sha}",
        "html_url": page,
        "comments_url": f"{api}/commits/{it.sha}/comments",
        "commit": {
            "url": f"{api}/git/commits/{it.sha}",
            "author": _person(it, it.authored_at),
            "committer": _person(it, it.committed_at),
            "message": it.message,
            "comment_count": 0,
            "tree": {"sha": repo.git.tree_ids(it)[""], "url": f"{api}/git/trees/{it.sha}"},
        },
        "author": user(world, it.author),
        "committer": user(world, it.author),
        "parents": [
            {
                "sha": parent,
                "url": f"{api}/commits/{parent}",
                "html_url": f"{world.web}/{repo.full_name}/commit/{parent}",
            }
            for parent in it.parents
        ],
    }
    if files is not None:
        added, removed = sum(each.additions for each in files), sum(each.deletions for each in files)
        made["stats"] = {"additions": added, "deletions": removed, "total": added + removed}
        made["files"] = [file(world, repo, it.sha, each) for each in files]
    return made


def git_commit(world: World, repo: Repository, it: Commit) -> Json:
    shown = commit(world, repo, it)
    inner = shown["commit"]
    unsigned = {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None}
    return {
        **{name: shown[name] for name in ("sha", "node_id", "html_url", "parents")},
        **{name: inner[name] for name in ("url", "author", "committer", "message", "tree")},
        "verification": unsigned,
    }


def file(world: World, repo: Repository, sha: str, it: FileChange) -> Json:
    page = f"{world.web}/{repo.full_name}"
    made: Json = {
        "sha": it.sha,
        "filename": it.path,
        "status": it.status,
        "additions": it.additions,
        "deletions": it.deletions,
        "changes": it.additions + it.deletions,
        "blob_url": f"{page}/blob/{sha}/{it.path}",
        "raw_url": f"{page}/raw/{sha}/{it.path}",
        "contents_url": f"{world.api_url}/repos/{repo.full_name}/contents/{it.path}?ref={sha}",
    }
    if it.patch is not None:
        made["patch"] = it.patch
    if it.previous:
        made["previous_filename"] = it.previous
    return made


def content(world: World, repo: Repository, ref: str, path: str, blob: str, full: bool = True) -> Json:
    """A file of the contents endpoints; a folder's entries leave the content out. Files above 1 MB have none."""
    url = f"{world.api_url}/repos/{repo.full_name}/contents/{path}?ref={ref}"
    git_url = f"{world.api_url}/repos/{repo.full_name}/git/blobs/{blob}"
    page = f"{world.web}/{repo.full_name}/blob/{ref}/{path}"
    raw = repo.git.blobs[blob]
    made: Json = {
        "type": "file",
        "name": path.rpartition("/")[2],
        "path": path,
        "sha": blob,
        "size": len(raw),
        "url": url,
        "html_url": page,
        "git_url": git_url,
        "download_url": page.replace("/blob/", "/raw/"),
        "_links": {"self": url, "git": git_url, "html": page},
    }
    if full:
        small = len(raw) <= 1_000_000
        made["encoding"] = "base64" if small else "none"
        made["content"] = base64.encodebytes(raw).decode() if small else ""
    return made


def activity(world: World, it: Activity) -> Json:
    return {
        "id": it.id,
        "node_id": f"PSH_{it.id}",
        "before": it.before,
        "after": it.after,
        "ref": it.ref,
        "timestamp": iso(it.at),
        "activity_type": it.kind,
        "actor": user(world, it.actor),
    }


def app_shape(world: World, it: App) -> Json:
    return {
        "id": it.id,
        "slug": it.slug,
        "node_id": f"A_{it.id}",
        "client_id": f"Iv1.{it.id}",
        "owner": user(world, it.bot),
        "name": it.slug,
        "description": None,
        "external_url": world.web,
        "html_url": f"{world.web}/apps/{it.slug}",
        "created_at": "2025-01-01T00:00:00Z",
        "updated_at": "2025-01-01T00:00:00Z",
        "permissions": it.permissions,
        "events": ["issue_comment", "pull_request", "workflow_run"],
        "installations_count": sum(1 for each in world.installations.values() if each.app == it.id),
    }


def installation(world: World, it: Installation) -> Json:
    app = world.apps[it.app]
    owner = user(world, it.account)
    return {
        "id": it.id,
        "app_id": it.app,
        "app_slug": app.slug,
        "account": owner,
        "target_id": owner["id"],
        "target_type": owner["type"],
        "repository_selection": "all",
        "permissions": app.permissions,
        "events": ["issue_comment", "pull_request", "workflow_run"],
        "single_file_name": None,
        "access_tokens_url": f"{world.api_url}/app/installations/{it.id}/access_tokens",
        "repositories_url": f"{world.api_url}/installation/repositories",
        "html_url": f"{world.web}/settings/installations/{it.id}",
        "created_at": "2025-01-01T00:00:00Z",
        "updated_at": "2025-01-01T00:00:00Z",
        "suspended_at": None,
        "suspended_by": None,
    }


def _person(it: Commit, at: float) -> Json:
    return {"name": it.author, "email": f"{it.author}@users.noreply.github.com", "date": iso(at)}


def _simple_commit(repo: Repository, it: Commit) -> Json:
    person = {"name": it.author, "email": f"{it.author}@users.noreply.github.com"}
    return {
        "id": it.sha,
        "tree_id": repo.git.tree_ids(it)[""],
        "message": it.message,
        "timestamp": iso(it.committed_at),
        "author": person,
        "committer": person,
    }
