"""Purpose: PyGithub's objects over our own transport, so that its parameters and shapes are used and its retries,
throttle and connection are not.

Objects are made lazily from their address: making one asks nothing. Errors are those of errors.py; PyGithub's own
never appear, since our transport raises before PyGithub looks at a status.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from github.CheckRun import CheckRun
from github.Issue import Issue
from github.IssueComment import IssueComment
from github.PullRequest import PullRequest
from github.PullRequestComment import PullRequestComment
from github.Repository import Repository
from github.Requester import Requester
from github.Workflow import Workflow
from github.WorkflowRun import WorkflowRun

from app.github.transport import Ask, Transport


class _Requester(Requester):
    """PyGithub's requester with its one door replaced."""

    def __init__(self, transport: Transport, repository: str, repeatable: bool | None) -> None:
        super().__init__(
            auth=None,
            base_url=transport.hosts.api,
            timeout=1,
            user_agent="sweepgate",
            per_page=100,
            verify=True,
            retry=None,
            pool_size=None,
            lazy=True,
        )
        self._transport, self._repository, self._repeatable = transport, repository, repeatable

    def requestJson(  # noqa: N802  (PyGithub's name)
        self,
        verb: str,
        url: str,
        parameters: dict[str, Any] | None = None,
        headers: dict[str, Any] | None = None,
        input: Any | None = None,  # noqa: A002
        cnx: Any = None,  # noqa: ARG002
        follow_302_redirect: bool = False,  # noqa: ARG002
    ) -> tuple[int, dict[str, Any], str]:
        """Send by our transport. Redirects of archives are never asked for through here."""
        answer = self._transport.send(
            Ask(
                verb,
                url,
                {name: str(value) for name, value in (parameters or {}).items()} or None,
                input,
                {name: str(value) for name, value in (headers or {}).items()} or None,
                self._repository,
                write=verb != "GET",
                repeatable=verb in ("PATCH", "DELETE") if self._repeatable is None else self._repeatable,
            )
        )
        return answer.status, dict(answer.headers), answer.content.decode("utf-8", "replace")


class Objects:
    """Lazy objects of one repository. `repeatable`: whether a write may be sent twice without harm; by default edits
    and deletions may, creations may not."""

    def __init__(self, transport: Transport, repository: str, repeatable: bool | None = None) -> None:
        self._requester = _Requester(transport, repository, repeatable)
        self._base = f"/repos/{repository}"

    def repository(self) -> Repository:
        return Repository(self._requester, url=self._base)

    def issue(self, number: int) -> Issue:
        return Issue(self._requester, url=f"{self._base}/issues/{number}")

    def pull(self, number: int) -> PullRequest:
        return PullRequest(self._requester, url=f"{self._base}/pulls/{number}")

    def comment(self, comment_id: int) -> IssueComment:
        return IssueComment(self._requester, url=f"{self._base}/issues/comments/{comment_id}")

    def inline(self, comment_id: int) -> PullRequestComment:
        return PullRequestComment(self._requester, url=f"{self._base}/pulls/comments/{comment_id}")

    def run(self, run_id: int) -> WorkflowRun:
        # with its address for cancelling, which PyGithub would otherwise ask for
        url = f"{self._base}/actions/runs/{run_id}"
        return WorkflowRun(self._requester, attributes={"url": url, "cancel_url": f"{url}/cancel"})

    def workflow(self, file: str) -> Workflow:
        return Workflow(self._requester, url=f"{self._base}/actions/workflows/{quote(file, safe='')}")

    def check_run(self, check_run_id: int) -> CheckRun:
        return CheckRun(self._requester, url=f"{self._base}/check-runs/{check_run_id}")
