"""Purpose: which acceptance length a point must have, and which one its recipe, its master row and its log show.

Source: rules.md 11, evidence.md 1. The generation role decides; a value is injected by the launcher (October) or
pinned in recipe, master row or script (August).

Invariants: numbers compare after rounding to two decimals; a value shown without the bonus token (TensorRT-LLM) is
compared as such. A log that is incomplete shows nothing by leaving a value out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from app.facts.records import JobLogRecord, LogValue
from app.facts.repository import GoldenCurves
from app.facts.values import parsed, same_number, text_of
from app.planner.points import Point
from app.target.golden import Curve, acceptance_length, curve_name, injected
from app.target.recipe import EffectiveRecipe, Setting, Speculation
from app.target.source import RejectedInput
from app.target.speculation import Pinned, pinned_acceptance, pinned_by_row, speculation_of
from checks.contract import Finding, LogSpan, Where

SIMULATED = (
    "SGLANG_SIMULATE_ACC_LEN",
    "SGLANG_SIMULATE_ACC_METHOD",
    "SGLANG_SIMULATE_ACC_TOKEN_MODE",
    "TILERT_SIMULATE_ACC_LEN",
    "TILERT_SIMULATE_ACC_METHOD",
    "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS",
    "SYNTHETIC_ACCEPTANCE",
    "SYNTHETIC_ACCEPTANCE_LENGTH",
)
"""Variables that simulate acceptance, or carry its length."""

VLLM_KEYS = ("synthetic_acceptance_length", "synthetic_acceptance_rates")
ATOM_FLAGS = ("spec-decode-acceptance-length", "spec-decode-acceptance-rate")


class Refused(Exception):  # noqa: N818
    """The point cannot have a golden acceptance length; `finding` says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.found)
        self.finding = finding


@dataclass(frozen=True)
class Golden:
    """What a point drafts with and the acceptance length that its curve gives."""

    engine: str
    speculation: Speculation
    length: int
    curve_name: str
    curve: Curve
    thinking: str
    value: Decimal

    @property
    def drafted(self) -> str:
        """`DFLASH with 8 draft tokens = 7 speculative`, `MTP with 3 speculative tokens`."""
        method = self.speculation.method.upper()
        tokens = text_of(self.speculation.decided_by.value)
        if self.speculation.method == "dflash":
            return f"{method} with {tokens} draft tokens = {self.length} speculative"
        return f"{method} with {self.length} speculative tokens"

    @property
    def expected(self) -> str:
        return f"{self.curve_name} {self.thinking}/{self.length} = {self.value}"


def golden_of(point: Point, engine: str, speculation: Speculation, curves: GoldenCurves, thinking: str) -> Golden:
    """The golden value. Raises Refused for a missing curve, an unmeasured length or an unclear sampler."""
    prefix = str(point.row.get("model-prefix", ""))
    try:
        name = curve_name(prefix, speculation)
        curve = curves.curves.get(name)
        if curve is None:
            where = speculation.decided_by.where
            raise Refused(
                Finding(
                    where,
                    f"there is no committed golden curve {name} for {point.key}",
                    f"{name}.yaml among the golden curves of the target branch",
                    "Commit the measured curve first, or state the source of the value in the sign-off.",
                )
            )
        cell = acceptance_length(curve, thinking, speculation.length)
    except RejectedInput as rejected:
        raise Refused(rejection(rejected, point)) from None
    length = speculation.length or 0
    return Golden(engine, speculation, length, name, curve, thinking, cell.value)


def rejection(rejected: RejectedInput, point: Point) -> Finding:
    """A reader's refusal as a finding."""
    problem = rejected.problems[0]
    found = f"{problem.found} ({point.key} {{at}})"
    return Finding(problem.where, f"{problem.rule} Found: {found}", problem.rule, problem.fix)


def drafting_roles(recipe: EffectiveRecipe) -> tuple[str, ...]:
    """Roles with speculation of their own; a prefill role that only carries a length is none."""
    return tuple(name for name in recipe.roles if speculation_of(recipe, name) is not None)


def hard_coded(point: Point, recipe: EffectiveRecipe) -> Iterator[tuple[str, str, Where]]:
    """(name, value, where) of each setting of recipe or master row that simulates acceptance."""
    for role in recipe.roles.values():
        yield from _variables(role.env)
        yield from _arguments(role.args)
    yield from _variables(recipe.environment)
    yield from _variables(recipe.benchmark_env)
    for worker in ("prefill", "decode", "worker"):
        block = point.row.get(worker)
        for item in (block.get("additional-settings") or ()) if isinstance(block, Mapping) else ():
            name, _, value = str(item).partition("=")
            if name in SIMULATED and _on(value):
                yield name, value, point.master


