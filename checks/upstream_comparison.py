"""Purpose: an effective command against a published one, flag by flag and variable by variable.

Source: rules.md ("Flag spellings", 3), evidence.md 10. Harness-only settings, aliases, defaults and what an engine
detects itself stand in the policy; everything else must be equal.

Invariants: both the recipe's value and the log's must equal the page's; a setting on one side only is equal only
where the policy or the server's own print says so. Nothing contradictory is ever excluded by a sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from app.facts.commands_in_text import Command
from app.facts.effective import Effective, logged_arg, role_args, role_env
from app.facts.records import JobLogRecord
from app.facts.values import FALSE, parsed, text_of
from app.planner.points import Point
from app.planner.scope import sku_of
from app.policy import RecipePolicy
from app.target.flags import canonical, canonical_image
from app.target.recipe import EffectiveRecipe, Role, Setting
from checks.contract import Where
from checks.point_evidence import place

_SYNTHETIC = ("rejection_sample_method", "synthetic_acceptance_length", "synthetic_acceptance_rates")


@dataclass(frozen=True)
class Difference:
    """One setting that differs. `ours` and `theirs` are None where that side does not have it."""

    role: str
    name: str
    ours: str | None
    theirs: str | None
    where: Where | None = field(default=None, compare=False)

    @property
    def missing_on_page(self) -> bool:
        return self.theirs is None

    def __str__(self) -> str:
        if self.theirs is None:
            return f"{self.name} {self.ours} is not on the page"
        if self.ours is None:
            return f"the page sets {self.name} {self.theirs}, the recipe does not"
        return f"{self.name} is {self.ours} here and {self.theirs} on the page"


@dataclass(frozen=True)
class Side:
    """The effective command of one role: settings by canonical flag and by variable."""

    engine: str
    role: Role
    args: Mapping[str, Effective]
    env: Mapping[str, Effective]
    log: JobLogRecord | None


@dataclass(frozen=True)
class Context:
    """What decides equality for one point."""

    policy: RecipePolicy
    engine: str
    image: str
    prefix: str
    sku: str

    def excluded_arg(self, name: str) -> bool:
        return _any(name, self.policy.harness_only_args)

    def excluded_env(self, name: str) -> bool:
        return _any(name, self.policy.harness_only_env)

    def value(self, name: str, text: str) -> str:
        """A value after the alias table; speculative settings without what the launcher injects."""
        aliases = self.policy.value_aliases.get(self.engine, {}).get(name, {})
        if name == "speculative-config":
            text = _without_synthetic(text)
        return text_of(aliases.get(text, text))

    def left_out_means(self, name: str, text: str) -> bool:
        """True where leaving a flag out means this value."""
        if text == FALSE or text_of(self.policy.defaults.get(self.engine, {}).get(name, "\0")) == text:
            return True
        return any(
            default.engine == self.engine
            and default.flag == name
            and text_of(default.value) == text
            and fnmatchcase(self.image, default.image)
            and fnmatchcase(self.prefix, default.model_prefix)
            and fnmatchcase(self.sku, default.sku)
            for default in self.policy.auto_defaults
        )

    def detected(self, name: str) -> bool:
        return name in self.policy.auto_detected.get(self.engine, ())


def context_of(point: Point, engine: str, policy: RecipePolicy, image: str) -> Context:
    row = point.row
    sku = sku_of(str(row.get("runner", "")))
    return Context(policy, engine, canonical_image(image), str(row.get("model-prefix", "")), sku)


def sides_of(recipe: EffectiveRecipe, log: JobLogRecord | None) -> tuple[Side, ...]:
    """Every role's effective command."""
    return tuple(
        Side(recipe.engine, role, role_args(role, log), role_env(recipe, name, log), log)
        for name, role in recipe.roles.items()
    )


