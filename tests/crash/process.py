"""Purpose: the service as a process that can be killed: production's wiring, a verdict that takes no time.

    python -m tests.crash.process PORT      settings from SWEEPGATE_ variables, addresses from CRASH_HOSTS (JSON)

Writes to GitHub are spaced by 50 ms instead of a second, so that a story takes seconds; nothing else differs.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from datetime import UTC, datetime

import uvicorn

from app.decide.state import Measurement, PullState
from app.effects.verify import VerdictText, VerifyRequest
from app.github.hosts import Hosts
from app.github.limits import Limiter
from app.main import create_app
from app.settings import Settings
from app.wiring import rooms_for


def quick_verdict(request: VerifyRequest) -> VerdictText:
    """PASS for the head that was asked about."""
    body = f"## ✅✅✅ **Verdict: PASS** ✅✅✅\n\nAssessed commit: `{request.head_sha}`.\n"
    return VerdictText("PASS", body, {"statuses": {"0": "PASS"}}, "PASS", body)


def always_same(state: PullState, sha: str) -> Measurement:
    return Measurement(state.head_sha != sha or True)


def main() -> None:
    Limiter.__init__.__defaults__ = (None, 30.0, 16, 0.05)
    settings = Settings()
    hosts = Hosts(**json.loads(os.environ["CRASH_HOSTS"]))
    rooms = rooms_for(settings, hosts, review_day=lambda: datetime.now(UTC).date())
    if not os.environ.get("CRASH_REAL_VERDICT"):
        rooms = replace(rooms, verify=quick_verdict, same_measurement=always_same)
    uvicorn.run(
        create_app(settings, rooms), host="127.0.0.1", port=int(sys.argv[1]), log_level="error", access_log=False
    )


if __name__ == "__main__":
    main()
