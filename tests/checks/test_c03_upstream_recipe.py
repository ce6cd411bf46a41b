"""Purpose: check 3, rule by rule: links and their state, then every kind of page against what ran."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from app.facts.outside import UpstreamRecipes
from app.facts.records import UpstreamRecord
from app.facts.sign_off import SignOff
from app.facts.sweep import JobLogs
from app.policy import AutoDefault, RecipePolicy
from app.sandbox.reference_parts import names
from tests.checks.reference_facts import JSX, MASTER, RECIPE, Story

KEY = "musespark-fp4-gb200-sglang-agentic-dflash"
DYNAMO = "glm5.3-fp4-gb200-dynamo-sglang-agentic-mtp-agg"
DYNAMO_RECIPE = "inferencex-e2e/benchmarks/multi_node/srt-slurm-recipes/glm5.3/sglang/gb200-fp4/agentx/agg-tp8.yaml"
VLLM = "qwen3.5-fp8-b300-vllm-mtp"
SGLANG_FIXED = "dsr1-fp4-b200-sglang-mtp"


def linked(**changes: Any) -> Story:
    story = Story()
    story.link = changes
    return story


def elsewhere() -> Story:
    """The link stands in another comment."""
    return linked(comment_id=77, line=2)


def recipe(old: str, new: str, count: int = -1) -> Story:
    """A recipe edit that the server ran with as well: the logs print the recipe's values no more."""
    story = Story().edit(RECIPE, old, new, count)
    return story.each_log(lambda log: log.model_copy(update={"server_args": {}}))


def policy(**changes: Any) -> RecipePolicy:
    return Story().policy.recipes.model_copy(update=changes)


def linked_to_nothing(line: str = "") -> Story:
    story = Story()
    story.no_upstream = True
    if line:
        story.sign_off = story.sign_off.replace("- Pareto:", f"- {line}\n- Pareto:")
    return story


def without_pages() -> Story:
    story = Story()
    story.pages = {}
    return story


def quantization_left_out() -> Story:
    story = Story()
    data = json.loads(story.pages[JSX].split("agentx = ", 1)[1].rstrip().rstrip(";"))
    block = data["cells"][0]["routers"]["sglang"]["blocks"][0]
    block["args"] = [entry for entry in block["args"] if entry[0] != "--quantization"]
    story.pages[JSX] = f"export const agentx = {json.dumps(data)};"
    return story


def named(old: str, new: str, line: str) -> Story:
    story = recipe(old, new)
    story.sign_off = story.sign_off.replace("- Pareto:", f"- {line}\n- Pareto:")
    return story


def ran(job: str, flag: str, value: str) -> Story:
    story = Story()
    (log,) = [log for log in story.logs if log.job_name.endswith(job)]
    flags = dict(log.server_args["agg"])
    flags[flag] = flags[flag].model_copy(update={"value": value})
    return story.log(log.job_name, server_args={"agg": flags})


