"""Purpose: the job logs of a story as text, engine by engine, as launcher, server and client print them.

Invariants: deterministic; nothing is taken from the recipe. A measuring AgentX job shows the simulated acceptance, an
eval job never does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from tests.support.shapes import ground
from tests.support.shapes.story import Row, Server, Story

PROGRAMS = {
    "sglang": "python3 -m sglang.launch_server",
    "vllm": "vllm serve",
    "trtllm": "python3 -m dynamo.trtllm",
    "atom": "python3 -m atom.entrypoints.openai_server",
}


def log_text(story: Story, row: Row, concs: tuple[int, ...], *, evaluating: bool) -> str:
    """The whole log of one job."""
    lines = [*_set_up(story), *_environment(row, concs, evaluating), *_image(story)]
    simulated = "" if evaluating or "isl" in row else story.simulated.get(concs[0], story.accepted)
    for server in story.servers(row, concs[-1]):
        lines += [*_injected(story, server, simulated), *_server(story, server, simulated), *_loads(story)]
    lines += [*story.log_lines, *_client(story, evaluating)]
    return "".join(f"2026-10-19T09:{n // 60 % 60:02}:{n % 60:02}.0000000Z {line}\n" for n, line in enumerate(lines))


def _set_up(story: Story) -> Iterator[str]:
    yield "Current runner version: '2.331.0'"
    yield f"HEAD is now at {ground.HEAD[:7]} {story.title}"
    yield "[command]/usr/bin/git log -1 --format=%H"
    yield ground.HEAD


def _environment(row: Row, concs: tuple[int, ...], evaluating: bool) -> Iterator[str]:
    agentic = "isl" not in row
    drafting = str(row.get("spec-decoding", "none"))
    variables = {
        "MODEL_PREFIX": str(row["model-prefix"]),
        "SPEC_DECODING": drafting,
        "THINKING_MODE": "thinking_on",
        "IS_AGENTIC": "1" if agentic else "0",
        "EVAL_ONLY": "true" if evaluating else "false",
    }
    if len(concs) == 1:
        variables["CONC"] = str(concs[0])
    if agentic:
        variables["KV_OFFLOADING"] = str(row.get("kv-offloading", "none"))
    elif "prefill" not in row:
        variables["USE_CHAT_TEMPLATE"] = "false" if drafting == "none" else "true"
    yield "##[group]Run the launcher"
    yield from (f"  {name}: {value}" for name, value in variables.items())
    yield "##[endgroup]"


def _image(story: Story) -> Iterator[str]:
    yield f"[launch] Importing docker://{story.image.replace('#', '/')} -> /squash/image.sqsh"
    if story.srt_slurm:
        yield f"[launch] srt-slurm ref: {story.srt_slurm}"


def _injected(story: Story, server: Server, simulated: str) -> Iterator[str]:
    if not simulated:
        return
    if story.engine == "sglang":
        yield f"[launch] roles.{server.role}.env: SGLANG_SIMULATE_ACC_LEN={simulated}"
        yield f"[launch] roles.{server.role}.env: SGLANG_SIMULATE_ACC_METHOD=match-expected"
        yield f"[launch] roles.{server.role}.env: SGLANG_SIMULATE_ACC_TOKEN_MODE=real-draft-token"
    elif story.engine == "trtllm":
        yield f"[launch] roles.{server.role}.env: TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS={simulated}"


def _server(story: Story, server: Server, simulated: str) -> Iterator[str]:
    yield from (f"[launch] roles.{server.role}.env: {name}={value}" for name, value in server.env.items())
    args = dict(server.args)
    if story.engine == "vllm" and simulated and "speculative-config" in args:
        config = json.loads(str(args["speculative-config"]))
        config |= {"rejection_sample_method": "synthetic", "synthetic_acceptance_length": float(simulated)}
        args["speculative-config"] = json.dumps(config)
    if story.engine == "atom" and simulated:
        args["spec-decode-acceptance-length"] = simulated
    if server.role != "agg":
        args["disaggregation-mode"] = server.role
    program = server.program or PROGRAMS[story.engine]
    yield f"[{server.role}] {program}{' /model' if program == 'vllm serve' else ' --model-path /model'} {command(args)}"
    if story.engine == "sglang":
        shown = {name.replace("-", "_"): value for name, value in args.items()}
        yield f"[{server.role}] server_args=ServerArgs({', '.join(f'{k}={v!r}' for k, v in shown.items())})"
    elif story.engine == "vllm":
        shown = {name.replace("-", "_"): _parsed(value) for name, value in args.items()}
        yield f"[{server.role}] INFO non-default args: {shown!r}"
    elif server.config:
        yield f"[{server.role}] engine config ({server.role}): {json.dumps(server.config)}"


def _parsed(value: object) -> object:
    return json.loads(value) if isinstance(value, str) and value.startswith("{") else value


def command(args: Mapping[str, object]) -> str:
    """`--flag value` words, a switch alone; JSON in single quotes."""
    words = []
    for name, value in args.items():
        if value is True:
            words.append(f"--{name}")
        elif isinstance(value, str) and value.startswith("{"):
            words.append(f"--{name} '{value}'")
        else:
            words.append(f"--{name} {value}")
    return " ".join(words)


def _loads(story: Story) -> Iterator[str]:
    loads = story.loads
    if not loads.target or story.engine not in ("sglang", "vllm"):
        return
    if story.engine == "vllm":
        yield "[engine] Starting to load model /model..."
        yield f"[engine] Using KV cache dtype: {loads.cache}"
        if loads.draft:
            yield "[engine] Loading drafter model..."
        return
    yield _loaded(loads.target, loads.quant, "torch.bfloat16")
    yield f"[engine] Using KV cache dtype: {loads.cache}"
    if loads.draft:
        yield _loaded(loads.draft, loads.draft_quant, loads.draft_dtype)
        yield f"[engine] Using KV cache dtype: {loads.draft_cache or loads.cache}"


def _loaded(name: str, quant: str, dtype: str) -> str:
    quantized = f"quant={quant}, " if quant else ""
    return f"[engine] Load weight end. elapsed=90.1 s, type={name}, {quantized}dtype={dtype}, avail mem=60 GB."


def _client(story: Story, evaluating: bool) -> Iterator[str]:
    requests = {"POST /v1/chat/completions": 5} if evaluating else story.requests
    for kind, count in requests.items():
        yield from (f'[server] INFO:     10.0.0.7:{41_000 + n} - "{kind} HTTP/1.1" 200 OK' for n in range(count))
