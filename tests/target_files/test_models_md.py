"""Purpose: MODELS.md: who may be submitted on which day, arms, precisions, retired models, and what needs a reader."""

# ruff: noqa: E501  (Markdown table rows cannot be wrapped)

from __future__ import annotations

from datetime import date

import pytest

from app.target.models_md import ModelsTable, scenario_key
from app.target.source import RejectedInput

FILE = b"""# Models

## Deprecation Notice

### Monday, August 3, 2026

**Monday, August 3, 2026** is the last day for what is listed below.

**Partially enacted on 2026-08-04** in [#1](https://github.com/o/r/pull/1).

| Model | Deprecated | Remains |
|---|---|---|
| Mini (`mini`) | Single-turn 8k1k | Agentic coding |
| Quen (`quen`) | All **bf16** recipes, in every scenario | fp8 and fp4 recipes |

Arms:

| Model | Deprecated arm | Published arm |
|---|---|---|
| Deep (`deep`) | Agentic coding, non-MTP | Agentic coding, MTP |

**Status: not yet enacted.** Every arm above still runs.

### Tuesday, September 8, 2026

**Tuesday, September 8, 2026** is the last day for the **Single-turn 8k1k** scenario on **Deep** (`deep`). Together with
the Agentic coding news elsewhere, nothing else changes.

## Scenarios

| Scenario | ISL/OSL | Status |
|---|---|---|
| Agentic coding | replay | Active. The benchmark. |
| Single-turn 8k1k | 8192 / 1024 | Active. |
| Single-turn 1k1k | 1024 / 1024 | **Deprecated for all models** since 2026-07-17 ([#2](https://x)). |
| Single-turn 1k8k | 1024 / 8192 | Deprecated since 2026-03-27. |

### Engine submission policy

| Model | Primary native/upstream engines | Agreed draft model(s) (PoR) |
|---|---|---|
| Muse (`muse`) | native/upstream SGLang engine | `org/Muse-DFlash` |

## Model support matrix

| Model architecture class | Prefix | Date added | Active scenarios | Deprecated scenarios |
|---|---|---|---|---|
| Muse | `muse` | 2026-10-15 ([#4](https://x)) | Agentic coding with the SGLang DFlash2 draft | None |
| Kimi | `kimi` | 2026-07-27 | Agentic coding (DSpark only) | Agentic coding non-DSpark arm (deprecated from day 0) |
| Mini | `mini` | 2026-06-12 | Agentic coding | Single-turn 1k1k, Single-turn 8k1k (removed 2026-08-04, [#1](https://x)) |
| Deep | `deep` | 2026-04-24 | Single-turn 8k1k, Agentic coding (the non-MTP arm still runs while pending) | Single-turn 1k1k |
| Glim / Glim.1 | `glim`, `glim.1` | 2026-03-06 | None (retired 2026-10-01, [#3](https://x)) | Single-turn 1k8k (Glim only), Single-turn 8k1k |
| Quen | `quen` | 2026-02-16 | Single-turn 8k1k and Agentic coding, both limited to fp8/fp4 | all bf16 recipes (removed 2026-08-04, [#1](https://x)) |
| Unlisted | | TBD | Agentic coding | |
"""
TABLE = ModelsTable.parse("MODELS.md", FILE)
AGENTIC = "agentic-coding"


def status(prefix: str, scenario: str, day: str, precision: str = "fp4", method: str | None = None):  # type: ignore[no-untyped-def]
    return TABLE.status(
        prefix, scenario, precision=precision, drafting=method is not None, method=method, date=date.fromisoformat(day)
    )


