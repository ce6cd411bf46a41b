"""Purpose: the words of the check run that tells an invalid policy file, in English and Chinese."""

from __future__ import annotations

from app.words.escape import code

POLICY_CHECK = "Sweepgate policy"


def policy_told(problem: str) -> tuple[str, str]:
    """Title and summary; an empty problem is a policy that is in force."""
    if not problem:
        return "The policy is valid", "No action is needed. · 策略文件有效，无需操作。"
    lines = "\n".join(f"- {code(line)}" for line in problem.splitlines()[:20] if line.strip())
    summary = (
        f"{lines}\n\nThe last valid policy stays in force; correct the file on the default branch.\n\n"
        "上一个有效策略仍然生效；请在默认分支上修正该文件。"
    )
    return "The policy file is not valid", summary