@pytest.mark.parametrize(
    ("make", "status", "reason"),
    [
        pytest.param(
            Story,
            "PASS",
            "sgl-project/sglang#45513 merged 2026-10-21; its GB200 cell (provenance bdfb83f, PR 4343) equals "
            "the effective command (recipe and job log) of all 11 points",
            id="3.equal: the reference story (3.merged, 3.path)",
        ),
        pytest.param(
            lambda: linked(state="open", merged_at=""),
            "FAIL",
            "sgl-project/sglang#45513 is open, not merged",
            id="3.open: still open",
        ),
        pytest.param(
            lambda: linked(state="closed", merged_at=""),
            "FAIL",
            "sgl-project/sglang#45513 is closed, not merged",
            id="3.open: closed without a merge",
        ),
        pytest.param(
            lambda: linked(contained=False),
            "FAIL",
            "the default branch of sgl-project/sglang does not contain sgl-project/sglang#45513",
            id="3.not-contained: reverted or on another branch",
        ),
        pytest.param(
            lambda: linked(contained=None),
            "FAIL",
            "could not be verified: the upstream recipe sgl-project/sglang#45513",
            id="3.not-contained: not known",
        ),
        pytest.param(
            lambda: linked(problem="HTTP 503"),
            "FAIL",
            "could not be verified: the upstream recipe sgl-project/sglang#45513 merged 2026-10-21 (HTTP 503)",
            id="3.unreadable: the host is down",
        ),
        pytest.param(
            lambda: linked(repository="sgl-project/sgl-cookbook"),
            "FAIL",
            "is in a retired repository",
            id="3.old-page: the retired cookbook alone",
        ),
        pytest.param(
            lambda: linked(repository="vllm-project/recipes"),
            "FAIL",
            "vllm-project/recipes#45513 merged 2026-10-21 is no SGLang recipe",
            id="3.other-engine: a vLLM recipe",
        ),
        pytest.param(
            lambda: linked(repository=names.REPOSITORY, link="https://github.com/SemiAnalysisAI/InferenceX/pull/4343"),
            "FAIL",
            "is a pull request of this repository",
            id="3.own-repository: this repository's own",
        ),
        pytest.param(
            lambda: linked(kind="page", link="https://docs.sglang.io/cookbook/autoregressive/Meta/MuseSparkOpen"),
            "PASS",
            "docs.sglang.io/cookbook/autoregressive/Meta/MuseSparkOpen; its GB200 cell",
            id="3.published: a page of the documentation",
        ),
        pytest.param(
            lambda: linked(kind="page", link="https://blog.example/musespark"),
            "FAIL",
            "blog.example/musespark is no SGLang recipe",
            id="3.published: any other page",
        ),
        pytest.param(elsewhere, "FAIL", "is linked only in another comment", id="3.other-comment: not in the sign-off"),
        pytest.param(
            linked_to_nothing, "FAIL", "the sign-off links no upstream SGLang recipe", id="3.no-link: a placeholder"
        ),
        pytest.param(
            lambda: linked_to_nothing("No upstream recipe exists for this model yet."),
            "FAIL",
            "the sign-off says that no upstream SGLang recipe exists",
            id="3.none-exists: said so",
        ),
        pytest.param(
            lambda: Story().lose(UpstreamRecipes),
            "FAIL",
            "could not be verified: the upstream recipe (HTTP 503)",
            id="3.unreadable: nothing gathered",
        ),
        pytest.param(
            lambda: Story().lose(SignOff),
            "FAIL",
            "could not be verified: the sign-off (HTTP 503)",
            id="3.no-link: no sign-off",
        ),
        pytest.param(
            lambda: recipe("mem-fraction-static: 0.88", "mem-fraction-static: 0.8"),
            "FAIL",
            "sgl-project/sglang#45513 differs for c4 and c8 of musespark-fp4-gb200-sglang-agentic-dflash: "
            "--mem-fraction-static is 0.8 here and 0.88 on the page",
            id="3.contradiction: a flag of two points",
        ),
        pytest.param(
            lambda: recipe("SGLANG_TIMEOUT_KEEP_ALIVE: '900'", "SGLANG_TIMEOUT_KEEP_ALIVE: '901'"),
            "FAIL",
            "SGLANG_TIMEOUT_KEEP_ALIVE is 901 here and 900 on the page",
            id="3.contradiction: a variable",
        ),
        pytest.param(
            lambda: recipe("        megamoe: true\n", "        megamoe: true\n        page-size: 64\n"),
            "FAIL",
            "--page-size 64 is not on the page",
            id="3.missing-setting: a flag that the page lacks",
        ),
        pytest.param(
            lambda: recipe("moe-runner-backend: flashinfer_trtllm\n", "moe-runner-backend: triton\n"),
            "FAIL",
            "--moe-runner-backend is triton here and flashinfer_trtllm on the page",
            id="3.contradiction: a kernel backend",
        ),
        pytest.param(
            lambda: recipe("        layernorm-sp: true\n", ""),
            "FAIL",
            "the page sets --layernorm-sp true, the recipe does not",
            id="3.missing-setting: a flag that only the page has",
        ),
        pytest.param(
            lambda: ran("c8", "mem-fraction-static", "0.9"),
            "FAIL",
            "--mem-fraction-static is 0.9 here and 0.88 on the page",
            id="3.contradiction: the launcher ran something else",
        ),
        pytest.param(
            lambda: named(
                "        megamoe: true\n",
                "        megamoe: true\n        page-size: 64\n",
                "`--page-size` is a harness setting",
            ),
            "PASS",
            "equals the effective command",
            id="3.named-exclusion: missing on the page and named",
        ),
        pytest.param(
            lambda: named(
                "mem-fraction-static: 0.88", "mem-fraction-static: 0.8", "`mem-fraction-static` differs on purpose"
            ),
            "FAIL",
            "--mem-fraction-static is 0.8 here",
            id="3.named-exclusion: never for a contradiction",
        ),
        pytest.param(
            lambda: recipe("        enable-metrics: true\n", "        enable-metrics: true\n        host: 0.0.0.0\n"),
            "PASS",
            "equals",
            id="3.harness-only: host and metrics",
        ),
        pytest.param(
            lambda: recipe(
                "        megamoe: true\n",
                "        megamoe: true\n        data-parallel-size: 1\n        enable-dp-attention: false\n",
            ),
            "PASS",
            "equals",
            id="3.alias: defaults written out",
        ),
        pytest.param(quantization_left_out, "PASS", "equals", id="3.alias: quantization is auto-detected"),
        pytest.param(
            lambda: recipe("        megamoe: true\n", "        megamoe: true\n        attention-backend: trtllm_mha\n"),
            "FAIL",
            "--attention-backend trtllm_mha is not on the page",
            id="3.auto-default: unknown to the policy",
        ),
        pytest.param(
            lambda: recipe(
                "        megamoe: true\n", "        megamoe: true\n        attention-backend: trtllm_mha\n"
            ).with_policy(
                recipes=policy(
                    auto_defaults=(
                        AutoDefault(
                            engine="sglang",
                            flag="attention-backend",
                            value="trtllm_mha",
                            model_prefix="musespark",
                            sku="gb200",
                        ),
                    )
                )
            ),
            "PASS",
            "equals",
            id="3.auto-default: known for model and SKU",
        ),
        pytest.param(
            lambda: recipe(
                "        megamoe: true\n", "        megamoe: true\n        attention-backend: trtllm_mha\n"
            ).with_policy(
                recipes=policy(
                    auto_defaults=(
                        AutoDefault(engine="sglang", flag="attention-backend", value="trtllm_mha", sku="b300"),
                    )
                )
            ),
            "FAIL",
            "--attention-backend trtllm_mha is not on the page",
            id="3.auto-default: known for another SKU",
        ),
        pytest.param(
            lambda: Story().page('"concs": [\n            6\n          ]', '"concs": [\n            7\n          ]'),
            "FAIL",
            "has no command for musespark-fp4-gb200-sglang-agentic-dflash (c6)",
            id="3.missing-point: no command of a concurrency",
        ),
        pytest.param(
            lambda: Story().page(names.DIGEST, "sha256:" + "0" * 64),
            "FAIL",
            "the image is lmsysorg/sglang:dev-muse-spark-open@sha256:8cfc5a72",
            id="3.image: another digest",
        ),
        pytest.param(
            lambda: Story().page('"goldenAL": 4.05', '"goldenAL": 3.92'),
            "FAIL",
            "the golden acceptance length is 4.05 here and 3.92 on the page",
            id="3.golden-al: another value",
        ),
        pytest.param(
            lambda: Story().page(f'"configKey": "{KEY}"', '"configKey": "other"'),
            "FAIL",
            "covers other models or SKUs, not musespark-fp4-gb200-sglang-agentic-dflash",
            id="3.other-model: no cell of the key",
        ),
        pytest.param(
            lambda: Story().page('"hw": "gb200"', '"hw": "gb300"'),
            "FAIL",
            "has no command for",
            id="3.other-model: only another SKU",
        ),
        pytest.param(
            lambda: Story().page(f'"ckpt": "{names.MODEL}"', '"ckpt": "org/Other"'),
            "FAIL",
            "has no command for",
            id="3.other-model: another checkpoint",
        ),
        pytest.param(
            lambda: Story().page('"submitted": "sglang"', '"submitted": "dynamo"').page('"sglang": {', '"dynamo": {'),
            "FAIL",
            "the router is sglang here and dynamo on the page",
            id="3.path: Dynamo commands for a direct server",
        ),
        pytest.param(
            lambda: Story().page("export const agentx = {", "export const agentx = {{"),
            "FAIL",
            "could not be verified: the upstream page docs/src/snippets/agentx",
            id="3.unreadable: a broken snippet",
        ),
        pytest.param(
            without_pages, "FAIL", "no file of it was gathered", id="3.unreadable: a pull request without files"
        ),
        pytest.param(
            lambda: Story.of("dsv4-fp4-mi355x-atom-agentic-mtp"),
            "N/A",
            "no affected point is served by vLLM or SGLang",
            id="3.path: another engine",
        ),
    ],
)
def test_rules(make: Callable[[], Story], status: str, reason: str) -> None:
    row = make().row(3)
    assert row.status.value == status, row.reason
    assert reason in row.reason, row.reason