def page_args(engine: str, flags: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Published flags by canonical name; a switch is "true"."""
    return {canonical(engine, flag): text_of(list(values)) if values else "true" for flag, values in flags.items()}


def compare(side: Side, command: Command, context: Context) -> list[Difference]:
    """Differences of one role's command, flags first."""
    return [
        *_args(side, page_args(context.engine, command.args), context),
        *_env(side, command.env, context),
        *_topology(side.role, command),
    ]


def _args(side: Side, page: Mapping[str, str], context: Context) -> Iterator[Difference]:
    for name in sorted({*side.args, *page}):
        if context.excluded_arg(name):
            continue
        own, theirs = side.args.get(name), page.get(name)
        if own is None:
            yield from _only_on_page(side, name, str(theirs), context)
        elif theirs is None:
            text = context.value(name, own.text)
            if not context.left_out_means(name, text) and not context.detected(name):
                yield Difference(side.role.name, f"--{name}", text, None, place(own))
        else:
            yield from _both(side, own, theirs, context)


def _both(side: Side, own: Effective, theirs: str, context: Context) -> Iterator[Difference]:
    """The recipe's value and the log's, each against the page's."""
    wanted = context.value(own.name, theirs)
    said = [] if own.setting is None else [text_of(own.setting.value)]
    if own.logged and not _any(own.name, context.policy.adjusted_by_engine.get(context.engine, ())):
        said.append(own.text)
    for text in said:
        if context.value(own.name, text) != wanted:
            yield Difference(side.role.name, f"--{own.name}", text, theirs, place(own))
            return


def _only_on_page(side: Side, name: str, theirs: str, context: Context) -> Iterator[Difference]:
    wanted = context.value(name, theirs)
    if context.left_out_means(name, wanted):
        return
    printed = logged_arg(side.role.name, name, side.log)
    if printed is None or context.value(name, printed.text) != wanted:
        yield Difference(side.role.name, f"--{name}", None, theirs)


def _env(side: Side, page: Mapping[str, str], context: Context) -> Iterator[Difference]:
    for name in sorted({*side.env, *page}):
        if context.excluded_env(name):
            continue
        own, theirs = side.env.get(name), page.get(name)
        if own is None:
            yield Difference(side.role.name, name, None, theirs)
        elif theirs is None:
            yield Difference(side.role.name, name, own.text, None, place(own))
        elif own.text != text_of(theirs) or (own.setting and text_of(own.setting.value) != text_of(theirs)):
            yield Difference(side.role.name, name, own.text, theirs, place(own))


def _topology(role: Role, command: Command) -> Iterator[Difference]:
    if command.workers is not None and role.workers is not None and command.workers != role.workers:
        yield Difference(role.name, "number of workers", str(role.workers), str(command.workers))
    if command.nodes_per_worker is not None and role.nodes and role.workers and role.nodes % role.workers == 0:
        own = role.nodes // role.workers
        if own != command.nodes_per_worker:
            yield Difference(role.name, "nodes per worker", str(own), str(command.nodes_per_worker))


def frontend_differences(recipe: EffectiveRecipe, command: Command, context: Context) -> Iterator[Difference]:
    """Arguments and variables of the Dynamo frontend."""
    own_args = _frontend(recipe.frontend_settings.get("args"))
    page = page_args(context.engine, command.args)
    for name in sorted({*own_args, *page}):
        own, theirs = own_args.get(name), page.get(name)
        if name != "http-port" and not context.excluded_arg(name) and own != theirs:
            yield Difference("frontend", f"--{name}", own, theirs)
    own_env = _frontend(recipe.frontend_settings.get("env"))
    for name in sorted({*own_env, *command.env}):
        own, theirs = own_env.get(name), command.env.get(name)
        if not context.excluded_env(name) and own != (None if theirs is None else text_of(theirs)):
            yield Difference("frontend", name, own, theirs)


def _frontend(setting: Setting | None) -> dict[str, str]:
    value = None if setting is None else setting.value
    return {str(name): text_of(item) for name, item in value.items()} if isinstance(value, Mapping) else {}


def _without_synthetic(text: str) -> str:
    inside = parsed(text)
    if not isinstance(inside, Mapping):
        return text
    return text_of({key: value for key, value in inside.items() if key not in _SYNTHETIC})


def _any(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
