"""Purpose: waiver files: sections under any usual heading, what is missing, which key and image they name."""

from __future__ import annotations

import pytest

from app.target.waiver import parse_waiver

WAIVER = b"""# Inference-engine patch waiver - PR #3088

## Config covered

`dsv4-fp4-b200-vllm-agentic`, image `nvcr.io#nvidia/vllm:26.08`, `benchmarks/single_node/agentic/dsv4.sh`

## What is patched
Two files of the installed engine.

## Why the unmodified upstream image cannot run this benchmark
It crashes.

## Upstream PR / issue links
- https://github.com/vllm-project/vllm/pull/51171

## Removal plan
With the next release.
"""


def test_a_complete_waiver_has_every_section_with_its_line() -> None:
    found = parse_waiver("docs/waiver/3088.md", WAIVER)
    assert found.missing == ()
    assert (found.number, found.title) == (3088, "Inference-engine patch waiver - PR #3088")
    assert {subject: section.where.line for subject, section in found.sections.items()} == {
        "scope": 3,
        "change": 7,
        "reason": 10,
        "upstream": 13,
        "removal": 16,
    }
    assert found.upstream_links == ("https://github.com/vllm-project/vllm/pull/51171",)


LACKING = [
    ("without a removal plan", b"## Removal plan\nWith the next release.\n", b"", ("removal",)),
    ("with an empty section", b"It crashes.\n", b"", ("reason",)),
    ("without upstream links", b"## Upstream PR / issue links\n- https", b"- https", ("upstream",)),
]


@pytest.mark.parametrize(("before", "after", "missing"), [row[1:] for row in LACKING], ids=[row[0] for row in LACKING])
def test_a_waiver_says_what_it_lacks(before: bytes, after: bytes, missing: tuple[str, ...]) -> None:
    assert before in WAIVER
    assert parse_waiver("docs/waiver/1.md", WAIVER.replace(before, after)).missing == missing


def test_bold_leads_count_as_headings() -> None:
    leads = ("Configs affected", "What", "Why", "Upstream status", "Removal plan")
    text = "# W\n\n" + "".join(f"- **{lead}:** text\n" for lead in leads)
    assert parse_waiver("docs/waiver/1.md", text.encode()).missing == ()


NAMED = [
    ("a key", "dsv4-fp4-b200-vllm-agentic", True),
    ("a longer key is another key", "dsv4-fp4-b200-vllm-agentic-mtp", False),
    ("a shorter key is another key", "dsv4-fp4-b200-vllm", False),
    ("an image with a slash for its hash", "nvcr.io/nvidia/vllm:26.08", True),
    ("a newer image", "nvcr.io/nvidia/vllm:26.09", False),
    ("a script", "benchmarks/single_node/agentic/dsv4.sh", True),
]


@pytest.mark.parametrize(("word", "named"), [row[1:] for row in NAMED], ids=[row[0] for row in NAMED])
def test_a_waiver_names_what_it_covers(word: str, named: bool) -> None:
    assert parse_waiver("docs/waiver/1.md", WAIVER).names(word) is named


def test_a_chinese_twin_belongs_to_the_same_pull_request() -> None:
    assert parse_waiver("inferencex-e2e/docs/waiver/3088_zh.md", b"# x\n").number == 3088
    assert parse_waiver("docs/waiver/.gitkeep", b"").number is None
