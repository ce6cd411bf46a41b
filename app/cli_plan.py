"""Purpose: `sweepgate plan`, `changed` and `changelog`: thin entries, each of which calls one function of the planner.

Results on stdout, everything else on stderr. Exit 0 fine, 1 a finding or a rejected input, 2 usage or unreadable
input. Imports stay lazy and few: a cold plan must cost less than importing the service would.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from app.target.source import RejectedInput
from app.target.tree import NotRecorded, Tree

if TYPE_CHECKING:
    from app.planner.plan import Plan, PlannedRow
    from app.planner.points import Rules
    from app.target.changelog import ChangelogEntry

EXIT_FINE, EXIT_FINDING, EXIT_USAGE = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """One of the verbs `plan`, `changed`, `changelog check`, `changelog add`. Returns the exit code."""
    from app.checkout.revisions import Unreadable

    gc.disable()  # a short process: collecting would cost more than it frees, at its end too
    atexit.register(gc.freeze)
    try:
        arguments = list(sys.argv[1:] if argv is None else argv)
        verb = arguments[0] if arguments else ""
        parser = _parser(verb)
        options = parser.parse_args(arguments[1:] if parser.prog != "sweepgate" else arguments)
    except SystemExit as usage:
        return usage.code if isinstance(usage.code, int) else EXIT_USAGE
    try:
        return int(options.run(options))
    except RejectedInput as rejected:
        print(rejected, file=sys.stderr)
        return EXIT_FINDING
    except (Unreadable, NotRecorded) as unreadable:
        print(f"{unreadable} Check --base, --head and --repo.", file=sys.stderr)
        return EXIT_USAGE
    except OSError as error:
        name = error.filename or "a file"
        print(f"{name}: {error.strerror}. Check the path and its permissions.", file=sys.stderr)
        return EXIT_USAGE
    finally:
        gc.enable()


def plan_command(options: argparse.Namespace) -> int:
    """The sweep matrix of the entries that head adds to base."""
    from app.planner.plan import plan

    base, head = _trees(options)
    found = plan(base, head, _plan_options(options, base, head))
    if options.format == "json":
        print(json.dumps(found.matrix()))
    elif options.format == "points":
        _print_points(found, explain=options.explain)
    else:
        _print_table(found, explain=options.explain)
    if options.explain:
        _explain(found, by_option=options.rules is not None)
    return EXIT_FINE


def changed_command(options: argparse.Namespace) -> int:
    """Config keys whose points differ, with the points that were added and removed."""
    from app.planner.changes import changed
    from app.planner.flat import flat_point

    base, head = _trees(options)
    found = {
        key: {
            "added": [flat_point(point) for point in change.added],
            "removed": [flat_point(point) for point in change.removed],
        }
        for key, change in changed(base, head, _rules(options)).items()
    }
    print(json.dumps(found))
    return EXIT_FINE


def check_command(options: argparse.Namespace) -> int:
    """The messages of the changelog gate; exit 1 for an error, warnings alone are fine."""
    from app.checkout.revisions import text_diff
    from app.planner.changelog_gate import Change, Level, check_changelog

    base, head = _trees(options)
    before, after = (tree.read(tree.layout.changelog) or b"" for tree in (base, head))
    change = Change(base, head, *text_diff(before, after), options.pr, options.repository)
    found = check_changelog(change, strict=options.strict)
    if options.format == "json":
        names = ("line", "rule", "message", "fix")
        rows = [
            {name: getattr(message, name) for name in names} | {"level": message.level.value, "path": message.path}
            for message in found
        ]
        print(json.dumps(rows, ensure_ascii=False))
    else:
        for message in found:
            print(message)
    return EXIT_FINDING if any(message.level is Level.ERROR for message in found) else EXIT_FINE


def add_command(options: argparse.Namespace) -> int:
    """Appends one valid entry to the changelog of the repository at --repo; prints its lines."""
    from app.checkout.revisions import directory_tree
    from app.target.changelog_text import appended, entry_text

    tree = directory_tree(options.repo)
    path = tree.layout.changelog
    before = tree.read(path) or b""
    entry = _new_entry(options, tree)
    with open(f"{options.repo}/{path}", "wb") as file:  # noqa: PTH123  (pathlib would cost 4 ms)
        file.write(appended(before, entry))
    print(entry_text(entry), end="")
    return EXIT_FINE


def _new_entry(options: argparse.Namespace, tree: Tree) -> ChangelogEntry:
    from app.planner.selection import selected_keys
    from app.target.changelog import Added, read_added
    from app.target.changelog_text import entry_text
    from app.target.masters import read_masters

    path = tree.layout.changelog
    entry = _entry_of(options, path)
    lines = tuple(entry_text(entry).splitlines())
    (checked,) = read_added(Added(lines, tuple(range(1, len(lines) + 1))), path)
    selected_keys(checked, read_masters(tree))
    return checked


def _entry_of(options: argparse.Namespace, path: str) -> ChangelogEntry:
    from app.target.changelog import ChangelogEntry
    from app.target.source import FileLine

    return ChangelogEntry(
        config_keys=tuple(options.keys),
        description=tuple(options.description),
        pr_link=options.pr_link,
        where=FileLine(path),
        scenario_type=tuple(options.scenario_type) if options.scenario_type else None,
        evals_only=options.evals_only,
        all_evals=options.all_evals,
        no_evals=options.no_evals,
        append_only=options.append_only,
        eval_min_prefill_ep=options.eval_min_prefill_ep,
    )


def _trees(options: argparse.Namespace) -> tuple[Tree, Tree]:
    from app.checkout.revisions import open_pair

    two_dot = getattr(options, "incumbent_diff", False)
    return open_pair(options.base, options.head, options.repo, two_dot=two_dot)


def _rules(options: argparse.Namespace) -> Rules | None:
    from app.planner.points import Rules

    return None if options.rules is None else Rules(options.rules)


def _plan_options(options: argparse.Namespace, base: Tree, head: Tree) -> Any:
    from app.planner.plan import PlanOptions

    added = deleted = None
    if options.incumbent_diff:
        from app.checkout.revisions import text_diff

        before, after = (tree.read(tree.layout.changelog) or b"" for tree in (base, head))
        added, deleted = text_diff(before, after)
    return PlanOptions(
        trim_conc=options.trim_conc,
        all_evals=options.all_evals,
        evals_only=options.evals_only,
        agentx_fast=options.agentx_fast,
        rules=_rules(options),
        added=added,
        deleted=deleted,
        base_ref=options.base,
        head_ref=options.head or options.repo,
    )


def _print_points(found: Plan, *, explain: bool) -> None:
    from app.planner.flat import flat_row

    for row in found.rows:
        origin = {"entry": str(row.entry), "master": str(row.master)} if explain else {}
        print(json.dumps(flat_row(row) | origin, sort_keys=True))


def _print_table(found: Plan, *, explain: bool) -> None:
    from app.planner.cost import row_cost, total_cost

    heading = ["bucket", "config key", "concurrency", "points", "GPUs", "GPU-hours (estimate)"]
    lines = [heading + (["entry", "master"] if explain else [])]
    for row in found.rows:
        cost = row_cost(row)
        line = [row.bucket, row.config_key, _concurrencies(row), str(cost.points), str(cost.gpus)]
        line.append(f"{cost.gpu_hours:.1f}")
        lines.append(line + ([str(row.entry), str(row.master)] if explain else []))
    total = total_cost(found.rows)
    lines.append(["total", f"{len(found.rows)} jobs", "", str(total.points), "", f"{total.gpu_hours:.1f}"])
    widths = [max(len(line[index]) for line in lines if index < len(line)) for index in range(len(lines[0]))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False)).rstrip())


def _concurrencies(row: PlannedRow) -> str:
    return ", ".join(map(str, row.concurrencies))


def _explain(found: Plan, *, by_option: bool) -> None:
    reason = "chosen by --rules" if by_option else "chosen by the layout of head"
    print(f"rules: {found.rules.value} ({reason})", file=sys.stderr)
    for row in found.rows:
        name = f"{row.bucket} {row.config_key} c{_concurrencies(row)}"
        print(f"{name}: entry {row.entry}, row {row.master}", file=sys.stderr)


class _Help(argparse.HelpFormatter):
    """Help of a fixed width: asking the terminal for its own would cost every start 2 ms."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=110)


