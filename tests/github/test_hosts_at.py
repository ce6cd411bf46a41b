"""Where archives may stand: GitHub's own storage, an enterprise server itself, and what the operator names."""

from __future__ import annotations

import pytest

from app.github.hosts import allowed, hosts_at
from app.settings import Settings

GITHUB = "https://api.github.com"
ENTERPRISE = "https://git.example/api/v3/"
STORAGE = "https://storage.example"


@pytest.mark.parametrize(
    ("api", "archives", "url", "fits"),
    [
        pytest.param(GITHUB, (), "https://x.blob.core.windows.net/a.zip", True, id="github.com's storage"),
        pytest.param(GITHUB, (), "https://api.github.com/a.zip", False, id="github.com's API is no storage"),
        pytest.param(GITHUB, (), "https://storage.example/a.zip", False, id="a host that nobody named"),
        pytest.param(GITHUB, (STORAGE,), "https://storage.example/a.zip", True, id="a host that the operator named"),
        pytest.param(GITHUB, (STORAGE,), "http://storage.example/a.zip", False, id="the named host without TLS"),
        pytest.param(ENTERPRISE, (), "https://git.example/_services/a.zip", True, id="an enterprise server itself"),
        pytest.param(ENTERPRISE, (), "https://git.example.evil/a.zip", False, id="a host that looks like it"),
        pytest.param(ENTERPRISE, (), "https://git.example:444/a.zip", False, id="another port of it"),
    ],
)
def test_an_archive_may_stand(api: str, archives: tuple[str, ...], url: str, fits: bool) -> None:
    assert allowed(url, hosts_at(api, archives).archives) is fits


def test_the_enterprise_address_loses_its_slash_and_finds_its_graphql() -> None:
    hosts = hosts_at(ENTERPRISE)
    assert (hosts.api, hosts.graphql_url) == ("https://git.example/api/v3", "https://git.example/api/graphql")


def test_the_setting_is_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWEEPGATE_ARCHIVE_HOSTS", "https://a.example, https://b.example")
    assert Settings().archive_hosts == ("https://a.example", "https://b.example")
