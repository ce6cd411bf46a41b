"""Purpose: finds the sign-offs among the comments, and the branch head that each of them signed.

Invariants: a sign-off is a comment by a person that holds the trigger phrase in its own words: not in a quote, in code,
in an HTML comment, or beside a marker of ours. Its signed time is its creation, or its author's own last edit (an edit
signs anew). An edit by another person does not sign.
"""

from __future__ import annotations

from collections.abc import Mapping

from app.facts.base import Facts, Missing
from app.facts.github import BranchActivity, Comments, PullRequest
from app.facts.records import CommentRecord
from app.facts.sign_off import SignedComment, SignOffs
from app.target.checklist import holds_trigger, parse_signoff

MARKER_PREFIX = "<!-- sweepgate"


def is_sign_off(comment: CommentRecord) -> bool:
    """True for a person's comment that carries the trigger phrase and no marker of ours."""
    return not comment.author.is_bot and MARKER_PREFIX not in comment.body and holds_trigger(comment.body)


def signed_at(comment: CommentRecord) -> str:
    """RFC 3339 UTC time at which the author last put their name under this text."""
    edited_by_author = comment.editor is not None and comment.editor.lower() == comment.author.login.lower()
    return comment.updated_at if edited_by_author else comment.created_at


def sign_offs(facts: Facts, answered: Mapping[str, object]) -> SignOffs:
    """All live sign-offs, oldest first. `answered` may carry the signed head that our marker remembers."""
    activity = facts.state(BranchActivity)
    head_ref = facts[PullRequest].record.head_ref
    found = []
    for comment in facts[Comments].all:
        if not is_sign_off(comment):
            continue
        time = signed_at(comment)
        if isinstance(activity, Missing):
            head, why_not = None, f"{activity.source}: {activity.reason}"
        else:
            head = activity.head_at(time)
            why_not = "" if head else f"the activity list of {head_ref} does not reach back to {time}"
        if head is None and (comment.kind, comment.id) == (answered.get("kind"), answered.get("id")):
            head = str(answered.get("signed_head") or "") or None
        if comment.editor is not None and comment.editor.lower() != comment.author.login.lower():
            head, why_not = None, f"it was last edited by {comment.editor}, not by its author"
        found.append(SignedComment(comment, parse_signoff(comment.body), time, head, why_not))
    return SignOffs(tuple(found))
