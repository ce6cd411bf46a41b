"""Purpose: everything per repository for the flows: its installation's reader and writer, its policy, our identity.

The policy is `.github/sweepgate.yml` of the default branch, read again after POLICY_SECONDS. A file that is not valid
keeps the last valid policy in force and its problem is told (`policy_problem`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from app.decide.state import Person
from app.effects.github import GitHubReader, GitHubWriter, Memory, translated
from app.effects.github_rounds import GitHubRounds
from app.github.client import GitHub
from app.github.limits import Limiter
from app.policy import Policy, PolicyError
from app.verdict.policies import POLICY_PATH, policy_of_default_branch

POLICY_SECONDS = 60.0


@dataclass(frozen=True)
class _Kept:
    policy: Policy
    problem: str
    read_at: float


class GitHubAccess:
    """`flows.ports.Access`. `client_of` gives the client of a repository's installation. Thread-safe."""

    def __init__(
        self, client_of: Callable[[str], GitHub], bot: Person, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client_of, self._bot, self._clock = client_of, bot, clock
        self._memory = Memory()
        self._guard = threading.Lock()
        self._policies: dict[str, _Kept] = {}
        self._limiters: dict[str, Limiter] = {}

    def client(self, repository: str) -> GitHub:
        client = self._client_of(repository)
        with self._guard:
            self._limiters[client.transport.auth.key] = client.transport.limiter
        return client

    def usage(self) -> dict[str, tuple[int, int | None]]:
        """Requests made so far and the hour's remaining budget (None before GitHub told it), by installation."""
        with self._guard:
            return {key: (limiter.requests, limiter.remaining) for key, limiter in self._limiters.items()}

    def reader(self, repository: str) -> GitHubReader:
        return GitHubReader(self.client(repository), self._bot, self._memory, self.policy(repository).sweep)

    def writer(self, repository: str) -> GitHubWriter:
        return GitHubWriter(self.client(repository), self._bot, self._memory)

    def rounds(self, repository: str) -> GitHubRounds:
        return GitHubRounds(self.client(repository), self.policy(repository).sweep)

    def bot(self, repository: str) -> Person:  # noqa: ARG002  (one App has one bot on every repository)
        return self._bot

    def policy(self, repository: str) -> Policy:
        """The effective policy. Raises the errors of app.effects.ports where it cannot be read at first."""
        with self._guard:
            kept = self._policies.get(repository)
        if kept is None or self._clock() - kept.read_at > POLICY_SECONDS:
            kept = self._read(repository, kept)
            with self._guard:
                self._policies[repository] = kept
        return kept.policy

    def policy_problem(self, repository: str) -> str:
        """Why the file of the default branch is not in force; empty where it is."""
        with self._guard:
            kept = self._policies.get(repository)
        return kept.problem if kept is not None else ""

    def _read(self, repository: str, kept: _Kept | None) -> _Kept:
        with translated():
            found, _ = self.client(repository).files(repository, {"HEAD": ((POLICY_PATH,), ())})
        try:
            policy = policy_of_default_branch(found["HEAD"][POLICY_PATH], repository=repository)
            return _Kept(policy, "", self._clock())
        except PolicyError as error:
            last = kept.policy if kept is not None else policy_of_default_branch(None, repository=repository)
            return _Kept(last, str(error), self._clock())
