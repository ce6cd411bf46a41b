"""Purpose: a hostile or broken log costs bounded memory and work, and never raises or runs anything."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.facts import log_facts
from app.facts.log_facts import MAX_QUOTED, QUOTE, extract
from app.facts.log_lines import MAX_LINE, numbered_lines
from app.facts.log_values import MAX_VALUE, command_settings, pairs_in, plain
from app.facts.records import JobLogRecord


def read(text: str) -> JobLogRecord:
    return extract(text, job_id=1, run_id=1, job_name="job")


def test_a_line_of_a_gigabyte_is_cut_and_memory_stays_small() -> None:
    piece = "x" * (1 << 20)

    def chunks() -> Iterator[str]:
        for _ in range(1024):
            yield piece
        yield "\nexport EVAL_ONLY=true\n"

    tracemalloc.start()
    record = extract(chunks(), job_id=1, run_id=1, job_name="job")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert record.lines == 2
    assert record.env["EVAL_ONLY"].line == 2
    assert peak < 16 << 20


def test_chunks_may_break_anywhere() -> None:
    text = "one\nexport EVAL_ONLY=true\n\nthree"
    whole = list(numbered_lines(text))
    assert whole == [(1, "one"), (2, "export EVAL_ONLY=true"), (3, ""), (4, "three")]
    for size in (1, 2, 3, 7):
        assert list(numbered_lines(text[at : at + size] for at in range(0, len(text), size))) == whole


def test_control_characters_colours_and_direction_marks_are_gone() -> None:
    line = "\ufeff2026-10-20T17:01:12.0190056Z \x1b[1;31mKV\x1b[0m_OFF\u202eLOADING=dram\x00\x08\r"
    assert list(numbered_lines(line)) == [(1, "KV_OFFLOADING=dram")]


@pytest.mark.parametrize(
    "body",
    ["(" * 100_000, "a=" + "[" * 50_000 + "]" * 50_000, "a='" + "\\" * 60_001, "a=" + "-" * 3_000 + "1", "=" * 100_000],
    ids=["open brackets", "deep nesting", "escapes without end", "a tower of signs", "equal signs"],
)
def test_nesting_in_server_arguments_is_bounded(body: str) -> None:
    record = read(f"server_args=ServerArgs({body}, tp_size=4)\n")
    for settings_of_role in record.server_args.values():
        assert all(len(value.value) <= MAX_VALUE for value in settings_of_role.values())


def test_arguments_that_are_cut_off_are_a_problem() -> None:
    record = read("ServerArgs(tp_size=4, model_path='/m', " + "x" * MAX_LINE + ")\n")
    assert record.server_args["agg"]["tensor-parallel-size"].value == "4"
    assert record.problem == "the server arguments in line 1 are cut off"


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('false')",
        "(lambda: 1)()",
        "[x for x in (1,)]",
        "<PoolerConfig object>",
        "torch.bfloat16",
    ],
    ids=["an import", "a call", "a comprehension", "an object's repr", "a dotted name"],
)
def test_what_is_no_literal_keeps_its_text(text: str) -> None:
    assert plain(text) == text


def test_listed_things_are_bounded_in_number_and_length() -> None:
    lines = [f"Pulling image a/b:{n}" for n in range(500)]
    lines += [f'"GET /p{n} HTTP/1.1" 200' for n in range(500)]
    lines += [f"export CONC={'9' * 10_000}"] * 500
    lines += [f"Load weight end. type=Model{n}, quant=fp8" for n in range(500)]
    lines += [f"python3 -m sglang.launch_server --flag-{n} {n}" for n in range(2_000)]
    record = read("\n".join(lines))
    assert len(record.images) == log_facts.MAX_LISTED
    assert len(record.requests) <= log_facts.MAX_PATHS + len(log_facts.COUNTED) + 1
    assert sum(record.requests.values()) == 500
    assert len(record.loads) == log_facts.MAX_LISTED
    assert len(record.quoted) == MAX_QUOTED
    assert all(len(quote.value) <= QUOTE for quote in record.quoted)
    assert len(record.server_args["agg"]) <= 200
    assert len(record.env["CONC"].value) <= log_facts.MAX_TEXT


def test_a_command_with_an_open_quote_gives_what_came_before() -> None:
    assert command_settings("--a 1 --b 'open") == (("a", "1"), ("b", "True"))


@given(st.text(max_size=400))
@settings(max_examples=150, deadline=None)
def test_no_text_raises_and_the_same_text_gives_the_same_record(text: str) -> None:
    assert read(text) == read(text)
    assert read(f"ServerArgs({text}\nvllm serve {text}\nengine config (agg): {{{text}\n")


@given(
    st.dictionaries(
        st.from_regex(r"[a-z_]{1,12}", fullmatch=True), st.none() | st.booleans() | st.integers() | st.text()
    )
)
@settings(max_examples=100, deadline=None)
def test_what_python_prints_is_read_back(values: dict[str, object]) -> None:
    body = ", ".join(f"{name}={value!r}" for name, value in values.items())
    found = pairs_in(f"({body})", 1)
    assert found.closed
    assert {name: plain(raw) for name, raw in found.items} == {name: str(value) for name, value in values.items()}


@pytest.mark.parametrize(
    "line",
    [
        "python3 -m sglang.launch_server --model-path /m --api-key SECRETVALUE --tp 4",
        "ServerArgs(api_key='SECRETVALUE', admin_api_key='SECRETVALUE', tp_size=4)",
        "CONC=4 HF_TOKEN=SECRETVALUE python3 run.py",
        "CONC=4 curl -H 'Authorization: Bearer SECRETVALUE.abc'",
        "CONC=4 git clone https://x:ghp_SECRETVALUE0123456789@github.com/a/b",
    ],
    ids=["an api key flag", "printed keys", "a token variable", "a bearer header", "a token by its shape"],
)
def test_credentials_do_not_enter_the_record(line: str) -> None:
    assert "SECRETVALUE" not in read(line + "\n").model_dump_json()


@pytest.mark.parametrize(
    "name", ["speculative-num-draft-tokens", "SGLANG_SIMULATE_ACC_TOKEN_MODE", "max-prefill-tokens"]
)
def test_settings_that_only_speak_of_tokens_are_kept(name: str) -> None:
    record = read(f"python3 -m sglang.launch_server --{name} 8\n{name}=real\n")
    assert "***" not in record.model_dump_json()
