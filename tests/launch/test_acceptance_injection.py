"""Golden acceptance at launch: what each engine gets, when nothing is injected, and that stale settings go."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.launch.acceptance import golden, with_acceptance
from app.launch.errors import LaunchError
from app.launch.row import LaunchRow
from app.target.recipe import EffectiveRecipe
from app.target.recipes import read_recipe
from app.target.tree import Layout, Tree

PATH = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/m/e/x/agentic.yaml"
CURVES = "inferencex-e2e/infx/golden_al_distribution/"
ROW: dict[str, Any] = {
    "image": "i", "model": "m", "model-prefix": "musespark", "runner": "cluster:x", "precision": "fp4",
    "framework": "sglang", "exp-name": "e", "tp": 4, "conc": 1, "spec-decoding": "mtp",
}  # fmt: skip
VLLM = '{"method": "mtp", "num_speculative_tokens": 3}'
ENGINES = {
    "sglang": "{ speculative-algorithm: DFLASH, speculative-num-draft-tokens: 8 }",
    "vllm": f"{{ speculative-config: '{VLLM}' }}",
    "trtllm": "{ speculative_config: { decoding_type: MTP, max_draft_len: 3 } }",
    "atom": "{ method: mtp, num-speculative-tokens: 3 }",
}
CURVE = {
    "musespark_dflash.yaml": "muse:\n  thinking_on:\n    7: 4.05\n",
    "musespark_mtp.yaml": "muse:\n  thinking_on:\n    3: 3.00\n",
}


def tree(engine: str, args: str, extra: str = "", curves: dict[str, str] = CURVE) -> Tree:
    text = f"schema: 2\nname: n\nengine: {engine}\nroles:\n  agg:\n    args: {args}\n{extra}"
    files = {PATH: text.encode(), **{CURVES + name: value.encode() for name, value in curves.items()}}
    return Tree("r", files, complete=True, forced_layout=Layout.OCTOBER)


def recipe(found: Tree) -> EffectiveRecipe:
    return read_recipe(found, PATH)[0]


def launched(engine: str, row: dict[str, Any] = ROW, extra: str = "") -> dict[str, Any]:
    found = tree(engine, ENGINES[engine], extra)
    one = recipe(found)
    acceptance = golden(found, LaunchRow(row), one, "thinking_on")
    agg: dict[str, Any] = with_acceptance(one, acceptance)["roles"]["agg"]
    return agg


def test_sglang_gets_three_variables() -> None:
    assert launched("sglang")["env"] == {
        "SGLANG_SIMULATE_ACC_LEN": "4.05",
        "SGLANG_SIMULATE_ACC_METHOD": "match-expected",
        "SGLANG_SIMULATE_ACC_TOKEN_MODE": "real-draft-token",
    }


def test_vllm_gets_a_synthetic_method_and_its_length_in_the_json_text() -> None:
    config = json.loads(launched("vllm")["args"]["speculative-config"])
    assert (config["rejection_sample_method"], config["synthetic_acceptance_length"]) == ("synthetic", 3.0)
    assert config["method"] == "mtp"


def test_trtllm_counts_without_the_bonus_token() -> None:
    assert launched("trtllm")["env"] == {"TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS": "2"}


def test_atom_gets_an_argument() -> None:
    assert launched("atom")["args"]["spec-decode-acceptance-length"] == "3"


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"eval-only": True}, id="an eval verifies for real"),
        pytest.param({"spec-decoding": "none"}, id="a row without speculation"),
        pytest.param({"isl": 8192, "osl": 1024}, id="a fixed-sequence row"),
    ],
)
def test_nothing_is_injected_where_it_is_not_due_and_stale_values_go(changes: dict[str, Any]) -> None:
    stale = "    env: { SGLANG_SIMULATE_ACC_LEN: '2.5', KEPT: '1' }\nenvironment: { SGLANG_SIMULATE_ACC_LEN: '2.5' }\n"
    assert launched("sglang", {**ROW, **changes}, stale)["env"] == {"KEPT": "1"}


def test_stale_vllm_settings_become_real_verification() -> None:
    stale = {"rejection_sample_method": "synthetic", "synthetic_acceptance_length": 2.5}
    config = json.dumps({**json.loads(VLLM), **stale})
    found = tree("vllm", f"{{ speculative-config: '{config}' }}")
    agg = with_acceptance(recipe(found), None)["roles"]["agg"]
    told = json.loads(agg["args"]["speculative-config"])
    assert told == {"method": "mtp", "num_speculative_tokens": 3, "rejection_sample_method": "block"}


def test_the_recipe_itself_is_never_changed() -> None:
    found = tree("sglang", ENGINES["sglang"])
    one = recipe(found)
    before = json.dumps(one.raw, sort_keys=True)
    with_acceptance(one, golden(found, LaunchRow(ROW), one, "thinking_on"))
    assert json.dumps(one.raw, sort_keys=True) == before


@pytest.mark.parametrize(
    ("curves", "said"),
    [
        pytest.param({}, "no committed golden curve", id="no curve"),
        pytest.param(
            {"musespark_dflash.yaml": "m:\n  thinking_on:\n    3: 2.0\n"}, "no value for 7", id="an unmeasured length"
        ),
        pytest.param(
            {"musespark_dflash.yaml": "m:\n  thinking_off:\n    7: 2.0\n"}, "no thinking_on", id="another mode only"
        ),
        pytest.param(
            {"musespark_dflash.yaml": "m:\n  thinking_on:\n    7: 9.0\n"}, "between 1 and 8", id="an impossible value"
        ),
    ],
)
def test_without_a_measured_value_the_launch_ends_before_submission(curves: dict[str, str], said: str) -> None:
    found = tree("sglang", ENGINES["sglang"], curves=curves)
    with pytest.raises(LaunchError, match=said) as ended:
        golden(found, LaunchRow(ROW), recipe(found), "thinking_on")
    assert ended.value.kind == "no-curve"
