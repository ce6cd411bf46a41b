"""Purpose: GitHub's JSON for people, repositories, labels and pull requests.

Shapes follow GitHub's OpenAPI description (api.github.com); tests hold them to it. API addresses start with the
world's `api_url`, pages with `web`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.sandbox.clock import iso
from app.sandbox.model import Reaction

if TYPE_CHECKING:
    from app.sandbox.pull import PullRequest
    from app.sandbox.repository import Repository
    from app.sandbox.runs import Run
    from app.sandbox.world import World

Json = dict[str, Any]

USER_PARTS = {
    "followers_url": "/followers",
    "following_url": "/following{/other_user}",
    "gists_url": "/gists{/gist_id}",
    "starred_url": "/starred{/owner}{/repo}",
    "subscriptions_url": "/subscriptions",
    "organizations_url": "/orgs",
    "repos_url": "/repos",
    "events_url": "/events{/privacy}",
    "received_events_url": "/received_events",
}
REPOSITORY_PARTS = {
    "archive_url": "/{archive_format}{/ref}",
    "assignees_url": "/assignees{/user}",
    "blobs_url": "/git/blobs{/sha}",
    "branches_url": "/branches{/branch}",
    "collaborators_url": "/collaborators{/collaborator}",
    "comments_url": "/comments{/number}",
    "commits_url": "/commits{/sha}",
    "compare_url": "/compare/{base}...{head}",
    "contents_url": "/contents/{+path}",
    "contributors_url": "/contributors",
    "deployments_url": "/deployments",
    "downloads_url": "/downloads",
    "events_url": "/events",
    "forks_url": "/forks",
    "git_commits_url": "/git/commits{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "hooks_url": "/hooks",
    "issue_comment_url": "/issues/comments{/number}",
    "issue_events_url": "/issues/events{/number}",
    "issues_url": "/issues{/number}",
    "keys_url": "/keys{/key_id}",
    "labels_url": "/labels{/name}",
    "languages_url": "/languages",
    "merges_url": "/merges",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "pulls_url": "/pulls{/number}",
    "releases_url": "/releases{/id}",
    "stargazers_url": "/stargazers",
    "statuses_url": "/statuses/{sha}",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "tags_url": "/tags",
    "teams_url": "/teams",
    "trees_url": "/git/trees{/sha}",
}
FULL_REPOSITORY: Json = {
    "homepage": None,
    "language": None,
    "mirror_url": None,
    "license": None,
    "size": 1,
    "forks": 0,
    "forks_count": 0,
    "open_issues": 0,
    "open_issues_count": 0,
    "stargazers_count": 0,
    "watchers": 0,
    "watchers_count": 0,
    "has_discussions": False,
    "has_downloads": True,
    "has_issues": True,
    "has_pages": False,
    "has_projects": False,
    "has_wiki": False,
    "archived": False,
    "disabled": False,
    "created_at": "2025-01-01T00:00:00Z",
    "updated_at": "2025-01-01T00:00:00Z",
    "pushed_at": "2025-01-01T00:00:00Z",
}


def user(world: World, login: str) -> Json:
    who = world.user(login)
    url = f"{world.api_url}/users/{login}"
    return {
        "login": login,
        "id": who.id,
        "node_id": f"U_{who.id}",
        "avatar_url": f"{world.web}/{login}.png",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{world.web}/{login.removesuffix('[bot]')}",
        "type": who.kind,
        "site_admin": False,
        **{name: url + part for name, part in USER_PARTS.items()},
    }


def profile(world: World, login: str) -> Json:
    """A user with the profile, as the user endpoints show it."""
    blank = dict.fromkeys(("name", "company", "blog", "location", "email", "hireable", "bio"))
    counts = dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0)
    times = {"created_at": "2025-01-01T00:00:00Z", "updated_at": "2025-01-01T00:00:00Z"}
    return user(world, login) | blank | counts | times


def repository(world: World, repo: Repository) -> Json:
    """The full shape; it holds the minimal one."""
    url, page = f"{world.api_url}/repos/{repo.full_name}", f"{world.web}/{repo.full_name}"
    return {
        "id": repo.id,
        "node_id": f"R_{repo.id}",
        "name": repo.name,
        "full_name": repo.full_name,
        "private": repo.private,
        "owner": user(world, repo.owner),
        "html_url": page,
        "description": None,
        "fork": bool(repo.parent),
        "url": url,
        "default_branch": repo.default_branch,
        "clone_url": f"{page}.git",
        "git_url": f"git://github.com/{repo.full_name}.git",
        "ssh_url": f"git@github.com:{repo.full_name}.git",
        "svn_url": page,
        **FULL_REPOSITORY,
        **{name: url + part for name, part in REPOSITORY_PARTS.items()},
    }


def label(world: World, repo: Repository, name: str) -> Json:
    number = repo.label(name)
    return {
        "id": number,
        "node_id": f"LA_{number}",
        "url": f"{world.api_url}/repos/{repo.full_name}/labels/{name}",
        "name": name,
        "description": "",
        "color": "ededed",
        "default": False,
    }


def pull(world: World, it: PullRequest) -> Json:
    """The list's shape."""
    repo = it.repo
    links = _links(world, it)
    page = links["html"]
    return {
        "id": it.id,
        "node_id": f"PR_{it.id}",
        "number": it.number,
        "url": links["self"],
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "issue_url": links["issue"],
        **{f"{name}_url": links[name] for name in links if name not in ("self", "html", "issue")},
        "state": it.state,
        "locked": False,
        "title": it.title,
        "body": it.body or None,
        "user": user(world, it.author),
        "author_association": repo.association(it.author),
        "labels": [label(world, repo, name) for name in it.labels],
        "milestone": None,
        "assignee": None,
        "assignees": [],
        "requested_reviewers": [],
        "requested_teams": [],
        "auto_merge": None,
        "draft": it.draft,
        "created_at": iso(it.created_at),
        "updated_at": iso(it.updated_at),
        "closed_at": None if it.closed_at is None else iso(it.closed_at),
        "merged_at": None if it.merged_at is None else iso(it.merged_at),
        "merge_commit_sha": it.merge_sha or None,
        "head": _side(world, it.head_repo, it.head_branch, it.head_sha),
        "base": _side(world, repo, it.base_branch, it.base_sha),
        "_links": {name: {"href": address} for name, address in links.items()},
    }


