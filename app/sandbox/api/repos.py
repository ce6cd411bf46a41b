"""Purpose: endpoints for repositories: branches, contents, blobs, trees, commits, compare, activity, people."""

from __future__ import annotations

import base64

from app.sandbox import shapes, shapes_runs
from app.sandbox.api.core import Answer, Call, Refused, empty, invalid, not_found, route
from app.sandbox.diff import changed_files
from app.sandbox.git import Commit
from app.sandbox.repository import Repository

R = "/repos/{owner}/{repo}"
RAW = "application/vnd.github.raw"
DIFF_FILES = 300


@route("GET", R)
def repository(call: Call) -> Answer:
    return Answer(shapes.repository(call.world, call.repo()) | {"network_count": 0, "subscribers_count": 0})


@route("GET", R + "/branches")
def branches(call: Call) -> Answer:
    repo = call.repo()
    return call.paged(
        sorted(repo.branches.items()),
        lambda pair: {
            "name": pair[0],
            "commit": {"sha": pair[1], "url": _commit_url(call, repo, pair[1])},
            "protected": False,
        },
    )


@route("GET", R + "/branches/{branch:path}")
def branch(call: Call) -> Answer:
    repo = call.repo()
    sha = repo.branches.get(call.parts["branch"])
    if sha is None:
        raise Refused(404, "Branch not found")
    shown = shapes_runs.commit(call.world, repo, repo.git.commits[sha])
    url = f"{call.world.api_url}{call.path}"
    links = {"self": url, "html": f"{call.world.web}/{repo.full_name}/tree/{call.parts['branch']}"}
    protection = {"protected": False, "protection": {}, "protection_url": f"{url}/protection"}
    return Answer({"name": call.parts["branch"], "commit": shown, "_links": links, **protection})


@route("GET", R + "/git/ref/{ref:path}")
def git_ref(call: Call) -> Answer:
    repo, ref = call.repo(), call.parts["ref"]
    sha = repo.branches.get(ref.removeprefix("heads/"))
    if sha is None:
        raise not_found()
    return Answer(_ref(call, repo, ref.removeprefix("heads/"), sha))


@route("POST", R + "/git/refs")
def create_ref(call: Call) -> Answer:
    repo = call.repo()
    call.must(repo, "contents")
    name, sha = str(call.need("ref")).removeprefix("refs/heads/"), call.need("sha")
    if name in repo.branches:
        raise Refused(422, "Reference already exists")
    if sha not in repo.git.commits:
        raise Refused(422, "Object does not exist")
    repo.move(name, sha, call.login)
    return Answer(_ref(call, repo, name, sha), 201)


@route("PATCH", R + "/git/refs/{ref:path}")
def update_ref(call: Call) -> Answer:
    repo, name = call.repo(), call.parts["ref"].removeprefix("heads/")
    call.must(repo, "contents")
    sha, before = call.need("sha"), repo.branches.get(name)
    if before is None:
        raise Refused(422, "Reference does not exist")
    if sha not in repo.git.commits:
        raise Refused(422, "Object does not exist")
    forward = before in repo.git.ancestors(sha)
    if not forward and not call.json.get("force"):
        raise Refused(422, "Update is not a fast forward")
    repo.move(name, sha, call.login, kind="push" if forward else "force_push")
    return Answer(_ref(call, repo, name, sha))


@route("DELETE", R + "/git/refs/{ref:path}")
def delete_ref(call: Call) -> Answer:
    repo, name = call.repo(), call.parts["ref"].removeprefix("heads/")
    call.must(repo, "contents")
    if name not in repo.branches:
        raise Refused(422, "Reference does not exist")
    repo.delete_branch(name, call.login)
    return empty()


@route("GET", R + "/contents/{path:path}")
def contents(call: Call) -> Answer:
    repo, path = call.repo(), call.parts["path"].strip("/")
    ref = call.query.get("ref") or repo.default_branch
    sha = repo.resolve(ref)
    if not sha:
        raise Refused(404, f"No commit found for the ref {ref}")
    tree = repo.git.commits[sha].tree
    if path in tree:
        if call.headers.get("accept", "").startswith(RAW):
            return Answer(raw=repo.git.blobs[tree[path]], media=f"{RAW}; charset=utf-8")
        return Answer(shapes_runs.content(call.world, repo, ref, path, tree[path]))
    inside = [each for each in tree if each.startswith(f"{path}/")]
    if not inside:
        raise not_found()
    files = [each for each in sorted(inside) if "/" not in each[len(path) + 1 :]]
    return Answer([shapes_runs.content(call.world, repo, ref, each, tree[each], full=False) for each in files])


