"""Purpose: what GitHub says of our App: permissions, events, webhook, the newest deliveries, and the time.

Read by `sweepgate doctor` only. Only the App itself may ask for these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from pydantic import SecretStr

from app.github.auth import AppAuth
from app.github.errors import HostError, Unreadable
from app.github.hosts import Hosts
from app.github.limits import Time
from app.github.transport import Transport, new_client

DELIVERIES = 30


@dataclass(frozen=True)
class AppPage:
    """`hook` is None where it cannot be read. `deliveries`: answers of our door to the newest ones, newest first.
    `ahead`: seconds that our clock is ahead of GitHub's, None where GitHub tells no time."""

    slug: str
    permissions: Mapping[str, str]
    events: tuple[str, ...]
    hook: Mapping[str, str] | None
    deliveries: tuple[int, ...]
    ahead: float | None


def read_app(hosts: Hosts, app_id: int, key: SecretStr, now: Callable[[], float]) -> AppPage:
    """Raises the errors of errors.py."""
    transport = Transport(hosts, AppAuth(str(app_id), key, Time()), client=new_client(hosts, 20.0))
    answer = transport.get("/app")
    node = answer.json()
    try:
        slug, permissions = str(node["slug"]), {str(name): str(level) for name, level in node["permissions"].items()}
        events = tuple(str(name) for name in node.get("events") or ())
    except (KeyError, TypeError, AttributeError):
        raise Unreadable("GitHub's answer about the App lacks slug or permissions") from None
    return AppPage(slug, permissions, events, _hook(transport), _deliveries(transport), ahead(answer.headers, now()))


def _hook(transport: Transport) -> Mapping[str, str] | None:
    try:
        node: Any = transport.get("/app/hook/config").json()
    except HostError:
        return None
    return {str(name): str(value) for name, value in node.items()} if isinstance(node, dict) else None


def _deliveries(transport: Transport) -> tuple[int, ...]:
    try:
        nodes: Any = transport.get("/app/hook/deliveries", {"per_page": str(DELIVERIES)}).json()
        return tuple(int(node["status_code"]) for node in nodes if int(node["status_code"]))
    except (HostError, KeyError, TypeError, ValueError):
        return ()


def ahead(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that our clock is ahead of the server that answered."""
    try:
        return now - parsedate_to_datetime(headers["date"]).timestamp()
    except (KeyError, ValueError):
        return None
