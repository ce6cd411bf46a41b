"""Purpose: the stand-in's GraphQL schema is a part of GitHub's own, and our queries are valid there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLUnionType,
    build_schema,
    parse,
    validate,
)
from pydantic import SecretStr

from app.github import evidence, graphql
from app.github.apps import with_token
from app.github.hosts import Hosts
from app.github.transport import Answer, Ask, Transport
from app.sandbox.api.schema import SCHEMA

OURS = build_schema(SCHEMA)
GITHUB = build_schema((Path(__file__).parent / "openapi" / "github.graphql").read_text())
NAMES = sorted(
    name for name in OURS.type_map if not name.startswith("__") and name not in ("Int", "String", "Boolean", "ID")
)


@pytest.mark.parametrize("name", NAMES)
def test_a_type_is_githubs(name: str) -> None:
    own, theirs = OURS.type_map[name], GITHUB.type_map[name]
    assert type(own) is type(theirs)
    if isinstance(own, GraphQLObjectType | GraphQLInterfaceType):
        assert isinstance(theirs, GraphQLObjectType | GraphQLInterfaceType)
        for field_name, field in own.fields.items():
            known = theirs.fields[field_name]
            assert str(field.type) == str(known.type), field_name
            for argument_name, argument in field.args.items():
                assert str(argument.type) == str(known.args[argument_name].type), f"{field_name}({argument_name})"
            required = {each for each, argument in known.args.items() if str(argument.type).endswith("!")}
            assert required <= set(field.args), field_name
    elif isinstance(own, GraphQLEnumType):
        assert isinstance(theirs, GraphQLEnumType)
        assert set(own.values) <= set(theirs.values)
    elif isinstance(own, GraphQLUnionType):
        assert isinstance(theirs, GraphQLUnionType)
        assert {each.name for each in own.types} <= {each.name for each in theirs.types}


class Recording(Transport):
    """Keeps each query, and answers with nothing, so that whoever asks stops there."""

    def __init__(self) -> None:
        hosts = Hosts(api="http://127.0.0.1:9")
        super().__init__(hosts, with_token(hosts, SecretStr("x")).transport.auth)
        self.asked: list[str] = []

    def send(self, ask: Ask) -> Answer:
        self.asked.append(ask.json["query"])
        raise InterruptedError


def queries() -> dict[str, str]:
    transport = Recording()
    review = {"id": "x", "comments": {"nodes": [], "pageInfo": {"hasNextPage": True, "endCursor": "c"}}}
    page = {"nodes": [], "pageInfo": {"hasNextPage": True, "endCursor": "c"}}
    client = with_token(transport.hosts, SecretStr("x"))
    client.transport = transport
    asks: dict[str, Callable[[], object]] = {
        "state": lambda: graphql.read_pull(transport, "o/r", 1, ["HEAD:a"]),
        **{name: partial(graphql._complete, transport, "o/r", 1, page, name) for name in graphql.LISTS},
        "inline comments": lambda: graphql._complete_review(transport, "o/r", review),
        "files": lambda: graphql.read_objects(transport, "o/r", ["a:b"]),
        "history": lambda: graphql.read_objects_and_history(
            transport, "o/r", ["a:b"], ("a", "b", "2026-01-01T00:00:00Z")
        ),
        "upstream": lambda: evidence._upstream(client, "o/r", 1),
        "upstream files": lambda: evidence._at_tip(client, "o/r", "a", ["b"]),
    }
    found = {}
    for name, ask in asks.items():
        with pytest.raises(InterruptedError):
            ask()
        found[name] = transport.asked.pop()
    return found


@pytest.mark.parametrize(("name", "text"), queries().items(), ids=queries())
def test_a_query_of_ours_is_valid_on_github(name: str, text: str) -> None:
    assert [error.message for error in validate(GITHUB, parse(text))] == []


def test_a_wrong_query_would_be_noticed() -> None:
    assert validate(GITHUB, parse("{ repository(owner: 1) { nonsense } }"))
