"""Purpose: the bundle on disk: `bundle.json`, `sources/*.json`, `blobs/<sha256>`, and `collection.json` beside it.

A bundle is a folder or a .zip of one. It holds everything that a verdict reads, so a verdict can be replayed later
without a network. The digest covers content only: no times, no call counts, no tool version.

Invariants: a blob's name is the SHA-256 of its bytes and is checked when read. Source files are canonical JSON. Zip
members are bounded in count, size and ratio and cannot leave the folder. `collection.json` is never read by a verdict.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

SCHEMA_VERSION = 1
MAX_MEMBERS = 20_000
MAX_BYTES = 512 * 1024 * 1024
MAX_RATIO = 200

_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
_SHA = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})?")


class BundleError(Exception):
    """The bundle cannot be read. The message names the file, what was expected and what to do."""


def canonical_json(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys, two-space indent and a final newline."""
    return (json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False) + "\n").encode()


@dataclass(frozen=True)
class SourceStatus:
    """Whether a source was gathered: ok, or missing with the reason."""

    ok: bool
    reason: str = ""


@dataclass(frozen=True)
class Bundle:
    """All evidence of one verdict in memory. `sources` are parsed JSON values by name, `blobs` raw bytes by SHA-256."""

    repository: str
    number: int
    head_sha: str
    merge_base_sha: str
    target_sha: str
    base_ref: str
    review_date: str
    policy: Mapping[str, Any]
    sign_off: Mapping[str, Any]
    statuses: Mapping[str, SourceStatus]
    sources: Mapping[str, Any]
    blobs: Mapping[str, bytes]
    collection: Mapping[str, Any] = field(default_factory=dict)

    def index(self) -> dict[str, Any]:
        """The value of bundle.json."""
        return {
            "schema_version": SCHEMA_VERSION,
            "repository": self.repository,
            "pull_request": self.number,
            "head_sha": self.head_sha,
            "merge_base_sha": self.merge_base_sha,
            "target_sha": self.target_sha,
            "base_ref": self.base_ref,
            "review_date": self.review_date,
            "policy": dict(self.policy),
            "sign_off": dict(self.sign_off),
            "sources": {
                name: {"ok": True} if status.ok else {"ok": False, "reason": status.reason}
                for name, status in sorted(self.statuses.items())
            },
        }

    @property
    def digest(self) -> str:
        """SHA-256 over bundle.json, every source and every blob name, in a fixed order."""
        hasher = hashlib.sha256(canonical_json(self.index()))
        for name in sorted(self.sources):
            hasher.update(b"source " + name.encode() + b"\n" + canonical_json(self.sources[name]))
        for name in sorted(self.blobs):
            hasher.update(b"blob " + name.encode() + b"\n")
        return hasher.hexdigest()


def blob_name(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def write_bundle(bundle: Bundle, folder: Path) -> None:
    """Write the bundle into `folder` (created). Blobs that are already there are not written again."""
    (folder / "sources").mkdir(parents=True, exist_ok=True)
    (folder / "blobs").mkdir(exist_ok=True)
    for name, content in bundle.blobs.items():
        target = folder / "blobs" / name
        if not target.exists():
            target.write_bytes(content)
    for name, value in bundle.sources.items():
        (folder / "sources" / f"{name}.json").write_bytes(canonical_json(value))
    (folder / "bundle.json").write_bytes(canonical_json(bundle.index()))
    if bundle.collection:
        (folder / "collection.json").write_bytes(canonical_json(bundle.collection))


def read_bundle(path: Path) -> Bundle:
    """Load a bundle from a folder or a .zip. Raises BundleError with file, expectation and next step."""
    if not path.exists():
        raise BundleError(f"{path}: there is no such bundle. Give a folder with bundle.json, or a .zip of one.")
    files = _zip_files(path) if path.is_file() else _folder_files(path)
    return _assemble(files, str(path))


def _folder_files(folder: Path) -> dict[str, bytes]:
    if not (folder / "bundle.json").is_file():
        raise BundleError(f"{folder}: bundle.json is missing. Record one with `sweepgate verify --record DIR`.")
    files: dict[str, bytes] = {}
    for pattern in ("bundle.json", "sources/*.json", "blobs/*"):
        for file in sorted(folder.glob(pattern)):
            if file.is_symlink() or not file.is_file():
                raise BundleError(f"{file}: a bundle holds plain files only. Remove the link or folder.")
            files[file.relative_to(folder).as_posix()] = file.read_bytes()
    return files


def _zip_files(path: Path) -> dict[str, bytes]:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as error:
        raise BundleError(f"{path}: this is not a zip ({error}). Give a folder or a .zip of a bundle.") from None
    with archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        if len(members) > MAX_MEMBERS or sum(member.file_size for member in members) > MAX_BYTES:
            raise BundleError(f"{path}: the zip is too large ({len(members)} files). Give the unpacked folder.")
        files: dict[str, bytes] = {}
        for member in members:
            parts = member.filename.split("/")
            if member.filename.startswith("/") or ".." in parts or "\\" in member.filename:
                raise BundleError(f"{path}: member {member.filename!r} leaves the folder. Record the bundle again.")
            if member.file_size > MAX_RATIO * max(member.compress_size, 1024):
                raise BundleError(f"{path}: member {member.filename!r} unpacks too far. Give the unpacked folder.")
            if member.filename in files:
                raise BundleError(f"{path}: two members are named {member.filename!r}. Record the bundle again.")
            files[member.filename] = _member(archive, member, path)
    roots = [name.removesuffix("bundle.json") for name in files if name.split("/")[-1] == "bundle.json"]
    if len(roots) != 1:
        raise BundleError(f"{path}: expected one bundle.json in the zip, found {len(roots)}.")
    return {name.removeprefix(roots[0]): content for name, content in files.items() if name.startswith(roots[0])}


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> bytes:
    try:
        return archive.read(member)
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, RuntimeError) as error:
        reason = str(error) or type(error).__name__
        raise BundleError(f"{path}: member {member.filename!r} is damaged ({reason}). Give another copy.") from None


