"""Launches that go wrong: each leaves a job_event.json, a clear line, and no job of the runner."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.launch.conftest import RECIPE, ROW, Lab

EVAL = {**ROW, "eval-only": True, "run-eval": True}


def test_a_launch_that_works_stages_its_row_and_says_each_stage(lab: Lab) -> None:
    code, event, _ = lab.launch()
    assert (code, event["outcome"], event["error"]) == (0, "success", None)
    assert [stage["name"] for stage in event["stages"]] == ["prepare", "submit", "queue_wait", "run", "collect"]
    assert [(lab.out / name).is_file() for name in event["results"]] == [True]
    assert lab.live() == []


def test_the_same_launch_again_submits_nothing(lab: Lab) -> None:
    lab.launch()
    code, _, said = lab.launch()
    assert code == 0
    assert "already finished" in said
    assert lab.calls().count("sbatch") == 1


def test_a_kept_row_is_not_measured_again_by_a_rerun_of_the_run_but_by_a_new_run(lab: Lab) -> None:
    keep = ("--keep", str(lab.folder / "kept"))
    lab.launch(ROW, *keep)
    (lab.out / "job_event.json").unlink()
    assert "already finished" in lab.launch(ROW, *keep, GITHUB_RUN_ATTEMPT="2")[2]
    assert lab.launch(ROW, *keep, GITHUB_RUN_ID="8")[0] == 0
    assert lab.calls().count("sbatch") == 2


def test_an_eval_is_judged_by_the_thresholds(lab: Lab) -> None:
    code, event, _ = lab.launch(EVAL)
    assert (code, event["kind"], event["results"]) == (0, "eval", ["eval/results_2026-10-21T00-00-00.json"])
    code, event, _ = lab.launch(EVAL, CLIENT_MODE="errors", GITHUB_RUN_ID="8")
    assert (code, event["error"]["type"]) == (1, "eval-scores")
    assert (lab.out / "eval" / "meta_env.json").is_file()


def change(path: str, text: str) -> Callable[[Lab], None]:
    def apply(lab: Lab) -> None:
        lab.write(path, text)
        lab.commit()

    return apply


def dirty(lab: Lab) -> None:
    lab.write("stray.txt", "x")


def elsewhere(lab: Lab) -> None:
    lab.sha = "0" * 40


def full(lab: Lab) -> None:
    text = Path(lab.env["SWEEPGATE_LAUNCH_POLICY"])
    text.write_text(text.read_text().replace("least_free_gib: 0", "least_free_gib: 100000000"))


def no_engine(lab: Lab) -> None:
    text = Path(lab.env["SWEEPGATE_LAUNCH_POLICY"])
    text.write_text(text.read_text().replace("  fake:", "  other:"))


def nothing(_lab: Lab) -> None:
    return


def impatient(lab: Lab) -> None:
    lab.policy(wait=0.02, unknown=0.5)


RUNNERS = "inferencex-e2e/configs/runners.yaml"
NO_MODEL = "labels: { 'cluster:lab': [lab_0] }\nclusters: { lab: { gpus-per-node: 1, models: { other: /m } } }\n"


@pytest.mark.parametrize(
    ("prepare", "row", "env", "error", "stage", "said"),
    [
        pytest.param(nothing, "{", {}, "bad-row", "prepare", "not JSON", id="a row that is no JSON"),
        pytest.param(nothing, "[]", {}, "bad-row", "prepare", "a row is an object", id="a row that is a list"),
        pytest.param(nothing, {**ROW, "tpp": 4}, {}, "bad-row", "prepare", "tpp is not a field", id="a misspelt field"),
        pytest.param(
            nothing,
            {k: v for k, v in ROW.items() if k != "model"},
            {},
            "bad-row",
            "prepare",
            "model is missing",
            id="a row without its model",
        ),
        pytest.param(nothing, {**ROW, "conc": 0}, {}, "bad-row", "prepare", "conc is 0", id="a concurrency of zero"),
        pytest.param(
            nothing,
            {**ROW, "conc": 3},
            {},
            "no-variant",
            "prepare",
            "nearest is",
            id="no matching variant names the nearest",
        ),
        pytest.param(
            nothing,
            {**ROW, "conc": 2},
            {},
            "ambiguous-variant",
            "prepare",
            "override_c2_too",
            id="two matching variants are named",
        ),
        pytest.param(
            nothing,
            {**ROW, "srt-recipe": "nope.yaml"},
            {},
            "no-variant",
            "prepare",
            "not in the repository",
            id="a recipe that is not there",
        ),
        pytest.param(change(RECIPE, "base: ["), ROW, {}, "bad-recipe", "prepare", RECIPE, id="a torn recipe"),
        pytest.param(
            change(RUNNERS, NO_MODEL),
            ROW,
            {},
            "unknown-model",
            "prepare",
            "it knows other",
            id="a model without a staged path",
        ),
        pytest.param(
            nothing,
            {**ROW, "runner": "cluster:moon"},
            {},
            "unknown-cluster",
            "prepare",
            "cluster:moon",
            id="a label that nobody lists",
        ),
        pytest.param(
            nothing,
            ROW,
            {"RUNNER_NAME": "moon_0"},
            "unknown-cluster",
            "prepare",
            "moon_0",
            id="a runner of another label",
        ),
        pytest.param(dirty, ROW, {}, "dirty-checkout", "prepare", "stray.txt", id="a checkout with a stray file"),
        pytest.param(
            elsewhere,
            ROW,
            {},
            "wrong-checkout",
            "prepare",
            "planned for 000000000000",
            id="another commit than planned",
        ),
        pytest.param(full, ROW, {}, "disk-full", "prepare", "GiB free", id="a disk without room"),
        pytest.param(
            no_engine,
            ROW,
            {},
            "bad-policy",
            "prepare",
            "no server command",
            id="an engine that the policy does not know",
        ),
        pytest.param(
            nothing,
            {**ROW, "spec-decoding": "mtp"},
            {},
            "no-variant",
            "prepare",
            "does not draft",
            id="a speculative row and a recipe that does not draft",
        ),
        pytest.param(
            nothing, ROW, {"FAKE_MODE": "refuse"}, "slurm-refused", "submit", "invalid partition", id="sbatch refuses"
        ),
        pytest.param(
            nothing, ROW, {"FAKE_MODE": "nameless"}, "no-job-id", "submit", "named no job id", id="sbatch names no job"
        ),
        pytest.param(
            impatient,
            ROW,
            {"FAKE_MODE": "vanish"},
            "job-vanished",
            "queue_wait",
            "has not known job",
            id="the job vanishes",
        ),
        pytest.param(
            impatient,
            ROW,
            {"FAKE_MODE": "pending"},
            "queue-timeout",
            "queue_wait",
            "did not start",
            id="the job never starts",
        ),
        pytest.param(
            impatient,
            ROW,
            {"FAKE_MODE": "silent"},
            "log-missing",
            "run",
            "log did not appear",
            id="the log never appears",
        ),
        pytest.param(
            nothing,
            ROW,
            {"CLIENT_MODE": "silent"},
            "result-missing",
            "collect",
            "left no",
            id="a client without a result",
        ),
        pytest.param(
            nothing, ROW, {"CLIENT_MODE": "errors"}, "error-rate", "collect", "5 of 10", id="too many failed requests"
        ),
        pytest.param(
            nothing,
            ROW,
            {"CLIENT_MODE": "stranger"},
            "result-mismatch",
            "collect",
            "'other'",
            id="a result of another model",
        ),
    ],
)
def test_each_fault_has_its_record_and_leaves_no_job(
    lab: Lab, prepare: Callable[[Lab], None], row: object, env: dict[str, str], error: str, stage: str, said: str
) -> None:
    prepare(lab)
    code, event, complaint = lab.launch(row, **env)
    assert code == 1
    assert (event["error"]["type"], event["error"]["stage"], event["outcome"]) == (error, stage, "failure")
    assert said in complaint
    assert event["error"]["next_step"]
    assert "Traceback" not in complaint
    assert lab.live() == []


def wait_until(ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def events_of(
    lab: Lab, number: signal.Signals, row: object, ready: Callable[[], bool], after: Callable[[], None], **env: str
) -> int:
    process = lab.start(row, **env)
    wait_until(ready)
    process.send_signal(number)
    after()
    process.communicate(timeout=60)
    return process.returncode


@pytest.mark.parametrize(
    ("mode", "stage", "number"),
    [
        pytest.param("slow-submit", "queue_wait", signal.SIGTERM, id="TERM while sbatch works"),
        pytest.param("pending", "queue_wait", signal.SIGINT, id="INT while the job waits"),
        pytest.param("run", "run", signal.SIGHUP, id="HUP while the job runs"),
    ],
)
def test_a_signal_ends_the_job_and_is_recorded(lab: Lab, mode: str, stage: str, number: signal.Signals) -> None:
    fake = lab.folder / "fake"
    ready = {
        "slow-submit": (fake / "submitting").exists,
        "pending": (fake / "jobs" / "1").exists,
        "run": (lab.folder / "work" / "results" / "started").exists,
    }[mode]
    after = (fake / "go").touch if mode == "slow-submit" else lambda: None
    code = events_of(lab, number, ROW, ready, after, FAKE_MODE=mode, CLIENT_MODE="forever")
    event = lab.event()
    assert (code, event["exit_code"], event["outcome"]) == (128 + number, 128 + number, "cancelled")
    assert (event["error"]["type"], event["error"]["stage"]) == ("signal", stage)
    assert "scancel" in lab.calls()
    assert lab.live() == []


def test_a_job_that_does_not_end_is_cancelled(lab: Lab) -> None:
    lab.policy(run=0.03)
    code, event, _ = lab.launch(CLIENT_MODE="forever")
    assert (code, event["error"]["type"]) == (1, "run-timeout")
    assert lab.live() == []


def test_two_jobs_on_one_runner_the_second_is_refused_and_the_first_goes_on(lab: Lab) -> None:
    first = lab.start(CLIENT_MODE="forever")
    wait_until((lab.folder / "work" / "results" / "started").exists)
    other = Lab(lab.folder / "second", lab.sha, lab.env)
    other.folder.mkdir()
    (lab.folder / "checkout").rename(lab.folder / "second" / "checkout")
    code, event, said = other.launch()
    assert (code, event["error"]["type"]) == (1, "runner-busy")
    assert "already works on" in said
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=60)
    assert first.returncode == 143


def test_jobs_that_a_killed_launcher_left_are_ended_by_the_next_launch(lab: Lab) -> None:
    process = lab.start(CLIENT_MODE="forever")
    wait_until((lab.folder / "work" / "results" / "started").exists)
    process.kill()
    process.communicate(timeout=60)
    assert lab.live() == ["1", "RUNNING"]
    assert lab.launch()[0] == 0
    assert "scancel 1" in lab.calls()
    assert lab.live() == []


def test_the_local_way_runs_the_same_script(lab: Lab) -> None:
    lab.policy("local")
    code, event, _ = lab.launch()
    assert (code, event["scheduler"]) == (0, "local")


def test_srtctl_gets_the_runners_job_name_and_the_rows_facts(lab: Lab) -> None:
    lab.policy("srtctl")
    code, event, complaint = lab.launch(VIRTUAL_ENV="/not/for/jobs")
    assert code == 0, complaint
    assert (event["scheduler"], event["job_id"], event["outcome"]) == ("slurm", 1, "success")
    assert "srtctl apply --no-preflight -f" in lab.calls()
    assert "name: test-lab_0" in (lab.folder / "fake" / "recipe.yaml").read_text()


def test_a_folder_of_others_is_never_emptied(lab: Lab) -> None:
    lab.out.mkdir()
    (lab.out / "precious").write_text("x")
    process = lab.start()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "holds files that are not of a launch" in said
    assert (lab.out / "precious").exists()


def test_an_artifact_that_was_not_stored_turns_the_record_into_a_failure(lab: Lab) -> None:
    lab.launch()
    code, event, said = lab.launch(ROW, "--upload-failed", "bmk_agentic_x")
    assert code == 1
    assert event["error"]["type"] == "upload-failed"
    assert "bmk_agentic_x" in said
    assert json.dumps(event)


def test_step_outputs_tell_what_can_be_uploaded(lab: Lab) -> None:
    target = lab.folder / "outputs"
    lab.launch(GITHUB_OUTPUT=str(target))
    assert target.read_text() == "rows=true\nevals=false\n"
