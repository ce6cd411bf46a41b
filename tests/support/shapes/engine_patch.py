"""Purpose: the vLLM retune of `vllm_fixed` with a file mounted over the engine, and the waiver that covers it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from tests.support.shapes import ground, vllm_fixed
from tests.support.shapes.story import Story

NUMBER = 5110
KEY, IMAGE, RECIPE = vllm_fixed.KEY, vllm_fixed.IMAGE, vllm_fixed.RECIPE
WAIVER = f"{ground.ROOT}docs/waiver/{NUMBER}.md"
FILE = "/usr/local/lib/python3.12/dist-packages/vllm/v1/core/sched/scheduler.py"
MOUNT = f"  container_mounts: [ '/shared/patches/scheduler.py:{FILE}' ]\n"

TEXT = f"""\
# Engine patch waiver, PR #{NUMBER}

## Config covered
`{KEY}` on `{IMAGE}`, recipe `{RECIPE}`.

## What is patched
One file of the scheduler: a request that was preempted twice is not started a third time.

## Why the unmodified image cannot run
It stops at concurrency 64 with an assertion.

## Upstream links
https://github.com/vllm-project/vllm/pull/31007

## Removal plan
With v0.31.0, which has the change.
"""

BODY = f"""\
## Description

`{KEY}`: `gpu-memory-utilization` 0.9 -> 0.92 at concurrency 4-64, with one scheduler file of vLLM replaced. Image, \
model and draft stay as they are.
"""


@cache
def story() -> Story:
    made = vllm_fixed.story().edited(RECIPE, "  engine: { type: vllm", f"{MOUNT}  engine: {{ type: vllm")
    return replace(
        made,
        name="qwen-vllm-scheduler",
        number=NUMBER,
        title="Qwen3.5 FP8 on B300: more KV cache, scheduler fix",
        body=BODY,
        head={**made.head, WAIVER: TEXT},
        details=(f"Waiver: {WAIVER}",),
    )