@route("PUT", R + "/contents/{path:path}")
def put_contents(call: Call) -> Answer:
    repo, path = call.repo(), call.parts["path"]
    call.must(repo, "contents")
    name = call.json.get("branch") or repo.default_branch
    known = repo.git.commits[repo.branches[name]].tree.get(path)
    if known is not None and call.json.get("sha") != known:
        raise Refused(409, f"{path} does not match {call.json.get('sha')}")
    made = repo.push(name, {path: base64.b64decode(call.need("content"))}, call.login, call.need("message"))
    shown = shapes_runs.content(call.world, repo, name, path, made.tree[path], full=False)
    return Answer({"content": shown, "commit": shapes_runs.git_commit(call.world, repo, made)}, 200 if known else 201)


@route("GET", R + "/git/blobs/{sha}")
def blob(call: Call) -> Answer:
    repo, sha = call.repo(), call.parts["sha"]
    raw = repo.git.blobs.get(sha)
    if raw is None:
        raise not_found()
    if call.headers.get("accept", "").startswith(RAW):
        return Answer(raw=raw, media=f"{RAW}; charset=utf-8")
    url = f"{call.world.api_url}{call.path}"
    told = base64.encodebytes(raw).decode()
    return Answer(
        {"sha": sha, "node_id": f"B_{sha}", "size": len(raw), "url": url, "content": told, "encoding": "base64"}
    )


@route("GET", R + "/git/trees/{ref:path}")
def tree(call: Call) -> Answer:
    repo = call.repo()
    commit, prefix = _tree_of(repo, call.parts["ref"])
    ids = repo.git.tree_ids(commit)
    deep = bool(call.query.get("recursive"))
    entries = [(path, "blob", sha) for path, sha in commit.tree.items()] + [(p, "tree", s) for p, s in ids.items() if p]
    shown = []
    for path, kind, sha in sorted(entries):
        inside = path.removeprefix(f"{prefix}/") if prefix else path
        if (prefix and not path.startswith(f"{prefix}/")) or (not deep and "/" in inside):
            continue
        mode = "040000" if kind == "tree" else "100644"
        entry = {"path": inside, "mode": mode, "type": kind, "sha": sha}
        size = {"size": len(repo.git.blobs[sha])} if kind == "blob" else {}
        shown.append({**entry, **size, "url": f"{call.world.api_url}/repos/{repo.full_name}/git/{kind}s/{sha}"})
    return Answer({"sha": ids[prefix], "url": f"{call.world.api_url}{call.path}", "tree": shown, "truncated": False})


def _tree_of(repo: Repository, ref: str) -> tuple[Commit, str]:
    """The commit and folder that a tree id, a commit, a branch or "commit:folder" names."""
    name, _, folder = ref.partition(":")
    if sha := repo.resolve(name):
        return repo.git.commits[sha], folder.strip("/")
    for commit in reversed(repo.git.commits.values()):
        for path, known in repo.git.tree_ids(commit).items():
            if known == ref:
                return commit, path
    raise not_found()


@route("GET", R + "/commits")
def commits(call: Call) -> Answer:
    repo = call.repo()
    start = repo.resolve(call.query.get("sha") or repo.default_branch)
    if not start:
        raise not_found()
    return call.paged(
        repo.git.ancestors(start), lambda sha: shapes_runs.commit(call.world, repo, repo.git.commits[sha])
    )


@route("GET", R + "/commits/{sha}/pulls")
def commit_pulls(call: Call) -> Answer:
    repo, sha = call.repo(), call.parts["sha"]
    found = [p for p in repo.pulls.values() if sha in (p.merge_sha, *(each.sha for each in p.commits()))]
    return call.paged(found, lambda it: shapes.pull(call.world, it))


@route("GET", R + "/commits/{ref:path}/check-runs")
def commit_check_runs(call: Call) -> Answer:
    repo = call.repo()
    sha, name, app = repo.resolve(call.parts["ref"]), call.query.get("check_name"), call.query.get("app_id")
    slugs = {each.slug for each in call.world.apps.values() if app in (None, str(each.id))}
    found = [
        run
        for run in repo.check_runs
        if run.sha == sha and name in (None, run.name) and (app is None or run.app in slugs)
    ]
    return call.paged(found, lambda it: shapes_runs.check_run(call.world, repo, it), "check_runs")


@route("GET", R + "/commits/{ref:path}/status")
def combined_status(call: Call) -> Answer:
    repo = call.repo()
    sha = repo.resolve(call.parts["ref"])
    latest = {each.context: each for each in repo.statuses if each.sha == sha}
    states = {each.state for each in latest.values()}
    state = "failure" if states & {"failure", "error"} else "success" if states == {"success"} else "pending"
    url = f"{call.world.api_url}{call.path}"
    shown = [shapes_runs.status(call.world, repo, each) for each in latest.values()]
    told = {"state": state, "sha": sha, "total_count": len(shown), "statuses": shown, "url": url}
    return Answer(
        {**told, "commit_url": _commit_url(call, repo, sha), "repository": shapes.repository(call.world, repo)}
    )


