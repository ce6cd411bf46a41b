"""Purpose: the bodies of webhooks, from records of the world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from app.sandbox.shapes import issue, label, pull_detail_quietly, repository, user
from app.sandbox.shapes_runs import run
from app.sandbox.shapes_said import comment

if TYPE_CHECKING:
    from app.sandbox.pull import PullRequest
    from app.sandbox.repository import Repository
    from app.sandbox.world import World

Json = dict[str, Any]


def payload_of(world: World, repo: Repository, action: str, sender: str, parts: Mapping[str, Any]) -> Json:
    """A webhook's body. `parts` are records of the world (pull, comment, review, run, label) or ready JSON."""
    body: Json = {"action": action} if action else {}
    it: PullRequest | None = parts.get("pull")
    for name, part in parts.items():
        if name == "pull" and it is not None:
            body["pull_request"] = pull_detail_quietly(world, it)
        elif name in ("comment", "review") and it is not None:
            body[name] = comment(world, it, part)
        elif name == "run":
            body["workflow_run"] = run(world, part)
            body["workflow"] = {"name": part.name, "path": part.path, "id": part.repo.workflow_id(part.path)}
        elif name == "label":
            body["label"] = label(world, repo, part)
        else:
            body[name] = part
    if it is not None and getattr(parts.get("comment"), "kind", "") == "issue":
        body["issue"] = issue(world, it)
        del body["pull_request"]
    if it is not None:
        body["number"] = it.number
    body["repository"] = repository(world, repo)
    body["sender"] = user(world, sender)
    if (installed := world.installation_of(repo)) is not None:
        body["installation"] = {"id": installed.id, "node_id": f"I_{installed.id}"}
    return body
