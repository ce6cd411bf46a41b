"""Purpose: endpoints for workflow runs, jobs, logs, artifacts, dispatches, check runs and commit statuses.

Archives are not served here: a redirect leads to another address of the stand-in (`files_url`), as GitHub redirects
to a storage host that must not see the caller's Authorization.
"""

from __future__ import annotations

import re

from app.sandbox import shapes_runs
from app.sandbox.api.core import Answer, Call, Refused, empty, invalid, not_found, redirect, route
from app.sandbox.clock import moment
from app.sandbox.model import Annotation, Artifact, CheckRun, CommitStatus
from app.sandbox.repository import Repository
from app.sandbox.runs import Run

R = "/repos/{owner}/{repo}"
RUN = R + "/actions/runs/{id:int}"
ANNOTATIONS_A_CALL = 50


def _runs(call: Call, path: str | None = None) -> Answer:
    repo, query, now = call.repo(), call.query, call.world.clock.now()
    found = [
        it
        for it in reversed(repo.runs)
        if it.visible_at <= now
        and path in (None, it.path)
        and query.get("branch") in (None, it.head_branch)
        and query.get("head_sha") in (None, it.head_sha)
        and query.get("event") in (None, it.event)
        and query.get("actor") in (None, it.actor)
        and query.get("status") in (None, it.status, it.conclusion)
        and _created(it, query.get("created"))
    ]
    return call.paged(found, lambda it: shapes_runs.run(call.world, it), "workflow_runs")


def _created(it: Run, told: str | None) -> bool:
    """The `created` filter: >=T, <=T, or T1..T2."""
    if not told:
        return True
    if ".." in told:
        first, last = (moment(part) for part in told.split(".."))
        return first <= it.created_at <= last
    sign, at = re.match(r"([<>]=?)?(.*)", told, re.DOTALL).groups()  # type: ignore[union-attr]
    compared = it.created_at - moment(at)
    return compared >= 0 if (sign or "").startswith(">") else compared <= 0 if sign else compared == 0


@route("GET", R + "/actions/runs")
def runs(call: Call) -> Answer:
    return _runs(call)


@route("GET", R + "/actions/workflows")
def workflows(call: Call) -> Answer:
    repo = call.repo()
    return call.paged(sorted(_paths(repo)), lambda path: _workflow(call, repo, path), "workflows")


@route("GET", R + "/actions/workflows/{workflow}")
def workflow(call: Call) -> Answer:
    repo = call.repo()
    return Answer(_workflow(call, repo, _path(repo, call.parts["workflow"])))


@route("GET", R + "/actions/workflows/{workflow}/runs")
def workflow_runs(call: Call) -> Answer:
    return _runs(call, _path(call.repo(), call.parts["workflow"]))


@route("POST", R + "/actions/workflows/{workflow}/dispatches")
def dispatch(call: Call) -> Answer:
    """Start a run on a branch; with `return_run_details` the answer names it, else 204."""
    repo = call.repo()
    call.must(repo, "actions")
    path, ref = _path(repo, call.parts["workflow"]), str(call.need("ref")).removeprefix("refs/heads/")
    if ref not in repo.branches:
        raise Refused(422, f"No ref found for: {ref}")
    inputs = call.json.get("inputs") or {}
    source = repo.git.read(repo.branches[ref], path) or b""
    if b"workflow_dispatch" not in source:
        raise Refused(422, "Workflow does not have 'workflow_dispatch' trigger")
    known = set(re.findall(rb"^ {6}([A-Za-z0-9_-]+):\s*$", source, re.MULTILINE))
    if unknown := [name for name in inputs if name.encode() not in known]:
        raise Refused(422, f"Unexpected inputs provided: {unknown}")
    texts = {name: str(value) for name, value in inputs.items()}
    made = repo.start_run(path, "workflow_dispatch", call.login, head_branch=ref, inputs=texts)
    for listener in call.world.on_dispatch:
        listener(made)
    if not call.json.get("return_run_details"):
        return empty()
    shown = shapes_runs.run(call.world, made)
    return Answer({"workflow_run_id": made.id, "run_url": shown["url"], "html_url": shown["html_url"]})


@route("GET", RUN)
def run(call: Call) -> Answer:
    return Answer(shapes_runs.run(call.world, call.run()))


