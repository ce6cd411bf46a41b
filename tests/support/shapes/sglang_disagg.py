"""Purpose: a retune of GLM-5.3 NVFP4 on GB200: SGLang behind Dynamo, prefill and decode on nodes of their own, AgentX.

Two topologies share one recipe bundle. The decode workers admit more at every point, and concurrency 64 is new.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.support.shapes import ground, outside
from tests.support.shapes.story import Checkpoint, Loads, Row, Server, Story, Upstream

KEY = "glm5.3-fp4-gb200-dynamo-sglang-agentic-mtp-disagg"
MODEL, IMAGE = "nvidia/GLM-5.3-NVFP4", "lmsysorg/sglang:v0.5.22-cu130"
RECIPE = f"{ground.MULTI}glm5.3/sglang/gb200-fp4/agentx/disagg.yaml"
NAMED = RECIPE.removeprefix(ground.ROOT)
SNIPPET = "docs/src/snippets/agentx/zai-org/glm-5.3.jsx"
WHEEL = "1.5.0.dev20260928"

MASTER = f"""\
{KEY}:
  image: {IMAGE}
  model: {MODEL}
  model-prefix: glm5.3
  runner: cluster:gb200-nv
  precision: fp4
  framework: dynamo-sglang
  router: {{ name: dynamo-router, version: "{WHEEL}" }}
  kv-p2p-transfer: nixl
  multinode: true
  disagg: true
  scenarios:
    agentic-coding:
    - search-space:
      - spec-decoding: mtp
        conc-list: [4, 8, 16]
        srt-recipe: {NAMED}:override_1p1d
        prefill: {{ num-worker: 1, tp: 4, ep: 4, dp-attn: false }}
        decode: {{ num-worker: 1, tp: 8, ep: 8, dp-attn: false }}
      - spec-decoding: mtp
        conc-list: [32]
        srt-recipe: {NAMED}:override_2p1d
        prefill: {{ num-worker: 2, tp: 4, ep: 4, dp-attn: false }}
        decode: {{ num-worker: 1, tp: 8, ep: 8, dp-attn: false }}
"""

BUNDLE = f"""\
base:
  schema: 2
  name: glm5.3-fp4-gb200-dynamo-sglang-disagg
  resources: {{ gpu_type: gb200, gpus_per_node: 4 }}
  dynamo: {{ install: true, source: {{ wheel: "{WHEEL}" }} }}
  services:
    - {{ name: etcd, type: etcd, placement: {{ node: infra }} }}
    - {{ name: nats, type: nats, placement: {{ node: infra }} }}
  frontend: {{ type: dynamo, enable_multiple_frontends: false, args: {{ router-mode: kv }} }}
  engine: sglang
  roles:
    prefill:
      nodes: 1
      workers: 1
      gpus: 4
      args:
        served-model-name: {MODEL}
        tensor-parallel-size: 4
        expert-parallel-size: 4
        quantization: modelopt_fp4
        kv-cache-dtype: fp8_e4m3
        disaggregation-transfer-backend: nixl
        chunked-prefill-size: 32768
        mem-fraction-static: 0.82
        speculative-algorithm: NEXTN
        speculative-num-steps: 3
        speculative-eagle-topk: 1
        speculative-num-draft-tokens: 4
        enable-metrics: true
      env: {{ SGLANG_TIMEOUT_KEEP_ALIVE: '900' }}
    decode:
      nodes: 2
      workers: 1
      gpus: 8
      args:
        served-model-name: {MODEL}
        tensor-parallel-size: 8
        expert-parallel-size: 8
        quantization: modelopt_fp4
        kv-cache-dtype: fp8_e4m3
        disaggregation-transfer-backend: nixl
        max-running-requests: 48
        mem-fraction-static: 0.86
        speculative-algorithm: NEXTN
        speculative-num-steps: 3
        speculative-eagle-topk: 1
        speculative-num-draft-tokens: 4
        enable-metrics: true
      env: {{ SGLANG_TIMEOUT_KEEP_ALIVE: '600' }}

override_1p1d:
  roles: {{ prefill: {{ args: {{ max-running-requests: 16 }} }} }}

override_2p1d:
  roles: {{ prefill: {{ nodes: 2, workers: 2, args: {{ max-running-requests: 32 }} }} }}
