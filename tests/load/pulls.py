"""Purpose: many pull requests like the reference one, each with its branch, its run and its artifacts, in one stand-in.

Accepted difference: files and logs are those of the reference pull request with the ids of the copy put in, so blobs
that do not differ are known to the service after the first verification, as they are to a service that runs.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.sandbox.model import Comment
from app.sandbox.pull import PullRequest
from app.sandbox.reference_parts import names, results
from app.sandbox.reference_parts.tree import files, text
from app.sandbox.reference_story import RUNNERS, ReferenceStory
from app.sandbox.repository import Repository
from app.sandbox.runs import Run
from app.sandbox.world import World

BOT = "sweepgate[bot]"
FIRST = 5000


@dataclass
class Copy:
    """One pull request and its run."""

    pull: PullRequest
    run: Run

    def use(self) -> Comment:
        """The signer pins the run."""
        return self.pull.comment(names.SIGNER, f"/use {self.run.id}")

    def sign_off(self) -> Comment:
        """The signer posts the filled-in checklist."""
        return self.pull.comment(names.SIGNER, self._own(text("sign_off.md")))

    def _own(self, told: str) -> str:
        return (
            told.replace(names.HEAD_SHA, self.pull.head_sha)
            .replace(str(names.RUN_ID), str(self.run.id))
            .replace(str(names.NUMBER), str(self.pull.number))
        )

    def said(self, part: str) -> int:
        """How many comments of the bot hold this text."""
        with self.pull.lock:
            return sum(1 for comment in self.pull.comments if comment.author == BOT and part in comment.body)


def is_answered(comment: Comment) -> bool:
    """Whether the bot reacted to a comment."""
    return any(reaction.user == BOT for reaction in comment.reactions)


def open_copy(story: ReferenceStory, number: int) -> Copy:
    """Push a branch, open its pull request and measure it: the run is green."""
    repository, branch = story.repository, f"{names.BRANCH}-{number}"
    with story.world.lock:
        repository.push(branch, files("head"), names.AUTHOR, names.TITLE)
        pull = repository.pull_request(branch, names.AUTHOR, names.TITLE, text("pull_request.md"), number)
    pull.apply_label(names.MAINTAINER, names.LABEL)
    run = repository.start_run(
        names.WORKFLOW, "pull_request", names.MAINTAINER, pull.head_sha, branch, f"Run Sweep - {names.TITLE}"
    ).start()
    copy = Copy(pull, run)
    with story.world.lock:
        _fill(copy, story.run)
        run.finish("success")
    return copy


def _fill(copy: Copy, measured: Run) -> None:
    """Jobs, logs and artifacts of the reference run, with the commit of the copy."""
    before, after = names.HEAD_SHA.encode(), copy.pull.head_sha.encode()
    for job in measured.jobs:
        copy.run.job(
            job.name,
            job.conclusion,
            log=job.log.replace(before, after),
            runner=job.runner,
            steps=tuple(step.name for step in job.steps),
            labels=job.labels,
        )
    for name, members in results.artifacts(RUNNERS).items():
        copy.run.artifact(
            name,
            {path: content.replace(names.HEAD_SHA, copy.pull.head_sha) for path, content in members.items()},
        )


def quiet_repository(world: World, pulls: int, name: str = "example/inference") -> Repository:
    """A repository with so many open pull requests of one commit each; nothing is told to anyone."""
    world.webhooks.quiet = True
    repository = world.repository(name, {"README.md": "measured\n", names.WORKFLOW: "name: Run Sweep\n"})
    for number in range(1, pulls + 1):
        repository.push(f"branch-{number}", {f"note-{number % 10}.md": f"{number}\n"}, names.AUTHOR, "Change")
        repository.pull_request(f"branch-{number}", names.AUTHOR, f"Change {number}", "Text.", number)
    world.webhooks.quiet = False
    return repository
