"""Purpose: what the webhook door takes and what it refuses, and what it does with a full disk."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from app.inbox.door import Door
from app.inbox.signature import is_signed, signature
from app.store.database import StoreFull
from app.store.inbox import Delivery, Receipt

BODY = json.dumps({"repository": {"full_name": "example/inference"}}).encode()
SECRETS = (b"new secret", b"old secret")


class Writer:
    """Keeps what it is given; answers each receipt with `error`."""

    def __init__(self, error: Exception | None = None) -> None:
        self.kept: list[Delivery] = []
        self._error = error

    def accept(self, delivery: Delivery, receipt: Receipt) -> None:
        if self._error is None:
            self.kept.append(delivery)
        receipt(self._error)


class Counted:
    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def __call__(self, outcome: str, event: str, /) -> None:
        self.seen.append((outcome, event))


def headers(body: bytes = BODY, **changes: str | None) -> list[tuple[bytes, bytes]]:
    values: dict[str, str | None] = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "x-github-event": "issue_comment",
        "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
        "x-hub-signature-256": signature(SECRETS[0], body),
        **changes,
    }
    return [(name.encode(), value.encode()) for name, value in values.items() if value is not None]


def call(
    given: list[tuple[bytes, bytes]],
    *,
    pieces: tuple[bytes, ...] = (BODY,),
    method: str = "POST",
    writer: Writer | None = None,
    room: Callable[[], bool] = lambda: True,
    max_body: int = 1000,
) -> tuple[int, dict[str, Any], Writer, Counted, int]:
    """Status, answer, writer, counter, and how many pieces of the body were read."""
    taker, counted, sent, read = writer or Writer(), Counted(), [], 0

    async def receive() -> dict[str, Any]:
        nonlocal read
        piece = pieces[read]
        read += 1
        return {"type": "http.request", "body": piece, "more_body": read < len(pieces)}

    async def send(message: Any) -> None:
        sent.append(message)

    door = Door(taker, SECRETS, max_body=max_body, count=counted, room=room)
    asyncio.run(door({"type": "http", "method": method, "headers": given}, receive, send))
    return sent[0]["status"], json.loads(sent[1]["body"]), taker, counted, read


def test_a_signed_delivery_is_kept_and_accepted() -> None:
    status, answer, writer, counted, _ = call(headers())
    assert (status, answer) == (202, {"status": "accepted"})
    assert [(one.guid[:8], one.event, one.body) for one in writer.kept] == [("72d3162e", "issue_comment", BODY)]
    assert counted.seen == [("accepted", "issue_comment")]


REFUSED: dict[str, tuple[list[tuple[bytes, bytes]], int]] = {
    "no signature": (headers(**{"x-hub-signature-256": None}), 401),
    "a signature of another secret": (headers(**{"x-hub-signature-256": signature(b"guess", BODY)}), 401),
    "a signature of another body": (headers(**{"x-hub-signature-256": signature(SECRETS[0], b"{}")}), 401),
    "the old SHA-1 form": (headers(**{"x-hub-signature-256": "sha1=" + "0" * 40}), 401),
    "a signature that is not ASCII": (
        [*headers(**{"x-hub-signature-256": None}), (b"x-hub-signature-256", b"sha256=\xff")],
        401,
    ),
    "a form body": (headers(**{"content-type": "application/x-www-form-urlencoded"}), 415),
    "no event": (headers(**{"x-github-event": None}), 400),
    "no delivery id": (headers(**{"x-github-delivery": None}), 400),
    "a delivery id with odd characters": (headers(**{"x-github-delivery": "x' OR 1=1"}), 400),
    "a declared size beyond the limit": (headers(**{"content-length": "99999999"}), 413),
}


@pytest.mark.parametrize(("given", "expected"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_and_nothing_stored(given: list[tuple[bytes, bytes]], expected: int) -> None:
    status, answer, writer, _, _ = call(given)
    assert status == expected
    assert writer.kept == []
    assert answer["error"].endswith((".", "needed."))


def test_other_methods_are_refused() -> None:
    assert call(headers(), method="GET")[0] == 405


def test_both_live_secrets_are_good() -> None:
    assert call(headers(**{"x-hub-signature-256": signature(SECRETS[1], BODY)}))[0] == 202


def test_an_unknown_event_is_counted_and_not_stored() -> None:
    status, answer, writer, counted, _ = call(headers(**{"x-github-event": "sponsorship"}))
    assert (status, answer, writer.kept) == (202, {"status": "ignored"}, [])
    assert counted.seen == [("ignored", "other")]


def test_a_body_without_declared_size_is_cut_off_at_the_limit() -> None:
    pieces = tuple(b"x" * 400 for _ in range(50))
    status, _, writer, _, read = call(headers(**{"content-length": None}), pieces=pieces)
    assert status == 413
    assert read == 3
    assert writer.kept == []


def test_a_body_in_pieces_is_put_together() -> None:
    status, _, writer, _, _ = call(headers(), pieces=(BODY[:10], BODY[10:]))
    assert (status, writer.kept[0].body) == (202, BODY)


@pytest.mark.parametrize("error", [StoreFull("database or disk is full"), RuntimeError("gone")])
def test_what_cannot_be_stored_is_503_so_that_it_can_be_delivered_again(error: Exception) -> None:
    status, answer, _, _, _ = call(headers(), writer=Writer(error))
    assert status == 503
    assert "Deliver again" in answer["error"]


def test_a_full_inbox_takes_nothing_more() -> None:
    status, _, writer, counted, _ = call(headers(), room=lambda: False)
    assert (status, writer.kept) == (503, [])
    assert counted.seen == [("full", "")]


def test_the_signature_of_githubs_own_example() -> None:
    secret, body = b"It's a Secret to Everybody", b"Hello, World!"
    known = b"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert is_signed([secret], body, known)
    assert signature(secret, body).encode() == known
