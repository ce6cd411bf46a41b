"""Purpose: the staging handshake: one comment, one dispatch to the target, two edits by its callbacks.

    comment "asked" -> dispatch -> marker "sent" (the text stays) -> callback: "started" -> "succeeded" or "failed"

Permission is read again before the dispatch. An unanswered dispatch is repeated after a minute with the same comment
id: the target stages the same (run, attempt) over itself, and its callback ends the matter.
"""

from __future__ import annotations

from urllib.parse import quote

from app.decide.actions import FinishStaging, Stage
from app.decide.staging import STAGING
from app.effects.context import Context
from app.effects.ports import Refused
from app.words.staging import staging as words


def stage(action: Stage, context: Context) -> None:
    state = context.state
    if not context.reader.permission(state.ref.repository, action.requester).writer:
        raise Refused(f"{action.requester} has no write access any more")
    payload = {"run": action.run_id, "attempt": action.attempt, "date": action.run_date, "requester": action.requester}
    visible = words(state="asked", requester=action.requester, run_id=action.run_id)
    comment_id = context.comments.upsert(STAGING, action.command, {**payload, "state": "asked"}, visible)

    def create() -> str:
        context.writer.repository_dispatch(
            context.policy.staging.repository,
            "stage-results",
            {
                "source-repository": state.ref.repository,
                "pr-number": state.ref.number,
                "run-id": action.run_id,
                "run-attempt": action.attempt,
                "run-date": action.run_date,
                "requested-by": action.requester,
                "comment-id": comment_id,
            },
        )
        return str(comment_id)

    context.once.create(f"{state.ref}:stage:{action.command}", find=lambda: None, create=create)
    context.comments.edit(STAGING, action.command, comment_id, {**payload, "state": "sent"}, visible)
    context.journal.audit(action.requester, "stage", {"run": action.run_id})


def finish_staging(action: FinishStaging, context: Context) -> None:
    shown = context.comments.find(STAGING, action.comment_key)
    if shown is None:
        return
    told, policy = shown.payload, context.policy.staging
    span = quote(f"{told['date']}~r{told['run']}", safe="")
    visible = words(
        state=action.state,
        requester=str(told["requester"]),
        run_id=int(told["run"]),
        app_run_url=f"{context.links.web}/{policy.repository}/actions/runs/{action.link}",
        chart_url=f"{policy.site}/inference?i_dates={span}",
    )
    context.comments.upsert(STAGING, action.comment_key, {**told, "state": action.state}, visible)
    context.journal.audit("staging", action.state, {"run": told["run"]})
