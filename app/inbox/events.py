"""Purpose: which deliveries matter, and which pull request each of them touches. Pure.

Invariants: a delivery is a hint; nothing is decided here. Only the head of a `labeled` delivery is kept as a fact of
its own, because a fork's label is bound to the head that the signed delivery names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from app.store.inbox import InboxRow, Reading

EVENTS = frozenset(
    {
        "pull_request",
        "pull_request_review",
        "pull_request_review_comment",
        "issue_comment",
        "workflow_run",
        "check_run",
        "repository_dispatch",
    }
)

_TITLE_NUMBER = re.compile(r"#([1-9][0-9]{0,9})\b")


def read_row(row: InboxRow) -> Reading:
    """Which pull request a delivery touches, or why it needs no work. Never raises."""
    try:
        payload = json.loads(row.body)
        if not isinstance(payload, dict):
            raise ValueError("the payload is not an object")
        return _read(row, payload)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        return Reading(
            row.id, "failed", f"unreadable {row.event} payload: {error}. Deliver it again from the App's page."
        )


def _read(row: InboxRow, payload: Mapping[str, Any]) -> Reading:
    repository = payload.get("repository")
    name = repository["full_name"] if isinstance(repository, dict) else None
    number = _number(row.event, payload)
    if not isinstance(name, str) or number is None:
        return Reading(row.id, "done", "touches no pull request", repository=None)
    label, callback = _label_payload(row, payload, name, number), _callback(row, payload, name, number)
    return Reading(row.id, "taken", None, name, number, label, callback)


def _number(event: str, payload: Mapping[str, Any]) -> int | None:
    if event in ("pull_request", "pull_request_review", "pull_request_review_comment"):
        return _integer(payload["pull_request"]["number"])
    if event == "issue_comment":
        issue = payload["issue"]
        return _integer(issue["number"]) if "pull_request" in issue else None
    if event == "repository_dispatch":
        given = str((payload.get("client_payload") or {}).get("pr-number"))
        return _integer(given) if given.isascii() and given.isdigit() else None
    subject = payload.get(event)
    if event == "check_run" and isinstance(subject, dict):
        return _first(subject.get("pull_requests"))
    if event == "workflow_run" and isinstance(subject, dict):
        return _first(subject.get("pull_requests")) or _titled(subject.get("display_title"))
    return None


def _integer(value: object) -> int:
    """An id as the database can hold it. Raises ValueError."""
    number = int(str(value))
    if not 0 < number < 2**63:
        raise ValueError(f"{str(value)[:30]} is no id")
    return number


def _first(pulls: object) -> int | None:
    if isinstance(pulls, list) and pulls and isinstance(pulls[0], dict):
        return _integer(pulls[0]["number"])
    return None


def _titled(title: object) -> int | None:
    """A run that we dispatched carries its pull request in the title; the reconcile checks the key."""
    match = _TITLE_NUMBER.search(title) if isinstance(title, str) else None
    return _integer(match.group(1)) if match else None


def _label_payload(row: InboxRow, payload: Mapping[str, Any], name: str, number: int) -> dict[str, object] | None:
    if row.event != "pull_request" or payload.get("action") != "labeled":
        return None
    pull, sender = payload["pull_request"], payload["sender"]
    return {
        "guid": row.guid,
        "repository": name,
        "number": number,
        "label": str(payload["label"]["name"]),
        "head_sha": str(pull["head"]["sha"]),
        "actor_id": _integer(sender["id"]),
        "actor": str(sender["login"]),
        "at": _seconds(str(pull["updated_at"])),
    }


def _callback(row: InboxRow, payload: Mapping[str, Any], name: str, number: int) -> dict[str, object] | None:
    """A message of the staging target; app.decide.staging checks every field of it."""
    if row.event != "repository_dispatch":
        return None
    return {
        "guid": row.guid,
        "repository": name,
        "number": number,
        "kind": str(payload.get("action", "")),
        "payload": payload["client_payload"],
        "at": row.received_at,
    }


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
