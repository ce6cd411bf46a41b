"""Whose words are a sign-off: quoted, coded and hidden phrases are none, and no text takes for ever to read."""

from __future__ import annotations

import pytest

from app.commands import parse
from app.target.checklist import TRIGGER, holds_trigger, parse_signoff
from tests.support.bundles import Editor, good

AMD = "inferencex-e2e/configs/amd-master.yaml"
SIGNED = f"{TRIGGER}, I have reviewed this and have:\n- [x] Read the whole change."
SIZE = 60_000


def with_remark(body: str, **fields: object) -> Editor:
    """The reference story with a change of a file of @reviewer's, and a remark by @reviewer."""
    editor = good().replace(AMD, "\n", "\n# moved\n", count=1)
    editor.sources["changed_files"].append({"path": AMD, "previous_path": "", "status": "modified"})
    editor.sources["permissions"]["reviewer"] = {"permission": "write", "role_name": "write"}
    remark = {
        "kind": "issue_comment", "id": 99, "author": {"id": 7, "login": "reviewer", "type": "User"},
        "association": "MEMBER", "body": body, "created_at": "2026-10-21T07:00:00Z",
        "updated_at": "2026-10-21T07:00:00Z", "editor": None, "url": "", "state": "", "commit_sha": "",
    }  # fmt: skip
    editor.sources["comments"].append({**remark, **fields})
    return editor


def test_the_owner_of_the_file_may_sign_beside_the_first_signer():
    assert with_remark(SIGNED).rows()[0][0] == "PASS"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("> " + SIGNED.replace("\n", "\n> ") + "\n\nI do not agree.", id="quoted"),
        pytest.param(f"Type `{TRIGGER}` to sign; I will not.", id="in a code span"),
        pytest.param(f"```\n{SIGNED}\n```", id="in a fence"),
        pytest.param(f"<!-- {SIGNED} -->\nhello", id="in a comment of HTML"),
        pytest.param(f"hello <!-- {TRIGGER} --> you", id="in an inline comment of HTML"),
    ],
)
def test_an_owner_who_only_shows_the_phrase_has_not_signed(body):
    assert not holds_trigger(body)
    assert with_remark(body).rows()[0][0] == "FAIL"


@pytest.mark.parametrize("unit", ["[", "![[](", "[a](", "*a ", "> ", "- [x] "])
def test_a_text_made_to_be_slow_is_read_in_linear_time(unit):
    body = f"{TRIGGER}\n- [x] {unit * (SIZE // len(unit))}"
    assert holds_trigger(body)
    assert parse_signoff(body).trigger_line == 1
    assert [command.name for command in parse(f"/verify\n\n{body}")] == ["verify"]
