"""Purpose: is a delivery GitHub's? HMAC-SHA-256 over the raw bytes, compared in constant time, several live secrets."""

from __future__ import annotations

import hmac
from collections.abc import Sequence

PREFIX = b"sha256="


def signature(secret: bytes, body: bytes) -> str:
    """The value of X-Hub-Signature-256 for a body."""
    return "sha256=" + hmac.digest(secret, body, "sha256").hex()


def is_signed(secrets: Sequence[bytes], body: bytes, header: bytes) -> bool:
    """True if one of the secrets signed the body. Every secret is tried, so that time tells nothing."""
    if not header.startswith(PREFIX):
        return False
    given = header[len(PREFIX) :].strip().lower()
    found = False
    for secret in secrets:
        found |= hmac.compare_digest(hmac.digest(secret, body, "sha256").hex().encode(), given)
    return found
