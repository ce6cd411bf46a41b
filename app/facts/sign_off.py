"""Purpose: sign-offs: the comment that the verdict is about, and all live ones.

Invariants: a sign-off's author is a person; the signed head is the branch head at its creation or its author's last
edit (an edit signs anew), from the activity list, never from commit dates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from app.facts.base import Fact
from app.facts.records import CommentRecord
from app.target.checklist import SignOff as Checklist


@dataclass(frozen=True)
class SignedComment:
    """One live sign-off. `signed_head` is None where it could not be established (`why_not` says why)."""

    comment: CommentRecord
    checklist: Checklist
    signed_at: str
    signed_head: str | None
    why_not: str = ""

    @property
    def login(self) -> str:
        return self.comment.author.login


@dataclass(frozen=True)
class SignOff(Fact):
    """The sign-off that this verdict answers."""

    title: ClassVar[str] = "the sign-off"
    sources: ClassVar[tuple[str, ...]] = ("comments", "activity")
    signed: SignedComment


@dataclass(frozen=True)
class SignOffs(Fact):
    """All live sign-offs by people, oldest first."""

    title: ClassVar[str] = "the sign-offs"
    sources: ClassVar[tuple[str, ...]] = ("comments", "activity")
    all: tuple[SignedComment, ...]
