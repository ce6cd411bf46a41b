"""Purpose: what each GraphQL object holds: dictionaries whose functions answer the fields that take arguments."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from app.sandbox.clock import iso, moment
from app.sandbox.git import Commit
from app.sandbox.model import Comment, Event
from app.sandbox.shapes import mergeable_of
from app.sandbox.shapes_said import comment_page

if TYPE_CHECKING:
    from app.sandbox.pull import PullRequest
    from app.sandbox.repository import Repository
    from app.sandbox.world import World

Json = dict[str, Any]
T = TypeVar("T")
TEXT_LIMIT = 512_000
REACTIONS = {
    "+1": "THUMBS_UP",
    "-1": "THUMBS_DOWN",
    "laugh": "LAUGH",
    "hooray": "HOORAY",
    "confused": "CONFUSED",
    "heart": "HEART",
    "rocket": "ROCKET",
    "eyes": "EYES",
}
COMMENT_TYPES = {
    "issue": "IssueComment",
    "review": "PullRequestReview",
    "review_comment": "PullRequestReviewComment",
}
EVENTS = {
    "labeled": "LabeledEvent",
    "unlabeled": "UnlabeledEvent",
    "head_ref_force_pushed": "HeadRefForcePushedEvent",
    "ready_for_review": "ReadyForReviewEvent",
    "convert_to_draft": "ConvertToDraftEvent",
    "closed": "ClosedEvent",
    "reopened": "ReopenedEvent",
    "merged": "MergedEvent",
}
CHANGES = {"added": "ADDED", "modified": "MODIFIED", "removed": "DELETED", "renamed": "RENAMED"}


def connection(name: str, items: Callable[[], Sequence[T]], shape: Callable[[T], Json]) -> Callable[..., Json]:
    """A connection field: pages by cursor. Refuses what GitHub refuses: no size, or more than 100 at once."""

    def resolve(_info: object, **told: Any) -> Json:
        from graphql import GraphQLError

        first, last = told.get("first"), told.get("last")
        size = int(first or last or 0)
        if first is None and last is None:
            message = f"You must provide a `first` or `last` value to properly paginate the `{name}` connection."
            raise GraphQLError(message, extensions={"type": "MISSING_PAGINATION_BOUNDARIES"})
        if size > 100:
            message = f"Requesting {size} records on the `{name}` connection exceeds the limit of 100 records."
            raise GraphQLError(message, extensions={"type": "EXCESSIVE_PAGINATION"})
        every = items()
        start = _offset(told["after"]) if told.get("after") else 0
        end = _offset(told["before"]) - 1 if told.get("before") else len(every)
        low, high = (start, min(start + size, end)) if first is not None else (max(start, end - size), end)
        return {
            "totalCount": len(every),
            "filteredCount": len(every),
            "nodes": [shape(each) for each in every[low:high]],
            "pageInfo": {
                "startCursor": _cursor(low + 1) if high > low else None,
                "endCursor": _cursor(high) if high > low else None,
                "hasNextPage": high < len(every),
                "hasPreviousPage": low > 0,
            },
        }

    return resolve


def _cursor(number: int) -> str:
    return base64.b64encode(f"cursor:{number}".encode()).decode()


def _offset(cursor: str) -> int:
    return int(base64.b64decode(cursor).decode().partition(":")[2])


def actor(world: World, login: str) -> Json | None:
    """A person or bot; GraphQL spells a bot's login without "[bot]"."""
    if not login:
        return None
    who = world.user(login)
    name = login.removesuffix("[bot]")
    shown = {"id": f"U_{who.id}", "login": name, "databaseId": who.id, "url": f"{world.web}/{name}"}
    return {"__typename": who.kind, **shown}


def repository_node(world: World, repo: Repository, viewer: str) -> Json:
    def git_object(_info: object, expression: str = "", oid: str = "") -> Json | None:
        return _git_object(world, repo, expression or oid)

    def ref(_info: object, qualifiedName: str) -> Json | None:  # noqa: N803  (GraphQL's own name)
        return _ref(world, repo, qualifiedName.removeprefix("refs/heads/"))

    def pull_request(_info: object, number: int) -> Json:
        from graphql import GraphQLError

        found = repo.pulls.get(number)
        if found is None:
            message = f"Could not resolve to a PullRequest with the number of {number}."
            raise GraphQLError(message, extensions={"type": "NOT_FOUND"})
        return pull_node(world, found, viewer)

    return {
        "__typename": "Repository",
        "id": f"R_{repo.id}",
        "databaseId": repo.id,
        "nameWithOwner": repo.full_name,
        "defaultBranchRef": lambda _info: _ref(world, repo, repo.default_branch),
        "ref": ref,
        "object": git_object,
        "pullRequest": pull_request,
    }


