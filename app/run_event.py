"""Purpose: `sweepgate run-event`: actions mode. One event of GitHub in, the service's own reconcile, no store.

The reconcile is `app.flows.reconcile.Reconciler`, the one that the service runs; only the records differ: they live as
long as the job. So decisions, effects and comments are the same in both modes (design.md 1, sentence 7).

Invariants: the event says which pull request to look at, nothing else; a `labeled` event also names a fork's head.
What a service would retry later is waited for here, for a few minutes; then the job fails and says what to do.

Accepted race: without a store an unanswered create is found again by its marker only, so a second job within the
seconds in which GitHub does not show it yet could repeat it; the workflow's concurrency group keeps jobs of one pull
request apart.
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.decide.state import LabelApproval, Person, PullRef
from app.effects.faults import Faults
from app.effects.markers import Markers
from app.effects.once import MemoryLedger
from app.effects.ports import EffectError
from app.flows.access import GitHubAccess
from app.flows.failures import classify
from app.flows.gather import Extras, PermissionCache
from app.flows.reconcile import Outcome, Reconciler
from app.github.errors import HostError
from app.github.hosts import Hosts, hosts_at
from app.inbox.events import EVENTS, read_row
from app.settings import Settings
from app.store.inbox import InboxRow, Reading
from app.wiring import rooms_for

EXIT_FINE, EXIT_FINDING, EXIT_USAGE = 0, 1, 2
# GitHub calls the same event otherwise where it runs a workflow of the default branch.
NAMES = {"pull_request_target": "pull_request"}
ROUNDS = ("schedule", "workflow_dispatch")
PATIENCE = 300.0
LOOKS = 12


class _Memory(dict[str, Any]):
    """Look-ups of this job only."""

    def put(self, key: str, value: Any) -> None:
        self[key] = value


@dataclass(frozen=True)
class _Spoken:
    """The audit trail of a job is its log."""

    ref: PullRef

    def verdict(self, row: Mapping[str, Any]) -> None:
        print(json.dumps({"pull_request": str(self.ref), "verdict": row["header"], "commit": row["head_sha"]}))

    def audit(self, actor: str, what: str, detail: Mapping[str, Any]) -> None:
        told = {"pull_request": str(self.ref), "actor": actor, "what": what, "detail": dict(detail)}
        print(json.dumps(told, ensure_ascii=False))


class _NoMeters:
    """Nothing scrapes a job."""

    def observe(self, name: str, seconds: float) -> None:
        """Not kept."""

    def count(self, name: str, labels: Mapping[str, str]) -> None:
        """Not kept."""


@dataclass
class JobRecords:
    """`app.flows.reconcile.Records` for the length of one job. `approvals` come from the job's own event."""

    approvals: tuple[LabelApproval, ...] = ()
    ledger: MemoryLedger = field(default_factory=MemoryLedger)
    memos: _Memory = field(default_factory=_Memory)

    def journal(self, ref: PullRef) -> _Spoken:
        return _Spoken(ref)

    def extras(self, ref: PullRef) -> Extras:  # noqa: ARG002  (one job, one event)
        made = self.ledger.recent("", since=0.0)
        comments = [result.partition("\n") for key, result in made if ":comment:" in key]
        return Extras(self.approvals, recent=tuple((int(number), body) for number, _, body in comments if body))

    @contextmanager
    def lock(self, ref: PullRef) -> Iterator[None]:  # noqa: ARG002  (the workflow's concurrency group)
        yield


