"""Purpose: the GraphQL reads: a pull request's whole state in one request, and many files in one request.

What GraphQL cannot tell is left to REST: the old path of a rename, the merge base, binary and truncated files.
Invariants: every text read as a file is checked against git's own id of it, so that a re-encoded or cut text is never
taken for the file. Lists longer than a page are read to the end.
"""

from __future__ import annotations

import hashlib
import json as json_text
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from app.github.errors import Limited, NotThere, Unavailable, Unreadable
from app.github.transport import Ask, Transport

Json = dict[str, Any]

ACTOR = "{ __typename login ... on User { databaseId } ... on Bot { databaseId } ... on Organization { databaseId } }"
COMMENT = f"""
  fullDatabaseId author {ACTOR} authorAssociation body createdAt updatedAt lastEditedAt editor {ACTOR} url
  reactionGroups {{ content viewerHasReacted }}
"""
PAGE = "pageInfo { hasNextPage endCursor }"
INLINE = f"nodes {{ {COMMENT} path line originalCommit {{ oid }} }}"
REVIEW = f"id {COMMENT} state submittedAt commit {{ oid }} comments(first: 50) {{ {INLINE} {PAGE} }}"
EVENT_TYPES = (
    "[LABELED_EVENT, UNLABELED_EVENT, HEAD_REF_FORCE_PUSHED_EVENT, READY_FOR_REVIEW_EVENT, CONVERT_TO_DRAFT_EVENT, "
    "CLOSED_EVENT, REOPENED_EVENT, MERGED_EVENT]"
)
PLAIN_EVENTS = ("ReadyForReviewEvent", "ConvertToDraftEvent", "ClosedEvent", "ReopenedEvent", "MergedEvent")
EVENT = f"""
  __typename
  ... on LabeledEvent {{ id createdAt actor {ACTOR} label {{ name }} }}
  ... on UnlabeledEvent {{ id createdAt actor {ACTOR} label {{ name }} }}
  ... on HeadRefForcePushedEvent {{
    id createdAt actor {ACTOR} beforeCommit {{ oid }} afterCommit {{ oid }}
  }}
  {" ".join(f"... on {name} {{ id createdAt actor {ACTOR} }}" for name in PLAIN_EVENTS)}
"""
COMMIT = (
    "oid message authoredDate committedDate parents(first: 10) { nodes { oid } } "
    "author { name user { login databaseId } }"
)
LISTS = {
    "comments": f"comments(first: 100, after: $after) {{ nodes {{ {COMMENT} }} {PAGE} }}",
    "reviews": f"reviews(first: 100, after: $after) {{ nodes {{ {REVIEW} }} {PAGE} }}",
    "commits": f"commits(first: 100, after: $after) {{ nodes {{ commit {{ {COMMIT} }} }} {PAGE} }}",
    "timelineItems": (
        f"timelineItems(first: 100, after: $after, itemTypes: {EVENT_TYPES}) {{ nodes {{ {EVENT} }} {PAGE} }}"
    ),
}
BLOB = "__typename ... on Blob { oid byteSize isBinary isTruncated text }"
PULL = f"""
  id number url state isDraft title body createdAt updatedAt mergedAt lastEditedAt mergeable changedFiles
  author {ACTOR} authorAssociation editor {ACTOR}
  headRefOid headRefName headRepository {{ nameWithOwner }} isCrossRepository
  baseRefOid baseRefName baseRef {{ target {{ oid }} }} mergeCommit {{ oid }}
  labels(first: 100) {{ nodes {{ name }} }}
"""
MOST_PAGES = 30
BLOBS_A_QUERY = 150


