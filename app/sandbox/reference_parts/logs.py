"""Purpose: the job logs of the reference run as GitHub keeps them: time stamps, step groups, the launcher, the server.

Invariants: deterministic; the effective server arguments come from the settings table; a measuring job exports the
simulated acceptance and the eval job does not name it at all. The draft's cache is BF16 where fa4 serves it (the
pinned image forces it) and FP8, inherited from the target, where the default attention does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from app.sandbox.clock import iso, moment
from app.sandbox.reference_parts import names
from app.sandbox.reference_parts.results import EVAL_SAMPLES, REQUESTS, experiment
from app.sandbox.reference_parts.settings import FA4_POINTS, environment, offloading, server

ACCEPTANCE = {
    "SGLANG_SIMULATE_ACC_LEN": "4.05",
    "SGLANG_SIMULATE_ACC_METHOD": "match-expected",
    "SGLANG_SIMULATE_ACC_TOKEN_MODE": "real-draft-token",
}
STAGED = "/mnt/gb200-nv/models/muse-spark-open-nvfp4"


def agentic_log(concurrency: int, runner: str, started: str) -> str:
    """The log of a measuring job."""
    lines = [*_set_up(runner), *_launch(concurrency, False), *_serve(concurrency), *_replay(concurrency)]
    return _stamped(lines, started)


def eval_log(concurrency: int, runner: str, started: str) -> str:
    """The log of the eval-only job: the same server with real verification."""
    lines = [*_set_up(runner), *_launch(concurrency, True), *_serve(concurrency), *_gsm8k(concurrency)]
    return _stamped(lines, started)


def _stamped(lines: Iterable[str], started: str) -> str:
    at = moment(started)
    return "".join(f"{iso(at + n * 3)[:-1]}.{(n * 7919) % 10_000_000:07d}Z {line}\n" for n, line in enumerate(lines))


def _set_up(runner: str) -> Iterator[str]:
    yield "Current runner version: '2.331.0'"
    yield f"Runner name: '{runner}'"
    yield "##[group]GITHUB_TOKEN Permissions"
    yield "Contents: read"
    yield "##[endgroup]"
    yield "##[group]Run actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8"
    yield "with:"
    yield f"  ref: {names.HEAD_SHA}"
    yield "  submodules: true"
    yield "##[endgroup]"
    yield f"HEAD is now at {names.HEAD_SHA[:7]} {names.TITLE}"
    yield "[command]/usr/bin/git log -1 --format=%H"
    yield names.HEAD_SHA


def _launch(concurrency: int, evaluating: bool) -> Iterator[str]:
    variables = {
        "MODEL": names.MODEL,
        "MODEL_PREFIX": "musespark",
        "EXP_NAME": experiment(concurrency),
        "TP": "4",
        "EP_SIZE": "4",
        "CONC": str(concurrency),
        "SPEC_DECODING": "mtp",
        "THINKING_MODE": "thinking_on",
        "IS_AGENTIC": "1",
        "EVAL_ONLY": "true" if evaluating else "false",
        "RUN_EVAL": "true" if evaluating else "false",
        "KV_OFFLOADING": offloading(concurrency),
    }
    yield "##[group]Run python -m infx.launch run"
    yield "env:"
    for name, value in variables.items():
        yield f"  {name}: {value}"
    yield "##[endgroup]"
    yield "\x1b[36m[launch]\x1b[0m cluster gb200-nv, 4 GPUs a node, partition batch"
    yield f"[launch] Importing docker://{names.IMAGE} -> /mnt/gb200-nv/squash/sglang-dev-muse-spark-open.sqsh"
    yield "[INFO] Querying registry for permission grant"
    yield "[INFO] Fetching image manifest"
    yield f"[INFO] Digest: {names.DIGEST}"
    yield f"[launch] srt-slurm ref: {names.SRT_SLURM_SHA}"
    yield f"[launch] recipe variant musespark-fp4-gb200-sglang-agentic_tp4_c{concurrency}"
    if evaluating:
        yield "[launch] eval-only job: real verification, nothing is injected"
    else:
        yield "[launch] golden curve musespark_dflash, thinking_on, 7 speculated tokens: 4.05"
        for name, value in ACCEPTANCE.items():
            yield f"[launch] roles.agg.env: {name}={value}"
    for name, value in environment(concurrency).items():
        yield f"[launch] roles.agg.env: {name}={value}"
    yield f"[launch] Submitted batch job {418_800 + concurrency}"


def _serve(concurrency: int) -> Iterator[str]:
    yield f"[node] python3 -m sglang.launch_server {_command(concurrency)}"
    yield "[node] SGLang version: 0.5.22.dev20261012"
    yield f"[server] server_args=ServerArgs({_effective(concurrency)})"
    yield "[server TP0] Init torch distributed begin."
    yield "[server TP0] Load weight begin. avail mem=183.41 GB"
    yield (
        "[server TP0] Load weight end. elapsed=742.18 s, type=MuseSparkForCausalLM, quant=modelopt_fp4, "
        "dtype=torch.bfloat16, avail mem=62.07 GB, mem usage=121.34 GB."
    )
    yield "[server TP0] Using KV cache dtype: torch.float8_e4m3fn"
    yield "[server TP0] KV Cache is allocated. #tokens: 1486100, K size: 22.41 GB, V size: 22.41 GB"
    yield f"[server TP0] DFLASH draft worker: {names.DRAFT}"
    yield (
        "[server TP0] Load weight end. elapsed=21.60 s, type=MuseSparkDFlash2DraftModel, dtype=torch.bfloat16, "
        "avail mem=14.83 GB, mem usage=2.44 GB."
    )
    if concurrency in FA4_POINTS:
        yield "[server TP0] fa4 draft attention: the draft's cache is kept in bfloat16"
    draft = "bfloat16" if concurrency in FA4_POINTS else "float8_e4m3fn"
    yield f"[server TP0] Using KV cache dtype: torch.{draft}"
    yield "[server TP0] KV Cache is allocated. #tokens: 1486100, K size: 0.61 GB, V size: 0.61 GB"
    yield f"[server TP0] Capture decode cuda graph end. bs up to {server(concurrency)['cuda-graph-max-bs-decode']}"
    yield "[server] INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)"


def _command(concurrency: int) -> str:
    words = [f"--model-path {STAGED}", "--host 0.0.0.0", "--port 30000"]
    words += [f"--{flag}" if value is True else f"--{flag} {value}" for flag, value in server(concurrency).items()]
    return " ".join(words)


def _effective(concurrency: int) -> str:
    """The server's own print of its arguments: Python spelling, defaults filled in."""
    settings = {"model_path": STAGED, "tokenizer_path": STAGED, "host": "0.0.0.0", "port": 30000}  # noqa: S104
    settings.update({_FIELDS.get(flag, flag).replace("-", "_"): value for flag, value in server(concurrency).items()})
    settings.setdefault("schedule_policy", "fcfs")
    settings.setdefault("enable_hierarchical_cache", False)
    settings.setdefault("attention_backend", "trtllm_mha")
    shown = {
        **settings,
        "dtype": "auto",
        "json_model_override_args": "{}",
        "speculative_num_steps": None,
        "speculative_draft_model_revision": "main",
        "speculative_draft_model_quantization": "modelopt_fp4",
        "_speculative_draft_quantization_explicitly_set": False,
        "speculative_draft_kv_cache_dtype": None,
        "speculative_draft_attention_backend": settings.get("speculative_draft_attention_backend", "trtllm_mha"),
    }
    return ", ".join(f"{name}={value!r}" for name, value in shown.items())