"""

_BOTH: dict[str, object] = {
    "served-model-name": MODEL,
    "quantization": "modelopt_fp4",
    "kv-cache-dtype": "fp8_e4m3",
    "disaggregation-transfer-backend": "nixl",
    "speculative-algorithm": "NEXTN",
    "speculative-num-steps": 3,
    "speculative-eagle-topk": 1,
    "speculative-num-draft-tokens": 4,
    "enable-metrics": True,
}
_PROGRAM = "python3 -m dynamo.sglang"


def prefill(workers: int) -> Server:
    own = {"tensor-parallel-size": 4, "expert-parallel-size": 4, "chunked-prefill-size": 32768}
    limits = {"mem-fraction-static": 0.82, "max-running-requests": 16 * workers}
    return Server("prefill", {**_BOTH, **own, **limits}, {"SGLANG_TIMEOUT_KEEP_ALIVE": "900"}, program=_PROGRAM)


def decode() -> Server:
    own = {"tensor-parallel-size": 8, "expert-parallel-size": 8, "mem-fraction-static": 0.86}
    return Server(
        "decode", {**_BOTH, **own, "max-running-requests": 72}, {"SGLANG_TIMEOUT_KEEP_ALIVE": "600"}, program=_PROGRAM
    )


def servers(row: Row, _conc: int) -> tuple[Server, ...]:
    return prefill(row["prefill"]["num-worker"]), decode()


def _cell(workers: int, concs: list[int]) -> dict[str, Any]:
    frontend = {"kind": "dynamo-frontend", "role": "frontend", "cmd": "python3 -m dynamo.frontend", "env": {}}
    blocks = [
        {**frontend, "args": [["--http-port", "8000"], ["--router-mode", "kv"]]},
        outside.block(prefill(workers), workers, 1, _PROGRAM),
        outside.block(decode(), 1, 2, _PROGRAM),
    ]
    return {
        "id": f"{KEY}#{workers}",
        "hw": "gb200",
        "ckpt": MODEL,
        "label": f"{workers}P1D",
        "configKey": KEY,
        "image": IMAGE,
        "submitted": "dynamo",
        "prov": {"sha": ground.HEAD, "pr": 5101, "status": "verified-pr", "run": ground.RUN},
        "points": [{"concs": concs, "item": 0, "goldenAL": 2.99, "kv": "none"}],
        "routers": {"dynamo": {"install": [], "files": [], "blocks": blocks}},
    }


CHECKPOINT = Checkpoint(
    MODEL,
    {
        "architectures": ["GlmForCausalLM"],
        "torch_dtype": "bfloat16",
        "num_hidden_layers": 2,
        "num_nextn_predict_layers": 1,
        "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["model.layers.2*"]},
    },
    {
        "model.layers.0.mlp.gate_proj.weight": ("U8", [64, 32]),
        "model.layers.0.mlp.gate_proj.weight_scale": ("F8_E4M3", [64, 4]),
        "model.layers.2.mlp.gate_proj.weight": ("BF16", [64, 64]),
        "model.layers.2.eh_proj.weight": ("BF16", [64, 128]),
    },
)

PAGE = outside.overview(
    [("GLM-5.3", "", "", "")],
    [("GLM-5.3", "https://docs.nvidia.com/dynamo/recipes/glm-5.3-sglang", "", "")],
)

BODY = f"""\
## Description

Retunes `{KEY}` (GLM-5.3 NVFP4, SGLang behind Dynamo on GB200).

- The decode workers take `max-running-requests` from 48 to 72.
- Adds concurrency 64 with two prefill workers.
- The image and the model are unchanged.
"""


@cache
def story() -> Story:
    return Story(
        name="glm-disagg",
        number=5101,
        title="Retune the decode workers of GLM-5.3 on GB200 (Dynamo SGLang, AgentX)",
        body=BODY,
        files=ground.ground(MASTER, **{RECIPE: BUNDLE}),
        head={
            ground.NVIDIA: MASTER.replace("conc-list: [32]", "conc-list: [32, 64]"),
            RECIPE: BUNDLE.replace("max-running-requests: 48", "max-running-requests: 72"),
            ground.CHANGELOG: ground.appended(KEY, "Decode admission of 72; add concurrency 64."),
        },
        image=IMAGE,
        servers=servers,
        loads=Loads("GlmForCausalLM", "modelopt_fp4", "torch.float8_e4m3fn", "GlmForCausalLMNextN"),
        accepted="2.99",
        upstream=(
            Upstream(
                "https://github.com/sgl-project/sglang/pull/46001",
                {SNIPPET: outside.snippet([_cell(1, [4, 8, 16]), _cell(2, [32, 64])], "GLM-5.3")},
                "sgl-project/sglang",
                46001,
            ),
        ),
        checkpoints=(CHECKPOINT,),
        overview=PAGE,
        details=("Left out as harness-only: `enable-metrics`, `served-model-name`.",),
    )
