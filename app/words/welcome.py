"""Purpose: the welcome comment, English then Chinese, once a pull request."""

from __future__ import annotations

from collections.abc import Sequence

PHRASE = "As a PR reviewer and CODEOWNER"


def welcome(*, primaries: Sequence[str], modifiers: Sequence[str], checklist: str, docs: str) -> str:
    """`checklist` and `docs` are links to the reviewer's checklist and to the guide."""
    return f"{_english(primaries, modifiers, checklist, docs)}\n\n{_chinese(primaries, modifiers, checklist, docs)}\n"


def _names(labels: Sequence[str]) -> str:
    return ", ".join(f"`{label}`" for label in labels)


def _english(primaries: Sequence[str], modifiers: Sequence[str], checklist: str, docs: str) -> str:
    return "\n".join(
        (
            "Thank you for the pull request. To get it merged:",
            "",
            "1. **Sweep.** Append one entry to the changelog, then ask for exactly one of the labels "
            f"{_names(primaries)}. {_names(modifiers)} only change what that sweep runs. "
            "For a fork, a maintainer sets the label.",
            f"2. **Sign-off.** Ask one listed CODEOWNER of the changed files to fill in [the checklist]({checklist}) "
            f"in a comment that begins with `{PHRASE}`. The verdict follows within seconds.",
            "3. **Reuse.** When a sweep is good, a maintainer types `/use <run_id>`; later pushes start no new sweep.",
            "",
            f"You own the result after the merge. `/sweepgate help` lists the commands, [the guide]({docs}) the rest.",
        )
    )


def _chinese(primaries: Sequence[str], modifiers: Sequence[str], checklist: str, docs: str) -> str:
    return "\n".join(
        (
            "感谢您的贡献。合并前请完成：",
            "",
            f"1. **扫描测试。** 在变更日志末尾追加一条记录，然后请求且仅请求以下标签之一：{_names(primaries)}。"
            f"{_names(modifiers)} 只改变该次扫描的内容。来自 fork 的拉取请求由维护者添加标签。",
            f"2. **审核签署。** 请一位列在 CODEOWNERS 中的负责人填写[检查清单]({checklist})，"
            f"评论须以 `{PHRASE}` 开头。数秒后会给出结论。",
            "3. **复用结果。** 扫描合格后，维护者输入 `/use <run_id>`；之后的推送不会再启动扫描。",
            "",
            f"合并后的结果由作者负责。输入 `/sweepgate help` 查看命令；其余见[指南]({docs})。",
        )
    )