def test_findings_say_where_and_what_is_expected() -> None:
    row = recipe("mem-fraction-static: 0.88", "mem-fraction-static: 0.8").row(3)
    (finding,) = row.findings
    assert str(finding.where).startswith(f"{RECIPE}:")
    assert finding.expected == "what the page says: 0.88"


def test_a_current_page_beside_the_retired_one_is_enough() -> None:
    story = linked(repository="sgl-project/sgl-cookbook")
    page = "https://docs.sglang.io/cookbook/autoregressive/Meta/MuseSparkOpen"
    story.extra_links = [UpstreamRecord(link=page, comment_id=names.SIGN_OFF_ID, line=24, kind="page")]
    assert story.row(3).status.value == "PASS"


def test_without_logs_the_recipe_is_compared_and_the_row_says_so() -> None:
    assert "equals the effective command (recipe) of all 11 points" in Story().lose(JobLogs).row(3).reason


def dynamo(change: Callable[[dict[str, Any]], object] | None = None) -> Story:
    """GLM-5.3 behind Dynamo, with a snippet of its own."""
    story = Story.of(DYNAMO)
    worker = {
        "kind": "worker",
        "role": "agg",
        "workers": 1,
        "nodes_per_worker": 2,
        "cmd": "python3 -m dynamo.sglang",
        "env": {"ETCD_ENDPOINTS": "http://$ETCD_IP:2379"},
        "args": [
            ["--model-path", "nvidia/GLM-5.3-NVFP4"],
            ["--tp", "8"],
            ["--ep-size", "8"],
            ["--speculative-algo", "EAGLE"],
        ]
        + [[f"--{name}", value] for name, value in (("quantization", "modelopt_fp4"), ("kv-cache-dtype", "fp8_e4m3"))]
        + [["--speculative-num-steps", "3"], ["--speculative-eagle-topk", "1"], ["--speculative-num-draft-tokens", "4"]]
        + [["--mem-fraction-static", "0.84"], ["--max-running-requests", "36"], ["--request-plane", "tcp"]],
    }
    frontend = {
        "kind": "dynamo-frontend",
        "cmd": "python3 -m dynamo.frontend",
        "env": {},
        "args": [["--router-mode", "kv"], ["--http-port", "8000"]],
    }
    cell = {
        "id": f"{DYNAMO}#0",
        "hw": "gb200",
        "ckpt": "nvidia/GLM-5.3-NVFP4",
        "configKey": DYNAMO,
        "image": "lmsysorg/sglang:v0.5.22-cu130",
        "submitted": "dynamo",
        "points": [{"concs": [8, 18]}],
        "routers": {"dynamo": {"blocks": [{"kind": "etcd", "cmd": "etcd"}, frontend, worker]}},
    }
    if change is not None:
        change(cell)
    story.pages = {JSX: f"export const agentx = {json.dumps({'cells': [cell]})};"}
    return story


