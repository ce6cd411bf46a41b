"""Purpose: a GitHub App speaks with real signatures and with tokens that are renewed before they run out."""

from __future__ import annotations

import threading

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from pydantic import SecretStr

from app.github.apps import Installations
from app.github.errors import BadCredentials, NotThere, Refused
from app.github.hosts import Hosts
from app.sandbox import Server, World
from app.sandbox.pull import PullRequest
from tests.github.conftest import FakeTime, R


@pytest.fixture(scope="module")
def keys() -> tuple[str, str]:
    """Private and public key in PEM form."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    private = key.private_bytes(serialization.Encoding.PEM, form, plain).decode()
    shape = serialization.PublicFormat.SubjectPublicKeyInfo
    return private, key.public_key().public_bytes(serialization.Encoding.PEM, shape).decode()


@pytest.fixture
def apps(world: World, server: Server, keys: tuple[str, str], clock: FakeTime, pull: PullRequest) -> Installations:
    made = world.app(123, "sweepgate", keys[1])
    world.install(made, "acme", id=77)
    return Installations(Hosts(**server.addresses()), "123", SecretStr(keys[0]), clock.time)


def exchanges(world: World) -> int:
    return sum(each.path.endswith("/access_tokens") for each in world.requests)


def test_the_client_of_a_repository_speaks_as_the_apps_bot(apps: Installations, pull: PullRequest) -> None:
    github = apps.of(R)
    github.writes.create_comment(R, 7, "hello")
    assert pull.comments[-1].author == "sweepgate[bot]"
    assert apps.of(R) is github
    assert apps.repositories(77) == [R]


def test_the_app_knows_who_it_is(apps: Installations) -> None:
    identity = apps.identity()
    assert (identity.slug, identity.bot.login, identity.bot.kind) == ("sweepgate", "sweepgate[bot]", "Bot")
    assert identity.permissions["checks"] == "write"
    assert apps.all() == [77]


def test_a_token_is_asked_for_once_and_renewed_before_it_runs_out(
    apps: Installations, world: World, clock: FakeTime
) -> None:
    github = apps.of(R)
    for after, asked in ((0, 1), (3000, 1), (310, 2), (10, 2)):
        clock.at += after
        github.permission(R, "reviewer")
        assert exchanges(world) == asked


def test_a_token_that_github_no_longer_knows_is_replaced(apps: Installations, world: World) -> None:
    github = apps.of(R)
    github.permission(R, "reviewer")
    world.tokens = {text: held for text, held in world.tokens.items() if not text.startswith("ghs_")}
    assert github.permission(R, "maintainer").permission == "admin"
    assert exchanges(world) == 2


def test_many_threads_ask_for_one_token(apps: Installations, world: World) -> None:
    github = apps.of(R)
    threads = [threading.Thread(target=github.permission, args=(R, "reviewer")) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert exchanges(world) == 1


def test_token_exchanges_are_no_requests_of_a_verification(apps: Installations) -> None:
    github = apps.of(R)
    github.permission(R, "reviewer")
    assert github.counter.requests == 1


def test_an_app_that_is_not_installed_is_told(apps: Installations, world: World) -> None:
    world.repository("other/bench", {"a": "1"})
    with pytest.raises(NotThere):
        apps.of("other/bench")


def test_a_wrong_key_is_told_as_wrong_credentials(
    world: World, server: Server, clock: FakeTime, keys: tuple[str, str]
) -> None:
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = other.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    world.app(123, "sweepgate", keys[1])
    for key in (pem, "not a key"):
        with pytest.raises(BadCredentials) as told:
            Installations(Hosts(**server.addresses()), "123", SecretStr(key), clock.time).all()
        assert key not in str(told.value)


def test_an_app_without_the_permission_is_refused(apps: Installations, world: World, pull: PullRequest) -> None:
    world.apps[123].permissions["checks"] = "read"
    from app.github.writes import CheckRunText

    text = CheckRunText("sweep", "key", "in_progress", None, "t", "s")
    with pytest.raises(Refused) as told:
        apps.of(R).writes.put_check_run(R, pull.head_sha, text)
    assert told.value.status == 403
    assert "Resource not accessible by integration" in str(told.value)


def test_no_key_is_in_a_repr(apps: Installations, keys: tuple[str, str]) -> None:
    apps.of(R).permission(R, "reviewer")
    shown = repr(vars(apps)) + repr(vars(apps._app.auth)) + repr(vars(apps.of(R).transport.auth))
    assert keys[0].splitlines()[1] not in shown
    assert "ghs_" not in shown
