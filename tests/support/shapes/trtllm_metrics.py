"""Purpose: a retune of Qwen3.5 NVFP4 on GB300: TensorRT-LLM behind Dynamo, one prefill and two decode workers, AgentX.

`metrics` varies how the workers publish metrics, in recipe and logs alike, as settings that were there all along.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from tests.support.shapes import ground, outside
from tests.support.shapes.story import Checkpoint, Row, Server, Story

KEY = "qwen3.5-fp4-gb300-dynamo-trt-agentic-mtp-disagg"
MODEL, IMAGE = "nvidia/Qwen3.5-397B-A17B-NVFP4-V2", "nvcr.io#nvidia/tensorrt-llm/release:1.3.0rc27"
RECIPE = f"{ground.MULTI}qwen3.5/trtllm/gb300-fp4/agentx/disagg.yaml"
OTHER_RECIPE = f"{ground.SINGLE}qwen3.5/sglang/gb300-fp4-mtp/agentic.yaml"
WHEEL = "1.5.0.dev20260928"
BACKEND = "  backend: { publish_metrics: true }\n"
STATS = "        enable_iter_perf_stats: true\n"

OTHER = f"""\
qwen3.5-fp4-gb300-sglang-agentic-mtp:
  image: lmsysorg/sglang:v0.5.21-cu130
  model: {MODEL}
  model-prefix: qwen3.5
  runner: cluster:gb300-nv
  precision: fp4
  framework: sglang
  multinode: false
  scenarios:
    agentic-coding:
    - search-space:
      - {{ tp: 4, ep: 4, kv-offloading: none, spec-decoding: mtp, conc-list: [2, 9], srt-recipe: \
{OTHER_RECIPE.removeprefix(ground.ROOT)} }}
"""

OTHER_BUNDLE = """\
schema: 2
name: qwen3.5-fp4-gb300-sglang-agentic
resources: { gpu_type: gb300, gpus_per_node: 4 }
frontend: { type: sglang }
engine: sglang
roles:
  agg:
    nodes: 1
    workers: 1
    gpus: 4
    args:
      tensor-parallel-size: 4
      expert-parallel-size: 4
      speculative-algorithm: NEXTN
      speculative-num-steps: 3
"""

MASTER = f"""\
{OTHER}
{KEY}:
  image: {IMAGE}
  model: {MODEL}
  model-prefix: qwen3.5
  runner: cluster:gb300-nv
  precision: fp4
  framework: dynamo-trt
  router: {{ name: dynamo-router, version: "{WHEEL}" }}
  kv-p2p-transfer: nixl
  multinode: true
  disagg: true
  scenarios:
    agentic-coding:
    - search-space:
      - spec-decoding: mtp
        conc-list: [8, 16, 32, 52]
        srt-recipe: {RECIPE.removeprefix(ground.ROOT)}:override_1p2d
        prefill: {{ num-worker: 1, tp: 4, ep: 4, dp-attn: false }}
        decode: {{ num-worker: 2, tp: 2, ep: 2, dp-attn: false }}
"""

BUNDLE = f"""\
base:
  schema: 2
  name: qwen3.5-fp4-gb300-dynamo-trt-disagg
  resources: {{ gpu_type: gb300, gpus_per_node: 4 }}
  dynamo: {{ install: true, source: {{ wheel: "{WHEEL}" }} }}
  services:
    - {{ name: etcd, type: etcd, placement: {{ node: infra }} }}
    - {{ name: nats, type: nats, placement: {{ node: infra }} }}
  frontend: {{ type: dynamo, enable_multiple_frontends: false, args: {{ router-mode: kv }} }}
{BACKEND}\
  engine: {{ type: trtllm, served_model_name: {MODEL} }}
  roles:
    prefill:
      nodes: 1
      workers: 1
      gpus: 4
      args:
        tensor_parallel_size: 4
        moe_expert_parallel_size: 4
        max_batch_size: 24
{STATS}\
        kv_cache_config: {{ dtype: fp8, free_gpu_memory_fraction: 0.7 }}
        speculative_config: {{ decoding_type: MTP, max_draft_len: 3 }}
    decode:
      nodes: 1
      workers: 2
      gpus: 2
      args:
        tensor_parallel_size: 2
        moe_expert_parallel_size: 2
{STATS}\
        kv_cache_config: {{ dtype: fp8, free_gpu_memory_fraction: 0.8 }}
        speculative_config: {{ decoding_type: MTP, max_draft_len: 3 }}

