"""Purpose: where GitHub and the other hosts are: the one place that knows an address.

Everything is a setting, so that an enterprise server or the stand-in is a matter of configuration. A URL that a pull
request names is never fetched as it stands: `page` maps its host to a configured base, and a host that is not listed
is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import urlsplit

from app.github.errors import HostRefused

PAGES: Mapping[str, str] = MappingProxyType(
    {
        host: f"https://{host}"
        for host in (
            "docs.sglang.io",
            "docs.sglang.ai",
            "recipes.vllm.ai",
            "docs.nvidia.com",
            "raw.githubusercontent.com",
        )
    }
)
ARCHIVES = (
    "https://*.actions.githubusercontent.com",
    "https://*.blob.core.windows.net",
    "https://*.githubusercontent.com",
)
CHECKPOINT_FILES = ("https://*.huggingface.co", "https://*.hf.co")


@dataclass(frozen=True)
class Hosts:
    """Base addresses, without a trailing slash.

    `api`: https://api.github.com, or https://HOST/api/v3 of an enterprise server. `graphql`: derived where empty.
    `pages`: allowed documentation hosts, each with its base address. `archives` and `checkpoint_files`: where
    redirects of archives and checkpoint files may lead (scheme://host[:port], a leading "*." stands for any subdomain).
    `proxy` is the address of an HTTP proxy, `certificates` a PEM file of further authorities (enterprise servers).
    """

    api: str = "https://api.github.com"
    graphql: str = ""
    checkpoint: str = "https://huggingface.co"
    pages: Mapping[str, str] = field(default_factory=lambda: PAGES)
    archives: tuple[str, ...] = ARCHIVES
    checkpoint_files: tuple[str, ...] = CHECKPOINT_FILES
    proxy: str = ""
    certificates: str = ""

    @property
    def graphql_url(self) -> str:
        if self.graphql:
            return self.graphql
        if self.api.endswith("/api/v3"):
            return self.api.removesuffix("/v3") + "/graphql"
        return f"{self.api}/graphql"

    def page(self, url: str) -> str:
        """The address to fetch a page from. Raises HostRefused for a host or scheme that is not listed."""
        parts = urlsplit(url)
        base = self.pages.get((parts.hostname or "").lower()) if parts.scheme == "https" else None
        if base is None or parts.port not in (None, 443) or parts.username or "@" in parts.netloc:
            raise HostRefused(f"{parts.scheme}://{parts.hostname or ''} is not on the list of hosts that may be read")
        return base + (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def hosts_at(api: str, archives: Iterable[str] = ()) -> Hosts:
    """The hosts of an API address: GitHub's own, or an enterprise server, whose archives may stand on itself too.
    `archives`: further places of archives, such as an enterprise server's storage."""
    api = api.rstrip("/")
    parts = urlsplit(api)
    own = () if api == Hosts.api else (f"{parts.scheme}://{parts.netloc}",)
    return Hosts(api=api, archives=(*ARCHIVES, *own, *archives))


def allowed(url: str, patterns: tuple[str, ...]) -> bool:
    """Whether a redirect may lead to a URL: scheme and port equal, host equal or below the pattern's "*."."""
    parts = urlsplit(url)
    for pattern in patterns:
        known = urlsplit(pattern)
        host, wanted = (parts.hostname or "").lower(), (known.hostname or "").lower()
        fits = host.endswith(wanted[1:]) if wanted.startswith("*.") else host == wanted
        if fits and parts.scheme == known.scheme and parts.port == known.port and "@" not in parts.netloc:
            return True
    return False