@route("GET", RUN + "/attempts/{attempt:int}")
def run_attempt(call: Call) -> Answer:
    it = call.run()
    return Answer(shapes_runs.run(call.world, it, _attempt(call, it)))


@route("GET", RUN + "/jobs")
def jobs(call: Call) -> Answer:
    it = call.run()
    found = it.jobs if call.query.get("filter") == "all" else it.latest_jobs()
    return call.paged(found, lambda one: shapes_runs.job(call.world, it, one), "jobs")


@route("GET", RUN + "/attempts/{attempt:int}/jobs")
def attempt_jobs(call: Call) -> Answer:
    it = call.run()
    found = it.latest_jobs(_attempt(call, it))
    return call.paged(found, lambda one: shapes_runs.job(call.world, it, one), "jobs")


@route("GET", RUN + "/logs")
def logs(call: Call) -> Answer:
    it = call.run()
    return _archive(call, f"logs/{it.repo.full_name}/{it.id}/{it.attempt}")


@route("GET", RUN + "/attempts/{attempt:int}/logs")
def attempt_logs(call: Call) -> Answer:
    it = call.run()
    return _archive(call, f"logs/{it.repo.full_name}/{it.id}/{_attempt(call, it)}")


@route("GET", R + "/actions/jobs/{job:int}")
def job(call: Call) -> Answer:
    for it in call.repo().runs:
        for one in it.jobs:
            if one.id == call.number("job"):
                return Answer(shapes_runs.job(call.world, it, one))
    raise not_found()


@route("GET", R + "/actions/jobs/{job:int}/logs")
def job_log(call: Call) -> Answer:
    return _archive(call, f"job-log/{call.repo().full_name}/{call.number('job')}")


@route("GET", RUN + "/artifacts")
def run_artifacts(call: Call) -> Answer:
    it, name = call.run(), call.query.get("name")
    found = [each for each in it.artifacts if name in (None, each.name)]
    return call.paged(found, lambda one: shapes_runs.artifact(call.world, it, one), "artifacts")


@route("GET", R + "/actions/artifacts/{artifact:int}")
def artifact(call: Call) -> Answer:
    it, one = _artifact(call)
    return Answer(shapes_runs.artifact(call.world, it, one))


@route("GET", R + "/actions/artifacts/{artifact:int}/zip")
def artifact_zip(call: Call) -> Answer:
    it, one = _artifact(call)
    if not call.login:
        raise Refused(401, "Requires authentication")
    if one.expired:
        raise Refused(410, "Artifact has expired")
    return _archive(call, f"artifact/{it.repo.full_name}/{one.id}")


@route("POST", RUN + "/rerun")
def rerun(call: Call) -> Answer:
    it = _rerunnable(call)
    it.rerun(call.login)
    return Answer({}, 201)


@route("POST", RUN + "/rerun-failed-jobs")
def rerun_failed(call: Call) -> Answer:
    it = _rerunnable(call)
    if it.conclusion == "cancelled" or not any(job.conclusion == "failure" for job in it.latest_jobs()):
        raise Refused(403, "This workflow run cannot be retried: it has no failed jobs.")
    it.rerun(call.login, failed_only=True)
    return Answer({}, 201)


@route("POST", RUN + "/cancel")
def cancel(call: Call) -> Answer:
    it = call.run()
    call.must(it.repo, "actions")
    if it.status == "completed":
        raise Refused(409, "Cannot cancel a workflow run that is completed.")
    it.finish("cancelled")
    return Answer({}, 202)


# check runs and statuses -------------------------------------------------------------------------------------


@route("POST", R + "/check-runs")
def create_check_run(call: Call) -> Answer:
    repo = call.repo()
    call.must(repo, "checks")
    sha = call.need("head_sha")
    if sha not in repo.git.commits:
        raise Refused(422, f"No commit found for SHA: {sha}")
    world = call.world
    slug = call.login.removesuffix("[bot]")
    made = CheckRun(world.next_id(), call.need("name"), sha, "queued", None, slug, world.clock.tick())
    repo.check_runs.append(made)
    _change(call, made)
    world.emit(repo, "check_run", "created", call.login, check_run=shapes_runs.check_run(world, repo, made))
    return Answer(shapes_runs.check_run(world, repo, made), 201)