def block(cell: dict[str, Any], number: int) -> dict[str, Any]:
    found: dict[str, Any] = cell["routers"]["dynamo"]["blocks"][number]
    return found


@pytest.mark.parametrize(
    ("change", "status", "reason"),
    [
        pytest.param(
            None,
            "PASS",
            "equals the effective command (recipe) of all 2 points",
            id="3.path: Dynamo with Dynamo commands (3.alias: NEXTN is EAGLE)",
        ),
        pytest.param(
            lambda cell: block(cell, 2).update(nodes_per_worker=1),
            "FAIL",
            "nodes per worker is 2 here and 1 on the page",
            id="3.equal: topology",
        ),
        pytest.param(
            lambda cell: block(cell, 2).update(workers=3),
            "FAIL",
            "number of workers is 1 here and 3 on the page",
            id="3.equal: workers",
        ),
        pytest.param(
            lambda cell: block(cell, 1)["args"].append(["--router-temperature", "0.5"]),
            "FAIL",
            "of frontend: the page sets --router-temperature 0.5",
            id="3.equal: router",
        ),
        pytest.param(
            lambda cell: block(cell, 2).update(role="decode"),
            "FAIL",
            "the agg command one is not on the page",
            id="3.missing-setting: no command of the role",
        ),
    ],
)
def test_dynamo(change: Callable[[dict[str, Any]], object] | None, status: str, reason: str) -> None:
    row = dynamo(change).row(3)
    assert row.status.value == status, row.reason
    assert reason in row.reason, row.reason


