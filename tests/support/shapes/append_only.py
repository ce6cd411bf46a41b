"""Purpose: GLM-5.2 NVFP4 on GB300 with SGLang, AgentX: two points more on an existing curve, append-only.

The existing points keep their variants; only the two new ones run, and no eval is planned.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.support.shapes import ground, outside
from tests.support.shapes.story import Checkpoint, Loads, Row, Server, Story, Upstream

KEY = "glm5.2-fp4-gb300-sglang-agentic-mtp"
MODEL, IMAGE = "nvidia/GLM-5.2-NVFP4", "lmsysorg/sglang:v0.5.21-cu130"
RECIPE = f"{ground.SINGLE}glm5.2/sglang/gb300-fp4-mtp/agentic.yaml"
OLD, NEW = (4, 12, 28), (20, 44)

MASTER = f"""\
{KEY}:
  image: {IMAGE}
  model: {MODEL}
  model-prefix: glm5.2
  runner: cluster:gb300-nv
  precision: fp4
  framework: sglang
  multinode: false
  scenarios:
    agentic-coding:
    - dram-utilization: 0.70
      search-space:
      - {{ tp: 4, ep: 4, kv-offloading: dram, kv-offload-backend: {{ name: hicache }}, spec-decoding: mtp, \
conc-list: [4, 12, 28], srt-recipe: {RECIPE.removeprefix(ground.ROOT)} }}
"""

_BASE = f"""\
base:
  schema: 2
  name: glm5.2-fp4-gb300-sglang-agentic
  resources: {{ gpu_type: gb300, gpus_per_node: 4 }}
  frontend: {{ type: sglang, enable_multiple_frontends: false }}
  engine: sglang
  roles:
    agg:
      nodes: 1
      workers: 1
      gpus: 4
      args:
        served-model-name: {MODEL}
        tensor-parallel-size: 4
        expert-parallel-size: 4
        quantization: modelopt_fp4
        kv-cache-dtype: fp8_e4m3
        mem-fraction-static: 0.85
        enable-hierarchical-cache: true
        hicache-size: 140
        speculative-algorithm: NEXTN
        speculative-num-steps: 3
        speculative-eagle-topk: 1
        speculative-num-draft-tokens: 4
"""


def variant(conc: int) -> str:
    return f"""
override_tp4_c{conc}:
  roles: {{ agg: {{ args: {{ max-running-requests: {conc} }} }} }}
  benchmark: {{ env: {{ CONC: '{conc}' }} }}
"""


BUNDLE = _BASE + "".join(map(variant, OLD))


def server(conc: int) -> Server:
    args = {
        "served-model-name": MODEL,
        "tensor-parallel-size": 4,
        "expert-parallel-size": 4,
        "quantization": "modelopt_fp4",
        "kv-cache-dtype": "fp8_e4m3",
        "mem-fraction-static": 0.85,
        "enable-hierarchical-cache": True,
        "hicache-size": 140,
        "speculative-algorithm": "NEXTN",
        "speculative-num-steps": 3,
        "speculative-eagle-topk": 1,
        "speculative-num-draft-tokens": 4,
        "max-running-requests": conc,
    }
    return Server("agg", args)


def servers(_row: Row, conc: int) -> tuple[Server, ...]:
    return (server(conc),)


def cell() -> dict[str, Any]:
    points = [
        {"concs": [conc], "goldenAL": 2.99, "kv": "dram", "patch": {"sglang": [outside.patch(server(4), server(conc))]}}
        for conc in sorted((*OLD, *NEW))
    ]
    return {
        "id": f"{KEY}#0",
        "hw": "gb300",
        "ckpt": MODEL,
        "configKey": KEY,
        "image": IMAGE,
        "submitted": "sglang",
        "prov": {"sha": ground.HEAD, "pr": 5105, "status": "verified-pr"},
        "points": points,
        "routers": {"sglang": {"blocks": [outside.block(server(4), 1, 1, "python3 -m sglang.launch_server")]}},
    }


CHECKPOINT = Checkpoint(
    MODEL,
    {
        "architectures": ["GlmForCausalLM"],
        "dtype": "bfloat16",
        "num_hidden_layers": 2,
        "num_nextn_predict_layers": 1,
        "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"},
    },
    {
        "model.layers.0.mlp.gate_proj.weight": ("U8", [64, 32]),
        "model.layers.2.mlp.gate_proj.weight": ("BF16", [64, 64]),
    },
)

BODY = f"""\
## Description

Adds concurrency 20 and 44 to `{KEY}`. Concurrency 4, 12 and 28 stay as they are.
"""


@cache
def story() -> Story:
    return Story(
        name="glm-append",
        number=5105,
        title="GLM-5.2 on GB300: two points more",
        body=BODY,
        files=ground.ground(MASTER, **{RECIPE: BUNDLE}),
        head={
            ground.NVIDIA: MASTER.replace("[4, 12, 28]", "[4, 12, 20, 28, 44]"),
            RECIPE: BUNDLE + "".join(map(variant, NEW)),
            ground.CHANGELOG: ground.appended(KEY, "Concurrency 20 and 44.", extra="  append-only: true\n"),
        },
        image=IMAGE,
        servers=servers,
        loads=Loads("GlmForCausalLM", "modelopt_fp4", "torch.float8_e4m3fn", "GlmForCausalLMNextN"),
        accepted="2.99",
        upstream=(
            Upstream(
                "https://github.com/sgl-project/sglang/pull/46020",
                {"docs/src/snippets/agentx/zai-org/glm-5.2.jsx": outside.snippet([cell()], "GLM-5.2")},
                "sgl-project/sglang",
                46020,
            ),
        ),
        checkpoints=(CHECKPOINT,),
        overview=outside.overview([("GLM-5.2", "https://docs.sglang.io/cookbook/GLM/GLM-5.2", "", "")], []),
    )
