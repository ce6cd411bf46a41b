"""Purpose: the one way to GitHub's API: authorisation, limits, repetition, ETags, counting, errors.

Invariants: a read is repeated on silence, broken connections and 5xx; a write only where nothing was sent, or where
doing it twice is doing it once (`repeatable`). A write without an answer is `Unanswered`, never repeated blindly.
Redirects of the API (a renamed repository) are followed on the API's own host only; other hosts never see the token.
"""

from __future__ import annotations

import json as json_text
import logging
import ssl
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx

from app.github.auth import Auth
from app.github.cache import EtagCache, Kept
from app.github.counter import CallCounter
from app.github.errors import BadCredentials, Limited, NotThere, Refused, Unanswered, Unavailable, Unreadable
from app.github.hosts import Hosts
from app.github.limits import Limiter, Time

# httpx logs every URL at INFO, and the addresses of archives carry a signature
logging.getLogger("httpx").setLevel(logging.WARNING)

API_VERSION = "2022-11-28"
AGENT = "sweepgate"
TRIES = 4
FIRST_WAIT = 0.5
MOVED = (301, 307, 308)
MOST_REDIRECTS = 3
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@dataclass(frozen=True)
class Answer:
    """An answer below 400. `headers` have lower-case names."""

    status: int
    headers: dict[str, str]
    content: bytes

    def json(self) -> Any:
        """Raises Unreadable where the body is not JSON."""
        try:
            return json_text.loads(self.content)
        except ValueError:
            raise Unreadable("GitHub's answer is not JSON") from None


@dataclass(frozen=True)
class Ask:
    """One request. `url` is absolute, or a path below the API's base. `repository` is whose turn it takes."""

    method: str
    url: str
    params: dict[str, str] | None = None
    json: Any = None
    headers: dict[str, str] | None = None
    repository: str = ""
    write: bool = False
    repeatable: bool = False

    @property
    def what(self) -> str:
        """The request in words, without query or host."""
        return f"{self.method} {urlsplit(self.url).path}"


