"""Purpose: the frame of the verdict comment: headers, group title, footers. Rows' reasons stand in their checks.

Verdict rows are English only (design.md 8). The layout is that of the incumbent, so that readers and tools which know
it keep working.
"""

from __future__ import annotations

HEADERS = {
    "PASS": "## ✅✅✅ **Verdict: PASS** ✅✅✅",
    "REJECTED": "## ❌❌❌ **REJECTED** ❌❌❌",
    "WARN": "## ⚠️ **Verdict: WARN** ⚠️",
}
SIGNS = {"PASS": "✅", "FAIL": "❌", "N/A": "➖", "WARN": "⚠️"}
PASSED_GROUP = "Passed and not applicable checks"


def row(number: int, name: str, status: str, reason: str) -> str:
    return f"{SIGNS[status]} Check {number} ({name}): {status} — {reason}"


def next_step(step: str) -> str:
    return f"↳ Next: {step}"


def place(where: str, found: str, expected: str) -> str:
    return f"↳ {where}: found {found}; expected {expected}"


def more_findings(count: int) -> str:
    return f"(+{count} more in the check run)"


def blocking(signer: str, numbers: list[int]) -> str:
    """The line that mentions the signer on purpose, on REJECTED only."""
    listed = ", ".join(str(number) for number in numbers)
    subject, verb = ("checks", "block") if len(numbers) > 1 else ("check", "blocks")
    return f"@{signer}: {subject} {listed} {verb} this pull request; each row below ends with its next step."


def escalation(people: tuple[str, ...]) -> str:
    """Check 14 WARN: core maintainers are mentioned on purpose."""
    named = " ".join(f"@{person}" for person in people)
    return f"{named}: the Pareto coverage needs your decision; reply `/except 14 <reason>` or ask for more points."


def excepted(login: str, sha: str) -> str:
    return f"excepted by `@{login}` for `{sha[:7]}`"


LOWERED = "lowered by policy"


def changed_since(text: str) -> str:
    return f"Changed since the last verdict: {text}"


def assessed(sha: str) -> str:
    return f"Assessed commit: `{sha}`."


NO_FINDINGS = "No findings on changed lines."