def _parser(verb: str) -> argparse.ArgumentParser:
    """The options of one verb; of all verbs, without their options, where it is none of ours."""
    fill = {
        "plan": (_plan_parser, "the sweep matrix of new changelog entries"),
        "changed": (_changed_parser, "config keys whose points differ"),
        "changelog": (_changelog_parser, "check or add changelog entries"),
    }
    if verb in fill:
        make, about = fill[verb]
        parser = argparse.ArgumentParser(prog=f"sweepgate {verb}", description=about, formatter_class=_Help)
        make(parser)
        return parser
    parser = argparse.ArgumentParser(prog="sweepgate", description="Plans sweeps.", formatter_class=_Help)
    parser.add_argument("verb", choices=tuple(fill), help="what to do; `sweepgate VERB --help` tells its options")
    return parser


def _changelog_parser(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="check|add", prog=parser.prog)
    for name, make, about in (
        ("check", _check_parser, "what is wrong with the changelog's new entries"),
        ("add", _add_parser, "append a valid entry"),
    ):
        make(actions.add_parser(name, help=about, formatter_class=_Help))


def _revisions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--base", required=True, help="directory, or git revision (its merge base with head counts)")
    parser.add_argument("--head", default="", help="directory or git revision; without it the --repo directory")
    parser.add_argument("--repo", default=".", help="the git repository of the revisions (default: here)")


