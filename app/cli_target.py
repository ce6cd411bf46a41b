"""Purpose: `sweepgate recipe`, `golden-al`, `models` and `codeowners`: the target repository's files as JSON.

Results on stdout, everything else on stderr. Exit 0 fine, 1 a finding or a rejected input, 2 usage or unreadable
input. `-` reads stdin. Imports stay lazy: these verbs answer before the service could be imported.

Invariant: files are read from one directory (`--repo`, else the folder that holds the named file); nothing is written.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.target.source import FileLine, RejectedInput
from app.target.tree import OCTOBER_ROOT, Layout, Tree

if TYPE_CHECKING:
    from app.target.models_md import ModelsTable
    from app.target.recipe import EffectiveRecipe, Setting, Speculation

EXIT_FINE, EXIT_FINDING, EXIT_USAGE = 0, 1, 2

_SELECTOR = re.compile(r"(?P<path>.+?)(?::(?P<selector>base|(?:zip_)?override_.*))?\Z")
_CODEOWNERS = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")


class UnreadableError(Exception):
    """Input that cannot be read, told to the user in one sentence."""


class _Folder(Mapping[str, bytes]):
    """Files of a directory by repository path, read when asked. Paths may not leave it."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def __getitem__(self, path: str) -> bytes:
        file = (self._root / path).resolve()
        if not file.is_relative_to(self._root) or not file.is_file():
            raise KeyError(path)
        try:
            return file.read_bytes()
        except OSError as error:
            raise UnreadableError(f"{file} cannot be read: {error.strerror}. Check its permissions.") from error

    def __iter__(self) -> Iterator[str]:
        return (str(file.relative_to(self._root)) for file in self._root.rglob("*") if file.is_file())

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _tree(root: Path) -> Tree:
    layout = Layout.OCTOBER if (root / OCTOBER_ROOT).is_dir() else Layout.AUGUST
    return Tree("", _Folder(root), complete=True, forced_layout=layout)


def _located(named: str, repo: str | None) -> tuple[Tree, str]:
    """The tree and the repository path of a named file: below --repo, else below the folder that looks like one."""
    if repo is not None:
        root = _directory(repo)
        if not Path(named).is_absolute():
            return _tree(root), named
        inside = Path(named).resolve()
        if not inside.is_relative_to(root):
            raise UnreadableError(f"{named} is not below {repo}. Name a file of the repository.")
        return _tree(root), str(inside.relative_to(root))
    file = Path(named).resolve()
    if not file.is_file():
        raise UnreadableError(f"{named} is not a file. Name a file, or the repository with --repo.")
    parts = file.parts
    for marker in (OCTOBER_ROOT.strip("/"), "benchmarks"):
        if marker in parts:
            place = len(parts) - 1 - parts[::-1].index(marker)
            return _tree(Path(*parts[:place])), "/".join(parts[place:])
    return _tree(file.parent), file.name


def _directory(named: str) -> Path:
    root = Path(named).resolve()
    if not root.is_dir():
        raise UnreadableError(f"{named} is not a directory. Name the repository's folder with --repo.")
    return root


def _split(named: str) -> tuple[str, str]:
    match = _SELECTOR.match(named)
    return (match["path"], match["selector"] or "") if match else (named, "")


def main(argv: Sequence[str]) -> int:
    """Run one verb (`argv[0]`). Returns the exit code."""
    try:
        arguments = _parser().parse_args(list(argv))
    except SystemExit as stop:
        return EXIT_USAGE if stop.code else EXIT_FINE
    try:
        return int(arguments.run(arguments))
    except RejectedInput as rejected:
        print(rejected, file=sys.stderr)
        return EXIT_USAGE if any(problem.severity == 0 for problem in rejected.problems) else EXIT_FINDING
    except UnreadableError as error:
        print(error, file=sys.stderr)
        return EXIT_USAGE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sweepgate")
    verbs = parser.add_subparsers(dest="verb", required=True)
    recipe = verbs.add_parser("recipe", help="the effective recipe, each value with its file and line")
    recipe.add_argument("file", metavar="FILE[:selector]")
    recipe.add_argument("--point", nargs="*", default=[], metavar="k=v", help="what is known of the point: conc=4 tp=8")
    recipe.set_defaults(run=_recipe)
    golden = verbs.add_parser("golden-al", help="the golden acceptance length of a submission")
    golden.add_argument("--model-prefix", required=True)
    golden.add_argument("--framework", required=True)
    golden.add_argument("--thinking", default="thinking_on", choices=("thinking_on", "thinking_off"))
    golden.add_argument("--recipe", metavar="FILE[:selector]")
    golden.add_argument("--method")
    golden.add_argument("--length", type=int, help="speculative tokens for each step")
    golden.add_argument("--draft-model")
    golden.add_argument("--draft-sample-method")
    golden.set_defaults(run=_golden)
    models = verbs.add_parser("models", help="what MODELS.md says of a model on a day")
    models.add_argument("prefix")
    models.add_argument("--date", metavar="YYYY-MM-DD", help="review date; today (UTC) if left out")
    models.add_argument("--precision", default="fp4")
    models.add_argument("--method", help="speculative method; without it the points draft nothing")
    models.set_defaults(run=_models)
    owners = verbs.add_parser("codeowners", help="who owns paths")
    owners.add_argument("--file", metavar="CODEOWNERS", help="- reads stdin")
    owners.add_argument("paths", nargs="+", metavar="PATH")
    owners.set_defaults(run=_codeowners)
    for verb in (recipe, golden, models, owners):
        verb.add_argument("--repo", metavar="DIR", help="the target repository's folder")
    return parser


