"""The service's verification when GitHub does not answer: errors that the flow tells apart, never a bug."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import SecretStr

from app.decide.state import PullRef, PullState
from app.demo.play import REVIEW_DAY
from app.effects import ports
from app.effects.verify import VerifyRequest
from app.flows.failures import classify
from app.github.hosts import Hosts
from app.main import Rooms
from app.sandbox.faults import Fault
from app.settings import Settings
from app.wiring import rooms_for
from tests.end_to_end.gathered import TOKEN, Gathered, gathered

GRAPHQL = "^/graphql$"
HEAD = "b" * 40


@dataclass
class Wired:
    """A played story and the rooms that the service would have on it."""

    reference: Gathered
    rooms: Rooms

    @property
    def state(self) -> PullState:
        ref = PullRef(self.reference.story.repository.full_name, self.reference.story.pull.number)
        pull = self.reference.story.pull
        known: Any = SimpleNamespace(ref=ref, merge_base=pull.base_sha, head_sha=pull.head_sha)
        return cast(PullState, known)

    def verify(self) -> str:
        request = VerifyRequest(self.state, self.state.head_sha, None, None, None, (), None)
        return self.rooms.verify(request).header


@pytest.fixture(scope="module")
def own_story() -> Iterator[Gathered]:
    """Not the session's: one test breaks its policy file."""
    with gathered() as reference:
        yield reference


@pytest.fixture
def wired(own_story: Gathered) -> Iterator[Wired]:
    """Every test has its own client, so that a rate limit of one is not the next one's."""
    own_story.world.faults.clear()
    settings = Settings(github_token=SecretStr(TOKEN), github_url=own_story.server.url)
    hosts = Hosts(**own_story.server.addresses())
    yield Wired(own_story, rooms_for(settings, hosts, review_day=lambda: REVIEW_DAY))
    own_story.world.faults.clear()


ERRORS = {
    404: (ports.NotThere, "ignore"),
    403: (ports.Refused, "refused"),
    429: (ports.Limited, "retry-at"),
}


@pytest.mark.parametrize(("status", "error", "kind"), [(status, *told) for status, told in ERRORS.items()])
def test_an_unreadable_pull_request_is_told_in_the_flow_s_own_errors(
    wired: Wired, status: int, error: type[ports.EffectError], kind: str
) -> None:
    wired.reference.world.faults.add(Fault(GRAPHQL, status=status, times=0))
    with pytest.raises(error) as raised:
        wired.verify()
    assert classify(raised.value, now=1_000.0, attempts=0).kind == kind


def test_a_broken_connection_is_retried(wired: Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.github.transport.FIRST_WAIT", 0.0)
    wired.reference.world.faults.add(Fault(GRAPHQL, status=503, times=0))
    with pytest.raises(ports.Unavailable) as raised:
        wired.verify()
    assert classify(raised.value, now=1_000.0, attempts=0).kind == "retry"


def test_the_same_measurement_question_fails_in_the_flow_s_own_errors(wired: Wired) -> None:
    wired.reference.world.faults.add(Fault("/compare/", status=403, times=0))
    with pytest.raises(ports.Refused):
        wired.rooms.same_measurement(wired.state, HEAD)


def test_a_policy_file_that_is_not_valid_keeps_the_last_valid_policy(wired: Wired) -> None:
    repository = wired.reference.story.repository
    before = wired.rooms.access.policy(repository.full_name)
    repository.push("main", {".github/sweepgate.yml": "checks: [\n"}, "maintainer")
    assert wired.verify() in ("PASS", "WARN", "REJECTED")
    assert wired.rooms.access.policy(repository.full_name) == before
