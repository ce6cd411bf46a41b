"""Purpose: the recorded example bundle in memory, with an editor: change one fact of the story, see which rows flip.

An editor keeps the bundle whole: blobs are renamed when their content changes, and every tree that recorded the same
file is changed only where the caller says so. Nothing is written to disk.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from app.evidence.bundle import Bundle, SourceStatus, blob_name, read_bundle
from app.policy import Policy
from app.verdict.engine import Verdict, judge

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "pr-4343"
TREES = {
    "head": "tree_head",
    "merge_base": "tree_merge_base",
    "target": "tree_target",
    "signoff_base": "tree_signoff_base",
    "measured": "tree_measured",
    "signed": "tree_signed",
}


@cache
def _recorded(folder: Path) -> Bundle:
    return read_bundle(folder)


def good(folder: Path = EXAMPLE) -> Editor:
    """An editor over the recorded bundle, whose verdict is PASS."""
    return Editor(_recorded(folder))


class Editor:
    """Mutable copy of a bundle. Every method returns the editor, so that edits can be chained."""

    def __init__(self, bundle: Bundle) -> None:
        self.sources: dict[str, Any] = copy.deepcopy(dict(bundle.sources))
        self.blobs: dict[str, bytes] = dict(bundle.blobs)
        self.statuses: dict[str, SourceStatus] = dict(bundle.statuses)
        self.policy: dict[str, Any] = copy.deepcopy(dict(bundle.policy))
        self.sign_off: dict[str, Any] = dict(bundle.sign_off)
        self.review_date = bundle.review_date
        self._bundle = bundle

    @property
    def bundle(self) -> Bundle:
        return replace(
            self._bundle,
            sources=self.sources,
            blobs=self.blobs,
            statuses=self.statuses,
            policy=self.policy,
            sign_off=self.sign_off,
            review_date=self.review_date,
        )

    def _store(self, content: bytes) -> str:
        name = blob_name(content)
        self.blobs[name] = content
        return name

    def read(self, path: str, at: str = "head") -> str:
        """Text of a recorded file at one revision."""
        return self.blobs[self.sources[TREES[at]]["files"][path]].decode()

    def write(self, path: str, text: str | bytes, at: tuple[str, ...] = ("head",)) -> Editor:
        """Put a file at these revisions."""
        name = self._store(text if isinstance(text, bytes) else text.encode())
        for revision in at:
            tree = self.sources[TREES[revision]]
            tree["files"][path] = name
            tree["absent"] = [other for other in tree.get("absent", []) if other != path]
        return self

    def replace(self, path: str, old: str, new: str, at: tuple[str, ...] = ("head",), count: int = -1) -> Editor:
        """Replace text in a file at these revisions. Fails where the old text is not there."""
        for revision in at:
            before = self.read(path, revision)
            assert old in before, f"{old!r} is not in {path} at {revision}"
            self.write(path, before.replace(old, new, count), (revision,))
        return self

    def remove(self, path: str, at: tuple[str, ...] = ("head",)) -> Editor:
        """Take a file away: it is then known to be absent."""
        for revision in at:
            tree = self.sources[TREES[revision]]
            tree["files"].pop(path, None)
            tree["absent"] = sorted({*tree.get("absent", []), path})
        return self

    @contextmanager
    def record(self, source: str) -> Iterator[Any]:
        """The source's JSON, to be changed in place."""
        yield self.sources[source]

    def at_head(self, sha: str) -> Editor:
        """Another commit is the head; its files are those of the head's tree."""
        self._bundle = replace(self._bundle, head_sha=sha)
        self.sources["pull_request"]["head_sha"] = sha
        self.sources["tree_head"]["revision"] = sha
        return self

    def set_record(self, source: str, value: Any) -> Editor:
        self.sources[source] = value
        self.statuses[source] = SourceStatus(True)
        return self

    @contextmanager
    def artifact(self, name: str, member: str = "") -> Iterator[Any]:
        """The JSON of an artifact's member (the only one, or the first whose name contains `member`)."""
        found = next(item for item in self.sources["artifacts"] if item["name"] == name)
        key = next(key for key in sorted(found["files"]) if member in key and key.endswith(".json"))
        value = json.loads(self.blobs[found["files"][key]])
        yield value
        found["files"][key] = self._store(json.dumps(value).encode())

    @contextmanager
    def log(self, job: str) -> Iterator[Any]:
        """The log facts of the first job whose name contains `job`."""
        yield next(item for item in self.sources["job_logs"] if job in item["job_name"])

    def each_log(self, change: Callable[[dict[str, Any]], None], job: str = "agentic /") -> Editor:
        """Change the facts of every log whose job name starts with `job`."""
        for item in self.sources["job_logs"]:
            if item["job_name"].startswith(job):
                change(item)
        return self

    @contextmanager
    def outside_text(self, source: str, index: int, path: str) -> Iterator[list[str]]:
        """A one-element list with the text of a file of an outside record (upstream, checkpoints), to be replaced."""
        files = self.sources[source][index]["files"]
        holder = [self.blobs[files[path]].decode()]
        yield holder
        files[path] = self._store(holder[0].encode())

    def drop(self, source: str, reason: str = "HTTP 503 from the host") -> Editor:
        """The source could not be gathered."""
        self.sources.pop(source, None)
        self.statuses[source] = SourceStatus(False, reason)
        return self

    def verdict(self, policy: Policy | None = None, day: date | None = None) -> Verdict:
        return judge(self.bundle, policy=policy, review_date=day)

    def rows(self, policy: Policy | None = None) -> dict[int, tuple[str, str]]:
        """Row number -> (status, reason)."""
        return {row.number: (row.status.value, row.result.reason) for row in self.verdict(policy).rows}


def flipped(before: dict[int, tuple[str, str]], after: dict[int, tuple[str, str]]) -> dict[int, str]:
    """Rows whose status differs: number -> new status."""
    return {number: after[number][0] for number in after if after[number][0] != before[number][0]}