def _links(world: World, it: PullRequest) -> dict[str, str]:
    """The addresses that belong to a pull request."""
    api = f"{world.api_url}/repos/{it.repo.full_name}"
    url, issue = f"{api}/pulls/{it.number}", f"{api}/issues/{it.number}"
    return {
        "self": url,
        "html": f"{world.web}/{it.repo.full_name}/pull/{it.number}",
        "issue": issue,
        "comments": f"{issue}/comments",
        "review_comments": f"{url}/comments",
        "review_comment": f"{api}/pulls/comments{{/number}}",
        "commits": f"{url}/commits",
        "statuses": f"{api}/statuses/{it.head_sha}",
    }


def pull_detail(world: World, it: PullRequest) -> Json:
    """The single pull request's shape, with counts and mergeability."""
    files, mergeable = it.files(), mergeable_of(it)
    state = {None: "unknown", True: "draft" if it.draft else "clean", False: "dirty"}[mergeable]
    return pull(world, it) | {
        "merged": it.merged_at is not None,
        "merged_by": user(world, it.merged_by) if it.merged_by else None,
        "mergeable": mergeable,
        "mergeable_state": state,
        "rebaseable": mergeable,
        "maintainer_can_modify": False,
        "comments": len(it.comment_list("issue")),
        "review_comments": len(it.comment_list("review_comment")),
        "commits": len(it.commits()),
        "additions": sum(change.additions for change in files),
        "deletions": sum(change.deletions for change in files),
        "changed_files": len(files),
    }


def mergeable_of(it: PullRequest) -> bool | None:
    """None while GitHub still computes it, and for a closed one."""
    if it.mergeable_unknown > 0:
        it.mergeable_unknown -= 1
        return None
    return None if it.state == "closed" else not it.conflicts()


def _side(world: World, repo: Repository, branch: str, sha: str) -> Json:
    return {
        "label": f"{repo.owner}:{branch}",
        "ref": branch,
        "sha": sha,
        "user": user(world, repo.owner),
        "repo": repository(world, repo),
    }


def reactions(target: list[Reaction], url: str) -> Json:
    names = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")
    counts: Json = {name: sum(1 for each in target if each.content == name) for name in names}
    return {"url": f"{url}/reactions", "total_count": len(target), **counts}


def issue(world: World, it: PullRequest) -> Json:
    """The pull request seen as an issue, as the issue endpoints and issue_comment webhooks show it."""
    shown = pull(world, it)
    kept = ("id", "node_id", "number", "state", "locked", "title", "body", "user", "author_association", "labels")
    times = ("created_at", "updated_at", "closed_at", "html_url", "milestone", "assignee", "assignees", "draft")
    api = f"{world.api_url}/repos/{it.repo.full_name}/issues/{it.number}"
    return {
        **{name: shown[name] for name in (*kept, *times)},
        "url": api,
        "repository_url": f"{world.api_url}/repos/{it.repo.full_name}",
        "labels_url": f"{api}/labels{{/name}}",
        "comments_url": f"{api}/comments",
        "events_url": f"{api}/events",
        "comments": len(it.comment_list("issue")),
        "reactions": reactions(it.reactions, api),
        "pull_request": {name: shown[name] for name in ("url", "html_url", "diff_url", "patch_url", "merged_at")},
    }


def pull_detail_quietly(world: World, it: PullRequest) -> Json:
    """A webhook's pull request: mergeability is not computed for it."""
    return pull(world, it) | {
        "merged": it.merged_at is not None,
        "merged_by": user(world, it.merged_by) if it.merged_by else None,
        "mergeable": None,
        "mergeable_state": "unknown",
    }


def run_pulls(world: World, it: Run) -> list[Json]:
    """The open pull requests of a run's branch; none for a fork, as on GitHub."""
    if it.head_repo != it.repo.full_name:
        return []
    api = f"{world.api_url}/repos/{it.repo.full_name}"
    shown = {"id": it.repo.id, "url": api, "name": it.repo.name}
    return [
        {
            "id": each.id,
            "number": each.number,
            "url": f"{api}/pulls/{each.number}",
            "head": {"ref": each.head_branch, "sha": each.head_sha, "repo": shown},
            "base": {"ref": each.base_branch, "sha": each.base_sha, "repo": shown},
        }
        for each in world.pulls_of_branch(it.repo, it.head_branch)
    ]
