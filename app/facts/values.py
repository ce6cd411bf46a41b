"""Purpose: one text for each setting's value, so that a recipe, a server log and a published page compare by meaning.

`true`, "True" and a bare flag are the same; 0.70 is 0.7; JSON is compared parsed, keys sorted; a list of scalars is
its values separated by spaces, as a command line repeats them.

Invariant: `text_of` is a pure function of the value, never raises, and is idempotent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

NONE = "none"
TRUE = "true"
FALSE = "false"


def text_of(value: Any) -> str:
    """The canonical text of a plain YAML, JSON or log value."""
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if value is None:
        return NONE
    if isinstance(value, int | float | str):
        return _scalar(str(value))
    if isinstance(value, Mapping):
        return _json(value)
    if isinstance(value, list | tuple):
        if any(isinstance(item, Mapping | list | tuple) for item in value):
            return _json(value)
        return " ".join(text_of(item) for item in value)
    return str(value)


def parsed(value: Any) -> Any:
    """The mapping or list inside a JSON string, the value itself otherwise."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        return _loaded(value)
    return value


@lru_cache(maxsize=4096)
def _scalar(value: str) -> str:
    text = value.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1].strip()
    if text[:1] in ("{", "["):
        inside = _loaded(text)
        return text if isinstance(inside, str) else text_of(inside)
    lowered = text.lower()
    if lowered in (TRUE, FALSE, NONE):
        return lowered
    if lowered == "null":
        return NONE
    return _number(text)


def _number(text: str) -> str:
    if not text[:1].isdigit() and text[:1] not in "+-.":
        return text
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    if not number.is_finite() or number.adjusted() > 30 or number.adjusted() < -30:
        return text
    plain = format(number, "f")
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    return "0" if plain in ("-0", "+0", "") else plain.lstrip("+")


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _json(value: Any) -> str:
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _plain(value: Any, depth: int = 0) -> Any:
    if depth > 50:
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    return str(value)


def same_number(left: Any, right: Any, places: int) -> bool:
    """True where both are numbers that agree after rounding to `places` decimals (rules.md: AL to 2)."""
    try:
        quantum = Decimal(1).scaleb(-places)
        return Decimal(str(left)).quantize(quantum) == Decimal(str(right)).quantize(quantum)
    except (InvalidOperation, ValueError):
        return False
