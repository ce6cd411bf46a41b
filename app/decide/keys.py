"""Purpose: the keys that make decisions level-triggered: the same state gives the same key, and a key acts once."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from app.decide.actions import Exempt, Pin
from app.decide.state import PullState, Remark, Run


def digest(*values: Any) -> str:
    """24 hexadecimal digits over plain values."""
    text = json.dumps(values, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:24]


def body_hash(body: str) -> str:
    """Of a body as a reader sees it: line ends and trailing spaces do not count."""
    lines = [line.rstrip() for line in body.replace("\r\n", "\n").split("\n")]
    return sha256("\n".join(lines).strip().encode()).hexdigest()[:16]


def sweep_key(repository: str, number: int, head_sha: str, label_event: str) -> str:
    """Names one sweep of one head for one label event; stands in the title of the run."""
    return digest("sweep", repository.lower(), number, head_sha, label_event)


def sign_off_key(remark: Remark) -> str:
    return f"{remark.kind}-{remark.id}"


def verify_key(
    state: PullState,
    *,
    sign_offs: tuple[Remark, ...],
    pin: Pin | None,
    evidence: Run | None,
    exceptions: tuple[Exempt, ...],
    labels: frozenset[str],
) -> str:
    """Everything that can change a verdict, except the date (design.md 3)."""
    return digest(
        "verify",
        state.base_ref,
        state.merge_base,
        state.head_sha,
        sorted((sign_off_key(one), body_hash(one.body), one.editor.id if one.editor else 0) for one in sign_offs),
        [pin.run_id, pin.remark_id, pin.body_hash] if pin else None,
        [evidence.id, evidence.attempt, evidence.conclusion] if evidence else None,
        sorted((one.remark_id, one.body_hash) for one in exceptions),
        body_hash(state.body),
        sorted(labels),
        state.policy_digest,
        state.trusted_digest,
    )
