"""The frontier rule of evidence.md 5, point by point, and the JSON form of `sweepgate pareto`."""

from __future__ import annotations

import json
import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.results.frontier import CANONICAL_FLAG, CurveInputError, as_json, coverage, read_curves, sparkline


def pairs(curve):
    return [(point["x"], point["y"]) for point in curve.frontier]


def points(*values):
    return [{"x": x, "y": y} for x, y in values]


# p90 E2EL, p75 E2EL, total tokens/s per GPU by concurrency (cases/pr-4343.yaml).
REFERENCE = {
    1: (21.0, 12.4, 2600),
    2: (20.5, 12.1, 5100),
    4: (19.9, 11.6, 9400),
    6: (18.7, 10.9, 13100),
    8: (21.6, 13.0, 14800),
    10: (20.2, 11.9, 17900),
    16: (23.8, 14.2, 24300),
    20: (27.1, 16.0, 28200),
    24: (30.9, 18.3, 31500),
    28: (35.2, 20.9, 34200),
    32: (40.3, 23.7, 36400),
}


@pytest.mark.parametrize("percentile", [0, 1], ids=["p90", "p75"])
def test_reference_curve_keeps_the_seven_known_points(percentile):
    given_points = [{"x": v[percentile], "y": v[2], "label": c} for c, v in REFERENCE.items()]
    curve = coverage("gb200_sglang", given_points)
    assert [point["label"] for point in curve.frontier] == [6, 10, 16, 20, 24, 28, 32]
    assert (curve.status, curve.measured_points, curve.invalid_points) == ("PASS", 11, 0)


@pytest.mark.parametrize(
    ("given_points", "expected"),
    [
        pytest.param(points((1, 5), (2, 4)), [(1, 5)], id="a slower point with less throughput is dominated"),
        pytest.param(points((1, 5), (2, 5)), [(1, 5), (2, 5)], id="a plateau counts at distinct x"),
        pytest.param(points((1, 5), (1, 5)), [(1, 5)], id="identical coordinates count once"),
        pytest.param(points((1, 5), (1, 7)), [(1, 7)], id="at equal x only the highest y counts"),
        pytest.param(points((3, 9), (1, 5), (2, 7)), [(1, 5), (2, 7), (3, 9)], id="input order does not matter"),
        pytest.param(points((1, 5), (2, 5.0)), [(1, 5), (2, 5.0)], id="an int and an equal float are one height"),
        pytest.param([], [], id="no point"),
    ],
)
def test_frontier_rule(given_points, expected):
    assert pairs(coverage("k", given_points)) == expected


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param({"x": True, "y": 1}, id="a bool is no number"),
        pytest.param({"x": "1", "y": 1}, id="text is no number"),
        pytest.param({"x": float("nan"), "y": 1}, id="not a number"),
        pytest.param({"x": float("inf"), "y": 1}, id="infinite"),
        pytest.param({"x": 10**400, "y": 1}, id="beyond any float"),
        pytest.param({"x": 0, "y": 1}, id="zero"),
        pytest.param({"x": 1, "y": -1}, id="negative"),
        pytest.param({"x": 1}, id="y missing"),
        pytest.param([1, 2], id="not an object"),
    ],
)
def test_a_point_that_does_not_count_forces_a_warning(bad):
    good = points(*((n, n) for n in range(1, 8)))
    curve = coverage("k", [*good, bad])
    assert (curve.invalid_points, curve.measured_points, len(curve.frontier)) == (1, 8, 7)
    assert curve.status == "WARN"


@pytest.mark.parametrize(("count", "status"), [(4, "WARN"), (5, "PASS"), (0, "WARN")])
def test_five_points_are_needed(count, status):
    assert coverage("k", points(*((n, n) for n in range(1, count + 1)))).status == status


def test_canonical_flag_restricts_and_never_promotes():
    given_points = [
        {"x": 1, "y": 1, CANONICAL_FLAG: True},
        {"x": 2, "y": 2, CANONICAL_FLAG: False},
        {"x": 3, "y": 3},
        {"x": 4, "y": 1, CANONICAL_FLAG: True},
    ]
    curve = coverage("k", given_points)
    assert curve.restricted
    assert pairs(curve) == [(1, 1)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), max_size=30), st.randoms(use_true_random=False))
def test_frontier_is_stable_and_minimal(values, shuffler: random.Random):
    """Any order gives the same frontier; it rises; every point left out is dominated by, or equal to, one on it."""
    frontier = pairs(coverage("k", points(*values)))
    shuffled = list(values)
    shuffler.shuffle(shuffled)
    assert pairs(coverage("k", points(*shuffled))) == frontier
    assert all(a[0] < b[0] and a[1] <= b[1] for a, b in pairwise(frontier))
    for x, y in values:
        assert any(fx <= x and fy >= y for fx, fy in frontier)


def test_sparkline_has_one_character_a_frontier_point():
    curve = coverage("k", points((1, 1), (2, 2), (3, 9), (4, 5)))
    assert sparkline(curve) == "▁▂█"
    assert sparkline(coverage("k", [])) == ""
    assert sparkline(coverage("k", points((1, 3)))) == "▁"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "must be a list"),
        ([], "at least one curve"),
        ([1], "Curve 1"),
        ([{"key": "a", "points": []}, {"key": "a", "points": []}], "given before"),
        ([{"key": " ", "points": []}], "not empty"),
        ([{"points": []}], "not empty"),
        ([{"key": "a"}], "'points' must be a list"),
    ],
    ids=["object", "empty list", "number", "doubled key", "blank key", "no key", "no points"],
)
def test_input_errors_say_where_and_what_to_do(value, message):
    with pytest.raises(CurveInputError, match=message):
        read_curves(value)


def test_json_form():
    curves = read_curves(json.loads('[{"key": "a", "points": [{"x": 1, "y": 2}, {"x": 2, "y": 1}]}]'))
    assert as_json(curves) == [
        {
            "key": "a",
            "status": "WARN",
            "measured_points": 2,
            "invalid_points": 0,
            "frontier_points": 1,
            "frontier": [{"x": 1, "y": 2}],
        }
    ]
