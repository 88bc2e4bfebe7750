"""State that belongs to one process, and its replacement in a forked child.

At the fork another thread of the parent may hold a lock, run a call that others wait for, or use a
connection. The child has none of these threads, so nothing in it would release the lock or end the
call. The child therefore gets new locks, forgets the calls, and leaves the connections to the
parent.
"""

from __future__ import annotations

import itertools
import os
import weakref
from _thread import RLock, get_ident
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, TypeVar

T = TypeVar("T")

_OWNERS: dict[int, tuple[weakref.ref[Any], Callable[[Any], object]]] = {}
_numbers = itertools.count()
_AWAITED: list[RLock] = []
_held: dict[int, tuple[RLock, ...]] = {}
"""The locks that each forking thread holds during the fork."""


def at_fork(owner: T, renew: Callable[[T], object]) -> None:
    """Call `renew(owner)` in each child that is forked while `owner` lives.

    Another thread may have been in the middle of any method of `owner`. `renew` must not wait.
    """
    number = next(_numbers)
    _OWNERS[number] = weakref.ref(owner, lambda _: _OWNERS.pop(number, None)), renew


def new_in_child(owner: object, **made: Callable[[], object]) -> None:
    """Replace attributes of an object or a module in each child, such as its lock."""

    def renew(owner: object) -> None:
        for name, make in made.items():
            setattr(owner, name, make())

    at_fork(owner, renew)


def fork_waits_for(lock: RLock) -> None:
    """Make `os.fork` wait for a lock that guards state which a child could not repair."""
    _AWAITED.append(lock)


def _before() -> None:
    locks = _held[get_ident()] = tuple(_AWAITED)
    for lock in locks:
        lock.acquire()


def _after() -> None:
    for lock in reversed(_held.pop(get_ident())):
        lock.release()


def _in_child() -> None:
    _after()
    with ExitStack() as stack:  # one that fails must not stop the others
        for reference, renew in list(_OWNERS.values()):
            if (owner := reference()) is not None:
                stack.callback(renew, owner)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)
