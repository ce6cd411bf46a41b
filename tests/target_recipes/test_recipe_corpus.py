"""Purpose: every real recipe yields its effective settings for each role, or one clear reason why not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from app.target.recipe import EffectiveRecipe
from app.target.recipes import read_recipe
from app.target.source import RejectedInput
from app.target.speculation import pinned_acceptance, speculation_of
from app.target.tree import Tree


def read_all(root: Path) -> tuple[list[EffectiveRecipe], dict[str, str]]:
    files = {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*.yaml")}
    files = {path: content for path, content in files.items() if not path.startswith("october/")}
    tree = Tree("", files, complete=True)
    recipes: list[EffectiveRecipe] = []
    refused: dict[str, str] = {}
    for path in sorted(files):
        if "/srt-slurm-recipes/" not in path:
            continue
        try:
            recipes.extend(read_recipe(tree, path))
        except RejectedInput as rejected:
            refused[path] = str(rejected)
    return recipes, refused


@pytest.fixture(scope="module")
def august(real_files: Path) -> tuple[list[EffectiveRecipe], dict[str, str]]:
    return read_all(real_files)


@pytest.fixture(scope="module")
def october(real_files: Path) -> tuple[list[EffectiveRecipe], dict[str, str]]:
    return read_all(real_files / "october")


def test_every_august_file_is_read_or_refused_for_a_doubled_key(
    august: tuple[list[EffectiveRecipe], dict[str, str]],
) -> None:
    recipes, refused = august
    assert len({recipe.path for recipe in recipes}) + len(refused) == 376
    assert len(refused) == 6
    assert all("once in a mapping" in reason for reason in refused.values())


def test_every_august_variant_has_engine_image_roles_arguments_and_gpus(
    august: tuple[list[EffectiveRecipe], dict[str, str]],
) -> None:
    recipes, _ = august
    assert len(recipes) == 397
    for recipe in recipes:
        assert recipe.engine in ("sglang", "vllm", "trtllm"), recipe.path
        assert recipe.frontend in ("dynamo", "sglang", "vllm"), recipe.path
        assert recipe.image is not None
        assert set(recipe.roles) in ({"agg"}, {"prefill", "decode"}), recipe.path
        for role in recipe.roles.values():
            assert role.args, recipe.path
            assert role.gpus, recipe.path
            assert role.nodes is not None, recipe.path


def test_speculation_and_pins_of_the_august_files(august: tuple[list[EffectiveRecipe], dict[str, str]]) -> None:
    recipes, _ = august
    methods = Counter(found.method for recipe in recipes if (found := speculation_of(recipe)) is not None)
    assert methods == {"eagle": 98, "mtp": 61, "eagle3": 30, "nextn": 15, "dspark": 15}
    pins = Counter(pin.variable for recipe in recipes for pin in pinned_acceptance(recipe))
    assert pins == {
        "SGLANG_SIMULATE_ACC_LEN": 44,
        "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS": 29,
        "synthetic_acceptance_length": 12,
    }


def test_every_october_file_is_read(october: tuple[list[EffectiveRecipe], dict[str, str]]) -> None:
    recipes, refused = october
    assert refused == {}
    assert len(recipes) == 71
    for recipe in recipes:
        assert recipe.schema == 2
        assert set(recipe.roles) == {"agg"}
        assert recipe.roles["agg"].gpus, (recipe.path, recipe.variant)
        assert speculation_of(recipe) is not None
        assert pinned_acceptance(recipe) == ()


def test_one_october_variant_in_full_detail(october: tuple[list[EffectiveRecipe], dict[str, str]]) -> None:
    recipes, _ = october
    (found,) = [
        recipe for recipe in recipes if "/vllm/gb200" in recipe.path and recipe.variant == "zip_override_dep2[1]"
    ]
    role = found.roles["agg"]
    assert found.benchmark_env["CONC"].value == "16"
    assert (role.gpus, role.arg("data-parallel-size"), role.arg("max-num-seqs")) == (2, 2, 16)
    assert found.frontend == "vllm-router"
    assert [str(script) for script in found.setup_scripts] == ["vllm-router-0.1.14.sh"]
