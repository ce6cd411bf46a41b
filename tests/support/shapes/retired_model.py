"""Purpose: a retune of GLM-5, which MODELS.md has fully retired: everything is measured, and nothing may be submitted.

SGLang on one H200 node, single-turn 8k1k, no draft at all.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.support.shapes import ground, outside
from tests.support.shapes.story import Loads, Row, Server, Story, Upstream

KEY = "glm5-fp8-h200-sglang"
MODEL, IMAGE = "zai-org/GLM-5-FP8", "lmsysorg/sglang:v0.5.21-cu130"
RECIPE = f"{ground.SINGLE}glm5/sglang/h200-fp8/8k1k.yaml"
POINTS = (4, 8, 16, 32, 64)

MASTER = f"""\
{KEY}:
  image: {IMAGE}
  model: {MODEL}
  model-prefix: glm5
  runner: cluster:h200-dgxc
  precision: fp8
  framework: sglang
  multinode: false
  scenarios:
    fixed-seq-len:
    - isl: 8192
      osl: 1024
      search-space:
      - {{ tp: 8, ep: 1, conc-start: 4, conc-end: 64, srt-recipe: {RECIPE.removeprefix(ground.ROOT)} }}
"""

PLAIN = """\
schema: 2
name: glm5-fp8-h200-sglang-8k1k
resources: { gpu_type: h200, gpus_per_node: 8 }
frontend: { type: sglang, enable_multiple_frontends: false }
engine: sglang
roles:
  agg:
    nodes: 1
    workers: 1
    gpus: 8
    args:
      tensor-parallel-size: 8
      mem-fraction-static: 0.85
      chunked-prefill-size: 8192
"""


def servers(_row: Row, _conc: int) -> tuple[Server, ...]:
    args = {"tensor-parallel-size": 8, "mem-fraction-static": 0.85, "chunked-prefill-size": 16384}
    return (Server("agg", args),)


def cell() -> dict[str, Any]:
    server = servers({}, 4)[0]
    return {
        "id": f"{KEY}#0",
        "hw": "h200",
        "ckpt": MODEL,
        "configKey": KEY,
        "image": IMAGE,
        "submitted": "sglang",
        "prov": {"sha": ground.HEAD, "pr": 5108, "status": "verified-pr"},
        "points": [{"concs": list(POINTS), "kv": "none"}],
        "routers": {"sglang": {"blocks": [outside.block(server, 1, 1, "python3 -m sglang.launch_server")]}},
    }


BODY = f"""\
## Description

`{KEY}`: `chunked-prefill-size` 8192 -> 16384 at concurrency 4-64. Image and model stay as they are.
"""


@cache
def story() -> Story:
    return Story(
        name="glm5-prefill",
        number=5108,
        title="GLM-5 on H200: larger prefill chunks",
        body=BODY,
        files=ground.ground(MASTER, **{RECIPE: PLAIN}),
        head={
            RECIPE: PLAIN.replace("chunked-prefill-size: 8192", "chunked-prefill-size: 16384"),
            ground.CHANGELOG: ground.appended(KEY, "Larger prefill chunks.", scenario="fixed-seq-len"),
        },
        image=IMAGE,
        servers=servers,
        loads=Loads("GlmMoeForCausalLM", "fp8", "torch.bfloat16"),
        requests={"POST /v1/completions": 6},
        upstream=(
            Upstream(
                "https://github.com/sgl-project/sglang/pull/46040",
                {"docs/src/snippets/agentx/zai-org/glm-5.jsx": outside.snippet([cell()], "GLM-5")},
                "sgl-project/sglang",
                46040,
            ),
        ),
        overview=outside.overview([("GLM-5", "https://docs.sglang.io/cookbook/GLM/GLM-5", "", "")], []),
    )
