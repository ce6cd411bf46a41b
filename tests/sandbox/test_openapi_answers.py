"""Purpose: every answer of the stand-in has the shape that GitHub itself describes; every endpoint is asked once."""

from __future__ import annotations

import base64
import re
from typing import Any

import httpx
import jsonschema_rs
import pytest

from app.sandbox import Server
from app.sandbox.api.core import ROUTES, find_route
from tests.sandbox.conftest import Story

R = "/repos/acme/bench"
# GitHub describes these answers otherwise than as JSON
NOT_JSON = {"GET /repos/{}/{}/actions/artifacts/{}/zip", "POST /graphql", "GET /zen"}


def bare(path: str) -> str:
    return re.sub(r"\{[^}]+\}", "{}", path)


def calls(story: Story) -> list[tuple[str, str, dict[str, Any] | None]]:
    """Method, path and body of one good request to each endpoint, harmless ones first."""
    issue = next(each for each in story.pull.comments if each.kind == "issue")
    review = next(each for each in story.pull.comments if each.kind == "review")
    inline = next(each for each in story.pull.comments if each.kind == "review_comment")
    head, main = story.pull.head_sha, story.repo.branches["main"]
    blob = story.repo.git.commits[main].tree["README.md"]
    readme = base64.b64encode(b"changed\n").decode()
    reads = [
        *(R + tail for tail in ("", "/branches", "/branches/main", "/git/ref/heads/main", "/contents/README.md")),
        *(R + tail for tail in ("/contents/configs", f"/git/blobs/{blob}", "/git/trees/main?recursive=1", "/commits")),
        f"{R}/commits/{head}",
        f"{R}/commits/{head}/pulls",
        f"{R}/commits/{head}/check-runs",
        f"{R}/commits/{head}/status",
        f"{R}/compare/main...feature",
        f"{R}/activity?ref=feature",
        f"{R}/codeowners/errors",
        f"{R}/collaborators/reviewer/permission",
        f"{R}/pulls?state=all",
        f"{R}/pulls/7",
        *(f"{R}/pulls/7/{tail}" for tail in ("files", "commits", "reviews", "comments")),
        f"{R}/pulls/7/reviews/{review.id}",
        f"{R}/pulls/comments/{inline.id}",
        f"{R}/pulls/comments/{inline.id}/reactions",
        f"{R}/issues/7",
        *(f"{R}/issues/7/{tail}" for tail in ("comments", "events", "timeline", "labels", "reactions")),
        f"{R}/issues/comments/{issue.id}",
        f"{R}/issues/comments/{issue.id}/reactions",
        f"{R}/labels",
        *(f"{R}/actions/{tail}" for tail in ("runs", "workflows", "workflows/run-sweep.yml")),
        f"{R}/actions/workflows/run-sweep.yml/runs",
        f"{R}/actions/runs/4001",
        *(f"{R}/actions/runs/4001/{tail}" for tail in ("jobs", "logs", "artifacts", "attempts/1")),
        *(f"{R}/actions/runs/4001/attempts/1/{tail}" for tail in ("jobs", "logs")),
        f"{R}/actions/jobs/5001",
        f"{R}/actions/jobs/5001/logs",
        f"{R}/actions/artifacts/6001",
        f"{R}/actions/artifacts/6001/zip",
        f"{R}/check-runs/7001",
        f"{R}/check-runs/7001/annotations",
        "/orgs/acme/teams/owners/members",
        "/orgs/acme/teams/owners/memberships/reviewer",
        *("/user", "/users/reviewer", "/rate_limit", "/meta", "/zen", "/installation/repositories"),
    ]
    note = {"path": "README.md", "start_line": 1, "end_line": 1, "annotation_level": "failure", "message": "no"}
    output = {"title": "t", "summary": "s", "annotations": [note]}
    writes: list[tuple[str, str, dict[str, Any] | None]] = [
        ("POST", "/graphql", {"query": "{ viewer { login } }"}),
        ("POST", f"{R}/git/refs", {"ref": "refs/heads/scratch", "sha": main}),
        ("PATCH", f"{R}/git/refs/heads/scratch", {"sha": main}),
        ("DELETE", f"{R}/git/refs/heads/scratch", None),
        ("PUT", f"{R}/contents/put.txt", {"message": "Put", "content": readme, "branch": "main"}),
        ("POST", f"{R}/dispatches", {"event_type": "stage", "client_payload": {"run": 1}}),
        ("PATCH", f"{R}/pulls/7", {"title": "Changed"}),
        ("PUT", f"{R}/pulls/7/update-branch", {"expected_head_sha": head}),
        ("POST", f"{R}/issues/7/comments", {"body": "hello"}),
        ("PATCH", f"{R}/issues/comments/{issue.id}", {"body": "edited"}),
        ("POST", f"{R}/issues/comments/{issue.id}/reactions", {"content": "eyes"}),
        ("POST", f"{R}/pulls/comments/{inline.id}/reactions", {"content": "eyes"}),
        ("POST", f"{R}/issues/7/reactions", {"content": "eyes"}),
        ("POST", f"{R}/labels", {"name": "all-evals"}),
        ("POST", f"{R}/issues/7/labels", {"labels": ["all-evals"]}),
        ("DELETE", f"{R}/issues/7/labels/all-evals", None),
        ("POST", f"{R}/actions/workflows/run-sweep.yml/dispatches", dispatch()),
        ("POST", f"{R}/actions/runs/4001/rerun-failed-jobs", None),
        ("POST", f"{R}/actions/runs/4001/cancel", None),
        ("POST", f"{R}/actions/runs/4001/rerun", None),
        ("POST", f"{R}/check-runs", {"name": "verdict", "head_sha": head, "status": "in_progress", "output": output}),
        ("PATCH", f"{R}/check-runs/7001", {"conclusion": "failure", "output": {"title": "t", "summary": "s"}}),
        ("POST", f"{R}/statuses/{head}", {"state": "pending", "context": "x"}),
        ("PUT", f"{R}/pulls/7/merge", {"merge_method": "squash"}),
        ("GET", f"{R}/pulls/7/merge", None),
        ("DELETE", f"{R}/issues/comments/{issue.id}", None),
    ]
    return [("GET", path, None) for path in reads] + writes


