"""Purpose: the state as a decision reads it, noting what was asked for and is not there yet.

A decision is run, its missing look-ups are made, and it is run again, until nothing is missing. One code path thus
says both what is needed and what follows from it.

Invariants: an unknown permission is never "no": the question stays open and the decision is not final.
"""

from __future__ import annotations

from app.decide.actions import Line, Needs
from app.decide.state import Artifact, Measurement, Permission, PullState, Remark, Run
from app.policy import Policy
from app.results.triage import RetryPlan


class View:
    """Wraps one PullState. Methods return None for "not known yet" and remember the question."""

    def __init__(self, state: PullState, policy: Policy) -> None:
        self.state = state
        self.policy = policy
        self.unreadable: dict[str, str] = {}
        self._permissions: set[str] = set()
        self._runs: set[int] = set()
        self._executed: set[int] = set()
        self._artifacts: set[int] = set()
        self._measurements: set[str] = set()
        self._history = False
        self._retries: set[int] = set()

    def permission(self, login: str) -> Permission | None:
        found = self.state.permissions.get(login)
        if found is None and login in self.state.permission_errors:
            self.unreadable[login] = self.state.permission_errors[login]
        elif found is None:
            self._permissions.add(login)
        return found

    def is_writer(self, remark: Remark) -> bool | None:
        """Author, and the editor if another person edited it, both have permission and role to write."""
        return self._everyone(remark, admin=False)

    def is_admin(self, remark: Remark) -> bool | None:
        return self._everyone(remark, admin=True)

    def _everyone(self, remark: Remark, *, admin: bool) -> bool | None:
        people = [remark.author]
        if remark.editor is not None and remark.edited_by_another:
            people.append(remark.editor)
        if any(person.bot or person.id == 0 for person in people):
            return False
        answers = []
        for person in people:
            permission = self.permission(person.login)
            answers.append(None if permission is None else permission.admin if admin else permission.writer)
        if False in answers:
            return False
        return None if None in answers else True

    def run(self, number: int) -> Run | None:
        """A run by id; None while it is not looked up, and for ever if it does not exist (see `is_absent`)."""
        found = self.state.run(number)
        if found is None and number not in self.state.absent_runs:
            self._runs.add(number)
        return found

    def is_absent(self, number: int) -> bool:
        return number in self.state.absent_runs

    def executed(self, run: Run) -> bool | None:
        """Whether a matrix job of the run started."""
        if run.executed is None and run.status in ("completed", "in_progress"):
            self._executed.add(run.id)
        return run.executed

    def artifacts(self, run: Run) -> tuple[Artifact, ...] | None:
        if run.artifacts is None:
            self._artifacts.add(run.id)
        return run.artifacts

    def retry_plan(self, run: Run) -> RetryPlan | None:
        """Which failures of a run may run again."""
        if run.retry is None:
            self._retries.add(run.id)
        return run.retry

    def measurement(self, sha: str) -> Measurement | None:
        """Whether a commit is the same measurement as head."""
        if sha == self.state.head_sha:
            return Measurement(True)
        found = self.state.measurements.get(sha)
        if found is None:
            self._measurements.add(sha)
        return found

    def head_at(self, at: float) -> str | None:
        """The branch's head at that second; a push in the same second counts as later. None: not establishable."""
        if self.state.history is None:
            self._history = True
            return None
        before = [change for change in self.state.history if change.at < at]
        return max(before, key=lambda change: change.at).sha if before else None

    @property
    def needs(self) -> Needs:
        return Needs(
            frozenset(self._permissions),
            frozenset(self._runs),
            frozenset(self._executed),
            frozenset(self._artifacts),
            frozenset(self._measurements),
            self._history,
            frozenset(self._retries),
        )

    @property
    def unreadable_lines(self) -> tuple[Line, ...]:
        return tuple(Line("permission-unreadable", {"login": login}) for login in sorted(self.unreadable))
