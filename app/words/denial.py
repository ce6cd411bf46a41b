"""Purpose: the short answers to malformed and denied commands, English and Chinese; each ends with what to do.

Codes are those of app.commands.PROBLEMS (the English sentence comes along as a value) and of app.decide.
"""

from __future__ import annotations

_OWN = "{english}"

DENIALS: dict[str, tuple[str, str]] = {
    "run-id-missing": (_OWN, "缺少运行 ID；请按英文提示输入。"),
    "run-id-next-line": (_OWN, "运行 ID 须与命令在同一行；请按英文提示输入。"),
    "run-id-invalid": (_OWN, "运行 ID 无效；请按英文提示输入。"),
    "run-id-digits": (_OWN, "运行 ID 只能使用数字 0-9；请按英文提示输入。"),
    "extra-text": (_OWN, "命令后有多余文字；请让命令独占一行。"),
    "check-missing": (_OWN, "缺少检查编号；请按英文提示输入。"),
    "check-invalid": (_OWN, "检查编号无效；请按英文提示输入。"),
    "reason-missing": (_OWN, "缺少理由；请按英文提示输入。"),
    "reason-long": (_OWN, "理由超过 500 个字符；请缩短后重新输入。"),
    "date-invalid": (_OWN, "日期无效；请按英文提示输入。"),
    "direction-marks": (_OWN, "该行含有不可见的方向控制符；请手动输入命令。"),
    "unknown": (_OWN, "没有此命令；请输入 `/sweepgate help`。"),
    "did-you-mean": (_OWN, "没有此命令；请参考英文提示。"),
    "needs-write": (
        "This needs write access; ask a maintainer to type it.",
        "需要写权限；请由维护者输入。",
    ),
    "needs-admin": (
        "This needs admin permission and the admin role; ask a repository admin to type it.",
        "需要管理员权限和管理员角色；请由仓库管理员输入。",
    ),
    "reuse-association": (
        "Only members and collaborators may authorise reuse (association {association}); ask a maintainer to type it.",
        "只有成员和协作者可以授权复用（当前关联 {association}）；请由维护者输入。",
    ),
    "reuse-superseded": (
        "A newer reuse command counts; delete it to make this one count, or type a new one.",
        "已有更新的复用命令生效；请删除较新的命令，或重新输入一条。",
    ),
    "reuse-labels": (
        "{labels} makes results that cannot be compared; remove it first.",
        "{labels} 的结果不可比；请先移除。",
    ),
    "reuse-closed": (
        "The pull request is closed; reopen it and type the command again.",
        "拉取请求已关闭；请重新打开后再输入。",
    ),
    "reuse-fork": (
        "Runs of a fork cannot be reused; re-anchor the change on a branch of this repository.",
        "fork 的运行不可复用；请在本仓库的分支上重新提交。",
    ),
    "reuse-workflow-change": (
        "{files} changes how sweeps run, so its runs are no evidence; land the workflow change first.",
        "{files} 改变了扫描流程，其运行不能作为证据；请先单独合入该改动。",
    ),
    "reuse-no-run": (
        "There is no run {run} in this repository; copy the number from the run's address.",
        "本仓库没有运行 {run}；请从运行地址复制编号。",
    ),
    "reuse-none-found": (
        "No successful run with results was found for the {commits} commits; pin one with `/use <run_id>`.",
        "在 {commits} 个提交中未找到带结果的成功运行；请用 `/use <run_id>` 指定。",
    ),
    "reuse-event": (
        "Run {run} is no sweep of this pull request (event {event}); pin one that its label started.",
        "运行 {run} 不是此拉取请求的扫描（事件 {event}）；请指定由标签启动的运行。",
    ),
    "reuse-path": (
        "Run {run} is of {path}, not of the sweep workflow; pin a sweep run.",
        "运行 {run} 属于 {path}，不是扫描流程；请指定扫描运行。",
    ),
    "reuse-not-completed": (
        "Run {run} is {status}; wait until it has ended, then type the command again.",
        "运行 {run} 状态为 {status}；请等待结束后再输入。",
    ),
    "reuse-conclusion": (
        "Run {run} ended with {conclusion}, expected one of {expected}; pin another run.",
        "运行 {run} 以 {conclusion} 结束，应为 {expected}；请指定其他运行。",
    ),
    "reuse-no-head": (
        "Run {run} does not name its commit; pin another run.",
        "运行 {run} 没有提交信息；请指定其他运行。",
    ),
    "reuse-not-in-commits": (
        "Run {run} measured {sha}, which is no longer a commit of this pull request; sweep again.",
        "运行 {run} 测量的 {sha} 已不在此拉取请求中；请重新扫描。",
    ),
    "reuse-no-artifacts": (
        "Run {run} has no results that are still kept; pin the run that produced them, or sweep again.",
        "运行 {run} 没有仍保留的结果；请指定产生结果的运行，或重新扫描。",
    ),
    "reuse-run-labels": (
        "Run {run} was made under {labels} and cannot be reused; sweep again without it.",
        "运行 {run} 在 {labels} 下产生，不可复用；请移除后重新扫描。",
    ),
    "staging-not-set-up": (
        "Staging is not set up for this repository; open the run's own links instead.",
        "此仓库未配置预发布；请直接打开运行链接。",
    ),
    "staging-edited": (
        "An edited comment does not stage; type the command in a new comment.",
        "编辑过的评论不会触发预发布；请在新评论中输入。",
    ),
    "staging-denied": (
        "Staging needs write access (permission {permission}, role {role}); ask a maintainer to type it.",
        "预发布需要写权限（权限 {permission}，角色 {role}）；请由维护者输入。",
    ),
    "staging-no-label": (
        "Staging needs a full-sweep label on the pull request; add one, then type the command again.",
        "预发布需要全量扫描标签；请添加后再输入。",
    ),
    "staging-none-found": (
        "No run that can be staged was found; name one with `/stage-results <run_id>`.",
        "未找到可预发布的运行；请用 `/stage-results <run_id>` 指定。",
    ),
    "staging-workflow": (
        "Run {run} cannot be staged: it is no sweep of this pull request; name a sweep run.",
        "运行 {run} 不能预发布：不是此拉取请求的扫描；请指定扫描运行。",
    ),
    "staging-not-in-commits": (
        "Run {run} cannot be staged: its commit is not in this pull request; name another run.",
        "运行 {run} 不能预发布：其提交不在此拉取请求中；请指定其他运行。",
    ),
    "staging-label-then": (
        "Run {run} cannot be staged: no full-sweep label was on when it was made; name another run.",
        "运行 {run} 不能预发布：产生时没有全量扫描标签；请指定其他运行。",
    ),
    "staging-state": (
        "Run {run} cannot be staged: it is {status} ({conclusion}); wait until it has ended.",
        "运行 {run} 不能预发布：状态 {status}（{conclusion}）；请等待其结束。",
    ),
    "staging-no-metadata": (
        "Run {run} cannot be staged: it left no changelog-metadata; name another run.",
        "运行 {run} 不能预发布：缺少 changelog-metadata；请指定其他运行。",
    ),
    "retry-none": (
        "There is no run of this head to retry; add a sweep label first.",
        "当前提交没有可重试的运行；请先添加扫描标签。",
    ),
    "retry-running": (
        "Run {run} still runs; wait until it has ended.",
        "运行 {run} 仍在进行；请等待其结束。",
    ),
    "retry-conclusion": (
        "Run {run} ended with {conclusion}; only failed jobs can be retried: remove and re-add the label to run all.",
        "运行 {run} 以 {conclusion} 结束，只能重试失败的任务；如需全部重跑请移除并重新添加标签。",
    ),
    "retry-limit": (
        "This run was already retried {times} times; remove and re-add the label to start a new one.",
        "此运行已重试 {times} 次；请移除并重新添加标签以启动新的运行。",
    ),
    "retry-nothing": (
        "No job of this run failed; there is nothing to run again.",
        "此运行没有失败的任务；无需重试。",
    ),
    "retry-not-retriable": (
        "{job} failed in layer {layer}, which a rerun does not mend. {remedy_en}",
        "{job} 在 {layer} 层失败，重试无法解决。{remedy_zh}",
    ),
    "merge-by-hand": (
        "Merging starts from the command line; run `sweepgate merge` for {pull}.",
        "合并需在命令行启动；请对 {pull} 运行 `sweepgate merge`。",
    ),
    "except-expired": (
        "The exception of check {check} has expired; type it again with a later date.",
        "检查 {check} 的例外已过期；请用更晚的日期重新输入。",
    ),
    "except-other-head": (
        "The exception of check {check} was given for another commit; type it again for this one.",
        "检查 {check} 的例外对应其他提交；请针对当前提交重新输入。",
    ),
}