_FIELDS = {"tensor-parallel-size": "tp-size", "expert-parallel-size": "ep-size"}


def _access(count: int, path: str) -> Iterator[str]:
    for number in range(count):
        yield f'[server] INFO:     10.0.12.7:{41_000 + number % 512} - "POST {path} HTTP/1.1" 200 OK'


def _replay(concurrency: int) -> Iterator[str]:
    yield f"[aiperf] replaying semianalysis_cc_traces_weka_062126 at concurrency {concurrency} for 3600 s"
    yield '[server] INFO:     10.0.12.7:40998 - "GET /health HTTP/1.1" 200 OK'
    yield from _access(REQUESTS[concurrency], "/v1/chat/completions")
    yield "[server TP0] Decode batch, accept len: 4.05, cuda graph: True"
    yield f"[aiperf] {REQUESTS[concurrency]} requests sent; results written"
    yield "Cleaning up orphan processes"


def _gsm8k(concurrency: int) -> Iterator[str]:
    yield f"[lm_eval] gsm8k, 5 shots, {EVAL_SAMPLES} samples, concurrency {concurrency}, chat completions"
    yield from _access(EVAL_SAMPLES, "/v1/chat/completions")
    yield "[server TP0] Decode batch, accept len: 4.17, cuda graph: True"
    yield "[lm_eval] exact_match,strict-match 0.9757 +- 0.0042"
    yield "Cleaning up orphan processes"
