"""Purpose: the GraphQL door of the stand-in: the queries are really parsed and validated against the schema.

GitHub's habits that a client must survive are kept: a connection needs `first` or `last` of at most 100; a bot's login
has no "[bot]" here; ids above 32 bits come as `fullDatabaseId` text; a missing object is null beside an error of type
NOT_FOUND; an answer with errors still has status 200.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from app.sandbox.api.core import Answer, Call, Refused, route
from app.sandbox.api.graphql_nodes import comment_node, repository_node
from app.sandbox.clock import iso

if TYPE_CHECKING:
    from graphql import DocumentNode, GraphQLError, GraphQLSchema

Json = dict[str, Any]


@cache
def _schema() -> GraphQLSchema:
    from graphql import build_schema

    from app.sandbox.api.schema import SCHEMA

    return build_schema(SCHEMA)


@lru_cache(maxsize=64)
def _document(text: str) -> tuple[DocumentNode | None, tuple[GraphQLError, ...]]:
    """A parsed and validated query, or what is wrong with it."""
    from graphql import GraphQLError, parse, validate

    try:
        document = parse(text)
    except GraphQLError as broken:
        return None, (broken,)
    return document, tuple(validate(_schema(), document))


@route("POST", "/graphql")
def query(call: Call) -> Answer:
    """Run a query. Anonymous callers are refused, as on GitHub."""
    from graphql import execute_sync

    if not call.login:
        raise Refused(403, "API rate limit exceeded: GraphQL needs authentication")
    document, broken = _document(str(call.need("query")))
    if document is None or broken:
        return Answer({"errors": [_error(each) for each in broken]})
    result = execute_sync(_schema(), document, _root(call), variable_values=call.json.get("variables") or {})
    body: Json = {"data": result.data}
    if result.errors:
        body["errors"] = [_error(each) for each in result.errors]
    return Answer(body)


def _error(it: GraphQLError) -> Json:
    made: Json = {"message": it.message}
    if it.path:
        made["path"] = it.path
    return made | (it.extensions or {})


def _root(call: Call) -> Json:
    def repository(_info: object, owner: str, name: str, **_: object) -> Json:
        from graphql import GraphQLError

        found = call.world.find(f"{owner}/{name}")
        if found is None:
            message = f"Could not resolve to a Repository with the name '{owner}/{name}'."
            raise GraphQLError(message, extensions={"type": "NOT_FOUND"})
        return repository_node(call.world, found, call.login)

    def rate_limit(_info: object) -> Json:
        held = call.world.budget(call.token, "graphql")
        counts = {"cost": 1, "limit": held.limit, "remaining": held.remaining, "used": held.used}
        return {**counts, "resetAt": iso(held.resets_at)}

    def viewer(_info: object) -> Json:
        who = call.world.user(call.login)
        return {"id": f"U_{who.id}", "login": who.login, "databaseId": who.id, "url": f"{call.world.web}/{who.login}"}

    def node(_info: object, id: str) -> Json | None:  # noqa: A002  (GraphQL's own name)
        for repo in call.world.repositories.values():
            for pull in repo.pulls.values():
                for one in pull.comments:
                    if id.endswith(f"_{one.id}"):
                        return comment_node(call.world, pull, one, call.login)
        return None

    return {"repository": repository, "rateLimit": rate_limit, "viewer": viewer, "node": node}
