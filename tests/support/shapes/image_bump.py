"""Purpose: DeepSeek-V4.1-Flash FP4 on B300 with vLLM, AgentX: only the image changes, recipe and points stay.

Every point is measured again; four DSpark tokens of the checkpoint's own draft, acceptance simulated by vLLM itself.
"""

from __future__ import annotations

from functools import cache

from tests.support.shapes import ground, outside
from tests.support.shapes.story import Checkpoint, Loads, Row, Server, Story, Upstream

KEY = "dsv41flash-fp4-b300-vllm-agentic-dspark"
MODEL = "deepseek-ai/DeepSeek-V4.1-Flash"
OLD_IMAGE, IMAGE = "vllm/vllm-openai:v0.30.2-x86_64", "vllm/vllm-openai:v0.31.0-x86_64"
RECIPE = f"{ground.SINGLE}dsv41flash/vllm/b300-fp4-mtp/agentic.yaml"
SEQUENCES = {2: 4, 5: 10, 16: 32, 32: 64, 64: 128}
SPECULATION = '{"method":"dspark","num_speculative_tokens":4}'

MASTER = f"""\
{KEY}:
  image: {OLD_IMAGE}
  model: {MODEL}
  model-prefix: dsv41flash
  runner: cluster:b300-dsxe
  precision: fp4
  framework: vllm
  multinode: false
  scenarios:
    agentic-coding:
    - search-space:
      - {{ tp: 4, ep: 4, kv-offloading: none, spec-decoding: mtp, conc-list: [2, 5, 16, 32, 64], \
srt-recipe: {RECIPE.removeprefix(ground.ROOT)} }}
"""

BUNDLE = f"""\
base:
  schema: 2
  name: dsv41flash-fp4-b300-vllm-agentic
  resources: {{ gpu_type: b300, gpus_per_node: 8 }}
  frontend: {{ type: vllm, enable_multiple_frontends: false }}
  engine: {{ type: vllm, connector: null }}
  roles:
    agg:
      nodes: 1
      workers: 1
      gpus: 4
      args:
        served-model-name: {MODEL}
        tensor-parallel-size: 4
        enable-expert-parallel: true
        kv-cache-dtype: fp8
        gpu-memory-utilization: 0.93
        speculative-config: '{SPECULATION}'

zip_override_tp4:
  roles:
    agg:
      args:
        max-num-seqs: [4, 10, 32, 64, 128]
  benchmark:
    env:
      CONC: ['2', '5', '16', '32', '64']
"""

UPSTREAM_YAML = """\
meta: { hardware: { b300: verified } }
model:
  model_id: deepseek-ai/DeepSeek-V4.1-Flash
  base_args: [--gpu-memory-utilization, "0.93", --kv-cache-dtype, fp8]
features:
  dspark:
    args: [--speculative-config, '{"method":"dspark","num_speculative_tokens":4}']
  admission:
    modes:
      least: { args: [--max-num-seqs, "4"] }
      small: { args: [--max-num-seqs, "10"] }
      low: { args: [--max-num-seqs, "32"] }
      middle: { args: [--max-num-seqs, "64"] }
      full: { args: [--max-num-seqs, "128"] }
variants:
  default: { precision: fp4 }
compatible_strategies: [single_node_tp, single_node_tep]
"""


def servers(_row: Row, conc: int) -> tuple[Server, ...]:
    args = {
        "served-model-name": MODEL,
        "tensor-parallel-size": 4,
        "enable-expert-parallel": True,
        "kv-cache-dtype": "fp8",
        "gpu-memory-utilization": 0.93,
        "max-num-seqs": SEQUENCES[conc],
        "speculative-config": SPECULATION,
    }
    return (Server("agg", args),)


CHECKPOINT = Checkpoint(
    MODEL,
    {
        "architectures": ["DeepseekV41ForCausalLM"],
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

`{KEY}`: the image moves from `{OLD_IMAGE}` to `{IMAGE}`. Base settings and points are unchanged.
"""


@cache
def story() -> Story:
    return Story(
        name="flash-image",
        number=5107,
        title="DeepSeek-V4.1-Flash on B300: vLLM 0.31.0",
        body=BODY,
        files=ground.ground(MASTER, **{RECIPE: BUNDLE}),
        head={
            ground.NVIDIA: MASTER.replace(OLD_IMAGE, IMAGE),
            ground.CHANGELOG: ground.appended(KEY, "vLLM 0.31.0."),
        },
        engine="vllm",
        image=IMAGE,
        servers=servers,
        loads=Loads("DeepseekV41ForCausalLM", "fp8", "fp8", "drafter"),
        accepted="3.24",
        upstream=(
            Upstream(
                "https://github.com/vllm-project/recipes/pull/840",
                {"models/deepseek-ai/DeepSeek-V4.1-Flash.yaml": UPSTREAM_YAML},
                "vllm-project/recipes",
                840,
            ),
        ),
        checkpoints=(CHECKPOINT,),
        overview=outside.overview([("DeepSeek-V4.1-Flash", "", "", "https://recipes.vllm.ai/deepseek-ai/V4.1")], []),
    )
