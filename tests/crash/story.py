"""Purpose: a story that passes every write method and every commit: a sweep in service mode from label to verdict."""

from __future__ import annotations

from app.sandbox.pull import PullRequest
from app.sandbox.runs import Run
from tests.crash.stage import BOT, CrashStage, wait_for

SIGN_OFF = "As a PR reviewer and CODEOWNER, I have reviewed this and have\n- [x] looked"
JOB = "agentic / p1.000 | one fp4 gb200 sgl TP4 c1"


def propose(stage: CrashStage, number: int) -> PullRequest:
    """A new pull request with a changelog entry."""
    branch = f"branch-{number}"
    entry = f"- config-keys:\n    - one\n- config-keys:\n    - two-{number}\n"
    stage.repository.push(branch, {"perf-changelog.yaml": entry}, "author", f"Change {number}")
    return stage.repository.pull_request(branch, "author", f"Change {number}", "What it does", number=number)


def open_pull(stage: CrashStage, number: int = 7) -> PullRequest:
    """A new pull request; waits for the welcome."""
    pull = propose(stage, number)
    wait_for(lambda: stage.has(number, "sweepgate:welcome"), "the welcome")
    return pull


def sign_off(stage: CrashStage, pull: PullRequest) -> None:
    pull.comment("reviewer", SIGN_OFF)
    wait_for(lambda: stage.has(pull.number, "sweepgate:verdict"), "the verdict")
    _check_run(stage, "Sweepgate verdict", "completed")


def short(stage: CrashStage) -> None:
    """Welcome, sign-off, verdict."""
    sign_off(stage, open_pull(stage))


def whole(stage: CrashStage) -> None:
    """Everything that the service can do to a pull request."""
    pull = open_pull(stage)
    sweep(stage, pull)
    sign_off(stage, pull)
    wait_for(lambda: stage.has(7, "[staged]"), "the staging's end")


def rest(stage: CrashStage) -> None:
    """The whole story for a pull request that has its sign-off already."""
    with stage.world.lock:
        pull = stage.repository.pulls[7]
    sweep(stage, pull)
    wait_for(lambda: stage.has(7, "[staged]"), "the staging's end")


def sweep(stage: CrashStage, pull: PullRequest) -> None:
    """Label, cancel, measure, retry, stage, mend."""
    pull.apply_label("maintainer", "full-sweep-enabled")
    first = _dispatched(stage, 1)
    _check_run(stage, "Sweepgate sweep", "queued")
    pull.remove_label("maintainer", "full-sweep-enabled")
    pull.apply_label("maintainer", "full-sweep-enabled")
    wait_for(lambda: first.status == "completed", "the first run to be cancelled")
    run = _dispatched(stage, 2)
    measured(run, "failure")
    _links_deleted_once(stage, pull)
    _retried(stage, pull, run)
    _staged(stage, pull, run)
    _mended(stage, pull)


def _dispatched(stage: CrashStage, count: int) -> Run:
    def found() -> Run | None:
        with stage.world.lock:
            runs = [run for run in stage.repository.runs if run.event == "workflow_dispatch"]
            return runs[count - 1] if len(runs) >= count else None

    run: Run = wait_for(found, f"dispatch {count}")
    return run


def _check_run(stage: CrashStage, name: str, status: str) -> None:
    def found() -> bool:
        with stage.world.lock:
            return any(one.name == name and one.status == status for one in stage.repository.check_runs)

    wait_for(found, f"the check run {name} to be {status}")


def measured(run: Run, conclusion: str) -> None:
    run.start()
    run.job(JOB, conclusion, log="" if conclusion == "success" else "The runner has received a shutdown signal.\n")
    run.artifact("bmk_agentic_one", {"one.json": "[]"})
    run.artifact("changelog-metadata", {"changelog_metadata.json": "{}"})
    run.finish(conclusion)


def _links_deleted_once(stage: CrashStage, pull: PullRequest) -> None:
    """The links appear; somebody deletes them at once; they appear again."""
    wait_for(lambda: stage.has(7, "sweepgate:results"), "the links")
    with stage.world.lock:
        links = next(one for one in pull.comments if one.author == BOT and "sweepgate:results" in one.body)
    pull.delete_comment(links, "maintainer")
    pull.comment("author", "oh")
    wait_for(lambda: stage.has(7, "sweepgate:results"), "the links again")


def _retried(stage: CrashStage, pull: PullRequest, run: Run) -> None:
    pull.comment("reviewer", "/retry-failed")
    wait_for(lambda: run.attempt == 2, "the second attempt")
    run.start()
    run.job(JOB, "success")
    run.finish("success")
    wait_for(lambda: stage.has(7, "ended with `success`"), "the links of the second attempt")
    wait_for(lambda: _voted(pull, "/retry-failed", "+1"), "the thumb for the retry")


def _staged(stage: CrashStage, pull: PullRequest, run: Run) -> None:
    pull.comment("reviewer", f"/use {run.id}")
    wait_for(lambda: _voted(pull, f"/use {run.id}", "+1"), "the thumb for the reuse")
    wait_for(lambda: stage.has(7, "sweepgate:staging"), "the staging comment")


def _mended(stage: CrashStage, pull: PullRequest) -> None:
    """A mistyped command gets its answer; its writer mends the comment, and the answer goes."""
    comment = pull.comment("reviewer", "/use")
    wait_for(lambda: stage.has(7, "The run ID is missing"), "the answer")
    pull.edit_comment(comment, "never mind", "reviewer")
    wait_for(lambda: not stage.has(7, "The run ID is missing"), "the answer to go")
    wait_for(lambda: not any(one.user == BOT for one in comment.reactions), "the thumb to go")


def _voted(pull: PullRequest, body: str, content: str) -> bool:
    with pull.lock:
        return any(
            one.body == body and any(told.user == BOT and told.content == content for told in one.reactions)
            for one in pull.comments
        )
