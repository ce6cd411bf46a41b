"""Purpose: reduce one job's log to the facts that checks read: variables, request counts, images, server settings,
model loads, cache types, versions, refs, and which markers of a complete log are not there.

`extract` reads the log once, line by line. Source: evidence.md 1.6, 6.3, 6.4, 7, 9; workflows.md 8.

Invariants: the log is data. Nothing in it is run; every list, value and quoted line is bounded, whatever the log's
size; the same log gives the same record. A value of a variable or setting that matters and that the log names twice
differently is a `problem`, so that no line can be slipped in front of the server's own. Accepted: a log printed by
the run's own scripts can say anything; checks weigh it together with the recipe.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from app.facts.log_lines import numbered_lines, redacted
from app.facts.log_servers import Servers
from app.facts.records import JobLogRecord, LogValue
from app.target.flags import canonical_image

EXTRACTOR = "log-facts/1"
MAX_LISTED = 64
MAX_PATHS = 32
MAX_QUOTED = 60
QUOTE = 240
MAX_TEXT = 2_000

COUNTED = ("POST /v1/chat/completions", "POST /v1/completions", "POST /generate")
"""Request kinds that are counted even where none was made, as soon as the log has an access log."""

VARIABLES = (
    r"SGLANG_SIMULATE_[A-Z_]+|TILERT_SIMULATE_[A-Z_]+|TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS"
    r"|SYNTHETIC_ACCEPTANCE(?:_[A-Z_]+)?|DYN_TRTLLM_PUBLISH_[A-Z_]+|DYN_PUBLISH_KV_EVENTS|DYN_DEFAULT_THINKING_MODE"
    r"|THINKING_MODE|SPEC_DECODING|IS_AGENTIC|EVAL_ONLY|RUN_EVAL|MODEL_PREFIX|CONC|KV_OFFLOADING|KV_OFFLOAD_BACKEND"
    r"|USE_CHAT_TEMPLATE|SGLANG_DEFAULT_THINKING|SGLANG_NVFP4_CKPT_FP8_[A-Z_]+|SGLANG_GLM_NEXTN_[A-Z_]+"
    r"|SGLANG_FP8_IGNORED_LAYERS|SGLANG_QUANT_ALLOW_DOWNCASTING"
)
DECISIVE = re.compile(
    r"SGLANG_SIMULATE_|TILERT_SIMULATE_|TLLM_SPEC_|SYNTHETIC_|SGLANG_NVFP4_|SGLANG_GLM_|SGLANG_FP8_|SGLANG_QUANT_"
    r"|DYN_TRTLLM_|(?:speculative|quantization|dtype|kv-cache-dtype|json-model-override|hf-overrides|model-path)"
)
"""Variables and flags for which two values in one log are a problem and not a detail."""

_VARIABLE = re.compile(
    rf"(?<![\w$])({VARIABLES})['\"]?(?:=|: ?)(?:\"([^\"]{{0,512}})\"|'([^']{{0,512}})'|([^\s,;\"'`)}}\]]*))", re.ASCII
)
_REQUEST = re.compile(r'"(GET|POST|PUT|DELETE|HEAD) (/[^ "?]{0,200})[^"]{0,400} HTTP/\d')
_IMAGE = re.compile(
    r"(?:docker://|[Pp]ulling image:? |[Ii]mporting (?:image )?|[Dd]ownloaded newer image for )"
    r"([a-z0-9][\w.-]*(?:[/#:][\w.-]+)+(?:@sha256:[0-9a-f]{64})?)"
)
_DIGEST = re.compile(r"\b[Dd]igest:? (sha256:[0-9a-f]{64})\b")
_LOADED = re.compile(r"\bLoad weight end\. (.+)")
_LOAD_PAIR = re.compile(r"\b(type|quant|dtype|fmt|bits)=([\w.:+-]+)")
_DRAFT_CLASS = re.compile(r"draft|nextn|mtp|eagle|dflash|dspark", re.IGNORECASE)
_VLLM_LOADING = re.compile(r"\b(?:Starting to load|Loading) (drafter |draft )?model\b ?([\w./:-]*)")
_KV_DTYPE = re.compile(r"\b(?:Using KV cache dtype:? |KV cache dtype:? |kv_cache_dtype is )([\w.]+)")
_VERSIONS = re.compile(
    r"\b(ai-dynamo(?:-runtime)?|dynamo|sglang|vllm|tensorrt[_-]llm|atom|tilert|srtctl|aiperf|lm[_-]eval)"
    r"(?:==|-(?=\d)| version:? )v?(\d+\.[\w.+-]*)",
    re.IGNORECASE,
)
_OWN_VERSION = re.compile(
    r"\b(vLLM API server|TensorRT[- ]LLM|SGLang|vLLM|LLM engine) (?:version:? |\(v)v?(\d[\w.+-]*)"
)
_CHECKOUT = re.compile(r"\A([0-9a-f]{40})\Z")
_HEAD_AT = re.compile(r"\bHEAD is now at ([0-9a-f]{7,40})\b")
_SRT_SLURM = re.compile(
    r"\bsrt-slurm(?:\.git)? ?(?:(?:ref|commit|revision)[:=]?|at|@) ?([\w./-]{1,80})"
    r"|\bSRT_SLURM_(?:REF|SHA)(?:=|: )([\w./-]{1,80})"
)
_OWN_NAMES = {"vLLM API server": "vllm", "LLM engine": "vllm", "vLLM": "vllm", "SGLang": "sglang"}

_ENGINE_WORDS = ("SGLANG_", "TILERT_", "TLLM_", "DYN_", "SYNTHETIC_")
_VARIABLE_WORDS = (
    *_ENGINE_WORDS,
    "_MODE",
    "SPEC_DECODING",
    "IS_AGENTIC",
    "EVAL",
    "PREFIX",
    "CONC",
    "OFFLOAD",
    "USE_CHAT",
)
_IMAGE_WORDS = ("docker://", "mage", "igest", "mporting ")
_MODEL_WORDS = ("Load weight", "oading ", "to load ", "KV cache dtype", "kv_cache_dtype is")
_VERSION_WORDS = (
    "dynamo",
    "sglang",
    "SGLang",
    "vllm",
    "vLLM",
    "LLM",
    "llm",
    "atom",
    "tilert",
    "srtctl",
    "aiperf",
    "eval",
)

MARKERS = (
    "measured commit",
    "srt-slurm ref",
    "image",
    "server arguments",
    "model load",
    "KV cache type",
    "access log",
)
"""What a complete log of a served benchmark holds; `missing` names those that are not there."""


@dataclass
class _Scan:
    """State of one pass. Each reader first looks for a plain word of its patterns: most lines have none of them."""

    env: dict[str, LogValue] = field(default_factory=dict)
    requests: dict[str, int] = field(default_factory=dict)
    images: dict[str, int] = field(default_factory=dict)
    loads: list[LogValue] = field(default_factory=list)
    caches: list[LogValue] = field(default_factory=list)
    versions: dict[str, LogValue] = field(default_factory=dict)
    refs: dict[str, LogValue] = field(default_factory=dict)
    quoted: list[LogValue] = field(default_factory=list)
    problems: dict[str, None] = field(default_factory=dict)
    servers: Servers = field(default_factory=Servers)
    lines: int = 0
    role: str = "target"

    def line(self, number: int, text: str) -> None:
        self.lines = number
        if not text:
            self.servers.read(text, number)
            return
        if self._request(text):
            return
        told = self.servers.read(text, number)
        told |= self._variables(text, number)
        told |= self._images(text, number)
        told |= self._models(text, number)
        told |= self._versions(text, number)
        told |= self._refs(text, number)
        if told and len(self.quoted) < MAX_QUOTED:
            self.quoted.append(LogValue(value=redacted(text.strip()[: 2 * QUOTE])[:QUOTE], line=number))

    def _request(self, text: str) -> bool:
        found = _REQUEST.search(text) if " HTTP/" in text else None
        if found is None:
            return False
        kind = f"{found[1]} {found[2]}"
        if kind not in self.requests and len(self.requests) >= MAX_PATHS and kind not in COUNTED:
            kind = "other"
        self.requests[kind] = self.requests.get(kind, 0) + 1
        return True

    def _variables(self, text: str, number: int) -> bool:
        if not any(word in text for word in _VARIABLE_WORDS):
            return False
        told = False
        for found in _VARIABLE.finditer(text):
            name, value = found[1], next(part for part in found.groups()[1:] if part is not None)[:MAX_TEXT]
            if value.startswith("$") or not value:
                continue
            told = True
            old = self.env.setdefault(name, LogValue(value=value, line=number))
            if old.value != value and DECISIVE.match(name):
                self._two_values(name, old.line, number)
        return told

    def _images(self, text: str, number: int) -> bool:
        if not any(word in text for word in _IMAGE_WORDS):
            return False
        told = False
        for found in _IMAGE.finditer(text):
            told = True
            if len(self.images) < MAX_LISTED:
                self.images.setdefault(canonical_image(found[1]), number)
        digest = _DIGEST.search(text)
        if digest is not None and self.images:
            told = True
            last = next(reversed(self.images))
            if "@" not in last:
                self.images[f"{last}@{digest[1]}"] = self.images.pop(last)
        return told

    def _models(self, text: str, number: int) -> bool:
        if not any(word in text for word in _MODEL_WORDS):
            return False
        if found := _LOADED.search(text):
            pairs = {name: value.rstrip(".") for name, value in _LOAD_PAIR.findall(found[1])}
            self.role = "draft" if _DRAFT_CLASS.search(pairs.get("type", "")) else "target"
            told = " ".join([f"role={self.role}", *(f"{name}={value}" for name, value in pairs.items())])
            self._list(self.loads, told, number)
            return True
        if found := _VLLM_LOADING.search(text):
            self.role = "draft" if found[1] else "target"
            named = f" model={found[2].rstrip('.:')}" if found[2].strip(".:") else ""
            self._list(self.loads, f"role={self.role}{named}", number)
            return True
        if found := _KV_DTYPE.search(text):
            self._list(self.caches, f"role={self.role} dtype={found[1].rstrip('.')}", number)
            return True
        return False

    def _versions(self, text: str, number: int) -> bool:
        if not any(word in text for word in _VERSION_WORDS):
            return False
        told = False
        for name, version in [*_VERSIONS.findall(text), *_OWN_VERSION.findall(text)]:
            package = _OWN_NAMES.get(name, name).lower().replace("_", "-").replace("tensorrt llm", "tensorrt-llm")
            if len(self.versions) < MAX_LISTED:
                self.versions.setdefault(package, LogValue(value=version.rstrip(".)"), line=number))
                told = True
        return told

    def _refs(self, text: str, number: int) -> bool:
        if ("srt-slurm" in text or "SRT_SLURM" in text) and (found := _SRT_SLURM.search(text)):
            value = (found[1] or found[2]).rstrip(".")
            old = self.refs.get("srt-slurm")
            if old is None or (_CHECKOUT.match(value) and not _CHECKOUT.match(old.value)):
                self.refs["srt-slurm"] = LogValue(value=value, line=number)
            return True
        bare = text.strip()
        found = _CHECKOUT.match(bare) if len(bare) == 40 else None
        if "HEAD is now at" in text:
            found = _HEAD_AT.search(bare)
        if found is None:
            return False
        old = self.refs.get("checkout")
        if old is None or (len(old.value) < 40 and found[1].startswith(old.value)):
            self.refs["checkout"] = LogValue(value=found[1], line=number)
        return old is None

    def _list(self, into: list[LogValue], text: str, number: int) -> None:
        if len(into) < MAX_LISTED and all(known.value != text for known in into):
            into.append(LogValue(value=text[:MAX_TEXT], line=number))

    def _two_values(self, name: str, first: int, second: int) -> None:
        if len(self.problems) < 8:
            self.problems.setdefault(f"{name} has two values, in lines {first} and {second}")

    def settle(self) -> None:
        self.servers.end()
        for (_role, flag), (old, new) in self.servers.conflicts.items():
            if DECISIVE.match(flag):
                self._two_values(flag, old.line, new.line)
        for number in self.servers.cut_off[:3]:
            self.problems.setdefault(f"the server arguments in line {number} are cut off")
        if self.requests:
            self.requests = {**dict.fromkeys(COUNTED, 0), **self.requests}

    def missing(self) -> tuple[str, ...]:
        found = (
            "checkout" in self.refs,
            "srt-slurm" in self.refs,
            bool(self.images),
            bool(self.servers.roles),
            bool(self.loads),
            bool(self.caches),
            bool(self.requests),
        )
        return tuple(marker for marker, there in zip(MARKERS, found, strict=True) if not there)


def extract(text: str | Iterable[str], *, job_id: int, run_id: int, job_name: str) -> JobLogRecord:
    """Facts of one log, given whole or in chunks. Never raises; what is not there stands in `missing`.

    Server settings are canonical flag -> text (`log_values`), per role agg, prefill, decode. `loads` entries read
    `role=target type=... quant=...`, `kv_caches` entries `role=draft dtype=torch.bfloat16`.
    """
    scan = _Scan()
    for number, line in numbered_lines(text):
        scan.line(number, line)
    scan.settle()
    return JobLogRecord(
        job_id=job_id,
        run_id=run_id,
        job_name=job_name,
        extractor=EXTRACTOR,
        lines=scan.lines,
        env=dict(sorted(scan.env.items())),
        requests=dict(sorted(scan.requests.items())),
        images=tuple(LogValue(value=image, line=line) for image, line in scan.images.items()),
        server_args={
            role: {flag: LogValue(value=found.value, line=found.line) for flag, found in sorted(flags.items())}
            for role, flags in sorted(scan.servers.roles.items())
        },
        loads=tuple(scan.loads),
        kv_caches=tuple(scan.caches),
        versions=dict(sorted(scan.versions.items())),
        refs=dict(sorted(scan.refs.items())),
        quoted=tuple(scan.quoted),
        missing=scan.missing(),
        problem="; ".join(scan.problems),
    )
