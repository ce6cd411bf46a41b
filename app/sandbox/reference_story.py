"""Purpose: the reference pull request as a story that fills the stand-in's world step by step.

    world = World()
    story = ReferenceStory(world)
    story.prepare()              # repository, people, upstream, checkpoint host, pages
    story.open_pull_request()    # ... and so on along `STEPS`
    story.play()                 # everything up to the signed checklist

Each step happens once, in the order of `STEPS`, at its own moment of 20 and 21 October 2026 where the world's clock is
cranked by hand. Texts, files, numbers, logs and every id that evidence names are fixed, so that what others do in the
same world in between (a service that comments) does not change the story's evidence.

Invariant: a step changes nothing but what people and the workflow do at that point; what the bot answers is the
service's own.
"""

from __future__ import annotations

from collections.abc import Callable

from app.sandbox.clock import HandClock, iso, moment
from app.sandbox.model import Comment
from app.sandbox.pull import PullRequest
from app.sandbox.reference_parts import checkpoint, logs, names, results, upstream
from app.sandbox.reference_parts.settings import CONCURRENCIES, offloading
from app.sandbox.reference_parts.tree import files, text
from app.sandbox.repository import Repository
from app.sandbox.runs import Run
from app.sandbox.world import World

GATES = ("check-changelog", "setup")
SKIPPED = (
    "reuse-sweep-gate",
    "canary-select",
    "canary /",
    "multi-node canary /",
    "single-node 1k1k /",
    "single-node 8k1k /",
    "multi-node 1k1k /",
    "multi-node 8k1k /",
    "multi-node agentic /",
    "eval /",
    "multi-node eval /",
    "multi-node agentic eval /",
    "collect-results / collect-results",
    "compare-results",
    "calc-success-rate",
)
COLLECTORS = ("upload-changelog-metadata", "collect-evals / collect-evals", "comment-unofficial-run-visualizer")
HOSTED = "GitHub Actions 12"
PRIORITY = "p4.750"
RUNNERS = {
    concurrency: f"gb200-nv_{number:02d}"
    for number, concurrency in zip((0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11), CONCURRENCIES, strict=True)
}
EVAL_JOB_ID = names.FIRST_JOB_ID + len(CONCURRENCIES)
STEPS_OF_A_MEASUREMENT = (
    "Set up job",
    "Checkout",
    "Checkout tooling",
    "Launch",
    "Upload results",
    "Complete job",
)


def job_name(concurrency: int) -> str:
    """Check-run name of a measuring job."""
    offload = "" if offloading(concurrency) == "none" else " dram KV offload hicache"
    return f"agentic / {_callee()}{offload} c{concurrency}"


def eval_job_name() -> str:
    return f"agentic eval / {_callee()} dram KV offload hicache c{results.EVAL_CONCURRENCY} | eval-only"


def _callee() -> str:
    return f"{PRIORITY} | musespark fp4 cluster:gb200-nv sgl TP4/EP4 mtp"


