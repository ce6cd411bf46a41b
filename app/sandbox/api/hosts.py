"""Purpose: the other hosts that the stand-in plays: archives, model checkpoints, documentation pages.

Each stands below a prefix of its own; a client reaches them by base-address settings. None of them knows tokens: a
request that brings an Authorization header is logged with it, so that a test can see a leak.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from app.sandbox.api.core import Answer, Refused
from app.sandbox.world import World

PREFIX = "/_hosts"
RANGE = re.compile(r"bytes=(\d+)-(\d*)$")


@dataclass(frozen=True)
class HostRequest:
    """A request to one of the other hosts. `path` is what follows the host's prefix."""

    host: str
    path: str
    headers: dict[str, str]


def answer(world: World, asked: HostRequest) -> Answer:
    """Serve one of the other hosts. Raises Refused with 404 for what is not there."""
    if asked.host == "files":
        return _file(world, asked.path)
    if asked.host == "checkpoint":
        return _checkpoint(world, asked)
    return _page(world, asked)


def _file(world: World, path: str) -> Answer:
    kind, _, rest = path.partition("/")
    owner, name, *more = rest.split("/")
    repo = world.find(f"{owner}/{name}")
    if repo is None:
        raise Refused(404, "Not Found")
    for run in repo.runs:
        if kind == "logs" and str(run.id) == more[0]:
            return Answer(raw=run.logs(int(more[1])), media="application/zip")
        for one in run.artifacts if kind == "artifact" else ():
            if str(one.id) == more[0]:
                return Answer(raw=one.zipped, media="application/zip")
        for job in run.jobs if kind == "job-log" else ():
            if str(job.id) == more[0]:
                return Answer(raw=job.log, media="text/plain; charset=utf-8")
    raise Refused(404, "Not Found")


def _checkpoint(world: World, asked: HostRequest) -> Answer:
    """`api/models/{repo}/revision/{rev}` describes a model, `{repo}/resolve/{rev}/{file}` gives a file (by range)."""
    if found := re.fullmatch(r"api/models/(.+?)/revision/([^/]+)", asked.path):
        return _model(world, found[1], found[2])
    found = re.fullmatch(r"(.+?)/resolve/([^/]+)/(.+)", asked.path)
    files = world.checkpoints.get(found[1], {}).get(found[2]) if found else None
    if found is None or files is None or found[3] not in files:
        raise Refused(404, "Entry not found")
    return _ranged(asked, files[found[3]])


def _model(world: World, repo: str, revision: str) -> Answer:
    files = world.checkpoints.get(repo, {}).get(revision)
    if files is None:
        raise Refused(404, "Repository not found")
    info = world.checkpoint_info[f"{repo}@{revision}"]
    listed = [{"rfilename": name, "size": len(content)} for name, content in sorted(files.items())]
    return Answer({"id": repo, "modelId": repo, "private": False, **info, "siblings": listed})


def _page(world: World, asked: HostRequest) -> Answer:
    found = world.pages.get(f"{asked.host}/{asked.path}".rstrip("/"))
    if found is None:
        raise Refused(404, "Not Found")
    return _conditional(asked, Answer(raw=found[1], media=found[0]))


def _ranged(asked: HostRequest, content: bytes) -> Answer:
    """The bytes asked for: 206 with Content-Range, 416 beyond the end."""
    told = RANGE.match(asked.headers.get("range", ""))
    if told is None:
        return _conditional(asked, Answer(raw=content, media="application/octet-stream"))
    first, last = int(told[1]), min(int(told[2]) if told[2] else len(content) - 1, len(content) - 1)
    if first >= len(content):
        raise Refused(416, "Range Not Satisfiable", Content_Range=f"bytes */{len(content)}")
    shown = {"Content-Range": f"bytes {first}-{last}/{len(content)}", "Accept-Ranges": "bytes"}
    return Answer(status=206, raw=content[first : last + 1], media="application/octet-stream", headers=shown)


def _conditional(asked: HostRequest, answer: Answer) -> Answer:
    tag = f'"{hashlib.sha1(answer.bytes(), usedforsecurity=False).hexdigest()}"'
    answer.headers["ETag"] = tag
    if asked.headers.get("if-none-match") == tag:
        return Answer(status=304, headers={"ETag": tag})
    return answer
