"""Purpose: a retune of Qwen3.5 FP8 on B300 with vLLM: one node, single-turn 8k1k, two MTP tokens of an FP8 head.

The sweep runs with a canary. The client templates prompts itself and posts them to /v1/completions.
"""

from __future__ import annotations

from functools import cache

from tests.support.shapes import ground, outside
from tests.support.shapes.story import Checkpoint, Loads, Row, Server, Story, Upstream

KEY = "qwen3.5-fp8-b300-vllm-mtp"
MODEL, IMAGE = "Qwen/Qwen3.5-397B-A17B-FP8", "vllm/vllm-openai:v0.30.2-x86_64"
RECIPE = f"{ground.SINGLE}qwen3.5/vllm/b300-fp8-mtp/8k1k.yaml"
SEQUENCES = {4: 8, 8: 16, 16: 32, 32: 64, 64: 128}
SPECULATION = '{"method":"mtp","num_speculative_tokens":2}'

MASTER = f"""\
{KEY}:
  image: {IMAGE}
  model: {MODEL}
  model-prefix: qwen3.5
  runner: cluster:b300-dsxe
  precision: fp8
  framework: vllm
  multinode: false
  scenarios:
    fixed-seq-len:
    - isl: 8192
      osl: 1024
      search-space:
      - {{ tp: 4, ep: 1, spec-decoding: mtp, conc-start: 4, conc-end: 64, srt-recipe: \
{RECIPE.removeprefix(ground.ROOT)} }}
"""

BUNDLE = f"""\
base:
  schema: 2
  name: qwen3.5-fp8-b300-vllm-mtp-8k1k
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
        kv-cache-dtype: fp8
        gpu-memory-utilization: 0.9
        max-num-batched-tokens: 16384
        speculative-config: '{SPECULATION}'

zip_override_tp4:
  roles:
    agg:
      args:
        max-num-seqs: [8, 16, 32, 64, 128]
  benchmark:
    env:
      CONC: ['4', '8', '16', '32', '64']
"""

UPSTREAM_YAML = """\
meta: { hardware: { b300: verified } }
model:
  model_id: Qwen/Qwen3.5-397B-A17B
  base_args: [--gpu-memory-utilization, "0.92", --max-num-batched-tokens, "16384"]
features:
  mtp:
    args: [--speculative-config, '{"method":"mtp","num_speculative_tokens":2}']
  admission:
    modes:
      small: { args: [--max-num-seqs, "8"] }
      low: { args: [--max-num-seqs, "16"] }
      middle: { args: [--max-num-seqs, "32"] }
      high: { args: [--max-num-seqs, "64"] }
      full: { args: [--max-num-seqs, "128"] }
variants:
  default: { precision: bf16 }
  fp8:
    model_id: Qwen/Qwen3.5-397B-A17B-FP8
    extra_args: [--kv-cache-dtype, fp8]
compatible_strategies: [single_node_tp, single_node_tep]
"""


def servers(_row: Row, conc: int) -> tuple[Server, ...]:
    return (
        Server(
            "agg",
            {
                "served-model-name": MODEL,
                "tensor-parallel-size": 4,
                "kv-cache-dtype": "fp8",
                "gpu-memory-utilization": 0.92,
                "max-num-batched-tokens": 16384,
                "max-num-seqs": SEQUENCES[conc],
                "speculative-config": SPECULATION,
            },
        ),
    )


CHECKPOINT = Checkpoint(
    MODEL,
    {
        "architectures": ["Qwen3_5MoeForCausalLM"],
        "torch_dtype": "bfloat16",
        "num_hidden_layers": 4,
        "mtp_num_hidden_layers": 1,
        "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
    },
    {
        "model.layers.0.mlp.experts.0.up_proj.weight": ("F8_E4M3", [128, 128]),
        "mtp.layers.0.mlp.experts.0.up_proj.weight": ("F8_E4M3", [128, 128]),
        "mtp.layers.0.mlp.experts.0.up_proj.weight_scale_inv": ("F32", [1, 1]),
        "mtp.fc.weight": ("BF16", [64, 128]),
    },
)

BODY = f"""\
## Description

`{KEY}`: `gpu-memory-utilization` 0.9 -> 0.92 at concurrency 4-64. Image, model and draft stay as they are.
"""


@cache
def story() -> Story:
    return Story(
        name="qwen-vllm-memory",
        number=5103,
        title="Qwen3.5 FP8 on B300: more KV cache",
        body=BODY,
        files=ground.ground(MASTER, **{RECIPE: BUNDLE}),
        head={
            RECIPE: BUNDLE.replace("utilization: 0.9\n", "utilization: 0.92\n"),
            ground.CHANGELOG: ground.appended(KEY, "More KV cache at every point.", scenario="fixed-seq-len"),
        },
        engine="vllm",
        image=IMAGE,
        servers=servers,
        loads=Loads("Qwen3_5MoeForCausalLM", "fp8", "fp8", "drafter"),
        requests={"POST /v1/completions": 6},
        upstream=(
            Upstream(
                "https://github.com/vllm-project/recipes/pull/812",
                {"models/Qwen/Qwen3.5-397B-A17B.yaml": UPSTREAM_YAML},
                "vllm-project/recipes",
                812,
            ),
        ),
        checkpoints=(CHECKPOINT,),
        overview=outside.overview([("Qwen3.5", "", "", "https://recipes.vllm.ai/Qwen/Qwen3.5")], []),
        label="full-sweep-fail-fast",
    )
