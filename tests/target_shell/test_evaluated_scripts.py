"""Purpose: what a launch script starts, for one point: one table of shell forms, each with its commands."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.target.shell_record import Evaluated

Run = Callable[..., Evaluated]


def said(evaluated: Evaluated) -> list[str]:
    return [str(command) for command in evaluated.commands]


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        pytest.param("A=1\nserve --tp $A", ["serve --tp 1"], id="a variable is put into a command"),
        pytest.param("A='x y'\nserve $A", ["serve x y"], id="an unquoted variable is split into words"),
        pytest.param("A='x y'\nserve '$A'", ["serve $A"], id="single quotes keep a dollar sign"),
        pytest.param("A=1; A+=2\nserve $A", ["serve 12"], id="an addition to a text appends"),
        pytest.param("A=1\nB=A\nserve ${!B}", ["serve 1"], id="an indirect name is followed"),
        pytest.param("serve ${A:-2} ${B-3}", ["serve 2 3"], id="a default stands in for an unset variable"),
        pytest.param("A=\nserve x${A:-2}${A-3}", ["serve x2"], id="an empty variable is set, but not filled"),
        pytest.param(": ${A:=4}\nserve $A", [": 4", "serve 4"], id="a default may be assigned"),
        pytest.param("A=x\nserve ${A:+--flag}${B:+--none}", ["serve --flag"], id="a flag only where a value is set"),
        pytest.param("A=a/b/c\nserve ${A##*/} ${A%/*}", ["serve c a/b"], id="a path is cut at its ends"),
        pytest.param("A=aXbXc\nserve ${A#*X} ${A%%X*}", ["serve bXc a"], id="shortest front and longest end are cut"),
        pytest.param("A=a.b.c\nserve ${A//./_} ${A/./_}", ["serve a_b_c a_b.c"], id="text is replaced once or always"),
        pytest.param("A=abab\nserve ${A/#ab/x} ${A/%ab/y}", ["serve xab aby"], id="a replacement holds to one end"),
        pytest.param("A=gB200\nserve ${A,,} ${A^^} ${#A}", ["serve gb200 GB200 5"], id="letter case and length"),
        pytest.param("A=abcdef\nserve ${A:1:2} ${A: -2}", ["serve bc ef"], id="a part of a text"),
        pytest.param("serve $((2*(3+1)%5)) $((1<<3))", ["serve 3 8"], id="arithmetic is computed"),
        pytest.param("serve $(echo hi)", ["echo hi", "serve hi"], id="a modelled program's output is used"),
        pytest.param("A=(x 'y z')\nA+=(w)\nserve \"${A[@]}\"", ["serve x y z w"], id="an array is built up"),
        pytest.param("A=(x y)\nserve ${A[1]} ${#A[@]}", ["serve y 2"], id="an element and the size of an array"),
        pytest.param("declare -A M=([k]=v)\nserve ${M[k]}", ["serve v"], id="an associative array is read by key"),
        pytest.param("A=(1 2 3 4)\nserve ${A[@]:1:2}", ["serve 2 3"], id="a slice of an array"),
        pytest.param("printf -v A '{\"k\": %d}' 3\nserve $A", ['serve {"k": 3}'], id="printf builds a text in a name"),
        pytest.param("A=$(printf '%s,' a b)\nserve ${A%,}", ["printf %s, a b", "serve a,b"], id="printf repeats"),
        pytest.param("serve $(printf '%.2f' 2.5)", ["printf %.2f 2.5", "serve 2.50"], id="printf rounds"),
    ],
)
def test_words(run: Run, text: str, commands: list[str]) -> None:
    evaluated = run(text)
    assert [line for line in said(evaluated) if not line.startswith(("echo", "printf"))] == [
        line for line in commands if not line.startswith(("echo", "printf", ":"))
    ]
    assert evaluated.finished


BRANCH = """\
if [[ $CONC -gt 64 || $MODE == fast* ]]; then
  serve --large
elif [ "$CONC" = 64 ]; then
  serve --exact
else
  serve --small
