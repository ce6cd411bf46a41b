"""Purpose: artifacts, logs, outside hosts and the timeline of the reference story say what the case says."""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
from math import prod

import pytest

from app.facts.cookbook import Snippet
from app.facts.log_facts import extract
from app.facts.overview_page import column_of, table_with, tables
from app.facts.records import JobLogRecord
from app.sandbox.clock import iso
from app.sandbox.reference_parts import checkpoint, names, results, upstream
from app.sandbox.reference_parts.settings import CONCURRENCIES, FA4_POINTS, published
from app.sandbox.reference_story import STEPS, ReferenceStory, eval_job_name, job_name
from app.sandbox.runs import Run
from app.sandbox.world import World
from app.target.flags import canonical


@pytest.fixture(scope="module")
def story() -> ReferenceStory:
    return ReferenceStory(World()).play("agree")


def log_of(run: Run, name: str) -> JobLogRecord:
    job = next(job for job in run.jobs if job.name == name)
    return extract(job.log.decode(), job_id=job.id, run_id=run.id, job_name=name)


def values(settings: dict[str, object]) -> dict[str, str]:
    return {name: getattr(value, "value") for name, value in settings.items()}  # noqa: B009


# logs


@pytest.mark.parametrize("concurrency", CONCURRENCIES)
def test_a_measuring_log_is_complete_and_shows_the_injected_acceptance(story: ReferenceStory, concurrency: int) -> None:
    log = log_of(story.run, job_name(concurrency))
    assert (log.missing, log.problem) == ((), "")
    shown = values(log.env)
    assert shown["SGLANG_SIMULATE_ACC_LEN"] == "4.05"
    assert shown["SGLANG_SIMULATE_ACC_METHOD"] == "match-expected"
    assert shown["SGLANG_SIMULATE_ACC_TOKEN_MODE"] == "real-draft-token"
    assert (shown["CONC"], shown["EVAL_ONLY"]) == (str(concurrency), "false")
    assert values({"c": log.refs["checkout"]}) == {"c": names.HEAD_SHA}
    assert [image.value for image in log.images] == [names.IMAGE]


@pytest.mark.parametrize("concurrency", CONCURRENCIES)
def test_the_server_printed_the_settings_of_its_point(story: ReferenceStory, concurrency: int) -> None:
    printed = values(log_of(story.run, job_name(concurrency)).server_args["agg"])
    args, _ = published(concurrency)
    assert {flag: printed[flag] for flag in args} == {flag: str(value) for flag, value in args.items()}
    assert printed["speculative-draft-quantization-explicitly-set"] == "False"
    assert printed["speculative-draft-kv-cache-dtype"] == "None"
    draft = "fa4" if concurrency in FA4_POINTS else "trtllm_mha"
    assert printed["speculative-draft-attention-backend"] == draft


@pytest.mark.parametrize("concurrency", CONCURRENCIES)
def test_the_draft_loads_without_a_quant_tag_and_keeps_its_cache_type(story: ReferenceStory, concurrency: int) -> None:
    log = log_of(story.run, job_name(concurrency))
    target, draft = (load.value for load in log.loads)
    assert "quant=modelopt_fp4" in target
    assert draft.startswith("role=draft")
    assert "quant=" not in draft
    cache = "torch.bfloat16" if concurrency in FA4_POINTS else "torch.float8_e4m3fn"
    assert [cache.value for cache in log.kv_caches] == [
        "role=target dtype=torch.float8_e4m3fn",
        f"role=draft dtype={cache}",
    ]


@pytest.mark.parametrize("concurrency", [1, 10])
def test_c1_and_c10_made_293_chat_requests_and_no_others(story: ReferenceStory, concurrency: int) -> None:
    requests = log_of(story.run, job_name(concurrency)).requests
    assert requests["POST /v1/chat/completions"] == 293
    assert requests["POST /v1/completions"] == requests["POST /generate"] == 0


