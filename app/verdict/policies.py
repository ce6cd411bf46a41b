"""Purpose: finds the effective policy: a policy file of the target repository's default branch over a shipped one.

`.github/sweepgate.yml` may name a shipped policy in `extends` (configs/<name>.yaml) and override single keys of it;
without the file the policy is `minimal`. Mappings merge, everything else replaces.

Invariant: called only with bytes of the default branch or of a file that the operator names, never of a pull request.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from app.policy import Policy, PolicyError, read_policy
from app.target.source import RejectedInput
from app.target.yaml_reader import read_yaml

SHIPPED = Path(__file__).resolve().parents[2] / "configs"
FALLBACK = "minimal"
POLICY_PATH = ".github/sweepgate.yml"
NAMES = ("inferencex", "inferencex-august", "minimal")


def policy_of_default_branch(content: bytes | None, *, repository: str) -> Policy:
    """Effective policy of a repository. Raises PolicyError with the key and the next step."""
    if content is None:
        return shipped(FALLBACK).model_copy(update={"repository": repository})
    policy = parse_policy(content, POLICY_PATH)
    return policy if policy.repository else policy.model_copy(update={"repository": repository})


def parse_policy(content: bytes, path: str) -> Policy:
    """A policy file, with what it extends underneath. Raises PolicyError."""
    value = _plain(content, path)
    base_name = value.pop("extends", None)
    if base_name is not None:
        if base_name not in NAMES:
            raise PolicyError(f"{path}: extends: {base_name!r} is not shipped. Use one of {', '.join(NAMES)}.")
        value = _merged(_shipped_value(base_name), value)
    return read_policy(value, path=path)


@cache
def shipped(name: str) -> Policy:
    """A policy that ships with Sweepgate."""
    return read_policy(_shipped_value(name), path=f"configs/{name}.yaml")


def _shipped_value(name: str) -> dict[str, Any]:
    path = SHIPPED / f"{name}.yaml"
    value = _plain(path.read_bytes(), f"configs/{name}.yaml")
    base_name = value.pop("extends", None)
    return value if base_name is None else _merged(_shipped_value(base_name), value)


def _plain(content: bytes, path: str) -> dict[str, Any]:
    try:
        value = read_yaml(content, path).value
    except RejectedInput as rejected:
        raise PolicyError(str(rejected)) from None
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise PolicyError(f"{path}:1: expected a mapping of policy keys. Write it as docs/policy.md shows.")
    return dict(value)


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        known = merged.get(key)
        merged[key] = _merged(known, value) if isinstance(known, Mapping) and isinstance(value, Mapping) else value
    return merged