@route("PATCH", R + "/check-runs/{id:int}")
def update_check_run(call: Call) -> Answer:
    repo, it = _check_run(call)
    call.must(repo, "checks")
    _change(call, it)
    return Answer(shapes_runs.check_run(call.world, repo, it))


@route("GET", R + "/check-runs/{id:int}")
def check_run(call: Call) -> Answer:
    repo, it = _check_run(call)
    return Answer(shapes_runs.check_run(call.world, repo, it))


@route("GET", R + "/check-runs/{id:int}/annotations")
def check_run_annotations(call: Call) -> Answer:
    repo, it = _check_run(call)
    return call.paged(shapes_runs.check_annotations(call.world, repo, it), lambda one: one)


@route("POST", R + "/statuses/{sha}")
def create_status(call: Call) -> Answer:
    repo, told = call.repo(), call.json
    call.must(repo, "statuses")
    if (state := call.need("state")) not in ("error", "failure", "pending", "success"):
        raise invalid("Status", "state")
    texts = (told.get("context") or "default", state, told.get("description") or "", told.get("target_url") or "")
    made = CommitStatus(call.world.next_id(), call.parts["sha"], *texts, call.login, call.world.clock.tick())
    repo.statuses.append(made)
    return Answer(shapes_runs.status(call.world, repo, made), 201)


def _change(call: Call, it: CheckRun) -> None:
    told = call.json
    for name in ("name", "status", "external_id", "details_url"):
        if told.get(name) is not None:
            setattr(it, name, told[name])
    if told.get("conclusion"):
        it.conclusion, it.status, it.completed_at = told["conclusion"], "completed", call.world.clock.tick()
    output = told.get("output") or {}
    for name in ("title", "summary", "text"):
        if output.get(name) is not None:
            if len(output[name]) > 65_535:
                raise invalid("CheckRun", f"output.{name}", "too_long")
            setattr(it, name, output[name])
    notes = output.get("annotations") or []
    if len(notes) > ANNOTATIONS_A_CALL:
        raise Refused(422, "Invalid request.\n\nNo more than 50 items are allowed; annotations were supplied.")
    for note in notes:
        place = (note["path"], int(note["start_line"]), int(note["end_line"]), note["annotation_level"])
        it.annotations.append(Annotation(*place, note["message"], note.get("title") or ""))


def _check_run(call: Call) -> tuple[Repository, CheckRun]:
    repo = call.repo()
    for each in repo.check_runs:
        if each.id == call.number("id"):
            return repo, each
    raise not_found()


def _rerunnable(call: Call) -> Run:
    it = call.run()
    call.must(it.repo, "actions")
    if it.status != "completed":
        raise Refused(403, "This workflow run is already running")
    return it


def _attempt(call: Call, it: Run) -> int:
    attempt = call.number("attempt")
    if not 1 <= attempt <= it.attempt:
        raise not_found()
    return attempt


def _artifact(call: Call) -> tuple[Run, Artifact]:
    for it in call.repo().runs:
        for one in it.artifacts:
            if one.id == call.number("artifact"):
                return it, one
    raise not_found()


def _archive(call: Call, name: str) -> Answer:
    return redirect(f"{call.world.files_url}/{name}?sig=signed")


def _paths(repo: Repository) -> set[str]:
    tree = repo.git.commits[repo.branches[repo.default_branch]].tree if repo.branches else {}
    files = {path for path in tree if path.startswith(".github/workflows/") and path.endswith((".yml", ".yaml"))}
    return files | set(repo.workflows)


def _path(repo: Repository, told: str) -> str:
    """A workflow's path from its file name or its id."""
    for path in _paths(repo):
        if told in (path.rpartition("/")[2], str(repo.workflow_id(path))):
            return path
    raise not_found()


def _workflow(call: Call, repo: Repository, path: str) -> dict[str, object]:
    number, page = repo.workflow_id(path), f"{call.world.web}/{repo.full_name}"
    return {
        "id": number,
        "node_id": f"W_{number}",
        "name": repo.workflow_name(path),
        "path": path,
        "state": "active",
        "created_at": "2025-01-01T00:00:00Z",
        "updated_at": "2025-01-01T00:00:00Z",
        "url": f"{call.world.api_url}/repos/{repo.full_name}/actions/workflows/{number}",
        "html_url": f"{page}/blob/{repo.default_branch}/{path}",
        "badge_url": f"{page}/workflows/{repo.workflow_name(path)}/badge.svg",
    }