def dispatch() -> dict[str, Any]:
    return {"ref": "main", "inputs": {"pr": "7", "sweep_key": "k"}, "return_run_details": True}


@pytest.fixture(scope="session")
def validators(description: dict[str, Any]) -> dict[tuple[str, str], Any]:
    """A validator by operation and status."""
    found = {}
    for name, told in description["operations"].items():
        for status, schema in told["answers"].items():
            if schema is not None:
                found[name, status] = jsonschema_rs.validator_for({**schema, "components": description["components"]})
    return found


def test_every_answer_fits_githubs_description(
    story: Story, api: httpx.Client, description: dict[str, Any], validators: dict[tuple[str, str], Any]
) -> None:
    asked: set[str] = set()
    wrong: list[str] = []
    for method, path, body in calls(story):
        answer = api.request(method, path, json=body)
        found = find_route(method, path.partition("?")[0])
        assert found is not None, path
        name = f"{method} {bare(found[0].template)}"
        asked.add(f"{method} {found[0].template}")
        if answer.status_code >= 400:
            wrong.append(f"{name}: {answer.status_code} {answer.text}")
            continue
        if name in NOT_JSON or name not in description["operations"]:
            continue
        if str(answer.status_code) not in description["operations"][name]["answers"]:
            wrong.append(f"{name}: status {answer.status_code} is not described")
        validator = validators.get((name, str(answer.status_code)))
        if validator is not None:
            wrong += [
                f"{name}: {error.instance_path} {error.message}"[:300] for error in validator.iter_errors(answer.json())
            ]
    assert not wrong, "\n".join(wrong)
    app_only = {f"{each.method} {each.template}" for each in ROUTES if each.jwt}
    reactions = {f"{each.method} {each.template}" for each in ROUTES if each.template.endswith("{reaction:int}")}
    assert {f"{each.method} {each.template}" for each in ROUTES} - asked == app_only | reactions


def test_a_request_body_of_the_table_fits_githubs_description(story: Story, description: dict[str, Any]) -> None:
    for method, path, body in calls(story):
        found = find_route(method, path.partition("?")[0])
        assert found is not None
        schema = description["operations"].get(f"{method} {bare(found[0].template)}", {}).get("body")
        if schema is not None and body is not None:
            validator = jsonschema_rs.validator_for({**schema, "components": description["components"]})
            assert [error.message for error in validator.iter_errors(body)] == [], path


def test_every_endpoint_is_one_of_githubs(description: dict[str, Any]) -> None:
    named = {f"{each.method} {bare(each.template)}" for each in ROUTES}
    assert named - set(description["operations"]) == {
        "GET /repos/{}/{}/actions/artifacts/{}/zip",
        "POST /graphql",
    }


def test_the_validator_can_say_no(server: Server, validators: dict[tuple[str, str], Any]) -> None:
    validator = validators["GET /users/{}", "200"]
    assert not validator.is_valid({"login": "x"})
