"""Purpose: the plain records of the stand-in's world. Their behaviour lives in the rooms that change them.

Invariants: ids are unique within a world; times are seconds since 1970; `visible_at` is when lists begin to show a
record (the stand-in can show new runs and comments late, as GitHub does).
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class User:
    """`kind` is User, Bot or Organization. A bot's login ends with "[bot]"."""

    login: str
    id: int
    kind: str = "User"


@dataclass
class Reaction:
    id: int
    content: str
    user: str
    created_at: float


@dataclass
class Comment:
    """A conversation comment, a review or an inline review comment (`kind` issue, review, review_comment)."""

    id: int
    kind: str
    author: str
    body: str
    created_at: float
    updated_at: float
    visible_at: float = 0.0
    edited_at: float | None = None
    editor: str = ""
    reactions: list[Reaction] = field(default_factory=list)
    state: str = ""
    commit: str = ""
    path: str = ""
    line: int = 0
    review: int = 0


@dataclass
class Event:
    """An entry of a pull request's timeline. `kind` is GitHub's name, such as labeled or head_ref_force_pushed."""

    id: int
    kind: str
    actor: str
    created_at: float
    label: str = ""
    before: str = ""
    after: str = ""

    @property
    def node_id(self) -> str:
        return f"EV_{self.kind}_{self.id}"


@dataclass
class Activity:
    """A change of a branch, in server time. `kind`: push, force_push, branch_creation, branch_deletion, pr_merge."""

    id: int
    kind: str
    ref: str
    before: str
    after: str
    actor: str
    at: float


@dataclass
class Step:
    name: str
    number: int
    conclusion: str
    started_at: float
    completed_at: float


@dataclass
class Job:
    """A job of a run attempt. `runner` is empty for a job that no runner executed; `log` is its raw text."""

    id: int
    name: str
    attempt: int
    status: str = "completed"
    conclusion: str | None = "success"
    runner: str = ""
    labels: tuple[str, ...] = ()
    steps: list[Step] = field(default_factory=list)
    log: bytes = b""
    started_at: float = 0.0
    completed_at: float | None = None


@dataclass
class Artifact:
    """`zipped` is the archive as uploaded. `declared_size` overrides the size that the list tells."""

    id: int
    name: str
    zipped: bytes
    created_at: float
    expired: bool = False
    declared_size: int | None = None

    @property
    def size(self) -> int:
        return len(self.zipped) if self.declared_size is None else self.declared_size


@dataclass
class Annotation:
    path: str
    start_line: int
    end_line: int
    level: str
    message: str
    title: str = ""


@dataclass
class CheckRun:
    id: int
    name: str
    sha: str
    status: str
    conclusion: str | None
    app: str
    started_at: float
    completed_at: float | None = None
    external_id: str = ""
    details_url: str = ""
    title: str = ""
    summary: str = ""
    text: str = ""
    annotations: list[Annotation] = field(default_factory=list)


@dataclass
class CommitStatus:
    id: int
    sha: str
    context: str
    state: str
    description: str
    target_url: str
    creator: str
    at: float


@dataclass
class Collaborator:
    """`permission` is admin, write, read or none; `role_name` may also be maintain, triage or a custom role."""

    permission: str
    role_name: str


@dataclass
class Team:
    """`visible=False`: the membership endpoint answers 403, as for a token that may not read it."""

    organization: str
    slug: str
    members: set[str]
    visible: bool = True


@dataclass
class App:
    """A GitHub App. `public_key` is PEM; `permissions` are what an installation is given."""

    id: int
    slug: str
    public_key: str
    permissions: dict[str, str]

    @property
    def bot(self) -> str:
        return f"{self.slug}[bot]"


@dataclass
class Installation:
    id: int
    app: int
    account: str


@dataclass
class Token:
    """Who speaks with a token. `expires_at` is in the wall clock's seconds; 0 never expires."""

    login: str
    installation: int = 0
    expires_at: float = 0.0


@dataclass
class Budget:
    """The primary rate limit of one token and resource."""

    limit: int
    used: int = 0
    resets_at: float = 0.0

    @property
    def remaining(self) -> int:
        return max(0, self.limit - self.used)


@dataclass
class Dispatch:
    """A repository_dispatch that was received."""

    event_type: str
    client_payload: dict[str, object]
    sender: str
    at: float
