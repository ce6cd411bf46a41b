"""Purpose: looks into bundles for people: what one holds, how two differ, and a copy that is safe to share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.evidence.bundle import Bundle

REDACTED = "[redacted]"


def show(bundle: Bundle) -> dict[str, Any]:
    """SHAs, sign-off, source statuses and sizes, and the digest."""
    sources = {
        name: {"ok": status.ok, **({} if status.ok else {"reason": status.reason})}
        for name, status in sorted(bundle.statuses.items())
    }
    return {
        "repository": bundle.repository,
        "pull_request": bundle.number,
        "head_sha": bundle.head_sha,
        "merge_base_sha": bundle.merge_base_sha,
        "target_sha": bundle.target_sha,
        "review_date": bundle.review_date,
        "sign_off": dict(bundle.sign_off),
        "policy": bundle.policy.get("name", ""),
        "sources": sources,
        "blobs": len(bundle.blobs),
        "blob_bytes": sum(len(content) for content in bundle.blobs.values()),
        "digest": bundle.digest,
    }


def difference(before: Bundle, after: Bundle) -> list[str]:
    """One line for each field, source or value that differs."""
    lines = [
        f"bundle.json {name}: {json.dumps(old)} -> {json.dumps(new)}"
        for name, old, new in _changed(before.index(), after.index())
        if name not in ("sources", "policy")
    ]
    lines += [f"policy {name}: {old} -> {new}" for name, old, new in _changed(before.policy, after.policy)]
    for name in sorted({*before.statuses, *after.statuses}):
        old_state, new_state = before.statuses.get(name), after.statuses.get(name)
        if old_state != new_state:
            lines.append(f"source {name}: {_state(old_state)} -> {_state(new_state)}")
        elif before.sources.get(name) != after.sources.get(name):
            lines += [f"source {name}: {line}" for line in _value(before.sources.get(name), after.sources.get(name))]
    return lines


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    names = sorted({*before, *after})
    return [(name, before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)]


def _state(status: Any) -> str:
    if status is None:
        return "not gathered"
    return "ok" if status.ok else f"missing ({status.reason})"


def _value(before: Any, after: Any, path: str = "") -> list[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        return [
            line for name, old, new in _changed(before, after) for line in _value(old, new, f"{path}.{name}".strip("."))
        ]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [line for index, (old, new) in pairs if old != new for line in _value(old, new, f"{path}[{index}]")]
    return [f"{path or 'value'}: {_short(before)} -> {_short(after)}"]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= 80 else f"{text[:77]}..."


def redact(bundle: Bundle) -> Bundle:
    """A copy without logins, comment texts and the description. Its verdict differs; it serves to show shapes."""
    return replace(bundle, sources={name: _redacted(value) for name, value in bundle.sources.items()}, collection={})


_TEXTS = frozenset(("body", "message", "title"))
_LOGINS = frozenset(("login", "actor", "editor"))


def _redacted(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _redacted(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_redacted(inner, key) for inner in value]
    if key in _TEXTS and isinstance(value, str) and value:
        return REDACTED
    if key in _LOGINS and isinstance(value, str) and value:
        return "user-" + hashlib.sha256(value.lower().encode()).hexdigest()[:8]
    return value
