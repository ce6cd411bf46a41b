"""Purpose: one verdict: collect and judge (injected), publish as check run and comment.

Invariant: the comment comes last. Its marker says that this verdict was given, so after a crash anywhere before it the
verdict is made and published again, and nothing of it is missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from app.decide.actions import Verify
from app.decide.keys import sign_off_key
from app.decide.sign_offs import VERDICT
from app.decide.state import PullState, Remark
from app.effects.context import Context
from app.effects.ports import CheckRunText, Refused
from app.effects.verify import VerdictText, VerifyRequest
from app.words.verdict import NO_FINDINGS

VERDICT_CHECK = "Sweepgate verdict"
MAX_CHECK_TEXT = 65_000


def verify(action: Verify, context: Context) -> None:
    """The verdict speaks of the head that it names, even if the branch moved on meanwhile."""
    state = context.state
    sign_off = _sign_off(action, state)
    shown = context.comments.find(VERDICT, action.sign_off)
    previous = shown.payload if shown else None
    remembered = _remembered_head(sign_off, previous)
    text = context.verify(
        VerifyRequest(state, action.head_sha, sign_off, remembered, action.pin, action.exceptions, previous)
    )
    context.comments.refresh()
    payload = {
        **text.payload,
        "assessed": action.head_sha,
        "verify_key": action.verify_key,
        "reviewed_on": state.review_date,
        "signed_head": text.payload.get("signed_head"),
        "signed_at": signed_at(sign_off) if sign_off else None,
        "asked": sorted({*(previous or {}).get("asked", ()), *action.asked}),
    }
    _publish_check_run(action, text, context)
    comment_id = context.comments.upsert(VERDICT, action.sign_off, payload, text.body)
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
    return next((remark for remark in state.remarks if sign_off_key(remark) == action.sign_off), None)


def signed_at(remark: Remark) -> float:
    """Creation, or the author's own last edit: an edit signs anew."""
    if remark.edited_at is not None and not remark.edited_by_another:
        return remark.edited_at
    return remark.created_at


def _remembered_head(remark: Remark | None, previous: Mapping[str, Any] | None) -> str | None:
    """The branch head when the sign-off was made, as our marker keeps it; None where it has to be found anew."""
    if remark is None or not previous or previous.get("signed_at") != signed_at(remark):
        return None
    return str(previous["signed_head"]) if previous.get("signed_head") else None


def _publish_check_run(action: Verify, text: VerdictText, context: Context) -> None:
    """The whole verdict as a check run. A plain token may not write check runs: the comment then stands alone.

    Annotations of a check run can only be added, so each text has a check run of its own; GitHub shows the newest.
    """
    key = f"verdict-{action.sign_off}-{hashlib.sha256(text.full_text.encode()).hexdigest()[:12]}"
    known = next((run for run in context.state.check_runs if run.external_id == key), None)
    conclusion = {"PASS": "success", "WARN": "neutral", "REJECTED": "failure"}[text.header]
    told = CheckRunText(
        name=VERDICT_CHECK,
        external_id=key,
        status="completed",
        conclusion=conclusion,
        title=text.check_title,
        summary=text.check_title if text.annotations else f"{text.check_title}. {NO_FINDINGS}",
        text=text.full_text[:MAX_CHECK_TEXT],
        annotations=text.annotations,
    )
    try:
        context.writer.put_check_run(context.state.ref.repository, action.head_sha, told, known.id if known else None)
    except Refused as error:
        context.journal.audit("sweepgate", "no-check-run", {"reason": str(error)})
