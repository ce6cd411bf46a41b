"""Purpose: reads a pull request's state and decides, looking up what the decision asks for, until it is final.

Cost: one GraphQL read and one list of runs when nothing changed; look-ups that can never change are remembered, and a
permission is remembered for a few minutes (every effect that spends or publishes reads it again).
Accepted race: artifacts of an ended run are remembered for the day, so one that is deleted meanwhile is missed until
tomorrow here; whoever downloads it (a verdict, staging) finds out at once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from app.decide.actions import Decision, Needs
from app.decide.core import decide
from app.decide.state import (
    Artifact,
    Callback,
    LabelApproval,
    Measurement,
    Permission,
    PullRef,
    PullState,
    Remark,
    Run,
)
from app.effects.markers import Markers
from app.effects.ports import NotThere, Reader, Refused, Unavailable
from app.effects.triage import retry_plan_of
from app.flows.ports import Clock, Memos, SameMeasurement
from app.policy import Policy
from app.results.triage import RetryPlan

MAX_ROUNDS = 8


class PermissionCache:
    """Permissions by repository and login for `seconds`."""

    def __init__(self, *, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._known: dict[tuple[str, str], tuple[float, Permission]] = {}
        self._guard = threading.Lock()

    def get(self, reader: Reader, repository: str, login: str) -> Permission:
        now = self._clock()
        with self._guard:
            known = self._known.get((repository, login))
        if known and abs(now - known[0]) < self._seconds:
            return known[1]
        permission = reader.permission(repository, login)
        with self._guard:
            self._known[(repository, login)] = (now, permission)
        return permission

    def drop(self, repository: str, login: str) -> None:
        with self._guard:
            self._known.pop((repository, login), None)


@dataclass(frozen=True)
class Extras:
    """What is known of a pull request beside GitHub's state.

    Signed label deliveries, staging callbacks, whether the half-hourly look at outside sources asks for a fresh
    verdict, and what we did just now and GitHub may not show yet: comments (id and body) and one-shot commands.
    """

    approvals: tuple[LabelApproval, ...] = ()
    callbacks: tuple[Callback, ...] = ()
    refresh: bool = False
    recent: tuple[tuple[int, str], ...] = ()
    done_commands: frozenset[str] = frozenset()
    started_retries: Mapping[str, int] = field(default_factory=dict)
    told: frozenset[int] = frozenset()


@dataclass
class Gatherer:
    """Gathers for one installation."""

    reader: Reader
    markers: Markers
    memos: Memos
    permissions: PermissionCache
    same_measurement: SameMeasurement
    clock: Clock

    def decide(self, ref: PullRef, policy: Policy, extras: Extras, *, review_date: str) -> tuple[PullState, Decision]:
        """The state and a final decision. Raises NotThere when the pull request has vanished, or Unavailable."""
        state = self._read(ref, policy, extras, review_date)
        for _ in range(MAX_ROUNDS):
            decision = decide(state, policy)
            if not decision.needs:
                return state, decision
            state = self._fill(state, decision.needs)
        raise Unavailable(f"{ref}: the state did not settle in {MAX_ROUNDS} look-ups")

    def _read(self, ref: PullRef, policy: Policy, extras: Extras, review_date: str) -> PullState:
        state = self.reader.pull(ref)
        runs = self.reader.runs(ref, head_branch=state.head_ref, head_sha=state.head_sha)
        unseen = self._unseen(state, extras)
        return replace(
            state,
            unseen=bool(unseen) or bool(extras.told - {remark.id for remark in state.remarks}),
            done_commands=extras.done_commands,
            started_retries=extras.started_retries,
            runs=tuple(self._with_memos(ref, run) for run in runs),
            own=(*self.markers.own(ref, state.remarks, state.bot), *self.markers.own(ref, unseen, state.bot)),
            tampered=self.markers.tampered(ref, state.remarks, state.bot),
            approvals=extras.approvals,
            callbacks=extras.callbacks,
            refresh=extras.refresh,
            policy_digest=policy.digest,
            review_date=review_date,
            merge_base=state.merge_base or self._merge_base(state),
        )

    def _unseen(self, state: PullState, extras: Extras) -> tuple[Remark, ...]:
        """Our own new comments that GitHub does not list yet; without them a verdict would be made twice."""
        listed = {remark.id for remark in state.remarks}
        return tuple(
            Remark("issue_comment", number, state.bot, body, self.clock())
            for number, body in extras.recent
            if number not in listed
        )

    def _merge_base(self, state: PullState) -> str:
        key = f"merge-base:{state.ref.repository}:{state.base_sha}:{state.head_sha}"
        known = self.memos.get(key)
        if known is None:
            known = self.reader.merge_base(state.ref.repository, state.base_sha, state.head_sha)
            self.memos.put(key, known)
        return str(known)

    def _with_memos(self, ref: PullRef, run: Run) -> Run:
        if run.active:
            return run
        return replace(run, executed=self.memos.get(_memo_key(ref, run, "executed")))

    def _fill(self, state: PullState, needs: Needs) -> PullState:
        state = self._fill_permissions(state, needs.permissions)
        state = self._fill_runs(state, needs)
        measured = {sha: self._measurement(state, sha) for sha in needs.measurements}
        state = replace(state, measurements={**state.measurements, **measured})
        if needs.history:
            state = replace(state, history=tuple(self.reader.history(state.head_repository, state.head_ref)))
        return state

    def _fill_permissions(self, state: PullState, logins: Iterable[str]) -> PullState:
        known, errors = dict(state.permissions), dict(state.permission_errors)
        for login in sorted(logins):
            try:
                known[login] = self.permissions.get(self.reader, state.ref.repository, login)
            except (Unavailable, Refused) as error:
                errors[login] = str(error)
        return replace(state, permissions=known, permission_errors=errors)

    def _fill_runs(self, state: PullState, needs: Needs) -> PullState:
        absent, added = set(state.absent_runs), []
        for number in sorted(needs.runs):
            try:
                added.append(self._with_memos(state.ref, self.reader.run(state.ref.repository, number)))
            except NotThere:
                absent.add(number)
        runs = tuple(self._completed(state, run, needs) for run in (*state.runs, *added))
        return replace(state, runs=runs, absent_runs=frozenset(absent))

    def _completed(self, state: PullState, run: Run, needs: Needs) -> Run:
        ref = state.ref
        if run.id in needs.executed and run.executed is None:
            executed = self.reader.executed(ref.repository, run.id)
            if not run.active:
                self.memos.put(_memo_key(ref, run, "executed"), executed)
            run = replace(run, executed=executed)
        if run.id in needs.artifacts and run.artifacts is None:
            run = replace(run, artifacts=self._artifacts(ref, run, state.review_date))
        if run.id in needs.retries and run.retry is None:
            run = replace(run, retry=self._retry_plan(ref, run))
        return run

    def _retry_plan(self, ref: PullRef, run: Run) -> RetryPlan:
        """What of an ended attempt may run again; it never changes, so it is remembered without its diagnoses."""
        key = _memo_key(ref, run, "retry")
        known = self.memos.get(key)
        if known is None:
            plan = retry_plan_of(self.reader, ref.repository, run.id, run.attempt)
            known = {"problem": plan.problem, "values": dict(plan.values)}
            self.memos.put(key, known)
        return RetryPlan((), (), str(known["problem"]), known["values"])

    def _artifacts(self, ref: PullRef, run: Run, day: str) -> tuple[Artifact, ...]:
        key = _memo_key(ref, run, f"artifacts:{day}")
        known = None if run.active else self.memos.get(key)
        if known is not None:
            return tuple(Artifact(name, expired) for name, expired in known)
        try:
            found = tuple(self.reader.artifacts(ref.repository, run.id))
        except NotThere:
            return ()
        if found and not run.active:
            self.memos.put(key, [[one.name, one.expired] for one in found])
        return found

    def _measurement(self, state: PullState, sha: str) -> Measurement:
        key = f"same:{state.ref.repository}:{sha}:{state.head_sha}"
        known = self.memos.get(key)
        if known is not None:
            return Measurement(known["same"], tuple(known["files"]))
        found = self.same_measurement(state, sha)
        if found.same is not None:
            self.memos.put(key, {"same": found.same, "files": list(found.files)})
        return found


def _memo_key(ref: PullRef, run: Run, what: str) -> str:
    return f"run:{ref.repository}:{run.id}:{run.attempt}:{what}"
