"""Purpose: a retune of DeepSeek-V4-Pro FP4 on MI355X with ATOM, AgentX, the DSpark draft of the checkpoint.

The draft's layer stands behind the hidden ones (2 of them here) and is stored as bfloat16.
"""

from __future__ import annotations

from functools import cache

from tests.support.shapes import ground
from tests.support.shapes.story import Checkpoint, Row, Server, Story

KEY = "dsv4-fp4-mi355x-atom-agentic-dspark"
MODEL, IMAGE = "deepseek-ai/DeepSeek-V4-Pro-0813", "rocm/atom:rocm7.2.3_ubuntu24.04_py3.12_atom20261012"
OLD_IMAGE = "rocm/atom:rocm7.2.3_ubuntu24.04_py3.12_atom20260930"
RECIPE = f"{ground.SINGLE}dsv4/atom/mi355x-fp4-mtp/agentic.yaml"
OTHER_RECIPE = f"{ground.SINGLE}dsv4/sglang/mi355x-fp4-mtp/agentic.yaml"
POINTS = {1: 2, 2: 4, 7: 14, 14: 28, 21: 42}

OTHER = f"""\
dsv4-fp4-mi355x-sglang-agentic-mtp:
  image: lmsysorg/sglang:v0.5.21-rocm720-mi35x
  model: {MODEL}
  model-prefix: dsv4
  runner: cluster:mi355x-amds
  precision: fp4
  framework: sglang
  multinode: false
  scenarios:
    agentic-coding:
    - search-space:
      - {{ tp: 8, ep: 1, kv-offloading: none, conc-list: [3], srt-recipe: {OTHER_RECIPE.removeprefix(ground.ROOT)} }}
"""

OTHER_BUNDLE = """\
schema: 2
name: dsv4-fp4-mi355x-sglang-agentic
resources: { gpu_type: mi355x, gpus_per_node: 8 }
frontend: { type: sglang }
engine: sglang
roles: { agg: { nodes: 1, workers: 1, gpus: 8, args: { tensor-parallel-size: 8 } } }
"""

MASTER = f"""\
{OTHER}
{KEY}:
  image: {OLD_IMAGE}
  model: {MODEL}
  model-prefix: dsv4
  runner: cluster:mi355x-amds
  precision: fp4
  framework: atom
  multinode: false
  scenarios:
    agentic-coding:
    - search-space:
      - {{ tp: 8, ep: 1, kv-offloading: none, spec-decoding: mtp, conc-list: [1, 2, 7, 14, 21], \
srt-recipe: {RECIPE.removeprefix(ground.ROOT)} }}
"""

BUNDLE = """\
base:
  schema: 2
  name: dsv4-fp4-mi355x-atom-agentic
  resources: { gpu_type: mi355x, gpus_per_node: 8 }
  frontend: { type: atom, enable_multiple_frontends: false }
  engine: atom
  roles:
    agg:
      nodes: 1
      workers: 1
      gpus: 8
      args:
        method: dspark
        num-speculative-tokens: 5
        kv_cache_dtype: fp8
        gpu-memory-utilization: 0.88
      env:
        AITER_LOG_LEVEL: WARNING

zip_override_tp8:
  roles:
    agg:
      args:
        max-num-seqs: [2, 4, 14, 28, 42]
  benchmark:
    env:
      CONC: ['1', '2', '7', '14', '21']
"""


def servers(_row: Row, conc: int) -> tuple[Server, ...]:
    args = {
        "tensor-parallel-size": 8,
        "method": "dspark",
        "num-speculative-tokens": 5,
        "kv_cache_dtype": "fp8",
        "gpu-memory-utilization": 0.88,
        "max-num-seqs": POINTS[conc],
    }
    return (Server("agg", args, {"AITER_LOG_LEVEL": "WARNING"}),)


CHECKPOINT = Checkpoint(
    MODEL,
    {
        "architectures": ["DeepseekV4ForCausalLM"],
        "torch_dtype": "bfloat16",
        "num_hidden_layers": 2,
        "num_nextn_predict_layers": 1,
        "quantization_config": {"quant_method": "fp8", "modules_to_not_convert": ["model.layers.2"]},
    },
    {
        "model.layers.0.mlp.gate_proj.weight": ("F8_E4M3", [64, 64]),
        "model.layers.2.mlp.gate_proj.weight": ("BF16", [64, 64]),
        "model.layers.2.eh_proj.weight": ("BF16", [64, 128]),
    },
)

BODY = f"""\
## Description

`{KEY}`: the image moves from `{OLD_IMAGE}` to `{IMAGE}`. Settings and points are unchanged.
"""


@cache
def story() -> Story:
    return Story(
        name="dsv4-atom-october",
        number=5104,
        title="DeepSeek-V4-Pro on MI355X: ATOM image of 12 October",
        body=BODY,
        files=ground.ground("", MASTER, **{RECIPE: BUNDLE, OTHER_RECIPE: OTHER_BUNDLE}),
        head={
            ground.AMD: MASTER.replace(OLD_IMAGE, IMAGE),
            ground.CHANGELOG: ground.appended(KEY, "Image of 12 October."),
        },
        engine="atom",
        image=IMAGE,
        servers=servers,
        accepted="3.61",
        checkpoints=(CHECKPOINT,),
    )