def test_the_eval_log_names_no_simulated_acceptance(story: ReferenceStory) -> None:
    log = log_of(story.run, eval_job_name())
    assert (log.missing, log.problem) == ((), "")
    assert not [name for name in log.env if "SIMULATE" in name]
    assert log.env["EVAL_ONLY"].value == "true"


# artifacts


def members(run: Run) -> dict[str, dict[str, bytes]]:
    found = {}
    for artifact in run.artifacts:
        with zipfile.ZipFile(io.BytesIO(artifact.zipped)) as archive:
            found[artifact.name] = {name: archive.read(name) for name in archive.namelist()}
    return found


def test_eleven_rows_carry_the_measured_points(story: ReferenceStory) -> None:
    rows = [
        json.loads(content)
        for name, files in members(story.run).items()
        if name.startswith("bmk_agentic_musespark_tp4_conc")
        for content in files.values()
    ]
    found = {
        row["conc"]: (
            row["request_metrics"]["latency"]["e2el"]["p90"],
            row["request_metrics"]["latency"]["e2el"]["p75"],
            row["request_metrics"]["throughput"]["per_gpu"]["total_tput_tps"],
        )
        for row in rows
    }
    assert found == results.POINTS
    dropped = {row["conc"]: row["request_accounting"]["records_error_dropped"] for row in rows}
    assert {conc: count for conc, count in dropped.items() if count} == {32: 1}
    assert {row["image"] for row in rows} == {names.IMAGE}
    for row in rows:
        accounting = row["request_accounting"]
        assert accounting["records_total"] == accounting["records_profiled"] + accounting["records_dropped_total"]
        assert (row["kv_offload_backend"] is None) == (row["kv_offloading"] == "none") == (row["conc"] == 1)


def test_an_agentic_run_has_raw_twins_and_no_collected_results(story: ReferenceStory) -> None:
    every = members(story.run)
    points = {name.removeprefix("bmk_agentic_") for name in every if name.startswith("bmk_agentic_")}
    raw = {name.removeprefix("agentic_") for name in every if name.startswith("agentic_")}
    assert points == raw
    assert len(points) == 11
    assert not {"results_bmk", "run-stats"} & set(every)
    metadata = json.loads(every["changelog-metadata"]["changelog_metadata.json"])
    assert (metadata["base_ref"], metadata["head_ref"]) == (names.BASE_SHA, names.HEAD_SHA)
    assert metadata["entries"][0]["pr-link"] == "XXX"


def test_the_eval_row_and_its_raw_result_agree(story: ReferenceStory) -> None:
    every = members(story.run)
    (row,) = json.loads(every["eval_results_all"]["agg_eval_all.json"])
    assert (row["task"], row["em_strict"], row["em_strict_se"], row["n_eff"], row["conc"]) == (
        "gsm8k",
        0.9757,
        0.0042,
        1319,
        32,
    )
    raw = json.loads(every[results.eval_artifact()][results.EVAL_FILE])
    assert raw["results"]["gsm8k"]["exact_match,strict-match"] == row["score"]
    assert raw["n-samples"]["gsm8k"]["effective"] == row["n_eff"]
    assert json.loads(every[results.eval_artifact()]["meta_env.json"])["infmax_model_prefix"] == "musespark"


# run and timeline


def test_the_run_has_eleven_agentic_jobs_one_eval_and_only_skipped_other_families(story: ReferenceStory) -> None:
    run = story.run
    assert (run.id, run.attempt, run.event, run.conclusion) == (39404635036, 1, "pull_request", "success")
    executed = [job.name for job in run.jobs if job.runner]
    assert sum(name.startswith("agentic /") for name in executed) == 11
    assert sum(name.startswith("agentic eval /") for name in executed) == 1
    family = re.compile(r"(?:canary|multi-node|single-node|eval) ?")
    assert all(job.conclusion == "skipped" for job in run.jobs if family.match(job.name))
    assert "check-changelog" in executed
    assert all(re.search(r"p\d+\.\d{3} \|", name) for name in executed if name.startswith("agentic"))