class ReferenceStory:
    """The story in one world. `pull` and `run` are there once their steps were told."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.told: list[str] = []
        self.repository: Repository
        self.pull: PullRequest
        self.run: Run
        self.sign_off_comment: Comment

    # before --------------------------------------------------------------------------------------------------------

    def prepare(self) -> Repository:
        """Repository with its people, the upstream repository, the checkpoint host and the pages."""
        self._at(names.STARTED)
        world = self.world
        for login, number in names.USER_IDS.items():
            world.user(login, number)
        world.team(names.CORE_TEAM, (names.MAINTAINER,))
        repo = world.repository(names.REPOSITORY, files("base"), sha=names.BASE_SHA)
        repo.collaborator(names.SIGNER, "write", "write", "COLLABORATOR")
        repo.collaborator(names.MAINTAINER, "admin", "admin", "MEMBER")
        repo.collaborator(names.AUTHOR, "read", "read", "CONTRIBUTOR")
        for label in (names.LABEL, "full-sweep-enabled", "full-sweep-fail-fast", "all-evals", "evals-only"):
            repo.label(label)
        repo.label("agentx-fast")
        self.repository = repo
        self._prepare_hosts()
        self.told.append("prepare")
        return repo

    def _prepare_hosts(self) -> None:
        world = self.world
        world.repository(names.UPSTREAM, upstream.upstream_files(merged=False), sha=names.UPSTREAM_BASE_SHA)
        world.checkpoint(names.DRAFT, names.DRAFT_SHA, checkpoint.files(), info=checkpoint.description())
        world.page(names.COOKBOOK_URL, upstream.cookbook_page())
        world.page(names.OVERVIEW_URL, upstream.overview_page(), "text/markdown; charset=utf-8")
        world.page(f"{names.OVERVIEW_URL}.md", upstream.overview_page(), "text/markdown; charset=utf-8")

    # the pull request ----------------------------------------------------------------------------------------------

    def open_pull_request(self) -> PullRequest:
        """The author pushes the one commit and opens the pull request."""
        self._at(names.PUSHED)
        with self.world.lock:
            self.repository.push(names.BRANCH, files("head"), names.AUTHOR, names.TITLE, names.HEAD_SHA)
            self.repository.activity[-1].id = names.PUSH_ACTIVITY_ID
        self._at(names.OPENED)
        self.pull = self.repository.pull_request(
            names.BRANCH, names.AUTHOR, names.TITLE, text("pull_request.md"), names.NUMBER
        )
        self.told.append("open_pull_request")
        return self.pull

    def apply_label(self) -> None:
        """A maintainer applies the primary sweep label."""
        self._at(names.LABELED)
        with self.world.lock:
            self.pull.apply_label(names.MAINTAINER, names.LABEL)
            self.pull.events[-1].id = names.LABEL_EVENT_ID
        self.told.append("apply_label")

    def start_run(self) -> Run:
        """The label starts the sweep."""
        self._at(names.RUN_STARTED)
        self.run = self.repository.start_run(
            names.WORKFLOW,
            "pull_request",
            names.MAINTAINER,
            names.HEAD_SHA,
            names.BRANCH,
            f"Run Sweep - {names.TITLE}",
            names.RUN_ID,
        ).start()
        self.told.append("start_run")
        return self.run

    def finish_run(self) -> Run:
        """Every job has run, every artifact is there, the run is green."""
        run = self.run
        for number, name in enumerate((*GATES, *SKIPPED)):
            conclusion = "success" if name in GATES else "skipped"
            run.job(name, conclusion, runner=HOSTED, id=names.FIRST_OTHER_JOB_ID + number)
        for number, concurrency in enumerate(CONCURRENCIES):
            self._measure(number, concurrency)
        self._evaluate()
        for number, name in enumerate(COLLECTORS, EVAL_JOB_ID + 1):
            run.job(name, runner=HOSTED, id=number)
        for number, (name, members) in enumerate(results.artifacts(RUNNERS).items()):
            run.artifact(name, dict(members), id=names.FIRST_ARTIFACT_ID + number)
        self._at(names.RUN_FINISHED)
        run.finish("success")
        self.told.append("finish_run")
        return run

    def _measure(self, number: int, concurrency: int) -> None:
        started = iso(moment(names.RUN_STARTED) + 600 + 1_800 * (number // 4))
        self._at(started)
        self.run.job(
            job_name(concurrency),
            log=logs.agentic_log(concurrency, RUNNERS[concurrency], started),
            runner=RUNNERS[concurrency],
            steps=STEPS_OF_A_MEASUREMENT,
            labels=("self-hosted", "cluster:gb200-nv"),
            id=names.FIRST_JOB_ID + number,
        )

    def _evaluate(self) -> None:
        started = iso(moment(names.RUN_FINISHED) - 5_400)
        self._at(started)
        self.run.job(
            eval_job_name(),
            log=logs.eval_log(results.EVAL_CONCURRENCY, results.EVAL_RUNNER, started),
            runner=results.EVAL_RUNNER,
            steps=STEPS_OF_A_MEASUREMENT,
            labels=("self-hosted", "cluster:gb200-nv"),
            id=EVAL_JOB_ID,
        )

    def merge_upstream(self) -> PullRequest:
        """The upstream recipe is opened and merged."""
        self._at(names.UPSTREAM_OPENED)
        repo = self.world.repositories[names.UPSTREAM]
        branch = "muse-spark-open-gb200"
        changes = {names.SNIPPET: upstream.snippet(merged=True)}
        title = "[Docs] Muse Spark Open GB200 AgentX commands for low concurrency"
        repo.push(branch, changes, names.AUTHOR, title, names.UPSTREAM_HEAD_SHA)
        pull = repo.pull_request(branch, names.AUTHOR, title, "Commands of each concurrency.", names.UPSTREAM_NUMBER)
        self._at(names.UPSTREAM_MERGED)
        pull.merge(names.UPSTREAM_MAINTAINER, sha=names.UPSTREAM_MERGE_SHA)
        self.told.append("merge_upstream")
        return pull

    # what people say -----------------------------------------------------------------------------------------------

    def use(self) -> Comment:
        """The signer pins the run."""
        self._at(names.USED)
        self.told.append("use")
        return self.pull.comment(names.SIGNER, f"/use {names.RUN_ID}", id=names.USE_ID)

    def sign_off(self) -> Comment:
        """The signer posts the filled-in checklist."""
        self._at(names.SIGNED)
        self.sign_off_comment = self.pull.comment(names.SIGNER, text("sign_off.md"), id=names.SIGN_OFF_ID)
        self.told.append("sign_off")
        return self.sign_off_comment

    def agree(self) -> None:
        """The core maintainer says so and pins the run for the merge."""
        self._at(names.AGREED)
        self.pull.comment(names.MAINTAINER, "lgtm", id=names.AGREE_ID)
        self._at(names.REUSED)
        self.pull.comment(names.MAINTAINER, f"/reuse-sweep-run {names.RUN_ID}", id=names.REUSE_ID)
        self.told.append("agree")

    def play(self, until: str = "sign_off") -> ReferenceStory:
        """Tell every step that was not told yet, up to and including `until`."""
        for name in STEPS[: STEPS.index(until) + 1]:
            if name not in self.told:
                step: Callable[[], object] = getattr(self, name)
                step()
        return self

    def _at(self, time: str) -> None:
        """Let the next change happen at this moment, where the world's clock is cranked by hand."""
        clock = self.world.clock
        if isinstance(clock, HandClock):
            clock.set(iso(moment(time) - clock.step))


STEPS = (
    "prepare",
    "open_pull_request",
    "apply_label",
    "start_run",
    "finish_run",
    "merge_upstream",
    "use",
    "sign_off",
    "agree",
)