@route("GET", R + "/commits/{ref:path}")
def commit(call: Call) -> Answer:
    repo, ref = call.repo(), call.parts["ref"]
    sha = repo.resolve(ref)
    if not sha:
        raise Refused(422, f"No commit found for SHA: {ref}")
    it = repo.git.commits[sha]
    before = repo.git.commits[it.parents[0]].tree if it.parents else {}
    return Answer(shapes_runs.commit(call.world, repo, it, changed_files(repo.git, before, it.tree)))


@route("GET", R + "/compare/{spec:path}")
def compare(call: Call) -> Answer:
    repo, spec = call.repo(), call.parts["spec"]
    names = spec.split("...")
    shas = [repo.resolve(name.rpartition(":")[2]) for name in names]
    if len(shas) != 2 or not all(shas):
        raise not_found()
    git, (base, head) = repo.git, shas
    fork_point = git.merge_base(base, head)
    if not fork_point:
        raise Refused(404, f"No common ancestor between {names[0]} and {names[1]}.")
    ahead, behind = git.between(base, head), git.between(head, base)
    status = "diverged" if ahead and behind else "ahead" if ahead else "behind" if behind else "identical"
    page = max(int(call.query.get("page") or 1), 1)
    shown = call.paged(ahead, lambda it: shapes_runs.commit(call.world, repo, it))
    files = changed_files(git, git.commits[fork_point].tree, git.commits[head].tree) if page == 1 else []
    url = f"{call.world.web}/{repo.full_name}/compare/{spec}"
    body = {
        "url": f"{call.world.api_url}{call.path}",
        **{name: url + ending for name, ending in COMPARE_PAGES.items()},
        "base_commit": shapes_runs.commit(call.world, repo, git.commits[base]),
        "merge_base_commit": shapes_runs.commit(call.world, repo, git.commits[fork_point]),
        "status": status,
        "ahead_by": len(ahead),
        "behind_by": len(behind),
        "total_commits": len(ahead),
        "commits": shown.body,
        "files": [shapes_runs.file(call.world, repo, head, each) for each in files[:DIFF_FILES]],
    }
    return Answer(body, headers=shown.headers)


COMPARE_PAGES = {"html_url": "", "permalink_url": "", "diff_url": ".diff", "patch_url": ".patch"}


@route("GET", R + "/activity")
def activity(call: Call) -> Answer:
    repo = call.repo()
    ref, actor, kind = (call.query.get(name) for name in ("ref", "actor", "activity_type"))
    full = ref if ref is None or ref.startswith("refs/") else f"refs/heads/{ref}"
    found = [
        each
        for each in reversed(repo.activity)
        if full in (None, each.ref) and actor in (None, each.actor) and kind in (None, each.kind)
    ]
    if call.query.get("direction") == "asc":
        found.reverse()
    return call.paged(found, lambda it: shapes_runs.activity(call.world, it))


@route("GET", R + "/codeowners/errors")
def codeowners_errors(call: Call) -> Answer:
    return Answer({"errors": call.repo().codeowners_errors})


@route("GET", R + "/collaborators/{login}/permission")
def permission(call: Call) -> Answer:
    repo, login = call.repo(), call.parts["login"]
    if login not in call.world.users:
        raise not_found()
    held = repo.permission(login)
    shown = shapes.user(call.world, login) | {"role_name": held.role_name}
    return Answer({"permission": held.permission, "role_name": held.role_name, "user": shown})


@route("POST", R + "/dispatches")
def repository_dispatch(call: Call) -> Answer:
    from app.sandbox.model import Dispatch

    repo = call.repo()
    call.must(repo, "contents")
    payload = call.json.get("client_payload", {})
    if len(payload) > 10:
        raise invalid("RepositoryDispatch", "client_payload")
    made = Dispatch(call.need("event_type"), payload, call.login, call.world.clock.tick())
    repo.dispatches.append(made)
    call.world.emit(repo, "repository_dispatch", made.event_type, call.login, client_payload=payload)
    for listener in call.world.on_repository_dispatch:
        listener(repo, made)
    return empty()


def _ref(call: Call, repo: Repository, name: str, sha: str) -> dict[str, object]:
    api = f"{call.world.api_url}/repos/{repo.full_name}/git"
    target = {"type": "commit", "sha": sha, "url": f"{api}/commits/{sha}"}
    return {"ref": f"refs/heads/{name}", "node_id": f"REF_{name}", "url": f"{api}/refs/heads/{name}", "object": target}


def _commit_url(call: Call, repo: Repository, sha: str) -> str:
    return f"{call.world.api_url}/repos/{repo.full_name}/commits/{sha}"
