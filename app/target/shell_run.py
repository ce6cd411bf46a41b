"""Purpose: walks a shell script's statements for one environment: assignments, branches, loops, functions, pipelines.

It runs nothing. Conditions on known values choose their branch; where a condition is not known, both branches are
walked on copies of the state and merged (`shell_state.merged`), and what they start is recorded as not certain.

Invariants: bounded by steps, depth and loop passes (`BoundReached`, `MAX_DEPTH`, `MAX_PASSES`). A branch that exits
does not reach what follows: its state is dropped. Programs are assumed to succeed unless their status is asked for.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from app.target import (
    shell_assign,
    shell_builtins,
    shell_commands,
    shell_flow,
    shell_redirect,
)
from app.target.shell_record import MAX_TEXT, Command, Record, Written
from app.target.shell_state import (
    WORKSPACE,
    Frame,
    Function,
    Leave,
    State,
    Value,
    merged,
)
from app.target.shell_syntax import Script, named
from app.target.shell_tests import Tests
from app.target.shell_text import Word, either, hole, is_known, shown
from app.target.shell_words import Words
from app.target.tree import NotRecorded, Tree

MAX_DEPTH = 40
_MOUNTS = (WORKSPACE, "/infmax-workspace", "/ix")


class Shell:
    """One shell process. Children (`bash x.sh`) are new shells that share the record and see exports only."""

    def __init__(self, tree: Tree, script: Script, state: State, record: Record, depth: int = 0) -> None:
        self.tree, self.script, self.state, self.record, self.depth = (
            tree,
            script,
            state,
            record,
            depth,
        )
        self.status: bool | None = True
        self.output: list[str] = []
        self.stdin = ""
        self.certain = True
        self.frames: list[Frame] = []
        self.zero = f"{WORKSPACE}/{script.path}"
        self.sources: list[str] = [script.path]
        self.words = Words(self)
        self.tests = Tests(self.words, self)
        self.children = 0
        self.captures = 0
        self.saved: dict[str, Value | None] = {}
        self.extra: tuple[Word, ...] = ()

    # -- what words and tests ask ----------------------------------------------------------------------------------

    def read(self, name: str) -> Value | None:
        self.record.read.add(name)
        if name == "BASH_SOURCE":
            return tuple(Word(f"{WORKSPACE}/{path}") for path in reversed(self.sources))
        if name in ("PWD", "GITHUB_WORKSPACE") and name not in self.state.variables:
            return Word(self.state.cwd if name == "PWD" else WORKSPACE)
        return self.state.variables.get(name)

    def is_set(self, name: str) -> bool | None:
        word = self.words.value(name)
        return None if word is not None and not is_known(word) else word is not None

    def special(self, name: str) -> str:
        if name == "#":
            return str(len(self.state.arguments))
        if name == "?" and self.status is not None:
            return "0" if self.status else "1"
        if name == "0":
            return self.zero
        return hole(name, "known at run time only")

    def repository_path(self, path: str) -> str | None:
        """The repository path that a path names, None where it is the machine's."""
        if not is_known(path) or not is_known(self.state.cwd):
            return None
        whole = posixpath.normpath(posixpath.join(self.state.cwd, path))
        for mount in _MOUNTS:
            if whole == mount or whole.startswith(f"{mount}/"):
                return whole.removeprefix(mount).lstrip("/")
        return None

    def content(self, path: str) -> bytes | None:
        """A repository file; None where it is not there or was not gathered."""
        try:
            return self.tree.read(path)
        except NotRecorded:
            self.record.unread.add(path)
            return None

    def file_exists(self, path: str, kind: str) -> bool | None:
        inside = self.repository_path(path)
        if inside is None or kind == "-d" or not self.tree.knows(inside):
            return None
        self.record.files.add(inside)
        return self.content(inside) is not None or (None if self._written(path) else False)

    def _written(self, path: str) -> bool:
        return any(file.path == path for file in self.record.written)

    def substitution(self, node: Any) -> str:
        """`$(...)`: the statements run on a copy of the state; only their output comes back."""
        text = self.captured(lambda: self.run_all(node.named_children))
        redirect = next(
            (child for child in node.named_children if child.type == "file_redirect"),
            None,
        )
        if redirect is not None and not text:
            return hole(shown(self.script.text(node)), "the content of a file")
        return text.rstrip("\n")

    def captured(self, run: Callable[[], None]) -> str:
        """The output of something that runs on a copy of the state; its status stays."""
        state, output = self.state, self.output
        self.state, self.output = state.copy(), []
        self.captures += 1
        try:
            with suppress(Leave):
                run()
            return "".join(self.output)
        finally:
            self.captures -= 1
            self.state, self.output = state, output

    # -- statements ------------------------------------------------------------------------------------------------

    def run_children(self, node: Any) -> None:
        self.run_all(node.named_children)

    def run_test(self, node: Any) -> None:
        self.status = self.tests.command(node, self.script.text(node))

    def run_all(self, nodes: Iterable[Any]) -> None:
        for node in nodes:
            self.run(node)

    def charge(self, amount: int) -> None:
        self.record.charge(amount)

    def run(self, node: Any) -> None:
        """One statement. Raises Leave and BoundReached."""
        handler = _STATEMENTS.get(node.type)
        if handler is not None:
            self.record.step()
            handler(self, node)

    def write(self, text: str) -> None:
        """Standard output: kept only where somebody reads it."""
        if text and self.captures:
            self.charge(len(text))
            self.output.append(text)

    def either(self, branches: Sequence[Callable[[], None]], node: Any, why: str) -> None:
        """Walks branches of which any may be taken, and merges what they leave."""
        start, output, certain = self.state, self.output, self.certain
        ends: list[tuple[State, str, bool | None]] = []
        left: list[tuple[str, State, bool | None]] = []
        self.certain = False
        self.record.branches += 1
        for branch in branches:
            self.state, self.output = start.copy(), []
            try:
                branch()
            except Leave as leave:
                left.append((leave.kind, self.state, self.status))
            else:
                ends.append((self.state, "".join(self.output), self.status))
        self.certain, self.output = certain, output
        chosen = None if ends else next((way for way in left if way[0] != "exit"), ("exit", start, None))
        for way in left:
            if way is not chosen:
                self._note_left(*way)
        if chosen is not None:
            _, self.state, self.status = chosen
            raise Leave(chosen[0])
        where = self.script.place(node)
        self.state, text, self.status = ends[0]
        for state, other, status in ends[1:]:
            self.state = merged(self.state, state, why, where)
            text = text if text == other else either(text, other, "output", why)
            self.status = self.status if self.status == status else None
        self.write(text)

    def _note_left(self, kind: str, state: State, status: bool | None) -> None:
        """A branch left early: its state comes back at the end of the frame that it left."""
        wanted = {
            "return": ("function", "script"),
            "break": ("loop",),
            "continue": ("pass",),
        }.get(kind, ())
        frame = next((frame for frame in reversed(self.frames) if frame.kind in wanted), None)
        if frame is not None:
            frame.left.append((state, status))

    def framed(self, kind: str, run: Callable[[], None], leaves: str, node: Any) -> str:
        """Runs inside a frame; gives how it was left ("" for its end), merged with the states that left it early."""
        frame = Frame(kind)
        self.frames.append(frame)
        how = ""
        try:
            run()
        except Leave as leave:
            how = leave.kind
        self.frames.pop()
        if how not in ("", leaves):
            if not frame.left:
                raise Leave(how)
            # The walked path goes further out, but an undecided branch stayed inside: go on with that one.
            self._note_left(how, self.state, self.status)
            (self.state, self.status), how = frame.left.pop(), leaves
        for state, status in frame.left:
            self.state = merged(self.state, state, "an early way out", self.script.place(node))
            self.status = self.status if self.status == status else None
        return how

    # -- groups, functions, pipelines ------------------------------------------------------------------------------

    def run_group(self, node: Any) -> None:
        if node.children and node.children[0].type == "((":
            number = self.words.arithmetic(node)
            self.status = None if number is None else number != 0
        else:
            self.run_all(node.named_children)

    def run_subshell(self, node: Any) -> None:
        self.write(self.captured(lambda: self.run_all(node.named_children)))

    def run_function(self, node: Any) -> None:
        name = self.script.text(node.child_by_field_name("name"))
        self.state.functions[name] = Function(node.child_by_field_name("body"), self.script)

    def call(self, function: Function, arguments: Sequence[Word], node: Any) -> None:
        """A function call: own arguments, dynamic scope, locals restored by `local` itself."""
        if self.depth >= MAX_DEPTH:
            self.record.open(self.script.place(node), "functions call each other too deeply")
            self.status = None
            return
        script, given = self.script, self.state.arguments
        self.script, self.state.arguments = function.script, tuple(arguments)
        self.depth += 1
        outer, self.saved = self.saved, {}
        try:
            self.framed("function", lambda: self.run(function.body), "return", node)
        finally:
            self.depth -= 1
            self.script = script
            self.state.arguments = given
            self._restore(self.saved)
            self.saved = outer

    def _restore(self, saved: dict[str, Value | None]) -> None:
        """Ends the scope of a function's locals."""
        for name, value in saved.items():
            if value is None:
                self.state.variables.pop(name, None)
            else:
                self.state.variables[name] = value

    def in_function(self) -> bool:
        return any(frame.kind == "function" for frame in self.frames)

    def run_pipeline(self, node: Any) -> None:
        stages = list(named(node))
        self.piped(stages, self.stdin)

    def piped(self, stages: Sequence[Any], text: str) -> None:
        """Each stage reads what the one before printed; none of them changes this shell's variables."""
        stdin = self.stdin
        for stage in stages:
            self.stdin = text
            text = self.captured(lambda stage=stage: self.run(stage))  # type: ignore[misc]
        self.stdin = stdin
        self.write(text)

    def run_unset(self, node: Any) -> None:
        for child in named(node):
            name = self.script.text(child)
            if not name.startswith("-"):
                self.state.variables.pop(name, None)
                self.state.exported -= {name}
        self.status = True

    def start(self, words: Sequence[Word], node: Any) -> None:
        """Starts expanded words, as `exec` does."""
        shell_commands.start(self, words, {}, node)

    def record_command(self, words: Sequence[Word], env: dict[str, Word], node: Any) -> None:
        command = Command(tuple(words), env, self.script.place(node), self.certain, self.stdin)
        for word in words if self.record.command(command) else ():
            for path in _paths_in(word):
                inside = self.repository_path(path)
                if inside and self.content(inside) is not None:
                    self.record.files.add(inside)

    def record_written(self, path: str, text: str, node: Any) -> None:
        self.charge(len(text))
        self.record.written.append(Written(path, text[:MAX_TEXT], self.script.place(node), self.certain))


def _paths_in(word: str) -> list[str]:
    return [part for part in re.split(r"[=,:\s'\"()]", word) if "/" in part or "." in part]


_STATEMENTS: Mapping[str, Callable[[Shell, Any], None]] = {
    "program": Shell.run_children,
    "do_group": Shell.run_children,
    "compound_statement": Shell.run_group,
    "subshell": Shell.run_subshell,
    "function_definition": Shell.run_function,
    "pipeline": Shell.run_pipeline,
    "unset_command": Shell.run_unset,
    "test_command": Shell.run_test,
    "command": shell_commands.run_command,
    "declaration_command": shell_builtins.run_declaration,
    "variable_assignment": shell_assign.run_assignment,
    "variable_assignments": Shell.run_children,
    "redirected_statement": shell_redirect.run_redirected,
    "if_statement": shell_flow.run_if,
    "case_statement": shell_flow.run_case,
    "list": shell_flow.run_list,
    "negated_command": shell_flow.run_negated,
    "while_statement": shell_flow.run_while,
    "for_statement": shell_flow.run_for,
    "c_style_for_statement": shell_flow.run_c_for,
}
