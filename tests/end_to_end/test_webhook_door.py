"""What the door refuses, over real HTTP: nothing of it is stored, and each answer says what to do."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest

from app.inbox.signature import signature
from tests.end_to_end.told import Told, get, metric

PATH = "/webhooks/github"
BODY = b'{"action": "created", "repository": {"full_name": "SemiAnalysisAI/InferenceX"}}'
LIMIT = 10 * 1024 * 1024


@dataclass(frozen=True)
class Answer:
    status: int
    text: str
    allow: str


def ask(
    told: Told,
    headers: Mapping[str, str | None],
    *,
    method: str = "POST",
    body: bytes = BODY,
) -> Answer:
    """One delivery, signed and complete but for what `headers` say (None leaves one out)."""
    secret = told.stage.world.webhooks.secret.encode()
    whole = {
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "X-GitHub-Event": "issue_comment",
        "X-GitHub-Delivery": "7b0c5a52-1111-4000-8000-000000000001",
        "X-Hub-Signature-256": signature(secret, body),
        **headers,
    }
    connection = http.client.HTTPConnection(str(urlsplit(told.stage.url).netloc), timeout=10)
    try:
        connection.putrequest(method, PATH)
        for name, value in whole.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders()
        if int(whole["Content-Length"] or len(body)) == len(body):
            connection.send(body)
        answer = connection.getresponse()
        return Answer(answer.status, answer.read().decode(), answer.headers.get("Allow", ""))
    finally:
        connection.close()


def stored(told: Told) -> float:
    text = get(told.stage, "/metrics")
    return sum(metric(text, "sweepgate_inbox_rows", status=status) for status in ("new", "taken", "done", "failed"))


WRONG_KEY = signature(b"another secret", BODY)
REFUSALS = {
    "a signature of another secret": (
        401,
        {"X-Hub-Signature-256": WRONG_KEY},
        "secret",
    ),
    "no signature": (401, {"X-Hub-Signature-256": None}, "secret"),
    "an empty signature": (401, {"X-Hub-Signature-256": "sha256="}, "secret"),
    "a signature by SHA-1": (
        401,
        {"X-Hub-Signature-256": "sha1=" + "0" * 40},
        "secret",
    ),
    "a declared size above the limit": (
        413,
        {"Content-Length": str(LIMIT + 1)},
        f"{LIMIT} bytes",
    ),
    "a form": (
        415,
        {"Content-Type": "application/x-www-form-urlencoded"},
        "application/json",
    ),
    "no content type": (415, {"Content-Type": None}, "application/json"),
    "no event": (400, {"X-GitHub-Event": None}, "X-GitHub-Event"),
    "a delivery id that is none": (
        400,
        {"X-GitHub-Delivery": "x"},
        "X-GitHub-Delivery",
    ),
}


@pytest.mark.parametrize(("status", "headers", "said"), REFUSALS.values(), ids=REFUSALS)
def test_refused_and_nothing_stored(told: Told, status: int, headers: Mapping[str, str | None], said: str) -> None:
    before = stored(told)
    answer = ask(told, headers)
    assert answer.status == status
    assert said in json.loads(answer.text)["error"]
    assert "Traceback" not in answer.text
    assert stored(told) == before


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD", "PATCH"])
def test_only_post_is_taken(told: Told, method: str) -> None:
    answer = ask(told, {}, method=method)
    assert (answer.status, answer.allow) == (405, "POST")


def test_a_changed_body_breaks_the_signature(told: Told) -> None:
    before = stored(told)
    assert (
        ask(
            told,
            {"X-Hub-Signature-256": signature(told.stage.world.webhooks.secret.encode(), BODY + b" ")},
        ).status
        == 401
    )
    assert stored(told) == before


def test_an_undeclared_body_above_the_limit_is_cut_off(told: Told) -> None:
    """Chunks without a declared length: the door stops reading at its limit and answers."""
    before = stored(told)
    connection = http.client.HTTPConnection(str(urlsplit(told.stage.url).netloc), timeout=20)
    headers = {
        "Content-Type": "application/json",
        "X-GitHub-Event": "issue_comment",
        "Transfer-Encoding": "chunked",
    }
    piece = b"x" * 1_000_000

    def pieces() -> Iterator[bytes]:
        yield from (piece for _ in range(LIMIT // len(piece) + 2))

    try:
        connection.request("POST", PATH, body=pieces(), headers=headers, encode_chunked=True)  # type: ignore[arg-type]
        assert connection.getresponse().status == 413
    except (BrokenPipeError, ConnectionResetError):
        pass  # the door hung up in the middle, which is as good
    finally:
        connection.close()
    assert stored(told) == before
    assert get(told.stage, "/healthz") == '{"status":"ok"}'
