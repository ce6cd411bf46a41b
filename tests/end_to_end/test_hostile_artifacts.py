"""Artifacts that are no zip, too large, bombs or traps, over HTTP: the rows that need them say why they cannot know."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest

from checks.contract import COULD_NOT
from tests.end_to_end.gathered import Gathered, Rows, rows


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def declaring(size: int) -> bytes:
    """A small archive whose directory declares a member of `size` bytes."""
    raw = bytearray(zipped({"result.json": b"{}"}))
    struct.pack_into("<I", raw, raw.index(b"PK\x01\x02") + 24, size)
    return bytes(raw)


def lying() -> bytes:
    """A member that unpacks to more than its headers declare."""
    raw = bytearray(zipped({"result.json": b"[" + b"1," * 5_000 + b"1]"}))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", raw, raw.index(signature) + offset, 10)
    return bytes(raw)


GIGABYTES = 2_000_000_000
ARCHIVES = {
    "no zip": (b"<html>Service unavailable</html>", "no sound zip"),
    "empty": (b"", "no sound zip"),
    "cut in the middle": (zipped({"result.json": b"{}" * 4_000})[:-40], "no sound zip"),
    "a bomb": (zipped({"result.json": b"\0" * 20_000_000}), "times its size"),
    "2 GB by its own directory": (declaring(GIGABYTES), "unpacks to"),
    "larger than it declares": (lying(), "no sound zip"),
    "a path outside": (zipped({"../../etc/result.json": b"{}"}), "outside itself"),
    "too many members": (zipped({f"{number}.json": b"1" for number in range(5_001)}), "members"),
}
NEEDED_BY = {"bmk_": {1, 14}, "eval_results_all": {2}, "changelog-metadata": set()}
CASES = [("bmk_", kind) for kind in ARCHIVES] + [("eval_results_all", "no zip"), ("changelog-metadata", "a bomb")]


@pytest.mark.parametrize(("artifact", "kind"), CASES)
def test_an_archive_that_cannot_be_read_is_told_and_never_passes(
    reference: Gathered, good_rows: Rows, artifact: str, kind: str
) -> None:
    archive, why = ARCHIVES[kind]
    with reference.artifact(artifact) as changed:
        changed.zipped = archive
        verdict = reference.verdict()
    _told(rows(verdict), good_rows, artifact, why)
    assert verdict.internal_errors == ()


@pytest.mark.parametrize("artifact", NEEDED_BY)
def test_an_artifact_of_2_gb_is_not_even_asked_for(reference: Gathered, good_rows: Rows, artifact: str) -> None:
    asked = len(reference.world.requests)
    with reference.artifact(artifact) as changed:
        changed.declared_size = GIGABYTES
        found = rows(reference.verdict())
        number = changed.id
    _told(found, good_rows, artifact, "2000000000 bytes, at most 512000000 are read")
    assert [one.path for one in reference.world.requests[asked:] if str(number) in one.path] == []


@pytest.mark.parametrize("artifact", NEEDED_BY)
def test_an_expired_artifact_is_told(reference: Gathered, good_rows: Rows, artifact: str) -> None:
    with reference.artifact(artifact) as changed:
        changed.expired = True
        found = rows(reference.verdict())
    _told(found, good_rows, artifact, "expired")


def test_logs_that_are_no_zip_are_told(reference: Gathered, good_rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference.story.run, "logs", lambda attempt: b"not a zip")
    found = rows(reference.verdict())
    turned = {number for number in found if found[number][0] != good_rows[number][0]}
    assert turned == {9, 11, 13}
    assert all(found[number][1].startswith(COULD_NOT) for number in turned)


def _told(found: Rows, good_rows: Rows, artifact: str, why: str) -> None:
    assert {number for number in found if found[number][0] != good_rows[number][0]} == NEEDED_BY[artifact]
    for number in NEEDED_BY[artifact]:
        reason = found[number][1]
        assert reason.startswith(COULD_NOT), reason
        assert artifact in reason, reason
        assert why in reason, reason
