"""Purpose: hostile scripts: deep, huge, doubling, looping, with patterns that backtrack. Each ends and says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.target import shell_patterns as patterns
from app.target import shell_record as record
from app.target.shell_programs import output_of
from app.target.shell_record import Evaluated
from app.target.shell_text import is_known, printf

Run = Callable[..., Evaluated]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("A=x\nwhile true; do A=$A$A; done\nserve $A", id="a text that doubles"),
        pytest.param('A=(x)\nwhile true; do A=("${A[@]}" "${A[@]}"); done', id="an array that doubles"),
        pytest.param("A=$X\nwhile true; do A=${A#y}${A#z}; done", id="an unknown text that doubles"),
        pytest.param("echo x > f\nwhile true; do cat f f > g; cat g g > f; done", id="a file that doubles"),
        pytest.param("f() { f; f; }\nf", id="a function that calls itself twice"),
        pytest.param("f() { if probe; then f; else f; fi; }\nf", id="undecided branches that call themselves"),
        pytest.param("source runners/launch.sh\nsource runners/launch.sh", id="a script that sources itself"),
        pytest.param("bash runners/launch.sh & bash runners/launch.sh", id="a script that starts itself"),
        pytest.param("while true; do while true; do serve; done; done", id="endless loops in each other"),
        pytest.param("while probe; do while probe; do while probe; do serve; done; done; done", id="open loops"),
        pytest.param("for i in {1..999999999999}; do serve $i; done", id="a range without end"),
        pytest.param("if true; then " * 3000 + "serve" + "; fi" * 3000, id="three thousand branches deep"),
        pytest.param("echo " + "$(echo " * 800 + "x" + ")" * 800, id="eight hundred substitutions deep"),
        pytest.param("serve " + "${A:-" * 800 + "x" + "}" * 800, id="eight hundred defaults deep"),
        pytest.param("serve $((" + "(" * 5000 + "1" + ")" * 5000 + "))", id="five thousand parentheses"),
        pytest.param("serve x\n" * 100_000, id="a hundred thousand commands"),
        pytest.param("A='" + "x" * 3_000_000 + "'\nserve $A $A $A $A $A $A $A $A", id="three million letters"),
        pytest.param("eval 'eval \"$A\"'", id="an evaluation of itself"),
    ],
)
def test_a_hostile_script_ends(run: Run, text: str) -> None:
    evaluated = run(text, X=None, A='eval "$A"' if "eval" in text else None)
    assert len(evaluated.commands) <= record.MAX_COMMANDS + 1
    assert sum(len(word) for command in evaluated.commands for word in command.words) <= 2 * record.MAX_LETTERS
    assert evaluated.finished or any("larger than what is evaluated" in one.what for one in evaluated.undecided)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("A=x\nwhile true; do A=$A$A; done\nserve $A", id="a text that doubles"),
        pytest.param("for i in {1..5000}; do for j in {1..5000}; do serve; done; done\nserve end", id="nested loops"),
    ],
)
def test_what_stands_behind_a_bound_is_not_known_and_that_is_said(run: Run, text: str) -> None:
    evaluated = run(text)
    assert not evaluated.finished
    assert "serve end" not in map(str, evaluated.commands)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("A=b\nserve ${A#[z-a]}", id="a class in the wrong order"),
        pytest.param("A=b\nserve ${A//[[:none:]]/x}", id="a class that does not exist"),
        pytest.param("serve $(echo b | sed 's/[z-a]/x/')", id="sed with a class in the wrong order"),
        pytest.param("serve $(echo b | tr 'z-a' x)", id="tr with a range in the wrong order"),
        pytest.param("[ ² -eq 1 ] && serve", id="a digit that is no number"),
        pytest.param("[[ x =~ (?P<n ]] && serve", id="a search that is no expression"),
        pytest.param(f"shift {'9' * 5000}\nserve ${{{'9' * 5000}}}", id="a number of five thousand digits"),
        pytest.param("for i in {1.." + "9" * 5000 + "}; do serve $i; done", id="a range up to five thousand digits"),
        pytest.param("serve $((9" + "9" * 5000 + "))", id="arithmetic with five thousand digits"),
        pytest.param("serve ${", id="an expansion that does not end"),
        pytest.param("case x in (((", id="a case that does not end"),
        pytest.param("printf '%*d' 3 4", id="a width from an argument"),
        pytest.param("printf -v", id="printf without a name"),
        pytest.param("set --; shift 3; source; eval; read; cd", id="builtins without arguments"),
    ],
)
def test_a_broken_script_never_raises(run: Run, text: str) -> None:
    assert run(text).script == "runners/launch.sh"


STARS = "*a" * 30 + "*b"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        pytest.param(lambda: patterns.matches(patterns.glob_regex(STARS), "a" * 5000), False, id="a case pattern"),
        pytest.param(
            lambda: patterns.trimmed("a" * 5000, patterns.glob_regex(STARS), front=True, longest=True),
            "a" * 5000,
            id="a trimmed front",
        ),
        pytest.param(
            lambda: patterns.trimmed("a" * 5000, patterns.glob_regex(STARS), front=False, longest=False),
            "a" * 5000,
            id="a trimmed end",
        ),
        pytest.param(
            lambda: patterns.replaced("a" * 2000, patterns.glob_regex(STARS), "x", everywhere=True),
            "a" * 2000,
            id="a replacement",
        ),
        pytest.param(
            lambda: is_known(patterns.replaced("a" * 200_000, patterns.glob_regex("a*b"), "", everywhere=True)),
            False,
            id="a replacement in a long text is not tried",
        ),
        pytest.param(lambda: is_known(patterns.glob_regex("[" * 100_000)), False, id="a long pattern is not read"),
        pytest.param(lambda: patterns.searched("(a+)+$", "a" * 60 + "b"), None, id="repeated groups"),
        pytest.param(lambda: patterns.searched("(a|a)*$", "a" * 60 + "b"), None, id="repeated alternatives"),
        pytest.param(lambda: patterns.searched("a*" * 12 + "c", "a" * 60), None, id="many repetitions"),
        pytest.param(lambda: patterns.searched("a?" * 40 + "a" * 40, "a" * 40), None, id="many options"),
        pytest.param(lambda: patterns.searched(r"(a*)\1\1b", "a" * 60), None, id="a reference back"),
        pytest.param(lambda: patterns.searched("(" * 900 + ")" * 900, "a") is False, False, id="deep groups"),
        pytest.param(lambda: output_of(["sed", "s/" + r"\a" * 60], "x"), None, id="a substitution without an end"),
        pytest.param(lambda: output_of(["awk", "BEGIN{print" + " " * 20_000], ""), None, id="a sum of blanks"),
        pytest.param(lambda: output_of(["tr", "\x01-\U0010ffff" * 900, "x"], "x"), None, id="ranges over all letters"),
        pytest.param(lambda: output_of(["seq", "1", "999999999"], ""), None, id="a sequence without end"),
        pytest.param(lambda: is_known(printf("%999999999d", ["1"])), False, id="a number a billion wide"),
        pytest.param(lambda: is_known(printf("%.999999999f", ["1"])), False, id="a number with a billion digits"),
        pytest.param(lambda: is_known(printf("x" * 9999 + "%s", ["y"] * 9999)), False, id="a format used too often"),
    ],
)
def test_patterns_and_programs_are_bounded(call: Callable[[], object], expected: object) -> None:
    assert call() == expected
