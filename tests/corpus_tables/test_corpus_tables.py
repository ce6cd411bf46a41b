"""Purpose: the corpus tables: every recipe is judged, nothing missing passes, eval recipes count with their rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from app.target.tree import Layout, Tree
from tests import corpus, corpus_acceptance, corpus_rows
from tests.corpus_points import CORPUS, Submission, submissions, unnamed

FOLDER = "benchmarks/multi_node/srt-slurm-recipes/sglang/glm5.2/gb200-fp4/agentic/"
RECIPE = f"{FOLDER}agg-mtp.yaml"
EVAL = f"{FOLDER}agg-mtp-eval.yaml"
ROOT = "benchmarks/multi_node/srt-slurm-recipes/"
NAMED = (
    f"CONFIG_FILE=recipes/{RECIPE.removeprefix(ROOT)}",
    f"EVAL_CONFIG_FILE=recipes/{EVAL.removeprefix(ROOT)}",
)
PINNED = "    SGLANG_SIMULATE_ACC_LEN: '2.99'\n"
TEXT = f"""\
name: agg-mtp
model:
  path: glm5.2
  container: dynamo-sglang
  precision: fp4
resources:
  gpu_type: gb200
  gpus_per_node: 4
  agg_nodes: 2
  agg_workers: 1
backend:
  type: sglang
  aggregated_environment:
{PINNED}\
  sglang_config:
    aggregated:
      tensor-parallel-size: 8
      speculative-algorithm: EAGLE
      speculative-num-steps: 3
frontend:
  type: dynamo
benchmark:
  type: custom
"""
CURVE = b"glm-5.2:\n  thinking_on: {1: 1.8, 2: 2.5, 3: 2.99}\n"


def tree(**more: Any) -> Tree:
    files = {RECIPE: TEXT.encode(), "golden_al_distribution/glm5.2_mtp.yaml": CURVE, **more}
    return Tree("", files, complete=True, forced_layout=Layout.AUGUST)


def judged(at: Tree, settings: tuple[str, ...] = ()) -> dict[int, tuple[str, str]]:
    """Check number -> (status, reason) of the recipe, its made point's row with these additional settings."""
    (point,) = unnamed(at, RECIPE, {"glm5.2"}).points
    row = {**point.row, "prefill": {"additional-settings": list(settings)}}
    one = Submission(RECIPE, (replace(point, row=row),), False)
    rows = corpus_rows.judged(at, [one], date(2026, 8, 22))
    return {row.number: (row.status, row.reason) for row in rows}


@pytest.mark.parametrize(
    ("settings", "files", "status", "reason"),
    [
        pytest.param((), {}, "PASS", "glm5.2_mtp thinking_on/3 = 2.99", id="a pinned recipe passes"),
        pytest.param(
            NAMED,
            {EVAL: TEXT.replace(PINNED, "").replace("aggregated_environment:", "aggregated_environment: {}").encode()},
            "PASS",
            "glm5.2_mtp thinking_on/3 = 2.99",
            id="an unpinned eval recipe passes",
        ),
        pytest.param(
            NAMED,
            {EVAL: TEXT.encode()},
            "FAIL",
            "the eval recipe of agg-mtp:base pins SGLANG_SIMULATE_ACC_LEN=2.99",
            id="a pinned eval recipe fails",
        ),
        pytest.param(
            NAMED,
            {},
            "COULD NOT",
            "agg-mtp-eval.yaml is not in the repository: it comes from outside",
            id="an eval recipe that comes from outside the repository could not be verified",
        ),
    ],
)
def test_acceptance_of_a_recipe(settings: tuple[str, ...], files: dict[str, bytes], status: str, reason: str) -> None:
    found = judged(tree(**files), settings)[11]
    assert found[0] == status, found
    assert reason in found[1], found


def test_missing_logs_and_checkpoints_never_pass() -> None:
    assert judged(tree())[13][0] == corpus_rows.UNVERIFIED


def test_an_eval_recipe_that_was_not_gathered_could_not_be_verified() -> None:
    whole = tree()
    part = Tree("", whole.files, complete=False, forced_layout=Layout.AUGUST)
    status, reason = judged(part, NAMED)[11]
    assert status == corpus_rows.UNVERIFIED
    assert "was not read" in reason


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the folder ../shared/inferencex is not next to the repository")
class TestSharedCorpus:
    """Counts that hold for the shared corpus."""

    def test_every_recipe_file_is_judged(self) -> None:
        august, october = corpus.trees("", "")
        assert len(submissions(august)) == 376
        assert len(submissions(october)) == 9

    def test_every_acceptance_row_resolves_or_says_one_reason(self) -> None:
        rows = corpus_acceptance.master_table(corpus.trees("", "")[0])
        assert len(rows) == 195
        assert all(row.curve or row.reason for row in rows)
        assert {row.outcome for row in rows} == {"equal", "differs", "not resolved"}
        differs = {row.row.partition(" ")[0] for row in rows if row.outcome == "differs"}
        assert differs == {
            "dsv4-fp4-gb200-dynamo-vllm-agentic-mtp-agg",
            "dsv4-fp4-gb200-dynamo-vllm-agentic-mtp-disagg",
        }

    def test_the_banned_variable_is_found_in_every_drafting_recipe_that_sets_it(self) -> None:
        august = corpus.trees("", "")[0]
        outcomes = corpus_rows.judged(august, submissions(august), corpus.DAY)
        failing = {one.path for one in outcomes if one.number == 13 and one.status == "FAIL"}
        name = b"SGLANG_NVFP4_CKPT_FP8_NEXTN_MOE"
        setting = {path for path in august.below("benchmarks/") if name in august.files[path]}
        assert {path for path in setting if "/stp/" not in path} == failing


def test_without_the_corpus_the_command_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(corpus, "CORPUS", tmp_path / "gone")
    assert corpus.main(["--summary"]) == 2
    assert "Put the corpus there or name --repository." in capsys.readouterr().err
