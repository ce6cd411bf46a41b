"""Purpose: pull requests of the stand-in and everything that people do to them.

Invariants: while a pull request is open its head is its branch's tip; a closed one keeps the head it had. Every change
leaves its trace where GitHub leaves it (timeline, `updated_at`, editor) and sends its webhook once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.sandbox.diff import FileChange, changed_files
from app.sandbox.git import Commit
from app.sandbox.locking import locked
from app.sandbox.model import Comment, Event, Reaction

if TYPE_CHECKING:
    from threading import RLock

    from app.sandbox.repository import Repository


@dataclass
class PullRequest:
    """One pull request. `conflict` and `mergeable_unknown` (a number of reads that answer null) override what the
    trees say about mergeability."""

    repo: Repository
    number: int
    id: int
    head_repo: Repository
    head_branch: str
    base_branch: str
    author: str
    title: str
    body: str
    created_at: float
    draft: bool = False
    state: str = "open"
    updated_at: float = 0.0
    closed_at: float | None = None
    merged_at: float | None = None
    merged_by: str = ""
    merge_sha: str = ""
    body_editor: str = ""
    body_edited_at: float | None = None
    labels: list[str] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    reactions: list[Reaction] = field(default_factory=list)
    conflict: bool | None = None
    mergeable_unknown: int = 0
    frozen_head: str = ""
    frozen_base: str = ""

    # what it is ------------------------------------------------------------------------------------------------

    @property
    def lock(self) -> RLock:
        return self.repo.world.lock

    @property
    def head_sha(self) -> str:
        return self.frozen_head or self.head_repo.branches[self.head_branch]

    @property
    def base_sha(self) -> str:
        return self.frozen_base or self.repo.branches[self.base_branch]

    @property
    def merge_base(self) -> str:
        return self.repo.git.merge_base(self.base_sha, self.head_sha)

    @property
    def from_fork(self) -> bool:
        return self.head_repo.full_name != self.repo.full_name

    def commits(self) -> list[Commit]:
        """Its commits, oldest first."""
        return self.repo.git.between(self.base_sha, self.head_sha)

    def files(self) -> list[FileChange]:
        """Changed files between the merge base and the head."""
        git = self.repo.git
        base = git.commits[self.merge_base].tree if self.merge_base else {}
        return changed_files(git, base, git.commits[self.head_sha].tree)

    def conflicts(self) -> bool:
        """True where the head cannot be merged into the base."""
        if self.conflict is not None:
            return self.conflict
        return bool(self.repo.git.merge(self.merge_base, self.base_sha, self.head_sha)[1])

    def comment_list(self, kind: str) -> list[Comment]:
        """Visible comments of one kind, by creation."""
        now = self.repo.world.clock.now()
        return [each for each in self.comments if each.kind == kind and each.visible_at <= now]

    # what people do --------------------------------------------------------------------------------------------

    @locked
    def comment(self, author: str, body: str, id: int | None = None) -> Comment:  # noqa: A002
        """A conversation comment."""
        made = self._add("issue", author, body, id)
        self._tell("issue_comment", "created", author, comment=made)
        return made

    @locked
    def review(
        self,
        author: str,
        body: str,
        state: str = "COMMENTED",
        id: int | None = None,  # noqa: A002
    ) -> Comment:
        """A submitted review: COMMENTED, APPROVED or CHANGES_REQUESTED."""
        made = self._add("review", author, body, id)
        made.state, made.commit = state, self.head_sha
        self._tell("pull_request_review", "submitted", author, review=made)
        return made

    @locked
    def review_comment(
        self,
        author: str,
        body: str,
        path: str,
        line: int = 1,
        id: int | None = None,  # noqa: A002
    ) -> Comment:
        """An inline comment on a changed line, in a review of its own."""
        holder = self._add("review", author, "", None)
        holder.state, holder.commit = "COMMENTED", self.head_sha
        made = self._add("review_comment", author, body, id)
        made.path, made.line, made.commit, made.review = path, line, self.head_sha, holder.id
        self._tell("pull_request_review_comment", "created", author, comment=made)
        return made

    @locked
    def edit_comment(self, comment: Comment, body: str, editor: str = "") -> Comment:
        """Edit a comment of any kind; `editor` defaults to its author."""
        was, now = comment.body, self._touch()
        comment.body, comment.editor = body, editor or comment.author
        comment.edited_at = comment.updated_at = now
        event, part = EVENT_OF_KIND[comment.kind]
        self._tell(event, "edited", comment.editor, changes={"body": {"from": was}}, **{part: comment})
        return comment

    @locked
    def delete_comment(self, comment: Comment, actor: str = "") -> None:
        self.comments.remove(comment)
        self._touch()
        event, part = EVENT_OF_KIND[comment.kind]
        self._tell(event, "deleted", actor or comment.author, **{part: comment})

    @locked
    def react(self, user: str, content: str, comment: Comment | None = None) -> tuple[Reaction, bool]:
        """A reaction to a comment; the same user's second one of the same content is the first one again (False)."""
        target = comment.reactions if comment else self.reactions
        for each in target:
            if (each.user, each.content) == (user, content):
                return each, False
        made = Reaction(self.repo.world.next_id(), content, user, self.repo.world.clock.tick())
        target.append(made)
        return made, True

    @locked
    def apply_label(self, actor: str, name: str) -> Event | None:
        """Add a label; None where it is already there. A label that the repository does not have is made."""
        if name in self.labels:
            return None
        self.repo.label(name)
        self.labels.append(name)
        made = self.event("labeled", actor, label=name)
        self._tell("pull_request", "labeled", actor, label=name)
        return made

    @locked
    def remove_label(self, actor: str, name: str) -> Event | None:
        if name not in self.labels:
            return None
        self.labels.remove(name)
        made = self.event("unlabeled", actor, label=name)
        self._tell("pull_request", "unlabeled", actor, label=name)
        return made

    @locked
    def edit(self, editor: str, title: str | None = None, body: str | None = None) -> None:
        """Change title or description."""
        changes: dict[str, dict[str, str]] = {}
        if title is not None:
            changes["title"], self.title = {"from": self.title}, title
        if body is not None:
            changes["body"], self.body = {"from": self.body}, body
            self.body_editor, self.body_edited_at = editor, self._touch()
        self._touch()
        self._tell("pull_request", "edited", editor, changes=changes)

    @locked
    def set_draft(self, draft: bool, actor: str = "") -> None:
        self.draft = draft
        self.event("convert_to_draft" if draft else "ready_for_review", actor or self.author)
        self._tell("pull_request", "converted_to_draft" if draft else "ready_for_review", actor or self.author)

    @locked
    def close(self, actor: str) -> None:
        """Close without merging."""
        self._freeze()
        self.event("closed", actor)
        self._tell("pull_request", "closed", actor)

    @locked
    def reopen(self, actor: str) -> None:
        self.state, self.closed_at, self.frozen_head, self.frozen_base = "open", None, "", ""
        self.event("reopened", actor)
        self._tell("pull_request", "reopened", actor)

    @locked
    def merge(self, actor: str, message: str = "", sha: str = "") -> Commit:
        """Squash into the base branch. `sha` fixes the new commit's id. Conflicts must have been asked for before."""
        git, base, head = self.repo.git, self.base_sha, self.head_sha
        tree, _ = git.merge(self.merge_base, base, head)
        self._freeze()
        subject = message or f"{self.title} (#{self.number})"
        made = git.commit((base,), {}, subject, self.author, self.repo.world.clock.tick(), sha, tree)
        self.merge_sha, self.merged_at, self.merged_by = made.sha, self.repo.world.clock.now(), actor
        self.event("merged", actor, after=made.sha)
        self.event("closed", actor)
        self.repo.move(self.base_branch, made.sha, actor, kind="pr_merge")
        self._tell("pull_request", "closed", actor)
        return made

    def event(self, kind: str, actor: str, label: str = "", before: str = "", after: str = "") -> Event:
        """Write an entry of the timeline."""
        made = Event(self.repo.world.next_id(), kind, actor, self._touch(), label, before, after)
        self.events.append(made)
        return made

    def pushed(self, before: str, after: str, actor: str, forced: bool) -> None:
        """Its branch moved: the `synchronize` webhook, and a timeline entry for a forced push."""
        if forced:
            self.event("head_ref_force_pushed", actor, before=before, after=after)
        self._touch()
        self._tell("pull_request", "synchronize", actor, before=before, after=after)

    def _add(self, kind: str, author: str, body: str, id: int | None) -> Comment:  # noqa: A002
        world, now = self.repo.world, self._touch()
        world.user(author)
        made = Comment(id or world.next_id(), kind, author, body, now, now, now + world.lag.comments)
        self.comments.append(made)
        return made

    def _freeze(self) -> None:
        self.frozen_head, self.frozen_base = self.head_sha, self.base_sha
        self.state, self.closed_at = "closed", self.repo.world.clock.now()

    def _touch(self) -> float:
        self.updated_at = self.repo.world.clock.tick()
        return self.updated_at

    def _tell(self, event: str, action: str, sender: str, **parts: object) -> None:
        self.repo.world.emit(self.repo, event, action, sender, pull=self, **parts)


EVENT_OF_KIND = {
    "issue": ("issue_comment", "comment"),
    "review": ("pull_request_review", "review"),
    "review_comment": ("pull_request_review_comment", "comment"),
}
