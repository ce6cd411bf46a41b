"""Purpose: the one door from the service to the verdict: what a verification is asked and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from app.decide.actions import Exempt, Pin
from app.decide.state import PullState, Remark
from app.verdict.annotations import Annotation

HEADERS = ("PASS", "WARN", "REJECTED")


@dataclass(frozen=True)
class VerifyRequest:
    """One verification of `head_sha`.

    `sign_off` is None for a verdict asked for by hand. `signed_head` is the branch head at the sign-off as the last
    verdict established it, None where it has to be found anew. `previous` is the payload of the last trusted verdict
    marker of this sign-off.
    """

    state: PullState
    head_sha: str
    sign_off: Remark | None
    signed_head: str | None
    pin: Pin | None
    exceptions: tuple[Exempt, ...]
    previous: Mapping[str, Any] | None


@dataclass(frozen=True)
class VerdictText:
    """One verdict as text.

    `body` is the visible comment, without marker, its last line "Assessed commit: ...". `payload` goes into the marker
    (bundle digest, row statuses, `signed_head`, `recheck_on`). `full_text` is everything, for the check run, with
    `annotations` on changed lines.
    """

    header: str
    body: str
    payload: Mapping[str, Any]
    check_title: str
    full_text: str
    annotations: tuple[Annotation, ...] = ()


class Verify(Protocol):
    """Collect, judge, render. Raises the errors of app.effects.ports when GitHub cannot be read."""

    def __call__(self, request: VerifyRequest) -> VerdictText: ...