def _rules_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rules", choices=("august", "october"), help="force the rules of one generation")


def _plan_parser(parser: argparse.ArgumentParser) -> None:
    _revisions(parser)
    _rules_option(parser)
    parser.add_argument("--trim-conc", action="store_true", help="keep the lowest concurrency of each shape")
    parser.add_argument("--all-evals", action="store_true", help="evaluate every row that may be")
    parser.add_argument("--evals-only", action="store_true", help="no throughput rows")
    parser.add_argument("--agentx-fast", action="store_true", help="agentic throughput rows of 20 minutes")
    parser.add_argument("--incumbent-diff", action="store_true", help="new entries by git's text diff, as upstream")
    parser.add_argument("--explain", action="store_true", help="say which entry and master line each row is from")
    parser.add_argument("--format", choices=("json", "points", "table"), default="json")
    parser.set_defaults(run=plan_command)


def _changed_parser(parser: argparse.ArgumentParser) -> None:
    _revisions(parser)
    _rules_option(parser)
    parser.set_defaults(run=changed_command)


def _check_parser(parser: argparse.ArgumentParser) -> None:
    from app.target.changelog import REPOSITORY

    _revisions(parser)
    parser.add_argument("--strict", action="store_true", help="the byte-strict rules of a merge")
    parser.add_argument("--pr", type=int, help="the pull request's number, for pr-link")
    parser.add_argument("--repository", default=REPOSITORY, help="owner/name in pr-link")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(run=check_command)


def _add_parser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repo", default=".", help="directory of the target repository (default: here)")
    parser.add_argument("--keys", nargs="+", required=True, help="config keys; * stands for any run of characters")
    parser.add_argument("--description", nargs="+", required=True, help="what changes, one text a line")
    parser.add_argument("--pr-link", default="XXX", help="the pull request's URL (default: XXX)")
    parser.add_argument("--scenario-type", nargs="+", choices=("fixed-seq-len", "agentic-coding"))
    parser.add_argument("--eval-min-prefill-ep", type=int)
    for name in ("evals-only", "all-evals", "no-evals", "append-only"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.set_defaults(run=add_command)


if __name__ == "__main__":
    sys.exit(main())
