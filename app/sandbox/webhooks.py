"""Purpose: the webhooks of the stand-in: signed, logged, redelivered, and lost, doubled or shuffled on demand.

Nothing is sent from inside a change: deliveries wait in an outbox. With `auto` a thread of its own sends them in
order; without, the story cranks `deliver()` by hand.

Invariants: a delivery keeps its GUID when it is sent again. What gets lost stays in the log as never sent, so that a
test can redeliver it. The body is fixed when the event happens, not when it is sent.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import random
import threading
import urllib.error
import urllib.request
import uuid
from collections import deque
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Delivery:
    """One webhook. `status` is the receiver's answer: 0 before it was sent, 599 where nobody answered."""

    id: int
    guid: str
    event: str
    action: str
    body: bytes
    repository: str
    status: int = 0
    attempts: int = 0
    lost: bool = False


@dataclass
class Webhooks:
    """Where webhooks go. `lose` and `double` are shares of 1; `shuffle` is how many waiting ones are mixed up."""

    url: str = ""
    secret: str = ""
    auto: bool = False
    lose: float = 0.0
    double: float = 0.0
    shuffle: int = 1
    seed: int = 1
    log: list[Delivery] = field(default_factory=list)
    outbox: deque[Delivery] = field(default_factory=deque)
    quiet: bool = False

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311  (a story, not a secret)
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._sending = 0

    def point_at(self, url: str, secret: str, auto: bool = True) -> None:
        """Send webhooks to this URL from now on."""
        self.url, self.secret, self.auto = url, secret, auto
        if auto and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="webhooks", daemon=True)
            self._thread.start()

    def emit(self, number: int, event: str, action: str, repository: str, payload: dict[str, Any]) -> Delivery:
        """An event happened. It may be lost or doubled here; a receiver that dedupes must not care."""
        with self._wake:
            guid = str(uuid.UUID(int=self._random.getrandbits(128), version=4))
            made = Delivery(number, guid, event, action, json.dumps(payload).encode(), repository)
            self.log.append(made)
            made.lost = self._random.random() < self.lose
            if not made.lost:
                self.outbox.append(made)
                if self._random.random() < self.double:
                    self.outbox.append(made)
            self._wake.notify_all()
        return made

    def redeliver(self, guid: str) -> Delivery:
        """Send one again under its old GUID. Raises KeyError for an unknown one."""
        found = next((each for each in self.log if each.guid == guid), None)
        if found is None:
            raise KeyError(guid)
        with self._wake:
            self.outbox.append(found)
            self._wake.notify_all()
        return found

    def deliver(self) -> int:
        """Send everything that waits, now, from this thread; how many were sent."""
        sent = 0
        while (taken := self._take()) is not None:
            self._send(taken)
            sent += 1
        return sent

    def settle(self, seconds: float = 10.0) -> bool:
        """Wait until nothing is left to send; False where that took too long."""
        with self._wake:
            return self._wake.wait_for(lambda: not self.outbox and not self._sending, seconds)

    def close(self) -> None:
        with self._wake:
            self._closed = True
            self._wake.notify_all()
        if self._thread is not None:
            self._thread.join(5)

    def headers(self, delivery: Delivery) -> dict[str, str]:
        """What GitHub sends along, the signature over the raw body included."""
        digest = hmac.new(self.secret.encode(), delivery.body, hashlib.sha256).hexdigest()
        return {
            "Content-Type": "application/json",
            "User-Agent": "GitHub-Hookshot/sandbox",
            "X-GitHub-Event": delivery.event,
            "X-GitHub-Delivery": delivery.guid,
            "X-GitHub-Hook-ID": "1",
            "X-Hub-Signature-256": f"sha256={digest}",
        }

    def _take(self) -> Delivery | None:
        with self._wake:
            if not self.outbox:
                return None
            at = self._random.randrange(min(self.shuffle, len(self.outbox)))
            taken = self.outbox[at]
            del self.outbox[at]
            self._sending += 1
            return taken

    def _run(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._closed or bool(self.outbox))
                if self._closed:
                    return
            taken = self._take()
            if taken is not None:
                self._send(taken)

    def _send(self, delivery: Delivery) -> None:
        delivery.attempts += 1
        delivery.status = 599
        try:
            if self.url:
                request = urllib.request.Request(self.url, delivery.body, self.headers(delivery), method="POST")  # noqa: S310
                with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
                    delivery.status = answer.status
        except urllib.error.HTTPError as refused:
            delivery.status = refused.code
        except OSError:
            delivery.status = 599
        finally:
            with self._wake:
                self._sending -= 1
                self._wake.notify_all()
