"""Purpose: what every endpoint of the stand-in shares: routes, the caller, errors in GitHub's shape, pages, ETags.

An endpoint is a function from `Call` to `Answer`, registered by `@route`; it refuses by raising `Refused`.
Invariants: paging is by `page` and `per_page` (at most 100) with Link headers; a 304 is free of budget.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode

if TYPE_CHECKING:
    from app.sandbox.model import App, Comment
    from app.sandbox.pull import PullRequest
    from app.sandbox.repository import Repository
    from app.sandbox.runs import Run
    from app.sandbox.world import World

T = TypeVar("T")
LEVELS = {"none": 0, "read": 1, "triage": 2, "write": 3, "maintain": 4, "admin": 5}
DOCS = "https://docs.github.com/rest"


class Refused(Exception):  # noqa: N818
    """An answer that is an error, in GitHub's shape."""

    def __init__(self, status: int, message: str, errors: Sequence[Mapping[str, str]] = (), **headers: str) -> None:
        super().__init__(message)
        self.status, self.message, self.errors = status, message, list(errors)
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def body(self) -> dict[str, Any]:
        made: dict[str, Any] = {"message": self.message, "documentation_url": DOCS, "status": str(self.status)}
        return made | ({"errors": self.errors} if self.errors else {})


def not_found() -> Refused:
    return Refused(404, "Not Found")


def invalid(resource: str, field_name: str, code: str = "invalid") -> Refused:
    """422 for a field, such as a missing one (code missing_field)."""
    return Refused(422, "Validation Failed", [{"resource": resource, "field": field_name, "code": code}])


@dataclass
class Answer:
    """What an endpoint gives back. `raw` replaces the JSON body. `location` makes it a redirect."""

    body: Any = None
    status: int = 200
    raw: bytes | None = None
    media: str = "application/json; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)

    def bytes(self) -> bytes:
        if self.raw is not None:
            return self.raw
        return b"" if self.body is None else json.dumps(self.body).encode()


def redirect(location: str) -> Answer:
    return Answer(status=302, headers={"Location": location})


def empty() -> Answer:
    return Answer(status=204)


@dataclass
class Call:
    """One request. `login` is "" for an anonymous one; `app` is set when an App itself calls (by JWT)."""

    world: World
    method: str
    path: str
    parts: dict[str, str]
    query: dict[str, str]
    headers: Mapping[str, str]
    content: bytes = b""
    token: str = ""
    login: str = ""
    app: App | None = None

    @property
    def json(self) -> dict[str, Any]:
        try:
            told = json.loads(self.content or b"{}")
        except ValueError:
            raise Refused(400, "Problems parsing JSON") from None
        if not isinstance(told, dict):
            raise Refused(400, "Body should be a JSON object")
        return told

    def need(self, name: str) -> Any:
        """A field of the body that must be there."""
        value = self.json.get(name)
        if value in (None, ""):
            raise invalid("Request", name, "missing_field")
        return value

    def number(self, name: str) -> int:
        return int(self.parts[name])

    def repo(self) -> Repository:
        found = self.world.find(f"{self.parts['owner']}/{self.parts['repo']}")
        if found is None or (found.private and self.level(found) < LEVELS["read"]):
            raise not_found()
        return found

    def pull(self) -> PullRequest:
        found = self.repo().pulls.get(self.number("number"))
        if found is None:
            raise not_found()
        return found

    def run(self) -> Run:
        found = self.repo().run(self.number("id"))
        if found is None or found.visible_at > self.world.clock.now():
            raise not_found()
        return found

    def comment(self, kind: str) -> tuple[PullRequest, Comment]:
        """A comment by its id, wherever it stands in the repository."""
        wanted = self.number("id")
        for pull in self.repo().pulls.values():
            for each in pull.comments:
                if each.id == wanted and each.kind == kind:
                    return pull, each
        raise not_found()

    def level(self, repo: Repository) -> int:
        """The caller's rank in a repository. A bot that an App owns has what the App was given."""
        if self.login.endswith("[bot]"):
            return LEVELS["write"]
        if not self.login:
            return LEVELS["none"] if repo.private else LEVELS["read"]
        return LEVELS[repo.permission(self.login).permission]

    def must(self, repo: Repository, permission: str, level: str = "write") -> None:
        """Refuse a caller without the right to write; `permission` is the App permission that counts for a bot."""
        if not self.login:
            raise Refused(401, "Requires authentication")
        owned = next((app for app in self.world.apps.values() if app.bot == self.login), None)
        if owned is not None and owned.permissions.get(permission) != "write":
            raise Refused(403, "Resource not accessible by integration")
        if self.level(repo) < LEVELS[level]:
            raise Refused(403, "Must have admin rights to Repository.")

    def paged(self, items: Sequence[T], shape: Callable[[T], Any], key: str = "") -> Answer:
        """One page. With `key` the list stands below it, beside `total_count`."""
        size = min(max(int(self.query.get("per_page") or 30), 1), 100)
        page = max(int(self.query.get("page") or 1), 1)
        shown = [shape(item) for item in items[(page - 1) * size : page * size]]
        last = max(1, -(-len(items) // size))
        links = []
        for rel, target in (("prev", page - 1), ("next", page + 1), ("last", last), ("first", 1)):
            if 1 <= target <= last and not (rel in ("last",) and page >= last) and not (rel == "first" and page == 1):
                query = urlencode({**self.query, "per_page": str(size), "page": str(target)})
                links.append(f'<{self.world.api_url}{self.path}?{query}>; rel="{rel}"')
        headers = {"Link": ", ".join(links)} if last > 1 else {}
        return Answer({"total_count": len(items), key: shown} if key else shown, headers=headers)


Endpoint = Callable[[Call], Answer]
PART = re.compile(r"\{(\w+)(?::(\w+))?\}")
KINDS = {None: r"[^/]+", "int": r"\d+", "path": r".+"}


@dataclass(frozen=True)
class Route:
    method: str
    template: str
    pattern: re.Pattern[str]
    endpoint: Endpoint
    jwt: bool


ROUTES: list[Route] = []


def route(method: str, template: str, jwt: bool = False) -> Callable[[Endpoint], Endpoint]:
    """Register an endpoint. A part is {name}, {name:int} or {name:path}; `jwt` asks for an App's own token."""

    def enter(endpoint: Endpoint) -> Endpoint:
        pattern = PART.sub(lambda found: f"(?P<{found[1]}>{KINDS[found[2]]})", template)
        ROUTES.append(Route(method, template, re.compile(pattern + "$"), endpoint, jwt))
        return endpoint

    return enter


def find_route(method: str, path: str) -> tuple[Route, dict[str, str]] | None:
    """The first route that fits."""
    for each in ROUTES:
        if each.method == method and (found := each.pattern.match(path)):
            return each, found.groupdict()
    return None


def etag_of(content: bytes) -> str:
    return f'W/"{hashlib.sha1(content, usedforsecurity=False).hexdigest()}"'


def etagged(call: Call, answer: Answer) -> Answer:
    """The answer with its ETag, or an empty 304 where the caller has it already."""
    if call.method != "GET" or answer.status != 200:
        return answer
    tag = etag_of(answer.bytes())
    answer.headers["ETag"] = tag
    if call.headers.get("if-none-match") == tag:
        return Answer(status=304, headers=answer.headers)
    return answer