def test_the_timeline_runs_forward_to_the_review_date(story: ReferenceStory) -> None:
    pull = story.pull
    said = [comment.created_at for comment in pull.comments]
    merged = story.world.repositories[names.UPSTREAM].pulls[names.UPSTREAM_NUMBER]
    assert merged.merged_at is not None
    moments = [
        story.repository.activity[-1].at,
        pull.created_at,
        pull.events[0].created_at,
        story.run.created_at,
        story.run.updated_at,
        merged.merged_at,
        *said,
    ]
    assert moments == sorted(moments)
    assert iso(merged.merged_at) == "2026-10-21T05:22:39Z"
    assert merged.merge_sha.startswith("1689cb2d")
    assert [comment.body.split("\n")[0] for comment in pull.comments] == [
        "/use 39404635036",
        "As a PR reviewer and CODEOWNER, I have reviewed this and have:",
        "lgtm",
        "/reuse-sweep-run 39404635036",
    ]
    assert iso(said[-1]).startswith("2026-10-21")


def test_every_step_is_told_once_and_in_order(story: ReferenceStory) -> None:
    assert tuple(story.told) == STEPS
    story.play("agree")
    assert tuple(story.told) == STEPS


def test_evidence_ids_do_not_depend_on_what_else_happens_in_the_world() -> None:
    def ids(world: World, disturb: bool) -> list[int]:
        told = ReferenceStory(world).play("open_pull_request")
        if disturb:
            told.pull.comment("someone-else", "an answer in between")
        told.play("agree")
        jobs = [job.id for job in told.run.jobs]
        artifacts = [artifact.id for artifact in told.run.artifacts]
        others = [comment.id for comment in told.pull.comments if comment.author != "someone-else"]
        return [*jobs, *artifacts, *others, told.pull.events[-1].id, told.repository.activity[-1].id]

    assert ids(World(), False) == ids(World(), True)


# outside hosts


def test_the_snippet_cell_resolves_to_each_points_command() -> None:
    cells = Snippet(upstream.snippet(merged=True)).cells_of(names.KEY)
    assert len(cells) == 1
    assert (cells[0].provenance.sha, cells[0].provenance.pull_request) == (names.HEAD_SHA, "4343")
    for concurrency in CONCURRENCIES:
        (point,) = cells[0].for_concurrency(concurrency)
        (block,) = point.blocks
        args = {canonical("sglang", flag): " ".join(words) or "True" for flag, words in block.args.items()}
        expected_args, expected_env = published(concurrency)
        for own in ("model-path", "host", "port"):
            args.pop(own)
        assert args == {flag: str(value) for flag, value in expected_args.items()}
        assert dict(block.env) == expected_env
        assert point.golden_al == "4.05"
    assert cells[0].for_concurrency(12) == ()


def test_before_the_upstream_merge_the_page_still_showed_c12() -> None:
    (cell,) = Snippet(upstream.snippet(merged=False)).cells_of(names.KEY)
    assert cell.for_concurrency(12)
    assert cell.provenance.sha != names.HEAD_SHA


def test_the_overview_page_links_the_cookbook_page_for_sglang() -> None:
    table = table_with(tables(upstream.overview_page().encode()), "SGLang")
    assert table is not None
    assert table.heading == "Framework Recipes"
    cell = table.rows["Muse-Spark-Open"][column_of(table, "SGLang") or ""]
    assert cell.links == (names.COOKBOOK_URL,)


def test_the_draft_is_4887479552_bf16_parameters_and_not_quantized() -> None:
    files = checkpoint.files()
    config = json.loads(files["config.json"])
    assert config["dtype"] == "bfloat16"
    assert "quantization_config" not in config
    index = json.loads(files["model.safetensors.index.json"])
    total = 0
    for shard in set(index["weight_map"].values()):
        content = files[shard]
        (length,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8 : 8 + length])
        header.pop("__metadata__")
        assert {entry["dtype"] for entry in header.values()} == {"BF16"}
        assert {name for name, at in index["weight_map"].items() if at == shard} == set(header)
        total += sum(prod(entry["shape"]) for entry in header.values())
    assert total == 4_887_479_552
    assert index["metadata"]["total_size"] == 2 * total
