"""Purpose: a load generator on raw connections: keep-alive, one request in flight a connection, latencies kept.

Run as a process of its own: `python -m tests.load.generator PORT SECONDS CONNECTIONS BODY_BYTES SECRET`; prints JSON.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
import uuid
from typing import Any

from app.inbox.signature import signature

PULLS = 50


def payload(size: int, number: int) -> bytes:
    """A `pull_request` payload of about `size` bytes that touches a pull request."""
    value: dict[str, Any] = {
        "action": "edited",
        "number": number,
        "pull_request": {"number": number, "labels": [], "files": []},
        "repository": {"full_name": "example/inference"},
        "sender": {"id": 4, "login": "outsider"},
    }
    while len(json.dumps(value)) < size:
        item = {
            "url": f"https://api.github.example/repos/example/inference/{uuid.uuid4()}",
            "id": 7,
            "site_admin": False,
        }
        value["pull_request"]["files"].append(item)
    return json.dumps(value).encode()


class Connection(asyncio.Protocol):
    """Sends the next request as soon as the answer to the last one is complete."""

    def __init__(self, bodies: itertools.cycle[tuple[bytes, str]], deadline: float, done: asyncio.Future[None]) -> None:
        self._bodies = bodies
        self._deadline = deadline
        self._done = done
        self._buffer = b""
        self._sent_at = 0.0
        self.latencies: list[float] = []
        self.wrong = 0
        self._count = itertools.count()
        self._prefix = uuid.uuid4().hex[:20]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._send()

    def _send(self) -> None:
        now = time.perf_counter()
        if now >= self._deadline:
            self._transport.close()
            return
        body, signed = next(self._bodies)
        head = (
            "POST /webhooks/github HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nx-github-event: pull_request\r\n"
            f"x-github-delivery: {self._prefix}-{next(self._count)}\r\nx-hub-signature-256: {signed}\r\n\r\n"
        )
        self._sent_at = now
        self._transport.write(head.encode() + body)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, separator, rest = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        length = next(
            int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
        )
        if len(rest) < length:
            return
        self._buffer = b""
        self.latencies.append(time.perf_counter() - self._sent_at)
        self.wrong += not head.startswith(b"HTTP/1.1 202")
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._done.set_result(None)


async def run(port: int, seconds: float, connections: int, size: int, secret: str) -> dict[str, float]:
    """Rate and latencies of one load, in requests a second and milliseconds."""
    loop = asyncio.get_running_loop()
    made = [(body := payload(size, number + 1), signature(secret.encode(), body)) for number in range(PULLS)]
    started = time.perf_counter()
    clients, waits = [], []
    for _ in range(connections):
        done: asyncio.Future[None] = loop.create_future()
        client = Connection(itertools.cycle(made), started + seconds, done)
        await loop.create_connection(lambda client=client: client, "127.0.0.1", port)  # type: ignore[misc]
        clients.append(client)
        waits.append(done)
    await asyncio.gather(*waits)
    took = time.perf_counter() - started
    latencies = sorted(latency for client in clients for latency in client.latencies)
    return {
        "requests": len(latencies),
        "wrong": sum(client.wrong for client in clients),
        "rate": len(latencies) / took,
        "p50": latencies[len(latencies) // 2] * 1000,
        "p99": latencies[int(len(latencies) * 0.99)] * 1000,
    }


def main() -> None:
    import uvloop

    port, seconds, connections, size, secret = sys.argv[1:6]
    result = uvloop.run(run(int(port), float(seconds), int(connections), int(size), secret))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
