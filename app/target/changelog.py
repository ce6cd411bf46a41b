"""Purpose: perf-changelog.yaml (formats.md 4) as typed entries with lines. Owner room: app.target.

Three readers: `read_changelog` (a whole file), `read_added` (lines that a text diff added, as the incumbent parses
them) and `difference` (what head has and base has not, compared by value: order, comments and layout do not count).

Invariants: entries compare equal iff their values are equal, wherever they stand (`where` does not count).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from app.target.source import FileLine, Problem, RejectedInput, reject
from app.target.tree import Tree
from app.target.yaml_blocks import Block, read_blocks, read_difference

REPOSITORY: Final = "SemiAnalysisAI/InferenceX"
SCENARIOS: Final = ("fixed-seq-len", "agentic-coding")
_FLAGS: Final = ("evals-only", "all-evals", "no-evals", "append-only")
_LISTS: Final = ("config-keys", "description")
FIELDS: Final = (*_LISTS, "pr-link", "scenario-type", *_FLAGS, "eval-min-prefill-ep")


@dataclass(frozen=True)
class ChangelogEntry:
    """One entry. `scenario_type` None means both scenarios. `where` is the entry's first line."""

    config_keys: tuple[str, ...]
    description: tuple[str, ...]
    pr_link: str
    where: FileLine = field(compare=False)
    scenario_type: tuple[str, ...] | None = None
    evals_only: bool = False
    all_evals: bool = False
    no_evals: bool = False
    append_only: bool = False
    eval_min_prefill_ep: int | None = None

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The scenarios that the entry selects."""
        return SCENARIOS if self.scenario_type is None else self.scenario_type


@dataclass(frozen=True, slots=True)
class Added:
    """Lines that a text diff added, with the line of each in the head file."""

    lines: tuple[str, ...]
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """`added`: in head and not in base, in head's order. `removed`: the reverse, in base's order."""

    added: tuple[ChangelogEntry, ...]
    removed: tuple[ChangelogEntry, ...]


def read_changelog(tree: Tree) -> tuple[ChangelogEntry, ...]:
    """All entries at one revision; an absent file has none. Raises RejectedInput with every broken entry."""
    return _entries(_blocks(tree), tree.layout.changelog, tree.revision)


def difference(base: Tree, head: Tree) -> Difference:
    """What changed between two revisions, as a multiset difference of parsed entries.

    Entries with equal bytes are not parsed; only the others are checked against the schema.
    """
    before, after = _changed_blocks(base, head)
    old = _known(before, base.layout.changelog, base.revision)
    new = _entries(after, head.layout.changelog, head.revision)
    return Difference(_minus(new, old), _minus(old, new))


def _changed_blocks(base: Tree, head: Tree) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """Blocks of base and of head whose bytes the other does not have; all of both where the files do not split."""
    sides = [(tree.read(tree.layout.changelog) or b"", tree.layout.changelog, tree.revision) for tree in (base, head)]
    return read_difference(sides[0], sides[1]) or (_blocks(base), _blocks(head))


def _known(blocks: Sequence[Block], path: str, sha: str) -> tuple[ChangelogEntry, ...]:
    """Base entries: one that is broken cannot be this change's fault, it only never compares equal."""
    found: list[ChangelogEntry] = []
    for block in blocks:
        try:
            found.extend(_entries([block], path, sha))
        except RejectedInput:
            found.append(ChangelogEntry((), (), repr(block.value), block.where))
    return tuple(found)


def _minus(left: Iterable[ChangelogEntry], right: Iterable[ChangelogEntry]) -> tuple[ChangelogEntry, ...]:
    counts = Counter(right)
    kept = []
    for entry in left:
        if counts[entry] > 0:
            counts[entry] -= 1
        else:
            kept.append(entry)
    return tuple(kept)


def _blocks(tree: Tree) -> tuple[Block, ...]:
    path = tree.layout.changelog
    content = tree.read(path)
    return () if content is None else read_blocks(content, path, tree.revision, items=True)


def read_added(added: Added, path: str, sha: str = "") -> tuple[ChangelogEntry, ...]:
    """The added lines of a text diff, joined and parsed on their own (the incumbent's way).

    Raises RejectedInput where they are not a list of valid entries.
    """
    text = "\n".join(added.lines) + "\n"
    try:
        blocks = read_blocks(text.encode(errors="surrogateescape"), path, sha, items=True)
        return tuple(_moved(entry, added) for entry in _entries(blocks, path, sha))
    except RejectedInput as rejected:
        raise RejectedInput(
            [Problem(_number(problem.where, added), *_rest(problem)) for problem in rejected.problems]
        ) from None


