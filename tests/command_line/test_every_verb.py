"""Every verb that the design names is there and explains itself; what `serve` logs is what operators were promised."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import structlog

from app.cli import FAST_VERBS, main
from app.cli_verbs import app as verbs
from app.settings import Settings
from app.wiring import configure_logs

PROMISED = {
    "results of checks": "verify preflight explain bundle commands",
    "the target's files": "plan changed changelog recipe golden-al models codeowners pareto",
    "runs": "artifacts collect why install",
    "service": "serve sandbox demo doctor receive run-event queue audit",
}
THERE = [
    *FAST_VERBS,
    *(command.name or command.callback.__name__ for command in verbs.registered_commands if command.callback),
    *(str(group.name) for group in verbs.registered_groups),
]


@pytest.mark.parametrize("kind", PROMISED)
def test_every_promised_verb_is_there(kind: str) -> None:
    assert [verb for verb in PROMISED[kind].split() if verb not in THERE] == []


@pytest.mark.parametrize("verb", THERE)
def test_the_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    told = capsys.readouterr()
    assert f"sweepgate {verb}" in told.out.replace("\n", " ") or f" {verb} " in told.out
    assert told.err == ""


@pytest.fixture(autouse=True)
def plain_logs() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def test_a_log_line_is_json_and_carries_what_is_bound(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Settings(log_level="INFO"))
    with structlog.contextvars.bound_contextvars(pull="o/r#7", deliveries=["guid"], workflow=3):
        structlog.get_logger("a").info("reconciled", actions=[])
        structlog.get_logger("a").debug("hidden")
    told = capsys.readouterr()
    [line] = [json.loads(one) for one in told.err.splitlines()]
    assert told.out == ""
    assert {key: line[key] for key in ("event", "level", "pull", "deliveries", "workflow")} == {
        "event": "reconciled",
        "level": "info",
        "pull": "o/r#7",
        "deliveries": ["guid"],
        "workflow": 3,
    }


def test_the_console_form_is_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Settings(log_format="console", log_level="ERROR"))
    structlog.get_logger("a").warning("hidden")
    structlog.get_logger("a").error("shown")
    told = capsys.readouterr().err
    assert "shown" in told
    assert "hidden" not in told
    assert not told.startswith("{")


def test_serve_names_what_is_missing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SWEEPGATE_MARKER_KEY", raising=False)
    assert main(["serve"]) == 2
    assert "SWEEPGATE_MARKER_KEY" in capsys.readouterr().err


def test_serve_says_that_github_does_not_answer(capsys: pytest.CaptureFixture[str], monkeypatch, tmp_path) -> None:
    values = {"GITHUB_URL": "http://127.0.0.1:1", "GITHUB_TOKEN": "t", "MARKER_KEY": "k", "WEBHOOK_SECRETS": "s"}
    for name, value in values.items():
        monkeypatch.setenv(f"SWEEPGATE_{name}", value)
    monkeypatch.setattr("app.github.transport.FIRST_WAIT", 0.0)
    assert main(["serve"]) == 2
    assert "sweepgate doctor" in capsys.readouterr().err


def test_a_wrong_setting_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWEEPGATE_WORKERS", "none")
    for verb in (["queue"], ["doctor"], ["run-event"], ["serve"]):
        assert main(verb) == 2
        assert "SWEEPGATE_WORKERS" in capsys.readouterr().err
