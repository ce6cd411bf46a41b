"""Purpose: every change of a story is made under the world's lock, since the server reads from a thread of its own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from threading import RLock


class Lockable(Protocol):
    """Whatever knows the world's lock."""

    @property
    def lock(self) -> RLock: ...


P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=Lockable)


def locked(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """The method, run while no request is served."""

    @functools.wraps(method)
    def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self.lock:
            return method(self, *args, **kwargs)

    return run
