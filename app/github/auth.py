"""Purpose: who speaks to GitHub: a plain token, or a GitHub App with one short-lived token for each installation.

Invariants: secrets are `SecretStr`: neither repr nor logs nor errors show them. An installation token is replaced five
minutes before it runs out, by one thread while the others wait. `key` tells callers apart in caches and limiters
without saying their secret.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from pydantic import SecretStr

from app.github.errors import BadCredentials
from app.github.limits import Time

JWT_LIFE = 540
CLOCK_DRIFT = 60
REFRESH_BEFORE = 300.0


class Auth(Protocol):
    """What a request needs of its caller."""

    @property
    def key(self) -> str: ...

    def authorization(self) -> str:
        """The Authorization header's value."""

    def renew(self) -> bool:
        """After a 401: get a new token, if there is such a thing. False: the credentials are wrong."""


class TokenAuth:
    """A personal or workflow token."""

    def __init__(self, token: SecretStr) -> None:
        self._token = token
        self.key = hashlib.sha256(token.get_secret_value().encode()).hexdigest()[:16]

    def authorization(self) -> str:
        return f"Bearer {self._token.get_secret_value()}"

    def renew(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"TokenAuth(key={self.key})"


class AppAuth:
    """The App itself: a JWT of at most nine minutes, made anew for each request."""

    def __init__(self, app_id: str, private_key: SecretStr, at: Time | None = None) -> None:
        self.app_id = app_id
        self.key = f"app-{app_id}"
        self._private_key = private_key
        self._time = at or Time()

    def authorization(self) -> str:
        """Raises BadCredentials where the private key is no RSA key in PEM form."""
        import jwt

        now = int(self._time.now())
        claims = {"iat": now - CLOCK_DRIFT, "exp": now + JWT_LIFE, "iss": self.app_id}
        try:
            return f"Bearer {jwt.encode(claims, self._private_key.get_secret_value(), algorithm='RS256')}"
        except (ValueError, TypeError, jwt.PyJWTError):
            raise BadCredentials("the App's private key is not an RSA key in PEM form; check the setting") from None

    def renew(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"AppAuth(app_id={self.app_id})"


Exchange = Callable[[], tuple[str, str]]


class InstallationAuth:
    """One installation of an App. `exchange` asks GitHub for a token: (token, expires_at as ISO 8601)."""

    def __init__(self, installation: int, exchange: Exchange, at: Time | None = None) -> None:
        self.installation = installation
        self.key = f"installation-{installation}"
        self._exchange = exchange
        self._time = at or Time()
        self._lock = threading.Lock()
        self._token = SecretStr("")
        self._expires_at = 0.0

    def authorization(self) -> str:
        with self._lock:
            if self._time.now() >= self._expires_at - REFRESH_BEFORE:
                self._fetch()
            return f"Bearer {self._token.get_secret_value()}"

    def renew(self) -> bool:
        with self._lock:
            self._fetch()
        return True

    def _fetch(self) -> None:
        token, expires = self._exchange()
        self._token = SecretStr(token)
        self._expires_at = datetime.fromisoformat(expires.replace("Z", "+00:00")).timestamp()

    def __repr__(self) -> str:
        return f"InstallationAuth(installation={self.installation})"