def _assemble(files: Mapping[str, bytes], shown: str) -> Bundle:
    index = _json(files, "bundle.json", shown)
    version = index.get("schema_version") if isinstance(index, dict) else None
    if version != SCHEMA_VERSION:
        raise BundleError(
            f"{shown}/bundle.json: schema_version is {version!r}, this Sweepgate reads {SCHEMA_VERSION}. "
            "Use the Sweepgate that recorded it, or record it again."
        )
    try:
        statuses = {
            name: SourceStatus(bool(state["ok"]), str(state.get("reason", "")))
            for name, state in index["sources"].items()
        }
        blobs = {name.removeprefix("blobs/"): content for name, content in files.items() if name.startswith("blobs/")}
        sources = {
            name.removeprefix("sources/").removesuffix(".json"): _json(files, name, shown)
            for name in files
            if name.startswith("sources/")
        }
        bundle = Bundle(
            repository=str(index["repository"]),
            number=int(index["pull_request"]),
            head_sha=str(index["head_sha"]),
            merge_base_sha=str(index["merge_base_sha"]),
            target_sha=str(index["target_sha"]),
            base_ref=str(index["base_ref"]),
            review_date=date.fromisoformat(index["review_date"]).isoformat(),
            policy=dict(index["policy"]),
            sign_off=dict(index["sign_off"]),
            statuses=statuses,
            sources=sources,
            blobs=blobs,
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise BundleError(f"{shown}/bundle.json: a field is missing or wrong ({error}). Record it again.") from None
    _check(bundle, shown)
    return bundle


def _check(bundle: Bundle, shown: str) -> None:
    for name, value, shape in (
        ("repository", bundle.repository, _REPOSITORY),
        ("head_sha", bundle.head_sha, _SHA),
        ("merge_base_sha", bundle.merge_base_sha, _SHA),
        ("target_sha", bundle.target_sha, _SHA),
    ):
        if not shape.fullmatch(value):
            raise BundleError(f"{shown}/bundle.json: {name} is {value[:100]!r}. Record the bundle again.")
    told = bundle.sources.get("pull_request")
    expected = {"repository": bundle.repository, "number": bundle.number, "head_sha": bundle.head_sha}
    told = told if isinstance(told, dict) else expected
    for name, wanted in expected.items():
        if told.get(name) != wanted:
            found = str(told.get(name))[:100]
            raise BundleError(
                f"{shown}/sources/pull_request.json: {name} is {found!r}, bundle.json has {wanted!r}. "
                "Record the bundle again."
            )
    for name, status in bundle.statuses.items():
        if status.ok and name not in bundle.sources:
            raise BundleError(f"{shown}/sources/{name}.json: the file is missing. Record the bundle again.")
    for name, content in bundle.blobs.items():
        if blob_name(content) != name:
            raise BundleError(f"{shown}/blobs/{name}: the content does not match its name. Record the bundle again.")


def _json(files: Mapping[str, bytes], name: str, shown: str) -> Any:
    content = files.get(name)
    if content is None:
        raise BundleError(f"{shown}/{name}: the file is missing. Record the bundle again.")
    try:
        value = json.loads(content)
        if b"\\ud" in content.lower():
            canonical_json(value)  # refuses half characters: they have no digest
        return value
    except (ValueError, RecursionError) as error:
        place = f":{error.lineno}:{error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise BundleError(f"{shown}/{name}{place}: this is not JSON ({error}). Record the bundle again.") from None
