"""Purpose: a check's help as text, for `sweepgate explain N`, the page and docs/checks."""

from __future__ import annotations

import checks
from checks.contract import AnyOf, Check, Optional


def explain_text(number: int) -> str | None:
    """Plain text of one check's help; None where there is no such check."""
    check = next((check for check in checks.all_checks() if check.number == number), None)
    return None if check is None else "\n".join(_lines(check)) + "\n"


def _lines(check: Check) -> list[str]:
    statuses = " / ".join(sorted(status.value for status in check.may))
    lines = [f"Check {check.number}: {check.name}", "", check.help.rule, "", f"May say: {statuses}"]
    if check.advisory:
        lines.append("Advisory: it warns and never fails.")
    lines += ["", "Passes when:", *(f"  - {line}" for line in check.help.passes_when)]
    lines += [
        "",
        "Warns when:" if check.advisory else "Fails when:",
        *(f"  - {line}" for line in check.help.fails_when),
    ]
    lines += ["", "Evidence:", *(f"  - {line}" for line in evidence_lines(check))]
    return [*lines, "", f"Fix: {check.help.fix}", f"Source: {check.help.source}"]


def evidence_lines(check: Check) -> list[str]:
    """One line a need, in words."""
    lines = []
    for need in check.needs:
        if isinstance(need, AnyOf):
            lines.append("one of: " + ", ".join(kind.title for kind in need.facts))
        else:
            suffix = " (if there)" if isinstance(need, Optional) else ""
            lines.append(f"{need.fact.title}{suffix}")
    return lines
