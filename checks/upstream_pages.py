"""Purpose: the published commands of linked upstream recipes, and the one that comes closest to a point.

Files are told apart by what they are: generated AgentX snippets, deployment configurations, vLLM recipe YAML, and
pages with commands in code. Source: evidence.md 10.

Invariants: a file that claims a form and cannot be parsed stands in `problems`; it is never taken for an empty page.
Commands for another model or SKU are never compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from app.facts.commands_in_text import Command, commands
from app.facts.cookbook import (
    Cell,
    PagePoint,
    Snippet,
    UnreadablePage,
    deployments,
    is_deployment_config,
)
from app.facts.effective import through_dynamo
from app.facts.outside import UpstreamRecipe
from app.facts.records import JobLogRecord
from app.facts.repository import GoldenCurves
from app.facts.values import same_number, text_of
from app.facts.vllm_recipe import (
    PublishedLaunch,
    VllmRecipe,
    read_vllm_recipe,
    strategy_of,
)
from app.planner.points import AGENTIC, Point
from app.target.flags import canonical_image
from app.target.recipe import EffectiveRecipe
from app.target.source import RejectedInput
from app.target.speculation import speculation_of
from checks.acceptance import Refused, golden_of
from checks.upstream_comparison import (
    Context,
    Difference,
    Side,
    compare,
    frontend_differences,
    page_args,
    sides_of,
)


@dataclass(frozen=True)
class Match:
    """The closest published command: what it is called, and what differs."""

    title: str
    differences: tuple[Difference, ...]


@dataclass
class Pages:
    """Parsed files of the accepted upstream recipes of one engine."""

    recipes: Sequence[UpstreamRecipe]
    snippets: list[Snippet] = field(default_factory=list)
    vllm: list[VllmRecipe] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for recipe in self.recipes:
            for path, content in recipe.files.items():
                try:
                    self._read(path, content)
                except UnreadablePage as fault:
                    self.problems.append((path, str(fault)))

    def _read(self, path: str, content: bytes) -> None:
        text = content.decode("utf-8", "replace")
        if Snippet.recognises(text):
            self.snippets.append(Snippet(text))
        elif path.endswith((".yaml", ".yml")) and b"model_id" in content:
            self.vllm.append(read_vllm_recipe(path, content))
        else:
            self.texts.append((path, text))

    @property
    def name(self) -> str:
        first = self.recipes[0].record
        return f"{first.repository}#{first.number}" if first.kind == "pull_request" else first.link.split("://", 1)[-1]

    @property
    def url(self) -> str:
        return self.recipes[0].record.link

    @property
    def known(self) -> bool:
        return bool(self.snippets or self.vllm or self.texts)

    def has_key(self, key: str) -> bool:
        return any(key in snippet.config_keys for snippet in self.snippets)


def best_match(
    pages: Pages,
    point: Point,
    recipe: EffectiveRecipe,
    log: JobLogRecord | None,
    context: Context,
    curves: GoldenCurves | None,
    thinking: str,
) -> Match | None:
    """The published command with the fewest differences; None where no command is for this model and SKU."""
    found: list[Match] = []
    for snippet in pages.snippets:
        try:
            found += _snippet_matches(snippet, point, recipe, log, context, curves, thinking)
        except UnreadablePage as fault:
            pages.problems.append(("AgentX snippet", str(fault)))
    if not found:
        found += _vllm_matches(pages, point, recipe, log, context)
    if not found and not any(point.key in snippet.config_keys for snippet in pages.snippets):
        found += _text_matches(pages, point, recipe, log, context)
    return min(found, key=lambda match: len(match.differences)) if found else None


def _snippet_matches(
    snippet: Snippet,
    point: Point,
    recipe: EffectiveRecipe,
    log: JobLogRecord | None,
    context: Context,
    curves: GoldenCurves | None,
    thinking: str,
) -> Iterator[Match]:
    for cell in snippet.cells_of(point.key):
        if cell.hardware != context.sku or not _same_model(cell.checkpoint, point):
            continue
        for published in cell.for_concurrency(point.concurrency):
            differences = [
                *_image(cell, context),
                *_router(cell, point),
                *_blocks(published, recipe, log, context),
                *_golden(published, point, recipe, curves, thinking),
            ]
            yield Match(f"its {cell.hardware.upper()} cell ({_provenance(cell)})", tuple(differences))


def _provenance(cell: Cell) -> str:
    provenance = cell.provenance
    return f"provenance {provenance.sha[:7] or 'unknown'}, PR {provenance.pull_request or 'unknown'}"


def _same_model(published: str, point: Point) -> bool:
    """The same repository, or the same name under another owner (a mirror)."""
    own = str(point.row.get("model", ""))
    return published.casefold().rsplit("/", 1)[-1] == own.casefold().rsplit("/", 1)[-1]


def _image(cell: Cell, context: Context) -> Iterator[Difference]:
    theirs = canonical_image(cell.image)
    name, _, digest = theirs.partition("@")
    own, _, own_digest = context.image.partition("@")
    if theirs and (name != own or (digest and own_digest and digest != own_digest)):
        yield Difference("", "the image", context.image, theirs)


def _router(cell: Cell, point: Point) -> Iterator[Difference]:
    own = "dynamo" if through_dynamo(point) else "sglang"
    if cell.router != own:
        yield Difference("", "the router", own, cell.router)


def _blocks(
    published: PagePoint, recipe: EffectiveRecipe, log: JobLogRecord | None, context: Context
) -> Iterator[Difference]:
    workers = [block for block in published.blocks if block.kind == "worker"]
    for side in sides_of(recipe, log):
        command = next((block for block in workers if block.role in (side.role.name, "")), None)
        if command is None:
            yield Difference(side.role.name, f"the {side.role.name} command", "one", None)
        else:
            yield from compare(side, command, context)
    frontend = next((block for block in published.blocks if block.kind == "dynamo-frontend"), None)
    if frontend is not None and recipe.frontend == "dynamo":
        yield from frontend_differences(recipe, frontend, context)


def _golden(
    published: PagePoint, point: Point, recipe: EffectiveRecipe, curves: GoldenCurves | None, thinking: str
) -> Iterator[Difference]:
    """The page's golden acceptance length against our own look-up."""
    if not published.golden_al or curves is None or point.scenario != AGENTIC:
        return
    try:
        speculation = speculation_of(recipe)
        if speculation is None:
            return
        golden = golden_of(point, recipe.engine, speculation, curves, thinking)
    except (RejectedInput, Refused):
        return
    if not same_number(published.golden_al, golden.value, 2):
        yield Difference("", "the golden acceptance length", str(golden.value), published.golden_al)


