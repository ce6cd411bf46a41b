"""Purpose: places in the target repository's files, and the one shape in which a rejected input is told to its author.

Invariants: lines and columns count from 1; a column of 0 means "the whole line". Nothing here does I/O.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, order=True)
class FileLine:
    """One place in a repository file. `sha` is the commit it was read at ("" for a plain directory)."""

    path: str
    line: int = 1
    column: int = 0
    sha: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}" if self.column else f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason why an input is rejected: where, what stands there, the rule it breaks, and the next step.

    `severity` orders problems, worst first: 0 unreadable file, 1 broken structure, 2 broken rule, 3 advice.
    """

    where: FileLine
    rule: str
    found: str
    fix: str
    severity: int = 2

    def __str__(self) -> str:
        return f"{self.where}: {self.rule} Found: {self.found}. {self.fix}"


@dataclass
class RejectedInput(Exception):  # noqa: N818  (it names the input, not a fault of ours)
    """Raised by readers and the planner with every problem found (worst first, at most 20 shown, then a count)."""

    problems: list[Problem] = field(default_factory=list)

    SHOWN = 20

    def __post_init__(self) -> None:
        self.problems = sorted(self.problems, key=lambda p: (p.severity, p.where))
        super().__init__(str(self))

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems[: self.SHOWN]]
        if len(self.problems) > self.SHOWN:
            lines.append(f"... and {len(self.problems) - self.SHOWN} more")
        return "\n".join(lines)


def reject(where: FileLine, rule: str, found: object, fix: str, severity: int = 2) -> RejectedInput:
    """A rejection with one problem. `found` is shown shortened to 120 characters."""
    shown = str(found)
    return RejectedInput([Problem(where, rule, shown if len(shown) <= 120 else shown[:117] + "...", fix, severity)])
