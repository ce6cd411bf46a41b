"""Purpose: GitHub's JSON for what is said and done on a pull request: comments, reviews, reactions, the timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.sandbox.clock import iso
from app.sandbox.model import Comment, Event, Reaction
from app.sandbox.shapes import reactions, user

if TYPE_CHECKING:
    from app.sandbox.pull import PullRequest
    from app.sandbox.world import World

Json = dict[str, Any]


def reaction(world: World, it: Reaction) -> Json:
    return {
        "id": it.id,
        "node_id": f"REA_{it.id}",
        "user": user(world, it.user),
        "content": it.content,
        "created_at": iso(it.created_at),
    }


def comment(world: World, it: PullRequest, one: Comment) -> Json:
    """A comment of any kind in the shape of its own endpoint."""
    return {"issue": _issue_comment, "review": _review, "review_comment": _review_comment}[one.kind](world, it, one)


def comment_page(world: World, it: PullRequest, one: Comment) -> str:
    anchor = {"issue": "issuecomment-", "review": "pullrequestreview-", "review_comment": "discussion_r"}[one.kind]
    return f"{world.web}/{it.repo.full_name}/pull/{it.number}#{anchor}{one.id}"


def _issue_comment(world: World, it: PullRequest, one: Comment) -> Json:
    api = f"{world.api_url}/repos/{it.repo.full_name}/issues"
    return {
        "id": one.id,
        "node_id": f"IC_{one.id}",
        "url": f"{api}/comments/{one.id}",
        "html_url": comment_page(world, it, one),
        "issue_url": f"{api}/{it.number}",
        "user": user(world, one.author),
        "body": one.body,
        "author_association": it.repo.association(one.author),
        "created_at": iso(one.created_at),
        "updated_at": iso(one.updated_at),
        "performed_via_github_app": None,
        "reactions": reactions(one.reactions, f"{api}/comments/{one.id}"),
    }


def _review(world: World, it: PullRequest, one: Comment) -> Json:
    page, api = comment_page(world, it, one), f"{world.api_url}/repos/{it.repo.full_name}/pulls/{it.number}"
    return {
        "id": one.id,
        "node_id": f"PRR_{one.id}",
        "user": user(world, one.author),
        "body": one.body,
        "state": one.state,
        "commit_id": one.commit or None,
        "html_url": page,
        "pull_request_url": api,
        "_links": {"html": {"href": page}, "pull_request": {"href": api}},
        "author_association": it.repo.association(one.author),
        "submitted_at": iso(one.created_at),
    }


def _review_comment(world: World, it: PullRequest, one: Comment) -> Json:
    api = f"{world.api_url}/repos/{it.repo.full_name}/pulls"
    url, page = f"{api}/comments/{one.id}", comment_page(world, it, one)
    links = {"self": {"href": url}, "html": {"href": page}, "pull_request": {"href": f"{api}/{it.number}"}}
    return {
        "id": one.id,
        "node_id": f"PRRC_{one.id}",
        "url": url,
        "html_url": page,
        "pull_request_url": f"{api}/{it.number}",
        "pull_request_review_id": one.review,
        "diff_hunk": "@@ -1 +1 @@",
        "path": one.path,
        "line": one.line,
        "side": "RIGHT",
        "commit_id": one.commit,
        "original_commit_id": one.commit,
        "user": user(world, one.author),
        "body": one.body,
        "author_association": it.repo.association(one.author),
        "created_at": iso(one.created_at),
        "updated_at": iso(one.updated_at),
        "reactions": reactions(one.reactions, url),
        "_links": links,
    }


def issue_event(world: World, it: PullRequest, one: Event) -> Json:
    """An entry of the events list and of the timeline."""
    made: Json = {
        "id": one.id,
        "node_id": one.node_id,
        "url": f"{world.api_url}/repos/{it.repo.full_name}/issues/events/{one.id}",
        "actor": user(world, one.actor),
        "event": one.kind,
        "commit_id": one.after or None,
        "commit_url": None,
        "created_at": iso(one.created_at),
        "performed_via_github_app": None,
    }
    if one.label:
        made["label"] = {"name": one.label, "color": "ededed"}
    return made
