"""Purpose: the value of a plain YAML scalar as YAML 1.1 reads it, which is how the target repository's own scripts do.

`yes` and `on` are true, `010` is eight, `1_000` a thousand, `1:30` ninety, `1e3` a string and `2026-08-01` a date.
Equality with PyYAML's safe loader is a property test (tests/target_masters/test_yaml_scalars.py). Source of the
patterns: the YAML 1.1 type repository (bool, int, float, null, timestamp).
"""

from __future__ import annotations

import re
from typing import Any, Final

CONSTANTS: Final[dict[str, Any]] = {
    **{
        spelling(word): word in ("yes", "on", "true")
        for word in ("yes", "no", "on", "off", "true", "false")
        for spelling in (str, str.capitalize, str.upper)
    },
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
}

_INT = re.compile(
    r"[-+]?(?:0b(?P<binary>[01_]+)|0x(?P<hex>[0-9a-fA-F_]+)|0(?P<octal>[0-7_]+)"
    r"|(?P<sixty>[1-9][0-9_]*(?::[0-5]?[0-9])+)|(?P<decimal>0|[1-9][0-9_]*))"
)
_FLOAT = re.compile(
    r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
    r"|(?P<sixty>[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*)|(?P<special>[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))"
)
_TIMESTAMP = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d\d?)-(?P<day>\d\d?)"
    r"(?:(?:[Tt]|[ \t]+)(?P<hour>\d\d?):(?P<minute>\d\d):(?P<second>\d\d)(?:\.(?P<fraction>\d*))?"
    r"(?:[ \t]*(?P<zone>Z|(?P<sign>[-+])(?P<zone_hour>\d\d?)(?::(?P<zone_minute>\d\d))?))?)?",
    re.ASCII,
)
_DATE_LENGTH = 10
LONGEST_NUMBER: Final = 200


class BadScalar(ValueError):  # noqa: N818  (it names the text)
    """The scalar looks like a number or a date but has no value, such as `0x_` or `2026-13-01`."""


def plain_value(text: str) -> Any:
    """The value of an untagged, unquoted scalar. Raises BadScalar."""
    if text in CONSTANTS:
        return CONSTANTS[text]
    if text[0] not in "+-.0123456789":
        if text in ("<<", "="):
            raise BadScalar(f"`{text}` has a special meaning in YAML; put it in quotes")
        return text
    if len(text) > LONGEST_NUMBER:
        return _long(text)
    try:
        return _number(text)
    except ValueError as error:
        raise BadScalar(f"`{text[:40]}` looks like a number or a date but is none; put it in quotes") from error


def _long(text: str) -> str:
    """A number of that length is refused, because nothing could print it; other text is text."""
    if _INT.fullmatch(text) or _FLOAT.fullmatch(text):
        raise BadScalar(f"`{text[:40]}...` has {len(text)} digits; put it in quotes if it is text")
    return text


def _number(text: str) -> Any:
    if text.isdecimal() and text.isascii() and text[0] != "0":
        return int(text)
    found = _FLOAT.fullmatch(text)
    if found:
        return _float(text.replace("_", "").lower(), found)
    found = _INT.fullmatch(text)
    if found:
        return _int(text.replace("_", ""), found)
    found = _TIMESTAMP.fullmatch(text)
    if found and (found["hour"] or len(text) == _DATE_LENGTH):
        return _timestamp(found)
    return text


def _float(text: str, found: re.Match[str]) -> float:
    if found["special"]:
        return float(text.replace(".", ""))
    if found["sixty"]:
        return float(_sixty(text, float))
    return float(text)


def _int(text: str, found: re.Match[str]) -> int:
    sign = -1 if text[0] == "-" else 1
    digits = text.lstrip("+-")
    if digits == "0":
        return 0
    if found["sixty"]:
        return int(_sixty(text, int))
    if found["decimal"]:
        return sign * int(digits)
    base = 2 if found["binary"] else 16 if found["hex"] else 8
    return sign * int(digits[2:] if base != 8 else digits, base)


def _sixty(text: str, kind: type[int] | type[float]) -> Any:
    total = kind(0)
    for part in text.lstrip("+-").split(":"):
        total = total * 60 + kind(part)
    return -total if text[0] == "-" else total


def _timestamp(found: re.Match[str]) -> Any:
    import datetime

    year, month, day = int(found["year"]), int(found["month"]), int(found["day"])
    if not found["hour"]:
        return datetime.date(year, month, day)
    microsecond = int((found["fraction"] or "")[:6].ljust(6, "0"))
    zone: datetime.timezone | None = None
    if found["zone"]:
        offset = datetime.timedelta(hours=int(found["zone_hour"] or 0), minutes=int(found["zone_minute"] or 0))
        zone = datetime.timezone(-offset if found["sign"] == "-" else offset)
    return datetime.datetime(
        year, month, day, int(found["hour"]), int(found["minute"]), int(found["second"]), microsecond, tzinfo=zone
    )