fi
"""
CASE = 'case "$SKU" in\n  gb200*|gb300*) serve --grace ;;\n  b[23]00) serve --x86 ;;\n  *) serve --other ;;\nesac'


@pytest.mark.parametrize(
    ("text", "env", "commands"),
    [
        pytest.param(BRANCH, {"CONC": "128"}, ["serve --large"], id="the branch of a large point"),
        pytest.param(BRANCH, {"CONC": "64"}, ["serve --exact"], id="the branch of one point"),
        pytest.param(BRANCH, {"CONC": "8"}, ["serve --small"], id="the branch of a small point"),
        pytest.param(BRANCH, {"CONC": "8", "MODE": "faster"}, ["serve --large"], id="a pattern decides a branch"),
        pytest.param(CASE, {"SKU": "gb300-nv"}, ["serve --grace"], id="a case with alternatives"),
        pytest.param(CASE, {"SKU": "b300"}, ["serve --x86"], id="a case with a class of letters"),
        pytest.param(CASE, {"SKU": "h200"}, ["serve --other"], id="a case without a match takes the rest"),
        pytest.param("[[ $N =~ ^[1-9][0-9]*$ ]] && serve $N", {"N": "12"}, ["serve 12"], id="a number by its form"),
        pytest.param("[[ $N =~ ^[1-9][0-9]*$ ]] && serve $N", {"N": "x"}, [], id="no number by its form"),
        pytest.param('[ -n "$A" ] || serve none', {}, ["serve none"], id="a list goes on where a test fails"),
        pytest.param("[ -f runners/launch.sh ] && serve", {}, ["serve"], id="a repository file exists"),
        pytest.param("(( CONC >= 8 )) && serve big", {"CONC": "8"}, ["serve big"], id="arithmetic decides a branch"),
        pytest.param("A=1\nexit 0\nserve", {}, [], id="nothing behind an exit is reached"),
        pytest.param("f() { return; serve a; }\nf\nserve b", {}, ["serve b"], id="a return ends the function only"),
    ],
)
def test_branches_of_a_point(run: Run, text: str, env: dict[str, str], commands: list[str]) -> None:
    evaluated = run(text, **env)
    assert said(evaluated) == commands
    assert all(command.certain for command in evaluated.commands)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("if some-probe; then serve a; else serve b; fi", id="a branch on a program's status"),
        pytest.param(
            'if [ "$UNKNOWN" = x ]; then serve a; else serve b; fi', id="a branch on a value that is not known"
        ),
        pytest.param("[[ -f /opt/x ]] && serve a || serve b", id="a branch on a file of the machine"),
    ],
)
def test_an_undecided_branch_is_walked_on_both_sides_and_is_not_certain(run: Run, text: str) -> None:
    evaluated = run(text, UNKNOWN=None)
    assert {"serve a", "serve b"} <= set(said(evaluated))
    assert not any(command.certain for command in evaluated.commands if command.program == "serve")


def test_what_both_branches_set_alike_stays_known(run: Run) -> None:
    evaluated = run("if probe; then A=1; B=x; else A=1; B=y; fi\nserve $A $B")
    (serve,) = [command for command in evaluated.commands if command.program == "serve"]
    assert serve.words[1] == "1"
    assert not serve.known


@pytest.mark.parametrize(
    ("text", "path", "content"),
    [
        pytest.param("A=3\ncat > /tmp/c.yaml <<EOF\nk: $A\nEOF", "/tmp/c.yaml", "k: 3\n", id="a here-document expands"),
        pytest.param("cat > /tmp/c <<'EOF'\n$A\nEOF", "/tmp/c", "$A\n", id="a quoted here-document does not expand"),
        pytest.param("cat <<-EOF > /tmp/c\n\tx\n\tEOF", "/tmp/c", "x\n", id="a dash strips tabs"),
        pytest.param("echo a > /tmp/c\necho b >> /tmp/c", "/tmp/c", "a\nb\n", id="an appended file holds both lines"),
        pytest.param("echo a | tee /tmp/c", "/tmp/c", "a\n", id="tee writes its input"),
    ],
)
def test_files_that_a_script_writes(run: Run, text: str, path: str, content: str) -> None:
    written = run(text).content_of(path)
    assert written is not None
    assert written.text == content


@pytest.mark.parametrize(
    ("text", "command", "line"),
    [
        pytest.param(
            "P=/usr/lib/python3/site-packages/vllm\nsed -i 's/a/b/' $P/x.py",
            "sed -i s/a/b/ /usr/lib/python3/site-packages/vllm/x.py",
            2,
            id="a sed target through a variable",
        ),
        pytest.param(
            "cd /sgl-workspace\npatch -p1 < /tmp/fix.patch", "patch -p1", 2, id="a patch in a folder of the engine"
        ),
        pytest.param("awk -i inplace '{print}' /opt/f.py", "awk -i inplace {print} /opt/f.py", 1, id="awk in place"),
        pytest.param("pip install -q \\\n  foo==1.2", "pip install -q foo==1.2", 1, id="an install over two lines"),
        pytest.param("sudo env A=1 pip install x.whl", "pip install x.whl", 1, id="an install behind wrappers"),
        pytest.param("bash -c 'pip install x'", "pip install x", 1, id="an install inside a text"),
        pytest.param('eval "pip install $0x"', "pip install /workspace/runners/launch.shx", 1, id="an evaluated text"),
    ],
)
def test_edits_and_installs_are_commands_with_their_line(run: Run, text: str, command: str, line: int) -> None:
    evaluated = run(text)
    found = [one for one in evaluated.commands if str(one) == command]
    assert found, said(evaluated)
    assert found[0].where.line == line


LIBRARY = {"benchmarks/lib.sh": "check() { serve --lib $1; }\nLOADED=yes\n"}


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        pytest.param("source benchmarks/lib.sh\ncheck $LOADED", ["serve --lib yes"], id="a sourced file shares names"),
        pytest.param(
            'source "$(dirname "$0")/../benchmarks/lib.sh"\ncheck 1', ["serve --lib 1"], id="a path beside the script"
        ),
        pytest.param(
            "bash benchmarks/lib.sh\nserve x$LOADED",
            ["bash benchmarks/lib.sh", "serve x"],
            id="a started script keeps its names",
        ),
        pytest.param("f() { local A=2; serve $A $1; }\nA=1\nf b\nserve $A", ["serve 2 b", "serve 1"], id="locals end"),
        pytest.param("f() { serve $# \"$@\"; }\nf a 'b c'", ["serve 2 a b c"], id="arguments of a function"),
        pytest.param("f() { serve $1x $10; }\nf a", ["serve ax a0"], id="one digit names an argument"),
        pytest.param("set -- a b\nshift\nserve $1 $#", ["serve b 1"], id="shifted arguments"),
    ],
)
def test_sourced_files_and_functions(run: Run, text: str, commands: list[str]) -> None:
    evaluated = run(text, LIBRARY)
    assert [line for line in said(evaluated) if not line.startswith("dirname")] == commands


def test_a_sourced_file_outside_the_repository_is_open(run: Run) -> None:
    evaluated = run("source /etc/profile\nserve")
    assert any("not in the repository" in one.what for one in evaluated.undecided)


def test_every_entered_script_is_listed(run: Run) -> None:
    assert run("source benchmarks/lib.sh", LIBRARY).scripts == ("runners/launch.sh", "benchmarks/lib.sh")


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        pytest.param("for i in 1 2; do serve $i; done", ["serve 1", "serve 2"], id="a loop over words"),
        pytest.param("for i in {1..3}; do serve $i; done", ["serve 1", "serve 2", "serve 3"], id="a loop over a range"),
        pytest.param("for ((i=0;i<2;i++)); do serve $i; done", ["serve 0", "serve 1"], id="a counting loop"),
        pytest.param("i=0\nwhile [ $i -lt 2 ]; do serve $i; ((i++)); done", ["serve 0", "serve 1"], id="a while loop"),
        pytest.param("for i in 1 2 3; do [ $i = 2 ] && break; serve $i; done", ["serve 1"], id="a loop that breaks"),
        pytest.param("for i in 1 2; do [ $i = 1 ] && continue; serve $i; done", ["serve 2"], id="a pass left out"),
        pytest.param("while read -r a; do serve $a; done <<< 'x'", ["serve x"], id="a loop over a here-string"),
        pytest.param("while read a; do serve $a; done <<E\nx\ny\nE", ["serve x", "serve y"], id="a loop over lines"),
        pytest.param("if true; then read a; serve $a; fi <<< x", ["serve x"], id="a branch that reads a here-string"),
    ],
)
def test_loops(run: Run, text: str, commands: list[str]) -> None:
    assert [line for line in said(run(text)) if line != "true"] == commands


def test_what_the_grammar_does_not_know_is_open_and_nothing_is_guessed(run: Run) -> None:
    evaluated = run("{ read -r a; serve $a; } <<< x")
    assert any("no shell syntax" in one.what for one in evaluated.undecided)
    assert not any(command.known for command in evaluated.commands)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("# pip install evil\nserve", id="a comment of its own line"),
        pytest.param("serve # sed -i s/a/b/ /sgl-workspace/x.py", id="a comment behind a command"),
        pytest.param("#!/bin/bash\n# source benchmarks/lib.sh\nserve", id="a source in a comment"),
        pytest.param("A=(\n  # pip install evil\n)\nserve", id="a comment inside an array"),
        pytest.param("if true; then\n  # rm x\n  serve\nfi", id="a comment inside a branch"),
        pytest.param(": <<'X'\npip install evil\nX\nserve", id="text of an unread here-document"),
        pytest.param("false && pip install evil\nserve", id="a command that is not reached"),
        pytest.param("f() { pip install evil; }\nserve", id="a function that is not called"),
    ],
)
def test_comments_and_unreached_text_never_count(run: Run, text: str) -> None:
    assert [line for line in said(run(text, LIBRARY)) if line != "true"] == ["serve"]


def test_what_the_machine_sets_is_a_hole_that_says_why(run: Run) -> None:
    (serve,) = run("serve $SLURM_JOB_ID $UNSET").commands
    assert str(serve) == "serve ${SLURM_JOB_ID}"
    assert not serve.known


def test_a_script_cannot_forge_a_hole(run: Run) -> None:
    (serve,) = run("serve \ue000x\ue001y\ue002").commands
    assert serve.known
