"""Purpose: a world from a folder, for whoever wants to try Sweepgate on a story of their own: `World.load(folder)`.

`world.yaml` names everything; files stand beside it, texts may stand in it. All but repositories is optional:

    start: "2026-10-21T00:00:00Z"
    organizations: {acme: [core-maintainer]}
    teams: {acme/owners: {members: [reviewer], visible: false}}
    tokens: {sandbox-token: "sweepgate[bot]"}
    repositories:
      acme/bench:
        files: bench/                      # folder: the first commit of the default branch
        collaborators: {reviewer: {permission: write, role_name: maintain, association: COLLABORATOR}}
        branches:                          # in order; `files` is a folder with what the commit adds or changes
          feature: {files: feature/, delete: [old.txt], author: author, message: Change, base: main, sha: ""}
        pulls:
          - {number: 7, head: feature, author: author, title: Change, body: text, draft: false}
        runs:
          - {id: 4001, workflow: run-sweep.yml, event: pull_request, actor: maintainer, branch: feature,
             conclusion: success, artifacts: artifacts/,         # one folder below it for each artifact
             jobs: [{name: agentic / c1, conclusion: success, runner: gb200_1, log: logs/c1.txt}]}
        then:                              # what people do on pull requests, in order
          - {pull: 7, by: maintainer, label: full-sweep-enabled}
          - {pull: 7, by: reviewer, comment: "/use 4001"}
          - {pull: 7, by: reviewer, review: Looks right, state: APPROVED}
    checkpoints: {org/draft: {sha: 46c9, revision: main, files: draft/}}
    pages: {"https://docs.sglang.io/x": {file: page.html, media: text/html}}

A text field that begins with "@" names a file beside `world.yaml`. Bad input raises `BadWorld` with place and remedy.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from app.sandbox.clock import HandClock

if TYPE_CHECKING:
    from app.sandbox.repository import Repository
    from app.sandbox.world import World

NAME = "world.yaml"


class BadWorld(Exception):  # noqa: N818
    """The folder cannot be read as a world; the message says where and what to do."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TeamPart(_Part):
    members: tuple[str, ...] = ()
    visible: bool = True


class CollaboratorPart(_Part):
    permission: str
    role_name: str = ""
    association: str = ""


class BranchPart(_Part):
    author: str
    files: str = ""
    delete: tuple[str, ...] = ()
    message: str = "Update"
    base: str = ""
    sha: str = ""


class PullPart(_Part):
    head: str
    author: str
    number: int = 0
    title: str = "A pull request"
    body: str = ""
    base: str = ""
    draft: bool = False


class JobPart(_Part):
    name: str
    conclusion: str | None = "success"
    runner: str = "runner-1"
    log: str = ""


class RunPart(_Part):
    workflow: str
    event: str
    actor: str
    branch: str
    id: int | None = None
    conclusion: str = ""
    artifacts: str = ""
    jobs: tuple[JobPart, ...] = ()


class StepPart(_Part):
    pull: int
    by: str
    comment: str = ""
    review: str = ""
    state: str = "COMMENTED"
    label: str = ""
    unlabel: str = ""


class RepositoryPart(_Part):
    files: str
    default_branch: str = "main"
    collaborators: dict[str, CollaboratorPart] = {}
    branches: dict[str, BranchPart] = {}
    pulls: tuple[PullPart, ...] = ()
    runs: tuple[RunPart, ...] = ()
    then: tuple[StepPart, ...] = ()


class CheckpointPart(_Part):
    sha: str
    files: str
    revision: str = "main"


class PagePart(_Part):
    file: str
    media: str = "text/html; charset=utf-8"


class WorldPart(_Part):
    repositories: dict[str, RepositoryPart]
    start: str = "2026-10-21T00:00:00Z"
    organizations: dict[str, tuple[str, ...]] = {}
    teams: dict[str, TeamPart] = {}
    tokens: dict[str, str] = {}
    checkpoints: dict[str, CheckpointPart] = {}
    pages: dict[str, PagePart] = {}


