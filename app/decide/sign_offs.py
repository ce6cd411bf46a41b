"""Purpose: which remarks are sign-offs, which of them are live, and which verdicts are due.

A sign-off holds the opening words of the checklist outside quotes and code, by a person who may write. Each keeps its
own verdict comment. A verdict is due exactly when `verify_key` differs from the one in the trusted marker, when its
review date has come, or when `/verify` asks for it.

Accepted race: a sign-off that is deleted keeps its last verdict; nobody is asked about it again.
"""

from __future__ import annotations

from app.decide.actions import Exempt, Pin, Verify
from app.decide.keys import sign_off_key, verify_key
from app.decide.state import OwnComment, PullState, Remark, Run
from app.decide.view import View
from app.target.checklist import holds_trigger

VERDICT = "verdict"
BY_HAND = "by-hand"


def candidates(state: PullState) -> tuple[Remark, ...]:
    """Every remark of a person that holds the opening words."""
    return tuple(
        remark
        for remark in state.remarks
        if not remark.author.bot and remark.author.id not in (0, state.bot.id) and holds_trigger(remark.body)
    )


def live(view: View) -> tuple[Remark, ...]:
    """Sign-offs that count: by people who may write. Empty while a permission is still unknown."""
    return tuple(remark for remark in candidates(view.state) if view.is_writer(remark))


def due(
    view: View,
    *,
    sign_offs: tuple[Remark, ...],
    pin: Pin | None,
    evidence: Run | None,
    exceptions: tuple[Exempt, ...],
    asked: tuple[str, ...],
) -> tuple[Verify, ...]:
    """The verdicts to make now. `asked` are the keys of `/verify` commands that no verdict answers yet."""
    state = view.state
    if state.state != "open" or (state.draft and not asked):
        return ()
    key = verify_key(
        state,
        sign_offs=sign_offs,
        pin=pin,
        evidence=evidence,
        exceptions=exceptions,
        labels=recognised(view),
    )
    names = [sign_off_key(remark) for remark in sign_offs]
    if asked and not names:
        names = [BY_HAND]
    return tuple(
        Verify(name, state.head_sha, key, pin, exceptions, asked)
        for name in names
        if asked or state.refresh or _is_due(state, state.own_comment(VERDICT, name), key)
    )


def recognised(view: View) -> frozenset[str]:
    """The labels that mean something to a sweep."""
    return view.state.labels & (frozenset(view.policy.sweep.primaries) | frozenset(view.policy.sweep.modifiers))


def _is_due(state: PullState, verdict: OwnComment | None, key: str) -> bool:
    if verdict is None or verdict.payload.get("verify_key") != key:
        return True
    recheck = str(verdict.payload.get("recheck_on") or "")
    reviewed = str(verdict.payload.get("reviewed_on") or "")
    return bool(recheck and state.review_date >= recheck > reviewed)