VLLM_RECIPE = """
model: {model_id: Qwen/Qwen3.5-397B-A17B, base_args: [--gpu-memory-utilization, "0.9"]}
variants:
  fp8: {model_id: Qwen/Qwen3.5-397B-A17B-FP8, extra_args: [--kv-cache-dtype, fp8]}
features:
  spec: {args: [--speculative-config, '{"num_speculative_tokens":2,"method":"mtp"}']}
  batch: {args: [--max-num-batched-tokens, "16384"]}
  seqs4: {args: [--max-num-seqs, "8"]}
  seqs8: {args: [--max-num-seqs, "16"]}
  seqs16: {args: [--max-num-seqs, "32"]}
  seqs32: {args: [--max-num-seqs, "64"]}
  seqs64: {args: [--max-num-seqs, "128"]}
compatible_strategies: [single_node_tp]
"""


def vllm(old: str = "", new: str = "") -> Story:
    story = Story.of(VLLM)
    assert old in VLLM_RECIPE
    story.pages = {"models/Qwen/Qwen3.5.yaml": VLLM_RECIPE.replace(old, new)}
    story.link = {"repository": "vllm-project/recipes", "link": "https://github.com/vllm-project/recipes/pull/812"}
    return story


@pytest.mark.parametrize(
    ("make", "status", "reason"),
    [
        pytest.param(
            vllm,
            "PASS",
            "its variant fp8, strategy single_node_tp equals the effective command (recipe) of all 5 points",
            id="3.equal: a vLLM recipe",
        ),
        pytest.param(
            lambda: vllm('"0.9"', '"0.92"'),
            "FAIL",
            "--gpu-memory-utilization is 0.9 here and 0.92 on the page",
            id="3.contradiction: a base argument",
        ),
        pytest.param(
            lambda: vllm('"num_speculative_tokens":2', '"num_speculative_tokens":3'),
            "FAIL",
            '--speculative-config is {"method":"mtp","num_speculative_tokens":2} here',
            id="3.contradiction: speculative JSON",
        ),
        pytest.param(
            lambda: vllm(
                "extra_args: [--kv-cache-dtype, fp8]", "extra_args: [--kv-cache-dtype, fp8, --moe-backend, triton]"
            ),
            "FAIL",
            "the page sets --moe-backend triton, the recipe does not",
            id="3.missing-setting: required by the variant",
        ),
        pytest.param(
            lambda: vllm('  batch: {args: [--max-num-batched-tokens, "16384"]}\n', ""),
            "FAIL",
            "--max-num-batched-tokens 16384 is not on the page",
            id="3.missing-setting: no feature has it",
        ),
        pytest.param(
            lambda: vllm("A17B-FP8", "A17B-INT4"),
            "FAIL",
            "covers other models or SKUs",
            id="3.other-model: no variant of the checkpoint",
        ),
        pytest.param(
            lambda: vllm("[single_node_tp]", "[pd_cluster]"),
            "FAIL",
            "the strategy single_node_tp is not on the page",
            id="3.missing-setting: the strategy",
        ),
        pytest.param(
            lambda: vllm("model: {", "model: {{"),
            "FAIL",
            "could not be verified: the upstream page models/Qwen/Qwen3.5.yaml",
            id="3.unreadable: broken YAML",
        ),
    ],
)
def test_vllm_recipes(make: Callable[[], Story], status: str, reason: str) -> None:
    row = make().row(3)
    assert row.status.value == status, row.reason
    assert reason in row.reason, row.reason


def page_command(text: str) -> Story:
    story = Story.of(SGLANG_FIXED)
    story.pages = {"docs/cookbook/autoregressive/DeepSeek/DeepSeek-R1.mdx": text}
    return story


def test_3_published_a_command_in_a_page_of_the_same_model_is_compared() -> None:
    row = page_command(
        "```bash\npython3 -m sglang.launch_server --model-path nvidia/DeepSeek-R1-0528-FP4-V2 --tp 8\n```\n"
    ).row(3)
    assert row.status.value == "FAIL"
    assert "of dsr1-fp4-b200-sglang-mtp" in row.reason


def test_3_other_model_a_page_of_another_model_is_none() -> None:
    row = page_command("```bash\npython3 -m sglang.launch_server --model-path org/Other --tp 8\n```\n").row(3)
    assert "covers other models or SKUs, not dsr1-fp4-b200-sglang-mtp" in row.reason


def test_the_master_decides_the_image() -> None:
    row = Story().edit(MASTER, names.IMAGE, "lmsysorg/sglang:other").row(3)
    assert "the image is lmsysorg/sglang:other here" in row.reason
