"""Purpose: the reference pull request read over HTTP: the records that the collector stores, in few requests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic import SecretStr, TypeAdapter

from app.evidence.reads import Reads
from app.facts import records
from app.github.apps import with_token
from app.github.client import GitHub
from app.github.counter import CallCounter
from app.github.evidence import EvidenceReads
from app.github.hosts import Hosts
from app.sandbox import Server, World
from app.sandbox.reference_story import ReferenceStory

R = "SemiAnalysisAI/InferenceX"
RUN = 39404635036
OCTOBER = "inferencex-e2e"


@pytest.fixture(scope="module")
def world() -> World:
    made = World()
    ReferenceStory(made).play()
    made.token("bot-token", "sweepgate[bot]")
    return made


@pytest.fixture(scope="module")
def github(world: World) -> Iterator[GitHub]:
    with Server(world) as server:
        yield with_token(Hosts(**server.addresses()), SecretStr("bot-token"))


@pytest.fixture
def counter() -> CallCounter:
    return CallCounter()


@pytest.fixture
def reads(github: GitHub, counter: CallCounter) -> Reads:
    return EvidenceReads(github.counted(counter))


def fits(kind: type, value: object) -> None:
    TypeAdapter(kind).validate_python(value, strict=False)


def test_the_state_is_one_request_and_fits_the_records(reads: Reads, counter: CallCounter) -> None:
    state = reads.pull_request_state(R, 4343)
    assert counter.requests == 1
    fits(records.PullRequestRecord, state.pull_request)
    fits(tuple[records.CommitRecord, ...], state.commits)
    fits(tuple[records.CommentRecord, ...], state.comments)
    fits(tuple[records.LabelEventRecord, ...], state.labels)
    assert state.october
    assert state.pull_request["head_sha"] == "bdfb83f2e0d95441eebd2b1dfb5928b76d8d0f27"
    assert [each["label"] for each in state.labels] == ["non-canary-full-sweep-enabled"]


def test_every_record_fits_and_all_reads_stay_within_the_budget(reads: Reads, counter: CallCounter) -> None:
    state = reads.pull_request_state(R, 4343)
    head = state.pull_request["head_sha"]
    comparison = reads.compare(R, state.target_sha, head)
    fits(tuple[records.FileRecord, ...], comparison.files)
    fits(tuple[records.ActivityRecord, ...], reads.branch_activity(R, state.pull_request["head_ref"]))
    fits(records.PermissionRecord, reads.permission(R, "nvpohanh"))
    runs = reads.workflow_runs(R, state.pull_request["head_ref"], ".github/workflows/run-sweep.yml", [RUN])
    fits(tuple[records.RunRecord, ...], runs)
    jobs = reads.jobs(R, RUN, 1)
    fits(tuple[records.JobRecord, ...], jobs)
    artifacts = reads.artifacts(R, RUN)
    fits(tuple[records.ArtifactRecord, ...], artifacts)
    logs = reads.run_logs(R, RUN, 1)
    assert {job["name"] for job in jobs if job["runner_name"]} == set(logs)
    wishes = {
        sha: ([f"{OCTOBER}/configs/nvidia-master.yaml"], [f"{OCTOBER}/infx/golden_al_distribution"])
        for sha in (head, comparison.merge_base)
    }
    found = reads.files(
        R, wishes, history=(state.target_sha, f"{OCTOBER}/docs/PR_REVIEW_CHECKLIST.md", "2026-10-21T12:00:00Z")
    )
    assert f"{OCTOBER}/infx/golden_al_distribution/musespark_dflash.yaml" in found.files[head]
    assert found.history_content
    upstream = reads.upstream_pull_request("sgl-project/sglang", 45513)
    assert (upstream.state, upstream.contained, len(upstream.files)) == ("MERGED", True, 1)
    assert counter.requests == 11
    for artifact in artifacts:
        assert reads.artifact_members(R, artifact["id"], artifact["size"])
    assert counter.requests == 11 + len(artifacts)


def test_what_stands_outside_github_is_read_and_not_counted(reads: Reads, counter: CallCounter, world: World) -> None:
    checkpoint = reads.checkpoint("RadixArk/Muse-Spark-Open-DFlash2", "main")
    assert checkpoint.sha.startswith("46c90f41")
    assert "config.json" in checkpoint.files
    assert checkpoint.headers
    for url in world.pages:
        assert reads.page(f"https://{url}")
    assert counter.requests == 0
