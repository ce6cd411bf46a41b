"""Purpose: downloads from outside the API: archives behind redirects, documentation pages; each within bounds.

Invariants: only listed hosts; redirects are followed one by one, each checked, and never with the caller's token;
bytes, time, members and the ratio of a zip are bounded before anything is unpacked into memory. A member whose path
leaves the archive, a link, or an encrypted member makes the whole archive unreadable.
"""

from __future__ import annotations

import io
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

import httpx

from app.github.errors import HostRefused, NotThere, Refused, TooLarge, Unavailable, Unreadable
from app.github.hosts import Hosts, allowed
from app.github.limits import Time

MOST_REDIRECTS = 4
TRIES = 3
FIRST_WAIT = 0.5
REDIRECTS = (301, 302, 303, 307, 308)
PAGE_BYTES = 8_000_000
PAGE_TYPES = ("text/", "application/json", "application/xhtml", "application/javascript", "application/x-yaml")


@dataclass(frozen=True)
class Bounds:
    """What an archive may hold: bytes as downloaded, members, unpacked bytes in all, unpacked per packed byte."""

    download: int = 512_000_000
    members: int = 5_000
    unpacked: int = 1_000_000_000
    member: int = 256_000_000
    ratio: int = 200


ARTIFACT = Bounds()
LOGS = Bounds(download=512_000_000, members=20_000, unpacked=2_000_000_000)


@dataclass(frozen=True)
class Fetched:
    """A body from another host, with its status (200, 206 or 304) and lower-case headers."""

    status: int
    headers: dict[str, str]
    content: bytes


class Fetcher:
    """Reads of other hosts. Holds no token."""

    def __init__(self, hosts: Hosts, client: httpx.Client, at: Time | None = None, seconds: float = 120.0) -> None:
        self.hosts = hosts
        self._client = client
        self._time = at or Time()
        self._seconds = seconds

    def get(
        self, url: str, most: int, may_lead: tuple[str, ...] = (), headers: Mapping[str, str] | None = None
    ) -> Fetched:
        """The body at a URL, at most `most` bytes. Redirects stay on the same host or go to `may_lead`. Asked three
        times where the host does not answer."""
        for tried in range(TRIES):
            try:
                return self._followed(url, most, may_lead, headers)
            except Unavailable:
                if tried == TRIES - 1:
                    raise
                self._time.sleep(FIRST_WAIT * 2**tried)
        raise Unavailable(f"no answer after {TRIES} tries")

    def _followed(self, url: str, most: int, may_lead: tuple[str, ...], headers: Mapping[str, str] | None) -> Fetched:
        own = "{0.scheme}://{0.netloc}".format(urlsplit(url))
        told = {"User-Agent": "sweepgate", "Accept-Encoding": "identity", **(headers or {})}
        for _ in range(MOST_REDIRECTS + 1):
            found, location = self._step(url, most, told)
            if found is not None:
                return found
            url = urljoin(url, location)
            if not allowed(url, (own, *may_lead)):
                raise HostRefused(f"a redirect leads to {urlsplit(url).hostname}, which is not on the list")
        raise Unreadable(f"more than {MOST_REDIRECTS} redirects")

    def _step(self, url: str, most: int, headers: Mapping[str, str]) -> tuple[Fetched | None, str]:
        """One request: its body, or where it redirects to."""
        parts = urlsplit(url)
        what = f"{parts.hostname}{parts.path}"
        try:
            with self._client.stream("GET", url, headers=headers) as response:
                told = {name.lower(): value for name, value in response.headers.items()}
                if response.status_code in REDIRECTS:
                    return None, told.get("location", "")
                if response.status_code in (404, 410):
                    raise NotThere(f"{what}: not found ({response.status_code})")
                if response.status_code in (401, 403):
                    raise Refused(what, response.status_code, "this needs an account")
                if response.status_code == 416:
                    raise Unreadable(f"{what}: the file ends before the bytes that were asked for")
                if response.status_code >= 400:
                    raise Unavailable(f"{what}: status {response.status_code}")
                return Fetched(response.status_code, told, self._body(response, what, most)), ""
        except httpx.HTTPError as failed:
            raise Unavailable(f"{what}: no answer ({type(failed).__name__})") from None

    def _body(self, response: httpx.Response, what: str, most: int) -> bytes:
        declared = response.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > most:
            raise TooLarge(f"{what}: {declared} bytes, at most {most} are read")
        until = self._time.now() + self._seconds
        content = bytearray()
        for chunk in response.iter_bytes():
            content += chunk
            if len(content) > most:
                raise TooLarge(f"{what}: more than {most} bytes")
            if self._time.now() > until:
                raise TooLarge(f"{what}: not read within {self._seconds:.0f} seconds")
        return bytes(content)

    def archive(self, location: str, most: int, may_lead: tuple[str, ...]) -> bytes:
        """What GitHub redirected to: the first address is checked as every later one is."""
        if not allowed(location, may_lead):
            raise HostRefused(f"an archive stands at {urlsplit(location).hostname}, which is not on the list")
        return self.get(location, most, may_lead).content

    def page(self, url: str) -> bytes:
        """A documentation page by its public URL. Raises HostRefused, NotThere, Unavailable, TooLarge, Unreadable."""
        found = self.get(self.hosts.page(url), PAGE_BYTES)
        kind = found.headers.get("content-type", "text/plain")
        if not kind.startswith(PAGE_TYPES):
            raise Unreadable(f"{url}: {kind.partition(';')[0]} is not a page")
        return found.content


