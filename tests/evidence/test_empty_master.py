"""A master that is not there, or has no key, has no blocks; it must not stop the gathering."""

from __future__ import annotations

import pytest

from app.evidence.wanted import blocks


@pytest.mark.parametrize("master", [b"", b"{}\n", b"# only a comment\n"])
def test_a_master_without_keys_has_no_blocks(master: bytes) -> None:
    assert blocks(master) == {}
