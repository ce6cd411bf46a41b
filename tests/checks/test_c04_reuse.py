"""Purpose: check 4, rule by rule: which reuse command counts, and whether its run can be published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from app.facts.evidence_run import NO_RUN
from app.facts.github import LabelTimeline
from app.facts.records import CommentRecord, LabelEventRecord, PermissionRecord
from app.facts.repository import HeadTree
from app.facts.sweep import Artifacts, EvidenceRun
from tests.checks.sweep_story import EARLIER, NVIDIA, RUN, Sweep, a_run, comment
from tests.support.bundles import flipped, good

KEY = "dsv4-fp4-b200-vllm-agentic-dspark"
WRITE = PermissionRecord(permission="write", role_name="write")
READ = PermissionRecord(permission="read", role_name="read")


def with_comments(*comments: CommentRecord, **changes: Any) -> Sweep:
    people = {"reviewer": WRITE, "maintainer": WRITE, "outsider": READ}
    return Sweep.of(KEY, comments=list(comments), permissions=people, **changes)


def use(text: str = f"/use {RUN}", login: str = "reviewer", time: str = "2026-10-21T01:00:00Z", **changes: Any) -> Any:
    return comment(int(time[11:13]), login, text, time, **changes)


def label(name: str) -> LabelEventRecord:
    return LabelEventRecord(id="L", action="labeled", label=name, actor="maintainer", created_at="2026-10-20T09:00:00Z")


def expired() -> Sweep:
    sweep = with_comments(use())
    sweep.artifacts = [artifact.model_copy(update={"expired": True}) for artifact in sweep.artifacts]
    return sweep


def moved_on() -> Sweep:
    """The head takes a point out that the pinned run's commit still measures otherwise."""
    sweep = with_comments(use(), run=a_run(sha=EARLIER))
    sweep.trees[EARLIER] = dict(sweep.head)
    return sweep.edit(NVIDIA, "image: vllm/vllm-openai:v0.31.1-x86_64", "image: vllm/vllm-openai:v0.31.2-x86_64")


