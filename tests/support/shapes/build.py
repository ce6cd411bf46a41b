"""Purpose: a story as a complete in-memory bundle, in an editor.

Trees hold the story's files; jobs, logs, rows and artifacts follow from the plan of the two trees. Log texts go
through the real extractor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from app.evidence.bundle import Bundle, SourceStatus, blob_name
from app.evidence.wanted import directories, head_files, launch_directories, target_files, unread_launch_files
from app.facts.log_facts import extract
from app.planner.plan import Plan, PlanOptions, plan
from app.target.source import RejectedInput
from app.target.tree import Tree
from app.verdict.policies import shipped
from tests.support.bundles import Editor
from tests.support.shapes import github, ground, logs, outside, results
from tests.support.shapes.story import Story


def build(story: Story) -> Editor:
    """The bundle of a story."""
    return _Made(story).editor()


class _Made:
    def __init__(self, story: Story) -> None:
        self.story = story
        self.blobs: dict[str, bytes] = {}
        self.sources: dict[str, Any] = {}
        after = {path: text for path, text in {**story.files, **story.head}.items() if text is not None}
        self.trees = {"merge_base": dict(story.files), "head": after, "target": dict(story.target or story.files)}
        self.layout = self.tree("head", ground.HEAD).layout
        self.plan = self._plan()

    def tree(self, name: str, revision: str) -> Tree:
        files = {path: text.encode() for path, text in self.trees[name].items()}
        return Tree(revision, files, complete=True)

    def _plan(self) -> Plan | None:
        try:
            return plan(self.tree("merge_base", ground.BASE), self.tree("head", ground.HEAD), PlanOptions())
        except RejectedInput:
            return None

    def editor(self) -> Editor:
        story, sources = self.story, self.sources
        checklist = self.trees["merge_base"][self.layout.checklist]
        sources["pull_request"] = github.pull_request(story)
        sources["commits"] = [{"sha": ground.HEAD, "parents": [ground.BASE], "message": story.title}]
        sources["changed_files"] = self._changed()
        sources["comments"] = github.comments(story, checklist)
        sources["labels"], sources["activity"] = github.labels(story), github.activity(story)
        sources["permissions"] = {ground.REVIEWER: {"permission": "write", "role_name": "write"}}
        sources["teams"] = {"semianalysisai/core": {"visible": False, "members": []}}
        self._trees()
        self._sweep()
        self._outside()
        return Editor(self._bundle())

    def _changed(self) -> list[dict[str, Any]]:
        found = []
        for path, text in sorted(self.story.head.items()):
            status = "removed" if text is None else "modified" if path in self.story.files else "added"
            if text != self.story.files.get(path):
                found.append({"path": path, "status": status, "previous_path": ""})
        return found

    def _trees(self) -> None:
        layout, changed = self.layout, tuple(self.story.head)
        asked, folders = set(head_files(layout, changed, self.story.number)), launch_directories(layout)
        self._tree("tree_merge_base", "merge_base", ground.BASE, asked, folders)
        self._tree("tree_head", "head", ground.HEAD, asked, folders)
        self._tree("tree_target", "target", ground.BASE, set(target_files(layout)), directories(layout))
        self._tree("tree_signoff_base", "merge_base", ground.BASE, set(), (), only=layout.checklist)
        launched = unread_launch_files(self._recorded("tree_merge_base"), self._recorded("tree_head"), changed)
        for name in ("tree_merge_base", "tree_head"):
            self.sources[name]["absent"] = sorted({*self.sources[name]["absent"], *launched})

    def _tree(
        self, source: str, name: str, revision: str, asked: set[str], folders: Iterable[str], only: str = ""
    ) -> None:
        """Every file of the revision (or `only` one) as recorded; what was asked for and is not there is absent."""
        kept = {path: text for path, text in sorted(self.trees[name].items()) if only in ("", path)}
        files = {path: self.store(text) for path, text in kept.items()}
        made = {"revision": revision, "files": files, "absent": sorted(asked - set(files))}
        self.sources[source] = {**made, "folders": sorted(folders), "problems": {}}

    def _recorded(self, source: str) -> Tree:
        raw = self.sources[source]
        files = {path: self.blobs[blob] for path, blob in raw["files"].items()}
        return Tree(raw["revision"], files, frozenset(raw["absent"]), folders=frozenset(raw["folders"]))

    def store(self, text: str) -> str:
        name = blob_name(text.encode())
        self.blobs[name] = text.encode()
        return name

    def _sweep(self) -> None:
        story, sources = self.story, self.sources
        if not story.swept or self.plan is None:
            sources["runs"] = []
            return
        named = github.job_names(story, self.plan)
        sources["runs"], sources["jobs"] = [github.run(story)], github.jobs(named)
        ids = {job["name"]: job["id"] for job in sources["jobs"]}
        sources["job_logs"] = [
            extract(
                logs.log_text(story, planned.row, planned.concurrencies, evaluating=planned.is_eval),
                job_id=ids[name],
                run_id=ground.RUN,
                job_name=name,
            ).model_dump(mode="json")
            for planned, name in named
        ]
        metadata = results.metadata_of(self.plan.matrix())
        sources["artifacts"] = [
            self._artifact(number, name, members)
            for number, (name, members) in enumerate(results.artifacts(story, self.plan.rows, metadata).items())
        ]

    def _artifact(self, number: int, name: str, members: Mapping[str, str]) -> dict[str, Any]:
        files = {member: self.store(text) for member, text in members.items()}
        whole = {"id": 5_000 + number, "run_id": ground.RUN, "name": name, "expired": False, "size": 900}
        return {**whole, "files": files, "problem": ""}

    def _outside(self) -> None:
        story = self.story
        signed = self.sources["comments"][-1]["body"].splitlines()
        self.sources["upstream"] = [
            {
                "link": one.link,
                "comment_id": ground.SIGN_OFF,
                "line": next(number for number, line in enumerate(signed, 1) if one.link in line),
                "kind": "pull_request" if one.number else "page",
                "repository": one.repository,
                "number": one.number,
                "state": one.state if one.number else "",
                "merged_at": one.merged_at if one.number else "",
                "merge_sha": "d" * 40 if one.merged_at and one.number else "",
                "contained": one.contained if one.number else None,
                "files": {path: self.store(text) for path, text in one.files.items()},
                "problem": one.problem,
            }
            for one in story.upstream
        ]
        self.sources["checkpoints"] = [
            {
                "repository": one.repository,
                "revision": "main",
                "sha": "f" * 40,
                "files": {path: self.store(text) for path, text in outside.checkpoint_files(one).items()},
                "headers": {"model-00001-of-00001.safetensors": self.store(outside.header(one.tensors))},
                "problem": one.problem,
            }
            for one in story.checkpoints
        ]
        if story.overview:
            page = {"url": outside.OVERVIEW_URL, "blob": self.store(story.overview), "problem": ""}
            self.sources["overview"] = page

    def _bundle(self) -> Bundle:
        story = self.story
        statuses = {name: SourceStatus(True) for name in self.sources}
        if "jobs" not in self.sources:
            reason = "the evidence run: no sweep run counts"
            statuses |= {name: SourceStatus(False, reason) for name in ("jobs", "artifacts", "job_logs")}
        return Bundle(
            repository=ground.REPOSITORY,
            number=story.number,
            head_sha=ground.HEAD,
            merge_base_sha=ground.BASE,
            target_sha=ground.BASE,
            base_ref="main",
            review_date=date.fromisoformat(story.day).isoformat(),
            policy=shipped(story.policy).canonical(),
            sign_off={"kind": "issue_comment", "id": ground.SIGN_OFF},
            statuses=statuses,
            sources=self.sources,
            blobs=self.blobs,
        )
