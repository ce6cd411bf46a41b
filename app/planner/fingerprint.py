"""Purpose: the identity of a generated row: what is measured, apart from the concurrency.

August: hash of the row. October: hash of the row and the one recipe that serves it, so that editing one override of a
recipe changes only that override's points. Source: formats.md 2.5, matrix-parity.md "Matrix JSON".
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.target.recipe import EffectiveRecipe

UNHASHED = ("conc", "exp-name", "recipe-fingerprint")


def row_fingerprint(fields: Mapping[str, Any]) -> str:
    """SHA-256 (64 hex digits) of the compact, key-sorted ASCII JSON of a row without its concurrency and name."""
    return _digest({name: value for name, value in fields.items() if name not in UNHASHED})


def bound_fingerprint(fields: Mapping[str, Any], recipe: EffectiveRecipe) -> str:
    """The same over the row and its bound recipe, the recipe without what does not change the measurement."""
    from app.target.recipes import identity_recipe

    row = {name: value for name, value in fields.items() if name not in UNHASHED}
    return _digest({"row": row, "recipes": [identity_recipe(recipe)]})


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