def ask(transport: Transport, text: str, variables: Json, repository: str) -> Json:
    """Run a query; its data. Raises NotThere for an object that does not exist, Limited for the points budget."""
    sent = {"query": text, "variables": variables}
    url = transport.hosts.graphql_url
    answer = transport.send(Ask("POST", url, json=sent, repository=repository, repeatable=True))
    told = answer.json()
    if not isinstance(told, dict):
        raise Unreadable("GitHub's GraphQL answer is not an object")
    errors = told.get("errors") or []
    if errors:
        _raise_for(transport, errors, answer.headers)
    data = told.get("data")
    if not isinstance(data, dict):
        raise Unreadable("GitHub's GraphQL answer has no data")
    return data


def _raise_for(transport: Transport, errors: Sequence[Json], headers: dict[str, str]) -> None:
    kinds = {str(each.get("type", "")) for each in errors}
    message = "; ".join(str(each.get("message", "")) for each in errors)[:300]
    if "RATE_LIMITED" in kinds:
        resets = headers.get("x-ratelimit-reset", "")
        until = float(resets) + 1 if resets.isdigit() else transport.time.now() + 60
        raise Limited("the GraphQL query", until, secondary=False)
    if "NOT_FOUND" in kinds:
        raise NotThere(message)
    if "timeout" in message.lower() or "something went wrong" in message.lower():
        raise Unavailable(f"GitHub could not answer the GraphQL query: {message}")
    raise Unreadable(f"GitHub refused the GraphQL query: {message}")


@dataclass(frozen=True)
class RawPull:
    """A pull request's node with all lists complete, its repository's node, and the extra objects by expression."""

    pull: Json
    repository: Json
    objects: dict[str, Json | None]


def read_pull(transport: Transport, repository: str, number: int, objects: Sequence[str] = ()) -> RawPull:
    """Everything about a pull request. `objects` are git expressions ("HEAD:path") that come along."""
    owner, name = repository.split("/")
    extra = " ".join(f"o{n}: object(expression: {quoted(told)}) {{ {BLOB} }}" for n, told in enumerate(objects))
    lists = " ".join(each.replace(", after: $after", "") for each in LISTS.values())
    text = f"""query Pull($owner: String!, $name: String!, $number: Int!) {{
      repository(owner: $owner, name: $name) {{
        nameWithOwner defaultBranchRef {{ name target {{ oid }} }} {extra}
        pullRequest(number: $number) {{ {PULL} {lists} }}
      }}
    }}"""
    data = ask(transport, text, {"owner": owner, "name": name, "number": number}, repository)
    node = data["repository"]
    pull = node["pullRequest"]
    for each in LISTS:
        _complete(transport, repository, number, pull[each], each)
    for review in pull["reviews"]["nodes"]:
        _complete_review(transport, repository, review)
    return RawPull(pull, node, {told: node[f"o{n}"] for n, told in enumerate(objects)})


def _complete(transport: Transport, repository: str, number: int, held: Json, name: str) -> None:
    """Add the further pages of one list to its first."""
    owner, short = repository.split("/")
    text = f"""query More($owner: String!, $name: String!, $number: Int!, $after: String) {{
      repository(owner: $owner, name: $name) {{ pullRequest(number: $number) {{ {LISTS[name]} }} }}
    }}"""
    page = held["pageInfo"]
    for _ in range(MOST_PAGES):
        if not page["hasNextPage"]:
            return
        variables = {"owner": owner, "name": short, "number": number, "after": page["endCursor"]}
        more = ask(transport, text, variables, repository)["repository"]["pullRequest"][name]
        held["nodes"] += more["nodes"]
        page = more["pageInfo"]
    raise Unreadable(f"{repository}#{number} has more than {MOST_PAGES * 100} {name}")


def _complete_review(transport: Transport, repository: str, review: Json) -> None:
    """Inline comments beyond the first fifty of one review."""
    held = review["comments"]
    page = held["pageInfo"]
    text = f"""query Inline($id: ID!, $after: String) {{
      node(id: $id) {{ ... on PullRequestReview {{ comments(first: 100, after: $after) {{ {INLINE} {PAGE} }} }} }}
    }}"""
    while page["hasNextPage"]:
        more = ask(transport, text, {"id": review["id"], "after": page["endCursor"]}, repository)["node"]["comments"]
        held["nodes"] += more["nodes"]
        page = more["pageInfo"]