class Transport:
    """Sends requests of one caller. Thread-safe; `counted` gives a view with a counter of its own."""

    def __init__(
        self,
        hosts: Hosts,
        auth: Auth,
        limiter: Limiter | None = None,
        cache: EtagCache | None = None,
        timeout: float = 20.0,
        client: httpx.Client | None = None,
    ) -> None:
        self.hosts, self.auth = hosts, auth
        self.limiter = limiter or Limiter()
        self.cache = cache or EtagCache()
        self.counter = CallCounter()
        self.client = client or new_client(hosts, timeout)

    @property
    def time(self) -> Time:
        return self.limiter.time

    def counted(self, counter: CallCounter) -> Transport:
        """The same connection, counting elsewhere."""
        view = Transport(self.hosts, self.auth, self.limiter, self.cache, client=self.client)
        view.counter = counter
        return view

    def get(self, url: str, params: dict[str, str] | None = None, repository: str = "", accept: str = "") -> Answer:
        """A read, with its ETag."""
        headers = {"Accept": accept} if accept else None
        return self.send(Ask("GET", url, params, headers=headers, repository=repository))

    def send(self, ask: Ask) -> Answer:
        """Raises the errors of errors.py."""
        renewed = False
        for tried in range(TRIES):
            try:
                return self._once(ask)
            except Limited as limited:
                wait = limited.until - self.time.now()
                if wait > self.limiter.longest_wait or tried == TRIES - 1:
                    raise
            except Unavailable:
                if tried == TRIES - 1:
                    raise
                self.time.sleep(FIRST_WAIT * 2**tried)
            except BadCredentials:
                if renewed or not self.auth.renew():
                    raise
                renewed = True
        raise Unavailable(f"{ask.what}: no answer after {TRIES} tries")

    def _once(self, ask: Ask) -> Answer:
        key = f"{self.auth.key} {ask.url} {sorted((ask.params or {}).items())} {sorted((ask.headers or {}).items())}"
        kept = self.cache.get(key) if ask.method == "GET" else None
        with self.limiter.turn(ask.repository, ask.write):
            status, headers, content = self._exchange(ask, kept)
        self.counter.count(ask.method, urlsplit(ask.url).path, status)
        if status == 304 and kept is not None:
            self.limiter.note(status, headers)
            return Answer(200, kept.headers, kept.content)
        self._raise_for(ask, status, headers, content)
        if ask.method == "GET" and status == 200 and (etag := headers.get("etag")):
            self.cache.put(key, Kept(etag, headers, content))
        return Answer(status, headers, content)

    def _exchange(self, ask: Ask, kept: Kept | None) -> tuple[int, dict[str, str], bytes]:
        url = ask.url if "://" in ask.url else self.hosts.api + ask.url
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": self.auth.authorization(),
            "User-Agent": AGENT,
            "X-GitHub-Api-Version": API_VERSION,
            **(ask.headers or {}),
            **({"If-None-Match": kept.etag} if kept else {}),
        }
        for _ in range(MOST_REDIRECTS + 1):
            response = self._request(ask, url, headers)
            told = {name.lower(): value for name, value in response.headers.items()}
            if response.status_code not in MOVED or "location" not in told:
                return response.status_code, told, response.content
            url = self._moved(ask, url, told["location"])
        raise Unreadable(f"{ask.what}: more than {MOST_REDIRECTS} redirects")

    def _request(self, ask: Ask, url: str, headers: dict[str, str]) -> httpx.Response:
        try:
            return self.client.request(ask.method, url, params=ask.params, json=ask.json, headers=headers)
        except NEVER_SENT as failed:
            raise Unavailable(f"{ask.what}: GitHub cannot be reached ({type(failed).__name__})") from None
        except httpx.HTTPError as failed:
            self.counter.count(ask.method, urlsplit(ask.url).path, 0)
            raise self._silent(ask, type(failed).__name__) from None

    def _moved(self, ask: Ask, url: str, location: str) -> str:
        target = urljoin(url, location)
        if urlsplit(target)[:2] != urlsplit(url)[:2]:
            raise Unreadable(f"{ask.what}: GitHub redirects to another host")
        return target

    def _silent(self, ask: Ask, why: str) -> Unavailable | Unanswered:
        if ask.write and not ask.repeatable:
            return Unanswered(f"{ask.what}: no answer ({why}); it may have happened")
        return Unavailable(f"{ask.what}: no answer ({why})")

    def _raise_for(self, ask: Ask, status: int, headers: dict[str, str], content: bytes) -> None:
        message = _message(content) if status >= 400 else ""
        limited = self.limiter.note(status, headers, message)
        if limited is not None:
            raise Limited(ask.what, limited.until, limited.secondary)
        if status < 400:
            return
        if status >= 500:
            raise self._silent(ask, f"status {status}")
        if status in (404, 410):
            raise NotThere(f"{ask.what}: not found ({status})")
        if status == 401:
            raise BadCredentials(f"{ask.what}: GitHub does not accept the credentials (401)")
        raise Refused(ask.what, status, message)

    def pages(self, url: str, params: dict[str, str] | None = None, repository: str = "", most: int = 20) -> list[Any]:
        """The JSON of every page of a list, 100 entries each. Raises Unreadable after `most` pages: never cut short."""
        found: list[Any] = []
        ask = Ask("GET", url, {"per_page": "100", **(params or {})}, repository=repository)
        for _ in range(most):
            answer = self.send(ask)
            found.append(answer.json())
            following = next_page(answer.headers.get("link", ""))
            if not following:
                return found
            ask = replace(ask, url=following, params=None)
        raise Unreadable(f"{ask.what}: the list has more than {most} pages")


def new_client(hosts: Hosts, timeout: float) -> httpx.Client:
    """A connection pool that follows no redirect; proxy and certificates are settings, never the environment's."""
    verify: ssl.SSLContext | bool = True
    if hosts.certificates:
        verify = ssl.create_default_context()
        verify.load_verify_locations(hosts.certificates)
    limits = httpx.Limits(max_connections=32, max_keepalive_connections=16)
    return httpx.Client(
        timeout=timeout,
        limits=limits,
        follow_redirects=False,
        trust_env=False,
        proxy=hosts.proxy or None,
        verify=verify,
    )


def next_page(link: str) -> str:
    """The address of rel="next" in a Link header, "" where there is none."""
    for part in link.split(","):
        address, _, rest = part.partition(";")
        if 'rel="next"' in rest:
            return address.strip().strip("<>")
    return ""


def _message(content: bytes) -> str:
    """GitHub's own sentence of an error, with the fields that it names; at most 300 characters."""
    try:
        told = json_text.loads(content)
    except ValueError:
        return "no reason given"
    if not isinstance(told, dict):
        return "no reason given"
    fields = [each for each in told.get("errors") or [] if isinstance(each, dict)]
    named = [str(each.get("message") or f"{each.get('field')} {each.get('code')}") for each in fields]
    return "; ".join([str(told.get("message") or "no reason given"), *named])[:300]
