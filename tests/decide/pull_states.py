"""Purpose: small pull request states for decision tests, and decisions as short sentences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from app.decide.actions import (
    Action,
    CancelRun,
    DispatchSweep,
    FinishStaging,
    PostResults,
    PostWelcome,
    RetryFailed,
    SetReaction,
    SetStatus,
    ShowPlan,
    Stage,
    Verify,
)
from app.decide.core import decide
from app.decide.keys import sweep_key
from app.decide.runs import sweep_title
from app.decide.state import (
    Artifact,
    ChangedFile,
    LabelEvent,
    Measurement,
    Permission,
    Person,
    PullRef,
    PullState,
    Remark,
    Run,
)
from app.policy import Policy, StagingPolicy, SweepPolicy

REF = PullRef("example/inference", 7)
BOT = Person(9000, "sweepgate[bot]", bot=True)
HEAD, OLD = "a" * 40, "d" * 40
NONE = Permission("none", "none")
PEOPLE = {
    "author": (1, Permission("read", "read"), "CONTRIBUTOR"),
    "reviewer": (2, Permission("write", "write"), "COLLABORATOR"),
    "maintainer": (3, Permission("admin", "admin"), "MEMBER"),
    "outsider": (4, Permission("read", "read"), "NONE"),
    "triager": (5, Permission("read", "triage"), "COLLABORATOR"),
    "privateMember": (6, Permission("write", "write"), "CONTRIBUTOR"),
    "customRole": (7, Permission("write", "release-manager"), "COLLABORATOR"),
}
SERVICE = Policy(
    name="test",
    sweep=SweepPolicy(mode="service"),
    staging=StagingPolicy(repository="example/app", site="https://staging.example"),
)
ACTIONS = SERVICE.model_copy(update={"sweep": SweepPolicy(mode="actions")})
RESULTS = (Artifact("bmk_agentic_x"), Artifact("changelog-metadata"))
SIGN_OFF = "As a PR reviewer and CODEOWNER, I have reviewed this and have\n- [x] looked"


def person(login: str) -> Person:
    return Person(PEOPLE[login][0], login)


def remark(body: str, who: str = "reviewer", *, at: float = 100.0, number: int | None = None, **more: Any) -> Remark:
    values: dict[str, Any] = {
        "kind": "issue_comment",
        "id": number or int(at),
        "author": person(who),
        "body": body,
        "created_at": at,
        "association": PEOPLE[who][2],
        "url": f"https://github.com/{REF.repository}/pull/7#issuecomment-{number or int(at)}",
    }
    return Remark(**{**values, **more})


def labelled(label: str, *, at: float = 50.0, added: bool = True, who: str = "maintainer") -> LabelEvent:
    return LabelEvent(f"LE_{label}_{int(at)}_{int(added)}", label, added, person(who), at)


def run(number: int = 500, *, at: float = 60.0, **more: Any) -> Run:
    """A finished, good run of the pull request's own event on its head."""
    values: dict[str, Any] = {
        "id": number,
        "attempt": 1,
        "event": "pull_request",
        "path": ".github/workflows/run-sweep.yml",
        "head_sha": HEAD,
        "head_branch": "branch",
        "status": "completed",
        "conclusion": "success",
        "title": "Retune",
        "actor": person("maintainer"),
        "created_at": at,
        "executed": True,
        "artifacts": RESULTS,
    }
    return Run(**{**values, **more})


def dispatched(
    state: PullState, number: int = 500, *, sha: str = HEAD, event: LabelEvent | None = None, **more: Any
) -> Run:
    """A run that our bot dispatched for this state's newest label event."""
    label_event = event or state.label_events[-1]
    key = sweep_key(REF.repository, REF.number, sha, label_event.id)
    values = {"event": "workflow_dispatch", "head_sha": "b" * 40, "actor": BOT, "title": sweep_title(7, sha, key)}
    return run(number, **{**values, **more})


def state(**more: Any) -> PullState:
    """An open pull request of a branch with a changelog entry."""
    values: dict[str, Any] = {
        "ref": REF,
        "title": "Retune",
        "state": "open",
        "merged": False,
        "draft": False,
        "author": person("author"),
        "head_sha": HEAD,
        "head_ref": "branch",
        "head_repository": REF.repository,
        "base_ref": "main",
        "base_sha": "b" * 40,
        "default_branch": "main",
        "body": "",
        "bot": BOT,
        "mergeable": True,
        "commits": (OLD, HEAD),
        "files": (ChangedFile("perf-changelog.yaml"), ChangedFile("configs/nvidia-master.yaml")),
        "permissions": {name: told[1] for name, told in PEOPLE.items()},
        "review_date": "2026-11-30",
        "history": (),
        "measurements": {OLD: Measurement(True)},
    }
    return PullState(**{**values, **more})


def with_label(base: PullState, *labels: str, at: float = 50.0) -> PullState:
    events = tuple(labelled(label, at=at + number) for number, label in enumerate(labels))
    return replace(base, labels=base.labels | set(labels), label_events=(*base.label_events, *events))


def told(action: Action) -> str:
    """An action as a short sentence."""
    match action:
        case SetReaction():
            return f"react {action.content or 'nothing'} to {action.id}" + (
                f" instead of {' '.join(action.remove)}" if action.remove else ""
            )
        case DispatchSweep():
            return " ".join(("dispatch", action.label, *action.modifiers))
        case CancelRun():
            return f"cancel {action.run_id}"
        case ShowPlan():
            return f"show {action.conclusion or action.status}"
        case Stage():
            return f"stage {action.run_id}"
        case FinishStaging():
            return f"staging {action.state}"
        case RetryFailed():
            return f"retry {action.run_id}"
        case PostResults():
            return f"links {action.run_id}"
        case PostWelcome():
            return "welcome"
        case Verify():
            return f"verify {action.sign_off}"
        case SetStatus():
            return "status " + " ".join(line.code for line in action.lines)
    raise AssertionError(action)


def decided(
    given: PullState, policy: Policy = SERVICE, *, without: tuple[str, ...] = ("welcome", "show", "links")
) -> list[str]:
    """What is decided, without what the test is not about. Fails if a look-up is missing."""
    decision = decide(given, policy)
    assert not decision.needs, decision.needs
    return [sentence for sentence in map(told, decision.actions) if not sentence.startswith(without)]
