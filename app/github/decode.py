"""Purpose: GitHub's JSON turned into the values of reads.py, from REST and from GraphQL.

Invariants: a field that GitHub promises and that is missing raises `Unreadable`: it is never read as empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from app.github.errors import Unreadable
from app.github.reads import (
    GHOST,
    Actor,
    ArtifactRead,
    CheckRunRead,
    CommitRead,
    FileRead,
    Happened,
    JobRead,
    MovedRef,
    PullListed,
    PullRead,
    RunRead,
    Said,
)

Json = dict[str, Any]
P = ParamSpec("P")
T = TypeVar("T")
REACTIONS = {
    "THUMBS_UP": "+1",
    "THUMBS_DOWN": "-1",
    "LAUGH": "laugh",
    "HOORAY": "hooray",
    "CONFUSED": "confused",
    "HEART": "heart",
    "ROCKET": "rocket",
    "EYES": "eyes",
}
EVENTS = {
    "LabeledEvent": "labeled",
    "UnlabeledEvent": "unlabeled",
    "HeadRefForcePushedEvent": "head_ref_force_pushed",
    "ReadyForReviewEvent": "ready_for_review",
    "ConvertToDraftEvent": "convert_to_draft",
    "ClosedEvent": "closed",
    "ReopenedEvent": "reopened",
    "MergedEvent": "merged",
}


def decoder(read: Callable[P, T]) -> Callable[P, T]:
    """A reader of JSON that says Unreadable where a promised field is missing or has another type."""

    @wraps(read)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return read(*args, **kwargs)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as wrong:
            name = read.__name__.replace("_", " ")
            raise Unreadable(f"GitHub's answer has no readable {name} ({type(wrong).__name__}: {wrong})") from None

    return run


# REST --------------------------------------------------------------------------------------------------------


def rest_actor(node: Mapping[str, Any] | None) -> Actor:
    return GHOST if node is None else Actor(node["login"], node["id"], node["type"])


@decoder
def workflow_run(node: Json) -> RunRead:
    head = node.get("head_repository") or {}
    return RunRead(
        id=node["id"],
        attempt=node.get("run_attempt") or 1,
        number=node["run_number"],
        event=node["event"],
        status=node["status"],
        conclusion=node["conclusion"],
        path=node["path"].partition("@")[0],
        name=node.get("name") or "",
        title=node["display_title"],
        head_sha=node["head_sha"],
        head_branch=node["head_branch"] or "",
        head_repository=head.get("full_name", ""),
        actor=rest_actor(node.get("actor")),
        triggering_actor=rest_actor(node.get("triggering_actor") or node.get("actor")),
        created_at=node["created_at"],
        updated_at=node["updated_at"],
        url=node["html_url"],
        pull_requests=tuple(each["number"] for each in node.get("pull_requests") or []),
    )


@decoder
def job(node: Json) -> JobRead:
    return JobRead(
        id=node["id"],
        run_id=node["run_id"],
        attempt=node.get("run_attempt") or 1,
        name=node["name"],
        status=node["status"],
        conclusion=node["conclusion"],
        runner_name=node["runner_name"] or "",
        steps=len(node.get("steps") or []),
        head_sha=node["head_sha"],
        started_at=node["started_at"],
        completed_at=node["completed_at"] or "",
    )


@decoder
def artifact(node: Json, run_id: int) -> ArtifactRead:
    return ArtifactRead(
        node["id"], run_id, node["name"], node["size_in_bytes"], node["expired"], node["created_at"] or ""
    )


@decoder
def check_run(node: Json) -> CheckRunRead:
    output = node["output"]
    return CheckRunRead(
        id=node["id"],
        name=node["name"],
        external_id=node["external_id"] or "",
        head_sha=node["head_sha"],
        status=node["status"],
        conclusion=node["conclusion"],
        app=(node["app"] or {}).get("slug", ""),
        url=node["html_url"] or "",
        title=output["title"] or "",
        summary=output["summary"] or "",
    )


@decoder
def changed_file(node: Json) -> FileRead:
    return FileRead(
        path=node["filename"],
        status=node["status"],
        previous_path=node.get("previous_filename") or "",
        additions=node["additions"],
        deletions=node["deletions"],
        patch=node.get("patch"),
    )


@decoder
def moved_ref(node: Json) -> MovedRef:
    return MovedRef(
        id=node["id"],
        kind=node["activity_type"],
        ref=node["ref"],
        before=node["before"],
        after=node["after"],
        at=node["timestamp"],
        actor=rest_actor(node["actor"]),
    )


@decoder
def pull_listed(node: Json) -> PullListed:
    head = node["head"]
    return PullListed(
        number=node["number"],
        state=node["state"],
        draft=bool(node.get("draft")),
        updated_at=node["updated_at"],
        head_sha=head["sha"],
        head_ref=head["ref"],
        head_repository=(head["repo"] or {}).get("full_name", ""),
        base_ref=node["base"]["ref"],
        author=rest_actor(node["user"]),
        labels=tuple(each["name"] for each in node["labels"]),
        merged_at=node["merged_at"] or "",
    )


# GraphQL -----------------------------------------------------------------------------------------------------


def actor(node: Mapping[str, Any] | None) -> Actor:
    """A person or bot. GraphQL leaves out the "[bot]" that REST and people know."""
    if node is None:
        return GHOST
    kind, login = node["__typename"], node["login"]
    if kind == "Bot" and not login.endswith("[bot]"):
        login = f"{login}[bot]"
    return Actor(login, node.get("databaseId") or 0, kind)


def _maybe(node: Mapping[str, Any] | None) -> Actor | None:
    return None if node is None else actor(node)


def _commit(node: Json) -> CommitRead:
    person = (node.get("author") or {}).get("user")
    author = GHOST if person is None else Actor(person["login"], person["databaseId"] or 0)
    parents = tuple(each["oid"] for each in node["parents"]["nodes"])
    return CommitRead(node["oid"], parents, node["message"], author, node["authoredDate"], node["committedDate"])


def _said(node: Json, kind: str) -> Said:
    reacted = (REACTIONS[each["content"]] for each in node["reactionGroups"] or [] if each["viewerHasReacted"])
    editor = _maybe(node["editor"])
    if editor is None and node["lastEditedAt"]:
        editor = GHOST
    return Said(
        kind=kind,
        id=int(node["fullDatabaseId"]),
        author=actor(node["author"]),
        association=node["authorAssociation"],
        body=node["body"],
        created_at=node["createdAt"],
        updated_at=node["updatedAt"],
        edited_at=node["lastEditedAt"],
        editor=editor,
        url=node["url"],
        reacted=frozenset(reacted),
        state=node.get("state") or "",
        commit_sha=((node.get("commit") or node.get("originalCommit")) or {}).get("oid", ""),
        path=node.get("path") or "",
        line=node.get("line") or 0,
    )


def _all_said(pull: Json) -> Iterable[Said]:
    """All that was said. The body-less review that holds inline comments is left out, and one not yet submitted."""
    for node in pull["comments"]["nodes"]:
        yield _said(node, "issue_comment")
    for node in pull["reviews"]["nodes"]:
        if node["state"] == "PENDING":
            continue
        if node["body"] or node["state"] != "COMMENTED":
            yield _said(node, "review")
        for inline in node["comments"]["nodes"]:
            yield _said(inline, "review_comment")


def _happened(node: Json) -> Happened:
    before, after = (node.get(name) or {} for name in ("beforeCommit", "afterCommit"))
    label = (node.get("label") or {}).get("name", "")
    kind = EVENTS[node["__typename"]]
    by = actor(node["actor"])
    return Happened(node["id"], kind, node["createdAt"], by, label, before.get("oid", ""), after.get("oid", ""))


@decoder
def pull_request(repository: Json, pull: Json) -> PullRead:
    """A GraphQL node with all lists complete."""
    default = repository["defaultBranchRef"] or {"name": "", "target": {"oid": ""}}
    target = (pull["baseRef"] or {}).get("target") or {}
    mergeable = {"MERGEABLE": True, "CONFLICTING": False}.get(pull["mergeable"])
    said = sorted(_all_said(pull), key=lambda one: (one.created_at, one.id))
    return PullRead(
        repository=repository["nameWithOwner"],
        number=pull["number"],
        node_id=pull["id"],
        url=pull["url"],
        title=pull["title"],
        body=pull["body"],
        author=actor(pull["author"]),
        association=pull["authorAssociation"],
        state="open" if pull["state"] == "OPEN" else "closed",
        merged=pull["state"] == "MERGED",
        draft=pull["isDraft"],
        mergeable=mergeable,
        created_at=pull["createdAt"],
        updated_at=pull["updatedAt"],
        body_edited_at=pull["lastEditedAt"],
        body_editor=_maybe(pull["editor"]),
        head_sha=pull["headRefOid"],
        head_ref=pull["headRefName"],
        head_repository=(pull["headRepository"] or {}).get("nameWithOwner", ""),
        cross_repository=pull["isCrossRepository"],
        base_ref=pull["baseRefName"],
        base_sha=pull["baseRefOid"],
        target_sha=target.get("oid", ""),
        default_branch=default["name"],
        default_sha=default["target"]["oid"],
        merge_sha=(pull["mergeCommit"] or {}).get("oid", ""),
        merged_at=pull["mergedAt"] or "",
        labels=tuple(each["name"] for each in pull["labels"]["nodes"]),
        commits=tuple(_commit(each["commit"]) for each in pull["commits"]["nodes"]),
        changed_files=pull["changedFiles"],
        said=tuple(said),
        timeline=tuple(_happened(each) for each in pull["timelineItems"]["nodes"]),
    )