def pull_node(world: World, it: PullRequest, viewer: str) -> Json:
    repo = it.repo
    return {
        "id": f"PR_{it.id}",
        "fullDatabaseId": str(it.id),
        "number": it.number,
        "url": f"{world.web}/{repo.full_name}/pull/{it.number}",
        "state": _state(it),
        "isDraft": it.draft,
        "title": it.title,
        "body": it.body,
        "createdAt": iso(it.created_at),
        "updatedAt": iso(it.updated_at),
        "closedAt": None if it.closed_at is None else iso(it.closed_at),
        "mergedAt": None if it.merged_at is None else iso(it.merged_at),
        "mergedBy": actor(world, it.merged_by),
        "author": actor(world, it.author),
        "authorAssociation": repo.association(it.author),
        "editor": actor(world, it.body_editor),
        "lastEditedAt": None if it.body_edited_at is None else iso(it.body_edited_at),
        "baseRefName": it.base_branch,
        "baseRefOid": it.base_sha,
        "baseRef": lambda _info: _ref(world, repo, it.base_branch),
        "headRefName": it.head_branch,
        "headRefOid": it.head_sha,
        "isCrossRepository": it.from_fork,
        "headRepository": lambda _info: repository_node(world, it.head_repo, viewer),
        "mergeable": lambda _info: {None: "UNKNOWN", True: "MERGEABLE", False: "CONFLICTING"}[mergeable_of(it)],
        "mergeCommit": lambda _info: commit_node(world, repo, it.merge_sha) if it.merge_sha else None,
        "changedFiles": lambda _info: len(it.files()),
        "labels": connection("labels", lambda: it.labels, lambda name: {"id": f"LA_{repo.label(name)}", "name": name}),
        "commits": connection("commits", it.commits, lambda one: _pull_commit(world, it, one)),
        "files": connection("files", it.files, _file),
        **_said(world, it, viewer),
    }


def _said(world: World, it: PullRequest, viewer: str) -> Json:
    """Comments, reviews and the timeline."""

    def timeline(info: object, **told: Any) -> Json:
        kinds = told.pop("itemTypes", None)
        wanted = [one for one in it.events if one.kind in EVENTS and (not kinds or _kind(one) in kinds)]
        return connection("timelineItems", lambda: wanted, lambda one: _event(world, it, one))(info, **told)

    return {
        "comments": connection(
            "comments", lambda: it.comment_list("issue"), lambda one: comment_node(world, it, one, viewer)
        ),
        "reviews": connection(
            "reviews", lambda: it.comment_list("review"), lambda one: comment_node(world, it, one, viewer)
        ),
        "timelineItems": timeline,
    }


def comment_node(world: World, it: PullRequest, one: Comment, viewer: str) -> Json:
    """A comment of any kind."""
    prefix = {"issue": "IC", "review": "PRR", "review_comment": "PRRC"}[one.kind]
    groups = [
        {"content": name, "viewerHasReacted": any(r.content == told and r.user == viewer for r in one.reactions)}
        for told, name in REACTIONS.items()
    ]
    made: Json = {
        "__typename": COMMENT_TYPES[one.kind],
        "id": f"{prefix}_{one.id}",
        "fullDatabaseId": str(one.id),
        "author": actor(world, one.author),
        "authorAssociation": it.repo.association(one.author),
        "body": one.body,
        "createdAt": iso(one.created_at),
        "updatedAt": iso(one.updated_at),
        "lastEditedAt": None if one.edited_at is None else iso(one.edited_at),
        "editor": actor(world, one.editor),
        "url": comment_page(world, it, one),
        "reactionGroups": groups,
    }
    if one.kind == "review":
        inside = [each for each in it.comment_list("review_comment") if each.review == one.id]
        made |= {
            "state": one.state,
            "submittedAt": iso(one.created_at),
            "commit": commit_node(world, it.repo, one.commit),
        }
        made["comments"] = connection("comments", lambda: inside, lambda each: comment_node(world, it, each, viewer))
    if one.kind == "review_comment":
        made |= {"path": one.path, "line": one.line, "originalCommit": commit_node(world, it.repo, one.commit)}
    return made


def commit_node(world: World, repo: Repository, sha: str) -> Json | None:
    it = repo.git.commits.get(sha)
    if it is None:
        return None
    author = actor(world, it.author)
    person = author if author and author["__typename"] == "User" else None
    return {
        "__typename": "Commit",
        "id": f"C_{sha}",
        "oid": sha,
        "message": it.message,
        "authoredDate": iso(it.authored_at),
        "committedDate": iso(it.committed_at),
        "author": {"name": it.author, "date": iso(it.authored_at), "user": person},
        "file": lambda _info, path: _entry(repo, it, path),
        "history": lambda info, **told: _history(world, repo, it, info, told),
        "parents": connection("parents", lambda: it.parents, lambda parent: commit_node(world, repo, parent) or {}),
    }


def _entry(repo: Repository, it: Commit, path: str) -> Json | None:
    blob = it.tree.get(path.strip("/"))
    if blob is None:
        return None
    raw = repo.git.blobs[blob]
    shown = {"name": path.rpartition("/")[2], "path": path, "type": "blob", "mode": 0o100644, "oid": blob}
    return {**shown, "size": len(raw), "object": _blob(blob, raw)}


