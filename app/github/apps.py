"""Purpose: ready clients: for a plain token, and for each installation of a GitHub App.

Invariants: one limiter, one ETag cache and one token for each installation, whatever asks; one connection pool for
all. The App's own requests (which installation, a new token) do not count as requests of a verification.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import httpx
from pydantic import SecretStr

from app.github import decode
from app.github.auth import AppAuth, InstallationAuth, TokenAuth
from app.github.cache import EtagCache
from app.github.client import GitHub
from app.github.errors import Unreadable
from app.github.hosts import Hosts
from app.github.limits import Limiter, Time
from app.github.reads import Actor
from app.github.transport import Ask, Transport, new_client


def with_token(
    hosts: Hosts, token: SecretStr, at: Time | None = None, cache: EtagCache | None = None, timeout: float = 20.0
) -> GitHub:
    """A client that speaks with a plain token."""
    return GitHub(Transport(hosts, TokenAuth(token), Limiter(at), cache, timeout))


@dataclass(frozen=True)
class Identity:
    """The App and its bot, with the permissions that the App asks for."""

    app_id: int
    slug: str
    bot: Actor
    permissions: dict[str, str]


class Installations:
    """All installations of an App. Thread-safe."""

    def __init__(
        self,
        hosts: Hosts,
        app_id: str,
        private_key: SecretStr,
        at: Time | None = None,
        longest_wait: float = 30.0,
        timeout: float = 20.0,
    ) -> None:
        self._hosts, self._time, self._longest_wait = hosts, at or Time(), longest_wait
        self._client: httpx.Client = new_client(hosts, timeout)
        auth = AppAuth(app_id, private_key, self._time)
        self._app = Transport(hosts, auth, Limiter(self._time, longest_wait), client=self._client)
        self._clients: dict[int, GitHub] = {}
        self._by_repository: dict[str, int] = {}
        self._lock = threading.Lock()

    def identity(self) -> Identity:
        """Who the App is on GitHub; its bot's id needs a token of an installation and is read by it."""
        node = self._app.get("/app").json()
        try:
            slug = str(node["slug"])
            permissions = {str(name): str(level) for name, level in node["permissions"].items()}
            app_id = int(node["id"])
        except (KeyError, TypeError, ValueError, AttributeError):
            raise Unreadable("GitHub's answer about the App lacks id, slug or permissions") from None
        some = next(iter(self.all()), None)
        reader = self._app if some is None else self.client(some).transport
        bot = decode.rest_actor(reader.get(f"/users/{slug}[bot]").json())
        return Identity(app_id, slug, bot, permissions)

    def all(self) -> list[int]:
        """Ids of the installations."""
        return [int(node["id"]) for page in self._app.pages("/app/installations") for node in page]

    def of(self, repository: str) -> GitHub:
        """The client for a repository "owner/name". Raises NotThere where the App is not installed."""
        with self._lock:
            known = self._by_repository.get(repository)
        if known is None:
            known = int(self._app.get(f"/repos/{repository}/installation").json()["id"])
            with self._lock:
                self._by_repository[repository] = known
        return self.client(known)

    def client(self, installation: int) -> GitHub:
        """The client of an installation, always the same one."""
        with self._lock:
            if installation not in self._clients:
                auth = InstallationAuth(installation, lambda: self._exchange(installation), self._time)
                limiter = Limiter(self._time, self._longest_wait)
                self._clients[installation] = GitHub(
                    Transport(self._hosts, auth, limiter, EtagCache(), client=self._client)
                )
            return self._clients[installation]

    def repositories(self, installation: int) -> list[str]:
        """Full names of the repositories of an installation."""
        pages = self.client(installation).transport.pages("/installation/repositories")
        return [str(node["full_name"]) for page in pages for node in page["repositories"]]

    def _exchange(self, installation: int) -> tuple[str, str]:
        ask = Ask("POST", f"/app/installations/{installation}/access_tokens", repeatable=True)
        node: Any = self._app.send(ask).json()
        try:
            return str(node["token"]), str(node["expires_at"])
        except (KeyError, TypeError):
            raise Unreadable("GitHub's answer holds no installation token") from None
