"""Purpose: performs each action of a decision once, in order.

Invariants: every effect can be repeated at any point: it looks for its own result first, re-reads what it depends on
when something slow lay between, and leaves a trace that the next decision reads back from GitHub.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from app.decide.actions import Action, PostResults, PostWelcome, SetReaction, Verify
from app.decide.core import RESULTS, WELCOME
from app.decide.sign_offs import VERDICT
from app.decide.state import PullState, Remark
from app.effects import verify as door
from app.effects.comments import CommentEffects
from app.effects.markers import Markers
from app.effects.once import Once
from app.effects.ports import CheckRunText, Ledger, NotThere, Reader, Writer
from app.policy import Policy
from app.words.results import results
from app.words.welcome import welcome

VERDICT_CHECK = "Sweepgate verdict"


class Journal(Protocol):
    """What is worth keeping beside GitHub: the verdict index and the audit trail."""

    def verdict(self, row: Mapping[str, Any]) -> None: ...

    def audit(self, actor: str, what: str, detail: Mapping[str, Any]) -> None: ...


@dataclass(frozen=True)
class Links:
    """Addresses that comments point at."""

    web: str = "https://github.com"
    results_site: str = "https://inferencex.semianalysis.com"
    checklist: str = "docs/PR_REVIEW_CHECKLIST.md"
    docs: str = "docs"


@dataclass
class Context:
    """What effects work with, for one pull request of one installation."""

    state: PullState
    policy: Policy
    reader: Reader
    writer: Writer
    markers: Markers
    ledger: Ledger
    journal: Journal
    verify: door.Verify
    clock: Callable[[], float]
    visible_seconds: float = 60.0
    links: Links = field(default_factory=Links)

    def __post_init__(self) -> None:
        self.once = Once(self.ledger, clock=self.clock, visible=self.visible_seconds)
        self.comments = CommentEffects(
            self.state.ref,
            self.state.bot,
            self.state.own,
            reader=self.reader,
            writer=self.writer,
            markers=self.markers,
            once=self.once,
        )


def perform(action: Action, context: Context) -> None:
    """Perform one action. Raises the errors of app.effects.ports."""
    _EFFECTS[type(action)](action, context)


def _react(action: SetReaction, context: Context) -> None:
    try:
        for content in action.remove:
            context.writer.remove_reaction(context.state.ref, action.kind, action.id, content)
        if action.content is not None:
            context.writer.add_reaction(context.state.ref, action.kind, action.id, action.content)
    except NotThere:
        return  # the remark was deleted meanwhile: nothing to react to


def _welcome(_action: PostWelcome, context: Context) -> None:
    sweep, state = context.policy.sweep, context.state
    base = f"{context.links.web}/{state.ref.repository}/blob/{state.default_branch}"
    text = welcome(
        primaries=tuple(sweep.primaries),
        modifiers=sweep.modifiers,
        checklist=f"{base}/{context.links.checklist}",
        docs=f"{base}/{context.links.docs}",
    )
    context.comments.upsert(WELCOME, "", {}, text, replace=lambda _: False)
    context.journal.audit("sweepgate", "welcome", {})


def _results(action: PostResults, context: Context) -> None:
    run = context.state.run(action.run_id)
    if run is None:
        return
    text = results(
        site=context.links.results_site,
        run_id=run.id,
        conclusion=run.conclusion or "unknown",
        run_url=f"{context.links.web}/{context.state.ref.repository}/actions/runs/{run.id}",
    )
    context.comments.upsert(
        RESULTS, "", {"run": run.id}, text, replace=lambda shown: int(shown.payload.get("run", 0)) < run.id
    )
    context.journal.audit("sweepgate", "results", {"run": run.id})


def _verify(action: Verify, context: Context) -> None:
    """Collect, judge, publish. The verdict speaks of the head that it names, even if the branch moved on."""
    state = context.state
    sign_off = _sign_off(action, state)
    shown = context.comments.find(VERDICT, action.sign_off)
    previous = shown.payload if shown else None
    signed_head = _signed_head(sign_off, previous, context)
    text = context.verify(
        door.VerifyRequest(state, action.head_sha, sign_off, signed_head, action.pin, action.exceptions, previous)
    )
    context.comments.refresh()
    payload = {
        **text.payload,
        "assessed": action.head_sha,
        "verify_key": action.verify_key,
        "reviewed_on": state.review_date,
        "signed_head": signed_head,
        "signed_at": _signed_at(sign_off) if sign_off else None,
    }
    comment_id = context.comments.upsert(VERDICT, action.sign_off, payload, text.body)
    _publish_check_run(action, text, context)
    context.journal.verdict(
        {
            "sign_off": action.sign_off,
            "head_sha": action.head_sha,
            "verify_key": action.verify_key,
            "header": text.header,
            "payload": payload,
            "text": text.full_text,
            "comment_id": comment_id,
        }
    )
    who = sign_off.author.login if sign_off else "by hand"
    context.journal.audit(who, "verdict", {"header": text.header, "commit": action.head_sha, "comment": comment_id})


def _sign_off(action: Verify, state: PullState) -> Remark | None:
    return next((remark for remark in state.remarks if f"{remark.kind}-{remark.id}" == action.sign_off), None)


def _signed_at(remark: Remark) -> float:
    """Creation, or the author's own last edit: an edit signs anew."""
    edited = remark.edited_at is not None and not remark.edited_by_another
    return remark.edited_at if edited and remark.edited_at is not None else remark.created_at


def _signed_head(remark: Remark | None, previous: Mapping[str, Any] | None, context: Context) -> str | None:
    """The branch head when the sign-off was made, from our marker or from the branch's activity; None if unknown."""
    if remark is None:
        return None
    at = _signed_at(remark)
    if previous and previous.get("signed_at") == at and previous.get("signed_head"):
        return str(previous["signed_head"])
    history = context.state.history
    if history is None:
        history = tuple(context.reader.history(context.state.head_repository, context.state.head_ref))
    before = [change for change in history if change.at < at]
    return max(before, key=lambda change: change.at).sha if before else None


def _publish_check_run(action: Verify, text: door.VerdictText, context: Context) -> None:
    key = f"verdict-{action.sign_off}"
    known = next((run for run in context.state.check_runs if run.external_id == key), None)
    conclusion = {"PASS": "success", "WARN": "neutral", "REJECTED": "failure"}.get(text.header, "neutral")
    context.writer.put_check_run(
        context.state.ref.repository,
        action.head_sha,
        CheckRunText(
            name=VERDICT_CHECK,
            external_id=key,
            status="completed",
            conclusion=conclusion,
            title=text.check_title,
            summary=text.check_title,
            text=text.full_text[:65_000],
        ),
        known.id if known else None,
    )


def utc_date(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).date().isoformat()


_EFFECTS: dict[type, Callable[[Any, Context], None]] = {
    SetReaction: _react,
    PostWelcome: _welcome,
    PostResults: _results,
    Verify: _verify,
}
