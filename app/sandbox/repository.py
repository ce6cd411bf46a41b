"""Purpose: one repository of the stand-in: branches, people, labels, pull requests, runs, check runs.

Invariants: a branch moves only through `move`, which writes the activity list and tells pull requests and webhooks.
Numbers of pull requests and runs grow; a story may fix them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from app.sandbox.git import Commit, GitStore
from app.sandbox.locking import locked
from app.sandbox.model import Activity, CheckRun, Collaborator, CommitStatus, Dispatch
from app.sandbox.pull import PullRequest
from app.sandbox.runs import Run

if TYPE_CHECKING:
    from threading import RLock

    from app.sandbox.world import World

RUN_NAME = re.compile(rb"^run-name:\s*(.+?)\s*$", re.MULTILINE)
NAME = re.compile(rb"^name:\s*(.+?)\s*$", re.MULTILINE)
INPUT = re.compile(r"\$\{\{\s*(?:github\.event\.)?inputs\.([A-Za-z0-9_-]+)\s*\}\}")


@dataclass
class Repository:
    """`git` is shared with forks. `associations` overrides what GitHub would say of an author."""

    world: World
    id: int
    full_name: str
    default_branch: str
    git: GitStore
    parent: str = ""
    private: bool = False
    branches: dict[str, str] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    collaborators: dict[str, Collaborator] = field(default_factory=dict)
    associations: dict[str, str] = field(default_factory=dict)
    pulls: dict[int, PullRequest] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    check_runs: list[CheckRun] = field(default_factory=list)
    statuses: list[CommitStatus] = field(default_factory=list)
    activity: list[Activity] = field(default_factory=list)
    dispatches: list[Dispatch] = field(default_factory=list)
    codeowners_errors: list[dict[str, Any]] = field(default_factory=list)
    workflows: dict[str, int] = field(default_factory=dict)

    @property
    def owner(self) -> str:
        return self.full_name.split("/")[0]

    @property
    def name(self) -> str:
        return self.full_name.split("/")[1]

    @property
    def lock(self) -> RLock:
        return self.world.lock

    # git -------------------------------------------------------------------------------------------------------

    @locked
    def push(
        self,
        branch: str,
        changes: Mapping[str, bytes | str | None],
        author: str,
        message: str = "Update",
        sha: str = "",
        base: str = "",
        merge: str = "",
    ) -> Commit:
        """Add one commit to a branch and push it. A new branch starts at `base` (default: the default branch).
        `merge` is a branch or commit that becomes the second parent; its changes since the merge base come along."""
        start = self.branches.get(branch) or self.resolve(base or self.default_branch)
        parents: tuple[str, ...] = (start,) if start else ()
        tree = None
        if merge:
            other = self.resolve(merge)
            tree, _ = self.git.merge(self.git.merge_base(start, other), start, other)
            parents = (start, other)
        content = {path: text.encode() if isinstance(text, str) else text for path, text in changes.items()}
        made = self.git.commit(parents, content, message, author, self.world.clock.tick(), sha, tree)
        self.move(branch, made.sha, author)
        return made

    def force_push(self, branch: str, sha: str, actor: str) -> None:
        """Move a branch to a known commit, whatever it was at."""
        self.move(branch, sha, actor, kind="force_push")

    @locked
    def move(self, branch: str, sha: str, actor: str, kind: str = "") -> None:
        """Set a branch, with everything that follows from a push."""
        self.world.user(actor)
        before = self.branches.get(branch, "")
        how = kind or ("push" if before else "branch_creation")
        self.branches[branch] = sha
        at = self.world.clock.tick()
        ref = f"refs/heads/{branch}"
        self.activity.append(Activity(self.world.next_id(), how, ref, before or "0" * 40, sha, actor, at))
        self.world.emit(
            self, "push", "", actor, ref=ref, before=before or "0" * 40, after=sha, forced=how == "force_push"
        )
        for pull in self.world.pulls_of_branch(self, branch):
            pull.pushed(before, sha, actor, forced=how == "force_push")

    @locked
    def delete_branch(self, branch: str, actor: str) -> None:
        before = self.branches.pop(branch)
        ref, at = f"refs/heads/{branch}", self.world.clock.tick()
        gone = Activity(self.world.next_id(), "branch_deletion", ref, before, "0" * 40, actor, at)
        self.activity.append(gone)

    def resolve(self, ref: str) -> str:
        """The commit of a branch, a full ref, or an id (7 characters or more); "" where there is none."""
        short = ref.removeprefix("refs/heads/").removeprefix("heads/")
        if short in self.branches:
            return self.branches[short]
        if ref in self.git.commits:
            return ref
        if ref == "HEAD":
            return self.branches.get(self.default_branch, "")
        if pull := re.fullmatch(r"(?:refs/)?pull/(\d+)/head", ref):
            found = self.pulls.get(int(pull[1]))
            return found.head_sha if found else ""
        near = [sha for sha in self.git.commits if sha.startswith(ref)] if len(ref) >= 7 else []
        return near[0] if len(near) == 1 else ""

    @locked
    def fork(self, owner: str) -> Repository:
        """A fork of another owner, with the same objects and branches."""
        made = self.world.repository(f"{owner}/{self.name}", git=self.git, parent=self.full_name)
        made.branches.update(self.branches)
        return made

    # people ----------------------------------------------------------------------------------------------------

    @locked
    def collaborator(self, login: str, permission: str = "write", role_name: str = "", association: str = "") -> None:
        """Give a person a permission; `role_name` defaults to the permission's own name."""
        self.world.user(login)
        self.collaborators[login] = Collaborator(permission, role_name or permission)
        if association:
            self.associations[login] = association

    def association(self, login: str) -> str:
        """OWNER, MEMBER, COLLABORATOR, CONTRIBUTOR or NONE."""
        if login in self.associations:
            return self.associations[login]
        if login == self.owner:
            return "OWNER"
        if login in self.world.members.get(self.owner, set()):
            return "MEMBER"
        if login in self.collaborators:
            return "COLLABORATOR"
        merged = any(pull.merged_at and pull.author == login for pull in self.pulls.values())
        return "CONTRIBUTOR" if merged else "NONE"

    def permission(self, login: str) -> Collaborator:
        """What a person may do; everybody may read a public repository."""
        if login == self.owner:
            return Collaborator("admin", "admin")
        return self.collaborators.get(login, Collaborator("none" if self.private else "read", "read"))

    # pull requests and labels ----------------------------------------------------------------------------------

    @locked
    def pull_request(
        self,
        head: str,
        author: str,
        title: str = "A pull request",
        body: str = "",
        number: int = 0,
        base: str = "",
        draft: bool = False,
        head_repo: Repository | None = None,
    ) -> PullRequest:
        """Open a pull request from a branch (of a fork: `head_repo`)."""
        world = self.world
        world.user(author)
        number = number or max(self.pulls, default=0) + 1
        now = world.clock.tick()
        made = PullRequest(
            self,
            number,
            world.next_id(),
            head_repo or self,
            head,
            base or self.default_branch,
            author,
            title,
            body,
            now,
        )
        made.draft, made.updated_at = draft, now
        self.pulls[number] = made
        world.emit(self, "pull_request", "opened", author, pull=made)
        return made

    @locked
    def label(self, name: str) -> int:
        """The id of a label, made when it is not there."""
        if name not in self.labels:
            self.labels[name] = self.world.next_id()
        return self.labels[name]

    # runs ------------------------------------------------------------------------------------------------------

    @locked
    def start_run(
        self,
        workflow: str,
        event: str,
        actor: str,
        head_sha: str = "",
        head_branch: str = "",
        title: str = "",
        id: int | None = None,  # noqa: A002
        inputs: Mapping[str, str] | None = None,
        head_repo: str = "",
    ) -> Run:
        """Queue a run of a workflow file (a name, or a path below .github/workflows)."""
        world = self.world
        world.user(actor)
        path = workflow if "/" in workflow else f".github/workflows/{workflow}"
        self.workflow_id(path)
        branch = head_branch or self.default_branch
        sha = head_sha or self.resolve(branch)
        now = world.clock.tick()
        subject = self.git.commits[sha].message.splitlines()[0] if sha in self.git.commits else ""
        shown = title or self._run_name(path, dict(inputs or {})) or subject
        number = 1 + sum(1 for run in self.runs if run.path == path)
        made = Run(self, id or world.next_id(), number, path, event, sha, branch, actor, shown, now)
        made.visible_at, made.updated_at, made.triggering_actor = now + world.lag.runs, now, actor
        made.inputs, made.head_repo = dict(inputs or {}), head_repo or self.full_name
        self.runs.append(made)
        world.emit(self, "workflow_run", "requested", actor, run=made)
        return made

    def run(self, id: int) -> Run | None:  # noqa: A002
        return next((run for run in self.runs if run.id == id), None)

    def workflow_id(self, path: str) -> int:
        return self.workflows.setdefault(path, len(self.workflows) + 101)

    def workflow_name(self, path: str) -> str:
        found = NAME.search(self._workflow(path))
        return found[1].decode().strip("'\"") if found else path

    def _run_name(self, path: str, inputs: Mapping[str, str]) -> str:
        """The title of a dispatched run: `run-name` of the default branch's file with its inputs filled in."""
        found = RUN_NAME.search(self._workflow(path))
        return INPUT.sub(lambda match: inputs.get(match[1], ""), found[1].decode().strip("'\"")) if found else ""

    def _workflow(self, path: str) -> bytes:
        return self.git.read(self.resolve(self.default_branch), path) or b""
