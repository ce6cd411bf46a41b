"""Purpose: which pull request a delivery touches; no body makes the reader raise."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.inbox.events import EVENTS, read_row
from app.store.inbox import InboxRow, Reading

REPOSITORY = {"full_name": "example/inference"}


def reading(event: str, payload: Any) -> Reading:
    body = json.dumps(payload).encode() if not isinstance(payload, bytes) else payload
    return read_row(InboxRow(1, "guid", event, body, 1.0))


TOUCHING: dict[str, tuple[str, dict[str, Any]]] = {
    "a pull request": ("pull_request", {"action": "opened", "pull_request": {"number": 7}}),
    "a review": ("pull_request_review", {"pull_request": {"number": 7}}),
    "an inline comment": ("pull_request_review_comment", {"pull_request": {"number": 7}}),
    "a comment of a pull request": ("issue_comment", {"issue": {"number": 7, "pull_request": {}}}),
    "a run of a branch": ("workflow_run", {"workflow_run": {"pull_requests": [{"number": 7}]}}),
    "a run that we dispatched": (
        "workflow_run",
        {"workflow_run": {"pull_requests": [], "display_title": "Sweep #7 @ 0123456789ab [k]"}},
    ),
    "a check run": ("check_run", {"check_run": {"pull_requests": [{"number": 7}]}}),
    "a message of the staging target": (
        "repository_dispatch",
        {"action": "stage-results-started", "client_payload": {"pr-number": "7"}},
    ),
}


@pytest.mark.parametrize(("event", "payload"), TOUCHING.values(), ids=TOUCHING.keys())
def test_touches_pull_request_seven(event: str, payload: dict[str, Any]) -> None:
    found = reading(event, {"repository": REPOSITORY, **payload})
    assert (found.status, found.repository, found.number) == ("taken", "example/inference", 7)


IDLE: dict[str, tuple[str, dict[str, Any]]] = {
    "a comment of an issue": ("issue_comment", {"issue": {"number": 7}}),
    "a run of nobody": ("workflow_run", {"workflow_run": {"pull_requests": [], "display_title": "CI"}}),
    "a dispatch without number": ("repository_dispatch", {"client_payload": {"pr-number": "7; rm"}}),
    "a dispatch without payload": ("repository_dispatch", {"client_payload": None}),
}


@pytest.mark.parametrize(("event", "payload"), IDLE.values(), ids=IDLE.keys())
def test_touches_none_and_is_done(event: str, payload: dict[str, Any]) -> None:
    found = reading(event, {"repository": REPOSITORY, **payload})
    assert (found.status, found.number) == ("done", None)


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b'{"repository": 1, "pull_request": 2}', b"[" * 5000])
def test_unreadable_bodies_are_failed_with_a_reason(body: bytes) -> None:
    found = reading("pull_request", body)
    assert found.status == "failed"
    assert "Deliver it again" in (found.reason or "")


def test_the_head_of_a_signed_label_delivery_is_kept() -> None:
    payload = {
        "action": "labeled",
        "repository": REPOSITORY,
        "label": {"name": "full-sweep-enabled"},
        "sender": {"id": 3, "login": "maintainer"},
        "pull_request": {"number": 7, "head": {"sha": "a" * 40}, "updated_at": "2026-11-30T10:00:00Z"},
    }
    found = reading("pull_request", payload).label_payload
    assert found is not None
    assert (found["head_sha"], found["actor"], found["at"]) == ("a" * 40, "maintainer", 1796032800.0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["repository", "full_name", "pull_request", "number", "issue", "action", "label", "client_payload"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(st.sampled_from(sorted(EVENTS)), JSON)
def test_no_payload_raises(event: str, payload: Any) -> None:
    assert reading(event, payload).status in ("taken", "done", "failed")
