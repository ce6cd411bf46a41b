"""Purpose: redirections: here-documents, here-strings, files read and written, process substitutions as input.

Invariants: what a statement prints into a file is recorded with its text; error output is dropped. Nothing is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.target.shell_flow import chained
from app.target.shell_syntax import named
from app.target.shell_text import Word, hole, is_known, shown

if TYPE_CHECKING:
    from app.target.shell_run import Shell

_OUTPUTS = (">", ">>", ">|", "&>", "&>>")


def run_redirected(shell: Shell, node: Any) -> None:
    """A statement with its redirections, and what is chained to a here-document."""
    stdin = shell.stdin
    # A here-string behind a compound statement is no field of the grammar: the kind of the child decides.
    redirects = [child for child in node.named_children if child.type.endswith("_redirect")]
    body = node.child_by_field_name("body")
    extra: list[Word] = []
    for redirect in redirects:
        text = _input(shell, redirect)
        if text is not None:
            shell.stdin = text
        extra.extend(word for part in redirect.children_by_field_name("argument") for word in shell.words.fields(part))
    target = next(
        (found for redirect in _files(redirects) if (found := _output(shell, redirect)) is not None),
        None,
    )
    pipes = [child for redirect in redirects for child in redirect.named_children if child.type == "pipeline"]
    try:
        shell.extra = tuple(extra)
        if pipes:
            _piped(shell, body, pipes[0])
        elif target is None:
            _run(shell, body)
        else:
            _into_file(shell, body, target, node)
    finally:
        shell.stdin = stdin
    for redirect in redirects:
        operator, right = (
            redirect.child_by_field_name("operator"),
            redirect.child_by_field_name("right"),
        )
        if operator is not None and right is not None:
            chained(shell, operator.type, right, node)


def _run(shell: Shell, body: Any) -> None:
    if body is not None:
        shell.run(body)


def _piped(shell: Shell, body: Any, pipeline: Any) -> None:
    text = shell.captured(lambda: _run(shell, body))
    shell.piped(list(named(pipeline)), text)


def _into_file(shell: Shell, body: Any, target: tuple[str, bool], node: Any) -> None:
    """The output of a statement goes to a file; its effects on variables stay."""
    output, shell.output = shell.output, []
    shell.captures += 1
    try:
        _run(shell, body)
    finally:
        shell.captures -= 1
        text = "".join(shell.output)
        shell.output = output
    path, adding = target
    if path.startswith("/dev/") or path.isdigit():
        return
    if adding:
        before = next(
            (file.text for file in reversed(shell.record.written) if file.path == path),
            "",
        )
        text = before + text
    shell.record_written(path, text, node)


def _files(redirects: list[Any]) -> list[Any]:
    """File redirections, those inside a here-document's line included."""
    found = [redirect for redirect in redirects if redirect.type == "file_redirect"]
    for redirect in redirects:
        found.extend(child for child in redirect.named_children if child.type == "file_redirect")
    return found


def _output(shell: Shell, redirect: Any) -> tuple[str, bool] | None:
    """Path and "append" of an output redirection of standard output."""
    operator = next((child.type for child in redirect.children if not child.is_named), "")
    descriptor = next(
        (child for child in redirect.named_children if child.type == "file_descriptor"),
        None,
    )
    if descriptor is not None and shell.script.text(descriptor) != "1":
        return None
    destination = redirect.child_by_field_name("destination")
    if destination is None or destination.type == "process_substitution":
        return None
    if operator == ">&":
        return ("/dev/stderr", False) if shell.script.text(destination) == "2" else None
    if operator not in _OUTPUTS:
        return None
    path = shell.words.text(destination)
    return shown(path) if not is_known(path) else str(path), operator.endswith(">>")


def _input(shell: Shell, redirect: Any) -> str | None:
    """The text that a redirection gives as input, None where it gives none."""
    if redirect.type == "heredoc_redirect":
        return _heredoc(shell, redirect)
    if redirect.type == "herestring_redirect":
        return f"{shell.words.text(redirect.named_children[-1])}\n"
    operator = next((child.type for child in redirect.children if not child.is_named), "")
    destination = redirect.child_by_field_name("destination")
    if operator != "<" or destination is None:
        return None
    if destination.type == "process_substitution":
        return shell.captured(lambda: shell.run_all(destination.named_children))
    return file_text(shell, shell.words.text(destination))


def file_text(shell: Shell, path: str) -> str:
    """The text of a file that the script reads: one it wrote, one of the repository, else a hole."""
    written = next((file for file in reversed(shell.record.written) if file.path == path), None)
    if written is not None:
        return written.text
    inside = shell.repository_path(path)
    content = shell.content(inside) if inside else None
    if content is None or inside is None:
        return hole(shown(path), "a file of the machine")
    shell.record.files.add(inside)
    return content.decode("utf-8", errors="replace")


def _heredoc(shell: Shell, redirect: Any) -> str:
    start = next(child for child in redirect.named_children if child.type == "heredoc_start")
    body = next(
        (child for child in redirect.named_children if child.type == "heredoc_body"),
        None,
    )
    if body is None:
        return ""
    literal = shell.script.text(start)[:1] in ("'", '"', "\\")
    text = shell.script.text(body) if literal else shell.words.heredoc(body)
    if redirect.children[0].type == "<<-":
        text = "\n".join(line.lstrip("\t") for line in text.split("\n"))
    return text