def unzip(content: bytes, bounds: Bounds, wanted: Callable[[str], bool] = lambda _name: True) -> dict[str, bytes]:
    """The files of an archive by path. Raises Unreadable for what is no sound zip, TooLarge beyond the bounds."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [each for each in archive.infolist() if not each.is_dir()]
            _inspect(members, bounds, len(content))
            return _unpacked(archive, [each for each in members if wanted(each.filename)], bounds)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError) as broken:
        raise Unreadable(f"the archive is no sound zip ({type(broken).__name__})") from None


def _inspect(members: Sequence[zipfile.ZipInfo], bounds: Bounds, size: int) -> None:
    """Refuse by what the directory of the archive declares, before anything is unpacked."""
    if len(members) > bounds.members:
        raise TooLarge(f"the archive has {len(members)} members, at most {bounds.members} are read")
    total = sum(each.file_size for each in members)
    if total > bounds.unpacked:
        raise TooLarge(f"the archive unpacks to {total} bytes, at most {bounds.unpacked} are read")
    if total > bounds.ratio * max(size, 10_000):
        raise TooLarge(f"the archive unpacks to more than {bounds.ratio} times its size")
    names = [each.filename for each in members]
    for each in members:
        if not _inside(each.filename) or stat.S_ISLNK(each.external_attr >> 16):
            raise Unreadable(f"the archive holds a path outside itself or a link: {each.filename[:100]!r}")
        if each.file_size > bounds.member:
            raise TooLarge(f"{each.filename[:100]!r} unpacks to {each.file_size} bytes")
    if len(set(names)) != len(names):
        raise Unreadable("the archive holds a path twice")


def _inside(name: str) -> bool:
    parts = re.split(r"[/\\]", name)
    return (
        bool(name)
        and not name.startswith(("/", "\\"))
        and ".." not in parts
        and ":" not in parts[0]
        and "\0" not in name
    )


def _unpacked(archive: zipfile.ZipFile, members: Sequence[zipfile.ZipInfo], bounds: Bounds) -> dict[str, bytes]:
    """Unpack, counting real bytes: a member that is larger than declared is refused."""
    found: dict[str, bytes] = {}
    left = bounds.unpacked
    for each in members:
        with archive.open(each) as member:
            content = member.read(min(each.file_size, left) + 1)
        if len(content) > each.file_size:
            raise Unreadable(f"{each.filename[:100]!r} is larger than the archive declares")
        left -= len(content)
        found[each.filename] = content
    return found
