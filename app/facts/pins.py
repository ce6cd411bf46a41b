"""Purpose: which comment pins the run whose results a merge will publish: `/use N`, `/reuse-sweep-run [N]`.

Level-based: the newest comment by creation whose author is authorised and whose live body holds a valid command wins,
across both names; in one comment the last valid line counts. Editing an older comment does not promote it.

Invariants: bots never pin. A comment edited by another person counts only if author and editor are both authorised.
A permission that could not be read is never taken for "no": it makes the answer undecided (design.md 7).
Source: workflows.md 3.2 and its last section.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from app.commands import Command, parse
from app.facts.github import Permissions
from app.facts.records import CommentRecord
from app.policy import CommandPolicy

NAMES = ("use", "reuse-sweep-run")


@dataclass(frozen=True, slots=True)
class Pin:
    """A reuse command that counts. `run_id` None asks for the newest successful run."""

    comment: CommentRecord
    line: int
    name: str
    run_id: int | None

    @property
    def text(self) -> str:
        return f"/{self.name} {self.run_id}" if self.run_id is not None else f"/{self.name}"


@dataclass(frozen=True, slots=True)
class NoPin:
    """A reuse command that does not count, and why. `undecided`: it might count, its author could not be looked up."""

    comment: CommentRecord
    line: int
    why: Literal["syntax", "bot", "association", "permission", "editor", "undecided"]
    reason: str


@dataclass(frozen=True, slots=True)
class Pins:
    """The live pin, the older pins that it supersedes (newest first), and newer commands that do not count."""

    live: Pin | None
    superseded: tuple[Pin, ...] = ()
    refused: tuple[NoPin, ...] = ()

    @property
    def undecided(self) -> tuple[NoPin, ...]:
        return tuple(refused for refused in self.refused if refused.why == "undecided")


def reuse_pins(comments: Iterable[CommentRecord], permissions: Permissions | None, policy: CommandPolicy) -> Pins:
    """Read every comment's live body. Refused commands older than the live pin are left out."""
    pins: list[Pin] = []
    refused: list[NoPin] = []
    for comment in sorted(comments, key=lambda one: (one.created_at, one.id), reverse=True):
        command = _last_command(comment, policy)
        if command is None:
            continue
        denial = _denial(comment, command, permissions, policy)
        if denial is None:
            pins.append(Pin(comment, command.line, command.name, command.run_id))
        elif not pins:
            refused.append(denial)
    return Pins(pins[0] if pins else None, tuple(pins[1:]), tuple(refused))


def _last_command(comment: CommentRecord, policy: CommandPolicy) -> Command | None:
    """The last valid reuse command, else the last malformed one."""
    found = [one for one in parse(comment.body, kind=comment.kind, compat=policy.compat) if one.name in NAMES]
    valid = [one for one in found if one.problem is None]
    return valid[-1] if valid else found[-1] if found else None


def _denial(
    comment: CommentRecord, command: Command, permissions: Permissions | None, policy: CommandPolicy
) -> NoPin | None:
    def refuse(why: Literal["syntax", "bot", "association", "permission", "editor", "undecided"], reason: str) -> NoPin:
        return NoPin(comment, command.line, why, reason)

    author, editor = comment.author.login, comment.editor
    if comment.author.is_bot:
        return refuse("bot", f"@{author} is a bot")
    if command.problem is not None:
        return refuse("syntax", command.problem.text)
    if comment.association not in policy.associations:
        return refuse("association", f"@{author} is {comment.association} here; {_listed(policy.associations)} may pin")
    people = [author] if policy.reuse_needs_write else []
    if editor is not None and editor.lower() != author.lower():
        people.append(editor)
    for login in people:
        record = permissions.of(login) if permissions is not None else None
        if record is None:
            why = permissions.problems.get(login.lower(), "was not asked for") if permissions else "was not gathered"
            return refuse("undecided", f"the permission of @{login} {why}")
        if not record.can_write:
            kind: Literal["permission", "editor"] = "permission" if login == author else "editor"
            return refuse(kind, f"@{login} has {record.permission} permission, write is needed")
    return None


def _listed(associations: Iterable[str]) -> str:
    return ", ".join(associations)
