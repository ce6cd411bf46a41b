"""Purpose: eval thresholds: exact, default, fallback, both syntaxes, and values that cannot be meant."""

from __future__ import annotations

from decimal import Decimal

import pytest

from app.target.source import RejectedInput
from app.target.thresholds import Origin, Thresholds

FILE = b"default:\n  gsm8k: 0.90\n  ruler_lite: 0.0\nmodels:\n  glm5:\n    gsm8k: 0.94\n"

LOOKUPS = [
    ("a model's own bar", "glm5", "gsm8k", "0.94", Origin.EXACT, "t.yaml:6:5"),
    ("prefixes match exactly", "glm5.2", "gsm8k", "0.90", Origin.DEFAULT, "t.yaml:2:3"),
    ("a bar of 0 counts", "glm5", "ruler_lite", "0.0", Origin.DEFAULT, "t.yaml:3:3"),
    ("a task without a bar", "glm5", "other", "0.85", Origin.FALLBACK, "t.yaml:1"),
]


@pytest.mark.parametrize(
    ("prefix", "task", "value", "origin", "where"), [row[1:] for row in LOOKUPS], ids=[row[0] for row in LOOKUPS]
)
def test_look_up(prefix: str, task: str, value: str, origin: Origin, where: str) -> None:
    found = Thresholds.parse("t.yaml", FILE).lookup(prefix, task)
    assert (found.value, found.origin, str(found.where)) == (Decimal(value), origin, where)


def test_json_and_the_old_flat_form_are_read() -> None:
    json = Thresholds.parse("t", b'{"default": {"gsm8k": 0.90}, "models": {"dsv4": {"gsm8k": 0.91}}}')
    assert json.lookup("dsv4", "gsm8k").value == Decimal("0.91")
    flat = Thresholds.parse("t", b"gsm8k: 0.7\n")
    assert flat.lookup("dsv4", "gsm8k").origin is Origin.DEFAULT


REJECTED = [
    ("above 1", b"default: {gsm8k: 90}\n"),
    ("below 0", b"default: {gsm8k: -0.1}\n"),
    ("a word", b"default: {gsm8k: high}\n"),
    ("true", b"default: {gsm8k: true}\n"),
    ("not a number", b"default: {gsm8k: .nan}\n"),
    ("a list of models", b"models: [glm5]\n"),
    ("a doubled task", b"default: {gsm8k: 0.9, gsm8k: 0.1}\n"),
]


@pytest.mark.parametrize("content", [row[1] for row in REJECTED], ids=[row[0] for row in REJECTED])
def test_a_bar_that_cannot_be_meant_is_refused(content: bytes) -> None:
    with pytest.raises(RejectedInput, match=r"t:1"):
        Thresholds.parse("t", content)
