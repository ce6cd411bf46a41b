"""Purpose: launch settings that a vLLM recipe (vllm-project/recipes, `models/<org>/<model>.yaml`) publishes.

Source: evidence.md 10.2. What a launch needs = base arguments + strategy (parallelism) + variant + hardware override;
what it may add = features and the commands of the guide.

Invariants: the newest override wins, the narrower generation over the brand. A recipe that is not of that form raises
`UnreadablePage`. Unknown keys are ignored: they are the page's business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.facts.commands_in_text import Command, commands, flags_of
from app.facts.cookbook import UnreadablePage
from app.target.source import RejectedInput

GENERATIONS: Mapping[str, tuple[str, ...]] = {
    "h100": ("nvidia", "hopper", "h100"),
    "h200": ("nvidia", "hopper", "h200"),
    "b200": ("nvidia", "blackwell", "b200"),
    "b300": ("nvidia", "blackwell", "b300"),
    "gb200": ("nvidia", "blackwell", "gb200"),
    "gb300": ("nvidia", "blackwell", "gb300"),
    "mi300x": ("amd", "cdna3", "mi300x"),
    "mi325x": ("amd", "cdna3", "mi325x"),
    "mi355x": ("amd", "cdna4", "mi355x"),
}


@dataclass(frozen=True)
class PublishedLaunch:
    """What the recipe says for one variant, SKU, strategy and role.

    `required` flags and `env` belong to every such launch; `allowed` are further values that a feature or a command of
    the guide gives a flag. Flags keep their dashes; a switch has no values.
    """

    variant: str
    strategy: str
    required: Mapping[str, Sequence[str]]
    env: Mapping[str, str]
    allowed: Mapping[str, tuple[Sequence[str], ...]]
    allowed_env: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class VllmRecipe:
    """A parsed recipe file."""

    path: str
    data: Mapping[str, Any]

    @property
    def models(self) -> Mapping[str, str]:
        """Variant -> model id."""
        base = str(_mapping(self.data["model"]).get("model_id", ""))
        variants = _mapping(self.data.get("variants")) or {"default": {}}
        return {name: str(_mapping(variant).get("model_id", base)) for name, variant in variants.items()}

    def variant_for(self, model: str) -> str | None:
        """The variant that serves a model repository; None where the recipe is for other models."""
        wanted = model.casefold()
        for name, candidate in self.models.items():
            if candidate.casefold() == wanted:
                return name
        return None

    def verified_on(self, sku: str) -> bool:
        return str(_mapping(_mapping(self.data.get("meta")).get("hardware")).get(sku, "")) == "verified"

    @property
    def strategies(self) -> tuple[str, ...]:
        return tuple(str(name) for name in _sequence(self.data.get("compatible_strategies")))

    def launch(self, variant: str, sku: str, strategy: str, role: str) -> PublishedLaunch:
        """Settings for one serving role; `role` is "agg", "prefill" or "decode"."""
        model = _mapping(self.data["model"])
        chosen = _mapping(_mapping(self.data.get("variants")).get(variant))
        required = flags_of(_strings(model.get("base_args")))
        env = _env(model.get("base_env"))
        generations = GENERATIONS.get(sku, (sku,))
        layers = [chosen, *_overrides(self.data, generations), *_overrides(chosen, generations)]
        for layer in layers:
            required.update(flags_of(_strings(layer.get("extra_args"))))
            env.update(_env(layer.get("extra_env")))
        override = _mapping(_mapping(self.data.get("strategy_overrides")).get(strategy))
        for layer in (override, _mapping(override.get(role))):
            required.update(flags_of(_strings(layer.get("vllm_args") or layer.get("extra_args"))))
            env.update(_env(layer.get("env") or layer.get("extra_env")))
        allowed: dict[str, list[Sequence[str]]] = {}
        allowed_env: dict[str, list[str]] = {}
        for flags, extra in [*self._features(variant, generations), *self._guide(variant)]:
            for flag, values in flags.items():
                allowed.setdefault(flag, []).append(values)
            for name, value in extra.items():
                allowed_env.setdefault(name, []).append(value)
        return PublishedLaunch(
            variant,
            strategy,
            required,
            env,
            {flag: tuple(values) for flag, values in allowed.items()},
            {name: tuple(values) for name, values in allowed_env.items()},
        )

    def _features(
        self, variant: str, generations: Sequence[str]
    ) -> Iterator[tuple[Mapping[str, Sequence[str]], Mapping[str, str]]]:
        for feature in _mapping(self.data.get("features")).values():
            body = _mapping(feature)
            layers = [body, *_overrides(body, generations)]
            for mode in _mapping(body.get("modes")).values():
                variants = _strings(_mapping(mode).get("variants"))
                if not variants or variant in variants:
                    layers.append(_mapping(mode))
            for layer in layers:
                yield flags_of(_strings(layer.get("args"))), _env(layer.get("env"))

    def _guide(self, variant: str) -> Iterator[tuple[Mapping[str, Sequence[str]], Mapping[str, str]]]:
        model = self.models.get(variant, "").casefold()
        for command in self.guide_commands:
            if any(value.casefold() == model for value in command.args.get("--model", ())):
                yield {flag: values for flag, values in command.args.items() if flag != "--model"}, command.env

    @property
    def guide_commands(self) -> tuple[Command, ...]:
        return tuple(commands(str(self.data.get("guide", ""))))


def read_vllm_recipe(path: str, content: bytes) -> VllmRecipe:
    """Parse a recipe. Raises UnreadablePage where it is no YAML mapping with `model.model_id`."""
    from app.target.recipe_document import plain, read_document

    try:
        data = plain(read_document(path, content))
    except RejectedInput as rejected:
        raise UnreadablePage(str(rejected.problems[0])) from None
    if not isinstance(data, dict) or not _mapping(data.get("model")).get("model_id"):
        raise UnreadablePage(f"{path} has no model.model_id")
    return VllmRecipe(path, data)


def strategy_of(*, multinode: bool, disaggregated: bool, tp: int, dp: int, expert_parallel: bool, pp: int = 1) -> str:
    """The recipe's name for a topology: single_node_tp, single_node_tep, single_node_dep, multi_node_*, pd_cluster."""
    if disaggregated:
        return "pd_cluster"
    nodes = "multi_node" if multinode else "single_node"
    if dp > 1:
        return f"{nodes}_dep"
    if expert_parallel:
        return f"{nodes}_tep"
    return f"{nodes}_tp_pp" if pp > 1 and tp > 1 else f"{nodes}_tp"


def _overrides(layer: Mapping[str, Any], generations: Sequence[str]) -> list[Mapping[str, Any]]:
    table = _mapping(layer.get("hardware_overrides"))
    return [_mapping(table[name]) for name in generations if name in table]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _strings(value: Any) -> list[str]:
    return [str(item) for item in _sequence(value)]


def _env(value: Any) -> dict[str, str]:
    return {str(name): str(item) for name, item in _mapping(value).items()}
