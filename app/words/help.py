"""Purpose: the answer to `/sweepgate help`: every command in one table, English and Chinese."""

from __future__ import annotations

COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("/use <run_id>", "reuse that run; as a whole comment also stage it", "复用该运行；独占整条评论时同时预发布"),
    ("/reuse-sweep-run [run_id]", "reuse a run, without ID the newest good one", "复用运行；省略 ID 时取最新成功运行"),
    ("/stage-results [run_id]", "show a run on the staging site", "在预发布站点展示运行"),
    ("/verify", "verify again now", "立即重新验证"),
    (
        "/except <check> <reason> [until YYYY-MM-DD]",
        "except one check for this commit (admins)",
        "为当前提交豁免一项检查（管理员）",
    ),
    ("/retry-failed", "run the failed jobs of this head again", "重试当前提交失败的任务"),
    ("/merge", "how to merge by reuse", "如何通过复用合并"),
    ("/sweepgate help", "this table", "本表"),
)

HELP = "\n".join(
    (
        "",
        "| Command · 命令 | Effect | 作用 |",
        "|---|---|---|",
        *(f"| `{command}` | {english} | {chinese} |" for command, english, chinese in COMMANDS),
        "",
        "A command stands alone on its line of a comment or a review; write it without quotes. · "
        "命令须在评论或审阅中独占一行，不加引号。",
    )
)