def load(world: World, folder: Path) -> World:
    """Fill a world from a folder. Raises BadWorld."""
    told = _read(folder)
    if isinstance(world.clock, HandClock):
        try:
            world.clock.set(told.start)
        except ValueError:
            wanted = "Write it as 2026-10-21T05:00:00Z."
            raise BadWorld(f"{folder / NAME}: start: {told.start!r} is no moment. {wanted}") from None
    for name, members in told.organizations.items():
        world.organization(name, members)
    for name, team in told.teams.items():
        world.team(name, team.members, team.visible)
    for text, login in told.tokens.items():
        world.token(text, login)
    for name, part in told.repositories.items():
        _repository(world, folder, name, part)
    for name, checkpoint in told.checkpoints.items():
        world.checkpoint(name, checkpoint.sha, _files(folder, checkpoint.files), checkpoint.revision)
    for url, page in told.pages.items():
        world.page(url, _bytes(folder, page.file), page.media)
    return world


def _read(folder: Path) -> WorldPart:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    path = folder / NAME
    try:
        value = YAML(typ="safe").load(path.read_bytes())
    except OSError as missing:
        raise BadWorld(f"{path}: {missing.strerror}. Name a folder that holds {NAME}.") from None
    except YAMLError as broken:
        mark = getattr(broken, "problem_mark", None)
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise BadWorld(f"{path}{place}: {getattr(broken, 'problem', 'no YAML')}. Correct the file.") from None
    try:
        return WorldPart.model_validate(value)
    except ValidationError as wrong:
        first = wrong.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise BadWorld(
            f"{path}: {place or 'the file'}: {first['msg']}. See app/sandbox/load.py for the layout."
        ) from None


def _repository(world: World, folder: Path, name: str, part: RepositoryPart) -> None:
    repo = world.repository(name, _files(folder, part.files), part.default_branch)
    for login, held in part.collaborators.items():
        repo.collaborator(login, held.permission, held.role_name, held.association)
    for branch, commit in part.branches.items():
        changes: dict[str, bytes | str | None] = dict(_files(folder, commit.files)) if commit.files else {}
        changes |= dict.fromkeys(commit.delete)
        repo.push(branch, changes, commit.author, commit.message, commit.sha, commit.base)
    for pull in part.pulls:
        if pull.head not in repo.branches:
            raise BadWorld(f"{folder / NAME}: {name} has no branch {pull.head!r}. List it below branches.")
        body = _text(folder, pull.body)
        repo.pull_request(pull.head, pull.author, pull.title, body, pull.number, pull.base, pull.draft)
    for run in part.runs:
        _run(repo, folder, run)
    for step in part.then:
        _step(repo, folder, step)


def _run(repo: Repository, folder: Path, part: RunPart) -> None:
    made = repo.start_run(part.workflow, part.event, part.actor, head_branch=part.branch, id=part.id).start()
    for job in part.jobs:
        made.job(job.name, job.conclusion, _bytes(folder, job.log) if job.log else b"", job.runner)
    if part.artifacts:
        for artifact in sorted(_folder(folder, part.artifacts).iterdir()):
            made.artifact(artifact.name, _files(artifact, "."))
    if part.conclusion:
        made.finish(part.conclusion)


def _step(repo: Repository, folder: Path, part: StepPart) -> None:
    pull = repo.pulls.get(part.pull)
    if pull is None:
        raise BadWorld(f"{folder / NAME}: {repo.full_name} has no pull request {part.pull}. List it below pulls.")
    if part.comment:
        pull.comment(part.by, _text(folder, part.comment))
    if part.review:
        pull.review(part.by, _text(folder, part.review), part.state)
    if part.label:
        pull.apply_label(part.by, part.label)
    if part.unlabel:
        pull.remove_label(part.by, part.unlabel)


def _text(folder: Path, told: str) -> str:
    return _bytes(folder, told[1:]).decode("utf-8", "replace") if told.startswith("@") else told


def _bytes(folder: Path, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except OSError as missing:
        raise BadWorld(f"{folder / name}: {missing.strerror}. {NAME} names this file.") from None


def _folder(folder: Path, name: str) -> Path:
    found = folder / name
    if not found.is_dir():
        raise BadWorld(f"{found}: no such folder. {NAME} names it.")
    return found


def _files(folder: Path, name: str) -> dict[str, bytes]:
    """Every file below a folder by its path in it."""
    root = _folder(folder, name)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
