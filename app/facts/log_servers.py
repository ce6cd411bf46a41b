"""Purpose: effective server settings out of a log's lines, engine by engine, per serving role.

Source: evidence.md 6.4, rules.md ("The recipe is not the command", 17). What an engine printed of itself
(`ServerArgs(...)`, `non-default args`, the generated engine configuration) stands above its command line.

Invariants: keys are canonical flags (`app.target.flags`), of TRT-LLM snake_case; a private field such as
`_speculative_draft_quantization_explicitly_set` loses its leading underscore. Nothing is executed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.facts.log_lines import HIDDEN, redacted, secret_name
from app.facts.log_values import block_settings, command_settings, pairs_in, plain, shown
from app.target.flags import canonical

MAX_BLOCK = 400
MAX_PRINTS = 200

_COMMAND = re.compile(
    r"(?:\bpython3?(?:\.\d+)? -m (sglang\.launch_server|dynamo\.(?:sglang|vllm|trtllm)|vllm\.entrypoints\.[\w.]+"
    r"|tensorrt_llm\.commands\.serve|atom\.entrypoints\.[\w.]+|tilert[\w.]*)"
    r"|\b(sglang serve|vllm serve|trtllm-serve(?: serve)?|tilert serve))(?=\s)"
)
_SGLANG_ARGS = re.compile(r"\bServerArgs\(")
_TRTLLM_ARGS = re.compile(r"\b(?:Torch|Trt)?L[lL][mM]Args\(")
_VLLM_ARGS = re.compile(r"\bnon-default args: \{")
_VLLM_CONFIG = re.compile(r"\bInitializing an? (?:V1 )?LLM engine \(v([\w.+-]+)\) with config: ")
_ATOM_ARGS = re.compile(r"\b(?:ATOM )?[Ee]ngine (?:kw)?args: \{")
_ENGINE_CONFIG = re.compile(
    r"\b(?:trtllm_config_|engine[_ ]config[_ ]\(?)(prefill|decode|agg)(?:\.ya?ml)?\)?:?\s*(\{)?"
)
_WORDS = ("Args(", "args: {", "LLM engine (", " -m ", "serve", "trtllm_config_", "engine config", "engine_config")
_MODE = re.compile(r"\A(?:disaggregation-mode|disaggregation_mode)\Z")


@dataclass
class Found:
    """One settled value: its text, its line, and how strong the print was (2 the engine's own, 1 a command line)."""

    value: str
    line: int
    strength: int


@dataclass
class Servers:
    """Collects settings line by line: `roles` maps role -> canonical flag -> Found.

    `conflicts` are flags for which prints of the same strength gave two values; the first one stands.
    """

    roles: dict[str, dict[str, Found]] = field(default_factory=dict)
    conflicts: dict[tuple[str, str], tuple[Found, Found]] = field(default_factory=dict)
    engines: dict[str, str] = field(default_factory=dict)
    cut_off: list[int] = field(default_factory=list)
    _last_role: str = "agg"
    _prints: int = 0
    _block: list[str] = field(default_factory=list)
    _block_of: tuple[str, int] | None = None

    def read(self, line: str, number: int) -> bool:
        """Look at one clean line; True where it held settings."""
        if self._block_of is not None:
            if len(self._block) < MAX_BLOCK and re.match(r" *[A-Za-z_][\w.-]*:(?: |\Z)| *- ", line):
                self._block.append(line)
                return True
            self.end()
        if self._prints >= MAX_PRINTS or not any(word in line for word in _WORDS):
            return False
        return self._printed(line, number) or self._command(line, number) or self._engine_config(line, number)

    def end(self) -> None:
        """Take in what an open YAML block held."""
        if self._block_of is not None:
            role, number = self._block_of
            settings = block_settings(self._block)
            self._keep("trtllm", role, {key: shown(value) for key, value in settings.items()}, number, 2)
        self._block, self._block_of = [], None

    def _printed(self, line: str, number: int) -> bool:
        for pattern, engine in (
            (_SGLANG_ARGS, "sglang"),
            (_VLLM_ARGS, "vllm"),
            (_TRTLLM_ARGS, "trtllm"),
            (_ATOM_ARGS, "atom"),
        ):
            if found := pattern.search(line):
                self._pairs(engine, line, found.end(), number)
                return True
        if found := _VLLM_CONFIG.search(line):
            self._pairs("vllm", line, found.end(), number, until_end=True)
            return True
        return False

    def _pairs(self, engine: str, line: str, start: int, number: int, until_end: bool = False) -> None:
        pairs = pairs_in(line, start, until_end=until_end)
        if not pairs.closed:
            self.cut_off.append(number)
        settings = {key.lstrip("_"): plain(value) for key, value in pairs.items}
        self._keep(engine, self._role(settings), settings, number, 2)

    def _command(self, line: str, number: int) -> bool:
        found = _COMMAND.search(line)
        if found is None:
            return False
        engine = _engine_of(found[1] or found[2])
        settings = dict(command_settings(line[found.end() :]))
        self._last_role = "agg"
        self._last_role = self._role(settings)
        self._keep(engine, self._last_role, settings, number, 1)
        return True

    def _engine_config(self, line: str, number: int) -> bool:
        found = _ENGINE_CONFIG.search(line)
        if found is None:
            return False
        if found[2]:
            pairs = pairs_in(line, found.end())
            self._keep("trtllm", found[1], {key: plain(_literal(value)) for key, value in pairs.items}, number, 2)
        else:
            self._block_of = (found[1], number)
        return True

    def _role(self, settings: Mapping[str, str]) -> str:
        mode = next((value for key, value in settings.items() if _MODE.match(key)), "")
        if mode in ("prefill", "decode"):
            return mode
        if settings.get("is-prefill-worker") == "True":
            return "prefill"
        return self._last_role

    def _keep(self, engine: str, role: str, settings: Mapping[str, str], number: int, strength: int) -> None:
        self._prints += 1
        self.engines.setdefault(role, engine)
        known = self.roles.setdefault(role, {})
        for name, value in settings.items():
            shown_value = HIDDEN if secret_name(name) and value != "None" else redacted(value)
            flag, new = canonical(engine, name), Found(shown_value, number, strength)
            old = known.get(flag)
            if old is None or old.strength < strength:
                known[flag] = new
            elif old.strength == strength and old.value != value:
                self.conflicts.setdefault((role, flag), (old, new))


def _engine_of(program: str) -> str:
    for part, engine in (("sglang", "sglang"), ("vllm", "vllm"), ("atom", "atom"), ("tilert", "tilert")):
        if part in program:
            return engine
    return "trtllm"


def _literal(text: str) -> str:
    """JSON words as Python spells them, where the whole value is one."""
    return {"true": "True", "false": "False", "null": "None"}.get(text, text)
