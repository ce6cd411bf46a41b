"""Purpose: what a model repository says of its precision: configs, and the headers of its safetensors shards.

A safetensors file starts with eight bytes (little-endian length) and a JSON header; only these are read, by HTTP
ranges, at most 1 MB a shard. Of a checkpoint with many shards only those are read that the index names for draft
tensors.

Invariants: everything is read at the commit that the revision pointed to first; a header that is cut or larger than
the bound is an error, never a short list of tensors.
"""

from __future__ import annotations

import json
from urllib.parse import quote

from app.facts.safetensors import UnreadableHeader, missing_shards, read_config
from app.github.errors import TooLarge, Unreadable
from app.github.fetch import Fetcher
from app.github.reads import CheckpointFiles

HEADER_BYTES = 1_000_000
FIRST_RANGE = 131_072
CONFIG_BYTES = 4_000_000
INDEX_BYTES = 32_000_000
INFO_BYTES = 8_000_000
FEW_SHARDS = 8
MOST_SHARDS = 64
INDEX = "model.safetensors.index.json"
CONFIGS = ("config.json", "hf_quant_config.json", INDEX)


def read_checkpoint(fetcher: Fetcher, repository: str, revision: str) -> CheckpointFiles:
    """Configs and headers of one revision. Raises NotThere, Unavailable, TooLarge, Unreadable, HostRefused."""
    base = f"{fetcher.hosts.checkpoint}/{repository}/resolve"
    sha, names = _described(fetcher, repository, revision)
    files = {name: _file(fetcher, f"{base}/{sha}/{name}", name) for name in CONFIGS if name in names}
    shards = _shards(files, [name for name in names if name.endswith(".safetensors")])
    if len(shards) > MOST_SHARDS:
        raise TooLarge(f"{repository}: {len(shards)} shards may hold the draft, at most {MOST_SHARDS} are read")
    headers = {name: read_header(fetcher, f"{base}/{sha}/{quote(name)}", name) for name in shards}
    return CheckpointFiles(sha, files, headers)


def _described(fetcher: Fetcher, repository: str, revision: str) -> tuple[str, list[str]]:
    """The commit of a revision and its file names."""
    url = f"{fetcher.hosts.checkpoint}/api/models/{repository}/revision/{quote(revision, safe='')}"
    found = fetcher.get(url, INFO_BYTES, fetcher.hosts.checkpoint_files)
    try:
        told = json.loads(found.content)
        return str(told["sha"]), sorted(str(each["rfilename"]) for each in told["siblings"])
    except (ValueError, KeyError, TypeError):
        raise Unreadable(f"{repository}: the description of the checkpoint is not readable") from None


def _file(fetcher: Fetcher, url: str, name: str) -> bytes:
    return fetcher.get(url, INDEX_BYTES if name == INDEX else CONFIG_BYTES, fetcher.hosts.checkpoint_files).content


def _shards(files: dict[str, bytes], names: list[str]) -> list[str]:
    """Shards to read: all where they are few or nothing tells them apart, else those that hold draft tensors."""
    if len(names) <= FEW_SHARDS or INDEX not in files:
        return names
    try:
        config = read_config(files.get("config.json", b"{}"))
        draft = missing_shards(files[INDEX], (), config, standalone=False)
    except UnreadableHeader as broken:
        raise Unreadable(str(broken)) from None
    return [name for name in draft if name in names] or names


def read_header(fetcher: Fetcher, url: str, name: str) -> bytes:
    """The JSON header of a shard. Two ranges at most."""
    start = _range(fetcher, url, name, 0, FIRST_RANGE)
    if len(start) < 8:
        raise Unreadable(f"{name} is no safetensors file: it has {len(start)} bytes")
    length = int.from_bytes(start[:8], "little")
    if length > HEADER_BYTES - 8:
        raise TooLarge(f"{name}: a header of {length} bytes, at most {HEADER_BYTES - 8} are read")
    content = start
    if len(start) < length + 8:
        content += _range(fetcher, url, name, len(start), length + 8 - len(start))
    header = content[8 : 8 + length]
    if len(header) < length or not header.startswith(b"{"):
        raise Unreadable(f"{name} has no whole safetensors header")
    return header


def _range(fetcher: Fetcher, url: str, name: str, first: int, size: int) -> bytes:
    headers = {"Range": f"bytes={first}-{first + size - 1}"}
    found = fetcher.get(url, HEADER_BYTES, fetcher.hosts.checkpoint_files, headers)
    if found.status != 206 and first:
        raise Unreadable(f"{name}: the host does not answer ranges")
    return found.content
