"""Purpose: what GitHub says in a story: the pull request, its people, its comments, its run and jobs, as plain JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from app.planner.canary import canary
from app.planner.job_names import caller_name, check_run_name
from app.planner.plan import Plan, PlannedRow
from tests.support.shapes import ground
from tests.support.shapes.story import Story

WORKFLOW = ".github/workflows/run-sweep.yml"
FAMILIES = (
    "single_node.1k1k",
    "single_node.8k1k",
    "single_node.agentic",
    "multi_node.1k1k",
    "multi_node.8k1k",
    "multi_node.agentic",
    "evals",
    "agentic_evals",
    "multinode_evals",
    "multinode_agentic_evals",
)
WITH_CANARY = ("full-sweep-enabled", "full-sweep-fail-fast")


def account(login: str) -> dict[str, Any]:
    return {"login": login, "id": ground.IDS.get(login, 99), "type": "User"}


def pull_request(story: Story) -> dict[str, Any]:
    return {
        "repository": ground.REPOSITORY,
        "number": story.number,
        "title": story.title,
        "body": story.body,
        "author": account(ground.AUTHOR),
        "association": "CONTRIBUTOR",
        "state": "open",
        "draft": False,
        "merged": False,
        "head_sha": ground.HEAD,
        "head_ref": story.name,
        "head_repository": ground.REPOSITORY,
        "base_ref": "main",
        "labels": [story.label] if story.swept else [],
        "default_branch": "main",
    }


def comment(number: int, login: str, body: str, time: str) -> dict[str, Any]:
    return {
        "kind": "issue_comment",
        "id": number,
        "author": account(login),
        "association": "COLLABORATOR",
        "body": body,
        "created_at": time,
        "updated_at": time,
        "editor": None,
        "url": f"https://github.com/{ground.REPOSITORY}/pull/1#issuecomment-{number}",
        "state": "",
        "commit_sha": "",
    }


def sign_off(story: Story, checklist: str) -> str:
    """The template of the checklist file with every item ticked but the conditional one.

    `story.answers` maps words of an item to what stands in the item's place.
    """
    template = checklist.split("```\n")[1]
    lines = []
    for line in template.splitlines():
        ticked = line if line.startswith("- [ ] If any of the above") else line.replace("[ ]", "[x]")
        own = next((answer for words, answer in story.answers.items() if words in line), None)
        lines.append(ticked if own is None else own)
    text = "\n".join(lines).replace("- put links, versions and reasons here", "\n".join(_details(story)))
    return text.replace("FILL_IN_GITHUB_USERNAME", ground.REVIEWER)


def _details(story: Story) -> Iterable[str]:
    if story.swept:
        yield f"- Run: https://github.com/{ground.REPOSITORY}/actions/runs/{ground.RUN}"
    yield from (f"- Upstream recipe: {one.link}" for one in story.upstream)
    yield from (f"- {line}" for line in story.details)


def comments(story: Story, checklist: str) -> list[dict[str, Any]]:
    pinned = [comment(ground.USE, ground.REVIEWER, f"/use {ground.RUN}", ground.USED)] if story.used else []
    return [*pinned, comment(ground.SIGN_OFF, ground.REVIEWER, sign_off(story, checklist), ground.SIGNED)]


def labels(story: Story) -> list[dict[str, Any]]:
    event = {"id": "EV_1", "action": "labeled", "label": story.label, "actor": ground.MAINTAINER}
    return [{**event, "created_at": ground.LABELED}] if story.swept else []


def activity(story: Story) -> list[dict[str, Any]]:
    return [
        {
            "id": 1,
            "before": "0" * 40,
            "after": ground.HEAD,
            "ref": f"refs/heads/{story.name}",
            "timestamp": ground.PUSHED,
            "actor": ground.AUTHOR,
            "kind": "branch_creation",
        }
    ]


def run(story: Story) -> dict[str, Any]:
    return {
        "id": ground.RUN,
        "attempt": 1,
        "event": "pull_request",
        "status": "completed",
        "conclusion": "success",
        "path": WORKFLOW,
        "head_sha": ground.HEAD,
        "head_branch": story.name,
        "actor": account(ground.MAINTAINER),
        "title": f"Run Sweep - {story.title}",
        "created_at": ground.STARTED,
        "repository": ground.REPOSITORY,
        "url": f"https://github.com/{ground.REPOSITORY}/actions/runs/{ground.RUN}",
    }


def job_names(story: Story, plan: Plan) -> list[tuple[PlannedRow, str]]:
    """Each planned row with the name of its job; the canary's with the canary's."""
    first = canary(plan) if story.label in WITH_CANARY else None
    return [
        (planned, check_run_name(planned.bucket, planned.row, 3.0 + number / 1000, is_canary=planned is first))
        for number, planned in enumerate(plan.rows)
    ]


def jobs(named: Iterable[tuple[PlannedRow, str]]) -> list[dict[str, Any]]:
    """Gates, one job a planned row, one skipped check run for each family without rows, collectors."""
    rows = list(named)
    used = {name.split(" / ")[0] + " /" for _, name in rows}
    made = [_job(100 + n, name, "success", "GitHub Actions 3") for n, name in enumerate(("check-changelog", "setup"))]
    made += [
        _job(200 + number, caller_name(family), "skipped", "")
        for number, family in enumerate(FAMILIES)
        if caller_name(family) not in used
    ]
    made += [_job(1_000 + n, name, "success", f"{p.row['runner']}_{n:02}") for n, (p, name) in enumerate(rows)]
    collectors = ("upload-changelog-metadata", "collect-evals / collect-evals", "collect-results / collect-results")
    return made + [_job(900 + n, name, "success", "GitHub Actions 4") for n, name in enumerate(collectors)]


def _job(number: int, name: str, conclusion: str, runner: str) -> dict[str, Any]:
    return {
        "id": number,
        "run_id": ground.RUN,
        "attempt": 1,
        "name": name,
        "status": "completed",
        "conclusion": conclusion,
        "runner_name": runner,
        "steps": 6 if runner else 0,
        "head_sha": ground.HEAD,
    }