def _rest(problem: Problem) -> tuple[str, str, str, int]:
    return (problem.rule, problem.found, problem.fix, problem.severity)


def _number(where: FileLine, added: Added) -> FileLine:
    line = added.numbers[where.line - 1] if where.line <= len(added.numbers) else where.line
    return FileLine(where.path, line, where.column, where.sha)


def _moved(entry: ChangelogEntry, added: Added) -> ChangelogEntry:
    values = dict(entry.__dict__)
    values["where"] = _number(entry.where, added)
    return ChangelogEntry(**values)


def _entries(blocks: Iterable[Block], path: str, sha: str) -> tuple[ChangelogEntry, ...]:
    problems: list[Problem] = []
    entries = []
    for block in blocks:
        found = _problems(block)
        if found:
            problems.extend(found)
        else:
            entries.append(_entry(block.value, FileLine(path, block.where.line, 1, sha)))
    if problems:
        raise RejectedInput(problems)
    return tuple(entries)


def _entry(value: Mapping[str, Any], where: FileLine) -> ChangelogEntry:
    scenario = value.get("scenario-type")
    return ChangelogEntry(
        config_keys=tuple(value["config-keys"]),
        description=tuple(value["description"]),
        pr_link=value["pr-link"],
        where=where,
        scenario_type=None if scenario is None else tuple(scenario),
        evals_only=value.get("evals-only", False),
        all_evals=value.get("all-evals", False),
        no_evals=value.get("no-evals", False),
        append_only=value.get("append-only", False),
        eval_min_prefill_ep=value.get("eval-min-prefill-ep"),
    )


def _problems(block: Block) -> list[Problem]:
    value = block.value
    if not isinstance(value, dict):
        fix = "Start an entry with `- config-keys:`."
        return reject(block.where, "An entry must be a mapping.", value, fix, 1).problems
    check = _Check(block)
    for name in (*_LISTS, "pr-link"):
        if name not in value:
            check.add(name, f"An entry needs `{name}`.", f"Add `{name}`.")
    for name, item in value.items():
        check.field(name, item)
    if not check.problems:
        check.exclusions()
    return check.problems


class _Check:
    """Collects the broken rules of one entry."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.problems: list[Problem] = []

    def add(self, name: str, rule: str, fix: str) -> None:
        value: dict[str, Any] = self.block.value
        where = self.block.marks.place(value, name) or self.block.where
        self.problems.append(Problem(where, rule, f"{value.get(name, 'none')!r}"[:120], fix))

    def field(self, name: str, item: Any) -> None:
        if name not in FIELDS:
            self.add(name, f"An entry has no field `{name}`; known are {', '.join(FIELDS)}.", "Remove or rename it.")
        elif name in _FLAGS and not isinstance(item, bool):
            self.add(name, f"`{name}` must be true or false.", "Write true or false.")
        elif name in _LISTS and not _texts(item):
            self.add(name, f"`{name}` must be a list of texts, at least one.", "Write `- text` lines.")
        elif name == "pr-link" and not isinstance(item, str):
            self.add(name, "`pr-link` must be text.", "Write the pull request's URL or XXX.")
        elif name == "scenario-type" and not (_texts(item) and set(item) <= set(SCENARIOS)):
            self.add(name, f"`scenario-type` must be a list of {' or '.join(SCENARIOS)}.", "Use these names.")
        elif name == "eval-min-prefill-ep" and (isinstance(item, bool) or not isinstance(item, int) or item < 1):
            self.add(name, "`eval-min-prefill-ep` must be a whole number, 1 or more.", "Correct or remove it.")

    def exclusions(self) -> None:
        """`append-only` and `no-evals` allow no other word on evals."""
        value: dict[str, Any] = self.block.value
        for name in ("append-only", "no-evals"):
            if not value.get(name):
                continue
            others = [other for other in ("evals-only", "all-evals") if value.get(other)]
            others += ["eval-min-prefill-ep"] if value.get("eval-min-prefill-ep") is not None else []
            for other in others:
                self.add(other, f"`{name}` cannot be combined with `{other}`.", f"Remove `{other}`.")


def _texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)
