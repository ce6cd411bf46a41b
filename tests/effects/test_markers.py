"""Purpose: a marker is trusted only as we wrote it, where we wrote it, under our key and by our bot."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.decide.state import Person, PullRef, Remark
from app.effects.markers import Markers

REF = PullRef("example/inference", 7)
BOT = Person(9000, "sweepgate[bot]", bot=True)
MARKERS = Markers(b"key")
PAYLOAD = {"run": 500, "statuses": {"0": "PASS"}}
BODY = MARKERS.sign(REF, "verdict", "issue_comment-100", PAYLOAD, "## PASS\n\nAssessed commit: `a`.\n")
COMMENT = Remark("issue_comment", 900, BOT, BODY, 1.0)

FORGED: dict[str, Remark] = {
    "an outsider pastes our marker": replace(COMMENT, author=Person(4, "outsider")),
    "somebody edited our comment": replace(COMMENT, editor=Person(3, "maintainer")),
    "the visible text was changed": replace(COMMENT, body=BODY.replace("PASS\n", "PASS!\n")),
    "the payload was changed": replace(COMMENT, body=BODY.replace(" eyJ", " eyK", 1)),
    "the kind was changed": replace(COMMENT, body=BODY.replace("sweepgate:verdict", "sweepgate:status")),
    "text stands before it": replace(COMMENT, body="hi\n" + BODY),
    "it stands in a review": replace(COMMENT, kind="review"),
    "no marker": replace(COMMENT, body="## PASS\n"),
    "the payload is a list": replace(
        COMMENT,
        body=MARKERS.sign(REF, "verdict", "issue_comment-100", [], "x"),  # type: ignore[arg-type]
    ),
}


def test_our_own_marker_is_read_back() -> None:
    own = MARKERS.read(REF, COMMENT, BOT)
    assert own is not None
    assert (own.kind, own.key, own.id, own.payload) == ("verdict", "issue_comment-100", 900, PAYLOAD)


def test_our_own_edit_changes_nothing() -> None:
    assert MARKERS.read(REF, replace(COMMENT, editor=BOT, edited_at=2.0), BOT) is not None


@pytest.mark.parametrize("remark", FORGED.values(), ids=FORGED.keys())
def test_is_not_trusted(remark: Remark) -> None:
    assert MARKERS.read(REF, remark, BOT) is None


def test_a_marker_of_another_pull_request_is_not_trusted() -> None:
    assert MARKERS.read(PullRef("example/inference", 8), COMMENT, BOT) is None
    assert MARKERS.read(PullRef("example/other", 7), COMMENT, BOT) is None


def test_another_key_is_not_trusted_and_an_older_one_is() -> None:
    assert Markers(b"other").read(REF, COMMENT, BOT) is None
    assert Markers(b"other", older=[b"key"]).read(REF, COMMENT, BOT) is not None


def test_windows_line_ends_do_not_break_it() -> None:
    assert MARKERS.read(REF, replace(COMMENT, body=BODY.replace("\n", "\r\n")), BOT) is not None


def test_an_empty_key_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="SWEEPGATE_MARKER_KEY"):
        Markers(b"")


@given(st.dictionaries(st.text(max_size=10), st.text(max_size=20) | st.integers() | st.none(), max_size=5), st.text())
def test_every_payload_and_text_comes_back(payload: dict[str, object], visible: str) -> None:
    body = MARKERS.sign(REF, "status", "", payload, visible.encode("utf-8", "replace").decode())
    own = MARKERS.read(REF, replace(COMMENT, body=body), BOT)
    assert own is not None
    assert own.payload == payload
