"""Purpose: actions mode's one question before a sweep starts: would the service dispatch this sweep now?

The answer is `decide`'s own, asked as if this run did not exist and the service started sweeps; so labels, reuse, forks
and obstacles follow one code path in both modes (design.md 1, sentence 7). Reads only, with the job's own token.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import SecretStr

from app.decide.actions import Decision, DispatchSweep
from app.decide.core import decide
from app.decide.state import Measurement, Person, PullRef, PullState, Run
from app.effects.github import GitHubReader
from app.effects.markers import Markers
from app.flows.access import GitHubAccess
from app.flows.gather import Extras, Gatherer, PermissionCache
from app.github.apps import with_token
from app.github.evidence import EvidenceReads
from app.github.hosts import Hosts
from app.policy import Policy
from app.verdict.measurement import measure
from app.words.status import both

BLOCKED = "reuse-blocks"


@dataclass(frozen=True, slots=True)
class Answer:
    """`start`: go on. Else `reason` says why not; `problem` is set where the sweep must fail (an invalid pin)."""

    start: bool
    reason: str = ""
    problem: str = ""


def answer_of(state: PullState, policy: Policy, own_run: int) -> Answer:
    """The answer for a complete state. `own_run` is the asking run, which must not count as the sweep itself."""
    others = replace(state, runs=tuple(run for run in state.runs if run.id != own_run))
    decision = decide(others, as_service(policy))
    if any(isinstance(action, DispatchSweep) for action in decision.actions):
        return Answer(True)
    reason = _why(decision)
    blocked = any(line.code == BLOCKED for line in decision.lines)
    return Answer(False, reason, reason if blocked else "")


def as_service(policy: Policy) -> Policy:
    return policy.model_copy(update={"sweep": policy.sweep.model_copy(update={"mode": "service"})})


def _why(decision: Decision) -> str:
    """The first line of the decision in English, or that a valid reuse keeps the sweep away."""
    for line in decision.lines:
        return both({"code": line.code, **line.values})[0]
    return "An authorised run is reused, so nothing is measured. Remove and re-add the label to measure again."


class _WithoutRun:
    """A reader that does not show one run. Everything else is the reader's own."""

    def __init__(self, reader: GitHubReader, run_id: int) -> None:
        self._reader, self._run_id = reader, run_id

    def runs(self, ref: PullRef, *, head_branch: str, head_sha: str) -> Sequence[Run]:
        found = self._reader.runs(ref, head_branch=head_branch, head_sha=head_sha)
        return [run for run in found if run.id != self._run_id]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)


class _Memory(dict[str, Any]):
    """Look-ups of this process only."""

    def put(self, key: str, value: Any) -> None:
        self[key] = value


def ask(env: Mapping[str, str]) -> Answer:
    """Ask for the pull request of a job's environment. Raises the errors of app.effects.ports."""
    repository, own_run = env["GITHUB_REPOSITORY"], int(env["GITHUB_RUN_ID"])
    hosts = Hosts(api=env.get("SWEEPGATE_GITHUB_URL") or "https://api.github.com")
    client = with_token(hosts, SecretStr(env["SWEEPGATE_GITHUB_TOKEN"]))
    bot = Person(0, "sweepgate[bot]", True)
    access = GitHubAccess(lambda _repository: client, bot)
    policy = as_service(access.policy(repository))

    def same(state: PullState, sha: str) -> Measurement:
        return measure(EvidenceReads(client), repository, state.merge_base, state.head_sha, sha)

    reader: Any = _WithoutRun(access.reader(repository), own_run)
    markers = Markers(secrets.token_bytes(32))
    permissions = PermissionCache(clock=time.time, seconds=60)
    gatherer = Gatherer(reader, markers, _Memory(), permissions, same, time.time)
    today = time.strftime("%Y-%m-%d", time.gmtime())
    state, _ = gatherer.decide(PullRef(repository, int(env["PULL_REQUEST"])), policy, Extras(), review_date=today)
    return answer_of(state, policy, own_run)
