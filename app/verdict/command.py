"""Purpose: `sweepgate verify`: a verdict from a recorded bundle or from GitHub, printed in one of three forms.

Invariants: the bytes on stdout depend on the bundle, the policy and the tool only; times and calls go to stderr.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from app.policy import Policy, PolicyError

if TYPE_CHECKING:
    from app.evidence.bundle import Bundle
    from app.verdict.engine import Verdict

_PULL_REQUEST = re.compile(r"^([\w.-]+/[\w.-]+)#([1-9][0-9]{0,9})$", re.ASCII)
EXIT_FINE, EXIT_FINDING, EXIT_USAGE = 0, 1, 2


@dataclass(frozen=True)
class VerifyRequest:
    """Arguments of `sweepgate verify`; exactly one of `bundle` and `pull_request` is set."""

    bundle: Path | None
    pull_request: str
    sign_off: str
    record: Path | None
    output: str
    review_date: date | None
    policy: Path | None
    timings: bool


def verify_command(request: VerifyRequest) -> int:
    """Print the verdict. 0 PASS or WARN, 1 REJECTED, 2 unreadable input."""
    from app.evidence.bundle import BundleError

    try:
        started = time.perf_counter()
        policy = _policy(request.policy)
        bundle = _bundle(request, policy)
        loaded = time.perf_counter()
        verdict = _judge(bundle, request, policy)
        judged = time.perf_counter()
    except (BundleError, PolicyError, UnreadableInput) as error:
        print(error, file=sys.stderr)
        return EXIT_USAGE
    sys.stdout.write(_renderer(request.output)(verdict))
    for fault in verdict.internal_errors:
        print(fault.splitlines()[0], file=sys.stderr)
    if request.timings:
        print(f"evidence {1000 * (loaded - started):.1f} ms", file=sys.stderr)
        print(f"checks {1000 * (judged - loaded):.1f} ms", file=sys.stderr)
        for name, value in sorted(bundle.collection.items()):
            print(f"{name} {value}", file=sys.stderr)
    return EXIT_FINDING if verdict.header == "REJECTED" else EXIT_FINE


class UnreadableInput(Exception):  # noqa: N818
    """An argument or file that cannot be used; the message ends with the next step."""


def _renderer(output: str) -> Callable[[Verdict], str]:
    from app.verdict import render

    return {"text": render.text, "json": render.json_text, "markdown": render.markdown}[output]


def _judge(bundle: Bundle, request: VerifyRequest, policy: Policy | None) -> Verdict:
    from app.verdict.engine import judge

    source = str(request.policy) if request.policy else ("default branch" if request.pull_request else "bundle")
    return judge(bundle, review_date=request.review_date, policy=policy, policy_source=source)


def _policy(path: Path | None) -> Policy | None:
    if path is None:
        return None
    from app.verdict.policies import parse_policy

    try:
        return parse_policy(path.read_bytes(), str(path))
    except OSError as error:
        raise UnreadableInput(f"{path}: cannot be read ({error.strerror}). Give a policy file.") from None


def _bundle(request: VerifyRequest, policy: Policy | None) -> Bundle:
    from app.evidence.bundle import read_bundle, write_bundle

    if request.bundle is not None:
        return read_bundle(request.bundle)
    match = _PULL_REQUEST.match(request.pull_request)
    if match is None:
        raise UnreadableInput(f"--pr {request.pull_request}: expected OWNER/REPO#N, such as octo/bench#12.")
    from app.verdict.gather import CannotGather, gather_from_environment

    try:
        bundle = gather_from_environment(match[1], int(match[2]), request.sign_off, policy)
    except CannotGather as gone:
        raise UnreadableInput(str(gone)) from None
    if request.record is not None:
        try:
            write_bundle(bundle, request.record)
        except OSError as error:
            raise UnreadableInput(f"{request.record}: cannot be written ({error.strerror}). Give a folder.") from None
    return bundle
