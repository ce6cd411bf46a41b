"""Purpose: hidden markers that let a comment of ours be found again and trusted.

    <!-- sweepgate:<kind>:<key> <base64url JSON>.<hexadecimal HMAC-SHA-256> -->

The HMAC covers repository, pull request, kind, key, payload and the digest of the visible body. A marker is trusted
only if the author is our bot, nobody else edited the comment, and the HMAC holds; else it counts as absent, and the
comment is written over.

Accepted race: none. Whoever copies a marker elsewhere copies text that does not verify there.
"""

from __future__ import annotations

import hmac
import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from app.decide.state import OwnComment, Person, PullRef, Remark

_MARKER = re.compile(
    r"\A<!-- sweepgate:([a-z-]{1,20}):([A-Za-z0-9_-]{0,80}) ([A-Za-z0-9_=-]{2,60000})\.([0-9a-f]{64}) -->\r?\n"
)


class Markers:
    """Writes and reads markers under one key. `older` keys still verify, for rotation."""

    def __init__(self, key: bytes, older: Iterable[bytes] = ()) -> None:
        if not key:
            raise ValueError("SWEEPGATE_MARKER_KEY is empty; set it to 32 random bytes")
        self._keys = (key, *older)

    def sign(self, ref: PullRef, kind: str, key: str, payload: Mapping[str, Any], visible: str) -> str:
        """The whole body: marker line, then the visible text."""
        packed = urlsafe_b64encode(json.dumps(payload, sort_keys=True, separators=(",", ":")).encode()).decode()
        mac = _mac(self._keys[0], ref, kind, key, packed, visible)
        return f"<!-- sweepgate:{kind}:{key} {packed}.{mac} -->\n{visible}"

    def read(self, ref: PullRef, remark: Remark, bot: Person) -> OwnComment | None:
        """The trusted marker of a comment, or None."""
        if remark.kind != "issue_comment" or remark.author.id != bot.id or bot.id == 0:
            return None
        if remark.editor is not None and remark.editor.id != bot.id:
            return None
        match = _MARKER.match(remark.body)
        if not match:
            return None
        kind, key, packed, given = match.groups()
        visible = remark.body[match.end() :]
        if not any(hmac.compare_digest(_mac(secret, ref, kind, key, packed, visible), given) for secret in self._keys):
            return None
        try:
            payload = json.loads(urlsafe_b64decode(packed))
        except (ValueError, Base64Error):
            return None
        return OwnComment(kind, key, remark.id, payload, visible) if isinstance(payload, dict) else None

    def tampered(self, ref: PullRef, remarks: Iterable[Remark], bot: Person) -> tuple[OwnComment, ...]:
        """Comments of our bot whose marker no longer holds: to be written over, never to be believed."""
        found = []
        for remark in remarks:
            match = _MARKER.match(remark.body)
            ours = remark.kind == "issue_comment" and remark.author.id == bot.id != 0
            if ours and match and self.read(ref, remark, bot) is None:
                found.append(OwnComment(match.group(1), match.group(2), remark.id, {}))
        return tuple(found)

    def own(self, ref: PullRef, remarks: Iterable[Remark], bot: Person) -> tuple[OwnComment, ...]:
        found = (self.read(ref, remark, bot) for remark in remarks)
        return tuple(comment for comment in found if comment is not None)


def _mac(secret: bytes, ref: PullRef, kind: str, key: str, packed: str, visible: str) -> str:
    text = visible.replace("\r\n", "\n").strip()
    covered = [ref.repository.lower(), ref.number, kind, key, packed, sha256(text.encode()).hexdigest()]
    return hmac.digest(secret, json.dumps(covered).encode(), "sha256").hex()
