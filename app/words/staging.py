"""Purpose: the staging comment in its three states: asked, running, ended; English and Chinese."""

from __future__ import annotations


def staging(*, state: str, requester: str, run_id: int, app_run_url: str = "", chart_url: str = "") -> str:
    """`state`: asked, started, succeeded or failed. The requester is mentioned on purpose: they wait for it."""
    head = f"@{requester} run {run_id} · 运行 {run_id}: "
    if state == "started":
        return (
            f"{head}[staging is running]({app_run_url}); wait for the link here. · "
            "预发布进行中；完成后链接会出现在此处。\n"
        )
    if state == "succeeded":
        return (
            f"{head}[staged]({chart_url}); the link stays, staging the same run again updates it. · "
            "已预发布；链接长期有效，再次预发布同一运行会更新内容。\n"
        )
    if state == "failed":
        return (
            f"{head}staging failed; read [its run]({app_run_url}), then type `/stage-results {run_id}` again. · "
            f"预发布失败；请查看其运行，然后重新输入 `/stage-results {run_id}`。\n"
        )
    return (
        f"{head}staging was asked for; existing staged runs stay, the link will appear here. · "
        "已请求预发布；已有的预发布运行会保留，链接将出现在此处。\n"
    )
