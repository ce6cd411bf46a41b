"""Purpose: the bounded evaluator of launch scripts (rules.md: "Shell is evaluated per point"). It runs nothing.

`evaluate` walks a script of the tree as bash would for one environment and gives the commands that it starts, with
arguments, environment and line, the files that it writes, and the scripts that it enters.

Invariants: pure and bounded (steps, depth, text). What depends on the machine is a hole that says why, and what stands
behind it is not certain; nothing undecided is given as decided. A bound that was reached is said in `finished`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from app.target.shell_record import BoundReached, Evaluated, Record
from app.target.shell_run import Shell
from app.target.shell_state import Leave, State
from app.target.shell_syntax import Script, errors
from app.target.shell_text import Word, hole
from app.target.source import FileLine, reject
from app.target.tree import Tree


def evaluate(
    tree: Tree,
    script_path: str,
    env: Mapping[str, str | None],
    arguments: Sequence[str] = (),
) -> Evaluated:
    """Evaluates one script of the tree. `env` is what the workflow and the point set, exported; a value of None means
    set to something that is not known.

    Raises RejectedInput where the script is not in the tree, NotRecorded where it was not gathered.
    """
    content = tree.read(script_path)
    if content is None:
        fix = "Add the script, or correct the entry that names it."
        raise reject(
            FileLine(script_path, 1, 0, tree.revision),
            "The script is not in the repository.",
            script_path,
            fix,
        )
    script = Script.of(script_path, content, tree.revision)
    record = Record()
    record.scripts[script_path] = None
    for place in errors(script):
        record.open(place, "text that is no shell syntax")
    given = FileLine("the point's environment")
    variables = {
        name: Word(hole(name, "not known here") if value is None else value, given) for name, value in env.items()
    }
    state = State(
        dict(variables),
        frozenset(variables),
        arguments=tuple(Word(argument) for argument in arguments),
    )
    finished = True
    try:
        with suppress(Leave):
            Shell(tree, script, state, record).run(script.root)
    except (BoundReached, RecursionError):
        finished = False
        record.open(
            FileLine(script_path, 1, 0, tree.revision),
            "the script is larger than what is evaluated",
        )
    return record.result(script_path, finished)