def _print(value: object) -> None:
    json.dump(value, sys.stdout, ensure_ascii=False, indent=1, default=str)
    sys.stdout.write("\n")


def _recipe(arguments: argparse.Namespace) -> int:
    from app.target.binding import bind_point
    from app.target.recipe import Unbound
    from app.target.recipes import read_recipe

    named, selector = _split(arguments.file)
    tree, path = _located(named, arguments.repo)
    candidates = read_recipe(tree, path, selector)
    if arguments.point:
        chosen = bind_point(candidates, _point(arguments.point))
        if isinstance(chosen, Unbound):
            print(f"{path}: {chosen.reason}", file=sys.stderr)
            return EXIT_FINDING
        candidates = (chosen,)
    shown = [_shown_recipe(candidate) for candidate in candidates]
    _print(shown[0] if len(shown) == 1 else shown)
    return EXIT_FINE


def _point(given: Sequence[str]) -> dict[str, Any]:
    point: dict[str, Any] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UnreadableError(f"--point {pair}: expected name=value, such as conc=4.")
        words = {"true": True, "false": False}
        point[name] = int(value) if value.isascii() and value.isdigit() else words.get(value, value)
    return point


def _place(where: FileLine) -> str:
    return f"{where.path}:{where.line}"


def _shown_setting(setting: Setting | None) -> dict[str, Any] | None:
    return None if setting is None else {"value": setting.value, "where": _place(setting.where)}


def _shown_settings(settings: Mapping[str, Setting]) -> dict[str, Any]:
    return {name: _shown_setting(setting) for name, setting in settings.items()}


def _shown_recipe(recipe: EffectiveRecipe) -> dict[str, Any]:
    from app.target.speculation import pinned_acceptance, speculation_of

    return {
        "path": recipe.path,
        "variant": recipe.variant,
        "name": recipe.name,
        "schema": recipe.schema,
        "engine": recipe.engine,
        "frontend": recipe.frontend,
        "image": _shown_setting(recipe.image),
        "model": _shown_setting(recipe.model),
        "precision": _shown_setting(recipe.precision),
        "roles": {
            name: {
                "nodes": role.nodes,
                "workers": role.workers,
                "gpus": role.gpus,
                "args": _shown_settings(role.args),
                "env": _shown_settings(role.env),
                "speculation": _shown_speculation(speculation_of(recipe, name)),
            }
            for name, role in recipe.roles.items()
        },
        "environment": _shown_settings(recipe.environment),
        "benchmark": _shown_settings(recipe.benchmark),
        "benchmark_env": _shown_settings(recipe.benchmark_env),
        "setup_scripts": [_shown_setting(script) for script in recipe.setup_scripts],
        "dynamo": _shown_settings(recipe.dynamo),
        "backend": _shown_settings(recipe.backend),
        "frontend_settings": _shown_settings(recipe.frontend_settings),
        "resources": _shown_settings(recipe.resources),
        "pinned_acceptance": [
            {
                "role": pinned.role,
                "variable": pinned.variable,
                "value": str(pinned.value),
                "acceptance_length": float(pinned.acceptance_length),
                "where": _place(pinned.where),
            }
            for pinned in pinned_acceptance(recipe)
        ],
    }


def _shown_speculation(speculation: Speculation | None) -> dict[str, Any] | None:
    if speculation is None:
        return None
    return {
        "method": speculation.method,
        "length": speculation.length,
        "draft_model": speculation.draft_model,
        "draft_sample_method": speculation.draft_sample_method,
        "where": _place(speculation.decided_by.where),
    }


def _golden(arguments: argparse.Namespace) -> int:
    from app.target.flags import engine_of_framework
    from app.target.golden import acceptance_length, find_curve

    if engine_of_framework(arguments.framework) is None:
        raise UnreadableError(
            f"--framework {arguments.framework}: unknown. Give the master's framework, such as sglang."
        )
    if (arguments.recipe is None) == (arguments.method is None or arguments.length is None):
        raise UnreadableError("Give either --recipe FILE[:selector] or --method M with --length K.")
    tree, speculations = _speculations(arguments)
    answers = []
    for speculation in speculations:
        curve = find_curve(tree, arguments.model_prefix, speculation)
        cell = acceptance_length(curve, arguments.thinking, speculation.length)
        name = curve.path.rsplit("/", 1)[-1].removesuffix(".yaml")
        answer = {"curve": name, "length": speculation.length, "acceptance_length": float(cell.value)}
        if answer not in answers:
            answers.append(answer)
    if len(answers) != 1:
        why = "The variants differ; name one with a selector." if answers else "The recipe drafts nothing."
        print(why, file=sys.stderr)
        answers = [{"curve": None, "length": None, "acceptance_length": None}]
    _print(answers[0])
    return EXIT_FINE


