"""Purpose: an eval recipe of its own may differ from the throughput recipe only in name and acceptance (check 2).

Invariant: both recipes are compared as bound to the planned row, setting by setting, whatever their files look like.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from app.planner.plan import PlannedRow
from app.target.recipe import EffectiveRecipe
from app.target.recipes import effective, identity_recipe, recipe_reference
from app.target.source import FileLine, RejectedInput
from app.target.tree import NotRecorded, Tree
from checks.applying import listed
from checks.contract import CannotVerify, Unverified

ACCEPTANCE = re.compile(
    r"SIMULATE_ACC|SYNTHETIC_ACCEPT|synthetic_accept|FORCE_NUM_ACCEPTED|spec-decode-acceptance|rejection_sample_method",
    re.IGNORECASE,
)
_JSON_FLAGS = ("speculative-config",)


def eval_recipe_faults(planned: Iterable[PlannedRow], tree: Tree) -> Iterator[tuple[FileLine, str]]:
    """(place, what differs) for each planned eval with a recipe of its own. Raises CannotVerify for unread recipes."""
    for row in planned:
        own = recipe_reference(tree.layout, row.row, evaluation=True)
        shared = recipe_reference(tree.layout, row.row)
        if own is None or shared is None or own == shared:
            continue
        first, second = _settings(tree, shared, row), _settings(tree, own, row)
        names = sorted(name for name in {*first, *second} if first.get(name) != second.get(name))
        if names:
            yield (
                FileLine(own[0], 1, 0, tree.revision),
                f"the eval recipe of {row.config_key} differs in {listed(names)}",
            )


def _settings(tree: Tree, reference: tuple[str, str], row: PlannedRow) -> dict[str, str]:
    """Every setting by dotted path, without the name and the acceptance settings."""
    try:
        recipe = effective(tree, *reference, row.row, origin=row.master)
    except (NotRecorded, RejectedInput) as unseen:
        raise CannotVerify([Unverified(reference[0], str(unseen))]) from None
    if not isinstance(recipe, EffectiveRecipe):
        raise CannotVerify([Unverified(reference[0], recipe.reason)])
    return dict(_flat(identity_recipe(recipe), ""))


def _flat(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str) and path.rsplit(".", 1)[-1] in _JSON_FLAGS:
        with suppress(ValueError):
            value = json.loads(value)
    if isinstance(value, Mapping):
        for name, item in value.items():
            if not ACCEPTANCE.search(str(name)):
                yield from _flat(item, f"{path}.{name}" if path else str(name))
    else:
        yield path, json.dumps(value, sort_keys=True, default=str)
