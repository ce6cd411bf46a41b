"""What /metrics tells of GitHub: requests made and what is left of the hour's budget, by installation."""

from __future__ import annotations

from pydantic import SecretStr

from app.decide.state import Person
from app.flows.access import GitHubAccess
from app.github.apps import with_token
from app.github.hosts import Hosts
from app.sandbox import Server, World
from tests.flows.conftest import Harness


def test_requests_and_remaining_budget_are_shown(harness: Harness) -> None:
    text = harness.client.get("/metrics").text
    assert 'sweepgate_github_remaining{installation="installation-1"} 4321.0' in text
    assert 'sweepgate_github_requests{installation="installation-1"}' in text
    assert 'sweepgate_github_remaining{installation="installation-2"}' not in text, "unknown is not zero"


def test_an_access_counts_what_its_clients_ask_and_names_no_secret() -> None:
    world = World()
    world.repository("acme/bench", {"README.md": b"x"})
    world.token("secret-token", "sweepgate[bot]")
    with Server(world) as server:
        client = with_token(Hosts(**server.addresses()), SecretStr("secret-token"))
        access = GitHubAccess(lambda _repository: client, Person(9, "sweepgate[bot]", True))
        assert access.usage() == {}
        access.policy("acme/bench")
        client.labels("acme/bench")
        [(key, (requests, remaining))] = access.usage().items()
    assert requests == sum(one.counted for one in world.requests) == 2
    assert remaining is not None
    assert remaining > 0
    assert "secret" not in key
