"""queue, audit and receive: what an operator asks of the store; the service works on what is received."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.cli import main
from app.effects.context import Links
from app.inbox.events import read_row
from app.main import Rooms, create_app
from app.store import inbox, pulls, records
from app.store.database import Database
from tests.flows.conftest import Harness, quick_settings, wait_until
from tests.flows.fake_github import REPOSITORY, SIGN_OFF, FakeAccess, FakeGitHub, same_measurement, verify_ok

COMMENTED = {
    "action": "created",
    "issue": {"number": 7, "pull_request": {}},
    "repository": {"full_name": REPOSITORY},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SWEEPGATE_DATABASE_URL", f"sqlite:///{tmp_path}/sweepgate.sqlite")
    (tmp_path / "payload.json").write_text(json.dumps(COMMENTED))
    return tmp_path


@pytest.fixture
def database(folder: Path) -> Iterator[Database]:
    made = Database(f"sqlite:///{folder}/sweepgate.sqlite")
    made.migrate()
    yield made
    made.close()


def received(folder: Path, *more: str) -> int:
    return main(["receive", "--event", "issue_comment", "--payload", str(folder / "payload.json"), *more])


def told(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_what_is_received_is_worked_on_by_the_running_service(folder: Path) -> None:
    github = FakeGitHub()
    github.open_pull()
    github.say(7, "reviewer", SIGN_OFF)
    rooms = Rooms(FakeAccess(github), verify_ok, same_measurement, Links())
    with TestClient(create_app(quick_settings(folder), rooms)) as client:
        harness = Harness(github, client)
        assert received(folder) == 0
        wait_until(lambda: any("sweepgate:verdict" in body for body in github.bot_comments(7)), what="the verdict")
        harness.idle()
    assert main(["audit", f"{REPOSITORY}#7"]) == 0


def test_the_audit_names_the_verdict_its_commit_and_its_sign_off(folder: Path, capsys, database: Database) -> None:
    records.record_audit(
        database, at=10.0, repository="o/r", number=7, entries=[("maintainer", "dispatch", {"run": 5, "label": "full"})]
    )
    records.record_verdict(
        database,
        {
            "repository": "o/r",
            "number": 7,
            "sign_off": "issue-9",
            "head_sha": "a" * 40,
            "verify_key": "k",
            "header": "REJECTED",
            "payload": {"bundle_digest": "d1", "statuses": {"2": "FAIL"}},
            "text": "…",
            "comment_id": 11,
            "published_at": 20.0,
        },
    )
    assert main(["audit", "o/r#7", "--format", "json"]) == 0
    asked, decided = told(capsys)
    assert (asked["actor"], asked["what"], asked["detail"]["run"]) == ("maintainer", "dispatch", 5)
    assert decided["what"] == "published"
    assert decided["detail"] == {
        "header": "REJECTED",
        "commit": "a" * 40,
        "sign_off": "issue-9",
        "comment": 11,
        "bundle_digest": "d1",
        "statuses": {"2": "FAIL"},
    }
    assert main(["audit", "o/r#7"]) == 0
    assert "maintainer  dispatch  run=5 label=full" in capsys.readouterr().out


def test_an_unknown_pull_request_has_no_audit(folder: Path, capsys, database: Database) -> None:
    assert main(["audit", "o/r#8"]) == 1
    assert "SWEEPGATE_DATABASE_URL" in capsys.readouterr().err


def test_looking_makes_no_database(folder: Path, capsys) -> None:
    assert main(["queue"]) == main(["audit", "o/r#7"]) == 2
    assert "is not there. Start the service" in capsys.readouterr().err
    assert not (folder / "sweepgate.sqlite").exists()


def test_an_empty_queue_says_so(folder: Path, capsys, database: Database) -> None:
    assert main(["queue"]) == 0
    assert capsys.readouterr().out == "inbox: empty\nNothing waits.\n"


def test_the_queue_shows_what_was_received_and_how_it_failed(folder: Path, capsys, database: Database) -> None:
    assert received(folder, "--guid", "12345678-aaaa") == 0
    capsys.readouterr()
    assert main(["queue", "--format", "json"]) == 0
    assert told(capsys)["inbox"] == {"new": 1}
    inbox.take_new(database, read_row)
    assert main(["queue"]) == 0
    assert f"{REPOSITORY}#7: waits" in capsys.readouterr().out
    [due] = pulls.due(database, now=0.0, limit=5, per_repository=5)
    pulls.mark_enqueued(database, due, now=0.0)
    begun = pulls.begin(database, due.repository, due.number, due.generation)
    assert main(["queue"]) == 0
    assert "runs" in capsys.readouterr().out
    pulls.finish(database, REPOSITORY, 7, begun.generation, failure="Refused: no", retry_at=60.0)
    assert main(["queue"]) == 0
    assert "tried again at 1970-01-01T00:01:00.000000Z (attempt 1): Refused: no" in capsys.readouterr().out
    pulls.finish(database, REPOSITORY, 7, begun.generation, failure="Refused: no")
    assert main(["queue"]) == 1
    assert "failed; redeliver" in capsys.readouterr().out


def test_a_delivery_is_stored_once_under_its_id(folder: Path, capsys) -> None:
    assert received(folder, "--guid", "12345678-aaaa") == received(folder, "--guid", "12345678-aaaa") == 0
    capsys.readouterr()
    main(["queue", "--format", "json"])
    assert told(capsys)["inbox"] == {"new": 1}


@pytest.mark.parametrize(
    ("arguments", "payload", "said"),
    [
        pytest.param(["--event", "star"], b"{}", "not an event of ours", id="an event that is none of ours"),
        pytest.param(["--event", "pull_request"], b"{", "unreadable", id="a body that is no JSON"),
        pytest.param(["--event", "pull_request"], b"[]", "not an object", id="a body that is a list"),
    ],
)
def test_a_bad_delivery_is_refused_and_not_stored(folder: Path, capsys, arguments, payload, said) -> None:
    (folder / "payload.json").write_bytes(payload)
    assert main(["receive", *arguments, "--payload", str(folder / "payload.json")]) == 2
    assert said in capsys.readouterr().err
    assert not (folder / "sweepgate.sqlite").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["audit", "o/r"], "expected OWNER/REPO#N", id="a pull request without number"),
        pytest.param(["audit", "o/r#7", "--format", "xml"], "text or json", id="a format that is none"),
        pytest.param(["queue", "--format", "xml"], "text or json", id="a format of the queue that is none"),
        pytest.param(["receive", "--event", "e", "--payload", "/nonexistent"], "Give a file", id="no payload"),
    ],
)
def test_bad_arguments_are_told(folder: Path, capsys, arguments, said) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "url", ["nonsense", "sqlite:////proc/none/x.sqlite", "postgresql://nobody@127.0.0.1:1/none"], ids=str
)
def test_a_database_that_does_not_answer_is_told(monkeypatch, capsys, url) -> None:
    monkeypatch.setenv("SWEEPGATE_DATABASE_URL", url)
    assert main(["queue"]) == 2
    assert "SWEEPGATE_DATABASE_URL" in capsys.readouterr().err
