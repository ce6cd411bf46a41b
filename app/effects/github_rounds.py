"""Purpose: what the periodic round reads of a repository: few conditional lists, no full reads."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from app.effects.github import TRUSTED, translated
from app.effects.ports import NotThere
from app.effects.rounds import ListedPull, ListedRun
from app.github.client import GitHub
from app.policy import SweepPolicy


class GitHubRounds:
    """`app.effects.rounds.RoundReader` for one repository's installation."""

    def __init__(self, github: GitHub, sweep: SweepPolicy) -> None:
        self._github, self._sweep = github, sweep

    def pulls(self, repository: str) -> Iterator[Sequence[ListedPull]]:
        """Pages of pull requests of any state, the last changed first; each page is one conditional request."""
        for page in range(1, 31):
            with translated():
                listed = self._github.pulls(repository, "all", first=page)
            yield tuple(
                ListedPull(one.number, one.state == "open", one.updated_at, one.head_sha, one.head_ref)
                for one in listed
            )
            if len(listed) < 100:
                return

    def runs(self, repository: str) -> Sequence[ListedRun]:
        """The newest hundred runs of the sweep workflow; none where the repository has no such workflow."""
        try:
            with translated():
                found = self._github.runs(repository, self._sweep.workflow)
        except NotThere:
            return ()
        return tuple(
            ListedRun(
                run.id,
                f"{run.attempt}:{run.status}:{run.conclusion}",
                run.pull_requests,
                run.title,
                run.head_sha,
                run.head_branch,
            )
            for run in found
        )

    def trusted(self, repository: str) -> str:
        """A digest of the trusted files at the tip of the default branch."""
        with translated():
            found, _ = self._github.files(repository, {"HEAD": (TRUSTED, ())})
        hasher = hashlib.sha256()
        for path in sorted(found["HEAD"]):
            content = found["HEAD"][path]
            hasher.update(path.encode() + b"\0" + (b"-" if content is None else hashlib.sha256(content).digest()))
        return hasher.hexdigest()
