"""Purpose: a model that the repository does not know yet: its MODELS.md row, its golden curve, its config and recipe.

`Cedar-2` is invented. SGLang on one GB200 node, AgentX, three NextN tokens of the checkpoint's own head.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.support.shapes import ground, outside
from tests.support.shapes.story import Checkpoint, Loads, Row, Server, Story, Upstream

KEY = "cedar2-fp4-gb200-sglang-agentic-mtp"
MODEL, IMAGE = "example-org/Cedar-2-NVFP4", "lmsysorg/sglang:v0.5.22-cu130"
RECIPE = f"{ground.SINGLE}cedar2/sglang/gb200-fp4-mtp/agentic.yaml"
CURVE = f"{ground.CURVES}cedar2_mtp.yaml"
POINTS = (1, 4, 8, 16, 32)
ANCHOR = "| GLM-5.3 | `glm5.3` |"
ROW = "| Cedar-2 90B-A9B | `cedar2` | 2026-10-20 | Agentic coding | None |\n"

MASTER = f"""\
{KEY}:
  image: {IMAGE}
  model: {MODEL}
  model-prefix: cedar2
  runner: cluster:gb200-nv
  precision: fp4
  framework: sglang
  multinode: false
  scenarios:
    agentic-coding:
    - search-space:
      - {{ tp: 4, ep: 1, kv-offloading: none, spec-decoding: mtp, conc-list: [1, 4, 8, 16, 32], \
srt-recipe: {RECIPE.removeprefix(ground.ROOT)} }}
"""

PLAIN = """\
schema: 2
name: cedar2-fp4-gb200-sglang-agentic
resources: { gpu_type: gb200, gpus_per_node: 4 }
frontend: { type: sglang, enable_multiple_frontends: false }
engine: sglang
roles:
  agg:
    nodes: 1
    workers: 1
    gpus: 4
    args:
      tensor-parallel-size: 4
      quantization: modelopt_fp4
      kv-cache-dtype: fp8_e4m3
      speculative-algorithm: NEXTN
      speculative-num-steps: 3
      speculative-eagle-topk: 1
      speculative-num-draft-tokens: 4
"""

CURVE_TEXT = """\
# Source GitHub Actions run: https://github.com/SemiAnalysisAI/InferenceX/actions/runs/40090001
cedar-2:
  thinking_on:
    1: 1.84
    2: 2.45
    3: 2.91
"""


def server() -> Server:
    args = {
        "tensor-parallel-size": 4,
        "quantization": "modelopt_fp4",
        "kv-cache-dtype": "fp8_e4m3",
        "speculative-algorithm": "NEXTN",
        "speculative-num-steps": 3,
        "speculative-eagle-topk": 1,
        "speculative-num-draft-tokens": 4,
    }
    return Server("agg", args)


def servers(_row: Row, _conc: int) -> tuple[Server, ...]:
    return (server(),)


def cell() -> dict[str, Any]:
    return {
        "id": f"{KEY}#0",
        "hw": "gb200",
        "ckpt": MODEL,
        "configKey": KEY,
        "image": IMAGE,
        "submitted": "sglang",
        "prov": {"sha": ground.HEAD, "pr": 5106, "status": "verified-pr"},
        "points": [{"concs": list(POINTS), "goldenAL": 2.91, "kv": "none"}],
        "routers": {"sglang": {"blocks": [outside.block(server(), 1, 1, "python3 -m sglang.launch_server")]}},
    }


CHECKPOINT = Checkpoint(
    MODEL,
    {
        "architectures": ["CedarForCausalLM"],
        "dtype": "bfloat16",
        "num_hidden_layers": 2,
        "num_nextn_predict_layers": 1,
        "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"},
    },
    {
        "model.layers.1.mlp.gate_proj.weight": ("U8", [64, 32]),
        "model.layers.2.mlp.gate_proj.weight": ("BF16", [64, 64]),
    },
)

BODY = f"""\
## Description

Adds Cedar-2 NVFP4 on GB200 with SGLang (`{KEY}`), AgentX, TP4.

| Points | KV offloading | Concurrency |
|---|---|---|
| TP4 | `none` | 1, 4, 8, 16, 32 |

Three NextN tokens of the checkpoint's own head; the golden curve comes from a run of its own.
"""


@cache
def story() -> Story:
    files = ground.ground()
    return Story(
        name="cedar-2",
        number=5106,
        title="Add Cedar-2 NVFP4 on GB200 (SGLang, AgentX)",
        body=BODY,
        files=files,
        head={
            ground.NVIDIA: MASTER,
            RECIPE: PLAIN,
            CURVE: CURVE_TEXT,
            ground.MODELS: files[ground.MODELS].replace(ANCHOR, f"{ROW}{ANCHOR}"),
            ground.CHANGELOG: ground.appended(KEY, "Add Cedar-2 NVFP4."),
        },
        image=IMAGE,
        servers=servers,
        loads=Loads("CedarForCausalLM", "modelopt_fp4", "torch.float8_e4m3fn", "CedarForCausalLMNextN"),
        accepted="2.91",
        upstream=(
            Upstream(
                "https://github.com/sgl-project/sglang/pull/46030",
                {"docs/src/snippets/agentx/example-org/cedar-2.jsx": outside.snippet([cell()], "Cedar-2")},
                "sgl-project/sglang",
                46030,
            ),
        ),
        checkpoints=(CHECKPOINT,),
        overview=outside.overview([("Cedar-2", "https://docs.sglang.io/cookbook/example-org/Cedar-2", "", "")], []),
    )
