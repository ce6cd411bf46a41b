"""Purpose: the one status comment: why a pull request waits and what to type next, each line in English and Chinese.

Every sentence is short and ends with the next step. Values come from GitHub or from people, so they go through the
escaper (`code` for names and files, `login` is shown in a code span: nobody is mentioned).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from app.words.denial import DENIALS
from app.words.escape import code
from app.words.help import HELP

TITLE = "**Sweepgate status** · **状态**"
NOTHING = "Nothing is waiting. · 没有待处理事项。"

STATUS: dict[str, tuple[str, str]] = {
    "label-conflict": (
        "{labels} exclude each other; keep exactly one of them.",
        "{labels} 互斥；请只保留其中一个。",
    ),
    "modifier-only": (
        "{labels} starts nothing alone; add exactly one primary sweep label.",
        "{labels} 单独无效；请再添加一个主扫描标签。",
    ),
    "no-changelog": (
        "No sweep can start: the changelog has no new entry; append one.",
        "无法启动扫描：变更日志没有新记录；请追加一条。",
    ),
    "merge-conflict": (
        "No sweep can start: the branch conflicts with {base}; merge it and resolve the conflict.",
        "无法启动扫描：分支与 {base} 冲突；请合并并解决冲突。",
    ),
    "workflow-change": (
        "No sweep can start: {files} changes how sweeps run; land the workflow change first.",
        "无法启动扫描：{files} 改变了扫描流程；请先单独合入该改动。",
    ),
    "skip-sweep": (
        "No sweep: the head commit says `[skip-sweep]`; push a commit without it to sweep.",
        "不启动扫描：最新提交含 `[skip-sweep]`；如需扫描请推送不含该标记的提交。",
    ),
    "draft": (
        "No sweep for a draft here; mark the pull request as ready.",
        "此仓库不对草稿启动扫描；请将拉取请求标为就绪。",
    ),
    "fork-needs-label": (
        "A fork needs a maintainer's label for this commit; remove and re-add {label}.",
        "来自 fork 的提交需要维护者的标签；请移除并重新添加 {label}。",
    ),
    "fork-moved": (
        "The label was given for {sha}, and the head moved; review the new commit, then remove and re-add {label}.",
        "标签对应 {sha}，但分支已更新；请审阅新提交后移除并重新添加 {label}。",
    ),
    "fork-draft": (
        "A fork's draft is not swept; mark the pull request as ready, then remove and re-add the label.",
        "不扫描来自 fork 的草稿；请标为就绪后移除并重新添加标签。",
    ),
    "fork-denied": (
        "{login} may not start sweeps of a fork; ask a maintainer with write access to re-add the label.",
        "{login} 无权为 fork 启动扫描；请由有写权限的维护者重新添加标签。",
    ),
    "fork-permission-unknown": (
        "The permission of {login} is being read; no action is needed.",
        "正在读取 {login} 的权限；无需操作。",
    ),
    "permission-unreadable": (
        "GitHub did not tell the permission of {login}; it is asked again, no action is needed.",
        "GitHub 未返回 {login} 的权限；将自动重试，无需操作。",
    ),
    "reuse-blocks": (
        "No sweep: a reuse is authorised, but {reason_en}",
        "不启动扫描：已授权复用，但{reason_zh}",
    ),
    "reuse-not-covering": (
        "Run {run} does not cover {files}; remove and re-add the label to measure them.",
        "运行 {run} 未覆盖 {files}；如需测量请移除并重新添加标签。",
    ),
    "sweep-not-started": (
        "Run {run} ended ({conclusion}) before anything was measured; read its log, then remove and re-add the label.",
        "运行 {run} 在测量前已结束（{conclusion}）；请查看日志后移除并重新添加标签。",
    ),
    "sign-off-denied": (
        "The sign-off of {login} does not count: it needs write access; ask a CODEOWNER who has it.",
        "{login} 的签署无效：需要写权限；请由有写权限的 CODEOWNER 签署。",
    ),
}


def status(lines: Iterable[Mapping[str, Any]]) -> str:
    """The visible body. Each line is `{"code": ..., <values>}` as the decision gives it."""
    shown = [sentence(line) for line in lines]
    if not shown:
        return f"{TITLE}\n\n{NOTHING}\n"
    return "\n".join((TITLE, "", *shown)) + "\n"


def sentence(line: Mapping[str, Any]) -> str:
    """One line in both languages; a code without words says so rather than fail."""
    if line["code"] == "help":
        return HELP
    english, chinese = both(line)
    who = f"{code(str(line['login']))} `/{line['command']}`: " if line.get("command") else ""
    return f"- {who}{english} · {chinese}"


def both(line: Mapping[str, Any]) -> tuple[str, str]:
    """English and Chinese of a line."""
    values = {name: _shown(value) for name, value in line.items()}
    if line["code"] == "reuse-blocks":
        reason = both({**line, "code": line["reason"]})
        values |= {"reason_en": reason[0][0].lower() + reason[0][1:], "reason_zh": reason[1]}
    told = STATUS.get(line["code"]) or DENIALS.get(line["code"])
    if told is None:
        return f"Internal code {code(str(line['code']))}; report it.", "内部代码；请报告。"
    english, chinese = told
    if line.get("english"):
        values["english"] = str(line["english"])
    return english.format_map(_Lenient(values)), chinese.format_map(_Lenient(values))


class _Lenient(dict[str, str]):
    """A missing value shows as a question mark: a status line must never be the reason why nothing is said."""

    def __missing__(self, key: str) -> str:
        return "?"


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        items = [code(str(item)) for item in value]
        return ", ".join(items[:5]) + (f" (+{len(items) - 5})" if len(items) > 5 else "")
    return str(value) if isinstance(value, int) else code(str(value))
