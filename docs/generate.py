"""Purpose: writes the generated parts of docs/: one page a check, the table of `applies` rules, the JSON Schemas.

Run by `make docs`. tests/docs fails where a file here is missing or stale, so documentation cannot drift.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter

import checks
from app.evidence.bundle import read_bundle
from app.facts import records
from app.verdict.engine import judge
from app.verdict.explain import evidence_lines
from checks.contract import Check

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
TESTS = ROOT / "tests" / "checks"
EXAMPLES = DOCS / "checks" / "examples.json"

SOURCES: dict[str, Any] = {
    "pull_request": records.PullRequestRecord,
    "commits": tuple[records.CommitRecord, ...],
    "changed_files": tuple[records.FileRecord, ...],
    "comments": tuple[records.CommentRecord, ...],
    "permissions": dict[str, records.PermissionRecord | str],
    "teams": dict[str, records.TeamRecord],
    "labels": tuple[records.LabelEventRecord, ...],
    "activity": tuple[records.ActivityRecord, ...],
    "runs": tuple[records.RunRecord, ...],
    "jobs": tuple[records.JobRecord, ...],
    "artifacts": tuple[records.ArtifactRecord, ...],
    "job_logs": tuple[records.JobLogRecord, ...],
    "upstream": tuple[records.UpstreamRecord, ...],
    "checkpoints": tuple[records.CheckpointRecord, ...],
    "overview": records.PageRecord,
    "tree": records.TreeRecord,
}


class BundleIndex(BaseModel):
    """bundle.json"""

    schema_version: int
    repository: str
    pull_request: int
    head_sha: str
    merge_base_sha: str
    target_sha: str
    base_ref: str
    review_date: str
    policy: dict[str, Any]
    sign_off: dict[str, Any]
    sources: dict[str, dict[str, Any]]


def files() -> Iterator[tuple[Path, str]]:
    """Every generated file and its content."""
    for check in checks.all_checks():
        yield DOCS / "checks" / f"{check.number:02}.md", check_page(check)
    yield DOCS / "checks" / "README.md", overview_page()
    yield DOCS / "schemas" / "bundle.schema.json", _schema(BundleIndex.model_json_schema())
    for name, shape in SOURCES.items():
        schema = TypeAdapter(shape).json_schema()
        yield DOCS / "schemas" / f"source-{name}.schema.json", _schema(schema)


def _schema(schema: dict[str, Any]) -> str:
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return json.dumps(whole, indent=1, sort_keys=True) + "\n"


def rules_of(check: Check) -> dict[str, str]:
    """Rule id -> sentence, as the check's module states them."""
    return dict(getattr(sys.modules[check.judge.__module__], "RULES", {}))


def tests_by_rule() -> dict[str, list[str]]:
    """Rule id -> test files that name it in a string."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.glob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        strings = {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        for identifier in {match for text in strings for match in re.findall(r"\b\d{1,3}\.[a-z0-9-]+\b", text)}:
            found.setdefault(identifier, []).append(path.relative_to(ROOT).as_posix())
    return found


def check_page(check: Check) -> str:
    help_, tests = check.help, tests_by_rule()
    lines = [f"# Check {check.number}: {check.name}", "", help_.rule, ""]
    statuses = ", ".join(sorted(status.value for status in check.may))
    lines += [f"May say: {statuses}." + (" Advisory: it warns and never fails." if check.advisory else ""), ""]
    lines += ["Evidence:", "", *(f"- {line}" for line in evidence_lines(check)), ""]
    lines += ["Passes when:", "", *(f"- {line}" for line in help_.passes_when), ""]
    lines += ["Warns when:" if check.advisory else "Fails when:", "", *(f"- {line}" for line in help_.fails_when), ""]
    lines += [f"Fix: {help_.fix}", "", f"Source: {help_.source}.", ""]
    lines += ["On the reference pull request:", "", f"> {_reference_rows()[check.number]}", ""]
    rules = rules_of(check)
    if rules:
        lines += ["Examples are outcomes of the tests, recorded by `make docs` and compared in each run.", ""]
        lines += ["| rule | says | example | tested in |", "|---|---|---|---|"]
        for identifier, sentence in rules.items():
            named = ", ".join(f"`{name}`" for name in tests.get(identifier, [])) or "**no test**"
            lines.append(f"| `{identifier}` | {_cell(sentence)} | {_cell(_example(identifier))} | {named} |")
        lines.append("")
    return "\n".join(lines)


@cache
def _reference_rows() -> dict[int, str]:
    """Number -> status and reason of the recorded reference pull request."""
    verdict = judge(read_bundle(ROOT / "examples" / "pr-4343"))
    return {row.number: f"{row.status.value}: {row.result.reason}" for row in verdict.rows}


@cache
def _examples() -> dict[str, dict[str, str]]:
    return dict(json.loads(EXAMPLES.read_text(encoding="utf-8"))) if EXAMPLES.is_file() else {}


def _example(identifier: str) -> str:
    found = _examples().get(identifier)
    return f"{found['status']}: {found['reason']}" if found else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def overview_page() -> str:
    lines = [
        "# The checks",
        "",
        "One row each in the verdict. `applies` reads the scope alone; an inapplicable row is N/A even with every",
        "outside host down. Without a required fact a row is never PASS or N/A. Numbers never move; checks of others",
        "start at 100.",
        "",
        "| check | name | applies when | may say |",
        "|---|---|---|---|",
    ]
    for check in checks.all_checks():
        statuses = ", ".join(sorted(status.value for status in check.may))
        applies = " ".join((check.applies.__doc__ or "").split()) or "always"
        page = f"[{check.number}]({check.number:02}.md)"
        lines.append(f"| {page} | {check.name} | {applies} | {statuses} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    for path, content in files():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != content:
            path.write_text(content, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
