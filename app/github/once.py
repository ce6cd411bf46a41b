"""Purpose: a create whose answer got lost is looked for before it is repeated.

    create -> answered: done
           -> unanswered: look for the result, again and again for a minute -> found: done
                                                                            -> not found: create once more

Accepted race: GitHub shows new objects late. What has not shown up within the window is taken not to exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from app.github.errors import Unanswered
from app.github.limits import Time

T = TypeVar("T")
WINDOW = 60.0
STEP = 5.0


def create_once(
    find: Callable[[], T | None], create: Callable[[], T], at: Time | None = None, window: float = WINDOW
) -> T:
    """The one result. `find` looks for it on GitHub (by marker, title or key), None where it is not there.
    Raises Unanswered where the second create stays unanswered too, and what `find` or `create` raise otherwise."""
    clock = at or Time()
    try:
        return create()
    except Unanswered:
        until = clock.now() + window
    while True:
        found = find()
        if found is not None:
            return found
        if clock.now() >= until:
            return create()
        clock.sleep(STEP)
