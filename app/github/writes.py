"""Purpose: everything that changes something on GitHub, one method each.

A creation that stays unanswered raises `Unanswered`; whoever asked looks for the result (once.py) before repeating.
Edits, deletions, reactions, labels and cancellations are the same when done twice and are repeated by the transport.

Invariants: one write at a time and a second apart for one installation (limits.py). Annotations go in batches of 50;
the first batch makes the check run, so a lost answer in between leaves a check run that can be found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.github.objects import Objects
from app.github.transport import Ask, Transport

ANNOTATIONS_A_CALL = 50
REACTION_PATHS = {"issue_comment": "issues/comments", "review_comment": "pulls/comments"}


@dataclass(frozen=True, slots=True)
class Annotation:
    """A finding on lines of a file. `level`: notice, warning or failure."""

    path: str
    start_line: int
    end_line: int
    level: str
    message: str
    title: str = ""

    def body(self) -> dict[str, str | int]:
        told: dict[str, str | int] = {
            "path": self.path,
            "start_line": self.start_line,
            "end_line": self.end_line,
            "annotation_level": self.level,
            "message": self.message,
        }
        return told | ({"title": self.title} if self.title else {})


@dataclass(frozen=True, slots=True)
class CheckRunText:
    """What a check run says. `conclusion` is set when `status` is completed; `text` may hold 65,535 characters."""

    name: str
    external_id: str
    status: str
    conclusion: str | None
    title: str
    summary: str
    text: str = ""
    details_url: str = ""


@dataclass(frozen=True, slots=True)
class CheckRunPlace:
    id: int
    url: str


class Writes:
    """Writes of one caller."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _objects(self, repository: str, repeatable: bool | None = None) -> Objects:
        return Objects(self._transport, repository, repeatable)

    # comments and reactions ------------------------------------------------------------------------------------

    def create_comment(self, repository: str, number: int, body: str) -> int:
        """A conversation comment; its id."""
        return self._objects(repository).issue(number).create_comment(body).id

    def edit_comment(self, repository: str, comment_id: int, body: str) -> None:
        """Raises NotThere where it was deleted."""
        self._objects(repository).comment(comment_id).edit(body)

    def delete_comment(self, repository: str, comment_id: int) -> None:
        self._objects(repository).comment(comment_id).delete()

    def react(self, repository: str, kind: str, comment_id: int, content: str) -> None:
        """A reaction of ours to a comment: `kind` issue_comment or review_comment. GitHub has none for reviews, so
        for these nothing is done. The same reaction twice is one."""
        if kind not in REACTION_PATHS:
            return
        objects = self._objects(repository, repeatable=True)
        target = objects.comment(comment_id) if kind == "issue_comment" else objects.inline(comment_id)
        target.create_reaction(content)

    def unreact(self, repository: str, kind: str, comment_id: int, content: str, login: str) -> None:
        """Take back a reaction of ours (`login`); nothing where it is not there."""
        if kind not in REACTION_PATHS:
            return
        url = f"/repos/{repository}/{REACTION_PATHS[kind]}/{comment_id}/reactions"
        for page in self._transport.pages(url, {"content": content}, repository):
            for each in page:
                if (each["user"] or {}).get("login") == login:
                    self._delete(f"{url}/{each['id']}", repository)

    # labels ----------------------------------------------------------------------------------------------------

    def add_labels(self, repository: str, number: int, labels: Sequence[str]) -> None:
        self._objects(repository, repeatable=True).issue(number).add_to_labels(*labels)

    def remove_label(self, repository: str, number: int, label: str) -> None:
        """Raises NotThere where it is not on the pull request."""
        self._objects(repository).issue(number).remove_from_labels(label)

    def create_label(self, repository: str, name: str, color: str, description: str) -> None:
        """Raises Refused (422) where it exists."""
        self._objects(repository).repository().create_label(name, color, description)

    # check runs and statuses -----------------------------------------------------------------------------------

    def put_check_run(
        self,
        repository: str,
        head_sha: str,
        text: CheckRunText,
        check_run_id: int | None = None,
        annotations: Sequence[Annotation] = (),
    ) -> CheckRunPlace:
        """Create a check run, or change the one with this id. GitHub adds annotations: give only new ones."""
        first, rest = annotations[:ANNOTATIONS_A_CALL], annotations[ANNOTATIONS_A_CALL:]
        told = self._told(text, first)
        if check_run_id is None:
            made = self._objects(repository).repository().create_check_run(head_sha=head_sha, **told)
        else:
            made = self._objects(repository, repeatable=not first).check_run(check_run_id)
            made.edit(**told)
        place = CheckRunPlace(check_run_id or made.id, made.html_url)
        for start in range(0, len(rest), ANNOTATIONS_A_CALL):
            batch = rest[start : start + ANNOTATIONS_A_CALL]
            more = self._objects(repository, repeatable=False).check_run(place.id)
            more.edit(**self._told(text, batch))
        return place

    def _told(self, text: CheckRunText, annotations: Sequence[Annotation]) -> dict[str, Any]:
        output: dict[str, Any] = {"title": text.title, "summary": text.summary}
        if text.text:
            output["text"] = text.text
        if annotations:
            output["annotations"] = [each.body() for each in annotations]
        told: dict[str, Any] = {"name": text.name, "external_id": text.external_id, "output": output}
        told |= {"conclusion": text.conclusion} if text.conclusion else {"status": text.status}
        return told | ({"details_url": text.details_url} if text.details_url else {})

    def create_status(self, repository: str, sha: str, context: str, state: str, description: str, url: str) -> None:
        """A commit status. `state`: error, failure, pending or success; the description may hold 140 characters."""
        told = {"context": context, "state": state, "description": description, "target_url": url}
        self._post(f"/repos/{repository}/statuses/{sha}", told, repository, repeatable=True)

    # workflows -------------------------------------------------------------------------------------------------

    def dispatch(self, repository: str, workflow: str, branch: str, inputs: Mapping[str, str]) -> int | None:
        """Start a workflow (path or file name) on a branch; the new run's id, None where the server does not tell."""
        file = workflow.rpartition("/")[2]
        made = self._objects(repository).workflow(file)
        run = made.create_dispatch(branch, dict(inputs), throw=True, return_run_details=True)
        return None if isinstance(run, bool) else run.id

    def cancel_run(self, repository: str, run_id: int) -> None:
        """Raises Refused (409) where the run is completed."""
        self._objects(repository, repeatable=True).run(run_id).cancel()

    def rerun_failed(self, repository: str, run_id: int) -> None:
        """Raises Refused (403) where the run is not completed, was cancelled or has no failed job."""
        self._objects(repository).run(run_id).rerun_failed_jobs()

    def repository_dispatch(self, repository: str, event_type: str, payload: Mapping[str, Any]) -> None:
        """At most ten top-level fields, 64 KB."""
        self._objects(repository).repository().create_repository_dispatch(event_type, dict(payload))

    # merging ---------------------------------------------------------------------------------------------------

    def merge(self, repository: str, number: int, sha: str, title: str, message: str) -> str:
        """Squash-merge if the head is still `sha`; the new commit. Raises Refused: 405 unmergeable, 409 head moved."""
        pull = self._objects(repository).pull(number)
        return pull.merge(commit_message=message, commit_title=title, merge_method="squash", sha=sha).sha

    def update_ref(self, repository: str, branch: str, sha: str, force: bool = False) -> None:
        """Move a branch. Raises Refused (422) where it is no fast-forward and not forced."""
        url = f"/repos/{repository}/git/refs/heads/{branch}"
        ask = Ask("PATCH", url, json={"sha": sha, "force": force}, repository=repository, write=True, repeatable=True)
        self._transport.send(ask)

    def create_ref(self, repository: str, branch: str, sha: str) -> None:
        """Raises Refused (422) where the branch exists."""
        self._post(f"/repos/{repository}/git/refs", {"ref": f"refs/heads/{branch}", "sha": sha}, repository)

    def delete_ref(self, repository: str, branch: str) -> None:
        self._delete(f"/repos/{repository}/git/refs/heads/{branch}", repository)

    def _post(self, url: str, told: Mapping[str, Any], repository: str, repeatable: bool = False) -> None:
        ask = Ask("POST", url, json=dict(told), repository=repository, write=True, repeatable=repeatable)
        self._transport.send(ask)

    def _delete(self, url: str, repository: str) -> None:
        self._transport.send(Ask("DELETE", url, repository=repository, write=True, repeatable=True))
