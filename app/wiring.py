"""Purpose: joins the rooms for a real process: hosts and credentials from the settings, the verdict, the service.

`app.main` builds the application from rooms; this module builds the rooms. The demo and the tests call `rooms_for`
with the stand-in's addresses, so that they run exactly what production runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from app.decide.state import Measurement, Person, PullState
from app.effects.context import Links
from app.effects.github import translated
from app.effects.planning import Plans
from app.effects.verification import Verification
from app.flows.access import GitHubAccess
from app.github.apps import Installations, with_token
from app.github.client import GitHub
from app.github.counter import CallCounter
from app.github.errors import HostError
from app.github.evidence import EvidenceReads
from app.github.hosts import Hosts, hosts_at
from app.policy import Policy, PolicyError
from app.settings import Settings
from app.verdict.measurement import measure
from app.verdict.policies import policy_of_default_branch

if TYPE_CHECKING:
    from app.main import Rooms


def today() -> date:
    """The review date of a verdict that is made now: the UTC day."""
    return datetime.now(UTC).date()


def client_of(settings: Settings, hosts: Hosts) -> tuple[Callable[[str], GitHub], Person]:
    """The client of each repository, and who we are on GitHub. Reads our identity once."""
    if settings.app_id and settings.app_private_key.get_secret_value():
        installations = Installations(hosts, str(settings.app_id), settings.app_private_key)
        bot = installations.identity().bot
        return installations.of, Person(bot.id, bot.login, True)
    client = with_token(hosts, settings.github_token)
    node = client.transport.get("/user").json()
    return (lambda _repository: client), Person(int(node["id"]), str(node["login"]), True)


def rooms_for(
    settings: Settings,
    hosts: Hosts,
    *,
    review_day: Callable[[], date] = today,
    records: Path | None = None,
    counters: list[CallCounter] | None = None,
) -> Rooms:
    """The rooms of one process. `counters` gets the call counter of each verification (the demo shows them)."""
    from app.main import Rooms

    clients, bot = client_of(settings, hosts)
    access = GitHubAccess(clients, bot)

    def reads_of(repository: str) -> EvidenceReads:
        counter = CallCounter()
        if counters is not None:
            counters.append(counter)
        return EvidenceReads(access.client(repository).counted(counter))

    def policy_of(repository: str, content: bytes | None) -> Policy:
        try:
            return policy_of_default_branch(content, repository=repository)
        except PolicyError:
            return access.policy(repository)  # the last valid one; its problem is told there

    def same_measurement(state: PullState, sha: str) -> Measurement:
        reads = reads_of(state.ref.repository)
        with translated():
            return measure(reads, state.ref.repository, state.merge_base, state.head_sha, sha)

    verification = Verification(reads_of, policy_of, review_day, records)
    plans = Plans(
        lambda repository: EvidenceReads(access.client(repository)), lambda repository: access.policy(repository).sweep
    )
    return Rooms(access, verification, same_measurement, Links(web=settings.github_web_url), plans)


def read_settings() -> Settings | None:
    """Settings from the environment; None (with one line for each fault on stderr) where a value is wrong."""
    try:
        return Settings()
    except ValidationError as errors:
        for error in errors.errors():
            name = "SWEEPGATE_" + "_".join(str(part) for part in error["loc"]).upper()
            print(f"{name}: {error['msg']}. Set it as docs/operations.md shows.", file=sys.stderr)
        return None


def configure_logs(settings: Settings) -> None:
    """One line a record on stderr: JSON for machines, or the console form for people."""
    import logging

    import structlog

    form: structlog.typing.Processor = structlog.processors.JSONRenderer()
    if settings.log_format == "console":
        form = structlog.dev.ConsoleRenderer()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[settings.log_level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            form,
        ],
    )


def serve(host: str, port: int) -> int:
    """Run the service until it is stopped; "" and -1 take the settings' own. 2 where the settings do not suffice."""
    settings = read_settings()
    if settings is None:
        return 2
    missing = settings.missing()
    if missing:
        print(f"Missing settings: {', '.join(missing)}. Set them as docs/operations.md shows.", file=sys.stderr)
        return 2
    import uvicorn

    from app.main import create_app

    configure_logs(settings)
    hosts = hosts_at(settings.github_url, settings.archive_hosts)
    try:
        application = create_app(settings, rooms_for(settings, hosts))
    except HostError as error:
        print(f"{error}. Check the credentials; `sweepgate doctor` tells more.", file=sys.stderr)
        return 2
    uvicorn.run(
        application,
        host=host or settings.host,
        port=settings.port if port < 0 else port,
        access_log=False,
        log_level=settings.log_level.lower(),
    )
    return 0
