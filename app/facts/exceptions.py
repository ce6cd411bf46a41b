"""Purpose: exceptions granted in comments: `/except <check> <reason> [until YYYY-MM-DD]`.

Invariants: only someone with permission admin AND role admin grants; bots never. An exception is bound to the head at
which it was written (by the branch's activity list) and ends after its last day. The row stays FAIL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from app.commands import parse
from app.facts.base import Facts
from app.facts.github import BranchActivity, Comments, Permissions
from app.facts.records import CommentRecord


@dataclass(frozen=True)
class Granted:
    """Who granted it, why, and until which day (None: while the assessed commit stands)."""

    login: str
    reason: str
    until: date | None
    comment_id: int


def granted_exceptions(facts: Facts, head_sha: str) -> Mapping[int, Granted]:
    """Live exceptions for the assessed commit by check number; the newest comment wins."""
    comments, permissions = facts.get(Comments), facts.get(Permissions)
    activity = facts.get(BranchActivity)
    if comments is None or permissions is None or activity is None:
        return {}
    granted: dict[int, Granted] = {}
    for comment in comments.all:
        if not _may_grant(comment, permissions) or activity.head_at(comment.created_at) != head_sha:
            continue
        for command in parse(comment.body, kind=comment.kind):
            if command.name != "except" or command.problem or command.check is None:
                continue
            if command.until is not None and facts.review_date > command.until:
                continue
            login = comment.author.login
            granted[command.check] = Granted(login, command.reason or "", command.until, comment.id)
    return granted


def _may_grant(comment: CommentRecord, permissions: Permissions) -> bool:
    if comment.author.is_bot or comment.editor not in (None, comment.author.login):
        return False
    permission = permissions.of(comment.author.login)
    return permission is not None and permission.is_admin
