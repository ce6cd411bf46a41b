"""Purpose: `POST /webhooks/github`: signature, size, type, event filter, one committed insert, then 202.

A plain ASGI application: it is the one path whose speed is a promise. It knows nothing of checks and parses no JSON;
the pump reads the bodies later.

Invariants: nothing is stored before the signature holds; nothing is acknowledged before it is on disk; the body is
read in pieces and never beyond the limit. A full disk or a full inbox answers 503, so that GitHub can deliver again.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from typing import Any, Protocol

from app.inbox.events import EVENTS
from app.inbox.signature import is_signed
from app.store.database import StoreFull
from app.store.inbox import Delivery, Receipt

_GUID = re.compile(rb"[A-Za-z0-9-]{8,64}")

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Writer(Protocol):
    def accept(self, delivery: Delivery, receipt: Receipt) -> None: ...


class Counter(Protocol):
    """Counts a delivery by its outcome: accepted, ignored, unsigned, too-large, refused, full or error."""

    def __call__(self, outcome: str, event: str, /) -> None: ...


class Door:
    """The ASGI application. `secrets` are all live at once, for rotation."""

    def __init__(
        self, writer: Writer, secrets: Iterable[bytes], *, max_body: int, count: Counter, room: Callable[[], bool]
    ) -> None:
        self._writer = writer
        self._secrets = tuple(secrets)
        self._max_body = max_body
        self._count = count
        self._room = room
        self._settler = _Settler()

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await self._refuse(send, 405, "Use POST.", "refused", extra=[(b"allow", b"POST")])
            return
        headers = dict(scope["headers"])
        kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        if kind != b"application/json":
            await self._refuse(send, 415, "Set the webhook's content type to application/json.", "refused")
            return
        body = await self._body(headers, receive)
        if body is None:
            await self._refuse(send, 413, f"The body is larger than {self._max_body} bytes.", "too-large")
            return
        if not is_signed(self._secrets, body, headers.get(b"x-hub-signature-256", b"")):
            await self._refuse(send, 401, "The signature is missing or wrong. Check the webhook's secret.", "unsigned")
            return
        await self._accept(headers, body, send)

    async def _accept(self, headers: dict[bytes, bytes], body: bytes, send: Send) -> None:
        event = headers.get(b"x-github-event", b"").decode("latin-1")
        guid = headers.get(b"x-github-delivery", b"")
        if not event or not _GUID.fullmatch(guid):
            await self._refuse(send, 400, "X-GitHub-Event and X-GitHub-Delivery are needed.", "refused")
            return
        if event not in EVENTS:
            self._count("ignored", "other")
            await _answer(send, 202, {"status": "ignored"})
            return
        if not self._room():
            await self._refuse(send, 503, "The inbox is full. Deliver again later.", "full", extra=_LATER)
            return
        error = await self._stored(Delivery(guid.decode(), event, body, time.time()))
        if error is None:
            self._count("accepted", event)
            await send(_ACCEPTED_START)
            await send(_ACCEPTED_BODY)
        elif isinstance(error, StoreFull):
            await self._refuse(send, 503, "The disk is full. Deliver again later.", "full", extra=_LATER)
        else:
            await self._refuse(send, 503, "The store does not answer. Deliver again later.", "error", extra=_LATER)

    async def _stored(self, delivery: Delivery) -> Exception | None:
        waiting: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
        self._writer.accept(delivery, self._settler.receipt(waiting))
        return await waiting

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes | None:
        declared = headers.get(b"content-length", b"")
        if declared.isdigit() and int(declared) > self._max_body:
            return None
        pieces: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return b""
            piece = message.get("body", b"")
            size += len(piece)
            if size > self._max_body:
                return None
            pieces.append(piece)
            if not message.get("more_body", False):
                return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def _refuse(
        self, send: Send, status: int, message: str, outcome: str, *, extra: Sequence[tuple[bytes, bytes]] = ()
    ) -> None:
        self._count(outcome, "")
        await _answer(send, status, {"error": message}, extra)


_ACCEPTED = b'{"status": "accepted"}'
_ACCEPTED_START = {
    "type": "http.response.start",
    "status": 202,
    "headers": [(b"content-type", b"application/json"), (b"content-length", str(len(_ACCEPTED)).encode())],
}
_ACCEPTED_BODY = {"type": "http.response.body", "body": _ACCEPTED}
_LATER = [(b"retry-after", b"60")]


Waiting = asyncio.Future[Exception | None]


class _Settler:
    """Carries receipts from the writer's thread to the loop, one wake-up for all that are there."""

    def __init__(self) -> None:
        self._settled: deque[tuple[Waiting, Exception | None]] = deque()
        self._is_woken = False

    def receipt(self, waiting: Waiting) -> Receipt:
        def told(error: Exception | None) -> None:
            self._settled.append((waiting, error))
            if not self._is_woken:
                self._is_woken = True
                waiting.get_loop().call_soon_threadsafe(self._settle)

        return told

    def _settle(self) -> None:
        # First lower the flag, then empty: a receipt in between wakes once too often, never once too few.
        self._is_woken = False
        while self._settled:
            waiting, error = self._settled.popleft()
            if not waiting.done():
                waiting.set_result(error)


async def _answer(send: Send, status: int, value: object, extra: Sequence[tuple[bytes, bytes]] = ()) -> None:
    body = json.dumps(value).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *extra]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
