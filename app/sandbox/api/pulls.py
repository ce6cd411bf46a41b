"""Purpose: endpoints for pull requests, issues, comments, reviews, reactions, labels and the timeline."""

from __future__ import annotations

import json
from collections.abc import Callable
from operator import attrgetter

from app.sandbox import shapes, shapes_runs, shapes_said
from app.sandbox.api.core import Answer, Call, Refused, empty, invalid, not_found, route
from app.sandbox.clock import moment
from app.sandbox.model import Comment
from app.sandbox.pull import PullRequest

R = "/repos/{owner}/{repo}"
CONTENTS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")
BODY_LIMIT = 65_536


@route("GET", R + "/pulls")
def pulls(call: Call) -> Answer:
    """Filters: state, head ("owner:branch"), base; sorted by created (newest first) or updated."""
    repo, query = call.repo(), call.query
    state, order = query.get("state") or "open", query.get("sort") or "created"
    found = [
        it
        for it in repo.pulls.values()
        if state in ("all", it.state)
        and query.get("head") in (None, f"{it.head_repo.owner}:{it.head_branch}")
        and query.get("base") in (None, it.base_branch)
    ]
    newest_first = (query.get("direction") or "desc") == "desc"
    found.sort(key=attrgetter("updated_at" if order == "updated" else "created_at"), reverse=newest_first)
    return call.paged(found, lambda it: shapes.pull(call.world, it))


@route("GET", R + "/pulls/{number:int}")
def pull(call: Call) -> Answer:
    return Answer(shapes.pull_detail(call.world, call.pull()))


@route("PATCH", R + "/pulls/{number:int}")
def edit_pull(call: Call) -> Answer:
    it, told = call.pull(), call.json
    call.must(it.repo, "pull_requests", "triage")
    if "title" in told or "body" in told:
        it.edit(call.login, told.get("title"), told.get("body"))
    if told.get("state") == "closed" and it.state == "open":
        it.close(call.login)
    elif told.get("state") == "open" and it.state == "closed":
        it.reopen(call.login)
    return Answer(shapes.pull_detail(call.world, it))


@route("GET", R + "/pulls/{number:int}/files")
def files(call: Call) -> Answer:
    it = call.pull()
    return call.paged(it.files()[:3000], lambda each: shapes_runs.file(call.world, it.repo, it.head_sha, each))


@route("GET", R + "/pulls/{number:int}/commits")
def commits(call: Call) -> Answer:
    it = call.pull()
    return call.paged(it.commits()[:250], lambda each: shapes_runs.commit(call.world, it.repo, each))


@route("GET", R + "/pulls/{number:int}/merge")
def is_merged(call: Call) -> Answer:
    if call.pull().merged_at is None:
        raise not_found()
    return empty()


@route("PUT", R + "/pulls/{number:int}/merge")
def merge(call: Call) -> Answer:
    it, told = call.pull(), call.json
    call.must(it.repo, "contents")
    if told.get("sha") not in (None, it.head_sha):
        raise Refused(409, "Head branch was modified. Review and try the merge again.")
    if it.state == "closed" or it.draft or it.conflicts():
        raise Refused(405, "Pull Request is not mergeable")
    if told.get("merge_method", "merge") != "squash":
        raise Refused(405, "Only squash merges are allowed on this repository.")
    title, message = told.get("commit_title"), told.get("commit_message")
    made = it.merge(call.login, "\n\n".join(part for part in (title, message) if part))
    return Answer({"sha": made.sha, "merged": True, "message": "Pull Request successfully merged"})


@route("PUT", R + "/pulls/{number:int}/update-branch")
def update_branch(call: Call) -> Answer:
    it = call.pull()
    call.must(it.repo, "pull_requests")
    if call.json.get("expected_head_sha") not in (None, it.head_sha):
        raise Refused(422, "expected head sha didn't match current head ref.")
    if it.conflicts():
        raise Refused(422, "merge conflict between base and head")
    message = f"Merge branch '{it.base_branch}' into {it.head_branch}"
    it.head_repo.push(it.head_branch, {}, call.login, message, merge=it.base_sha)
    return Answer({"message": "Updating pull request branch.", "url": f"{call.world.api_url}{call.path}"}, 202)


# comments ----------------------------------------------------------------------------------------------------


def _listed(call: Call, kind: str) -> Answer:
    it = call.pull()
    found = it.comment_list(kind)
    if since := call.query.get("since"):
        found = [each for each in found if each.updated_at >= moment(since)]
    return call.paged(found, lambda one: shapes_said.comment(call.world, it, one))


@route("GET", R + "/issues/{number:int}/comments")
def comments(call: Call) -> Answer:
    return _listed(call, "issue")


@route("POST", R + "/issues/{number:int}/comments")
def create_comment(call: Call) -> Answer:
    it = call.pull()
    _signed_in(call)
    made = it.comment(call.login, _body(call))
    return Answer(shapes_said.comment(call.world, it, made), 201)


@route("GET", R + "/issues/comments/{id:int}")
def comment(call: Call) -> Answer:
    it, one = call.comment("issue")
    return Answer(shapes_said.comment(call.world, it, one))


@route("PATCH", R + "/issues/comments/{id:int}")
def edit_comment(call: Call) -> Answer:
    it, one = call.comment("issue")
    if one.author != call.login:
        call.must(it.repo, "issues")
    it.edit_comment(one, _body(call), call.login)
    return Answer(shapes_said.comment(call.world, it, one))


