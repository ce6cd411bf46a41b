"""Purpose: the commands of a pull request's comments, who asked, and what was already done about them.

Invariants: bots and our own comments are never commands. A one-shot command is known by (comment id, digest of the
command), so editing the text around it does not run it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.commands import Command, parse
from app.decide.state import PullState, Remark
from app.policy import Policy

STATUS = "status"


@dataclass(frozen=True, slots=True)
class Ask:
    """One command of one remark."""

    remark: Remark
    command: Command

    @property
    def key(self) -> str:
        """Names the command in the record of the status comment."""
        return f"{self.remark.kind}-{self.remark.id}-{self.command.digest}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a command: accepted, or not with the code of the sentence that says why.

    `None` as `accepted` leaves the reaction as it is (a superseded command keeps its thumb).
    """

    accepted: bool | None
    code: str = ""
    values: Mapping[str, object] | None = None


def asks(state: PullState, policy: Policy) -> tuple[Ask, ...]:
    """Every command, oldest comment first, in the order of the lines."""
    found = []
    for remark in sorted(state.remarks, key=lambda one: (one.created_at, one.id)):
        if remark.author.bot or remark.author.id in (0, state.bot.id):
            continue
        for command in parse(remark.body, kind=remark.kind, compat=policy.commands.compat):
            found.append(Ask(remark, command))
    return tuple(found)


def record(state: PullState) -> dict[str, dict[str, object]]:
    """The command record of the status comment: key -> {"state": "started" | "done", ...}."""
    status = state.own_comment(STATUS)
    kept = status.payload.get("commands") if status else None
    shown = kept if isinstance(kept, Mapping) else {}
    just_done: dict[str, dict[str, object]] = {key: {"state": "done"} for key in sorted(state.done_commands)}
    return just_done | {str(key): dict(value) for key, value in shown.items() if isinstance(value, Mapping)}