# files -------------------------------------------------------------------------------------------------------

HISTORY = "history(first: 1, path: $path, until: $until) { nodes { oid file(path: $path) { object { %s } } } }"


@dataclass(frozen=True)
class FileNode:
    """A blob as GraphQL told it: `content` is None where REST has to be asked for the bytes of `oid`."""

    oid: str
    content: bytes | None


def read_objects(
    transport: Transport, repository: str, wanted: Iterable[str]
) -> dict[str, FileNode | list[Json] | None]:
    """Files and folders by expression ("sha:path"): a file, a folder's entries, or None where absent."""
    found: dict[str, FileNode | list[Json] | None] = {}
    told = list(dict.fromkeys(wanted))
    for start in range(0, len(told), BLOBS_A_QUERY):
        found |= _read_batch(transport, repository, told[start : start + BLOBS_A_QUERY], None)[0]
    return found


def read_objects_and_history(
    transport: Transport, repository: str, wanted: Iterable[str], history: tuple[str, str, str]
) -> tuple[dict[str, FileNode | list[Json] | None], tuple[str, FileNode] | None]:
    """The same, and beside it the newest version of one path not after a time: `history` = (sha, path, time)."""
    told = list(dict.fromkeys(wanted))
    found, version = _read_batch(transport, repository, told[:BLOBS_A_QUERY], history)
    return found | read_objects(transport, repository, told[BLOBS_A_QUERY:]), version


def _read_batch(
    transport: Transport, repository: str, wanted: Sequence[str], history: tuple[str, str, str] | None
) -> tuple[dict[str, FileNode | list[Json] | None], tuple[str, FileNode] | None]:
    owner, name = repository.split("/")
    entries = f"... on Tree {{ entries {{ name type oid object {{ {BLOB} }} }} }}"
    parts = [f"o{n}: object(expression: {quoted(told)}) {{ {BLOB} {entries} }}" for n, told in enumerate(wanted)]
    variables: Json = {"owner": owner, "name": name}
    declared = "$owner: String!, $name: String!"
    if history is not None:
        variables |= {"at": history[0], "path": history[1], "until": history[2]}
        declared += ", $at: String!, $path: String!, $until: GitTimestamp!"
        parts.append(f"history: object(expression: $at) {{ ... on Commit {{ {HISTORY % BLOB} }} }}")
    if not parts:
        return {}, None
    text = f"query Files({declared}) {{ repository(owner: $owner, name: $name) {{ {' '.join(parts)} }} }}"
    node = ask(transport, text, variables, repository)["repository"]
    found = {told: _object(node[f"o{n}"]) for n, told in enumerate(wanted)}
    return found, _version(node.get("history"))


def _object(node: Json | None) -> FileNode | list[Json] | None:
    if node is None:
        return None
    if node["__typename"] == "Tree":
        return list(node["entries"] or [])
    return file_node(node)


def _version(node: Json | None) -> tuple[str, FileNode] | None:
    commits = (node or {}).get("history", {}).get("nodes") or []
    if not commits or not commits[0].get("file") or not commits[0]["file"].get("object"):
        return None
    return commits[0]["oid"], file_node(commits[0]["file"]["object"])


def file_node(node: Json) -> FileNode:
    """A blob; its text counts only if git's own id of it is the blob's."""
    text = node.get("text")
    if text is None or node.get("isTruncated") or node.get("isBinary"):
        return FileNode(node["oid"], b"" if node.get("byteSize") == 0 else None)
    content = text.encode("utf-8", "surrogatepass")
    header = b"blob %d\0" % len(content)
    same = hashlib.sha1(header + content, usedforsecurity=False).hexdigest() == node["oid"]
    return FileNode(node["oid"], content if same else None)


def quoted(text: str) -> str:
    """A GraphQL string. JSON's quoting is a subset of GraphQL's; a path may hold any character."""
    return json_text.dumps(text)
