"""Purpose: one verdict as Markdown (the comment), text (a terminal) and JSON (docs/schemas/verdict.schema.json).

Invariants: every text that comes from a pull request passes `app.words.escape`. Nobody is mentioned but the signer on
REJECTED and the core maintainers named by policy on a Pareto WARN. The same verdict gives the same bytes.
"""

from __future__ import annotations

import json
from typing import Any

from app.target.source import FileLine
from app.verdict.engine import Verdict, VerdictRow
from app.words import escape
from app.words import verdict as words
from checks.contract import Body, Comment, Finding, Job, LogSpan, Page, Row, Status, Where

REASON_LIMIT = 320
STEP_LIMIT = 240


def where_text(where: Where) -> str:
    """A place in a few words."""
    match where:
        case FileLine():
            return str(where)
        case Job():
            return f"job {where.job} of run {where.run}"
        case Row():
            return f"{where.artifact}, row {where.key}"
        case LogSpan():
            return f"log of {where.job}, line {where.line}"
        case Comment():
            return f"comment {where.id}, line {where.line}"
        case Page():
            return f"{where.url} {where.anchor}".strip()
        case Body():
            return f"description, line {where.line}"


def where_json(where: Where) -> dict[str, Any]:
    """A place as `{kind, ...}`."""
    match where:
        case FileLine():
            return {"kind": "file", "path": where.path, "line": where.line, "column": where.column, "sha": where.sha}
        case Job():
            return {"kind": "job", "run": where.run, "job": where.job}
        case Row():
            return {"kind": "row", "artifact": where.artifact, "key": where.key}
        case LogSpan():
            return {"kind": "log", "job": where.job, "line": where.line}
        case Comment():
            return {"kind": "comment", "id": where.id, "line": where.line}
        case Page():
            return {"kind": "page", "url": where.url, "anchor": where.anchor}
        case Body():
            return {"kind": "body", "line": where.line}


def to_json(verdict: Verdict) -> dict[str, Any]:
    """The stable JSON form of design.md 12."""
    return {
        "schema_version": 1,
        "header": verdict.header,
        "repository": verdict.repository,
        "pull_request": verdict.number,
        "assessed_commit": verdict.assessed_commit,
        "bundle_digest": verdict.bundle_digest,
        "policy_digest": verdict.policy_digest,
        "policy_source": verdict.policy_source,
        "review_date": verdict.review_date,
        "checks": [_row_json(row) for row in verdict.rows],
    }


def json_text(verdict: Verdict) -> str:
    """UTF-8 text; half characters from somebody's file become "?"."""
    told = json.dumps(to_json(verdict), ensure_ascii=False, indent=1) + "\n"
    return told.encode("utf-8", "replace").decode()


def _row_json(row: VerdictRow) -> dict[str, Any]:
    return {
        "number": row.number,
        "name": row.name,
        "status": row.status.value,
        "reason": row.result.reason,
        "findings": [
            {
                "where": where_json(finding.where),
                "found": finding.found,
                "expected": finding.expected,
                "next_step": finding.next_step,
            }
            for finding in row.result.findings
        ],
        "unverified": [{"source": gone.source, "reason": gone.reason} for gone in row.result.unverified],
        "lowered_by_policy": row.lowered,
        "excepted_by": row.excepted_by or None,
    }


def markdown(verdict: Verdict, *, signer: str = "", escalate_to: tuple[str, ...] = (), changed: str = "") -> str:
    """The comment's visible text, without its hidden marker."""
    open_rows = [row for row in verdict.rows if row.status in (Status.FAIL, Status.WARN)]
    open_rows.sort(key=lambda row: (row.status is not Status.FAIL, row.number))
    quiet_rows = [row for row in verdict.rows if row.status in (Status.PASS, Status.NA)]
    blocks = [words.HEADERS[verdict.header]]
    if escalate_to and any(row.number == 14 and row.status is Status.WARN for row in verdict.rows):
        blocks.append(words.escalation(escalate_to))
    blocking = [row.number for row in verdict.rows if row.status is Status.FAIL and not row.excepted_by]
    if verdict.header == "REJECTED" and signer:
        blocks.append(words.blocking(signer, blocking))
    blocks.extend(_open_row(row, verdict) for row in open_rows)
    if quiet_rows:
        lines = "\n".join(f"- {_row_line(row, verdict)}" for row in quiet_rows)
        blocks.append(f"<details>\n<summary>{words.PASSED_GROUP}</summary>\n\n{lines}\n\n</details>")
    if changed:
        blocks.append(words.changed_since(escape.inline(changed, 600)))
    blocks.append(words.assessed(verdict.assessed_commit))
    return "\n\n".join(blocks) + "\n"


def _row_line(row: VerdictRow, verdict: Verdict) -> str:
    reason = escape.inline(row.result.reason, REASON_LIMIT)
    if row.excepted_by:
        reason += f" ({words.excepted(row.excepted_by, verdict.assessed_commit)})"
    if row.lowered:
        reason += f" ({words.LOWERED})"
    return words.row(row.number, row.name, row.status.value, reason)


def _open_row(row: VerdictRow, verdict: Verdict) -> str:
    lines = [_row_line(row, verdict)]
    findings = row.result.findings
    if findings:
        lines.append(_finding_line(findings[0], len(findings) - 1))
        lines.append(words.next_step(escape.inline(findings[0].next_step, STEP_LIMIT)))
    elif row.result.unverified:
        lines.append(words.next_step(escape.inline(unverified_step(row), STEP_LIMIT)))
    return "  \n".join(lines)


def _finding_line(finding: Finding, more: int) -> str:
    place = escape.code(where_text(finding.where))
    line = words.place(place, escape.inline(finding.found, 160), escape.inline(finding.expected, 160))
    return f"{line} {words.more_findings(more)}" if more else line


def unverified_step(row: VerdictRow) -> str:
    """What to do about a row that could not be verified: the check's own fix."""
    import checks

    fix = next((check.help.fix for check in checks.all_checks() if check.number == row.number), "")
    return f"make {row.result.unverified[0].source} available, then comment /verify. {fix}".strip()


def text(verdict: Verdict) -> str:
    """Plain text for a terminal: one line a row, findings indented."""
    lines = [f"{verdict.header}  {verdict.repository}#{verdict.number}  {verdict.assessed_commit}", ""]
    for row in verdict.rows:
        excepted = f" (excepted by {row.excepted_by})" if row.excepted_by else ""
        lowered = f" ({words.LOWERED})" if row.lowered else ""
        lines.append(f"{row.number:>3}  {row.status.value:<4}  {row.name}: {row.result.reason}{excepted}{lowered}")
        if row.status in (Status.FAIL, Status.WARN):
            lines.extend(
                f"           {where_text(f.where)}: found {f.found}; expected {f.expected}. {f.next_step}"
                for f in row.result.findings
            )
    lines += [
        "",
        f"review date {verdict.review_date}",
        f"bundle_digest {verdict.bundle_digest}",
        f"policy_digest {verdict.policy_digest}",
        f"policy_source: {verdict.policy_source}",
    ]
    return "\n".join(plain_line(line) for line in lines) + "\n"


def plain_line(line: str) -> str:
    """Text for a terminal: no control characters from somebody else's text."""
    return "".join(char for char in line if char == "\t" or char.isprintable())