def _vllm_matches(
    pages: Pages, point: Point, recipe: EffectiveRecipe, log: JobLogRecord | None, context: Context
) -> Iterator[Match]:
    for published in pages.vllm:
        variant = published.variant_for(str(point.row.get("model", "")))
        if variant is None:
            continue
        strategy = _strategy(point, recipe)
        differences: list[Difference] = []
        for side in sides_of(recipe, log):
            launch = published.launch(variant, context.sku, strategy, side.role.name)
            differences += _launch_differences(side, launch, context)
        if published.strategies and strategy not in published.strategies:
            differences.append(Difference("", "the strategy", strategy, None))
        yield Match(f"its variant {variant}, strategy {strategy}", tuple(differences))


def _strategy(point: Point, recipe: EffectiveRecipe) -> str:
    role = recipe.generation_role
    args = {} if role is None else role.args

    def number(name: str) -> int:
        return int(args[name].value) if name in args and text_of(args[name].value).isdigit() else 1

    experts = "enable-expert-parallel" in args and text_of(args["enable-expert-parallel"].value) == "true"
    return strategy_of(
        multinode=point.multinode,
        disaggregated="decode" in recipe.roles,
        tp=number("tensor-parallel-size"),
        dp=number("data-parallel-size"),
        expert_parallel=experts,
        pp=number("pipeline-parallel-size"),
    )


_PARALLELISM = (
    "tensor-parallel-size",
    "pipeline-parallel-size",
    "data-parallel-size",
    "enable-expert-parallel",
    "kv-transfer-config",
)
"""What the strategy and the topology give in a vLLM recipe, not its argument lists."""


def _launch_differences(side: Side, launch: PublishedLaunch, context: Context) -> Iterator[Difference]:
    """Required settings must be equal; any other setting of ours must be one that the page allows."""
    page = page_args(context.engine, launch.required)
    allowed: dict[str, set[str]] = {}
    for flag, choices in launch.allowed.items():
        for values in choices:
            name, text = next(iter(page_args(context.engine, {flag: values}).items()))
            allowed.setdefault(name, set()).add(context.value(name, text))
    for name, own in side.args.items():
        value = context.value(name, own.text)
        if name in allowed and value in allowed[name]:
            page[name] = own.text
        elif name in allowed and name not in page:
            page[name] = min(allowed[name])
        elif name in _PARALLELISM:
            page.setdefault(name, own.text)
    env = dict(launch.env)
    for name, values in launch.allowed_env.items():
        if name in side.env and side.env[name].text in {text_of(value) for value in values}:
            env[name] = side.env[name].text
    flags = {f"--{name}": [text] for name, text in page.items()}
    yield from compare(side, Command("worker", side.role.name, "vllm serve", flags, env), context)


def _text_matches(
    pages: Pages, point: Point, recipe: EffectiveRecipe, log: JobLogRecord | None, context: Context
) -> Iterator[Match]:
    """Deployment cells and commands in code, for the same model (and SKU, where the page says it)."""
    for path, text in pages.texts:
        title = path.rsplit("/", 1)[-1]
        if is_deployment_config(text):
            for cell in deployments(text):
                if cell.hardware == context.sku and _same_model(cell.model, point):
                    named = f"{title}, {cell.hardware.upper()} {cell.strategy}".strip()
                    yield Match(named, tuple(_all_roles(cell.command, recipe, log, context)))
            continue
        for command in commands(text):
            models = [value for flag in ("--model-path", "--model") for value in command.args.get(flag, ())]
            if any(_same_model(model, point) for model in models):
                yield Match(f"a command of {title}", tuple(_all_roles(command, recipe, log, context)))


def _all_roles(
    command: Command, recipe: EffectiveRecipe, log: JobLogRecord | None, context: Context
) -> Iterator[Difference]:
    for side in sides_of(recipe, log):
        yield from compare(side, command, context)
