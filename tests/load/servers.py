"""Purpose: the two servers that are measured beside each other: the bare HMAC endpoint and the real application."""

from __future__ import annotations

import hmac
import json
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response

SECRET = "load secret"


def framework() -> Any:
    """The same as an endpoint of the framework that we use."""
    app = FastAPI()

    @app.post("/webhooks/github")
    async def receive(request: Request) -> Response:
        body = await request.body()
        wanted = "sha256=" + hmac.digest(SECRET.encode(), body, "sha256").hex()
        given = request.headers.get("x-hub-signature-256", "")
        return Response(status_code=202 if hmac.compare_digest(wanted, given) else 401)

    return app


async def bare(scope: dict[str, Any], receive: Callable[[], Any], send: Callable[[dict[str, Any]], Any]) -> None:
    """HMAC over the body, nothing else: what any signed webhook endpoint costs at least."""
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    pieces = []
    while True:
        message = await receive()
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            break
    given = dict(scope["headers"])[b"x-hub-signature-256"]
    wanted = "sha256=" + hmac.digest(SECRET.encode(), b"".join(pieces), "sha256").hex()
    status = 202 if hmac.compare_digest(wanted.encode(), given) else 401
    body = json.dumps({"status": "accepted"}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def real(folder: Path, url: str = "") -> Any:
    """The application as `sweepgate serve` starts it, on a GitHub without pull requests."""
    from app.effects.context import Links
    from app.main import Rooms, create_app
    from app.settings import Settings
    from tests.flows.fake_github import FakeAccess, FakeGitHub, same_measurement, verify_ok

    settings = Settings(
        webhook_secrets=(SECRET,),  # type: ignore[arg-type]
        marker_key="marker key",  # type: ignore[arg-type]
        github_token="token",  # type: ignore[arg-type]
        database_url=url or f"sqlite:///{folder}/sweepgate.sqlite",
        inbox_limit=10_000_000,
    )
    return create_app(settings, Rooms(FakeAccess(FakeGitHub()), verify_ok, same_measurement, Links()))


def main() -> None:
    """`python -m tests.load.servers raw|bare|real FOLDER`: prints the port, serves until stdin closes.

    `raw` is HMAC without a framework.
    """
    kind, folder = sys.argv[1], Path(sys.argv[2])
    kinds: dict[str, Callable[[], Any]] = {
        "raw": lambda: bare,
        "bare": framework,
        "real": lambda: real(folder, *sys.argv[3:4]),
    }
    app = kinds[kind]()
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))

    def stop_with_parent() -> None:
        sys.stdin.read()
        server.should_exit = True

    threading.Thread(target=stop_with_parent, daemon=True).start()
    print(listener.getsockname()[1], flush=True)
    server.run(sockets=[listener])


if __name__ == "__main__":
    main()