def run_event(
    env: Mapping[str, str],
    settings: Settings,
    hosts: Hosts | None = None,
    sleep: Callable[[float], None] = time.sleep,
    **rooms: Any,
) -> int:
    """Act on the event of a job's environment. 0 done, 1 something has to be repeated, 2 the environment is wrong."""
    wrong = _wrong(env, settings)
    if wrong:
        print(wrong, file=sys.stderr)
        return EXIT_USAGE
    repository, event = env["GITHUB_REPOSITORY"], NAMES.get(env["GITHUB_EVENT_NAME"], env["GITHUB_EVENT_NAME"])
    try:
        payload = Path(env["GITHUB_EVENT_PATH"]).read_bytes()
    except OSError as error:
        print(f"GITHUB_EVENT_PATH: {error.strerror or error}. Run this in a workflow, or name a file.", file=sys.stderr)
        return EXIT_USAGE
    reading = read_row(InboxRow(0, str(uuid.uuid4()), event, payload, time.time()))
    if event in EVENTS and reading.status == "failed":
        print(f"{reading.reason}", file=sys.stderr)
        return EXIT_USAGE
    api = env.get("SWEEPGATE_GITHUB_URL") or env.get("GITHUB_API_URL") or settings.github_url
    try:
        made = rooms_for(settings, hosts or hosts_at(api, settings.archive_hosts), **rooms)
        assert isinstance(made.access, GitHubAccess)  # noqa: S101  (rooms_for makes no other)
        numbers = _touched(made.access, repository, event, reading, payload)
    except (HostError, EffectError) as error:
        print(f"{error}. Check the App's key and its installation; `sweepgate doctor` tells more.", file=sys.stderr)
        return EXIT_FINDING
    records = JobRecords(_approvals(reading))
    reconciler = Reconciler(
        access=made.access,
        records=records,
        markers=Markers(settings.marker_key.get_secret_value().encode()),
        verify=made.verify,
        plan=made.plan,
        same_measurement=made.same_measurement,
        permissions=PermissionCache(clock=time.monotonic, seconds=settings.permission_seconds),
        meters=_NoMeters(),
        faults=Faults.from_environment(),
        visible_seconds=settings.visible_seconds,
        links=made.links,
    )
    done = [_settle(reconciler, PullRef(repository, number), sleep) for number in numbers]
    if not numbers:
        print("The event touches no pull request.")
    return EXIT_FINE if all(done) else EXIT_FINDING


def _wrong(env: Mapping[str, str], settings: Settings) -> str:
    names = ("GITHUB_REPOSITORY", "GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH")
    lacking = [name for name in names if not env.get(name)]
    lacking += [name for name in settings.missing() if name != "SWEEPGATE_WEBHOOK_SECRETS"]
    if not lacking:
        return ""
    return f"Missing: {', '.join(lacking)}. GitHub sets the first kind in a job; docs/operations.md has the others."


def _approvals(reading: Reading) -> tuple[LabelApproval, ...]:
    row: Any = reading.label_payload
    if row is None:
        return ()
    return (LabelApproval(row["label"], row["head_sha"], Person(row["actor_id"], row["actor"]), row["at"]),)


def _touched(access: GitHubAccess, repository: str, event: str, reading: Reading, payload: bytes) -> list[int]:
    """Numbers to look at: the event's own; of a run without a number those at its head; of the clock all open ones
    among the hundred that changed last (a job remembers nothing of the round before)."""
    if reading.repository is not None and reading.repository.lower() != repository.lower():
        return []
    if reading.number is not None and event in EVENTS:
        return [reading.number]
    if event not in (*ROUNDS, "workflow_run"):
        return []
    listed = next(iter(access.rounds(repository).pulls(repository)), ())
    if event == "workflow_run":
        run = json.loads(payload).get("workflow_run") or {}
        return [pull.number for pull in listed if pull.is_open and pull.head_sha == run.get("head_sha")]
    return [pull.number for pull in listed if pull.is_open]


def _settle(reconciler: Reconciler, ref: PullRef, sleep: Callable[[float], None]) -> bool:
    """Reconcile until nothing is left to wait for. False where it has to be repeated by somebody."""
    ends, attempts = time.monotonic() + PATIENCE, 0
    for _ in range(LOOKS):
        try:
            outcome = reconciler(ref)
        except Exception as error:
            failure = classify(error, now=time.time(), attempts=attempts)
            if failure.kind == "ignore":
                print(f"{ref}: {failure.reason}; nothing to do.")
                return True
            wait = None if failure.retry_at is None else failure.retry_at - time.time()
            if wait is None or time.monotonic() + wait > ends:
                print(f"::error::{ref}: {failure.reason}. Re-run this job when the cause is gone.")
                return False
            attempts += 1
        else:
            attempts, wait = 0, outcome.retry_after
            _tell(ref, outcome)
            if wait is None:
                return True
        sleep(max(0.0, wait))
    print(f"::warning::{ref}: GitHub does not show everything yet. The next event or the schedule looks again.")
    return True


def _tell(ref: PullRef, outcome: Outcome) -> None:
    print(json.dumps({"pull_request": str(ref), **outcome.summary()}, ensure_ascii=False, default=str))
