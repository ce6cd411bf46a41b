"""Purpose: endpoints for Apps, installation tokens, teams, users, rate limits and webhook deliveries.

The App's JWT is really checked: RS256 signature, `iss`, `exp` at most ten minutes ahead, by the wall clock.
"""

from __future__ import annotations

import secrets

from app.sandbox import shapes, shapes_runs
from app.sandbox.api.core import Answer, Call, Refused, not_found, route
from app.sandbox.clock import iso
from app.sandbox.model import App, Installation, Token
from app.sandbox.webhooks import Delivery
from app.sandbox.world import World

TOKEN_LIFE = 3600
LONGEST_JWT = 600


def app_of_jwt(world: World, token: str) -> App:
    """The App that signed a JWT. Refuses a wrong signature, one that has run out, and one that lives too long."""
    import jwt

    now = world.wall()
    try:
        issuer = str(jwt.decode(token, options={"verify_signature": False}).get("iss", ""))
        app = next(each for each in world.apps.values() if issuer in (str(each.id), f"Iv1.{each.id}"))
        claims = jwt.decode(
            token, app.public_key, algorithms=["RS256"], options={"verify_exp": False, "verify_iat": False}
        )
    except (jwt.PyJWTError, StopIteration):
        raise Refused(401, "A JSON web token could not be decoded") from None
    if claims.get("exp", 0) <= now:
        raise Refused(401, "'Expiration time' claim ('exp') must be a numeric value representing the future time")
    if claims["exp"] > now + LONGEST_JWT + 60:
        raise Refused(401, "'Expiration time' claim ('exp') is too far in the future")
    return app


@route("GET", "/app", jwt=True)
def app(call: Call) -> Answer:
    return Answer(shapes_runs.app_shape(call.world, _app(call)))


@route("GET", "/app/installations", jwt=True)
def installations(call: Call) -> Answer:
    found = [each for each in call.world.installations.values() if each.app == _app(call).id]
    return call.paged(found, lambda it: shapes_runs.installation(call.world, it))


@route("GET", "/app/installations/{id:int}", jwt=True)
def installation(call: Call) -> Answer:
    return Answer(shapes_runs.installation(call.world, _installation(call)))


@route("POST", "/app/installations/{id:int}/access_tokens", jwt=True)
def access_token(call: Call) -> Answer:
    it, owner = _installation(call), _app(call)
    text = f"ghs_{secrets.token_hex(18)}"
    expires = call.world.wall() + TOKEN_LIFE
    call.world.tokens[text] = Token(owner.bot, it.id, expires)
    told = {"token": text, "expires_at": iso(expires), "permissions": owner.permissions}
    return Answer({**told, "repository_selection": "all"}, 201)


@route("GET", "/repos/{owner}/{repo}/installation", jwt=True)
def repository_installation(call: Call) -> Answer:
    found = call.world.installation_of(call.repo())
    if found is None:
        raise not_found()
    return Answer(shapes_runs.installation(call.world, found))


@route("GET", "/installation/repositories")
def installation_repositories(call: Call) -> Answer:
    held = call.world.tokens[call.token] if call.token in call.world.tokens else Token("")
    account = call.world.installations[held.installation].account if held.installation else ""
    found = [repo for repo in call.world.repositories.values() if repo.owner == account]
    return call.paged(found, lambda repo: shapes.repository(call.world, repo), "repositories")


@route("GET", "/app/hook/deliveries", jwt=True)
def deliveries(call: Call) -> Answer:
    return call.paged(list(reversed(call.world.webhooks.log)), lambda it: _delivery(call.world, it))


@route("POST", "/app/hook/deliveries/{id:int}/attempts", jwt=True)
def redeliver(call: Call) -> Answer:
    wanted = call.number("id")
    found = next((each for each in call.world.webhooks.log if each.id == wanted), None)
    if found is None:
        raise not_found()
    call.world.webhooks.redeliver(found.guid)
    return Answer({}, 202)


@route("GET", "/orgs/{org}/teams/{team}/memberships/{login}")
def team_membership(call: Call) -> Answer:
    found = call.world.teams.get(f"{call.parts['org']}/{call.parts['team']}")
    if found is None:
        raise not_found()
    if not found.visible:
        raise Refused(403, "Resource not accessible by integration")
    if call.parts["login"] not in found.members:
        raise not_found()
    return Answer({"role": "member", "state": "active", "url": f"{call.world.api_url}{call.path}"})


@route("GET", "/orgs/{org}/teams/{team}/members")
def team_members(call: Call) -> Answer:
    found = call.world.teams.get(f"{call.parts['org']}/{call.parts['team']}")
    if found is None:
        raise not_found()
    if not found.visible:
        raise Refused(403, "Resource not accessible by integration")
    return call.paged(sorted(found.members), lambda login: shapes.user(call.world, login))


@route("GET", "/user")
def me(call: Call) -> Answer:
    if not call.login:
        raise Refused(401, "Requires authentication")
    return Answer(shapes.profile(call.world, call.login))


@route("GET", "/users/{login}")
def user(call: Call) -> Answer:
    if call.parts["login"] not in call.world.users:
        raise not_found()
    return Answer(shapes.profile(call.world, call.parts["login"]))


@route("GET", "/rate_limit")
def rate_limit(call: Call) -> Answer:
    """The budget. Asking for it costs nothing."""
    shown = {}
    for resource in ("core", "graphql", "search"):
        held = call.world.budget(call.token, "core" if resource == "search" else resource)
        counts = {"limit": held.limit, "used": held.used, "remaining": held.remaining}
        shown[resource] = {**counts, "reset": int(held.resets_at)}
    return Answer({"resources": shown, "rate": shown["core"]})


@route("GET", "/meta")
def meta(_call: Call) -> Answer:
    return Answer({"verifiable_password_authentication": False})


@route("GET", "/zen")
def zen(_call: Call) -> Answer:
    return Answer(raw=b"Keep it logically awesome.", media="text/plain")


def _app(call: Call) -> App:
    if call.app is None:
        raise Refused(401, "A JSON web token could not be decoded")
    return call.app


def _installation(call: Call) -> Installation:
    found = call.world.installations.get(call.number("id"))
    if found is None or found.app != _app(call).id:
        raise not_found()
    return found


def _delivery(world: World, it: Delivery) -> dict[str, object]:
    return {
        "id": it.id,
        "guid": it.guid,
        "delivered_at": iso(world.clock.now()),
        "redelivery": it.attempts > 1,
        "duration": 0.1,
        "status": "OK" if 200 <= it.status < 300 else "failed",
        "status_code": it.status,
        "event": it.event,
        "action": it.action or None,
        "installation_id": None,
        "repository_id": None,
        "throttled_at": None,
    }
