"""Purpose: the stand-in over HTTP: an ASGI application, and a server that runs it in a thread of this process.

The API stands at the root (as on github.com) and below /api/v3 with GraphQL at /api/graphql (as on an enterprise
server). The other hosts stand below /_hosts/<host>/; archives are served from a second port, so that to a client it is
another host.

Invariants: one request at a time touches the world (its lock); faults act before or after the endpoint; everything
served is in the world's request log.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from app.sandbox.api import actions, apps, core, graphql, hosts, pulls, repos
from app.sandbox.world import Logged, World

if TYPE_CHECKING:
    import uvicorn

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ENDPOINTS = (actions, apps, graphql, pulls, repos)
PREFIXES = ("/api/v3", "/api")
LONGEST_SILENCE = 120.0
FREE = ("/rate_limit",)


class Application:
    """The ASGI application over a world."""

    def __init__(self, world: World) -> None:
        self.world = world

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        content = await _body(receive)
        path = unquote(scope["path"])
        headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
        if self.world.latency:
            await asyncio.sleep(self.world.latency)
        if path.startswith(hosts.PREFIX + "/"):
            answer = self._host(scope["method"], path, headers)
            await _respond(send, answer)
            return
        for prefix in PREFIXES:
            path = path.removeprefix(prefix) if path.startswith(prefix + "/") else path
        await self._api(scope, path, headers, content, receive, send)

    def _host(self, method: str, path: str, headers: dict[str, str]) -> core.Answer:
        host, _, rest = path.removeprefix(hosts.PREFIX + "/").partition("/")
        world = self.world
        with world.lock:
            fault = world.faults.take(method, path)
            if fault is not None:
                answer = core.Answer(fault.body(), fault.status, headers=dict(fault.headers))
            else:
                try:
                    answer = hosts.answer(world, hosts.HostRequest(host, rest, headers))
                except core.Refused as refused:
                    answer = core.Answer(refused.body(), refused.status, headers=refused.headers)
            told = bool(headers.get("authorization"))
            world.requests.append(Logged(method, path, "", host, answer.status, "", told, counted=False))
        return answer

    async def _api(
        self, scope: Scope, path: str, headers: dict[str, str], content: bytes, receive: Receive, send: Send
    ) -> None:
        world, method = self.world, scope["method"]
        query = scope["query_string"].decode()
        with world.lock:
            fault = world.faults.take(method, path)
            answer = None
            if fault is None or fault.after:
                answer = self._serve(method, path, query, headers, content)
            if fault is not None:
                answer = core.Answer(fault.body(), fault.status, headers=dict(fault.headers))
            assert answer is not None  # noqa: S101  (one of the two branches made it)
            actor = _actor(world, headers)
            seen = Logged(method, path, query, "github", answer.status, actor, bool(headers.get("authorization")), True)
            world.requests.append(seen)
        if fault is not None and fault.silent:
            await _silence(receive)
            return
        if fault is not None and fault.drop:
            await _break_off(send)
            return
        await _respond(send, answer)

    def _serve(self, method: str, path: str, query: str, headers: dict[str, str], content: bytes) -> core.Answer:
        """The endpoint's answer with budget headers; every refusal in GitHub's shape."""
        world = self.world
        told = dict(parse_qsl(query, keep_blank_values=True))
        call = core.Call(world, method, path, {}, told, headers, content, _token(headers))
        try:
            found = core.find_route(method, path)
            if found is None:
                raise core.not_found()
            route, call.parts = found
            _identify(call, route.jwt)
            held = world.budget(call.token, "graphql" if path == "/graphql" else "core")
            if held.remaining <= 0 and path not in FREE:
                raise core.Refused(403, f"API rate limit exceeded for {call.login or 'anonymous'}.")
            answer = core.etagged(call, route.endpoint(call))
        except core.Refused as refused:
            answer = core.Answer(refused.body(), refused.status, headers=refused.headers)
        return self._budgeted(call, answer)

    def _budgeted(self, call: core.Call, answer: core.Answer) -> core.Answer:
        """Count the request against its budget (a 304 is free) and tell what is left."""
        resource = "graphql" if call.path == "/graphql" else "core"
        held = self.world.budget(call.token, resource)
        if answer.status != 304 and call.path not in FREE:
            held.used = min(held.limit, held.used + 1)
        answer.headers |= {
            "X-RateLimit-Limit": str(held.limit),
            "X-RateLimit-Remaining": str(held.remaining),
            "X-RateLimit-Used": str(held.used),
            "X-RateLimit-Reset": str(int(held.resets_at)),
            "X-RateLimit-Resource": resource,
            "X-GitHub-Request-Id": f"SAND:{len(self.world.requests)}",
        }
        return answer


class Server:
    """The stand-in on two loopback ports, in a thread of this process. A context manager."""

    def __init__(self, world: World, host: str = "127.0.0.1", port: int = 0, files_port: int = 0) -> None:
        self.world = world
        self._sockets = [_bound(host, port), _bound(host, files_port)]
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        api, files = (each.getsockname()[1] for each in self._sockets)
        self.url = f"http://{host}:{api}"
        self.files_host = f"http://{host}:{files}"
        world.api_url, world.files_url = self.url, f"{self.files_host}{hosts.PREFIX}/files"

    def addresses(self) -> dict[str, Any]:
        """Base addresses of every host, as keyword arguments of the client's `Hosts`."""
        names = {each.partition("/")[0] for each in self.world.pages} | set(PAGE_HOSTS)
        return {
            "api": self.url,
            "graphql": f"{self.url}/graphql",
            "checkpoint": f"{self.url}{hosts.PREFIX}/checkpoint",
            "pages": {name: f"{self.url}{hosts.PREFIX}/{name}" for name in sorted(names)},
            "archives": (self.files_host,),
        }

    def start(self) -> Server:
        import uvicorn

        settings = uvicorn.Config(
            Application(self.world), log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(settings)
        self._thread = threading.Thread(target=self._server.run, args=(self._sockets,), name="sandbox", daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.002)
        return self

    def stop(self, wait: bool = True) -> None:
        """Stop serving. Without `wait` the ports are freed a moment later, by the server's own thread."""
        self.world.webhooks.close()
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            if wait:
                self._thread.join(5)

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop(wait=False)


PAGE_HOSTS = ("docs.sglang.io", "recipes.vllm.ai", "docs.nvidia.com", "raw.githubusercontent.com", "github.com")


def _bound(host: str, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((host, port))
    return made


def _token(headers: dict[str, str]) -> str:
    kind, _, value = headers.get("authorization", "").partition(" ")
    return value.strip() if kind.lower() in ("bearer", "token") else ""


def _actor(world: World, headers: dict[str, str]) -> str:
    held = world.tokens.get(_token(headers))
    return held.login if held else ""


def _identify(call: core.Call, jwt: bool) -> None:
    """Find out who calls. A token that GitHub does not know, or that has run out, is refused."""
    if jwt:
        call.app = apps.app_of_jwt(call.world, call.token)
        return
    if not call.token:
        return
    held = call.world.tokens.get(call.token)
    if held is None or (held.expires_at and held.expires_at <= call.world.wall()):
        raise core.Refused(401, "Bad credentials")
    call.login = held.login


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


async def _body(receive: Receive) -> bytes:
    content = b""
    while True:
        message = await receive()
        content += bytes(message.get("body", b""))
        if not message.get("more_body"):
            return content


async def _silence(receive: Receive) -> None:
    """Say nothing until the client gives up (or for two minutes)."""
    try:
        async with asyncio.timeout(LONGEST_SILENCE):
            while (await receive())["type"] != "http.disconnect":
                continue
    except TimeoutError:
        return


async def _break_off(send: Send) -> None:
    """Begin an answer and never end it: the server then closes the connection."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1")]})
    await send({"type": "http.response.body", "body": b"", "more_body": True})


async def _respond(send: Send, answer: core.Answer) -> None:
    content = answer.bytes()
    headers = [(name.lower().encode(), value.encode()) for name, value in answer.headers.items() if value]
    bare = answer.status in (204, 304)
    if not bare:
        headers += [(b"content-type", answer.media.encode()), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if bare else content})