@pytest.mark.parametrize(
    ("make", "status", "text"),
    [
        pytest.param(
            lambda: with_comments(use()),
            "PASS",
            f"/use {RUN} by @reviewer (COLLABORATOR, write)",
            id="4.pinned 4.other-person: another person than the signer",
        ),
        pytest.param(
            lambda: with_comments(use("/reuse-sweep-run")), "PASS", f"takes run {RUN}", id="4.bare: the legacy form"
        ),
        pytest.param(
            lambda: with_comments(use("/use 1", time="2026-10-21T01:00:00Z"), use(time="2026-10-21T02:00:00Z")),
            "PASS",
            "newest of 2",
            id="4.newest: across comments",
        ),
        pytest.param(
            lambda: with_comments(use(f"/use 1\n\n/use {RUN}")), "PASS", f"/use {RUN}", id="4.newest: the last line"
        ),
        pytest.param(
            lambda: with_comments(use(), use("/use 5", "outsider", "2026-10-21T03:00:00Z")),
            "PASS",
            f"/use {RUN}",
            id="4.denied: a later denied command changes nothing",
        ),
        pytest.param(with_comments, "WARN", "no reuse command is posted", id="4.none"),
        pytest.param(
            lambda: with_comments(use(login="outsider")), "WARN", "has read permission", id="4.denied: no write"
        ),
        pytest.param(
            lambda: with_comments(use(association="CONTRIBUTOR")),
            "WARN",
            "is CONTRIBUTOR here",
            id="4.denied: the association",
        ),
        pytest.param(
            lambda: with_comments(use(editor="outsider")), "WARN", "@outsider has read", id="4.denied: an editor"
        ),
        pytest.param(lambda: with_comments(use("/use")), "WARN", "run ID is missing", id="4.malformed: bare"),
        pytest.param(
            lambda: with_comments(use(f"/use {RUN} please")), "WARN", "text after the command", id="4.malformed: words"
        ),
        pytest.param(
            lambda: with_comments(use(f"please `/use {RUN}`")),
            "WARN",
            "no reuse command is posted",
            id="4.none: inline",
        ),
        pytest.param(
            lambda: with_comments(use("/use 9")),
            "WARN",
            "run 9 cannot be used: it is not among",
            id="4.source: unknown",
        ),
        pytest.param(
            lambda: with_comments(use("/use 9"), candidates=((a_run(9), "its event is push, not pull_request"),)),
            "WARN",
            "run 9 cannot be used: its event is push",
            id="4.source: a run of another event",
        ),
        pytest.param(
            lambda: with_comments(use()).lose(EvidenceRun, f"{NO_RUN}: none"), "WARN", NO_RUN, id="4.source: no run"
        ),
        pytest.param(
            lambda: with_comments(use("/reuse-sweep-run"), run=a_run(conclusion="failure")),
            "WARN",
            "no successful run to take",
            id="4.bare: a failed run must be pinned by its number",
        ),
        pytest.param(
            lambda: with_comments(use(), run=a_run(conclusion="failure")), "PASS", "/use", id="4.pinned: a failed run"
        ),
        pytest.param(
            lambda: with_comments(use(), run=a_run(status="queued", conclusion=None)), "WARN", "queued", id="4.running"
        ),
        pytest.param(
            lambda: with_comments(use(), labels=("full-sweep-enabled", "agentx-fast")),
            "WARN",
            "label agentx-fast blocks reuse",
            id="4.modifier: now",
        ),
        pytest.param(
            lambda: with_comments(use(), label_events=[label("evals-only")]),
            "WARN",
            f"run {RUN} was made under evals-only",
            id="4.modifier: when the run was made",
        ),
        pytest.param(
            lambda: with_comments(use()).lose(LabelTimeline),
            "WARN",
            f"could not be verified: the labels when run {RUN} was made",
            id="4.modifier: without the label timeline nobody knows",
        ),
        pytest.param(expired, "WARN", "no result artifact that is still there", id="4.expired"),
        pytest.param(
            moved_on, "WARN", "does not cover configs/nvidia-master.yaml", id="4.other-measurement: the image moved"
        ),
        pytest.param(
            lambda: with_comments(use()).lose(Artifacts), "WARN", "could not be verified: the artifacts", id="artifacts"
        ),
        pytest.param(
            lambda: replace(with_comments(use()), permissions={}, permission_problems={"reviewer": "HTTP 502"}),
            "WARN",
            "could not be verified: comment 1 (the permission of @reviewer HTTP 502)",
            id="a failed look-up is not a no",
        ),
        pytest.param(
            lambda: with_comments(use()).lose(HeadTree), "WARN", "could not be verified", id="without the head's files"
        ),
        pytest.param(Sweep, "N/A", "no benchmark point is affected", id="nothing is affected"),
    ],
)
def test_rules_of_check_4(make: Callable[[], Sweep], status: str, text: str) -> None:
    row = make().row(4)
    assert (row.status.value, text in row.reason) == (status, True), row.reason


def taken_back():
    editor = good()
    with editor.record("comments") as comments:
        next(one for one in comments if one["body"].startswith("/use"))["body"] = "never mind"
    return editor


def by_outsider():
    editor = good()
    with editor.record("comments") as comments:
        one = next(one for one in comments if one["body"].startswith("/use"))
        one.update(association="NONE", author={"id": 3, "login": "outsider", "type": "User"})
    with editor.record("permissions") as permissions:
        permissions["outsider"] = {"permission": "read", "role_name": "read"}
    return editor


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(taken_back, id="4.none: the comment was edited away"),
        pytest.param(by_outsider, id="4.denied: an outsider's command"),
    ],
)
def test_one_change_of_the_story_flips_this_row_alone(make) -> None:
    assert flipped(good().rows(), make().rows()) == {4: "WARN"}