CASES = [
    ("the reference submission", "muse", AGENTIC, "2026-10-21", "fp4", "dflash", True, None),
    ("a heading's day is the last allowed day", "mini", "8k1k", "2026-08-03", "fp4", None, True, "2026-08-03"),
    ("the day after the heading is too late", "mini", "8k1k", "2026-08-04", "fp4", None, False, "2026-08-03"),
    ("a deadline in a sentence, on its day", "deep", "8k1k", "2026-09-08", "fp4", "mtp", True, "2026-09-08"),
    ("a deadline in a sentence, a day later", "deep", "8k1k", "2026-09-09", "fp4", "mtp", False, "2026-09-08"),
    ("another sentence of that notice bans nothing", "deep", AGENTIC, "2026-10-21", "fp4", "mtp", True, None),
    ("what is not yet enacted bans nothing", "deep", AGENTIC, "2026-10-21", "fp4", None, True, None),
    ("a scenario deprecated for all, the day before", "deep", "1k1k", "2026-07-16", "fp4", None, True, "2026-07-16"),
    ("a scenario deprecated for all", "deep", "1k1k", "2026-07-17", "fp4", None, False, "2026-07-16"),
    ("also for a model that never had it", "muse", "1k8k", "2026-10-21", "fp4", None, False, "2026-03-26"),
    ("an arm that is banned from day 0", "kimi", AGENTIC, "2026-07-27", "fp4", None, False, None),
    ("the arm that is not banned", "kimi", AGENTIC, "2026-07-27", "fp4", "dspark", True, None),
    ("a draft that the row does not name", "kimi", AGENTIC, "2026-07-27", "fp4", "eagle3", False, None),
    ("bf16 on the last day", "quen", AGENTIC, "2026-08-03", "bf16", "mtp", True, "2026-08-03"),
    ("bf16 a day later, in any scenario", "quen", "8k1k", "2026-08-04", "bf16", None, False, "2026-08-03"),
    ("fp8 stays", "quen", "8k1k", "2026-10-21", "fp8", None, True, None),
    ("a precision that the row does not list", "quen", "8k1k", "2026-10-21", "int4", None, False, None),
    ("a retired model", "glim.1", AGENTIC, "2026-10-01", "fp4", None, False, "2026-09-30"),
    ("a model on the day before it retires", "glim.1", "8k1k", "2026-09-30", "fp4", None, True, "2026-09-30"),
    (
        "a limit to a sibling of the row spares this prefix",
        "glim.1",
        "1k8k",
        "2026-01-01",
        "fp4",
        None,
        True,
        "2026-03-26",
    ),
    ("a scenario that the row does not name", "muse", "8k1k", "2026-10-21", "fp4", None, None, None),
    ("a row without a prefix is found by its name", "unlisted", AGENTIC, "2026-10-21", "fp4", None, True, None),
]


@pytest.mark.parametrize(
    ("prefix", "scenario", "day", "precision", "method", "allowed", "deadline"),
    [row[1:] for row in CASES],
    ids=[row[0] for row in CASES],
)
def test_a_configuration_on_a_day(
    prefix: str,
    scenario: str,
    day: str,
    precision: str,
    method: str | None,
    allowed: bool | None,
    deadline: str | None,
) -> None:
    found = status(prefix, scenario, day, precision, method)
    assert found.allowed is allowed, found.reason
    assert (str(found.deadline) if found.deadline else None) == deadline
    assert found.found
    assert found.where.path == "MODELS.md"


def test_a_prefix_without_a_row_is_not_found_and_not_allowed() -> None:
    found = status("other", AGENTIC, "2026-10-21")
    assert (found.found, found.allowed) == (False, None)
    assert "no row for other" in found.reason


def test_reasons_name_the_ban_its_last_day_and_its_line() -> None:
    found = status("mini", "8k1k", "2026-08-04")
    assert found.reason == "mini: deprecated: Single-turn 8k1k (last allowed day 2026-08-03)"
    assert found.where.line == 13
    retired = status("glim", AGENTIC, "2026-11-01")
    assert retired.reason == "glim: retired: Glim / Glim.1 (last allowed day 2026-09-30)"


def test_rows_and_engines_are_kept_with_their_lines() -> None:
    row = TABLE.row("glim.1")
    assert row is not None
    assert (row.prefixes, row.is_retired, row.retired) == (("glim", "glim.1"), True, date(2026, 10, 1))
    engine = TABLE.engine_row("muse")
    assert engine is not None
    assert engine.names("SGLang")
    assert not engine.names("vLLM")


def test_a_file_without_the_matrix_is_refused() -> None:
    with pytest.raises(RejectedInput, match="support matrix"):
        ModelsTable.parse("MODELS.md", b"# Models\n\nNothing here.\n")


KEYS = [
    ("agentic-coding", None, None, "agentic-coding"),
    ("fixed-8k1k", None, None, "8k1k"),
    ("fixed-seq-len", 8192, 1024, "8k1k"),
    ("fixed-seq-len", 2048, 512, "2048_512"),
]


@pytest.mark.parametrize(("scenario", "isl", "osl", "key"), KEYS)
def test_scenario_keys(scenario: str, isl: int | None, osl: int | None, key: str) -> None:
    assert scenario_key(scenario, isl, osl) == key
