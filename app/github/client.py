"""Purpose: the reads of GitHub, each a narrow method; `Writes` (writes.py) hangs below `writes`.

Methods are synchronous and thread-safe. Each says in its name what is asked, and gives values of reads.py; all raise
the errors of errors.py. Everything takes the repository as "owner/name".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from app.github import decode, graphql
from app.github.counter import CallCounter
from app.github.errors import NotThere, Refused, TooLarge, Unreadable
from app.github.fetch import ARTIFACT, LOGS, Bounds, Fetcher, unzip
from app.github.logs import job_texts
from app.github.reads import (
    ArtifactRead,
    CheckRunRead,
    FileRead,
    JobRead,
    MovedRef,
    NotVisible,
    PermissionRead,
    PullListed,
    PullRead,
    RunRead,
)
from app.github.transport import Ask, Transport

if TYPE_CHECKING:
    from app.github.writes import Writes

Json = dict[str, Any]
RAW = "application/vnd.github.raw+json"
MOST_LISTED_FILES = 3000
READERS = 6


class GitHub:
    """One caller's view of GitHub. `counted()` gives the same client with a counter of its own."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def counted(self, counter: CallCounter) -> GitHub:
        return GitHub(self.transport.counted(counter))

    @property
    def counter(self) -> CallCounter:
        return self.transport.counter

    @cached_property
    def fetcher(self) -> Fetcher:
        return Fetcher(self.transport.hosts, self.transport.client, self.transport.time)

    @cached_property
    def writes(self) -> Writes:
        from app.github.writes import Writes

        return Writes(self.transport)

    # pull requests ---------------------------------------------------------------------------------------------

    def pull_request(self, repository: str, number: int, beside: Sequence[str] = ()) -> PullRead:
        """The whole state, by one GraphQL request. `beside`: git expressions ("HEAD:path") of small files or folders
        that come along in `found` (files) and `folders`."""
        raw = graphql.read_pull(self.transport, repository, number, beside)
        found = decode.pull_request(raw.repository, raw.pull)
        files: dict[str, bytes | None] = {}
        for told, node in raw.objects.items():
            if node is None or node["__typename"] != "Blob":
                files[told] = None
                continue
            file = graphql.file_node(node)
            files[told] = file.content if file.content is not None else self.blob(repository, file.oid)
        folders = {told: (node or {}).get("__typename") == "Tree" for told, node in raw.objects.items()}
        return replace(found, found=files, folders=folders)

    def pulls(self, repository: str, state: str = "open", most: int = 1, first: int = 1) -> list[PullListed]:
        """Pull requests by their last change, newest first, `most` pages of 100 from page `first`; asked with the
        ETag of last time."""
        params = {"state": state, "sort": "updated", "direction": "desc", "per_page": "100"}
        url = f"/repos/{repository}/pulls"
        answers = [
            self.transport.get(url, {**params, "page": str(page)}, repository) for page in range(first, first + most)
        ]
        return [decode.pull_listed(node) for answer in answers for node in answer.json()]

    def changed_files(self, repository: str, number: int) -> list[FileRead]:
        """Every changed file with its patch and, for a rename, its old path. Raises Unreadable where GitHub cuts."""
        nodes = self._list(f"/repos/{repository}/pulls/{number}/files", repository, most=30)
        if len(nodes) >= MOST_LISTED_FILES:
            raise Unreadable(f"{repository}#{number} changes {MOST_LISTED_FILES} files or more: GitHub lists no more")
        return [decode.changed_file(node) for node in nodes]

    def head(self, repository: str, number: int) -> str:
        """The head SHA now, by one REST request with the ETag of last time."""
        node = self._object(f"/repos/{repository}/pulls/{number}", repository)
        return str(node["head"]["sha"])

    def compare(self, repository: str, base: str, head: str) -> tuple[str, list[FileRead], Json]:
        """Merge base, changed files and the raw answer (`status`, `ahead_by`, `behind_by`). The files are complete:
        where GitHub stops at 300 the two trees are compared instead (renames are then a removal and an addition)."""
        url = f"/repos/{repository}/compare/{quote(base, safe='')}...{quote(head, safe='')}"
        node = self._object(url, repository, {"per_page": "100"})
        merge_base = str(node["merge_base_commit"]["sha"])
        files = [decode.changed_file(each) for each in node["files"]]
        if len(files) >= 300:
            files = self._tree_difference(repository, merge_base, head)
        return merge_base, files, node

    def _tree_difference(self, repository: str, base: str, head: str) -> list[FileRead]:
        old, new = self.tree(repository, base), self.tree(repository, head)
        found = []
        for path in sorted({*old, *new}):
            if old.get(path) != new.get(path):
                status = "added" if path not in old else "removed" if path not in new else "modified"
                found.append(FileRead(path, status, "", 0, 0, None))
        return found

    # files -----------------------------------------------------------------------------------------------------

    def tree(self, repository: str, sha: str) -> dict[str, str]:
        """Blob ids by path of a whole commit. Raises Unreadable where GitHub cuts the list."""
        node = self._object(f"/repos/{repository}/git/trees/{sha}", repository, {"recursive": "1"})
        if node["truncated"]:
            raise Unreadable(f"the tree of {sha[:7]} is too large to be listed")
        return {each["path"]: each["sha"] for each in node["tree"] if each["type"] == "blob"}

    def blob(self, repository: str, sha: str) -> bytes:
        """A file's raw bytes by blob id."""
        return self.transport.get(f"/repos/{repository}/git/blobs/{sha}", repository=repository, accept=RAW).content

    def files(
        self,
        repository: str,
        wishes: Mapping[str, tuple[Sequence[str], Sequence[str]]],
        history: tuple[str, str, str] | None = None,
    ) -> tuple[dict[str, dict[str, bytes | None]], tuple[str, bytes] | None]:
        """Files and whole folders by revision: {sha: (paths, folders)}, as few GraphQL requests as they need.

        Gives {sha: {path: bytes, or None where absent}}, files below folders included, and with `history` =
        (sha, path, ISO time) the newest commit not after that time that changed the path, with its bytes.
        """
        found: dict[str, dict[str, bytes | None]] = {sha: {} for sha in wishes}
        files = [(sha, path) for sha, (paths, _) in wishes.items() for path in paths]
        folders = [(sha, path.strip("/")) for sha, (_, below) in wishes.items() for path in below]
        wanted = [f"{sha}:{path}" for sha, path in (*files, *folders)]
        version: tuple[str, graphql.FileNode] | None = None
        if history is not None:
            read, version = graphql.read_objects_and_history(self.transport, repository, wanted, history)
        else:
            read = graphql.read_objects(self.transport, repository, wanted)
        missing: dict[str, list[tuple[str, str]]] = {}
        self._sort(files, read, found, missing)
        while folders := self._below(folders, read, found, missing):
            read = graphql.read_objects(self.transport, repository, [f"{sha}:{path}" for sha, path in folders])
        self._fill(repository, missing, found)
        if version is None:
            return found, None
        content = version[1].content
        return found, (version[0], self.blob(repository, version[1].oid) if content is None else content)

    def _sort(
        self,
        files: Iterable[tuple[str, str]],
        read: Mapping[str, graphql.FileNode | list[Json] | None],
        found: dict[str, dict[str, bytes | None]],
        missing: dict[str, list[tuple[str, str]]],
    ) -> None:
        """Put what was read of single files into `found`; what has to be read raw into `missing` by blob id."""
        for sha, path in files:
            node = read[f"{sha}:{path}"]
            if isinstance(node, graphql.FileNode) and node.content is None:
                missing.setdefault(node.oid, []).append((sha, path))
            else:
                found[sha][path] = node.content if isinstance(node, graphql.FileNode) else None

    def _below(
        self,
        folders: Iterable[tuple[str, str]],
        read: Mapping[str, graphql.FileNode | list[Json] | None],
        found: dict[str, dict[str, bytes | None]],
        missing: dict[str, list[tuple[str, str]]],
    ) -> list[tuple[str, str]]:
        """Put the files of folders into `found`; the folders below them are what has to be asked for next."""
        deeper: list[tuple[str, str]] = []
        for sha, folder in folders:
            entries = read.get(f"{sha}:{folder}")
            for entry in entries if isinstance(entries, list) else ():
                path = f"{folder}/{entry['name']}"
                if entry["type"] == "tree":
                    deeper.append((sha, path))
                elif entry["type"] == "blob":
                    node = graphql.file_node(entry["object"] or {"oid": entry["oid"]})
                    if node.content is None:
                        missing.setdefault(node.oid, []).append((sha, path))
                    else:
                        found[sha][path] = node.content
        return deeper

    def _fill(
        self,
        repository: str,
        missing: Mapping[str, list[tuple[str, str]]],
        found: dict[str, dict[str, bytes | None]],
    ) -> None:
        """Read raw what GraphQL could not give, each blob once."""
        for oid, content in self._several(missing, lambda oid: self.blob(repository, oid)).items():
            for sha, path in missing[oid]:
                found[sha][path] = content

    def _several(self, keys: Iterable[str], read: Any) -> dict[str, bytes]:
        names = list(keys)
        if len(names) < 2:
            return {name: read(name) for name in names}
        with ThreadPoolExecutor(READERS) as pool:
            return dict(zip(names, pool.map(read, names), strict=True))

    # people ----------------------------------------------------------------------------------------------------

    def permission(self, repository: str, login: str) -> PermissionRead:
        """Both fields of the collaborator API. One that is missing is Unreadable, and so is a 404: never "no"."""
        url = f"/repos/{repository}/collaborators/{quote(login, safe='')}/permission"
        try:
            node = self._object(url, repository)
        except NotThere:
            raise Unreadable(f"GitHub does not tell the permission of {login} in {repository}") from None
        permission, role = node.get("permission"), node.get("role_name")
        if not (isinstance(permission, str) and permission and isinstance(role, str) and role):
            raise Unreadable(f"GitHub's answer about the permission of {login} lacks permission or role_name")
        return PermissionRead(permission, role)

    def team_members(self, name: str, repository: str = "") -> tuple[str, ...]:
        """Logins of a team "organization/slug", lower case, sorted. Raises NotVisible (403 and 404 tell the same)."""
        organization, _, slug = name.partition("/")
        try:
            nodes = self._list(f"/orgs/{organization}/teams/{slug}/members", repository)
        except (NotThere, Refused):
            raise NotVisible(f"the members of {name} cannot be seen with this token") from None
        return tuple(sorted(str(node["login"]).lower() for node in nodes))

    def team_member(self, name: str, login: str, repository: str = "") -> bool:
        """Whether a person is an active member. Raises NotVisible where the team itself cannot be seen."""
        organization, _, slug = name.partition("/")
        url = f"/orgs/{organization}/teams/{slug}/memberships/{quote(login, safe='')}"
        try:
            return bool(self._object(url, repository).get("state") == "active")
        except Refused:
            raise NotVisible(f"the members of {name} cannot be seen with this token") from None
        except NotThere:
            # 404 is both "no member" and "no such team for this token": only the member list tells them apart
            return login.lower() in self.team_members(name, repository)

    def activity(self, repository: str, branch: str) -> list[MovedRef]:
        """What moved a branch, newest first, in GitHub's own time."""
        nodes = self._list(f"/repos/{repository}/activity", repository, {"ref": f"refs/heads/{branch}"})
        return [decode.moved_ref(node) for node in nodes]

    def codeowners_errors(self, repository: str, ref: str) -> list[Json]:
        """GitHub's own errors of the CODEOWNERS file at a ref: line, column, kind, message, path."""
        node = self._object(f"/repos/{repository}/codeowners/errors", repository, {"ref": ref})
        return list(node["errors"])

    # runs ------------------------------------------------------------------------------------------------------

    def run(self, repository: str, run_id: int) -> RunRead:
        return decode.workflow_run(self._object(f"/repos/{repository}/actions/runs/{run_id}", repository))

    def run_attempt(self, repository: str, run_id: int, attempt: int) -> RunRead:
        url = f"/repos/{repository}/actions/runs/{run_id}/attempts/{attempt}"
        return decode.workflow_run(self._object(url, repository))

    def runs(self, repository: str, workflow: str = "", most: int = 1, **filters: str) -> list[RunRead]:
        """Runs, newest first, `most` pages of 100. `workflow` is a path or file name; `filters` are GitHub's own
        (branch, event, head_sha, status, actor, created)."""
        name = workflow.rpartition("/")[2]
        base = f"/repos/{repository}/actions"
        url = f"{base}/workflows/{quote(name, safe='')}/runs" if name else f"{base}/runs"
        found: list[RunRead] = []
        for page in range(1, most + 1):
            answer = self.transport.get(url, {"per_page": "100", **filters, "page": str(page)}, repository)
            nodes = answer.json()["workflow_runs"]
            found += [decode.workflow_run(node) for node in nodes]
            if len(nodes) < 100:
                break
        return found

    def jobs(self, repository: str, run_id: int, attempt: int) -> list[JobRead]:
        """Every job of an attempt."""
        url = f"/repos/{repository}/actions/runs/{run_id}/attempts/{attempt}/jobs"
        return [decode.job(node) for node in self._list(url, repository, key="jobs")]

    def artifacts(self, repository: str, run_id: int) -> list[ArtifactRead]:
        url = f"/repos/{repository}/actions/runs/{run_id}/artifacts"
        return [decode.artifact(node, run_id) for node in self._list(url, repository, key="artifacts")]

    def artifact_files(
        self, repository: str, artifact_id: int, size: int = 0, bounds: Bounds = ARTIFACT
    ) -> dict[str, bytes]:
        """The members of an artifact. `size` as listed is refused at once where it is too large."""
        url = f"/repos/{repository}/actions/artifacts/{artifact_id}/zip"
        return unzip(self._archive(url, repository, bounds, size), bounds)

    def run_logs(self, repository: str, run_id: int, attempt: int, jobs: Sequence[JobRead]) -> dict[int, bytes]:
        """The log of each executed job by job id: the whole run's archive, and single logs where its names leave
        open which is which."""
        url = f"/repos/{repository}/actions/runs/{run_id}/attempts/{attempt}/logs"
        members = unzip(self._archive(url, repository, LOGS, 0), LOGS, lambda name: "/" not in name)
        found, missing = job_texts(members, jobs)
        return found | {job.id: self.job_log(repository, job.id) for job in missing}

    def job_log(self, repository: str, job_id: int) -> bytes:
        return self._archive(f"/repos/{repository}/actions/jobs/{job_id}/logs", repository, LOGS, 0)

    def check_runs(self, repository: str, sha: str, name: str = "", app_id: str = "") -> list[CheckRunRead]:
        """Check runs of a commit, by name and by the App that owns them where given."""
        filters = {"check_name": name, "app_id": app_id}
        params = {key: value for key, value in filters.items() if value}
        url = f"/repos/{repository}/commits/{sha}/check-runs"
        return [decode.check_run(node) for node in self._list(url, repository, params, "check_runs")]

    def labels(self, repository: str) -> frozenset[str]:
        """Names of the repository's labels."""
        return frozenset(str(node["name"]) for node in self._list(f"/repos/{repository}/labels", repository))

    # plumbing --------------------------------------------------------------------------------------------------

    def _object(self, url: str, repository: str, params: dict[str, str] | None = None) -> Json:
        node = self.transport.get(url, params, repository).json()
        if not isinstance(node, dict):
            raise Unreadable(f"GitHub's answer to {url} is not an object")
        return node

    def _list(
        self, url: str, repository: str, params: dict[str, str] | None = None, key: str = "", most: int = 20
    ) -> list[Json]:
        """All entries of a list, or of the list below `key`."""
        pages = self.transport.pages(url, params, repository, most)
        nodes = [node for page in pages for node in (page[key] if key else page)]
        if not all(isinstance(node, dict) for node in nodes):
            raise Unreadable(f"GitHub's answer to {url} is not a list of objects")
        return nodes

    def _archive(self, url: str, repository: str, bounds: Bounds, size: int) -> bytes:
        """The bytes behind the redirect that GitHub answers with; the token stays with GitHub."""
        if size > bounds.download:
            raise TooLarge(f"{size} bytes, at most {bounds.download} are read")
        answer = self.transport.send(Ask("GET", url, repository=repository))
        location = answer.headers.get("location", "")
        if answer.status not in (302, 303, 307) or not location:
            raise Unreadable(f"GET {url}: GitHub does not say where the archive is")
        hosts = self.transport.hosts
        return self.fetcher.archive(location, bounds.download, hosts.archives)
