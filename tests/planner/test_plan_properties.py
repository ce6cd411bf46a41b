"""Purpose: properties of plans on generated masters: what does not matter, what is contained in what."""

from __future__ import annotations

import json
import random
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from app.planner.changes import changed
from app.planner.flat import flat_row
from app.planner.plan import Plan, PlanOptions, plan
from app.planner.points import Rules, points
from app.target.tree import Tree
from tests.planner.conftest import canonical, entry, tree
from tests.planner.made_entries import multi, pools, single

CONC = st.lists(st.sampled_from([1, 2, 4, 8, 16, 24, 32, 64, 128]), min_size=1, max_size=4, unique=True)
RULES = st.sampled_from(list(Rules))


@st.composite
def masters(draw: st.DrawFn) -> str:
    """One to three entries of mixed kinds."""
    parts = []
    for number in range(draw(st.integers(1, 3))):
        conc, more = draw(CONC), draw(CONC)
        drafting = draw(st.sampled_from(["none", "mtp"]))
        row = f"tp: {draw(st.sampled_from([4, 8]))}, spec-decoding: {drafting}, conc-list: {conc}"
        if draw(st.booleans()):
            agentic = f"tp: 8, kv-offloading: none, conc-list: {more}"
            parts.append(single(f"k{number}", row, agentic, model=f"mo{number % 2}"))
        else:
            parts.append(multi(f"k{number}", pools(str(conc)), pools(str(more), 2), model=f"mo{number % 2}"))
    return "".join(parts)


def planned(text: str, log: str, **options: Any) -> Plan:
    return plan(tree(text), tree(text, log), PlanOptions(**options))


EVERY = entry(['"*"'])


@settings(max_examples=40, deadline=None)
@given(masters(), RULES, st.randoms(use_true_random=False))
def test_comments_layout_and_key_order_do_not_matter(text: str, rules: Rules, chance: random.Random) -> None:
    other = yaml.safe_dump(_shuffled(yaml.safe_load(text), chance, top=True), sort_keys=False)
    other = "# a comment\n" + other.replace("  scenarios:", "  # why\n  scenarios:  # where")
    before, after = planned(text, EVERY, rules=rules), planned(other, EVERY, rules=rules)
    assert canonical(before) == canonical(after)
    assert changed(tree(text), tree(other), rules) == {}


def _shuffled(value: Any, chance: random.Random, *, top: bool = False) -> Any:
    """Mappings in another order; the order of config keys themselves decides ties and stays."""
    if isinstance(value, dict):
        names = list(value)
        if not top:
            chance.shuffle(names)
        return {name: _shuffled(value[name], chance) for name in names}
    if isinstance(value, list):
        return [_shuffled(item, chance) for item in value]
    return value


@settings(max_examples=40, deadline=None)
@given(masters(), RULES)
def test_a_trimmed_plan_holds_only_points_of_the_whole_plan(text: str, rules: Rules) -> None:
    whole, trimmed = planned(text, EVERY, rules=rules), planned(text, EVERY, rules=rules, trim_conc=True)
    assert _points(trimmed) <= _points(whole)
    assert {row.row["recipe-fingerprint"] for row in trimmed.rows if not row.is_eval} == {
        row.row["recipe-fingerprint"] for row in whole.rows if not row.is_eval
    }
    evals = [[flat_row(row) for row in found.rows if row.is_eval] for found in (whole, trimmed)]
    assert evals[0] == evals[1]


def _points(found: Plan) -> set[tuple[str, int]]:
    return {
        (str(row.row["recipe-fingerprint"]), conc)
        for row in found.rows
        if not row.is_eval
        for conc in row.concurrencies
    }


@settings(max_examples=40, deadline=None)
@given(masters(), st.lists(st.sampled_from([3, 5, 96, 256]), min_size=1, unique=True), RULES)
def test_an_append_only_delta_is_disjoint_from_base_and_makes_up_head(text: str, new: list[int], rules: Rules) -> None:
    head = text.replace("conc-list: [", f"conc-list: [{', '.join(map(str, new))}, ")
    log = entry(['"*"'], "  append-only: true\n")
    delta = plan(tree(text), tree(head, log), PlanOptions(rules=rules))
    before, after, added = _identities(tree(text), rules), _identities(tree(head), rules), _points(delta)
    assert added.isdisjoint(before)
    assert added | before == after


def _identities(files: Tree, rules: Rules) -> set[tuple[str, int]]:
    return {point.identity for found in points(files, rules).values() for point in found}


@settings(max_examples=30, deadline=None)
@given(masters(), RULES)
def test_points_are_those_of_the_plan_and_survive_a_round_of_json(text: str, rules: Rules) -> None:
    found = points(tree(text), rules)
    assert {point.identity for key in found for point in found[key]} == _points(planned(text, EVERY, rules=rules))
    for key in found:
        for point in found[key]:
            assert json.loads(json.dumps(point.row)) == point.row
            assert point.concurrency in (point.row["conc"] if point.multinode else [point.row["conc"]])


@settings(max_examples=30, deadline=None)
@given(masters(), masters(), RULES)
def test_changed_keys_are_those_whose_point_sets_differ(old: str, new: str, rules: Rules) -> None:
    before, after = points(tree(old), rules), points(tree(new), rules)
    found = changed(tree(old), tree(new), rules)
    for key in {*before, *after}:
        had = {point.identity for point in before.get(key, ())}
        has = {point.identity for point in after.get(key, ())}
        assert (key in found) == (had != has or (key in before) != (key in after))
        if key in found:
            assert {point.identity for point in found[key].added} == has - had
            assert {point.identity for point in found[key].removed} == had - has
