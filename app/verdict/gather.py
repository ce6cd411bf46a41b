"""Purpose: `sweepgate verify --pr`: gathers a bundle with the token of the environment.

Settings: SWEEPGATE_GITHUB_TOKEN (or GITHUB_TOKEN), SWEEPGATE_GITHUB_URL, SWEEPGATE_ARCHIVE_HOSTS. Times and call
counts go to collection.json.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import replace
from datetime import UTC, datetime

from app.evidence.bundle import Bundle
from app.policy import Policy
from app.verdict.assess import gather

_ANCHOR = re.compile(r"#(issuecomment-|pullrequestreview-|discussion_r)([1-9][0-9]*)$", re.ASCII)
_KINDS = {"issuecomment-": "issue_comment", "pullrequestreview-": "review", "discussion_r": "review_comment"}


class CannotGather(Exception):  # noqa: N818
    """Nothing could be gathered; the message ends with the next step."""


def gather_from_environment(repository: str, number: int, sign_off: str, policy: Policy | None) -> Bundle:
    """Raises CannotGather."""
    from pydantic import SecretStr

    from app.evidence.reads import PullRequestGone
    from app.github.apps import with_token
    from app.github.errors import HostError, reason
    from app.github.evidence import EvidenceReads
    from app.github.hosts import hosts_at
    from app.verdict.policies import policy_of_default_branch

    token = os.environ.get("SWEEPGATE_GITHUB_TOKEN") or os.environ.get("GITHUB_TOKEN", "")
    if not token:
        raise CannotGather("SWEEPGATE_GITHUB_TOKEN is not set. Set a token that may read the repository.")
    api = os.environ.get("SWEEPGATE_GITHUB_URL", "https://api.github.com")
    archives = [host for host in os.environ.get("SWEEPGATE_ARCHIVE_HOSTS", "").replace(",", " ").split() if host]
    github = with_token(hosts_at(api, archives), SecretStr(token))
    started = time.monotonic()
    try:
        bundle = gather(
            EvidenceReads(github),
            repository,
            number,
            datetime.now(UTC).date(),
            lambda content: policy or policy_of_default_branch(content, repository=repository),
            sign_off_of(sign_off, repository, number) if sign_off else None,
        )
    except (PullRequestGone, HostError) as error:
        told = str(error) if isinstance(error, PullRequestGone) else reason(error)
        raise CannotGather(f"{repository}#{number}: {told}. Check the number and what the token may see.") from None
    collected = {"seconds": round(time.monotonic() - started, 3), "github_requests": github.counter.requests}
    return replace(bundle, collection=collected)


def sign_off_of(url: str, repository: str, number: int) -> tuple[str, int]:
    """(kind, id) of a sign-off by its URL. Raises CannotGather where it does not belong to the pull request."""
    match = _ANCHOR.search(url)
    if match is None or f"/{repository}/pull/{number}".lower() not in url.lower():
        raise CannotGather(
            f"--signoff {url}: expected a comment of {repository}#{number}. Copy the link of the comment itself."
        )
    return _KINDS[match[1]], int(match[2])