@route("DELETE", R + "/issues/comments/{id:int}")
def delete_comment(call: Call) -> Answer:
    it, one = call.comment("issue")
    if one.author != call.login:
        call.must(it.repo, "issues")
    it.delete_comment(one, call.login)
    return empty()


@route("GET", R + "/issues/{number:int}")
def issue(call: Call) -> Answer:
    return Answer(shapes.issue(call.world, call.pull()))


@route("GET", R + "/pulls/{number:int}/reviews")
def reviews(call: Call) -> Answer:
    return _listed(call, "review")


@route("GET", R + "/pulls/{number:int}/reviews/{id:int}")
def review(call: Call) -> Answer:
    it, one = call.comment("review")
    return Answer(shapes_said.comment(call.world, it, one))


@route("GET", R + "/pulls/{number:int}/comments")
def review_comments(call: Call) -> Answer:
    return _listed(call, "review_comment")


@route("GET", R + "/pulls/comments/{id:int}")
def review_comment(call: Call) -> Answer:
    it, one = call.comment("review_comment")
    return Answer(shapes_said.comment(call.world, it, one))


# reactions ---------------------------------------------------------------------------------------------------


def _reaction_list(call: Call, it: PullRequest, one: Comment | None) -> Answer:
    wanted = call.query.get("content")
    found = [each for each in (one.reactions if one else it.reactions) if wanted in (None, each.content)]
    return call.paged(found, lambda each: shapes_said.reaction(call.world, each))


def _react(call: Call, it: PullRequest, one: Comment | None) -> Answer:
    _signed_in(call)
    content = call.need("content")
    if content not in CONTENTS:
        raise invalid("Reaction", "content")
    made, fresh = it.react(call.login, content, one)
    return Answer(shapes_said.reaction(call.world, made), 201 if fresh else 200)


def _unreact(call: Call, it: PullRequest, one: Comment | None) -> Answer:
    target = one.reactions if one else it.reactions
    found = next((each for each in target if each.id == call.number("reaction")), None)
    if found is None:
        raise not_found()
    target.remove(found)
    return empty()


def _reactions_at(template: str, target: Callable[[Call], tuple[PullRequest, Comment | None]]) -> None:
    route("GET", template)(lambda call: _reaction_list(call, *target(call)))
    route("POST", template)(lambda call: _react(call, *target(call)))
    route("DELETE", template + "/{reaction:int}")(lambda call: _unreact(call, *target(call)))


_reactions_at(R + "/issues/comments/{id:int}/reactions", lambda call: call.comment("issue"))
_reactions_at(R + "/pulls/comments/{id:int}/reactions", lambda call: call.comment("review_comment"))
_reactions_at(R + "/issues/{number:int}/reactions", lambda call: (call.pull(), None))


# labels and timeline -----------------------------------------------------------------------------------------


@route("GET", R + "/labels")
def repository_labels(call: Call) -> Answer:
    repo = call.repo()
    return call.paged(sorted(repo.labels), lambda name: shapes.label(call.world, repo, name))


@route("POST", R + "/labels")
def create_label(call: Call) -> Answer:
    repo = call.repo()
    call.must(repo, "issues")
    name = call.need("name")
    if name in repo.labels:
        raise invalid("Label", "name", "already_exists")
    return Answer(shapes.label(call.world, repo, name), 201)


@route("GET", R + "/issues/{number:int}/labels")
def labels(call: Call) -> Answer:
    it = call.pull()
    return call.paged(it.labels, lambda name: shapes.label(call.world, it.repo, name))


@route("POST", R + "/issues/{number:int}/labels")
def add_labels(call: Call) -> Answer:
    it = call.pull()
    call.must(it.repo, "issues", "triage")
    # the older form of the body is the bare list
    told = json.loads(call.content or b"{}")
    for name in told if isinstance(told, list) else call.need("labels"):
        it.apply_label(call.login, name)
    return Answer([shapes.label(call.world, it.repo, name) for name in it.labels])


@route("DELETE", R + "/issues/{number:int}/labels/{name}")
def remove_label(call: Call) -> Answer:
    it = call.pull()
    call.must(it.repo, "issues", "triage")
    if it.remove_label(call.login, call.parts["name"]) is None:
        raise Refused(404, "Label does not exist")
    return Answer([shapes.label(call.world, it.repo, name) for name in it.labels])


@route("GET", R + "/issues/{number:int}/events")
def issue_events(call: Call) -> Answer:
    it = call.pull()
    return call.paged(it.events, lambda one: shapes_said.issue_event(call.world, it, one))


@route("GET", R + "/issues/{number:int}/timeline")
def timeline(call: Call) -> Answer:
    it = call.pull()
    return call.paged(it.events, lambda one: shapes_said.issue_event(call.world, it, one))


def _signed_in(call: Call) -> None:
    if not call.login:
        raise Refused(401, "Requires authentication")
    owned = next((app for app in call.world.apps.values() if app.bot == call.login), None)
    if owned is not None and owned.permissions.get("issues") != "write":
        raise Refused(403, "Resource not accessible by integration")


def _body(call: Call) -> str:
    body = str(call.need("body"))
    if len(body) > BODY_LIMIT:
        message = f"body is too long (maximum is {BODY_LIMIT} characters)"
        raise Refused(
            422, "Validation Failed", [{"resource": "IssueComment", "code": "unprocessable", "message": message}]
        )
    return body
