"""Purpose: the stand-in's whole mutable state: people, repositories, tokens, webhooks, faults, the request log.

Invariants: one lock guards everything: the server holds it for each request, every change of a story holds it too.
Nothing here does I/O.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.sandbox.clock import Clock, HandClock
from app.sandbox.faults import Faults, Lag
from app.sandbox.git import GitStore
from app.sandbox.locking import locked
from app.sandbox.model import App, Budget, Dispatch, Installation, Team, Token, User
from app.sandbox.payloads import payload_of
from app.sandbox.pull import PullRequest
from app.sandbox.repository import Repository
from app.sandbox.runs import Run
from app.sandbox.webhooks import Webhooks

FIRST_ID = 5_000_000_000
FIRST_SMALL_ID = 90_000_000
CORE_LIMIT = 5000


@dataclass(frozen=True)
class Logged:
    """One request that was served. `host` is github, files, checkpoint or pages; `counted` says whether it counts as
    a GitHub API request (redirect hops and other hosts do not)."""

    method: str
    path: str
    query: str
    host: str
    status: int
    actor: str
    authorization: bool
    counted: bool


@dataclass
class World:
    """All state. See the package's docstring for the ways to fill it."""

    clock: Clock = field(default_factory=HandClock)
    wall: Callable[[], float] = time.time
    web: str = "https://github.com"
    api_url: str = "https://api.github.com"
    files_url: str = "https://files.invalid"
    latency: float = 0.0
    lag: Lag = field(default_factory=Lag)
    faults: Faults = field(default_factory=Faults)
    webhooks: Webhooks = field(default_factory=Webhooks)
    users: dict[str, User] = field(default_factory=dict)
    repositories: dict[str, Repository] = field(default_factory=dict)
    tokens: dict[str, Token] = field(default_factory=dict)
    core_limit: int = CORE_LIMIT
    budgets: dict[tuple[str, str], Budget] = field(default_factory=dict)
    members: dict[str, set[str]] = field(default_factory=dict)
    teams: dict[str, Team] = field(default_factory=dict)
    apps: dict[int, App] = field(default_factory=dict)
    installations: dict[int, Installation] = field(default_factory=dict)
    checkpoints: dict[str, dict[str, dict[str, bytes]]] = field(default_factory=dict)
    checkpoint_info: dict[str, dict[str, Any]] = field(default_factory=dict)
    pages: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    requests: list[Logged] = field(default_factory=list)
    on_dispatch: list[Callable[[Run], None]] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    on_repository_dispatch: list[Callable[[Repository, Dispatch], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._last_id = FIRST_ID
        self._last_small_id = FIRST_SMALL_ID

    def next_id(self) -> int:
        """A fresh id, above 32 bits as GitHub's have been for years."""
        self._last_id += 1
        return self._last_id

    def small_id(self) -> int:
        """A fresh id of a user or repository: these still fit 32 bits."""
        self._last_small_id += 1
        return self._last_small_id

    @classmethod
    def load(cls, folder: Path) -> World:
        """A world from a folder with a `world.yaml` (layout: load.py). Raises BadWorld."""
        from app.sandbox.load import load

        return load(cls(), folder)

    # people and tokens -----------------------------------------------------------------------------------------

    @locked
    def user(self, login: str, id: int | None = None, kind: str = "") -> User:  # noqa: A002
        """The user of a login, made when not there. A login that ends with "[bot]" is a Bot."""
        if login not in self.users:
            told = kind or ("Bot" if login.endswith("[bot]") else "User")
            self.users[login] = User(login, id or self.small_id(), told)
        return self.users[login]

    @locked
    def organization(self, login: str, members: tuple[str, ...] = ()) -> None:
        self.user(login, kind="Organization").kind = "Organization"
        self.members.setdefault(login, set()).update(members)
        for member in members:
            self.user(member)

    @locked
    def team(self, name: str, members: tuple[str, ...] = (), visible: bool = True) -> Team:
        """A team by "organization/slug"; with `visible=False` its members cannot be read."""
        organization, slug = name.split("/")
        self.organization(organization, members)
        self.teams[name] = Team(organization, slug, set(members), visible)
        return self.teams[name]

    @locked
    def token(self, text: str, login: str) -> str:
        """Let a token speak for a login."""
        self.user(login)
        self.tokens[text] = Token(login)
        return text

    @locked
    def app(self, id: int, slug: str, public_key: str, permissions: Mapping[str, str] | None = None) -> App:  # noqa: A002
        """A GitHub App; its bot is "<slug>[bot]"."""
        made = App(id, slug, public_key, dict(permissions or DEFAULT_PERMISSIONS))
        self.apps[id] = made
        self.user(made.bot)
        return made

    @locked
    def install(self, app: App, account: str, id: int | None = None) -> Installation:  # noqa: A002
        """Install an App on an account."""
        made = Installation(id or self.next_id(), app.id, account)
        self.installations[made.id] = made
        return made

    def budget(self, token: str, resource: str = "core") -> Budget:
        """The primary limit of a token; refilled every hour of the wall clock."""
        found = self.budgets.setdefault((token, resource), Budget(self.core_limit if token else 60))
        if found.resets_at <= self.wall():
            found.used, found.resets_at = 0, self.wall() + 3600
        return found

    # repositories ----------------------------------------------------------------------------------------------

    @locked
    def repository(
        self,
        full_name: str,
        files: Mapping[str, bytes | str] | None = None,
        default_branch: str = "main",
        git: GitStore | None = None,
        parent: str = "",
        sha: str = "",
    ) -> Repository:
        """A repository; with `files` it starts with one commit on its default branch (id fixed by `sha`)."""
        owner = full_name.split("/", maxsplit=1)[0]
        if owner not in self.users:
            self.user(owner, kind="Organization")
        made = Repository(self, self.small_id(), full_name, default_branch, git or GitStore(), parent)
        self.repositories[full_name.lower()] = made
        if files is not None:
            content = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
            first = made.git.commit((), content, "Initial commit", owner, self.clock.tick(), sha)
            made.branches[default_branch] = first.sha
        return made

    def find(self, full_name: str) -> Repository | None:
        """A repository by name, in any case of letters."""
        return self.repositories.get(full_name.lower())

    def pulls_of_branch(self, repo: Repository, branch: str) -> list[PullRequest]:
        """Open pull requests, of any repository, whose head is this branch."""
        every = [pull for each in self.repositories.values() for pull in each.pulls.values()]
        return [p for p in every if p.state == "open" and p.head_repo is repo and p.head_branch == branch]

    # other hosts -----------------------------------------------------------------------------------------------

    @locked
    def checkpoint(
        self,
        repo: str,
        sha: str,
        files: Mapping[str, bytes],
        revision: str = "main",
        info: Mapping[str, Any] | None = None,
    ) -> None:
        """A model repository: `files` at a commit that `revision` points to; `info` joins the model's description."""
        at = self.checkpoints.setdefault(repo, {})
        at[sha] = at[revision] = dict(files)
        told = {"sha": sha, **(info or {})}
        self.checkpoint_info[f"{repo}@{revision}"] = self.checkpoint_info[f"{repo}@{sha}"] = told

    @locked
    def page(self, url: str, content: bytes | str, media: str = "text/html; charset=utf-8") -> None:
        """A page of another host, by its real URL."""
        self.pages[url.split("://", 1)[-1]] = (media, content.encode() if isinstance(content, str) else content)

    # what was asked, what is told ------------------------------------------------------------------------------

    def counted(self) -> int:
        """GitHub API requests so far; redirect hops and other hosts do not count."""
        return sum(1 for each in self.requests if each.counted)

    def emit(self, repo: Repository, event: str, action: str, sender: str, **parts: Any) -> None:
        """Put a webhook into the outbox."""
        if self.webhooks.quiet:
            return
        payload = payload_of(self, repo, action, sender, parts)
        self.webhooks.emit(self.next_id(), event, action, repo.full_name, payload)

    def installation_of(self, repo: Repository) -> Installation | None:
        return next((each for each in self.installations.values() if each.account == repo.owner), None)


DEFAULT_PERMISSIONS = {
    "actions": "write",
    "checks": "write",
    "contents": "write",
    "issues": "write",
    "members": "read",
    "metadata": "read",
    "pull_requests": "write",
    "statuses": "write",
}