def _speculations(arguments: argparse.Namespace) -> tuple[Tree, list[Speculation]]:
    from app.target.flags import engine_of_framework
    from app.target.recipe import Setting, Speculation
    from app.target.recipes import read_recipe
    from app.target.speculation import speculation_of

    if arguments.recipe is None:
        method = arguments.method.lower()
        sampler = arguments.draft_sample_method
        if sampler is None and method == "dspark" and engine_of_framework(arguments.framework) == "atom":
            sampler = "probabilistic"
        given = Setting(arguments.length, FileLine("--length"))
        return _tree(_directory(arguments.repo or ".")), [
            Speculation(method, arguments.length, arguments.draft_model, sampler, given)
        ]
    named, selector = _split(arguments.recipe)
    tree, path = _located(named, arguments.repo)
    found = [speculation_of(recipe) for recipe in read_recipe(tree, path, selector)]
    return tree, [speculation for speculation in found if speculation is not None]


def _models(arguments: argparse.Namespace) -> int:
    from datetime import UTC, date, datetime

    from app.target.models_md import ModelsTable

    try:
        day = date.fromisoformat(arguments.date) if arguments.date else datetime.now(UTC).date()
    except ValueError:
        raise UnreadableError(f"--date {arguments.date}: expected YYYY-MM-DD.") from None
    tree = _tree(_directory(arguments.repo or "."))
    path = tree.layout.models_md
    content = tree.read(path)
    if content is None:
        raise UnreadableError(f"There is no {path} here. Name the target repository's folder with --repo.")
    table = ModelsTable.parse(path, content)
    _print(_shown_model(table, arguments, day))
    return EXIT_FINE if table.row(arguments.prefix) else EXIT_FINDING


def _shown_model(table: ModelsTable, arguments: argparse.Namespace, day: Any) -> dict[str, Any]:
    from app.target.markdown_blocks import without_markup

    row = table.row(arguments.prefix)
    if row is None:
        return {"prefix": arguments.prefix, "found": False, "date": str(day), "where": table.path}
    statuses = {
        scenario.key: table.status(
            arguments.prefix,
            scenario.key,
            precision=arguments.precision,
            drafting=arguments.method is not None,
            method=arguments.method,
            date=day,
        )
        for scenario in table.scenarios
    }
    return {
        "prefix": arguments.prefix,
        "found": True,
        "date": str(day),
        "name": row.name,
        "added": row.added,
        "active": without_markup(row.active),
        "deprecated": without_markup(row.deprecated),
        "retired": row.is_retired,
        "where": _place(row.where),
        "precision": arguments.precision,
        "method": arguments.method,
        "scenarios": {
            key: {
                "allowed": status.allowed,
                "reason": status.reason,
                "deadline": str(status.deadline) if status.deadline else None,
                "where": _place(status.where),
            }
            for key, status in statuses.items()
        },
    }


def _codeowners(arguments: argparse.Namespace) -> int:
    from app.target.codeowners import Codeowners

    owners = Codeowners.parse(*_codeowners_file(arguments.file, arguments.repo))
    for problem in owners.problems:
        print(problem, file=sys.stderr)
    paths = arguments.paths
    if paths == ["-"]:
        if arguments.file == "-":
            raise UnreadableError("Paths and --file cannot both come from stdin. Name one of them as a file.")
        paths = sys.stdin.buffer.read().decode("utf-8", "surrogateescape").split("\n")
    answer = {}
    for path in filter(None, paths):
        rule = owners.rule_for(path.removeprefix("./"))
        answer[path] = {
            "owners": list(rule.owners) if rule else [],
            "line": rule.line if rule else None,
            "pattern": rule.pattern if rule else None,
        }
    _print(answer)
    return EXIT_FINE


def _codeowners_file(named: str | None, repo: str | None) -> tuple[str, bytes]:
    if named == "-":
        return "stdin", sys.stdin.buffer.read()
    if named is not None:
        try:
            return named, Path(named).read_bytes()
        except OSError as error:
            raise UnreadableError(f"{named} cannot be read: {error.strerror}. Name a CODEOWNERS file.") from error
    tree = _tree(_directory(repo or "."))
    for path in _CODEOWNERS:
        content = tree.read(path)
        if content is not None:
            return path, content
    raise UnreadableError("There is no CODEOWNERS file here. Name one with --file, or the repository with --repo.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
