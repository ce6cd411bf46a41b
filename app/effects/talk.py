"""Purpose: what people see at once: reactions, the welcome, the status comment, the links of a finished run."""

from __future__ import annotations

from collections.abc import Sequence

from app.decide.actions import PostResults, PostWelcome, SetReaction, SetStatus
from app.decide.asks import STATUS
from app.decide.core import RESULTS, WELCOME
from app.effects.context import Context
from app.effects.ports import NotThere, Refused
from app.effects.triage import failures
from app.evidence.wanted import layout_of
from app.results.triage import Diagnosis
from app.target.tree import Layout
from app.words.results import results
from app.words.status import status
from app.words.welcome import welcome


def react(action: SetReaction, context: Context) -> None:
    """GitHub keeps one reaction of a kind and person, so repeating is harmless."""
    try:
        for content in action.remove:
            context.writer.remove_reaction(context.state.ref, action.kind, action.id, content)
        if action.content is not None:
            context.writer.add_reaction(context.state.ref, action.kind, action.id, action.content)
    except NotThere:
        return  # the remark was deleted meanwhile: nothing to react to


def post_welcome(_action: PostWelcome, context: Context) -> None:
    sweep, state = context.policy.sweep, context.state
    told = context.policy.layout
    layout = layout_of(state.paths, False) if told == "auto" else Layout(told)
    base = f"{context.links.web}/{state.ref.repository}/blob/{state.default_branch}/{layout.root}"
    text = welcome(
        primaries=tuple(sweep.primaries),
        modifiers=sweep.modifiers,
        checklist=f"{base}{context.links.checklist}",
        docs=f"{base}{context.links.docs}",
    )
    context.comments.upsert(WELCOME, "", {}, text, replace=lambda _: False)
    context.journal.audit("sweepgate", "welcome", {})


def post_results(action: PostResults, context: Context) -> None:
    run = context.state.run(action.run_id)
    if run is None:
        return
    text = results(
        site=context.links.results_site,
        run_id=run.id,
        conclusion=run.conclusion or "unknown",
        run_url=context.run_url(run.id),
        failures=() if run.conclusion == "success" else _failures(run.id, context),
    )
    context.comments.upsert(
        RESULTS,
        "",
        {"run": run.id, "attempt": run.attempt},
        text,
        replace=lambda shown: int(shown.payload.get("run", 0)) <= run.id,
    )
    context.journal.audit("sweepgate", "results", {"run": run.id})


def _failures(run_id: int, context: Context) -> Sequence[Diagnosis]:
    """Why jobs failed; nothing where GitHub no longer has the logs."""
    try:
        found, cancelled = failures(context.reader, context.state.ref.repository, run_id)
    except (NotThere, Refused):
        return ()
    return [item for item in found if item.job not in cancelled]


def set_status(action: SetStatus, context: Context) -> None:
    shown = status([{"code": line.code, **line.values} for line in action.lines])
    context.comments.upsert(STATUS, "", action.record, shown)
    context.journal.audit("sweepgate", "status", {"lines": [line.code for line in action.lines]})
