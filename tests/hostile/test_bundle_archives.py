"""Bundles that somebody else packed: damaged, doubled, contradictory archives are told in a sentence."""

from __future__ import annotations

import json
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.cli import main
from tests.support.bundles import EXAMPLE

MEMBERS = {
    path.relative_to(EXAMPLE).as_posix(): path.read_bytes() for path in sorted(EXAMPLE.rglob("*")) if path.is_file()
}
DIRECTORY, LOCAL = b"PK\1\2", b"PK\3\4"


def archive(folder: Path, members: list[tuple[str, bytes]]) -> Path:
    path = folder / "bundle.zip"
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        warnings.simplefilter("ignore")  # two members of one name are the point of a case
        for name, content in members:
            packed.writestr(name, content)
    return path


def flipped(content: bytearray) -> None:
    start = content.find(LOCAL) + 200
    content[start : start + 40] = bytes(byte ^ 0xFF for byte in content[start : start + 40])


def encrypted(content: bytearray) -> None:
    content[content.find(DIRECTORY) + 8] |= 1


def unknown_method(content: bytearray) -> None:
    place = content.find(DIRECTORY)
    content[place + 10 : place + 12] = struct.pack("<H", 99)


def lying_size(content: bytearray) -> None:
    place = content.find(DIRECTORY)
    content[place + 24 : place + 28] = struct.pack("<I", 10)


@pytest.mark.parametrize("damage", [flipped, encrypted, unknown_method, lying_size])
def test_a_damaged_archive_is_told(tmp_path, capsys, damage: Callable[[bytearray], None]):
    path = archive(tmp_path, list(MEMBERS.items()))
    content = bytearray(path.read_bytes())
    damage(content)
    path.write_bytes(content)
    assert main(["verify", "--bundle", str(path)]) == 2
    told = capsys.readouterr().err
    assert "damaged" in told
    assert "Internal error" not in told


def test_two_members_of_one_name_are_refused(tmp_path, capsys):
    path = archive(tmp_path, [*MEMBERS.items(), ("sources/jobs.json", b"[]")])
    assert main(["verify", "--bundle", str(path)]) == 2
    assert "two members are named 'sources/jobs.json'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("review_date", "tomorrow", id="no date"),
        pytest.param("review_date", None, id="null as a date"),
        pytest.param("pull_request", float("inf"), id="an infinite number"),
        pytest.param("pull_request", 12, id="another pull request than its own record"),
        pytest.param("repository", "@octocat\n## x", id="a repository that is none"),
        pytest.param("head_sha", "\u202e</details>", id="a commit that is none"),
        pytest.param("head_sha", "c" * 40, id="another head than its own record"),
    ],
)
def test_an_index_that_contradicts_itself_is_refused(tmp_path, capsys, field: str, value: Any):
    index = json.loads(MEMBERS["bundle.json"]) | {field: value}
    path = archive(tmp_path, [*(MEMBERS | {"bundle.json": json.dumps(index).encode()}).items()])
    assert main(["verify", "--bundle", str(path)]) == 2
    captured = capsys.readouterr()
    assert "Record" in captured.err
    assert "Internal error" not in captured.err
    assert captured.out == ""