def _history(world: World, repo: Repository, it: Commit, info: object, told: Json) -> Json:
    """Commits reachable from one, newest first; with `path` those that changed it, as git's simplified history."""
    path, since, until = told.pop("path", None), told.pop("since", None), told.pop("until", None)
    found = [repo.git.commits[sha] for sha in repo.git.ancestors(it.sha)]
    if path is not None:
        found = [each for each in found if _changed(repo, each, path)]
    kept = [
        each
        for each in found
        if (until is None or each.committed_at <= moment(until))
        and (since is None or each.committed_at >= moment(since))
    ]
    return connection("history", lambda: kept, lambda each: commit_node(world, repo, each.sha) or {})(info, **told)


def _changed(repo: Repository, it: Commit, path: str) -> bool:
    """Whether a commit's file differs from that of every parent."""
    before = [repo.git.commits[parent].tree.get(path) for parent in it.parents if parent in repo.git.commits]
    return it.tree.get(path) not in (before or [None])


def _pull_commit(world: World, it: PullRequest, one: Commit) -> Json:
    return {"id": f"PRC_{one.sha}", "commit": commit_node(world, it.repo, one.sha)}


def _file(one: Any) -> Json:
    kind = CHANGES[one.status]
    return {"path": one.path, "changeType": kind, "additions": one.additions, "deletions": one.deletions}


def _event(world: World, it: PullRequest, one: Event) -> Json:
    made: Json = {
        "__typename": EVENTS[one.kind],
        "id": one.node_id,
        "createdAt": iso(one.created_at),
        "actor": actor(world, one.actor),
    }
    if one.label:
        made["label"] = {"id": f"LA_{it.repo.label(one.label)}", "name": one.label}
    if one.kind == "head_ref_force_pushed":
        made["beforeCommit"] = commit_node(world, it.repo, one.before)
        made["afterCommit"] = commit_node(world, it.repo, one.after)
    if one.kind == "merged":
        made["commit"] = commit_node(world, it.repo, one.after)
    return made


def _kind(one: Event) -> str:
    return f"{one.kind.upper()}_EVENT"


def _state(it: PullRequest) -> str:
    return "MERGED" if it.merged_at is not None else it.state.upper()


def _ref(world: World, repo: Repository, branch: str) -> Json | None:
    sha = repo.branches.get(branch)
    if sha is None:
        return None

    def compare(_info: object, headRef: str) -> Json | None:  # noqa: N803  (GraphQL's own name)
        other = repo.resolve(headRef)
        if not other:
            return None
        ahead, behind = len(repo.git.between(sha, other)), len(repo.git.between(other, sha))
        status = "DIVERGED" if ahead and behind else "AHEAD" if ahead else "BEHIND" if behind else "IDENTICAL"
        return {"id": f"CMP_{sha}_{other}", "aheadBy": ahead, "behindBy": behind, "status": status}

    return {"id": f"REF_{branch}", "name": branch, "target": commit_node(world, repo, sha), "compare": compare}


def _git_object(world: World, repo: Repository, expression: str) -> Json | None:
    """A commit, or with "commit:path" a file or folder; also a bare blob id. None where it does not exist."""
    name, colon, path = expression.partition(":")
    if not colon and name in repo.git.blobs:
        return _blob(name, repo.git.blobs[name])
    sha = repo.resolve(name)
    if not sha:
        return None
    if not colon:
        return commit_node(world, repo, sha)
    tree = repo.git.commits[sha].tree
    path = path.strip("/")
    if path in tree:
        return _blob(tree[path], repo.git.blobs[tree[path]])
    return _tree(repo, repo.git.commits[sha], path)


def _blob(sha: str, raw: bytes) -> Json:
    binary = b"\0" in raw[:8000]
    text = None if binary else raw[:TEXT_LIMIT].decode("utf-8", "replace")
    told = {"byteSize": len(raw), "isBinary": binary, "isTruncated": len(raw) > TEXT_LIMIT, "text": text}
    return {"__typename": "Blob", "id": f"B_{sha}", "oid": sha, **told}


def _tree(repo: Repository, commit: Commit, path: str) -> Json | None:
    ids = repo.git.tree_ids(commit)
    if path not in ids:
        return None
    prefix = f"{path}/" if path else ""
    entries = []
    for full, sha in sorted({**commit.tree, **{name: sha for name, sha in ids.items() if name}}.items()):
        name = full.removeprefix(prefix)
        if not full.startswith(prefix) or "/" in name:
            continue
        raw = repo.git.blobs.get(commit.tree.get(full, ""))
        kind, mode = ("tree", 0o040000) if raw is None else ("blob", 0o100644)
        shown = {"name": name, "path": full, "type": kind, "mode": mode, "oid": sha, "size": len(raw or b"")}
        entries.append({**shown, "object": None if raw is None else _blob(sha, raw)})
    return {"__typename": "Tree", "id": f"T_{ids[path]}", "oid": ids[path], "entries": entries}
