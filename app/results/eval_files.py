"""Purpose: read the raw files of one eval directory: `meta_env.json` and `results*.json` (evidence.md 2.2 to 2.4).

Two result formats are known: lm-eval's output, and objects that say `"result_format": "inferencex-eval-v1"`; both carry
`results: {task: {metric: value}}`. The primary score of a task is strict, else accuracy, else flexible. A primary that
is null, a bool, not a number or outside [0, 1] makes the row a failed one; there is no fallback to another metric.

Invariants: nothing here raises on bad content; every defect is a sentence in `problems`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CONCURRENCY_SUFFIX = re.compile(r"_conc(\d+)(?=[_.])")
TIMESTAMP = re.compile(r"(\d{4})-(\d{2})-(\d{2})T(\d{2})[-:](\d{2})[-:](\d{2})(?:\.(\d{1,9}))?")


@dataclass(frozen=True, slots=True)
class Score:
    """One task of one result file. `value` and `error` are in [0, 1]; None where the file gives no usable number."""

    task: str
    name: str
    value: float | None
    error: float | None
    strict: float | None
    strict_error: float | None
    flexible: float | None
    flexible_error: float | None
    samples: int | None


@dataclass(frozen=True)
class ResultFile:
    """One result file: its scores and what is wrong with it. `integration_error` is the file's own report."""

    path: str
    scores: tuple[Score, ...]
    integration_error: object | None
    problems: tuple[str, ...]

    @property
    def concurrency(self) -> int | None:
        """The concurrency in the name of a batched result file, None where the name has none."""
        found = CONCURRENCY_SUFFIX.search(self.path.rsplit("/", 1)[-1])
        return int(found.group(1)) if found else None


def number(value: object) -> float | None:
    """A finite int or float as float; None for anything else (bool, text, NaN)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) else None


def stamp(name: str) -> tuple[int, ...] | None:
    """The UTC time in a result file's name, down to nanoseconds, as a sortable tuple; None where there is none."""
    found = TIMESTAMP.search(name)
    if found is None:
        return None
    return (*(int(part) for part in found.groups()[:6]), int((found.group(7) or "0").ljust(9, "0")))


def read_object(content: bytes) -> Mapping[str, Any] | None:
    """The JSON object in `content`, None where it is no JSON object."""
    try:
        value = json.loads(content)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _metric(values: Mapping[str, Any], *marks: str) -> tuple[str, object] | None:
    for name, value in values.items():
        plain = name.lower()
        if "stderr" not in plain and any(mark in plain for mark in marks):
            return name, value
    return None


def _error_of(values: Mapping[str, Any], metric: str) -> float | None:
    base, comma, flavour = metric.partition(",")
    return number(values.get(f"{base}_stderr{comma}{flavour}"))


def _samples(counts: object) -> tuple[int | None, str]:
    """The effective sample count and, where it breaks the rule, what is wrong."""
    if counts is None:
        return None, ""
    effective = counts.get("effective") if isinstance(counts, Mapping) else counts
    count = number(effective)
    if count is None or count <= 0:
        return None, f"the effective sample count is {json.dumps(effective)}, not a number above 0"
    return int(count), ""


def _score(task: str, values: Mapping[str, Any], counts: object) -> tuple[Score, list[str]]:
    strict = _metric(values, "strict")
    accuracy = _metric(values, "accuracy", "acc,", "acc_norm", "exact_match,none")
    flexible = _metric(values, "flexible")
    primary = strict or accuracy or flexible
    samples, complaint = _samples(counts)
    problems = [f"{task}: {complaint}"] if complaint else []
    value = number(primary[1]) if primary else None
    if value is not None and not 0 <= value <= 1:
        value = None
    if value is None:
        found = f"{primary[0]} = {json.dumps(primary[1], default=str)}" if primary else "no known metric"
        problems.append(f"{task}: the primary score is not a number in [0, 1] ({found})")
    name = "em_strict" if strict else "accuracy" if accuracy else "em_flexible"
    score = Score(
        task=task,
        name=name,
        value=value,
        error=_error_of(values, primary[0]) if primary else None,
        strict=number(strict[1]) if strict else None,
        strict_error=_error_of(values, strict[0]) if strict else None,
        flexible=number(flexible[1]) if flexible else None,
        flexible_error=_error_of(values, flexible[0]) if flexible else None,
        samples=samples,
    )
    return score, problems


def read_results(path: str, content: bytes) -> ResultFile:
    """Scores of one result file; what is wrong stands in `problems`, a sentence each."""
    data = read_object(content)
    if data is None:
        return ResultFile(path, (), None, ("it is not a JSON object",))
    error = data.get("integration_error")
    tasks = data.get("results")
    if not isinstance(tasks, Mapping) or not tasks:
        return ResultFile(path, (), error, ("it has no results",))
    counts = data.get("n-samples")
    scores: list[Score] = []
    problems: list[str] = []
    for task, values in tasks.items():
        if not isinstance(values, Mapping):
            problems.append(f"{task}: its results are not an object")
            continue
        own = counts.get(task) if isinstance(counts, Mapping) else values.get("n_eff")
        score, complaints = _score(str(task), values, own)
        scores.append(score)
        problems.extend(complaints)
    return ResultFile(path, tuple(scores), error, tuple(problems))


def is_result_file(path: str) -> bool:
    name = path.rsplit("/", 1)[-1]
    return name.startswith("results") and name.endswith(".json")