override_1p2d:
  roles: {{ decode: {{ args: {{ max_batch_size: 52 }} }} }}
"""

_SPECULATION = {"decoding_type": "MTP", "max_draft_len": 3}


def _role(name: str, size: int, batch: int, fraction: float) -> Server:
    config = {
        "tensor_parallel_size": size,
        "moe_expert_parallel_size": size,
        "max_batch_size": batch,
        "enable_iter_perf_stats": True,
        "kv_cache_config": {"dtype": "fp8", "free_gpu_memory_fraction": fraction},
        "speculative_config": _SPECULATION,
    }
    return Server(name, {"publish-metrics": True, "extra-engine-args": f"/run/{name}.yaml"}, {}, config)


def servers(_row: Row, _conc: int) -> tuple[Server, ...]:
    return _role("prefill", 4, 24, 0.7), _role("decode", 2, 80, 0.8)


CHECKPOINT = Checkpoint(
    MODEL,
    {
        "architectures": ["Qwen3_5MoeForCausalLM"],
        "dtype": "bfloat16",
        "num_hidden_layers": 4,
        "mtp_num_hidden_layers": 1,
        "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["mtp*"]},
    },
    {
        "model.layers.0.mlp.experts.0.up_proj.weight": ("U8", [64, 32]),
        "mtp.layers.0.mlp.experts.0.up_proj.weight": ("BF16", [64, 64]),
        "mtp.fc.weight": ("BF16", [64, 128]),
    },
)

BODY = f"""\
## Description

Retunes `{KEY}` (Qwen3.5 NVFP4, TensorRT-LLM behind Dynamo on GB300).

- `max_batch_size` of decode goes from 52 to 80.
- Adds concurrency 76.
"""


@cache
def story() -> Story:
    return Story(
        name="qwen-trt",
        number=5102,
        title="Retune the decode workers of Qwen3.5 on GB300 (Dynamo TensorRT-LLM, AgentX)",
        body=BODY,
        files=ground.ground(MASTER, **{RECIPE: BUNDLE, OTHER_RECIPE: OTHER_BUNDLE}),
        head={
            ground.NVIDIA: MASTER.replace("32, 52]", "32, 52, 76]"),
            RECIPE: BUNDLE.replace("max_batch_size: 52", "max_batch_size: 80"),
            ground.CHANGELOG: ground.appended(KEY, "Decode batches of 80; add concurrency 76."),
        },
        engine="trtllm",
        image=IMAGE,
        servers=servers,
        accepted="2.39",
        checkpoints=(CHECKPOINT,),
        overview=outside.overview(
            [("Qwen3.5", "https://docs.sglang.io/cookbook/autoregressive/Qwen/Qwen3.5", "", "")],
            [("Qwen3.5", "", "https://docs.nvidia.com/dynamo/recipes/qwen3.5-trtllm", "")],
        ),
        details=(f"Dynamo {WHEEL}, metrics published by both roles, iteration statistics on.",),
    )


def metrics(backend: str, *flags: str, stats: str = STATS, logged: bool | None = True) -> Story:
    """Other metrics settings of old: the recipe's `backend` line, the workers' flags, iteration statistics.

    `stats` replaces the line of both roles; `logged` is what the generated configuration shows (None: nothing).
    """
    line = f"  backend: {{ {backend} }}\n" if backend else ""
    made = story().edited(RECIPE, BACKEND, line, of_old=True)
    if stats != STATS:
        made = made.edited(RECIPE, STATS, stats, of_old=True)

    def change(server: Server) -> Server:
        args = {name: value for name, value in server.args.items() if name != "publish-metrics"}
        config = {name: value for name, value in server.config.items() if name != "enable_iter_perf_stats"}
        shown = config if logged is None else {**config, "enable_iter_perf_stats": logged}
        return replace(server, args={**dict.fromkeys(flags, True), **args}, config=shown)

    return made.serving(change)