def _variables(env: Mapping[str, Setting]) -> Iterator[tuple[str, str, Where]]:
    for name in SIMULATED:
        setting = env.get(name)
        if setting is not None and _on(str(setting.value)):
            yield name, str(setting.value), setting.where


def _arguments(args: Mapping[str, Setting]) -> Iterator[tuple[str, str, Where]]:
    for flag in ATOM_FLAGS:
        if flag in args:
            yield flag, text_of(args[flag].value), args[flag].where
    config = args.get("speculative-config")
    inside = None if config is None else parsed(config.value)
    if config is not None and isinstance(inside, Mapping):
        for key in VLLM_KEYS:
            if inside.get(key) is not None:
                yield key, text_of(inside[key]), config.where
        if inside.get("rejection_sample_method") == "synthetic":
            yield "rejection_sample_method", "synthetic", config.where


def _on(value: str) -> bool:
    return text_of(value) not in ("", "0", "false", "none")


@dataclass(frozen=True, slots=True)
class Shown:
    """A value in a job log and where."""

    name: str
    value: str
    where: LogSpan


def simulation_in(log: JobLogRecord) -> tuple[Shown, ...]:
    """Every setting of a job's log that simulates acceptance."""
    found = [
        Shown(name, log.env[name].value, LogSpan(log.job_name, log.env[name].line))
        for name in SIMULATED
        if name in log.env and _on(log.env[name].value)
    ]
    for printed in log.server_args.values():
        for name, value in _printed(printed):
            found.append(Shown(name, value.value, LogSpan(log.job_name, value.line)))
    return tuple(found)


def _printed(printed: Mapping[str, LogValue]) -> Iterator[tuple[str, LogValue]]:
    for flag in ATOM_FLAGS:
        if flag in printed and text_of(printed[flag].value) != "none":
            yield flag, printed[flag]
    config = printed.get("speculative-config")
    inside = None if config is None else parsed(config.value)
    if config is not None and isinstance(inside, Mapping):
        for key in ("rejection_sample_method", *VLLM_KEYS):
            value = inside.get(key)
            if value is not None and (key != "rejection_sample_method" or value == "synthetic"):
                yield key, LogValue(value=text_of(value), line=config.line)


@dataclass(frozen=True)
class Injection:
    """What a log shows of the injected value: `wrong` values with the expected one, `absent` names, `unseen` roles."""

    wrong: tuple[tuple[Shown, str], ...]
    absent: tuple[str, ...]
    unseen: tuple[str, ...]


def injection_in(log: JobLogRecord, golden: Golden, roles: tuple[str, ...]) -> Injection:
    """Compare a job's log with what the launcher must have set for each drafting role."""
    wrong: list[tuple[Shown, str]] = []
    absent: list[str] = []
    wanted = injected(golden.engine, golden.value, golden.length)
    by_role = golden.engine in ("vllm", "atom")
    unseen = [role for role in roles if role not in log.server_args] if by_role else []
    for role in [role for role in roles if role not in unseen] if by_role else [""]:
        for name, expected in wanted.items():
            found = _shown(log, golden, role, name)
            if found is None:
                absent.append(f"{name} of {role}" if role else name)
            elif not _equal(found, expected, golden):
                wrong.append((found, expected))
    return Injection(tuple(wrong), tuple(absent), tuple(unseen))


def _shown(log: JobLogRecord, golden: Golden, role: str, name: str) -> Shown | None:
    if not role:
        value = log.env.get(name)
        return None if value is None else Shown(name, value.value, LogSpan(log.job_name, value.line))
    printed = dict(_printed(log.server_args.get(role, {})))
    if golden.engine == "atom" and name not in printed:
        name = "spec-decode-acceptance-rate"
    value = printed.get(name)
    return None if value is None else Shown(name, value.value, LogSpan(log.job_name, value.line))


def _equal(found: Shown, expected: str, golden: Golden) -> bool:
    if found.name == "spec-decode-acceptance-rate":
        rate = (golden.value - 1) / golden.length
        return same_number(found.value, rate, 6)
    return same_number(found.value, expected, 2) or text_of(found.value) == text_of(expected)


def pins_of(point: Point, recipe: EffectiveRecipe) -> tuple[Pinned, ...]:
    """Pinned values that decide for the generation role: its own, the recipe's, and the master row's."""
    role = recipe.generation_role
    name = "" if role is None else role.name
    own = [pin for pin in pinned_acceptance(recipe) if pin.role in (name, "")]
    return (*own, *pinned_by_row(point.row, recipe.engine, point.master))
